"""Keeps the standing grants of a home, and counts their calls: a count is on disk before the call is made."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cortex.text import beginning
from neurons import ApprovalKey, DeferredStorage

from .asked_question import MAX_WORDS, marks_of
from .question_box import INBOX_KEY, InboxError, KeptQuestion, RecordDecision, only_one
from .standing_grant import ANY, KeptGrant, Scope, StandingGrant, grant_in

if TYPE_CHECKING:
    from cortex.home import Home
    from cortex.tools import Question
    from neurons import PurposeKey, Storage

MAX_GRANTS = 100
DAY_S = 86_400.0
LONGEST_S = 365 * DAY_S
_FOLDER = "grants"


class GrantBox:
    """The standing grants of one home. The methods block for the disk, and raise StorageError."""

    def __init__(self, storage: Storage, key: PurposeKey, *, now: Callable[[], float] = time.time) -> None:
        self._storage = storage
        self._key = key
        self._now = now

    @classmethod
    @contextmanager
    def opened(cls, home: Home, *, now: Callable[[], float] = time.time) -> Iterator[GrantBox]:
        """The grants of a home in files, to change. Raises StorageError and HomeError."""
        storage = DeferredStorage(home.state)
        try:
            yield cls(storage, ApprovalKey.load_or_make(home.state).for_purpose(INBOX_KEY), now=now)
        finally:
            storage.close()

    @classmethod
    @contextmanager
    def to_read(cls, home: Home, *, now: Callable[[], float] = time.time) -> Iterator[GrantBox | None]:
        """The grants of a home in files, to look at: creates nothing. None where nothing was ever asked."""
        key = ApprovalKey.load(home.state_to_read)
        storage = DeferredStorage(home.state_to_read)
        try:
            yield None if key is None else cls(storage, key.for_purpose(INBOX_KEY), now=now)
        finally:
            storage.close()

    def all(self) -> list[KeptGrant]:
        """What is granted now, the oldest first. What has ended or was not granted by this home is left out."""
        now = self._now()
        found = (grant_in(document.data, self._key) for document in self._storage.read_all(f"{_FOLDER}/"))
        live = [kept for kept in found if kept is not None and kept.has_calls_left and now < kept.grant.until]
        return sorted(live, key=lambda kept: kept.grant.at)

    def stamp(self) -> object:
        """A value that changes once a grant was given, used or revoked."""
        return self._storage.stamp(_FOLDER)

    def use(self, question: Question) -> StandingGrant | None:
        """Count this call with a grant that covers it, durably; None where none does."""
        if not question.policy_hash:
            return None
        live = self.all()
        marks = marks_of(question.arguments, self._key) if live else None
        for kept in live:
            if marks is not None and kept.grant.covers(question, marks, self._now()) and self._count(kept.grant):
                return kept.grant
        return None

    def give(self, grant: StandingGrant, record: RecordDecision) -> None:
        """Grant what `grant_of` has made. Recorded before it is done. Raises InboxError where there are too many."""
        with self._storage.alone(_FOLDER):
            if self._make_room() >= MAX_GRANTS:
                raise InboxError(f"there are {MAX_GRANTS} standing grants: revoke some (cortex inbox revoke ID)")
            facts = grant.model_dump(mode="json", include={"tool", "scope", "until", "times", "matching", "question"})
            record("owner_decision", what="grant", by=grant.by, grant=grant.id, **facts)
            self._storage.write_through(_key(grant.id), KeptGrant.sealed(self._key, grant, 0).model_dump(mode="json"))

    def revoke(self, name: str, *, by: str, record: RecordDecision) -> StandingGrant:
        """End a grant. Recorded before it is done. Raises InboxError."""
        live = self.all()
        chosen = only_one(name, live, [kept.grant.id for kept in live], "grant", "cortex inbox grants").grant
        record("owner_decision", what="revoke", by=by, grant=chosen.id, tool=chosen.tool)
        self._storage.delete(_key(chosen.id))
        return chosen

    def _count(self, grant: StandingGrant) -> bool:
        """Whether there was a call left; it is counted on disk then, whatever else happens."""
        counted: list[int] = []

        def change(data: dict[str, Any] | None) -> dict[str, Any] | None:
            kept = grant_in(data, self._key)
            if kept is None or kept.grant != grant or not kept.has_calls_left:
                return None
            counted.append(kept.used + 1)
            return KeptGrant.sealed(self._key, grant, kept.used + 1).model_dump(mode="json")

        self._storage.update(_key(grant.id), change)
        return bool(counted)

    def _make_room(self) -> int:
        """Delete what has ended; return how many are left."""
        live = {kept.grant.id for kept in self.all()}
        for document in self._storage.read_all(f"{_FOLDER}/"):
            if document.key.removeprefix(f"{_FOLDER}/") not in live:
                self._storage.delete(document.key)
        return len(live)


def grant_of(
    kept: KeptQuestion,
    *,
    scope: Scope,
    by: str,
    now: float,
    until: float | None = None,
    times: int | None = None,
    matching: Mapping[str, str] | None = None,
) -> StandingGrant:
    """The grant of what a question asks for longer, by default for a day. Raises InboxError where that cannot be."""
    asked, patterns = kept.asked, dict(matching or {})
    ends = now + DAY_S if until is None else until
    is_any = patterns == {ANY: ANY}
    if not asked.policy_hash:
        raise InboxError(f"{asked.tool} can be allowed for one call only")
    if scope == "run" and asked.origin == "host":
        raise InboxError("the program itself calls, and in no run: grant it always, or this one call")
    if scope == "conversation" and not asked.conversation:
        raise InboxError("the question belongs to no conversation: grant it for the run, or always")
    if not now < ends <= now + LONGEST_S:
        raise InboxError("a grant ends in the future, and within a year")
    if unknown := [name for name in patterns if name not in asked.marks and not is_any]:
        raise InboxError(f'the question has no argument "{unknown[0][:80]}"')
    return StandingGrant(
        id=secrets.token_hex(8),
        tool=asked.tool,
        policy_hash=asked.policy_hash,
        any_arguments=is_any,
        matching={} if is_any else patterns,
        same={} if is_any else {name: mark for name, mark in asked.marks.items() if name not in patterns},
        shown=beginning(" ".join(line.strip() for line in asked.lines()[1:]), MAX_WORDS),
        scope=scope,
        turn=asked.turn if scope == "run" else "",
        run=asked.run if scope == "run" else None,
        conversation=asked.conversation if scope == "conversation" else "",
        until=ends,
        times=times,
        question=asked.id,
        shown_hash=asked.shown_hash,
        by=by,
        at=now,
    )


def _key(id_: str) -> str:
    return f"{_FOLDER}/{id_}"
