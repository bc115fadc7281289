"""Takes a neuron from proposal to active, and back. A status changes only here and in `NeuronStore.disable`.

Each change is decided on the current document, under its lock, by the pure functions of `decisions`; an owner's
decision is recorded before it is written. Waking a neuron takes a lock among all processes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from ..contracts import FileGrant, Kind, Neuron, NeuronSettings, Record, Refused, Report, Status, StatusRecords
from . import decisions, limits
from .approval import CHANGED_BY_HAND, ApprovalKey, granted_files, why_not_awake
from .lifecycle import Event, changed
from .proposal import Proposal, free_id
from .recorded import CORTEX, OWNER, tell, was_disabled, why_not_whole
from .store import NeuronStore
from .trial import Delivered, Going, noted, uncounted, verdict
from .versions import recognisable

if TYPE_CHECKING:
    from ..habits import Fingerprint

log = logging.getLogger("motor_cortex")


class Pipeline:
    """All methods may be called from any thread and without an event loop; they block for locks and the disk."""

    def __init__(
        self,
        store: NeuronStore,
        settings: NeuronSettings,
        key: ApprovalKey,
        *,
        record: Record,
        changes: StatusRecords = dict,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`changes`: what the audit last said of each neuron. Without it, documents are believed."""
        self.store = store
        self._settings = settings
        self._key = key
        self._record = record
        self._changes = changes
        self._now = now

    # For the agent

    def propose(
        self,
        proposal: Proposal,
        *,
        habit: str | None = None,
        is_habit_named: bool = False,
        found: Fingerprint | None = None,
        max_code_bytes: int,
        source: str = "",
    ) -> Neuron:
        """Make a new neuron in quarantine. Raises Refused with the reason; never touches an existing one. `found`, the
        fingerprint of its code, is compared with neurons that the owner has rejected. `is_habit_named`: the agent named
        the habit, so that the code has to do what its scripts do. `source` is where it was imported from; the owner is
        shown it."""
        if len(proposal.code.encode()) > max_code_bytes:
            raise Refused(f"the code has {len(proposal.code.encode())} bytes, {max_code_bytes} are allowed")
        self.expire()
        with self.store.alone():
            neurons = self.store.load_all()
            now = self._now()
            limits.check(proposal, neurons, self._settings, habit=habit, found=found, now=now)
            neuron_id = free_id(proposal.name, {neuron.id for neuron in neurons})
            made = decisions.proposed(
                proposal,
                neuron_id,
                habit=habit,
                found=found,
                now=now,
                is_habit_named=is_habit_named,
                source=source,
            )
            neuron = self._settled(made)
            tell(self._record, neuron)
            return self.store.persist(neuron, new=True)

    # For the cortex itself

    def judged(self, neuron_id: str, report: Report, *, found: Fingerprint | None = None) -> Neuron:
        """Settle a quarantine: ask the owner, or disable the neuron with the problems as the reason. The fingerprint
        `found` is kept with the version, also for code that the owner wrote."""

        kept = decisions.kept(report)

        def judge(neuron: Neuron) -> Neuron:
            now, hours = self._now(), self._settings.proposals.expires_hours
            if kept.passed:
                neuron = decisions.asked(neuron, kept, now=now, expires_hours=hours)
            else:
                neuron = decisions.failed(neuron, kept, now=now)
            return recognisable(neuron, found)

        return self._change(neuron_id, judge)

    def expire(self) -> list[Neuron]:
        """Disable the neurons that the owner has not answered in time, and return them."""
        return [self._expired(neuron) for neuron in self.store.load_all() if self._has_expired(neuron)]

    def deliver(
        self,
        neuron_id: str,
        delivered: Delivered,
        *,
        state: Mapping[str, Any] | None = None,
        version: int | None = None,
    ) -> Neuron:
        """Add the result of a batch, and the code's state, to the document soon; disable or consolidate at once if that
        follows. Nothing is kept for a version that is no longer awake.

        For a few batches at a time: the autonomic layer sums up and writes now and then instead.
        """

        def add(neuron: Neuron) -> Neuron:
            if not neuron.is_awake or version not in {None, neuron.version}:
                return neuron
            neuron = self.counted(neuron, [delivered])
            return neuron if state is None else neuron.model_copy(update={"state": dict(state)})

        neuron = self.store.change(neuron_id, add, through=False)
        is_going = isinstance(verdict(neuron, self._now(), self._settings.trial), Going)
        return neuron if is_going else self.judge_trial(neuron_id)

    def counted(self, neuron: Neuron, delivered: Sequence[Delivered]) -> Neuron:
        """The neuron with more counted, under a seal. What somebody else has counted stays as it is: the neuron goes to
        quarantine for it when it is next looked at."""
        if neuron.trial is not None and neuron.trial.seal and not self._key.is_counted(neuron):
            return neuron
        return self._key.counted(reduce(noted, delivered, self._own(neuron)))

    def _own(self, neuron: Neuron) -> Neuron:
        """The neuron without counts that the cortex has not sealed."""
        return neuron if self._key.is_counted(neuron) else uncounted(neuron)

    def judge_trial(self, neuron_id: str) -> Neuron:
        """Judge the neuron: unchanged, active when its trial is over, or disabled with the reason."""

        def judge(neuron: Neuron) -> Neuron:
            now = self._now()
            return decisions.after_trial(neuron, verdict(self._own(neuron), now, self._settings.trial), now=now)

        return self._change(neuron_id, judge)

    def quarantined(self) -> list[Neuron]:
        return [neuron for neuron in self.store.load_all() if neuron.status is Status.QUARANTINE]

    def pending(self) -> list[Neuron]:
        """Neurons that the owner can answer now. One whose document was changed by hand goes back to quarantine."""
        waiting = [neuron for neuron in self.store.load_all() if neuron.status is Status.AWAITING_OWNER]
        return [neuron for neuron in waiting if not self._has_expired(neuron) and self._is_whole(neuron)]

    def awake(self) -> list[Neuron]:
        """The verified neurons that may run: at most `max_awake`, the active and the oldest first.

        A neuron that was changed by hand, or has no valid approval, goes back to quarantine.
        """
        return self._awake("neuron")[: self._settings.max_awake]

    def functions(self) -> list[Neuron]:
        """The verified learned functions that code may call: at most `max_functions`, in the same order."""
        return self._awake("function")[: self._settings.max_functions]

    def granted(self, neuron_id: str) -> FileGrant | None:
        """The folder that the neuron may use by its document as it is now; None once it is changed, disabled or not
        what was approved."""
        neuron = self.store.get(neuron_id)
        return granted_files(neuron) if why_not_awake(neuron, self._key) is None else None

    # For the owner

    def approve(self, neuron_id: str, shown: str, *, by: str = OWNER, files: FileGrant | None = None) -> Neuron:
        """Start the trial of exactly what the hash was shown for, with a folder that it may use. Raises Refused."""

        def decide(neuron: Neuron) -> Neuron:
            trial, now = self._settings.trial, self._now()
            return decisions.approved(neuron, shown, key=self._key, settings=trial, now=now, by=by, files=files)

        neuron = self.store.get(neuron_id)
        if neuron.status is Status.AWAITING_OWNER and not self._is_whole(neuron):
            raise Refused(f'Cannot approve "{neuron.id}": its document was changed by hand; it is in quarantine again')
        return self._wake(neuron.id, decide)

    def reject(self, neuron_id: str, reason: str, *, by: str = OWNER) -> Neuron:
        return self._decide(neuron_id, lambda neuron: decisions.rejected(neuron, reason, now=self._now(), by=by))

    def modify(self, neuron_id: str, code: str, *, by: str = OWNER, max_code_bytes: int | None = None) -> Neuron:
        """Add the owner's own code as a new version, which goes through quarantine and approval like any other."""
        decisions.check_code(neuron_id, code, max_code_bytes)
        return self._decide(neuron_id, lambda neuron: decisions.modified(neuron, code, now=self._now(), by=by))

    def disable(self, neuron_id: str, reason: str, *, by: str = OWNER) -> Neuron:
        """Disable the neuron, even when that cannot be recorded."""
        return self._decide(
            neuron_id, lambda neuron: changed(neuron, Event.DISABLE, at=self._now(), by=by, reason=reason)
        )

    def enable(self, neuron_id: str, *, by: str = OWNER) -> Neuron:
        """Restore the earlier status, if code and policy are the approved ones; else send the neuron to quarantine."""

        def decide(neuron: Neuron) -> Neuron:
            return decisions.enabled(neuron, key=self._key, settings=self._settings.trial, now=self._now(), by=by)

        return self._wake(neuron_id, decide)

    def rollback(self, neuron_id: str, version: int, *, by: str = OWNER) -> Neuron:
        """Go back to a version: in trial if it was approved; else in quarantine."""

        def decide(neuron: Neuron) -> Neuron:
            trial, now = self._settings.trial, self._now()
            return decisions.rolled_back(neuron, version, key=self._key, settings=trial, now=now, by=by)

        return self._wake(neuron_id, decide)

    # Internals

    def _awake(self, kind: Kind) -> list[Neuron]:
        awake = [one for one in self.store.load_all() if one.is_awake and one.kind == kind]
        # Read after the documents: a change is recorded first, so that no document is ahead of what is read here.
        changes = self._changes() if awake else {}
        awake = [self._own(one) for one in awake if self._is_whole(one, changes)]
        return sorted(awake, key=lambda one: (one.status is not Status.ACTIVE, one.approvals[0].at, one.id))

    def _wake(self, neuron_id: str, decide: Callable[[Neuron], Neuron]) -> Neuron:
        """Decide under a lock among all processes: two that count the awake neurons at once would both find room."""

        def with_room(neuron: Neuron) -> Neuron:
            after = decide(neuron)
            if after.is_awake:
                limits.check_room(others, neuron, self._settings)
            return after

        with self.store.alone():
            others = self.store.load_all()
            return self._decide(neuron_id, with_room)

    def _decide(self, neuron_id: str, decide: Callable[[Neuron], Neuron]) -> Neuron:
        return self._change(self.store.get(neuron_id).id, decide)

    def _change(self, neuron_id: str, decide: Callable[[Neuron], Neuron]) -> Neuron:
        def write(neuron: Neuron) -> Neuron:
            after = decide(neuron)
            if len(after.history) == len(neuron.history):
                return neuron
            if granted_files(after) is not None and neuron.is_awake and not self._key.is_sealed(neuron):
                # A new seal must not cover a permission that somebody wrote into the document.
                raise Refused(f'Cannot change "{neuron.id}": {CHANGED_BY_HAND}')
            after = self._settled(after)
            tell(self._record, after)
            return after

        return self.store.change(neuron_id, write)

    def _settled(self, neuron: Neuron) -> Neuron:
        return decisions.settled(neuron, self._key)

    def _is_whole(self, neuron: Neuron, changes: Mapping[str, Mapping[str, Any]] | None = None) -> bool:
        """Whether the document is as the cortex left it, and as the audit last said. If not, the neuron is asleep when
        this returns."""
        reason = why_not_whole(neuron, self._key, (changes or {}).get(neuron.id))
        if reason is None:
            return True

        def distrust(current: Neuron) -> Neuron:
            # It may have been disabled or repaired since it was read; now it is under its lock, and so is its record.
            last = None if changes is None else self._changes().get(current.id)
            now_why = why_not_whole(current, self._key, last)
            if now_why is None:
                return current
            if why_not_awake(current, self._key) is None and was_disabled(last):
                return changed(current, Event.DISABLE, at=self._now(), by=CORTEX, reason=now_why)
            return decisions.distrusted(current, now_why, now=self._now())

        after = self._change(neuron.id, distrust)
        state = "in quarantine" if after.status is Status.QUARANTINE else after.status.value
        log.warning('Neuron "%s" is %s again: %s', neuron.id, state, reason)
        return False

    def _has_expired(self, neuron: Neuron) -> bool:
        return decisions.has_expired(neuron, self._now())

    def _expired(self, neuron: Neuron) -> Neuron:
        hours = self._settings.proposals.expires_hours
        return self._change(neuron.id, lambda current: decisions.expired(current, now=self._now(), hours=hours))
