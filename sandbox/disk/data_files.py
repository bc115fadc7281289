"""Finds the project's data files (`config/`, `deno/`: beside this package in a checkout, inside it in a wheel) and the
cache folder."""

from __future__ import annotations

import os
from pathlib import Path

from ..contracts import SandboxUnavailable

_PACKAGE = Path(__file__).resolve().parent.parent


def data_file(folder: str, name: str) -> Path:
    """The path of a file of `config/` or `deno/`."""
    for root in (_PACKAGE / "data", _PACKAGE.parent):
        path = root / folder / name
        if path.is_file():
            return path
    raise SandboxUnavailable(
        f'Cannot find "{folder}/{name}": the installation is incomplete, install motor-cortex again'
    )


def cache_folder() -> Path:
    """The folder for cached data, which can always be computed again."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if Path(named).is_absolute() else Path.home() / ".cache") / "motor-cortex"
