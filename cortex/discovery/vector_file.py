"""Stores the vectors of texts on disk by the hash of the text, so that no text is given to the model twice.

A module of its own because it works without numpy, which `meanings` imports.
"""

from __future__ import annotations

import hashlib
import json
import logging
from array import array
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandbox import private_folder, replace_file

log = logging.getLogger("motor_cortex")

MAX_BYTES = 67_108_864
MAX_DIMENSION = 16_384
_MAX_HEADER_BYTES = 4_194_304


def key_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


class VectorFile:
    """All vectors of one model. A file that is damaged, or of another model, counts as missing."""

    def __init__(self, folder: Path, model: str) -> None:
        self._folder = folder
        self._model = model
        self._path = folder / f"{key_of(model)}.vectors"

    def load(self) -> dict[str, array[float]]:
        """The vectors by key. Never raises."""
        try:
            if self._path.stat().st_size > MAX_BYTES + _MAX_HEADER_BYTES:
                return {}
            return _read(self._path.read_bytes(), self._model)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            log.debug('Vectors in "%s" cannot be read and are made again', self._path)
            return {}

    def save(self, vectors: Mapping[str, Iterable[float]]) -> None:
        """Write as many vectors as there is room for, in their order. Never raises: a missing vector is made again."""
        try:
            private_folder(self._folder)
            replace_file(self._path, _written(vectors, self._model))
        except OSError as error:
            log.debug('Vectors cannot be kept in "%s": %s', self._path, error)


def _read(data: bytes, model: str) -> dict[str, array[float]]:
    head, end, body = data.partition(b"\n")
    about = json.loads(head)
    dimension, keys = about["dimension"], about["keys"]
    if not end or about["model"] != model or not 0 < dimension <= MAX_DIMENSION:
        return {}
    numbers = array("f")
    numbers.frombytes(body)
    if len(numbers) != dimension * len(keys):
        return {}
    return {str(key): numbers[place * dimension : (place + 1) * dimension] for place, key in enumerate(keys)}


def _written(vectors: Mapping[str, Iterable[float]], model: str) -> bytes:
    numbers, keys, dimension = array("f"), [], 0
    for key, vector in vectors.items():
        before = len(numbers)
        numbers.extend(vector)
        dimension = dimension or len(numbers)
        if len(numbers) * numbers.itemsize > MAX_BYTES:
            del numbers[before:]
            break
        keys.append(key)
    head = {"model": model, "dimension": dimension, "keys": keys}
    return json.dumps(head, separators=(",", ":")).encode() + b"\n" + numbers.tobytes()
