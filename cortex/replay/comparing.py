"""Compares a replayed run with the one on record: outcome, calls, requests, console and reply. Pure.

Times, memory and numbers of tokens are no differences; neither is the order of calls that were under way together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex.text import line_diff

from .answers import without_numbers

if TYPE_CHECKING:
    from cortex.runs import CallDetails, RunDetails

_MAX_DIFF_LINES = 200
_MAX_TOLD = 20
_CUT = "… (cut)"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as on record."""

    what: str
    """outcome, call 2, request 1, console, reply; or a call that is not on record."""
    recorded: str
    replayed: str
    lines: tuple[str, ...] = ()
    """The texts line by line, with - for what is on record and + for the replay."""


def differences(record: RunDetails, replay: RunDetails, misfits: Sequence[str] = ()) -> tuple[Difference, ...]:
    """What differs, calls first: what comes after a call that differs often follows from it."""
    return tuple(_all(record, replay, misfits))


def _all(record: RunDetails, replay: RunDetails, misfits: Sequence[str]) -> Iterator[Difference]:
    for sentence in misfits[:_MAX_TOLD]:
        yield Difference("not on record", "", sentence)
    calls = _calls(record), _calls(replay)
    yield from _sequence("call", *calls, are_parallel=_overlap(record.calls), is_cut=bool(record.calls_left_out))
    yield from _sequence(
        "request",
        _requests(record),
        _requests(replay),
        are_parallel=len(record.requests) > 1,
        is_cut=bool(record.requests_left_out),
    )
    if (found := _outcome(record)) != (again := _outcome(replay)):
        yield Difference("outcome", found, again)
    if record.keep != "texts":
        return
    yield from _texts("console", _console(record, replay), _console(replay, record))
    if record.reply is not None and replay.reply is not None:
        found, again = without_numbers(record.reply), without_numbers(replay.reply)
        if found.endswith(_CUT):
            found = found.removesuffix(_CUT)
            again = again[: len(found)]
        yield from _texts("reply", found.split("\n"), again.split("\n"))


def _outcome(details: RunDetails) -> str:
    return f"{details.reply_code} ({details.error_type})" if details.error_type else details.reply_code


def _calls(details: RunDetails) -> list[str]:
    # A call that had no answer may be on record as stopped by one clock or another.
    return [f"{'store.' if call.kind == 'store' else ''}{call.name}: {_ended(call)}" for call in details.calls]


def _ended(call: CallDetails) -> str:
    if call.ok:
        return "ok"
    return "no answer" if call.code in {"timeout", "cancelled", "unanswered"} else call.code or "error"


def _requests(details: RunDetails) -> list[str]:
    return [
        f"{one.method} {without_numbers(one.url)}: {_refusal(one.refused) if one.status is None else one.status}"
        for one in details.requests
    ]


def _refusal(refused: str | None) -> str:
    return "refused" if refused is None else f"refused, {refused.partition(':')[0]}"


def _sequence(
    what: str, record: Sequence[str], replay: Sequence[str], *, are_parallel: bool, is_cut: bool
) -> Iterator[Difference]:
    """The first place at which they differ."""
    if is_cut:
        replay = replay[: len(record)]
    if are_parallel and Counter(record) == Counter(replay):
        return
    for at in range(max(len(record), len(replay))):
        found = record[at] if at < len(record) else "none"
        again = replay[at] if at < len(replay) else "none"
        if found != again:
            yield Difference(f"{what} {at + 1}", found, again)
            return


def _overlap(calls: Sequence[CallDetails]) -> bool:
    """Whether any two calls were under way together."""
    end = -1.0
    for call in sorted(calls, key=lambda one: one.start_ms):
        if call.start_ms < end:
            return True
        end = max(end, call.start_ms + call.ms)
    return False


def _console(one: RunDetails, other: RunDetails) -> list[str]:
    """The entries that both have whole: with some left out, only the first ones."""
    logs = one.logs
    if one.logs_left_out or other.logs_left_out:
        logs = logs[: min(one.logs_head or len(one.logs), other.logs_head or len(other.logs))]
    texts = (f"{entry.level}: {without_numbers(entry.text)}" for entry in logs)
    return [line for text in texts for line in text.split("\n")]


def _texts(what: str, record: Sequence[str], replay: Sequence[str]) -> Iterator[Difference]:
    if record == replay:
        return
    lines: list[str] = []
    for line in line_diff(record, replay):
        if len(lines) == _MAX_DIFF_LINES:
            lines.append("…")
            break
        lines.append(line)
    yield Difference(what, _counted(record), _counted(replay), tuple(lines))


def _counted(lines: Sequence[str]) -> str:
    return "1 line" if len(lines) == 1 else f"{len(lines)} lines"
