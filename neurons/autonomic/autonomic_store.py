"""All disk access of the autonomic layer, one operation after another, in a thread. Errors are logged, not raised.

Counts and state are written later, in one go; a verdict is written at once. The folder's stamp shows whether another
process has changed a document. All documents are read when the stamp changes, and less often when reading takes long.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ..contracts import Neuron, NoSuchNeuron, Status
from ..pipeline import Delivered
from .activity import ActivityLog
from .autonomic_view import LAYER_KEY
from .outbox import letters_of, with_emissions, with_told, without

if TYPE_CHECKING:
    from ..contracts import Json, LastEmission, Lease, Skills, Storage
    from ..pipeline import Pipeline
    from .energy_account import EnergyAccount
    from .mail import Letter
    from .outbox import Held

log = logging.getLogger("motor_cortex")

P = ParamSpec("P")
T = TypeVar("T")

SCHEDULES_KEY = "autonomic/schedules"
# Reading all documents may take at most about one tenth of the time.
_READING_SHARE = 10


@dataclass(frozen=True, slots=True)
class Unwritten:
    """What a neuron has done since its document was last written."""

    neuron: Neuron
    state: dict[str, Any]
    delivered: tuple[Delivered, ...]
    has_verdict: bool
    held: tuple[Held, ...] = ()
    """What it has emitted, and what leaves after this is written."""
    last_emission: LastEmission | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A neuron after its document was written."""

    neuron: Neuron
    """The neuron after the write."""
    has_verdict: bool
    """There was a verdict, and it has been carried out."""
    left: tuple[Held, ...] = ()
    """What it has emitted, and what may leave now."""


@dataclass(frozen=True, slots=True)
class Look:
    """The result of one look: what was found and what was written."""

    level: float | None
    awake: list[Neuron] | None
    """The neurons that may run; None when nothing has changed, or the documents could not be read."""
    written: dict[str, Written]
    """By neuron id. A neuron that is missing here could not be written."""


class AutonomicStore:
    """Reads and writes documents for the layer, and holds the lock of the leading process."""

    def __init__(
        self,
        pipeline: Pipeline,
        account: EnergyAccount,
        *,
        storage: Storage | None,
        skills: Skills | None,
        lock: Lease | None,
        publish: Callable[[Sequence[Letter]], None] = lambda _: None,
    ) -> None:
        """`publish` hands emissions to the programs of the home; on disk when it returns, and none twice."""
        self._publish = publish
        self._pipeline = pipeline
        self._account = account
        self._storage = storage
        self._skills = skills
        self._lock = lock
        self._activity = ActivityLog(storage)
        self._report: Json | None = None
        self._leads = False
        self._stamp: object = object()
        self._not_before = 0.0
        self._troubles: dict[str, str] = {}

    @property
    def trouble(self) -> str:
        """What the disk or the reserve refuses; empty when all is well."""
        return "; ".join([*self._troubles.values(), *([self._account.trouble] if self._account.trouble else [])])

    def take_lead(self) -> Json | None:
        """Become the process of this home that runs the neurons, until `close`. Return the report that the previous one
        left (empty if none), or None when another process leads."""
        if not self._leads:
            self._leads = self._lock is None or bool(self._tried("lead the neurons", self._lock.try_take))
            if self._leads:
                self._tried("read the activity of neurons", self._activity.begin, time.time())
        if not self._leads:
            return None
        document = (
            self._tried("read the last state of the neurons", self._storage.read, LAYER_KEY)
            if self._storage is not None
            else None
        )
        return document.data if document is not None else {}

    def answers(self) -> list[str]:
        """The signals that neurons answer in the conversation, by the process that leads."""
        if self._storage is None:
            return []
        document = self._tried("read the state of the neurons", self._storage.read, LAYER_KEY)
        found = document.data.get("answers") if document is not None else None
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []

    def schedules(self) -> Json:
        """When each schedule was last due; empty when that is not known."""
        if self._storage is None:
            return {}
        document = self._tried("read the schedules", self._storage.read, SCHEDULES_KEY)
        return {} if document is None else document.data

    def look(
        self,
        unwritten: Sequence[Unwritten],
        report: Json | None = None,
        schedules: Json | None = None,
        *,
        again: bool = False,
    ) -> Look:
        """Write what is unwritten, and see what other processes changed. `schedules`: when each was last due, on disk
        when this returns. `again`: read the documents even if the stamp has not changed."""
        if schedules is not None and self._storage is not None:
            # Before they are delivered: after a kill at any moment none is delivered twice.
            self._tried("write the schedules", self._storage.write_through, SCHEDULES_KEY, schedules)
        self._tell(report)
        written = {one.neuron.id: done for one in unwritten if (done := self._write(one)) is not None}
        self._tried("write the activity of neurons", self._activity.write)
        self._hand_out([done.neuron for done in written.values() if done.left])
        awake = self._awake(again)
        # What a process left that was killed.
        self._hand_out([neuron for neuron in awake or () if neuron.outbox])
        return Look(self._account.read(), awake, written)

    def close(self, unwritten: Sequence[Unwritten], report: Json) -> None:
        """Write everything to disk and only then release the lock: another process that started earlier would begin
        with old state."""
        self.end_lead(unwritten, report)
        if self._lock is not None:
            self._lock.close()

    def end_lead(self, unwritten: Sequence[Unwritten], report: Json) -> None:
        """Write everything, and let another process lead."""
        if self._leads:
            written = [done for one in unwritten if (done := self._write(one)) is not None]
            self._hand_out([done.neuron for done in written if done.left])
            self._tell(report)
            self._tried("write the activity of neurons", lambda: self._activity.write(now=True))
            self._tried("flush the neurons", self._pipeline.store.flush)
        if self._leads and self._lock is not None:
            self._tried("release the lock of the neurons", self._lock.release)
        self._leads = False
        self._stamp = object()
        self._report = None

    def told(self, neuron_id: str, emission: str, told: Sequence[str]) -> None:
        """Note in the document who was told of an emission."""
        self._tried(
            f'note who was told by neuron "{neuron_id}"',
            lambda: self._pipeline.store.change(
                neuron_id, lambda neuron: with_told(neuron, emission, told), through=False
            ),
        )

    def _hand_out(self, neurons: Sequence[Neuron]) -> None:
        """Hand out what the documents hold, and only then take it out of them: after a kill in between it is handed
        out again, and known by its id."""
        letters = [letter for neuron in neurons for letter in letters_of(neuron)]
        if not letters:
            return
        if self._tried("hand out what neurons emitted", self._handed_out, letters) is None:
            self._stamp = object()  # tried again at the next look
            return
        for neuron in neurons:
            self._tried(f'write neuron "{neuron.id}"', self._empty, neuron)

    def _handed_out(self, letters: Sequence[Letter]) -> bool:
        self._publish(letters)
        return True

    def _empty(self, neuron: Neuron) -> None:
        ids = frozenset(one.id for one in neuron.outbox)
        try:
            self._pipeline.store.change(neuron.id, lambda found: without(found, ids), through=False)
        except NoSuchNeuron:
            return

    def _tell(self, report: Json | None) -> None:
        if self._storage is not None and report is not None and report != self._report:
            revision = self._tried("write the state of the neurons", self._storage.write, LAYER_KEY, report)
            # After a failure the same report is written again at the next look.
            self._report = report if revision is not None else None

    def _write(self, one: Unwritten) -> Written | None:
        neuron = self._tried(f'write neuron "{one.neuron.id}"', self._count, one)
        if neuron is not None:  # else the same comes again
            self._tried("read the activity of neurons", self._activity.add, one.neuron.id, one.delivered)
        if neuron is None or not one.has_verdict:
            return None if neuron is None else Written(neuron, has_verdict=False, left=_left(one, neuron))
        judged = self._tried(f'change the status of neuron "{neuron.id}"', self._pipeline.judge_trial, neuron.id)
        if judged is None:
            return Written(neuron, has_verdict=False, left=_left(one, neuron))
        if judged.status is Status.ACTIVE and neuron.status is Status.TRIAL and self._skills is not None:
            self._tried(f'remember that neuron "{neuron.id}" was learned', self._skills.learned, judged)
        return Written(judged, has_verdict=True, left=_left(one, neuron))

    def _count(self, one: Unwritten) -> Neuron:
        def change(neuron: Neuron) -> Neuron:
            # Another process may have changed it meanwhile: nothing is kept for another version, or for a neuron that
            # is asleep.
            if not neuron.is_awake or neuron.version != one.neuron.version:
                return neuron
            done = self._pipeline.counted(neuron, one.delivered)
            return with_emissions(done.model_copy(update={"state": one.state}), one.held, one.last_emission)

        try:
            # What does something leaves after this is on disk: a neuron that is killed then does not do it again.
            return self._pipeline.store.change(one.neuron.id, change, through=bool(one.held))
        except NoSuchNeuron:
            return one.neuron  # another process has deleted it: there is nothing left to write to

    def _awake(self, again: bool) -> list[Neuron] | None:
        began = time.monotonic()
        if not again and began < self._not_before:
            return None
        # Read before the documents: what is written while they are being read is found at the next look.
        stamp = self._tried("look at the neurons", self._pipeline.store.stamp)
        if not again and stamp == self._stamp:
            return None
        awake = self._tried("read the neurons", self._pipeline.awake)
        self._not_before = time.monotonic() + _READING_SHARE * (time.monotonic() - began)
        self._stamp = stamp if awake is not None else object()
        return awake

    def _tried(self, action: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Call `work` and return its result, or None when it raises. The same trouble is logged once."""
        try:
            result = work(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - a failing disk must not end the layer; it is tried again
            trouble = f"Cannot {action}: {error}"
            if self._troubles.get(action) != trouble:
                log.warning("%s", trouble)
            self._troubles[action] = trouble
            return None
        self._troubles.pop(action, None)
        return result


def _left(one: Unwritten, neuron: Neuron) -> tuple[Held, ...]:
    """What may leave: all that was written, and nothing of a neuron that was stopped or changed before."""
    return one.held if neuron.is_awake and neuron.version == one.neuron.version else ()
