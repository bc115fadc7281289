"""Maps values to tokens: the same token for the same value throughout a conversation."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cortex.settings import RedactedKind

from .spans import searched

if TYPE_CHECKING:
    from .token_file import TokenFile

MAX_VALUES = 10_000
MAX_CHARACTERS = 8_388_608
"""Characters of all values that are kept for restoring, together."""
_MAX_FOREIGN = 10_000

_NAMES: dict[RedactedKind, str] = {
    "email": "EMAIL",
    "phone": "PHONE",
    "ssn": "SSN",
    "card": "CARD",
    "iban": "IBAN",
    "ip": "IP",
    "jwt": "JWT",
    "api_key": "API_KEY",
    "private_key": "PRIVATE_KEY",
    "secret": "SECRET",
}
_KINDS = {name: kind for kind, name in _NAMES.items()}
TOKEN = re.compile(rf"\[({'|'.join(_KINDS)})_([1-9][0-9]{{0,6}})\]")

_BETWEEN_DIGITS = re.compile(r"[\s().\xa0/-]")


class Tokens:
    """The tokens of a conversation. Values are kept in memory only; with a path, the numbers outlive the program, and
    the file has a keyed hash of each value. A reader of the file can try a small set of values, such as phone numbers,
    against it."""

    def __init__(self, path: Path | None = None) -> None:
        """The caller has exclusive use of the file. Never raises: a file that cannot be used is reported and
        ignored."""
        self._tokens: dict[tuple[str, str], str] = {}
        self._values: dict[str, str] = {}
        self._characters = 0
        self._foreign: set[tuple[str, int]] = set()
        self._lock = threading.Lock()
        self._file = _file(path) if path is not None else None
        self._last: dict[str, int] = dict(self._file.last) if self._file is not None else {}
        self._given = sum(self._last.values())

    def apart(self) -> Tokens:
        """A copy that goes on by itself, in memory only, and restores nothing."""
        made = Tokens()
        with self._lock:
            made._tokens = dict(self._tokens)
            made._foreign = set(self._foreign)
            made._last = dict(self._last)
            made._given, made._characters = self._given, self._characters
        return made

    def token(self, kind: RedactedKind, value: str) -> str:
        """The token for a value; without a number when there are too many values."""
        same = _same(kind, value)
        with self._lock:
            return self._tokens.get((kind, same)) or self._new(kind, same, value)

    def value(self, token: str) -> str | None:
        """The value of a token; None for a token that was never given out, or was given out before a restart and not
        seen since."""
        return self._values.get(token)

    def leave_alone(self, text: str) -> None:
        """Skip the numbers of tokens that occur in outside text, so that they are never confused with ours."""
        if "[" not in text or "_" not in text:
            return
        for match in searched(TOKEN, text):
            kind, number = _KINDS[match[1]], int(match[2])
            if number > self._last.get(kind, 0) and len(self._foreign) < _MAX_FOREIGN:
                self._foreign.add((kind, number))

    def keep(self) -> None:
        """Write new tokens to the file, if there is one."""
        if self._file is not None:
            with self._lock:
                self._file.write()

    def restored(self, text: str, fits: Callable[[int], bool], only: frozenset[tuple[str, str]] | None = None) -> str:
        """The text with known tokens replaced by their values. `fits` gets the length of each and may refuse it; `only`
        limits which tokens are replaced, by name and number."""

        def back(match: re.Match[str]) -> str:
            value = self._values.get(match[0]) if only is None or match.groups() in only else None
            return value if value is not None and fits(len(value)) else match[0]

        return TOKEN.sub(back, text) if "[" in text else text

    def _new(self, kind: RedactedKind, same: str, value: str) -> str:
        number = self._file.number(kind, same) if self._file is not None else None
        if number is None:
            if self._given >= MAX_VALUES:
                return f"[{_NAMES[kind]}]"
            number = self._last.get(kind, 0) + 1
            while (kind, number) in self._foreign:
                self._foreign.discard((kind, number))
                number += 1
            self._last[kind] = number
            self._given += 1
            if self._file is not None:
                self._file.add(kind, number, same)
        token = f"[{_NAMES[kind]}_{number}]"
        if self._characters + len(value) <= MAX_CHARACTERS:
            self._characters += len(value)
            self._tokens[kind, same] = token
            self._values[token] = value
        return token


def _file(path: Path) -> TokenFile:
    from .token_file import TokenFile  # noqa: PLC0415 - it imports hashing and randomness, and few programs keep a file

    return TokenFile(path, MAX_VALUES)


def _same(kind: RedactedKind, value: str) -> str:
    """The canonical spelling: two spellings of one value get one token."""
    if kind in {"email", "ip"}:
        return value.lower()
    return _BETWEEN_DIGITS.sub("", value) if kind in {"phone", "ssn", "card", "iban"} else value
