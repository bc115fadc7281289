"""Judges a neuron on real signals: what is counted, and when it passes or fails. Pure.

The clock and the counts are stored in the document, so that a restart resets neither. Of errors,
overspending and restarts there is one count for each minute of the last hour; of emitted signals one for each five
seconds of the last minute: few numbers, however busy the neuron is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..contracts import HOUR_S, MINUTE_S, Counters, Neuron, Status, Trial, TrialSettings, Watch, storable

_HOUR_STEP_S = 60
_MINUTE_STEP_S = 5
# With fewer signals than this, a share of errors says nothing.
MIN_FOR_SHARE = 20
MAX_ERROR_TEXT = 300
# Signals must come in this share of the hours of a trial, and in at most so many: a burst at its end proves nothing.
SPREAD_SHARE = 0.25
MAX_SPREAD_HOURS = 48


@dataclass(frozen=True, slots=True)
class Delivered:
    """The result of a batch of signals, summed up."""

    at: float
    signals: int = 0
    errors: int = 0
    emitted: int = 0
    energy: float = 0.0
    over_budget: int = 0
    """Signals that cost more than the budget."""
    restarts: int = 0
    cpu_ms: float = 0.0
    last_error: str = ""
    awake_s: float = 0.0
    """How long it was loaded and running since the last time."""


@dataclass(frozen=True, slots=True)
class Going:
    """The neuron goes on."""


@dataclass(frozen=True, slots=True)
class Passed:
    """The trial is over, and the neuron has passed."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The neuron has exceeded a limit, and must be disabled."""

    reason: str


Verdict = Going | Passed | Failed


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a trial is."""

    hours_left: float
    """In which it has to be awake."""
    signals_left: int
    share: float
    """Progress from 0 to 1: of time, of signals or of hours with signals, whichever is furthest behind."""
    spread_left: int = 0
    """In how many further hours there have to be signals."""


def begun(neuron: Neuron, now: float, settings: TrialSettings) -> Neuron:
    """The neuron at the start of a trial: nothing is counted yet."""
    ends_at = now + settings.min_hours * HOUR_S
    trial = Trial(started_at=now, ends_at=ends_at, min_signals=settings.min_signals)
    return neuron.model_copy(update={"trial": trial, "counters": Counters(), "watch": Watch()})


def noted(neuron: Neuron, delivered: Delivered) -> Neuron:
    """The neuron with the batch added to its counts. A neuron that is not awake is returned unchanged."""
    watch = _watched(neuron.watch, delivered)
    if neuron.status is Status.TRIAL and neuron.trial is not None:
        trial = _tried(neuron.trial, delivered)
        return neuron.model_copy(update={"trial": trial, "watch": watch})
    if neuron.status is Status.ACTIVE:
        return neuron.model_copy(update={"counters": _counted(neuron.counters, delivered), "watch": watch})
    return neuron


def verdict(neuron: Neuron, now: float, settings: TrialSettings) -> Verdict:
    """The verdict from the counts so far. An active neuron goes on or fails. A function rests in place of failing: who
    calls it chooses the arguments, and could have it disabled by those."""
    if not neuron.is_awake:
        return Going()
    reason = _too_much(neuron, settings)
    if reason is not None:
        return Going() if neuron.is_function else Failed(reason)
    trial = neuron.trial
    if neuron.status is not Status.TRIAL or trial is None:
        return Going()
    left = progress(neuron, now)
    is_over = left.hours_left <= 0 and left.signals_left == 0 and left.spread_left == 0
    return Passed() if is_over else Going()


def rests_until(neuron: Neuron, now: float, settings: TrialSettings) -> float | None:
    """Until when a function is not called, because too many of its calls within an hour cost its process or its budget;
    None if it may be called."""
    if not neuron.is_function:
        return None
    limits = (settings.max_errors, settings.max_over_budget, settings.max_restarts_per_hour)
    entries = sorted(entry for entry in neuron.watch.hour if abs(now - entry[0]) < HOUR_S)
    until = None
    while any(sum(column) > limit for column, limit in zip([*zip(*entries, strict=True)][1:], limits, strict=False)):
        until = entries.pop(0)[0] + HOUR_S
    return until


def progress(neuron: Neuron, now: float) -> Progress:
    """How far the trial is. Without a trial nothing is left."""
    trial = neuron.trial
    if neuron.status is not Status.TRIAL or trial is None:
        return Progress(0.0, 0, 1.0)
    length_s = trial.ends_at - trial.started_at
    # A function is called and not kept awake: its calls say that there was somebody to try it.
    asleep_s = length_s - trial.awake_s if neuron.kind == "neuron" else 0.0
    left_s = max(0.0, trial.ends_at - now, asleep_s)
    signals_left = max(0, trial.min_signals - trial.counters.signals)
    spread_left = max(0, spread(trial) - len(trial.hours))
    of_time = 1 - min(1.0, left_s / max(length_s, 1e-9))
    of_signals = 1 - signals_left / max(trial.min_signals, 1)
    of_spread = 1 - spread_left / max(spread(trial), 1)
    return Progress(left_s / HOUR_S, signals_left, min(of_time, of_signals, of_spread), spread_left)


def spread(trial: Trial) -> int:
    """In how many different hours there have to be signals."""
    hours = int((trial.ends_at - trial.started_at) / HOUR_S * SPREAD_SHARE)
    return min(max(1, hours), MAX_SPREAD_HOURS, max(1, trial.min_signals))


def uncounted(neuron: Neuron) -> Neuron:
    """The neuron at the beginning of its trial: nothing is counted."""
    if neuron.trial is None:
        return neuron
    fresh = {"counters": Counters(), "awake_s": 0.0, "hours": (), "seal": ""}
    return neuron.model_copy(update={"trial": neuron.trial.model_copy(update=fresh)})


def is_uncounted(trial: Trial) -> bool:
    return trial.counters == Counters() and not trial.awake_s and not trial.hours


def _tried(trial: Trial, delivered: Delivered) -> Trial:
    hours = trial.hours
    if delivered.signals and len(hours) < spread(trial) and (hour := int(delivered.at // HOUR_S)) not in hours:
        hours = (*hours, hour)
    awake_s = trial.awake_s + max(0.0, _finite(delivered.awake_s))
    return trial.model_copy(
        update={"counters": _counted(trial.counters, delivered), "awake_s": awake_s, "hours": hours}
    )


def within_limit(neuron: Neuron, delivered: Delivered, settings: TrialSettings) -> int:
    """How many of the just emitted signals fit into the limit per minute. The batch is already counted in. The rest is
    dropped, so that no other neuron has to handle a flood."""
    beyond = _emitted_within_minute(neuron) - settings.max_emitted_per_minute
    return delivered.emitted - min(delivered.emitted, max(0, beyond))


def _emitted_within_minute(neuron: Neuron) -> int:
    return sum(count for _, count in neuron.watch.minute)


def _too_much(neuron: Neuron, settings: TrialSettings) -> str | None:
    # As of the last batch, not as of now: waiting must not clear a verdict that could not be carried out at once.
    errors, over_budget, restarts = (sum(entry[column] for entry in neuron.watch.hour) for column in (1, 2, 3))
    emitted = _emitted_within_minute(neuron)
    trial = neuron.trial
    counters = trial.counters if neuron.status is Status.TRIAL and trial is not None else neuron.counters
    last = f": {counters.last_error}" if counters.last_error else ""
    if errors > settings.max_errors:
        return f"{errors} errors within an hour, {settings.max_errors} are allowed{last}"
    if counters.signals >= MIN_FOR_SHARE and counters.errors > settings.max_error_share * counters.signals:
        share = f"{settings.max_error_share:.0%} are allowed"
        return f"{counters.errors} of {counters.signals} signals failed, {share}{last}"
    if over_budget > settings.max_over_budget:
        allowed = f"{settings.max_over_budget} are allowed"
        return f"{over_budget} signals within an hour cost more than its budget of {neuron.energy_budget:g}, {allowed}"
    if emitted > settings.max_emitted_per_minute:
        return f"{emitted} signals emitted within a minute, {settings.max_emitted_per_minute} are allowed"
    if restarts > settings.max_restarts_per_hour:
        return f"{restarts} restarts within an hour, {settings.max_restarts_per_hour} are allowed{last}"
    return None


def _counted(counters: Counters, delivered: Delivered) -> Counters:
    error = storable(delivered.last_error, MAX_ERROR_TEXT)
    return counters.model_copy(
        update={
            "signals": counters.signals + delivered.signals,
            "errors": counters.errors + delivered.errors,
            "emitted": counters.emitted + delivered.emitted,
            "energy": counters.energy + _finite(delivered.energy),
            "restarts": counters.restarts + delivered.restarts,
            "cpu_ms": counters.cpu_ms + _finite(delivered.cpu_ms),
            "last_error": error or counters.last_error,
            "last_signal_at": delivered.at if delivered.signals else counters.last_signal_at,
        }
    )


def _watched(watch: Watch, delivered: Delivered) -> Watch:
    """The watch with the batch added, and without expired steps. After a clock was set back, steps from the future are
    dropped, too."""
    hour = {entry[0]: entry for entry in watch.hour if abs(delivered.at - entry[0]) < HOUR_S}
    if delivered.errors or delivered.over_budget or delivered.restarts:
        began = _step(delivered.at, _HOUR_STEP_S)
        _, errors, over_budget, restarts = hour.get(began, (began, 0, 0, 0))
        hour[began] = (
            began,
            errors + delivered.errors,
            over_budget + delivered.over_budget,
            restarts + delivered.restarts,
        )
    minute = {began: count for began, count in watch.minute if abs(delivered.at - began) < MINUTE_S}
    if delivered.emitted:
        began = _step(delivered.at, _MINUTE_STEP_S)
        minute[began] = minute.get(began, 0) + delivered.emitted
    return watch.model_copy(update={"hour": tuple(hour.values()), "minute": tuple(minute.items())})


def _finite(amount: float) -> float:
    # A document with an infinite number or NaN cannot be written, and its neuron could not be disabled.
    return amount if math.isfinite(amount) else 0.0


def _step(at: float, step_s: int) -> int:
    return int(at // step_s) * step_s
