"""Keeps the questions of a home as documents, and the answers to them. The first answer wins, among all processes.

A document that somebody else wrote or edited is no question, and an answer that this home did not sign is none.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from cortex.text import local_time
from neurons import ApprovalKey, DeferredStorage, KillSwitch

from .asked_question import LEAST_HASH, Closed, KeptDocument, SignedAnswer, asked_question, document_of

if TYPE_CHECKING:
    from cortex.home import Home
    from cortex.tools import Question
    from neurons import PurposeKey, Storage

    from .asked_question import AskedQuestion

log = logging.getLogger("motor_cortex")

INBOX_KEY = "inbox"
"""What the key of the inbox is made for; see `ApprovalKey.for_purpose`."""
MAX_CLOSED = 50
KEPT_S = 86_400.0
LATE_S = 2.0
"""A program that has not closed its question this long after its time does not hear an answer."""
_FOLDER = "questions"
_LEAST_ID = 4

_One = TypeVar("_One")
State = Literal["open", "answered", "expired", "withdrawn", "ended", "late"]
TOLD: dict[State, str] = {
    "open": "waits for your answer",
    "answered": "was answered",
    "expired": "nobody answered in time",
    "withdrawn": "the program does not wait for it any more",
    "ended": "the program that asked has ended",
    "late": "its time is over, and the program that asked does not respond",
}


class InboxError(Exception):
    """The answer was not taken. The message says why."""


class BoxFull(InboxError):
    """More questions are open than are kept."""


class RecordDecision(Protocol):
    """Writes a line of the audit. What it raises keeps the answer from being taken."""

    def __call__(self, kind: str, /, **facts: Any) -> object: ...


@dataclass(frozen=True, slots=True)
class KeptQuestion:
    """A question that this home has asked, as it stands now."""

    asked: AskedQuestion
    until: float
    state: State
    answer: SignedAnswer | None = None

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def told(self) -> str:
        """How it stands, in words."""
        if self.answer is None:
            return TOLD[self.state]
        said = "yes" if self.answer.allowed else "no"
        return f"was answered: {said}, by {self.answer.by}, {local_time(self.answer.at)}"


class QuestionBox:
    """The questions of one home. The methods block for the disk, and raise StorageError."""

    def __init__(
        self,
        storage: Storage,
        key: PurposeKey,
        *,
        now: Callable[[], float] = time.time,
        killed: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`killed` says why nothing may be done, while the kill switch is on."""
        self._storage = storage
        self._key = key
        self.now = now
        self._killed = killed

    @classmethod
    @contextmanager
    def opened(cls, home: Home, *, now: Callable[[], float] = time.time) -> Iterator[QuestionBox]:
        """The box of a home in files, to answer in. Raises StorageError and HomeError."""
        storage = DeferredStorage(home.state)
        try:
            key = ApprovalKey.load_or_make(home.state).for_purpose(INBOX_KEY)
            yield cls(storage, key, now=now, killed=KillSwitch(home.state).refusal)
        finally:
            storage.close()

    @classmethod
    @contextmanager
    def to_read(cls, home: Home, *, now: Callable[[], float] = time.time) -> Iterator[QuestionBox | None]:
        """The box of a home in files, to look into: creates nothing. None where nothing was ever asked."""
        key = ApprovalKey.load(home.state_to_read)
        storage = DeferredStorage(home.state_to_read)
        try:
            yield None if key is None else cls(storage, key.for_purpose(INBOX_KEY), now=now)
        finally:
            storage.close()

    # The side that asks

    def asked(self, question: Question) -> AskedQuestion:
        """The question as it is kept."""
        return asked_question(question, self.now(), self._key)

    def ask(self, asked: AskedQuestion, until: float, max_open: int) -> None:
        """Keep the question. Raises BoxFull."""
        with self._storage.alone(_FOLDER):
            if self._make_room() >= max_open:
                raise BoxFull(f"{max_open} questions are open: no more are kept")
            self._write(KeptDocument.sealed(self._key, asked, until))

    def extend(self, asked: AskedQuestion, until: float) -> None:
        """Give the owner time until then."""

        def change(data: dict[str, Any] | None) -> dict[str, Any] | None:
            kept = document_of(data)
            if kept is None:
                return None
            return _data(KeptDocument.sealed(self._key, asked, until).model_copy(update={"answer": kept.answer}))

        self._storage.update(_key(asked.id), change)

    def answer_to(self, asked: AskedQuestion) -> SignedAnswer | None:
        """The answer to exactly this question, if there is one that this home has signed."""
        document = self._storage.read(_key(asked.id))
        kept = document_of(document.data if document is not None else None)
        if kept is None or kept.answer is None:
            return None
        if not kept.answer.fits(self._key, asked.shown_hash):
            log.warning("An answer to question %s was not signed by this home for it: ignored", asked.id)
            return None
        return kept.answer

    def settle(
        self, asked: AskedQuestion, how: Literal["expired", "withdrawn"], said: tuple[bool, str, str] | None = None
    ) -> SignedAnswer | None:
        """Close the question, with what the owner `said` here (allowed, reason, by) unless an answer came first.
        Returns the answer that holds; None if there is none."""
        shown, now = asked.shown_hash, self.now()
        holds: list[SignedAnswer] = []
        if said is not None:
            allowed, reason, by = said
            holds.append(SignedAnswer.signed(self._key, shown, allowed=allowed, reason=reason, by=by, at=now))

        def change(data: dict[str, Any] | None) -> dict[str, Any] | None:
            kept = document_of(data)
            if kept is None:
                return None
            if kept.answer is not None and kept.answer.fits(self._key, shown):
                holds[:] = [kept.answer]
            whole = KeptDocument.sealed(self._key, asked, kept.until)
            closed = Closed(how="answered" if holds else how, at=now)
            return _data(whole.model_copy(update={"answer": holds[0] if holds else None, "closed": closed}))

        self._storage.update(_key(asked.id), change)
        return holds[0] if holds else None

    def stamp(self) -> object:
        """A value that changes once a document was written."""
        return self._storage.stamp(_FOLDER)

    # The side that answers

    def all(self) -> list[KeptQuestion]:
        """Every question, the oldest first. What this home has not asked is left out."""
        found = (self._kept(document.data) for document in self._storage.read_all(f"{_FOLDER}/"))
        return sorted((one for one in found if one is not None), key=lambda one: one.asked.asked_at)

    def find(self, name: str) -> KeptQuestion:
        """The question of this id, or the only one whose id begins so. Raises InboxError."""
        found = self.all()
        return only_one(name, found, [one.asked.id for one in found])

    def answer(
        self, id_: str, shown: str, *, allowed: bool, by: str, record: RecordDecision, reason: str = ""
    ) -> KeptQuestion:
        """Answer the question that was shown with this hash, of which 8 characters are enough. Recorded before it is
        done. Raises InboxError when it cannot be answered, or not any more."""
        asked = self.find(id_).asked

        def change(data: dict[str, Any] | None) -> dict[str, Any]:
            kept = self._kept(data)
            if kept is None:
                raise InboxError(f'"{id_[:80]}": there is no such question any more')
            shown_hash = kept.asked.shown_hash
            if len(shown) < LEAST_HASH or not shown_hash.startswith(shown.lower()):
                raise InboxError(f"the hash is not that of question {asked.id}: look at it again, and then answer")
            if not kept.is_open:
                raise InboxError(f"question {asked.id} cannot be answered: {kept.told}")
            if allowed and (why := self._killed()) is not None:
                raise InboxError(f"nothing can be allowed now. {why}")
            facts = {"question": asked.id, "tool": kept.asked.tool, "shown_hash": shown_hash, "turn": kept.asked.turn}
            record("owner_decision", what="answer", by=by, allowed=allowed, reason=reason, **facts)
            said = SignedAnswer.signed(self._key, shown_hash, allowed=allowed, reason=reason, by=by, at=self.now())
            whole = KeptDocument.sealed(self._key, kept.asked, kept.until)
            return _data(whole.model_copy(update={"answer": said}))

        document = self._storage.update(_key(asked.id), change)
        kept = self._kept(document.data if document is not None else None)
        assert kept is not None
        return kept

    def _kept(self, data: Any) -> KeptQuestion | None:
        kept = document_of(data)
        if kept is None or not kept.is_sealed(self._key):
            return None
        answer = kept.answer
        if answer is not None and not answer.fits(self._key, kept.asked.shown_hash):
            answer = None
        return KeptQuestion(kept.asked, kept.until, self._state(kept, answer), answer)

    def _state(self, kept: KeptDocument, answer: SignedAnswer | None) -> State:
        if answer is not None:
            return "answered"
        if kept.closed is not None:
            return kept.closed.how
        if kept.asked.program.has_ended:
            return "ended"
        return "late" if self.now() > kept.until + LATE_S else "open"

    def _make_room(self) -> int:
        """Delete what is old, and what is no question of this home; return how many are open."""
        now, open_, rest = self.now(), 0, []
        for document in self._storage.read_all(f"{_FOLDER}/"):
            kept = self._kept(document.data)
            if kept is not None and kept.is_open:
                open_ += 1
            elif kept is None or now - kept.asked.asked_at > KEPT_S:
                self._storage.delete(document.key)
            else:
                rest.append((kept.asked.asked_at, document.key))
        for _, key in sorted(rest)[:-MAX_CLOSED]:
            self._storage.delete(key)
        return open_

    def _write(self, document: KeptDocument) -> None:
        self._storage.write_through(_key(document.asked.id), _data(document))


def only_one(
    name: str, found: Sequence[_One], ids: Sequence[str], kind: str = "question", listing: str = "cortex inbox"
) -> _One:
    """The one with this id, or the only one whose id begins so. Raises InboxError."""
    meant = [one for one, id_ in zip(found, ids, strict=True) if id_.startswith(name) and len(name) >= _LEAST_ID]
    if len(meant) != 1:
        problem = f"several {kind}s have ids that begin so" if meant else f"there is no such {kind}"
        if len(name) < _LEAST_ID:
            problem = f"write at least {_LEAST_ID} characters of the id of a {kind}"
        raise InboxError(f'"{name[:80]}": {problem}; "{listing}" lists those that are open')
    return meant[0]


def _key(id_: str) -> str:
    return f"{_FOLDER}/{id_}"


def _data(document: KeptDocument) -> dict[str, Any]:
    return document.model_dump(mode="json")
