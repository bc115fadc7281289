"""Asks the owner in the inbox of the home, and beside it where the program itself can ask: the first answer holds.

Questions stand side by side in the inbox; the program's own way, such as a terminal, asks one after the other.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import anyio
from anyio.to_thread import run_sync as in_thread

from cortex.tools import Decision, can_be_asked
from neurons import StorageError
from sandbox import LockBusy

from .asked_question import asked_question
from .question_box import INBOX_KEY, BoxFull, QuestionBox

if TYPE_CHECKING:
    from cortex.settings import InboxSettings
    from cortex.tools import Owner, Question
    from neurons import ApprovalKey, Storage

    from .asked_question import AskedQuestion, SignedAnswer

log = logging.getLogger("motor_cortex")

LOOK_S = 0.1
CLOSING_S = 5.0
_FAULTS = (StorageError, LockBusy, OSError, BoxFull)


def with_inbox(owner: Owner, settings: InboxSettings, storage: Storage, key: ApprovalKey) -> Owner:
    """The owner with an inbox; the owner alone where that is disabled, or where nobody would look into it."""
    if not settings.enabled or not (settings.unattended or can_be_asked(owner)):
        return owner
    return InboxOwner(owner, settings, QuestionBox(storage, key.for_purpose(INBOX_KEY)))


class InboxOwner:
    """An owner who answers in the inbox, or where `owner` asks."""

    def __init__(
        self, owner: Owner, settings: InboxSettings, box: QuestionBox, *, now: Callable[[], float] = time.time
    ) -> None:
        self._owner = owner
        self._settings = settings
        self._box = box
        self._now = now
        self._in_line = 0

    @property
    def is_there(self) -> bool:
        """Whether somebody is there who can be asked beside the inbox."""
        return can_be_asked(self._owner)

    async def decide(self, question: Question) -> Decision:
        """Ask beside the inbox: what is kept elsewhere, such as a question of a workflow, is not kept here too."""
        return await self._owner.decide(question)

    async def decide_within(self, question: Question, seconds: float, asking: anyio.Lock) -> Decision | None:
        """Ask in the inbox and beside it, in the program's own way while it holds `asking`. None when the time is over:
        each question has its time from when it can first be answered in every way."""
        self._in_line += 1
        try:
            asked = await self._kept(question, seconds * self._in_line)
            if asked is None:
                return await self._alone(question, seconds, asking)
            return await _Wait(self._owner, self._settings, self._box, self._now, asked).decision(
                question, seconds, asking, first_s=seconds * self._in_line
            )
        finally:
            self._in_line -= 1

    async def _kept(self, question: Question, seconds: float) -> AskedQuestion | None:
        """None where the question cannot be kept."""
        try:
            asked = await in_thread(asked_question, question, self._now())
            await in_thread(self._box.ask, asked, asked.asked_at + seconds, self._settings.max_open)
        except (*_FAULTS, ValueError) as error:
            log.warning("The question about %s is not in the inbox: %s", question.tool, error)
            return None
        return asked

    async def _alone(self, question: Question, seconds: float, asking: anyio.Lock) -> Decision | None:
        async with asking:
            with anyio.move_on_after(seconds):
                return await self._owner.decide(question)
        return None


class _Wait:
    """The wait for the answer to one question."""

    def __init__(
        self, owner: Owner, settings: InboxSettings, box: QuestionBox, now: Callable[[], float], asked: AskedQuestion
    ) -> None:
        self._owner = owner
        self._settings = settings
        self._box = box
        self._now = now
        self._asked = asked
        self._said: Decision | None = None
        self._fault: Exception | None = None

    async def decision(self, question: Question, seconds: float, asking: anyio.Lock, first_s: float) -> Decision | None:
        asks_itself = can_be_asked(self._owner)
        try:
            with anyio.move_on_after(first_s) as time_left:
                async with anyio.create_task_group() as tasks:
                    if asks_itself:
                        tasks.start_soon(self._ask_beside, question, seconds, asking, time_left, tasks.cancel_scope)
                    await self._hear()
                    tasks.cancel_scope.cancel()
        except BaseException:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
                await self._settle(None)
            raise
        return await self._settled()

    async def _ask_beside(
        self,
        question: Question,
        seconds: float,
        asking: anyio.Lock,
        time_left: anyio.CancelScope,
        waiting: anyio.CancelScope,
    ) -> None:
        """Ask in the program's own way. Ends the wait, unless nobody was there and the inbox goes on alone."""
        async with asking:
            time_left.deadline = anyio.current_time() + seconds
            try:
                await in_thread(self._box.extend, self._asked, self._now() + seconds)
            except _FAULTS as error:
                log.warning("Question %s has no more time in the inbox: %s", self._asked.id, error)
            try:
                said: object = await self._owner.decide(question)
            except Exception as error:  # noqa: BLE001 - passed on to the one who asks
                self._fault, said = error, None
        if isinstance(said, Decision) and not said.is_answer and self._settings.unattended:
            return
        if isinstance(said, Decision):
            self._said = said
        elif self._fault is None:
            self._fault = TypeError(f"the owner's side answered with {type(said).__name__} and not with a decision")
        waiting.cancel()

    async def _hear(self) -> None:
        """Return when there is an answer in the inbox."""
        last: object = None
        while True:
            stamp = await in_thread(self._looked, last, abandon_on_cancel=True)
            if stamp is None:
                return
            last = stamp
            await anyio.sleep(LOOK_S)

    def _looked(self, last: object) -> object:
        """The stamp of the inbox; None when there is an answer."""
        try:
            stamp = self._box.stamp() or ""
            # What changed since the last look, and only that, is read.
            return None if stamp != last and self._box.answer_to(self._asked) is not None else stamp
        except _FAULTS as error:
            log.warning("Cannot look for an answer to question %s: %s", self._asked.id, error)
            return last or ""

    async def _settled(self) -> Decision | None:
        """Close the question and return what holds: the first answer. Shielded: an answer that was taken is heard."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
            answer = await self._settle(self._said)
            if answer is not None:
                return Decision(answer.allowed, answer.reason, by=answer.by)
        if self._fault is not None:
            raise self._fault
        return self._said

    async def _settle(self, said: Decision | None) -> SignedAnswer | None:
        is_answer = said is not None and said.is_answer
        given = (said.allowed is True, str(said.reason), said.by or "owner") if said is not None and is_answer else None
        how: Literal["withdrawn", "expired"] = "withdrawn" if said is not None or self._fault is not None else "expired"
        try:
            return await in_thread(self._box.settle, self._asked, how, given)
        except (*_FAULTS, ValueError) as error:
            log.warning("Question %s was not closed in the inbox: %s", self._asked.id, error)
            return None
