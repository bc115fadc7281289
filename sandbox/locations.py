"""Where the folders that are not Python packages are: in a checkout beside this one, in a wheel inside it."""

from __future__ import annotations

from pathlib import Path

from .errors import SandboxUnavailable

_HERE = Path(__file__).resolve().parent


def data_file(folder: str, name: str) -> Path:
    """The path of a file of `config/` or `deno/`."""
    for root in (_HERE / "data", _HERE.parent):
        path = root / folder / name
        if path.is_file():
            return path
    raise SandboxUnavailable(
        f'Cannot find "{folder}/{name}": the installation is incomplete, install motor-cortex again'
    )
