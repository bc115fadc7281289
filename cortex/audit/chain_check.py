"""Verifies the chain of the audit piece by piece, and goes on from the last good place: `verify` reads all of it, which
takes seconds in a year.

The place is kept in a file that may be deleted. It is believed only while the line before it is still the same one.
What was good before and is changed later is found by `cortex audit verify`, not here.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sandbox import private_folder, replace_file

from . import days
from .lines import GENESIS, MAX_LINE_BYTES, NotARecord, is_hash, is_intact, parse

FILE = "audit-checked.json"
FORMAT = 1
_MAX_FILE_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class ChainState:
    """How far the chain was read, and whether it held."""

    seq: int = 0
    """The last record that continues the chain from its beginning."""
    hash: str = GENESIS
    at: float = 0.0
    """When it was looked at last; 0 for never."""
    name: str = ""
    offset: int = 0
    flaw: str = ""
    """What is wrong with the record behind the last good one; empty while all is whole."""


class ChainCheck:
    """One for a process. `go_on` blocks for the disk: it belongs into a thread."""

    def __init__(self, folder: Path, cache: Path, *, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._file = cache / FILE
        self._now = now
        self.state = self._recalled()

    def go_on(self, most: int = 5_000) -> bool:
        """Check at most this many records more. Returns whether there may be more to check. Raises OSError."""
        state, count = replace(self.state, flaw=""), 0
        names = [name for name in days.day_names(self._folder) if name >= state.name]
        for name in names:
            if name != state.name:
                state = replace(state, name=name, offset=0)
            for line in days.lines(self._folder / name, state.offset):
                if not line.is_whole:
                    break
                flaw, own = _flaw(line.data, state)
                if flaw:
                    self._done(replace(state, flaw=flaw))
                    return False
                count += 1
                state = replace(state, seq=state.seq + 1, hash=own, offset=line.end)
                if count >= most:
                    self._done(state)
                    return True
        self._done(state)
        return False

    def _done(self, state: ChainState) -> None:
        is_news = state.seq != self.state.seq
        self.state = replace(state, at=self._now())
        if is_news:
            with suppress(OSError):  # it only saves time
                private_folder(self._file.parent)
                replace_file(self._file, json.dumps({"format": FORMAT, **asdict(self.state)}).encode(), durable=False)

    def _recalled(self) -> ChainState:
        try:
            with self._file.open("rb") as file:
                kept = json.loads(file.read(_MAX_FILE_BYTES))
            if kept.pop("format") != FORMAT:
                return ChainState()
            state = ChainState(**kept)
            if not isinstance(state.offset, int) or not isinstance(state.seq, int) or not is_hash(state.hash):
                return ChainState()
            with (self._folder / state.name).open("rb") as file:
                start = max(0, state.offset - MAX_LINE_BYTES - 1)
                before = os.pread(file.fileno(), state.offset - start, start)
            last = before.removesuffix(b"\n").rpartition(b"\n")[2]
            record = parse(last)
        except (OSError, ValueError, TypeError, KeyError, RecursionError, AttributeError):
            return ChainState()
        is_same = before.endswith(b"\n") and (record.seq, record.hash) == (state.seq, state.hash) and is_intact(last)
        return state if is_same and isinstance(state.at, int | float) else ChainState()


def _flaw(line: bytes, state: ChainState) -> tuple[str, str]:
    """What is wrong with the line that follows the state, and its hash."""
    try:
        record = parse(line)
    except NotARecord as reason:
        return f"the line behind record {state.seq} is not a record: {reason}", ""
    expected = state.seq + 1
    if not is_intact(line):
        return f"record {expected} is not as it was written", ""
    if record.seq != expected:
        return f"behind record {state.seq} comes record {record.seq}", ""
    if record.previous != state.hash:
        return f"record {record.seq} does not continue the record before it", ""
    return "", record.hash
