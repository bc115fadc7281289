"""Reads a `.safetensors` file: names and arrays. Imports numpy, so it is imported late."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

_MAX_HEADER_BYTES = 16_777_216
_TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}


class BadTensors(ValueError):
    """The file is not what it should be. The message says how."""


def read_tensors(path: Path) -> Mapping[str, np.ndarray[Any, np.dtype[np.float32]]]:
    """Those of floating-point numbers, as 32-bit ones; the bytes stay on disk until they are looked at."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if not 2 <= size <= _MAX_HEADER_BYTES:
            raise BadTensors(f'"{path.name}" begins with a header of {size} bytes')
        try:
            header = json.loads(file.read(size))
        except (ValueError, RecursionError):
            raise BadTensors(f'the header of "{path.name}" is not JSON') from None
    body = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + size)
    found = {}
    for name, about in header.items() if isinstance(header, dict) else ():
        if isinstance(about, dict) and about.get("dtype") in _TYPES:
            found[name] = _array(name, about, body)
    return found


def _array(name: str, about: Mapping[str, Any], body: np.memmap[Any, Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
    try:
        begin, end = about["data_offsets"]
        if not 0 <= begin <= end <= len(body):
            raise BadTensors(f'"{name}" is outside of the file')
        array: np.ndarray[Any, Any] = body[begin:end].view(_TYPES[about["dtype"]]).reshape(about["shape"])
        return array.astype(np.float32, copy=False)
    except (KeyError, TypeError, ValueError) as error:
        raise BadTensors(f'"{name}" cannot be read: {error}') from None
