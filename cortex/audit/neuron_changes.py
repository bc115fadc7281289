"""Finds the last record about a change of status of each neuron, without reading the whole log each time.

What was read stays in memory, with the position. For a long log both are also kept in a file beside it, and believed
only while the line before that position is still the same; else the log is read from its beginning.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sandbox import replace_file

from . import days
from .lines import MAX_LINE_BYTES, NotARecord, is_hash, parse

FILE = "neurons.json"
# A log that is shorter than this is read anew each time: that takes a millisecond.
KEPT_AFTER_BYTES = 256 * 1024
MAX_KEPT_BYTES = 4 * 1024 * 1024
# Only the pipeline of the neurons writes such a record, and it writes it so: other records may name a neuron, too.
_MARK = b'"what":"neuron '
_OWN = frozenset({"what", "neuron", "before", "after", "version", "code_hash"})


class NeuronChanges:
    """The last change of each neuron, by its id, as the facts of its record."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = ""
        self._offset = 0
        self._hash = ""
        self._found: dict[str, dict[str, Any]] = {}
        self._unkept = 0
        self._is_fresh = True

    def __call__(self) -> Mapping[str, Mapping[str, Any]]:
        """As of now. Raises OSError when the log cannot be read."""
        if self._is_fresh:
            self._recall()
            self._is_fresh = False
        elif self._name and not self._is_in_place():
            self._forget()
        self._read_on()
        if self._unkept >= KEPT_AFTER_BYTES:
            self._keep()
        return self._found

    def _read_on(self) -> None:
        # Listed before they are read: once there is a newer file, no process writes to an older one.
        for name in [name for name in days.day_names(self._folder) if name >= self._name]:
            if name != self._name:
                self._name, self._offset = name, 0
            last = b""
            for line in days.lines(self._folder / name, self._offset):
                if not line.is_whole:
                    break
                self._unkept += line.end - line.start
                self._offset, last = line.end, line.data
                if _MARK in line.data:
                    self._note(line.data)
            if last:
                self._hash = _hash_of(last)

    def _note(self, line: bytes) -> None:
        with suppress(NotARecord):
            facts = parse(line).facts
            if facts.keys() >= _OWN and isinstance(facts["neuron"], str):
                self._found[facts["neuron"]] = facts

    def _recall(self) -> None:
        try:
            with (self._folder / FILE).open("rb") as file:
                kept = json.loads(file.read(MAX_KEPT_BYTES))
            name, offset, own, found = (kept[field] for field in ("name", "offset", "hash", "neurons"))
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return
        is_sound = isinstance(name, str) and isinstance(offset, int) and is_hash(own) and isinstance(found, dict)
        if is_sound and name in days.day_names(self._folder) and all(isinstance(one, dict) for one in found.values()):
            self._name, self._offset, self._hash, self._found = name, offset, own, found
            if not self._is_in_place():
                self._forget()

    def _is_in_place(self) -> bool:
        """Whether the line before the position is still the one that was read."""
        if not self._offset:
            return True
        try:
            with (self._folder / self._name).open("rb") as file:
                start = max(0, self._offset - MAX_LINE_BYTES - 1)
                before = os.pread(file.fileno(), self._offset - start, start)
        except OSError:
            return False
        return len(before) == self._offset - start and before.endswith(b"\n") and _hash_of(before[:-1]) == self._hash

    def _forget(self) -> None:
        self._name, self._offset, self._hash, self._found = "", 0, "", {}

    def _keep(self) -> None:
        kept = {"name": self._name, "offset": self._offset, "hash": self._hash, "neurons": self._found}
        with suppress(OSError):  # it only saves time
            replace_file(self._folder / FILE, json.dumps(kept).encode(), durable=False)
        self._unkept = 0


def _hash_of(line: bytes) -> str:
    own = line[-66:-2].decode("ascii", "replace")
    return own if is_hash(own) else ""
