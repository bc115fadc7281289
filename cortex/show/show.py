"""A turn as it happens, for a person: what the agent says, what it runs, and what that cost and came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO, assert_never

from cortex.events import ExecutionEnded, ExecutionStarted, Refused, Remembered, Said, ToolCalled
from cortex.loop import CallEnded, CallStarted, Notice, RoundEnded, TextArrived
from cortex.terminal import Wrap, has_colour, has_symbols, styled, terminal_columns, visible

from .excerpt import Excerpt, excerpt
from .gauge import gauge, gauge_style
from .highlight import highlighted
from .marks import ASCII, SYMBOLS

if TYPE_CHECKING:
    from cortex.events import TurnEvent
    from cortex.intents import RunCodeIntent
    from cortex.loop import Event
    from sandbox import Metrics

_CODE_ROWS = 15
_RESULT_ROWS = 8
_WORDS_ROWS = 3
# A loop over a lent tool calls it a thousand times. How often is said when the run has ended.
_CALLS_SHOWN = 5
# What went wrong is told whole: the end of it says what to do.
_NOTICE_ROWS = 40
_STYLES = {"EXECUTION_DENIED": "yellow", "EXECUTION_BLOCKED": "yellow"}


class Show:
    """Writes to one stream. Without a terminal it is plain text, with no colour and no symbols, and what the agent says
    is not wrapped unless a width is given."""

    def __init__(self, stream: TextIO, width: int | None = None) -> None:
        self._stream = stream
        self._width = width or terminal_columns(stream)
        self._wraps = width is not None or stream.isatty()
        self._marks = SYMBOLS if has_symbols(stream) else ASCII
        self._text: Wrap | None = None
        """Of the text that is being written, while its last line is open."""
        self._above = ""
        """What stands above: "text", "block", or nothing yet."""
        self._running: dict[object, ExecutionStarted] = {}
        self._heading: object = None
        """The execution whose purpose stands last: what comes next is taken for its result."""
        self._shown: set[str] = set()
        """Refusals and failures that were shown, since the loop tells of them once more."""
        self._calls_of_code = 0

    def event(self, event: TurnEvent | Event) -> None:
        match event:
            case TextArrived(text):
                self.text(text)
            case Notice(text):
                self.notice(text)
            case Said(text):
                self.end()
                self.text(text)
                self.end()
            case ExecutionStarted():
                self._started(event)
            case ExecutionEnded():
                self._ended(event)
            case Refused():
                self._refused(event)
            case ToolCalled():
                self._called(event)
            case Remembered(text):
                self.note(f"remembered: {' '.join(text.split())}")
            case CallEnded():
                self._answered(event)
            case CallStarted():
                self.end()
            case RoundEnded():
                pass
            case _:
                assert_never(event)
        self._stream.flush()

    def text(self, piece: str) -> None:
        """A piece of what the agent says."""
        if self._text is None:
            piece = piece.lstrip("\n")
            if not piece:
                return
            self._gap("text")
            self._heading = None
            self._text = Wrap(self._width)
        self._stream.write(self._text.add(piece) if self._wraps else visible(piece))
        self._stream.flush()

    def end(self) -> None:
        """What was said so far is a paragraph of its own."""
        if self._text is not None:
            self._stream.write(f"{self._text.end() if self._wraps else ''}\n")
            self._stream.flush()
            self._text = None

    def notice(self, text: str) -> None:
        """What there is to say of the end of a turn, below what was said and done."""
        self.end()
        self._gap("block")
        self._lines(self._marks.note, excerpt(text, self._width - 4, _NOTICE_ROWS), "yellow")
        self._stream.flush()

    def note(self, text: str, style: str = "dim") -> None:
        """A small line between the others."""
        self.end()
        self._above = self._above or "block"
        self._lines(self._marks.note, excerpt(text, self._width - 4, _WORDS_ROWS), style)
        self._stream.flush()

    def _started(self, event: ExecutionStarted) -> None:
        self._running[event.intent.trace] = event
        self._calls_of_code = 0
        self._intent(event.intent)
        level = gauge(event.level, self._marks, before=event.level_before)
        limits = _limits(event.intent)
        gap = ", " if len(limits) + len(level) + 4 <= self._width else "\n  "
        self._write(f"  {limits}{gap}{self._styled(level, gauge_style(event.level))}")

    def _ended(self, event: ExecutionEnded) -> None:
        started = self._running.pop(event.intent.trace, None)
        self._shown.add(event.reply)
        self._go_on(event.intent)
        self._reply(event.reply, ok=event.outcome.ok)
        took = _took(event.outcome.metrics)
        if started is not None and abs(started.level - event.level) > 1e-9:
            took += f", {gauge(event.level, self._marks)}"
        self._lines("", excerpt(took, self._width - 4, _WORDS_ROWS), "dim")

    def _refused(self, event: Refused) -> None:
        self._shown.add(event.reply)
        if event.intent is None:
            self.end()
            self._gap("block")
            self._heading = None
            self._lines(self._marks.run, excerpt(event.tool, self._width - 4, 1), "bold")
        elif self._running.pop(event.intent.trace, None) is None:
            self._intent(event.intent)
            self._write(f"  {_limits(event.intent)}")
        else:
            self._go_on(event.intent)
        self._reply(event.reply, ok=False)

    def _called(self, event: ToolCalled) -> None:
        if event.origin == "code":
            self._calls_of_code += 1
            if self._calls_of_code > _CALLS_SHOWN:
                return
        failed = "" if event.ok else ", failed"
        by = " (from the code)" if event.origin == "code" else ""
        self.note(f"{event.tool}{by}: {_milliseconds(event.duration_ms)}{failed}", "dim" if event.ok else "yellow")

    def _answered(self, event: CallEnded) -> None:
        name, text = event.call.name, event.answer.text
        if event.answer.ok:
            if name in {"core.energy", "core_energy"}:
                self.note("looked at its energy")
        elif text in self._shown:
            self._shown.discard(text)
        else:
            # The loop itself refused it, or a tool failed and this says why.
            self.note(f"{name}: {text}", "yellow")

    def _go_on(self, intent: RunCodeIntent) -> None:
        """Its result comes next. When something else stands between, its purpose is said once more."""
        self.end()
        if self._heading != intent.trace:
            self._heading = intent.trace
            if self._above == "text":
                self._gap("block")
            self._lines(self._marks.run, excerpt(_purpose(intent), self._width - 4, 1), "bold")

    def _intent(self, intent: RunCodeIntent) -> None:
        self.end()
        self._gap("block")
        self._heading = intent.trace
        self._lines(self._marks.run, excerpt(_purpose(intent), self._width - 4, _WORDS_ROWS), "bold")
        code = excerpt(intent.payload.code.expandtabs(4), self._width - 4, _CODE_ROWS)
        lines = highlighted(code.lines, code.source) if has_colour(self._stream) else code.lines
        bar = self._styled(self._marks.bar, "dim")
        for line in lines:
            self._write(f"  {bar} {line}")
        self._left_out(code)

    def _reply(self, reply: str, *, ok: bool) -> None:
        mark = self._marks.result if ok else self._marks.refused
        style = "green" if ok else _STYLES.get(reply.partition(":")[0], "red")
        self._lines(mark, excerpt(reply, self._width - 4, _RESULT_ROWS), style)

    def _lines(self, mark: str, text: Excerpt, style: str) -> None:
        for number, line in enumerate(text.lines):
            # What goes on in a second line stays behind the mark: nothing in a text can pass for a line of ours.
            lead = self._styled(mark, style) + " " * (2 - len(mark)) if number == 0 and mark else "  "
            self._write(lead + self._styled(line, style))
        self._left_out(text)

    def _left_out(self, text: Excerpt) -> None:
        if text.left_out:
            self._write("  " + self._styled(f"{self._marks.cut} {text.left_out}", "dim"))

    def _gap(self, kind: str) -> None:
        if self._above:
            self._write("")
        self._above = kind

    def _write(self, line: str) -> None:
        self._stream.write(f"{line}\n")

    def _styled(self, text: str, style: str) -> str:
        return styled(text, style, self._stream) if text else ""


def _purpose(intent: RunCodeIntent) -> str:
    return " ".join(intent.payload.purpose.split()) or "run code"


def _limits(intent: RunCodeIntent) -> str:
    return f"{intent.payload.tier}, at most {intent.payload.timeout} ms"


def _took(metrics: Metrics) -> str:
    parts = [_milliseconds(metrics.execution_ms)]
    if metrics.tool_calls:
        parts.append(f"{metrics.tool_calls} tool call{'' if metrics.tool_calls == 1 else 's'}")
    if metrics.fetches:
        size = f" ({metrics.fetched_bytes:,} bytes)" if metrics.fetched_bytes else ""
        parts.append(f"{metrics.fetches} fetch{'' if metrics.fetches == 1 else 'es'}{size}")
    return ", ".join(parts)


def _milliseconds(duration: float) -> str:
    return f"{duration:.1f} ms" if duration < 1000 else f"{duration / 1000:.1f} s"
