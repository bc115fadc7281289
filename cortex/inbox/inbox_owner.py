"""Asks the owner in the inbox of the home, and beside it where the program itself can ask: the first answer holds.

Questions stand side by side in the inbox; the program's own way, such as a terminal, asks one after the other.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import anyio
from anyio.to_thread import run_sync as in_thread

from cortex.tools import Decision, as_one, can_be_asked, is_absent, is_core
from neurons import StorageError
from sandbox import LockBusy

from .grant_box import GrantBox
from .question_box import INBOX_KEY, BoxFull, QuestionBox
from .webhook_question import WebhookQuestions

if TYPE_CHECKING:
    from cortex.settings import InboxSettings
    from cortex.tools import Owner, Question
    from neurons import ApprovalKey, OwnerSettings, Storage

    from .asked_question import AskedQuestion, SignedAnswer
    from .standing_grant import StandingGrant

log = logging.getLogger("motor_cortex")

LOOK_S = 0.1
CLOSING_S = 5.0
GATHERING_S = 0.05
"""Calls of a run that are made at the same time arrive one after the other: no person notices so short a wait."""
LONGEST_GATHERING_S = 2.0
_FAULTS = (StorageError, LockBusy, OSError, BoxFull)


def with_inbox(owner: Owner, settings: InboxSettings, storage: Storage, key: ApprovalKey, told: OwnerSettings) -> Owner:
    """The owner with an inbox; the owner alone where that is disabled."""
    if not settings.enabled:
        return owner
    signed = key.for_purpose(INBOX_KEY)
    webhook = None
    if settings.webhook and told.webhook_url is not None:
        webhook = WebhookQuestions(told, settings.webhook_poll_s)
    elif settings.webhook:
        log.warning("inbox.webhook is set, but neurons.owner.webhook_url is not: no question is sent")
    return InboxOwner(owner, settings, QuestionBox(storage, signed), GrantBox(storage, signed), webhook)


class InboxOwner:
    """An owner who answers in the inbox, or where `owner` asks."""

    def __init__(
        self,
        owner: Owner,
        settings: InboxSettings,
        box: QuestionBox,
        grants: GrantBox,
        webhook: WebhookQuestions | None = None,
    ) -> None:
        self.beside = owner
        self.settings = settings
        self.box = box
        self.grants = grants
        self.webhook = webhook
        self._in_line: list[object] = []
        self.waits: list[_Wait] = []
        """For the answers to the questions that are open now, in the order in which they were asked."""

    @property
    def is_there(self) -> bool:
        """Whether somebody is there who can be asked beside the inbox."""
        return can_be_asked(self.beside)

    @property
    def is_absent(self) -> bool:
        """Whether nobody can ever be asked."""
        return is_absent(self.beside) and not self.waits_alone

    @property
    def waits_alone(self) -> bool:
        """Whether a question waits for an answer, too, where nobody can be asked beside the inbox."""
        return self.settings.unattended or self.webhook is not None

    async def granted(self, question: Question) -> Decision | None:
        """The yes that the owner has given before and that covers this call, counted."""
        grant = await in_thread(self.grants.use, question)
        return None if grant is None else _by(grant)

    async def decide(self, question: Question) -> Decision:
        """Ask beside the inbox: what is kept elsewhere, such as a question of a workflow, is not kept here too."""
        return await self.beside.decide(question)

    @property
    def most_together(self) -> int:
        """So many calls of one tool by one run, waiting at the same time, count as one question."""
        return self.settings.max_together

    async def decide_within(self, question: Question, seconds: float, asking: anyio.Lock) -> Decision | None:
        """Ask in the inbox and beside it, in the program's own way while it holds `asking`. None when the time is over:
        each question has its time from when it can first be answered in every way."""
        if not can_be_asked(self.beside) and not self.waits_alone:
            return await self.beside.decide(question)
        about = about_of(question)
        # Those that a person sees before it take their time; those that are asked together with it do not.
        before = {*self._in_line} - {about} if can_be_asked(self.beside) else ()
        first_s = seconds * (1 + len(before))
        self._in_line.append(about)
        try:
            asked = await self._kept(question, first_s)
            if asked is None:
                return await self._alone(question, seconds, asking)
            wait = _Wait(self, question, about, asked, seconds)
            self.waits.append(wait)
            try:
                return await wait.decision(asking, first_s)
            finally:
                self.waits.remove(wait)
        finally:
            self._in_line.remove(about)

    async def joining(self, first: _Wait) -> list[_Wait]:
        """The open questions that are asked together with the first. Returns when no more of them arrive."""
        if not isinstance(first.about, tuple):
            return []
        before, now = (-1, -1), (0, 0)
        with anyio.move_on_after(LONGEST_GATHERING_S):
            # Those in line that do not wait yet are being written.
            while before != now or now[0] != now[1]:
                await anyio.sleep(GATHERING_S)
                waiting = sum(wait.about == first.about for wait in self.waits)
                before, now = now, (self._in_line.count(first.about), waiting)
        return [wait for wait in self.waits if wait is not first and wait.about == first.about and wait.is_open]

    async def _kept(self, question: Question, seconds: float) -> AskedQuestion | None:
        """None where the question cannot be kept."""
        try:
            asked = await in_thread(self.box.asked, question)
            await in_thread(self.box.ask, asked, asked.asked_at + seconds, self.settings.max_open)
        except (*_FAULTS, ValueError) as error:
            log.warning("The question about %s is not in the inbox: %s", question.tool, error)
            return None
        return asked

    async def _alone(self, question: Question, seconds: float, asking: anyio.Lock) -> Decision | None:
        async with asking:
            with anyio.move_on_after(seconds):
                return await self.beside.decide(question)
        return None


def _by(grant: StandingGrant) -> Decision:
    return Decision(True, by=f"grant {grant.id}")


def about_of(question: Question) -> object:
    """Equal for questions that may be one: calls of a tool by one run, short enough to be shown together."""
    if is_core(question.tool) or as_one([question, question]) is None:
        return object()
    return question.tool, question.turn, question.run, question.origin


class _Wait:
    """The wait for the answer to one question."""

    def __init__(
        self, parts: InboxOwner, question: Question, about: object, asked: AskedQuestion, seconds: float
    ) -> None:
        self.about = about
        self._parts = parts
        self._owner, self._box = parts.beside, parts.box
        self.question = question
        self._asked = asked
        self._seconds = seconds
        self._said: Decision | None = None
        self._fault: Exception | None = None
        self._time_left = anyio.CancelScope()
        self._waiting = anyio.CancelScope()

    async def decision(self, asking: anyio.Lock, first_s: float) -> Decision | None:
        try:
            self._time_left.deadline = anyio.current_time() + first_s
            with self._time_left, self._waiting:
                async with anyio.create_task_group() as tasks:
                    if can_be_asked(self._owner):
                        tasks.start_soon(self._ask_beside, asking)
                    if self._parts.webhook is not None:
                        tasks.start_soon(self._ask_by_webhook, self._parts.webhook, self._box.now() + first_s)
                    await self._hear()
                    tasks.cancel_scope.cancel()
        except BaseException:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
                await self._settle(None)
            raise
        return await self._settled()

    @property
    def is_open(self) -> bool:
        return self._said is None and self._fault is None and not self._waiting.cancel_called

    async def _ask_beside(self, asking: anyio.Lock) -> None:
        """Ask in the program's own way, together with the other calls of the tool by this run. Ends their wait, unless
        nobody was there and the inbox goes on alone."""
        async with asking:
            together = [self, *await self._parts.joining(self)]
            one = as_one([wait.question for wait in together])
            if one is None:
                together, one = [self], self.question
            for wait in together:
                await wait.extend()
            try:
                said: object = await self._owner.decide(one)
            except Exception as error:  # noqa: BLE001 - passed on to the one who asks
                said = error
            for number, wait in enumerate(together, 1):
                wait.hear(said, number)

    async def _ask_by_webhook(self, webhook: WebhookQuestions, until: float) -> None:
        self.hear(await webhook.decision(self._asked, until), 1)

    async def extend(self) -> None:
        """The time of a question begins when a person can see it."""
        self._time_left.deadline = anyio.current_time() + self._seconds
        try:
            await in_thread(self._box.extend, self._asked, self._box.now() + self._seconds)
        except _FAULTS as error:
            log.warning("Question %s has no more time in the inbox: %s", self._asked.id, error)

    def hear(self, said: object, number: int) -> None:
        """Take what was said beside the inbox about the call of this number, and end the wait."""
        if not self.is_open:
            return
        match said:
            case Decision(is_answer=False) if self._parts.waits_alone:
                return
            case Decision(only=only):
                is_meant = only is None or number in only
                self._said = said if is_meant else replace(said, allowed=False, reason="others were allowed")
            case Exception():
                self._fault = said
            case _:
                what = type(said).__name__
                self._fault = TypeError(f"the owner's side answered with {what} and not with a decision")
        self._waiting.cancel()

    async def _hear(self) -> None:
        """Return when there is an answer in the inbox, or a new grant that covers the call."""
        seen: tuple[object, object] = (None, None)
        while True:
            looked = await in_thread(self._looked, seen)
            if looked is None:
                return
            seen = looked
            await anyio.sleep(LOOK_S)

    def _looked(self, seen: tuple[object, object]) -> tuple[object, object] | None:
        """The stamps of grants and questions; None when the wait is over. Only what changed since is read."""
        try:
            grants, questions = self._parts.grants.stamp(), self._box.stamp()
            if questions != seen[1] and self._box.answer_to(self._asked) is not None:
                return None
            if grants != seen[0] and (grant := self._parts.grants.use(self.question)) is not None:
                self._said = _by(grant)
                return None
        except _FAULTS as error:
            log.warning("Cannot look for an answer to question %s: %s", self._asked.id, error)
            return seen
        return grants, questions

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
