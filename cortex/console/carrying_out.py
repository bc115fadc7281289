"""Carries out what the owner decided on a page: each decision is recorded first, with the session that made it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cortex.audit import Audit, AuditError
from cortex.energy import EnergyReserve
from cortex.home import Home, HomeFiles
from cortex.inbox import InboxError, QuestionBox
from cortex.views import QuestionSeen, hash_of_all, questions_of, together_with
from cortex.workflows import DATABASE, JournalError, SqliteJournal
from neurons import ApprovalKey, Killed, KillSwitch, NeuronError

if TYPE_CHECKING:
    from cortex.energy import Entry
    from cortex.learning import Learning
    from cortex.settings import Settings

BY = "owner (console)"
MAX_REASON = 500
MIN_HASH = 8
_JOURNAL_S = 5.0
DEFAULT_REASON = "the owner stopped everything in the console"


class Decided:
    """Decides in the name of the owner, for one session."""

    def __init__(self, settings: Settings, session: str) -> None:
        self._settings = settings
        self._session = session

    @contextmanager
    def _audit(self) -> Iterator[Audit]:
        audit = Audit(Home(self._settings.home).audit, self._settings.audit)
        try:
            yield audit
        finally:
            audit.close()

    def _recorder(self, audit: Audit) -> Callable[..., Any]:
        def record(kind: str, /, **facts: Any) -> Any:
            return audit.record(kind, **facts, session=self._session)

        return record

    @contextmanager
    def _learning(self) -> Iterator[Learning]:
        from cortex.learning import Learning  # noqa: PLC0415 - slow to import, and only decisions need it

        home = Home(self._settings.home)
        with self._audit() as audit:
            learning = Learning(
                HomeFiles(home),
                self._settings,
                key=ApprovalKey.load_or_make(home.state),
                record=self._recorder(audit),
                changes=audit.neuron_changes,
            )
            try:
                yield learning
            finally:
                learning.close()

    # The safe direction

    def kill(self, reason: str, neuron: str | None = None) -> Killed:
        """Stop everything now, or one neuron. Needs neither the settings nor the audit to be whole."""
        state = self._settings.home / "state"

        def record(kind: str, /, **facts: Any) -> None:
            with self._audit() as audit:
                audit.record(kind, **facts, session=self._session)

        killed = KillSwitch(state, record=record).turn_on(reason or DEFAULT_REASON, BY, neuron=neuron)
        problems = () if neuron is not None else tuple(self._stop_workflows(str(killed.on)))
        return killed._replace(problems=killed.problems + problems)

    def _stop_workflows(self, why: str) -> list[str]:
        """Mark every run of a workflow as aborted, also those that no process leads."""
        folder = self._settings.home / "workflows"
        try:
            if not (folder / DATABASE).exists():
                return []
            journal = SqliteJournal(folder, busy_s=_JOURNAL_S)
            try:
                journal.stop_all(why, by="kill switch", now=time.time())
            finally:
                journal.close()
        except (JournalError, OSError) as error:
            return [f"runs of workflows cannot be marked as aborted: {error}"]
        return []

    def reject(self, neuron: str, given: Mapping[str, str]) -> str:
        with self._learning() as learning:
            learning.pipeline.reject(neuron, given.get("reason", ""), by=BY)
        return "It is rejected."

    def disable(self, neuron: str, given: Mapping[str, str]) -> str:
        with self._learning() as learning:
            learning.pipeline.disable(neuron, given.get("reason", ""), by=BY)
        return "It is disabled."

    def answer(self, question: str, given: Mapping[str, str]) -> str:
        """Answer a question of an agent, or all that one run asks about the same tool. A no is safe; a yes came with a
        code. Raises InboxError when other questions wait than those that were shown."""
        allowed, shown = given.get("allowed") == "yes", given.get("hash", "").strip().lower()
        asked = asked_together(self._settings, question, is_one=not given.get("together"))
        if len(shown) < MIN_HASH or not hash_shown(asked).startswith(shown):
            raise InboxError("the hash is not that of what waits now: look at it again, and then answer")
        reason = " ".join(given.get("reason", "").split())[:MAX_REASON]
        with self._audit() as audit, QuestionBox.opened(Home(self._settings.home)) as box:
            record = self._recorder(audit)
            for done, one in enumerate(asked):
                try:
                    box.answer(one.id, one.shown_hash, allowed=allowed, by=BY, reason=reason, record=record)
                except InboxError as error:
                    before = f"{done} of {len(asked)} were answered, and then: " if done else ""
                    raise InboxError(f"{before}{error}") from error
        calls = "" if len(asked) == 1 else f", {len(asked)} times"
        return f"{asked[0].tool} {f'may be called, this once{calls}' if allowed else f'is not called{calls}'}."

    # The dangerous direction: each of these needs a code, too

    def approve(self, neuron: str, given: Mapping[str, str]) -> str:
        with self._learning() as learning:
            learning.pipeline.approve(neuron, given.get("hash", "").strip(), by=BY)
        return "It is on trial now."

    def modify(self, neuron: str, given: Mapping[str, str]) -> str:
        code = given.get("code", "").replace("\r\n", "\n")
        with self._learning() as learning:
            learning.pipeline.modify(neuron, code, by=BY, max_code_bytes=self._settings.sandbox.max_code_bytes)
        return "Your code is its newest version, and in quarantine: the next agent on this home tries it."

    def enable(self, neuron: str, _: Mapping[str, str]) -> str:
        with self._learning() as learning:
            after = learning.pipeline.enable(neuron, by=BY)
        return f"It is {after.status.value.replace('_', ' ')} again."

    def rollback(self, neuron: str, given: Mapping[str, str]) -> str:
        version = given.get("version", "")
        if not version.isdecimal() or len(version) > 6:
            raise NeuronError("There is no such version")
        with self._learning() as learning:
            after = learning.pipeline.rollback(neuron, int(version), by=BY)
        return f"Version {version} is back; it is {after.status.value.replace('_', ' ')}."

    def revive(self, neuron: str, given: Mapping[str, str]) -> str:
        home = Home(self._settings.home)
        with self._audit() as audit:
            switch = KillSwitch(home.state, record=self._recorder(audit))
            switch.turn_off(given.get("reason", ""), BY, neuron=neuron or None)
        return "The kill switch is off."

    def energy(self, _: str, given: Mapping[str, str]) -> str:
        amount = amount_of(given.get("amount", ""))
        home = Home(self._settings.home)
        with self._audit() as audit:
            record = self._recorder(audit)

            def told(entry: Entry) -> None:
                if entry.by is not None:
                    record("owner_decision", what=f"energy {entry.reason}", by=entry.by, level=entry.level)

            reserve = EnergyReserve(home.state, self._settings.energy, on_change=told)
            try:
                entry = reserve.top_up(amount, by=BY)
            finally:
                reserve.close()
        return f"The level is {entry.level:.2f} now."


def asked_together(settings: Settings, question: str, *, is_one: bool) -> list[QuestionSeen]:
    """The question, or with it all that its run asks about the same tool. Raises InboxError."""
    found = questions_of(settings, time.time)
    chosen = next((one for one in found if one.id == question), None)
    if chosen is None or not chosen.is_open:
        how = "it is not there any more" if chosen is None else chosen.told
        raise InboxError(f"this question cannot be answered: {how}")
    return [chosen] if is_one else together_with(chosen, found)


def hash_shown(asked: Sequence[QuestionSeen]) -> str:
    """What an answer to all of these repeats."""
    return asked[0].shown_hash if len(asked) == 1 else hash_of_all(asked)


def amount_of(text: str) -> float:
    """Raises AuditError for a text that is no amount of energy."""
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount <= 1:
        raise AuditError("An amount of energy is a number above 0 and up to 1")
    return amount
