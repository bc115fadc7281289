"""Find the neuron that `cortex kill --neuron` means, without waiting for a lock and without validating documents."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .exits import CommandError


def neuron_named(state: Path, named: str) -> tuple[str, str | None]:
    """The id that is meant, and a doubt about it or None. Uses file names without reading the files, if possible: a
    damaged document must not keep the owner from stopping its neuron."""
    try:
        ids = sorted(name.removesuffix(".json") for name in os.listdir(state / "neurons") if name.endswith(".json"))
    except OSError:
        ids = []
    if named in ids:
        return named, None
    found = [one for one in ids if _name_in(state / "neurons" / f"{one}.json") == named]
    found = found or [one for one in ids if named and one.startswith(named)]
    if len(found) == 1:
        return found[0], None
    if found:
        raise CommandError(f'nothing was done: "{named}" may be {", ".join(found[:5])}')
    return named, f'there is no document of a neuron "{named}"'


def _name_in(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())["name"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
