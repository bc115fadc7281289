"""Decides whether a tool call may be made: by policy and, if that says "ask", by asking the owner.

The same for the model's calls and for those from its code; everything that is not a clear yes is a no.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

import anyio
from pydantic_core import from_json, to_json

from sandbox import person_decides

from .names import is_core
from .owner import COMMIT, Decision, PatientOwner, Question, is_absent
from .policy import policy_hash, policy_of

if TYPE_CHECKING:
    from cortex.settings import ToolSettings

    from .owner import Origin, Owner
    from .policy import Governed

log = logging.getLogger("motor_cortex")

MAX_REASON = 500
_UNASKED = Decision(allowed=False, reason="the owner could not be asked")


@dataclass(frozen=True, slots=True)
class Allowed:
    asked_ms: float | None = field(default=None, compare=False)
    """How long the owner was asked; None if the owner was not."""


@dataclass(frozen=True, slots=True)
class NotAllowed:
    reason: str
    asked_ms: float | None = field(default=None, compare=False)


Permission: TypeAlias = Allowed | NotAllowed


async def _as_they_are(arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments


class Consent:
    """The consent of one turn: it counts the questions to the owner."""

    def __init__(
        self,
        owner: Owner,
        settings: ToolSettings,
        *,
        turn: str = "",
        conversation: str = "",
        asking: anyio.Lock | None = None,
        on_decision: Callable[[Question, Decision, dict[str, Any]], None] = lambda *_: None,
        redacted: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]] = _as_they_are,
    ) -> None:
        """`on_decision` is told the question, the decision, and the arguments as `redacted` returns them."""
        self._owner = owner
        self._settings = settings
        self._turn = turn
        self._conversation = conversation
        self._on_decision = on_decision
        self._redacted = redacted
        self._questions = 0
        self._waiting: Counter[tuple[int | None, str]] = Counter()
        self._together: Counter[tuple[int | None, str]] = Counter()
        # One question at a time: two prompts in one terminal would take each other's answers.
        self._asking = anyio.Lock() if asking is None else asking

    async def of(
        self,
        tool: Governed,
        arguments: dict[str, Any],
        *,
        origin: Origin,
        purpose: str = "",
        run: int | None = None,
        code: str = "",
    ) -> Permission:
        """Decide about one call; one by code is by the run of that number. Raises nothing but a cancellation."""
        policy = policy_of(tool, self._settings)
        match policy:
            case "allow":
                return Allowed()
            case "deny":
                return NotAllowed(f"the owner does not allow {tool.name}")
            case "ask":
                hashed = policy_hash(tool, self._settings)
                return await self.ask(
                    tool.name, arguments, origin=origin, purpose=purpose, run=run, code=code, hashed=hashed
                )
            case _:
                assert_never(policy)

    async def ask(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        origin: Origin,
        purpose: str = "",
        run: int | None = None,
        code: str = "",
        hashed: str = "",
    ) -> Permission:
        """Ask the owner, whatever the policy is, unless a yes of before covers the call, which `hashed` is for. Raises
        nothing but a cancellation."""
        what = "changing files" if name == COMMIT else name
        # A copy: changes that the owner's side makes must not affect the call.
        copy = from_json(to_json(arguments))
        about = (self._turn, self._conversation, run, code, None, hashed)
        question = Question(name, copy, origin, purpose[:MAX_REASON], *about)
        granted = await self._granted(question)
        if granted is not None:
            self._on_decision(question, granted, await self._redacted(copy))
            return Allowed()
        limit = self._settings.max_questions_per_turn
        # Counted before waiting: several calls at once must not all count as the last allowed question. And before the
        # search for secrets, which takes long: code could make it be done for thousands of calls.
        if not self._is_counted((run, name), limit):
            return NotAllowed(f"{what} needs the owner's consent, and at most {limit} questions are asked in one turn")
        try:
            # Before the question: nothing may come between the owner's answer and its record.
            shown = await self._redacted(copy)
            question = replace(question, shown=shown)
            began = time.perf_counter()
            # A run's timeout is for its code, and too short for a person to read in. It may be extended by the time of
            # all questions of a turn, which may all come before this one.
            with person_decides(at_most_s=limit * self._settings.owner_timeout_s):
                decision = await self._decision(question)
        finally:
            self._waiting[run, name] -= 1
        self._on_decision(question, decision, shown)
        return replace(self._permission(what, decision), asked_ms=(time.perf_counter() - began) * 1000)

    def _permission(self, what: str, decision: Decision) -> Permission:
        if decision.allowed is True:
            return Allowed()
        if is_absent(self._owner):
            return NotAllowed(f'{what} has the policy "ask", and no owner can be asked here; do without it')
        if decision is _UNASKED:
            return NotAllowed(f"{what} needs the owner's consent, and {decision.reason}")
        reason = " ".join(str(decision.reason)[:MAX_REASON].split()).rstrip(".")
        return NotAllowed(f"the owner was asked about {what} and said no" + (f": {reason}" if reason else ""))

    async def _granted(self, question: Question) -> Decision | None:
        if not isinstance(self._owner, PatientOwner) or not question.policy_hash:
            return None
        try:
            return await self._owner.granted(question)
        except Exception:
            log.exception("What the owner has granted cannot be read: the owner is asked")
            return None

    def _is_counted(self, about: tuple[int | None, str], limit: int) -> bool:
        """Count the question, unless it joins others that the owner is asked together. False if it is one too many."""
        most = self._owner.most_together if isinstance(self._owner, PatientOwner) and not is_core(about[1]) else 1
        # Not only those that wait now: one that is answered makes no room for another, or a run could go on asking.
        joins = self._waiting[about] > 0 and self._together[about] < most
        if not joins and self._questions >= limit:
            return False
        self._questions += not joins
        self._together[about] = self._together[about] + 1 if joins else 1
        self._waiting[about] += 1
        return True

    async def _decision(self, question: Question) -> Decision:
        seconds = self._settings.owner_timeout_s
        try:
            decision: object = await self._asked(question, seconds)
        except Exception:
            log.exception("The owner could not be asked")
            return _UNASKED
        if decision is None:
            return Decision(allowed=False, reason=f"no answer within {seconds:g} s")
        if isinstance(decision, Decision):
            return decision
        log.error("The owner's side answered with %s and not with a decision", type(decision).__name__)
        return Decision(allowed=False, reason="the answer was not a decision")

    async def _asked(self, question: Question, seconds: float) -> object:
        """What the owner's side answers; None when the time is over."""
        if isinstance(self._owner, PatientOwner):
            return await self._owner.decide_within(question, seconds, self._asking)
        async with self._asking:
            with anyio.move_on_after(seconds):
                decision: object = await self._owner.decide(question)
                return "nothing" if decision is None else decision
        return None
