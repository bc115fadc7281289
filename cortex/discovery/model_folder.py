"""Where a model for embeddings is: in a folder, or in an installed package that carries one. Loads nothing."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from pathlib import Path
from typing import NamedTuple

from cortex.settings import SettingsError

_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MAX_FOLDERS = 100


class ModelFiles(NamedTuple):
    folder: Path
    tokenizer: Path
    model: Path
    """ONNX, or weights that ONNX is made of."""

    @property
    def is_ready(self) -> bool:
        return self.model.suffix == ".onnx"

    @property
    def identity(self) -> str:
        """Another one when the model is another one."""
        about = [str(self.folder)]
        for file in (self.model, self.tokenizer):
            found = file.stat()
            about.append(f"{file.name} {found.st_size} {found.st_mtime_ns}")
        return hashlib.sha256("\n".join(about).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def find_model(named: str) -> ModelFiles:
    """By the name of a package or the path of a folder. Raises SettingsError that says what was looked for."""
    is_path = os.sep in named or named.startswith("~")
    place = Path(named).expanduser() if is_path else _package(named)
    try:
        for folder in [place, *_below(place)]:
            if (files := _files(folder)) is not None:
                return files
    except OSError as error:
        raise SettingsError(f'Cannot look for a model in "{place}": {error.strerror or error}') from None
    raise SettingsError(
        f'There is no model in "{place}" (discovery.model): a folder with tokenizer.json and with model.onnx or '
        "model.safetensors is needed"
    )


def _package(name: str) -> Path:
    spec = None
    if _PACKAGE.fullmatch(name):
        try:
            spec = importlib.util.find_spec(re.sub(r"[-.]", "_", name))
        except (ImportError, ValueError):
            spec = None
    if spec is None or not spec.submodule_search_locations:
        raise SettingsError(
            f'discovery.model is "{name}", and no such package is installed; install it, or give the path of a folder '
            'with a model, like "./my-model"'
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _below(place: Path) -> list[Path]:
    with os.scandir(place) as entries:
        folders = sorted(entry.name for entry, _ in zip(entries, range(1000), strict=False) if entry.is_dir())
    return [place / name for name in folders[:_MAX_FOLDERS]]


def _files(folder: Path) -> ModelFiles | None:
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        return None
    for name in ("model.onnx", "onnx/model.onnx", "model.safetensors"):
        if (folder / name).is_file():
            return ModelFiles(folder, tokenizer, folder / name)
    return None
