"""Writes a document as the text of a file: readable JSON with its revision as the first key. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from sandbox import JsonLimits, TooComplex, check_json

from .errors import StorageError
from .ports import Document

MAX_DOCUMENT_BYTES = 8 * 1024 * 1024
_MIB = 1024 * 1024
_MAX_BYTES_OF = {"mail": 2 * _MIB, "autonomic": _MIB, "programs": 4 * 1024}
"""Of documents that all programs of a home read, several times a second: a large one would delay each of them."""
LIMITS = JsonLimits(containers=100_000, values=200_000)
REVISION = "revision"
# No dot, exactly one slash, nothing that a file system folds or interprets: a key cannot lead to another path.
_KEY = re.compile(r"[a-z]{1,40}/[a-z0-9-]{1,80}")
_BEGINNING = re.compile(r"[a-z]{1,40}/[a-z0-9-]{0,80}")
# What the parser may take for infinity, which could not be written again. Each run of digits is looked at once.
_MAY_BE_INFINITE = re.compile(rb"\d[eE]\+?\d{3}|(?<!\d)\d{300}")


def max_bytes(key: str) -> int:
    """How large the document may be in its file."""
    return _MAX_BYTES_OF.get(key.partition("/")[0], MAX_DOCUMENT_BYTES)


class Damaged(Exception):
    """The bytes are not a document. The message says why."""


def check_key(key: str) -> str:
    """The folder of the key. Raises StorageError for an invalid key."""
    if not _KEY.fullmatch(key):
        raise StorageError(f"Cannot keep a document: {_quoted(key)} is no key like neurons/crypto-price")
    return key.partition("/")[0]


def check_beginning(prefix: str) -> str:
    """The folder of a key prefix. Raises StorageError for an invalid prefix."""
    if not _BEGINNING.fullmatch(prefix):
        raise StorageError(f"Cannot look for documents: no key begins with {_quoted(prefix)}")
    return prefix.partition("/")[0]


def is_key(key: str) -> bool:
    return _KEY.fullmatch(key) is not None


def as_written(document: Document) -> Document:
    """A copy of the document exactly as a reader will find it. Raises StorageError for data that is not JSON or is too
    large.

    A file that does not parse would later be set aside as damaged, so bad data is refused before it is written.
    """
    if REVISION in document.data:
        raise StorageError(f'Cannot keep "{document.key}": the key "{REVISION}" is the storage\'s own')
    try:
        return decode(document.key, encode(document))
    except Damaged as error:
        raise StorageError(f'Cannot keep "{document.key}": {error}') from error


def encode(document: Document) -> bytes:
    """The text of the file."""
    content = {REVISION: document.revision, **document.data}
    try:
        return to_json(content, indent=_indent(document.key)) + b"\n"
    except (PydanticSerializationError, RecursionError) as error:
        if "surrogates" in str(error):
            return _mended(content, _indent(document.key))
        raise StorageError(f'Cannot keep "{document.key}": it is not JSON ({error})') from error


def decode(key: str, data: bytes) -> Document:
    """Parse the text of a file. Raises Damaged."""
    if len(data) > (most := max_bytes(key)):
        raise Damaged(f"it has more than {most} bytes")
    try:
        check_json(data, LIMITS)
        content = from_json(data, allow_inf_nan=False, cache_strings="keys")
    except TooComplex as error:
        raise Damaged(f"it holds {error}") from error
    except ValueError as error:
        raise Damaged(f"it is not JSON ({error})") from error
    if _MAY_BE_INFINITE.search(data) and not _is_finite(content):
        raise Damaged("it has a number that is too large")
    if not isinstance(content, dict):
        raise Damaged("it is not a JSON object")
    revision = content.pop(REVISION, None)
    if type(revision) is not int or revision < 1:
        raise Damaged("it has no revision")
    return Document(key, revision, content)


def _is_finite(content: Any) -> bool:
    try:
        json.dumps(content, allow_nan=False)
    except ValueError:
        return False
    return True


def _indent(key: str) -> int | None:
    """None for mail: it is for programs, and indented, deep data would be a hundred times as large."""
    return None if key.startswith("mail/") else 2


def _mended(content: Any, indent: int | None) -> bytes:
    """Encode with lone surrogates (possible in JavaScript strings, not in UTF-8) replaced by U+FFFD: one bad string
    from a sandbox must not keep the whole document from being written."""
    text = json.dumps(content, ensure_ascii=False, indent=indent, default=str)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode() + b"\n"


def _quoted(key: object) -> str:
    return json.dumps(str(key)[:100])
