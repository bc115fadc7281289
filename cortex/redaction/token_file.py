"""Stores which placeholder ([EMAIL_1]) stands for each redacted value of a conversation: keyed hashes, never values."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import secrets
from pathlib import Path
from typing import Any

from sandbox import LineFile

log = logging.getLogger("motor_cortex")

_MAX_LINE_BYTES = 120


class TokenFile:
    """One line of JSON for each value. Unreadable lines are skipped; a file that cannot be written is reported once,
    and then not used."""

    def __init__(self, path: Path, max_values: int) -> None:
        self._path = path
        self._file = LineFile(path, max_line_bytes=_MAX_LINE_BYTES)
        self._numbers: dict[str, int] = {}
        self._key: bytes | None = None
        self._lines: list[bytes] = []
        self._is_useless = False
        self.last: dict[str, int] = {}
        """The highest number of each kind."""
        self._read(4 * max_values)
        if self._key is None:
            # Without the old key no old hash is recognised, but old numbers are still not reused.
            self._key = secrets.token_bytes(32)
            self._lines.append(_line({"key": self._key.hex()}))

    def number(self, kind: str, value: str) -> int | None:
        return self._numbers.get(self._hash(kind, value))

    def add(self, kind: str, number: int, value: str) -> None:
        digest = self._hash(kind, value)
        self._numbers[digest] = number
        self._lines.append(_line({"kind": kind, "number": number, "hash": digest}))

    def write(self) -> None:
        if not self._lines or self._is_useless or not self._numbers:
            return
        try:
            self._file.append(b"".join(self._lines))
        except OSError as error:
            self._is_useless = True
            log.warning('Cannot keep the tokens of redaction in "%s": %s', self._path, error.strerror or error)
        self._lines.clear()

    def _read(self, most: int) -> None:
        try:
            lines = self._file.last(most)
        except OSError as error:
            log.warning('Cannot read the tokens of redaction from "%s": %s', self._path, error.strerror or error)
            return
        for line in lines:
            match _entry(line):
                case {"key": str(key)} if len(key) == 64 and _is_hex(key):
                    self._key = bytes.fromhex(key)
                case {"kind": str(kind), "number": int(number), "hash": str(digest)} if 0 < number < 10_000_000:
                    self._numbers[digest] = number
                    self.last[kind] = max(number, self.last.get(kind, 0))

    def _hash(self, kind: str, value: str) -> str:
        assert self._key is not None
        text = f"{kind}\0{value}".encode(errors="surrogatepass")
        return hmac.digest(self._key, text, hashlib.sha256)[:16].hex()


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def _entry(line: bytes) -> Any:
    try:
        return json.loads(line[:1_000])
    except (ValueError, RecursionError):
        return None


def _is_hex(text: str) -> bool:
    try:
        bytes.fromhex(text)
    except ValueError:
        return False
    return True
