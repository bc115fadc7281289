"""Verifies the audit log: every line, every file, and that no lines are missing at the end. Reads only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .code_folder import CodeFolder
from .days import Line, day_names, lines
from .head import HEAD_FILE, START, Known, read_known
from .lines import NotARecord, Record, is_intact, parse

MAX_LISTED = 100

Flaw = Literal["changed", "missing", "cut off", "foreign"]


@dataclass(frozen=True, slots=True)
class Damage:
    """One place in the log that is not as it was written."""

    file: str
    """The path below the folder of the log."""
    line: int | None
    """Counts from 1; None for a file as a whole."""
    flaw: Flaw
    detail: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}: {self.flaw}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of verifying the log."""

    records: int
    files: int
    end: Known
    """The last record. An owner who keeps its hash elsewhere can check later that everything before it is unchanged."""
    damages: tuple[Damage, ...] = ()
    """The first MAX_LISTED damages."""
    damages_found: int = 0
    recoveries: int = 0
    """How often a writer found the end unfinished or damaged, and recorded it."""
    unfinished_bytes: int = 0
    """Bytes after the last line end: a line is being written, or its writer was killed; then the next record cuts them
    off."""

    @property
    def ok(self) -> bool:
        return self.damages_found == 0


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of the log at one moment: later lines are not checked."""

    known: Known | None
    sizes: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, folder: Path) -> Extent:
        # The recorded end first: it may lag behind the lines, never the other way round.
        known = read_known(folder)
        return cls(known, tuple((name, os.stat(folder / name).st_size) for name in day_names(folder)))


def inspect(folder: Path, extent: Extent) -> Verdict:
    """Verify the log up to the extent."""
    chain = _Chain(extent.known)
    found, count = [], 0
    for damage in _damages(folder, extent, chain):
        count += 1
        if count <= MAX_LISTED:
            found.append(damage)
    return Verdict(
        records=chain.records,
        files=len(extent.sizes),
        end=chain.end,
        damages=tuple(found),
        damages_found=count,
        recoveries=chain.recoveries,
        unfinished_bytes=chain.unfinished_bytes,
    )


def _damages(folder: Path, extent: Extent, chain: _Chain) -> Iterator[Damage]:
    newest, number = (extent.sizes[-1][0] if extent.sizes else None), None
    for name, size in extent.sizes:
        number = None
        for number, line in enumerate(lines(folder / name, end=size), 1):
            for flaw, detail in chain.follow(line, is_newest=name == newest):
                yield Damage(name, number, flaw, detail)
    if extent.known is None:
        if newest is not None:
            yield Damage(HEAD_FILE, None, "missing", "without it, a cut-off end cannot be detected")
    elif chain.end.seq < extent.known.seq:
        yield Damage(newest or HEAD_FILE, number if newest else None, "cut off", chain.what_was_cut(extent.known))
    for path in CodeFolder(folder / "code").changed():
        yield Damage(path, None, "changed", "its content does not match the hash in its name")


class _Chain:
    """The position in a walk along the lines, and what the next line must be."""

    def __init__(self, known: Known | None) -> None:
        self._known = known
        self.end = START
        self.records = 0
        self.recoveries = 0
        self.unfinished_bytes = 0

    def follow(self, line: Line, *, is_newest: bool) -> Iterator[tuple[Flaw, str]]:
        if not line.is_whole and is_newest:
            self.unfinished_bytes = line.end - line.start
            return
        try:
            record = parse(line.data)
        except NotARecord as reason:
            yield "foreign", f"this is not a record: {reason}"
            return
        expected = self.end.seq + 1
        if not is_intact(line.data):
            # Taken as the expected record: one changed line is one damage, not two.
            yield "changed", f"record {expected} is not as it was written"
            self._step(Known(expected, record.hash), record)
        elif record.seq < expected:
            yield "foreign", f"record {record.seq} does not belong after record {self.end.seq}"
        else:
            if record.seq > expected:
                yield "missing", f"{_span(expected, record.seq - 1)} before this line"
            elif record.previous != self.end.hash:
                yield "changed", f"record {record.seq} does not continue the line before it; one of the two was changed"
            elif record.kind == "recovered" and record.facts.get("head_missing"):
                # No crash removes that file. The writer had to continue from the end that it found.
                yield "missing", f"{HEAD_FILE} was gone when this was written; records before this line may be missing"
            if self._known is not None and self._known.seq == record.seq and self._known.hash != record.hash:
                yield (
                    "changed",
                    f"{HEAD_FILE} knows another record {record.seq}: the log was rewritten up to here",
                )
            self._step(Known(record.seq, record.hash), record)

    def what_was_cut(self, known: Known) -> str:
        return f"{_span(self.end.seq + 1, known.seq)} at the end; {HEAD_FILE} knows of record {known.seq}"

    def _step(self, end: Known, record: Record) -> None:
        self.end = end
        self.records += 1
        self.recoveries += record.kind == "recovered"


def _span(first: int, last: int) -> str:
    return f"record {first} is missing" if first == last else f"records {first} to {last} are missing"
