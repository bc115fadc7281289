"""Formats neurons and habits for people and as JSON for programs. Pure; no text in them can control the terminal.

Keys of the JSON are those of the document; keys are added, never removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from cortex.text import columns_of, fit, local_time, padded, wrapped
from cortex.views import counters_of
from neurons import On, Status, progress

from .rows import LEAST_TEXT, Paint

if TYPE_CHECKING:
    from cortex.show import Nerve
    from neurons import Counters, Habit, Neuron, Off

_STYLES = {
    Status.AWAITING_OWNER: "yellow",
    Status.TRIAL: "cyan",
    Status.ACTIVE: "green",
    Status.QUARANTINE: "dim",
    Status.DISABLED: "red",
}
_MOST_LINES = 4
_MAX_ID = 40
_INDENT = "    "
# Parts of a document that are shown only with `in_full`, and parts that are never shown.
_ALSO_SHOWN = frozenset({"code", "state", "outbox", "report", "approvals", "versions", "history"})
_NEVER = frozenset({"seal", "watch"})


def list_lines(
    neurons: Sequence[Neuron],
    now: float,
    width: int,
    paint: Paint,
    seen: Mapping[str, str],
    below: Callable[[Neuron], Iterable[str]] = lambda _: (),
) -> Iterator[str]:
    """A table, or on a narrow terminal a few lines for each neuron. `seen` maps a neuron id to an extra note, and
    `below` has the lines below a neuron."""
    names = _columns([neuron.id for neuron in neurons], "id")
    room = width - names - len(" awaiting_owner   v   signals errors  ")
    if room >= LEAST_TEXT:
        yield paint(f"{'id':{names}} {'status':14} {'v':>3} {'signals':>9} {'errors':>6}  what", "dim")
    for neuron in neurons:
        counters = counters_of(neuron)
        also = seen.get(neuron.id)
        what = f"{also}; {_what(neuron, now)}" if also else _what(neuron, now)
        if room < LEAST_TEXT:
            counts = f"v{neuron.version}, {_count(counters.signals)} {_asked(neuron)}, {_count(counters.errors)} errors"
            head = wrapped(f"{neuron.id}: {neuron.status.value}", width)
            yield from (paint(line, _STYLES[neuron.status]) for line in head)
            yield from (*_below(counts, width), *_below(what, width), *(paint(line, "dim") for line in below(neuron)))
            continue
        yield (
            f"{padded(fit(neuron.id, names), names)} {paint(f'{neuron.status.value:14}', _STYLES[neuron.status])} "
            f"{neuron.version:>3} {_count(counters.signals):>9} {_count(counters.errors):>6}  {fit(what, room)}"
        )
        yield from (paint(line, "dim") for line in below(neuron))


def history_lines(neuron: Neuron, width: int, paint: Paint) -> Iterator[str]:
    """The versions, and then what happened, the oldest first."""
    head = f"  v {'made':16} {'by':6} {'code':12} {'approved':8}"
    yield paint(fit(f"versions of {neuron.id}", width) if width < len(head) else head, "dim")
    approved = {(one.code_hash, one.policy_hash) for one in neuron.approvals}
    for version in neuron.versions:
        is_approved = (version.code_hash, version.policy_hash) in approved
        mark = "  <- this one" if version.version == neuron.version else ""
        row = (
            f"{version.version:>3} {_iso(version.created_at):16} {fit(version.author, 6):6} "
            f"{fit(version.code_hash, 12, ''):12} {'yes' if is_approved else 'no':8}{mark}"
        ).rstrip()
        if columns_of(row) <= width:
            yield row
        else:
            yield f"{version.version:>3} {_iso(version.created_at)}{mark}"
            yield from _below(f"by {version.author}, {'approved' if is_approved else 'not approved'}", width)
    yield ""
    yield from _events(neuron, width, paint)


def _events(neuron: Neuron, width: int, paint: Paint) -> Iterator[str]:
    room = width - len("2026-01-01 00:00:00   v  rollback_quarantine  awaiting_owner cortex  ")
    if room >= LEAST_TEXT:
        yield paint(f"{'time':19} {'v':>3}  {'event':19}  {'status':14} {'by':6}  reason", "dim")
    for line in neuron.history:
        when = local_time(line.at, "%Y-%m-%d %H:%M:%S")
        if room < LEAST_TEXT:
            yield paint(fit(f"{when} {line.after.value}", width), _STYLES[line.after])
            reason = f": {line.reason}" if line.reason else ""
            yield from _below(f"{line.event} of version {line.version} by {line.by}{reason}", width)
            continue
        status = paint(f"{line.after.value:14}", _STYLES[line.after])
        yield (
            f"{when} {line.version:>3}  {fit(line.event, 19):19}  {status} "
            f"{fit(line.by, 6):6}  {fit(line.reason, room)}"
        ).rstrip()


def habit_lines(habits: Sequence[Habit], width: int, paint: Paint) -> Iterator[str]:
    room = width - len("0123456789abcdef  1234  2026-01-01 00:00  isolated  ")
    if room >= LEAST_TEXT:
        yield paint(f"{'id':16}  {'seen':>4}  {'last':16}  {'tier':8}  what", "dim")
    for habit in habits:
        learned = f" (neuron {habit.neuron})" if habit.neuron else ""
        what = (habit.purpose or "no purpose was given") + learned
        if room < LEAST_TEXT:
            seen = f"seen {_count(habit.occurrences)} times, the last at {local_time(habit.last_at)}, {habit.tier}"
            yield from (fit(habit.id, width), *_below(seen, width), *_below(what, width))
            continue
        yield (
            f"{fit(habit.id, 16):16}  {_count(habit.occurrences):>4}  {local_time(habit.last_at)}  "
            f"{fit(habit.tier, 8):8}  {fit(what, room)}"
        )


def _below(text: str, width: int) -> list[str]:
    room = max(width - len(_INDENT), 10)
    return [f"{_INDENT}{line}" for line in wrapped(fit(text, room * _MOST_LINES), room)]


def progress_text(neuron: Neuron, now: float) -> str:
    """The progress of a trial: `62 %, 31 of 50 signals, 9 h left`."""
    trial = neuron.trial
    if trial is None:
        return ""
    found = progress(neuron, now)
    seen = f"{_count(trial.counters.signals)} of {trial.min_signals} {_asked(neuron)}"
    left = "time is up" if found.hours_left <= 0 else f"{_hours(found.hours_left)} left"
    # What is missing when all else is there: it came in a burst.
    is_a_burst = found.spread_left and not found.signals_left
    more = f", {_asked(neuron)} needed in {found.spread_left} more hours" if is_a_burst else ""
    return f"{found.share * 100:.0f} %, {seen}, {left}{more}"


def what_now(neuron: Neuron) -> str:
    """The neuron's state after the owner's decision, and what comes next."""
    match neuron.status:
        case Status.TRIAL:
            return f"{neuron.id} is on trial now: {progress_left(neuron)}; cortex neurons list shows its progress"
        case Status.ACTIVE:
            return f"{neuron.id} is active again"
        case Status.AWAITING_OWNER:
            files = " --files DIR" if neuron.report is not None and neuron.report.files else ""
            return f"{neuron.id} has passed its quarantine; to let it run: cortex neurons approve {neuron.id}{files}"
        case Status.QUARANTINE:
            return f"{neuron.id} is in quarantine; the next agent that runs on this home tries it"
        case Status.DISABLED:
            return f"{neuron.id} is disabled: {neuron.reason or 'no reason was given'}"


def progress_left(neuron: Neuron) -> str:
    trial = neuron.trial
    if trial is None:
        return "for a while"
    return f"at least {_hours((trial.ends_at - trial.started_at) / 3600)} and {trial.min_signals} {_asked(neuron)}"


def _asked(neuron: Neuron) -> str:
    return "calls" if neuron.is_function else "signals"


def counted(neuron: Neuron, counters: Counters) -> str:
    parts = [f"{_count(counters.signals)} {_asked(neuron)}", f"{_count(counters.errors)} errors"]
    parts += [] if neuron.is_function else [f"{_count(counters.emitted)} emitted"]
    parts += [f"{counters.energy:.4g} energy"]
    if counters.restarts:
        parts.append(f"{_count(counters.restarts)} restarts")
    if counters.last_signal_at is not None:
        parts.append(f"the last at {local_time(counters.last_signal_at)}")
    return ", ".join(parts)


def _what(neuron: Neuron, now: float) -> str:
    match neuron.status:
        case Status.TRIAL:
            return f"{progress_text(neuron, now)}: {neuron.metadata.purpose}"
        case Status.AWAITING_OWNER if neuron.request is not None:
            if now >= neuron.request.expires_at:
                return "the question has expired"
            return f"decide until {local_time(neuron.request.expires_at)}: {neuron.metadata.purpose}"
        case Status.DISABLED:
            return neuron.reason or neuron.metadata.purpose
        case Status.QUARANTINE:
            return f"an agent on this home tries it: {neuron.metadata.purpose}"
        case _:
            return neuron.metadata.purpose


def _iso(text: str) -> str:
    try:
        return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return fit(text, 16)


def _columns(texts: Iterable[str], heading: str) -> int:
    return min(_MAX_ID, max(map(columns_of, (*texts, heading))))


def _count(number: int) -> str:
    return f"{number:,}" if abs(number) < 10_000_000 else f"{number / 1e6:.0f} M"


def _hours(hours: float) -> str:
    return f"{hours:.0f} h" if hours >= 1 else f"{max(1, round(hours * 60))} min"


def facts_of(
    neuron: Neuron,
    now: float,
    switch: On | Off,
    nerve: Nerve | None = None,
    life: Mapping[str, Any] | None = None,
    *,
    in_full: bool = False,
) -> dict[str, Any]:
    """The document, the progress of its trial, its kill switch, and its state where it runs. Without `in_full` the long
    parts are left out."""
    hidden = _NEVER if in_full else _NEVER | _ALSO_SHOWN
    document = neuron.model_dump(mode="json", by_alias=True, exclude=set(hidden))
    return {
        **document,
        "progress": _progress(neuron, now),
        "killed": {"at": switch.at, "reason": switch.reason} if isinstance(switch, On) else None,
        "layer": nerve.model_dump() if nerve is not None else None,
        **(life or {}),
    }


def _progress(neuron: Neuron, now: float) -> dict[str, float] | None:
    if neuron.status is not Status.TRIAL:
        return None
    found = progress(neuron, now)
    return {"hoursLeft": found.hours_left, "signalsLeft": found.signals_left, "share": found.share}


def history_of(neuron: Neuron) -> dict[str, Any]:
    document = neuron.model_dump(mode="json", by_alias=True, include={"id", "name", "version", "versions", "history"})
    approved = {(one.code_hash, one.policy_hash) for one in neuron.approvals}
    for version, facts in zip(neuron.versions, document["versions"], strict=True):
        facts["approved"] = (version.code_hash, version.policy_hash) in approved
    return document


def habit_facts(habit: Habit, *, in_full: bool = False) -> dict[str, Any]:
    return {
        "id": habit.id,
        "purpose": habit.purpose,
        "occurrences": habit.occurrences,
        "firstAt": habit.first_at,
        "lastAt": habit.last_at,
        "tier": habit.tier,
        "tools": list(habit.tools),
        "hosts": list(habit.hosts),
        "parameters": [{"place": one.place, "kind": one.kind, "values": list(one.values)} for one in habit.parameters],
        "neuron": habit.neuron,
        **({"code": habit.code, "codeHashes": list(habit.code_hashes)} if in_full else {}),
    }
