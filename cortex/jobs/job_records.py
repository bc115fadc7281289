"""What is kept of each job, as documents in the home. What is kept is bounded: in number, in age and in bytes.

A handle is 128 random bits, and its record holds the hash of the conversation that it belongs to: another conversation
that names the handle is told the same as about a handle that nobody made.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from cortex.contracts import denied, failed
from sandbox import Displayed, display_note

if TYPE_CHECKING:
    from neurons import Storage

State = Literal["waiting", "running", "done", "failed", "refused", "cancelled", "cut_short"]
UNDER_WAY = frozenset({"waiting", "running"})

MAX_KEPT = 200
"""Records of ended jobs; the oldest make way."""
MAX_AGE_S = 7 * 86_400.0
MAX_REPLY_BYTES = 65_536
MAX_DISPLAYED_BYTES = 4 * 1024 * 1024
"""Kept of what one job displayed; notes stand for the rest."""
MAX_ALL_DISPLAYED_BYTES = 32 * 1024 * 1024
"""Kept of what all jobs displayed; that of the oldest makes way."""
MAY_HAVE_HAPPENED = "what it had begun may have happened"
CUT_SHORT = failed("CrashError", f"The host stopped while the job was under way; {MAY_HAVE_HAPPENED}")
NEVER_BEGAN = denied("The host stopped before the job began; nothing ran, and its energy was given back")

# What a turn gives: a drawing is rendered before.
_SHOWN_TYPES = frozenset({"image", "table", "markdown", "audio", "blob", "note"})
_HANDLE = re.compile(r"job-([0-9a-f]{32})")
_FOLDER = "jobs"
_CANCELS = "cancels"
_DISPLAYS = "jobdisplays"


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job. Times are seconds since 1970."""

    handle: str
    conversation: str
    """The hash of its name."""
    purpose: str
    tier: str
    cost: float
    code_hash: str
    at: float
    state: State = "waiting"
    ended_at: float | None = None
    reply: str | None = None
    """What the model reads, without secrets; None until the job has ended."""
    ok: bool = False
    is_told: bool = False
    """The signal of its end was sent, or is about to be: it is sent at most once."""
    woke_at: float | None = None
    reservation: int = 0
    """The entry of the energy ledger that holds what was reserved."""
    displayed_bytes: int = 0
    """Of what it displayed, which is kept beside the record; 0 for nothing."""

    @property
    def is_under_way(self) -> bool:
        return self.state in UNDER_WAY

    def ended(self, state: State, reply: str, now: float, *, ok: bool = False) -> JobRecord:
        from cortex.tools import cut  # noqa: PLC0415 - `cortex energy` only counts the jobs

        return replace(self, state=state, reply=cut(reply, MAX_REPLY_BYTES), ok=ok, ended_at=now)


def new_handle() -> str:
    return f"job-{secrets.token_hex(16)}"


def conversation_hash(name: str | None) -> str:
    return hashlib.sha256((name or "").encode(errors="replace")).hexdigest()


def key_of(handle: str) -> str | None:
    """The key of the record; None for a text that is no handle, whoever wrote it."""
    found = _HANDLE.fullmatch(handle)
    return None if found is None else f"{_FOLDER}/{found[1]}"


def displays_key_of(handle: str) -> str | None:
    key = key_of(handle)
    return None if key is None else key.replace(_FOLDER, _DISPLAYS, 1)


def kept_displays(displayed: Sequence[Displayed]) -> tuple[Displayed, ...]:
    """What is kept of the displays of one job: those beyond the limit are notes."""
    left, kept = MAX_DISPLAYED_BYTES, []
    for item in displayed:
        size = len(item.data)
        too_much = f"{size} bytes ({item.mime_type}) are more than is kept of what a job displays"
        kept.append(item if size <= left else display_note(too_much, item.title))
        left -= size if size <= left else 0
    return tuple(kept)


def displays_of(data: Mapping[str, Any]) -> tuple[Displayed, ...]:
    """The displays in a document; none for one that no version of this program wrote."""
    try:
        return tuple(
            Displayed(item["type"], str(item["mimeType"]), b64decode(item["data"], validate=True), str(item["title"]))
            for item in data["displayed"]
            if item["type"] in _SHOWN_TYPES
        )
    except (LookupError, TypeError, ValueError):
        return ()


def record_of(data: Mapping[str, Any]) -> JobRecord | None:
    """The record in a document; None for one that no version of this program wrote."""
    names = {field.name for field in fields(JobRecord)}
    try:
        record = JobRecord(**{name: value for name, value in data.items() if name in names})
    except TypeError:
        return None
    numbers = (record.cost, record.at, record.ended_at or 0.0, record.woke_at or 0.0)
    counts = (record.reservation, record.displayed_bytes)
    texts = (record.handle, record.conversation, record.purpose, record.tier, record.code_hash, record.reply or "")
    is_sound = record.state in get_args(State) and all(
        isinstance(number, int | float) for number in (*numbers, *counts)
    )
    return record if is_sound and all(isinstance(text, str) for text in texts) else None


class JobRecords:
    """The records in a home. The methods block for the disk."""

    def __init__(self, storage: Storage, now: Callable[[], float]) -> None:
        self._storage = storage
        self._now = now

    def find(self, handle: str, conversation: str | None) -> JobRecord | None:
        """The record, if the handle is one of this conversation."""
        key = key_of(handle)
        document = None if key is None else self._storage.read(key)
        record = None if document is None else record_of(document.data)
        if record is None or not secrets.compare_digest(record.conversation, conversation_hash(conversation)):
            return None
        return record

    def write(self, record: JobRecord) -> None:
        """On disk when it returns. Raises StorageError or OSError."""
        key = key_of(record.handle)
        assert key is not None
        self._storage.write_through(key, asdict(record))

    def keep_displays(self, record: JobRecord, displayed: Sequence[Displayed]) -> JobRecord:
        """Write what the job displayed, bounded, and return the record, which says so. The record is written first: no
        crash leaves displays behind that no record knows of. Raises as `write`."""
        key, kept = displays_key_of(record.handle), kept_displays(displayed)
        assert key is not None
        if not kept:
            return record
        items = [{**item.label, "data": b64encode(item.data).decode()} for item in kept]
        record = replace(record, displayed_bytes=max(1, sum(len(item.data) for item in kept)))
        self.write(record)
        self._storage.write_through(key, {"displayed": items})
        return record

    def displays(self, record: JobRecord) -> tuple[Displayed, ...]:
        """What is kept of what the job displayed."""
        key = displays_key_of(record.handle) if record.displayed_bytes else None
        document = None if key is None else self._storage.read(key)
        return () if document is None else displays_of(document.data)

    def all(self) -> list[JobRecord]:
        found = (record_of(document.data) for document in self._storage.read_all(f"{_FOLDER}/"))
        return sorted((record for record in found if record is not None), key=lambda record: record.at)

    def under_way(self) -> list[JobRecord]:
        return [record for record in self.all() if record.is_under_way]

    def cut_short(self, record: JobRecord) -> None:
        """Mark a job that no process runs any more."""
        words = NEVER_BEGAN if record.state == "waiting" else CUT_SHORT
        self.write(record.ended("cut_short", words, self._now()))

    def woke(self, record: JobRecord) -> None:
        """Note that the end of a job starts a turn now. A record that the owner has cleared meanwhile stays deleted."""
        key = key_of(record.handle)
        assert key is not None
        self._storage.update(key, lambda found: None if found is None else {**found, "woke_at": self._now()})

    def untold(self) -> list[JobRecord]:
        return [record for record in self.all() if not (record.is_under_way or record.is_told)]

    def forget_old(self) -> None:
        """Delete what is too old, and the oldest of what is too much. Jobs under way stay."""
        ended = [record for record in self.all() if not record.is_under_way]
        too_many = max(0, len(ended) - MAX_KEPT)
        for place, record in enumerate(ended):
            key = key_of(record.handle)
            is_old = not -MAX_AGE_S < self._now() - record.at < MAX_AGE_S
            if key is not None and (place < too_many or is_old):
                self._forget_displays(record)
                self._storage.delete(key)
        room = MAX_ALL_DISPLAYED_BYTES
        for record in reversed([record for record in ended if record.displayed_bytes]):
            room -= record.displayed_bytes
            if room < 0:
                self._forget_displays(record)

    def _forget_displays(self, record: JobRecord) -> None:
        key = displays_key_of(record.handle)
        if key is not None and record.displayed_bytes and self._storage.read(key) is not None:
            self._storage.delete(key)

    def clear(self, record: JobRecord) -> bool:
        """Delete the record of a job that has ended. Returns whether it was there, and had ended."""
        key = key_of(record.handle)
        found = None if key is None else self._storage.read(key)
        now = None if found is None else record_of(found.data)
        if key is None or now is None or now.is_under_way:
            return False
        self._storage.delete(key)
        return True

    # What the owner wants of the process that runs the jobs

    def ask_to_cancel(self, handle: str) -> None:
        """For the owner, from any process. Not in the record of the job: that is written by the process that runs it,
        which would overwrite this."""
        key = key_of(handle)
        assert key is not None
        self._storage.write_through(key.replace(_FOLDER, _CANCELS, 1), {"handle": handle})

    def asked_to_cancel(self) -> list[str]:
        """The handles, each told once."""
        found = self._storage.read_all(f"{_CANCELS}/")
        for document in found:
            self._storage.delete(document.key)
        return [f"job-{document.key.partition('/')[2]}" for document in found]

    def stamp_of_requests(self) -> object:
        """A cheap value that changes once any process has asked for something."""
        return self._storage.stamp(_CANCELS)

    def close(self) -> None:
        self._storage.close()
