"""Dangerous decisions wait here for a code of six digits that appears only on the owner's terminal.

A program that drives the owner's browser reads every page and types every hash. It does not read the terminal. Pure,
except for the clock and the random numbers that are passed in.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .sessions import OwnerSession, OwnerSessions

CODE_S = 120
MAX_WRONG = 5
MAX_OPEN = 3
DIGITS = 6


class CodeRefused(Exception):
    """The decision was not made. The message says why."""


@dataclass(frozen=True, slots=True)
class CodedDecision:
    """A dangerous decision that waits for its code. It is carried out exactly as it was when the code was made."""

    id: str
    session: str
    action: str
    target: str
    given: Mapping[str, str]
    what: str
    """For the owner, on the page and beside the code."""
    code: str
    until: float


@dataclass(slots=True)
class Codes:
    sessions: OwnerSessions
    now: Callable[[], float]
    tell: Callable[[CodedDecision], None] = lambda _: None
    """Shows the code where only the owner sees it."""
    digits: Callable[[], str] = lambda: f"{secrets.randbelow(10**DIGITS):0{DIGITS}}"
    _open: dict[str, CodedDecision] = field(default_factory=dict)

    def ask(
        self, session: OwnerSession, action: str, target: str, given: Mapping[str, str], what: str
    ) -> CodedDecision:
        """Make a code for the decision and show it to the owner. Raises CodeRefused."""
        if len(self.waiting()) >= MAX_OPEN:
            raise CodeRefused(
                f"{MAX_OPEN} decisions wait for their codes already: answer one, or wait {CODE_S // 60} minutes"
            )
        decision = CodedDecision(
            secrets.token_hex(8), session.id, action, target, dict(given), what, self.digits(), self.now() + CODE_S
        )
        self._open[decision.id] = decision
        self.tell(decision)
        return decision

    def waiting(self) -> list[CodedDecision]:
        now = self.now()
        self._open = {id_: one for id_, one in self._open.items() if now < one.until}
        return list(self._open.values())

    def find(self, session: OwnerSession, decision_id: str) -> CodedDecision:
        """Raises CodeRefused unless this session asked for the decision, and it still waits."""
        self.waiting()
        found = self._open.get(decision_id)
        if found is None or found.session != session.id:
            raise CodeRefused("This decision does not wait any more: begin again")
        return found

    def take(self, session: OwnerSession, decision_id: str, code: str) -> CodedDecision:
        """The decision, once, for its own code. Raises CodeRefused; the session ends with the fifth wrong code in a
        row, so that codes cannot be guessed."""
        found = self.find(session, decision_id)
        given = "".join(code.split())
        if not hmac.compare_digest(found.code.encode(), given.encode(errors="replace")):
            session.wrong_codes += 1
            if session.wrong_codes >= MAX_WRONG:
                self.sessions.end(session)
                self.drop(session)
                raise CodeRefused(f"That was wrong code {MAX_WRONG}: this session has ended")
            raise CodeRefused(f"That is not its code; {MAX_WRONG - session.wrong_codes} tries are left")
        session.wrong_codes = 0
        del self._open[decision_id]
        return found

    def drop(self, session: OwnerSession) -> None:
        """Forget what the session asked for."""
        self._open = {id_: one for id_, one in self._open.items() if one.session != session.id}
