"""Which neuron a person means, for the kill switch: it waits neither for a lock nor for what checks documents."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .exits import CommandError


def neuron_named(state: Path, named: str) -> tuple[str, str | None]:
    """The id that is meant, and what speaks against it. By the names of files and without reading them, if possible:
    a document that is damaged keeps nobody from stopping its neuron."""
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
