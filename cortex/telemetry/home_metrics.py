"""The metrics of a home as a whole, whichever programs work on it: what was summed up, and what is now. Reads only,
except for what it keeps in the cache.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import TYPE_CHECKING

from cortex.audit import Audit, AuditError, ChainCheck
from cortex.energy import EnergyError, entries_after
from cortex.home import Home
from cortex.inbox import QuestionBox
from cortex.settings import SettingsError
from cortex.views import level_of
from neurons import DeferredStorage, KillSwitch, NeuronError, NeuronStore, Status

from . import metric_names as names
from .checkpoint import Folded, keep_fold, kept_fold
from .samples import Distribution, Samples

if TYPE_CHECKING:
    from cortex.settings import Settings
    from neurons import Neuron

log = logging.getLogger("motor_cortex")

AT_ONCE = 20_000
"""Records of the audit that are folded in one step."""
_KEPT_AFTER = 1_000
SOURCES = ("audit", "ledger", "energy", "neurons", "questions")


class HomeMetrics:
    """The metrics of one home. Methods may be called from any thread, and block for the disk."""

    def __init__(self, settings: Settings, *, now: Callable[[], float] = time.time, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._settings = settings
        self._now = now
        self._folder = settings.home / "audit"
        self._cache = settings.home / "cache"
        self._lock = threading.Lock()
        self._folded: Folded | None = None
        self._unkept = 0
        self._up = dict.fromkeys(SOURCES, True)

    def go_on(self) -> bool:
        """Fold at most `at_once` records that are new. Returns whether there may be more."""
        with self._lock:
            folded = self._folded = self._in_place()
            count = 0
            with self._source("audit"):
                count = self._read_audit(folded, self._at_once)
            is_behind = count >= self._at_once
            with self._source("ledger"):
                count += self._read_ledger(folded)
            self._unkept += count
            if self._unkept >= _KEPT_AFTER:
                self._keep(folded)
            return is_behind

    def gather(self) -> Samples:
        """What has been folded so far, with what is now. A part of the home that cannot be read is left out."""
        samples = Samples()
        with self._lock:
            folded = self._folded or Folded()
            for metric in names.FOLDED:
                samples.values[metric.name] = dict(folded.fold.samples.values.get(metric.name, {}))
                found = folded.fold.samples.distributions.get(metric.name, {})
                samples.distributions[metric.name] = {labels: _copy(one) for labels, one in found.items()}
            with self._source("questions"), QuestionBox.to_read(Home(self._settings.home), now=self._now) as box:
                asked = 0 if box is None else sum(one.is_open for one in box.all())
                samples.put(names.QUESTIONS, "call", "waiting", value=asked)
            samples.put(names.AUDIT_SEQ, value=folded.seq)
            with self._source("energy"):
                state = Home(self._settings.home).state_to_read
                level = level_of(state, self._settings.energy, self._now())
                samples.put(names.ENERGY_LEVEL, value=round(level, 6))
            with self._source("neurons"):
                self._count_neurons(samples)
            is_killed = KillSwitch(self._settings.home / "state").refusal() is not None
            samples.put(names.KILLED, value=int(is_killed))
            checked = ChainCheck(self._folder, self._cache).state.seq
            samples.put(names.VERIFIED_SEQ, value=checked)
            for source, is_up in self._up.items():
                samples.put(names.SOURCE_UP, source, value=int(is_up))
        samples.put(names.BUILD_INFO, _version(), value=1)
        return samples

    def keep(self) -> None:
        """Keep what was folded for the next process. Creates nothing in a home without records."""
        with self._lock:
            if self._folded is not None and self._unkept:
                self._keep(self._folded)

    def _keep(self, folded: Folded) -> None:
        keep_fold(self._cache, folded)
        self._unkept = 0

    def _in_place(self) -> Folded:
        """The fold so far; an empty one if the audit is another one than was folded. Days that were deleted meanwhile
        change nothing: what was counted stays counted."""
        folded = self._folded or kept_fold(self._cache)
        if not folded.seq:
            return folded
        audit = self._audit()
        try:
            newest, last = next(audit.records(last=1), None), audit.find(folded.seq)
        except AuditError:
            return folded
        finally:
            audit.close()
        is_older = newest is None or newest.seq < folded.seq
        is_other = last is not None and last.hash != folded.hash
        return Folded() if is_older or is_other else folded

    def _read_audit(self, folded: Folded, most: int) -> int:
        audit = self._audit()
        count = 0
        try:
            for record in islice(audit.after(folded.seq), most):
                folded.fold.hear(record)
                folded.seq, folded.hash = record.seq, record.hash
                count += 1
        finally:
            audit.close()
        return count

    def _read_ledger(self, folded: Folded) -> int:
        count = 0
        while True:
            entries, place = entries_after(self._settings.home / "state", folded.ledger)
            if place == folded.ledger:
                return count
            folded.ledger = place
            count += len(entries)
            for entry in entries:
                folded.fold.pay(entry)

    def _count_neurons(self, samples: Samples) -> None:
        storage = DeferredStorage(Home(self._settings.home).state_to_read)
        try:
            neurons = NeuronStore(storage).load_all()
        finally:
            storage.close()
        for status in Status:
            samples.put(names.NEURONS, status.value, value=sum(one.status is status for one in neurons))
        waiting = sum(self._is_waiting(one) for one in neurons)
        expired = sum(one.status is Status.AWAITING_OWNER for one in neurons) - waiting
        samples.put(names.QUESTIONS, "neuron", "waiting", value=waiting)
        samples.put(names.QUESTIONS, "neuron", "expired", value=expired)
        # The owner has read the names of these; others are in the words of the agent.
        known = [one for one in neurons if one.approvals]
        known.sort(key=lambda one: (not one.is_awake, one.id))
        for at, neuron in enumerate(known):
            name = neuron.id if at < names.MAX_NEURONS else names.OTHER
            for counters in (neuron.counters, *(() if neuron.trial is None else (neuron.trial.counters,))):
                samples.add(names.SIGNALS, name, "answered", by=max(0, counters.signals - counters.errors))
                samples.add(names.SIGNALS, name, "error", by=counters.errors)
                samples.add(names.EMITTED, name, by=counters.emitted)

    def _is_waiting(self, neuron: Neuron) -> bool:
        is_asked = neuron.status is Status.AWAITING_OWNER and neuron.request is not None
        return is_asked and neuron.request is not None and self._now() < neuron.request.expires_at

    def _audit(self) -> Audit:
        return Audit(self._folder, self._settings.audit)

    @contextmanager
    def _source(self, name: str) -> Iterator[None]:
        """Note whether a part of the home can be read: a broken one takes nothing else with it."""
        try:
            yield
        except (AuditError, EnergyError, NeuronError, SettingsError, OSError) as error:
            if self._up[name]:
                log.warning("Metrics of a part of the home are missing: %s", error)
            self._up[name] = False
        else:
            self._up[name] = True


def fold_all(metrics: HomeMetrics, *, until: Callable[[], bool] = lambda: False) -> bool:
    """Fold all that is new, step by step. Returns False when it was ended before that."""
    while metrics.go_on():
        if until():
            return False
    return True


def _copy(one: Distribution) -> Distribution:
    return Distribution(list(one.counts), one.sum)


def _version() -> str:
    try:
        return version("motor-cortex")
    except PackageNotFoundError:  # started from a folder, without an installation
        return "unknown"
