"""The port of the audit: a trail of records in one hash chain, shared by all processes of a home."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .lines import Record
    from .verdict import Verdict


class Trail(Protocol):
    """A record that `record` has returned survives the end of the process. Records have numbers without gaps, and each
    has the hash of the one before it. All methods raise AuditError when the trail cannot be read or written."""

    def record(self, kind: str, /, **facts: Any) -> Record:
        """Add a record. If it raises, no part of the record is there."""
        ...

    def keep_code(self, code: str) -> str:
        """Return the hash of the code, and keep the code if the settings say so."""
        ...

    def code(self, own_hash: object) -> str | None:
        """The code with this hash, if it was kept."""
        ...

    def records(self, *, last: int | None = None) -> Iterator[Record]:
        """The last `last` records or all, oldest first."""
        ...

    def find(self, seq: int) -> Record | None:
        """The record with this number."""
        ...

    def follow(self, *, last: int = 0) -> Iterator[Record]:
        """The last `last` records, and then each new one from any process. Never ends by itself."""
        ...

    def verify(self) -> Verdict:
        """Read everything and report what is not as it was written."""
        ...

    def close(self) -> None:
        """Flush and close. Never raises."""
        ...
