"""Show a turn to a person as it happens: what the agent says, what it runs, the cost and the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO, assert_never

from cortex.contracts import ExecutionEnded, ExecutionStarted, Proposed, Refused, Remembered, Said, ToolCalled
from cortex.loop import CallEnded, CallStarted, Notice, RoundEnded, TextArrived, Waiting
from cortex.text import Wrap, fit, has_colour, styled, terminal_columns, visible
from cortex.tools import wire_name

from .highlight import highlighted
from .parts import Excerpt, excerpt, gauge, gauge_style, limits, marks_for, milliseconds, purpose, took, waiting

if TYPE_CHECKING:
    from cortex.contracts import RunCodeIntent, TurnEvent
    from cortex.loop import Answer, Event

_CODE_ROWS = 15
_RESULT_ROWS = 8
_WORDS_ROWS = 3
_DISPLAYED_ROWS = 40
# Code may call a lent tool a thousand times in a loop. The total is shown when the run has ended.
_CALLS_SHOWN = 5
# Enough for a whole error message: its end says what to do.
_NOTICE_ROWS = 40
_STYLES = {"EXECUTION_DENIED": "yellow", "EXECUTION_BLOCKED": "yellow"}


class Show:
    """Writes to one stream. Without a terminal it writes plain text, without colours and symbols, and does not wrap the
    agent's words unless a width is given."""

    def __init__(self, stream: TextIO, width: int | None = None) -> None:
        self._stream = stream
        self._width = width or terminal_columns(stream)
        self._wraps = width is not None or stream.isatty()
        self._marks = marks_for(stream)
        self._text: Wrap | None = None
        """Wraps the agent's words; None while no paragraph is open."""
        self._above = ""
        """The kind of the last output: "text", "block", or empty at the beginning."""
        self._running: dict[object, ExecutionStarted] = {}
        self._heading: object = None
        """The execution whose purpose was printed last: a reader takes the next lines for its result."""
        self._shown: set[str] = set()
        """Refusals and failures that were shown already: the loop reports them again."""
        self._calls_of_code = 0
        self._called_by_model: ToolCalled | None = None
        """A call that is not shown yet: the event with its arguments and answer follows."""

    def event(self, event: TurnEvent | Event) -> None:
        if not isinstance(event, CallEnded):
            self._show_call()
        self._event(event)
        self._stream.flush()

    def _event(self, event: TurnEvent | Event) -> None:  # noqa: PLR0912 - one for each event
        match event:
            case TextArrived(text):
                self.text(text)
            case Notice(text):
                self.notice(text)
            case Waiting():
                self.note(waiting(event, self._marks.cut))
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
            case Proposed(neuron, name, purpose):
                self.note(f"wants to learn {name}: {purpose} (id {neuron}, now in quarantine)", "cyan")
            case CallEnded():
                self._answered(event)
            case CallStarted():
                self.end()
            case RoundEnded():
                pass
            case _:
                assert_never(event)

    def text(self, piece: str) -> None:
        """Write a piece of the agent's words."""
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
        """End the paragraph of the agent's words."""
        if self._text is not None:
            self._stream.write(f"{self._text.end() if self._wraps else ''}\n")
            self._stream.flush()
            self._text = None

    def notice(self, text: str) -> None:
        """Write a notice about the end of the turn, below everything else."""
        self.end()
        self._gap("block")
        self._lines(self._marks.note, excerpt(text, self._width - 4, _NOTICE_ROWS), "yellow")
        self._stream.flush()

    def displayed(self, text: str, title: str = "") -> None:
        """Write a text that code displays. It is indented, and cannot control the terminal."""
        self.end()
        self._gap("block")
        if title:
            self._lines("", excerpt(title, self._width - 4, 1), "bold")
        self._lines("", excerpt(text, self._width - 4, _DISPLAYED_ROWS), "")
        self._stream.flush()

    def displayed_file(self, where: str, title: str = "") -> None:
        """Write where a file is that code displays, in one line however long it is: a path is there to be copied."""
        self.note(f"displayed {title}".rstrip(), "cyan")
        self._write(f"  {visible(' '.join(where.splitlines()))}")
        self._stream.flush()

    def note(self, text: str, style: str = "dim") -> None:
        """Write a small line between the others."""
        self._show_call()
        self.end()
        self._above = self._above or "block"
        self._lines(self._marks.note, excerpt(text, self._width - 4, _WORDS_ROWS), style)
        self._stream.flush()

    def _started(self, event: ExecutionStarted) -> None:
        self._running[event.intent.trace] = event
        self._calls_of_code = 0
        self._intent(event.intent)
        level = gauge(event.level, self._marks, before=event.level_before)
        within = limits(event.intent)
        gap = ", " if len(within) + len(level) + 4 <= self._width else "\n  "
        self._write(f"  {within}{gap}{self._styled(level, gauge_style(event.level))}")

    def _ended(self, event: ExecutionEnded) -> None:
        started = self._running.pop(event.intent.trace, None)
        self._shown.add(event.reply)
        self._go_on(event.intent)
        self._reply(event.reply, ok=event.outcome.ok)
        cost = took(event.outcome.metrics)
        if started is not None and abs(started.level - event.level) > 1e-9:
            cost += f", {gauge(event.level, self._marks)}"
        self._lines("", excerpt(cost, self._width - 4, _WORDS_ROWS), "dim")

    def _refused(self, event: Refused) -> None:
        self._shown.add(event.reply)
        if event.intent is None:
            self.end()
            self._gap("block")
            self._heading = None
            self._lines(self._marks.run, excerpt(event.tool, self._width - 4, 1), "bold")
        elif self._running.pop(event.intent.trace, None) is None:
            self._intent(event.intent)
            self._write(f"  {limits(event.intent)}")
        else:
            self._go_on(event.intent)
        self._reply(event.reply, ok=False)

    def _called(self, event: ToolCalled) -> None:
        if event.origin != "code":
            self._called_by_model = event
            return
        self._calls_of_code += 1
        if self._calls_of_code <= _CALLS_SHOWN:
            self._note_call(event, " (from the code)")

    def _note_call(self, event: ToolCalled, by: str = "") -> None:
        failed = "" if event.ok else ", failed"
        self.note(f"{event.tool}{by}: {milliseconds(event.duration_ms)}{failed}", "dim" if event.ok else "yellow")

    def _show_call(self) -> None:
        called, self._called_by_model = self._called_by_model, None
        if called is not None:
            self._note_call(called)

    def _tool(self, called: ToolCalled, arguments: str, answer: Answer) -> None:
        """Show a tool that the model called: one line with its arguments, one with its result."""
        code, _, reason = answer.text.partition(": ")
        if not answer.ok and code == "EXECUTION_DENIED":
            # Nothing was done, and the owner, if asked, has just read the arguments.
            self.note(f"{called.tool}: {reason}", "yellow")
            return
        self.end()
        self._above = self._above or "block"
        self._heading = None
        ending = f": {milliseconds(called.duration_ms)}"
        given = called.tool if arguments.strip() in {"", "{}"} else f"{called.tool} {arguments}"
        given = fit(given, self._width - 4 - len(ending), self._marks.cut) + ending
        mark, style = (self._marks.result, "dim") if answer.ok else (self._marks.refused, "red")
        for sign, line, how in (
            (self._marks.note, given, "dim"),
            (mark, fit(answer.text, self._width - 4, self._marks.cut), style),
        ):
            self._write(self._styled(f"{sign} {line}", how))

    def _answered(self, event: CallEnded) -> None:
        name, text = event.call.name, event.answer.text
        called = self._called_by_model
        if called is not None and name in {called.tool, wire_name(called.tool)}:
            self._called_by_model = None
            self._tool(called, event.call.arguments_json, event.answer)
            return
        self._show_call()
        if event.answer.ok:
            if name in {"core.energy", "core_energy"}:
                self.note("looked at its energy")
        elif text in self._shown:
            self._shown.discard(text)
        else:
            # The loop itself refused the call, or a tool failed and this text says why.
            self.note(f"{name}: {text}", "yellow")

    def _go_on(self, intent: RunCodeIntent) -> None:
        """Prepare for the result of a run. Repeat its purpose, if other lines stand between."""
        self.end()
        if self._heading != intent.trace:
            self._heading = intent.trace
            if self._above == "text":
                self._gap("block")
            self._lines(self._marks.run, excerpt(purpose(intent), self._width - 4, 1), "bold")

    def _intent(self, intent: RunCodeIntent) -> None:
        self.end()
        self._gap("block")
        self._heading = intent.trace
        self._lines(self._marks.run, excerpt(purpose(intent), self._width - 4, _WORDS_ROWS), "bold")
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
            # Continuation lines are indented behind the mark: no line of a text can pass for a line of ours.
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
        return styled(text, style, self._stream) if text and style else text
