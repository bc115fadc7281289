"""Formats one run as a page of text: facts, code, calls, printed lines, error, reply. No text controls the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex.runs import RunDetails
from cortex.text import CODE, fit, hanging, local_time, visible, visible_code, wrapped
from cortex.views import RunLog, RunSpan, interleaved

from .rows import Paint
from .runs_rows import OUTCOME_STYLES, milliseconds, size_of, took_of, word_of

if TYPE_CHECKING:
    from cortex.runs import ForgottenRun
    from cortex.views import RunView

_NAMES = 13
_BAR = 24
_LEAST_FOR_BAR = 110
_MAX_LENT = 50
_KINDS = {"tool": "call of ", "store": "store.", "fetch": ""}
_STANDING = {
    "matches": "as it was written: the audit has the same hash",
    "differs": "CHANGED after it was written: the audit has another hash",
    "unknown": "the audit has no hash of it: it proves nothing",
}


@dataclass(frozen=True, slots=True)
class Look:
    """How the page looks."""

    width: int
    paint: Paint
    has_symbols: bool = False
    has_colour: bool = False


def page_lines(view: RunView, page: Look) -> Iterator[str]:
    row, details = view.row, view.details
    outcome = page.paint(word_of(row.outcome), OUTCOME_STYLES.get(row.outcome, "yellow"))
    yield f"{page.paint(visible(row.id), 'bold')}  {outcome}  {local_time(row.at, '%Y-%m-%d %H:%M:%S')}"
    facts = _facts(view, details) if isinstance(details, RunDetails) else _of_forgotten(view, details)
    for name, text in facts:
        yield from hanging(f"{name:{_NAMES}} ", text, page.width)
    if not isinstance(details, RunDetails):
        return
    yield from _code(view, details, page)
    yield from _course(view, details, page)
    yield from _error(details, page)
    yield from _reply(details, page)


def _facts(view: RunView, details: RunDetails) -> Iterator[tuple[str, str]]:
    row = view.row
    error = f" ({details.error_type})" if details.error_type else ""
    yield "purpose", details.purpose or "(none)"
    if details.expected_output:
        yield "expected", details.expected_output
    yield "answered", f"{details.reply_code}{error}"
    yield "tier", f"{details.tier}, at most {milliseconds(details.timeout_ms)}, wall {details.wall or 'unknown'}"
    yield "took", _took(view, details)
    yield "used", f"{milliseconds(details.cpu_ms)} of CPU, {details.peak_memory_mb:.1f} MB at its peak"
    yield "energy", f"{row.cost:.4g}: {details.level_before:.4g} before, {row.level:.4g} after"
    yield "asked by", _asked_by(details)
    if details.trace_id:
        yield "trace", details.trace_id
    yield "process", str(details.host_pid)
    lent, more = details.tools_lent[:_MAX_LENT], details.tools_lent_count - len(details.tools_lent)
    if lent:
        yield "lent", ", ".join(lent) + (f" and {more} more" if more > 0 else "")
    yield "code", f"{details.code_hash}{'' if view.code is not None else f' ({view.code_state})'}"
    number = "" if details.audit is None else f" (record {details.audit})"
    yield "standing", f"{view.standing}{number}: {_STANDING[view.standing]}"
    yield "replay", f"cortex replay {row.id}" if view.can_replay else "not possible"
    yield from (("", sentence) for sentence in view.missing)


def _took(view: RunView, details: RunDetails) -> str:
    if details.cached:
        came = f": the result of run {details.cached_from}" if details.cached_from else ""
        return f"from the cache, nothing ran{came}"
    parts = {"for a place": details.queue_ms, "for a process": details.startup_ms}
    waits = ", ".join(f"{milliseconds(ms)} {what}" for what, ms in parts.items() if ms)
    return took_of(view.row) + (f", of it {waits}" if waits else "")


def _asked_by(details: RunDetails) -> str:
    parts = [details.origin]
    if details.conversation:
        parts.append(f"conversation {details.conversation}")
    if details.model_call_id:
        parts.append(f"call {details.model_call_id} of the model")
    return ", ".join([*parts, f"turn {details.turn}, its run {details.call}"])


def _of_forgotten(view: RunView, details: ForgottenRun) -> Iterator[tuple[str, str]]:
    yield "forgotten", f"{local_time(details.forgotten_at, '%Y-%m-%d %H:%M:%S')}, by {details.by}"
    yield "turn", f"{details.turn}, its run {details.call}"
    word = {"matches": "a run with this hash was there", "differs": "another run was there", "unknown": "not known"}
    yield "standing", f"{view.standing}: {word[view.standing]}"


def _code(view: RunView, details: RunDetails, page: Look) -> Iterator[str]:
    yield from _heading("code", page)
    if view.code is None:
        yield "Its code was not kept" if view.code_state == "not kept" else "The file of its code holds something else"
        return
    shown = visible_code(view.code)
    lines = shown.split("\n")
    coloured = lines
    if page.has_colour:
        from cortex.show import highlighted

        coloured = highlighted(lines, shown)
    marked = None if details.error is None else details.error.line
    digits = len(str(len(lines)))
    for number, line in enumerate(coloured, 1):
        is_marked = number == marked
        head = f"{'>' if is_marked else ' '} {number:>{digits}} | "
        yield page.paint(head, "red" if is_marked else "dim") + line


def _course(view: RunView, details: RunDetails, page: Look) -> Iterator[str]:
    """What took time, and what the code printed, by the time at which it began."""
    if not view.spans and not view.logs:
        return
    yield from _heading("what it did", page)
    yield page.paint(f"{'begins':>10} {'takes':>10}  {'':{_bar_columns(page)}}what", "dim")
    end = max((span.start_ms + span.ms for span in view.spans), default=0.0)
    for one in interleaved(view.spans, view.logs):
        yield from _span_lines(one, end, page) if isinstance(one, RunSpan) else _log_lines(one, page)
    for count, what in ((details.calls_left_out, "calls"), (details.requests_left_out, "requests")):
        if count:
            yield f"{'':23}and {count} more {what}"


def _bar_columns(page: Look) -> int:
    return _BAR + 2 if page.width >= _LEAST_FOR_BAR else 0


def _span_lines(span: RunSpan, end: float, page: Look) -> Iterator[str]:
    parts = [span.outcome] if not span.ok or span.kind == "fetch" else []
    if span.bytes_in is not None:
        parts.append(f"{size_of(span.bytes_in)} in")
    if span.bytes_out:
        parts.append(f"{size_of(span.bytes_out)} out")
    if span.asked_ms is not None:
        parts.append(f"you were asked for {milliseconds(span.asked_ms)}")
    if span.note:
        parts.append(span.note)
    more = f": {', '.join(parts)}" if parts else ""
    times = f"{milliseconds(span.start_ms):>10} {milliseconds(span.ms):>10}  "
    room = max(page.width - len(times) - _bar_columns(page), 20)
    text = fit(f"{_KINDS.get(span.kind, '')}{span.name}{more}", room)
    yield times + _bar(span, end, page) + (text if span.ok else page.paint(text, "red"))
    for name, value in (("given", span.arguments), ("gave", span.result)):
        if value is not None:
            yield from hanging(f"{'':23}{name} ", value, page.width)


def _bar(span: RunSpan, end: float, page: Look) -> str:
    columns = _bar_columns(page)
    if not columns:
        return ""
    scale = _BAR / end if end > 0 else 0.0
    start = min(_BAR - 1, max(0, int(span.start_ms * scale)))
    length = min(_BAR - start, max(1, round(span.ms * scale)))
    mark = "━" if page.has_symbols else "="
    return page.paint(f"{' ' * start}{mark * length}".ljust(columns), "cyan")


def _log_lines(log: RunLog, page: Look) -> Iterator[str]:
    if not log.level:
        yield f"{'':23}({visible(log.text)})"
        return
    at = "" if log.at_ms is None else milliseconds(log.at_ms)
    yield from hanging(f"{at:>10} {'':10}  {fit(log.level, 8)}: ", log.text, page.width)


def _error(details: RunDetails, page: Look) -> Iterator[str]:
    error = details.error
    if error is None:
        return
    yield from _heading("error", page)
    yield from (page.paint(line, "red") for line in _quoted(error.message, page))
    if error.where:
        yield from _quoted(error.where, page)
    if error.stack:
        yield from (page.paint(line, "dim") for line in _quoted(error.stack, page))


def _reply(details: RunDetails, page: Look) -> Iterator[str]:
    yield from _heading("what the model read", page)
    if details.reply is None:
        yield f"{size_of(details.reply_bytes)}, not kept: [runs] keep = {details.keep}"
    else:
        yield from _quoted(details.reply, page)


def _quoted(text: str, page: Look) -> Iterator[str]:
    """Behind a bar: a text of several lines must not look like a part of the page."""
    return (f"{CODE}{line}" for line in wrapped(text, max(page.width - len(CODE), 20)))


def _heading(text: str, page: Look) -> Iterator[str]:
    yield ""
    yield page.paint(text, "bold")
