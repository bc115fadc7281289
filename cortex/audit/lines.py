"""One record of the audit log, and how it is written as one line of a file. Pure.

A line is JSON and ends with its own hash: SHA-256, in hex, of the bytes of the line without `,"hash":"…"`. It contains
the hash of the line before it, so no line can be changed, removed or inserted without breaking the chain after it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from .facts import MAX_FACTS_BYTES, RESERVED

GENESIS = "0" * 64
"""The previous hash in the first record."""

MAX_LINE_BYTES = MAX_FACTS_BYTES + 1024
_SEAL = re.compile(rb',"hash":"([0-9a-f]{64})"}\Z')
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_KIND = re.compile(r"[a-z][a-z_]{0,39}\Z")


@dataclass(frozen=True, slots=True)
class Record:
    """One event in the audit."""

    seq: int
    """Counts from 1, without gaps."""
    at: datetime
    kind: str
    facts: dict[str, Any]
    previous: str
    hash: str

    def as_json(self) -> dict[str, Any]:
        """The record as JSON, as in the file."""
        at = self.at.astimezone(UTC).isoformat(timespec="microseconds")
        own = {"seq": self.seq, "at": at, "kind": self.kind}
        return {**own, **self.facts, "previous": self.previous, "hash": self.hash}


class NotARecord(ValueError):
    """The line is not a record. The message says what is wrong."""


def is_kind(text: object) -> bool:
    return isinstance(text, str) and _KIND.match(text) is not None


def is_hash(text: object) -> bool:
    return isinstance(text, str) and _HASH.match(text) is not None


def sealed(seq: int, at: str, kind: str, facts: str, previous: str) -> tuple[bytes, str]:
    """A finished line with its line end, and its hash. `facts` is the text from `facts.bounded`."""
    body = f'{{"seq":{seq},"at":"{at}","kind":"{kind}"{facts},"previous":"{previous}"'
    digest = sha256(f"{body}}}".encode("ascii")).hexdigest()
    return f'{body},"hash":"{digest}"}}\n'.encode("ascii"), digest


def is_intact(line: bytes) -> bool:
    """Whether the line matches its hash. Give it without its line end."""
    seal = _SEAL.search(line)
    return seal is not None and sha256(line[: seal.start()] + b"}").hexdigest().encode() == seal[1]


def parse(line: bytes) -> Record:
    """The record on a line, intact or not. Give it without its line end. Raises NotARecord."""
    if len(line) > MAX_LINE_BYTES:
        raise NotARecord(f"it is longer than any record: more than {MAX_LINE_BYTES} bytes")
    try:
        fields = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise NotARecord("it is not JSON") from None
    if not isinstance(fields, dict) or not fields.keys() >= RESERVED:
        raise NotARecord("it lacks a field that every record has")
    seq, at, kind, previous, own = (fields.pop(name) for name in ("seq", "at", "kind", "previous", "hash"))
    if isinstance(seq, bool) or not isinstance(seq, int) or not 0 < seq < 2**63:
        raise NotARecord("its number is invalid")
    if not is_kind(kind) or not is_hash(previous) or not is_hash(own):
        raise NotARecord("its kind or a hash is invalid")
    try:
        moment = datetime.fromisoformat(at)
    except (TypeError, ValueError):
        raise NotARecord("its time is none") from None
    if moment.tzinfo is None or not 1970 <= moment.year < 9999:
        raise NotARecord("its time is none")
    return Record(seq, moment, kind, fields, previous, own)
