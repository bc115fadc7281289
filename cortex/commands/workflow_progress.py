"""Progress of a run on stderr: in a terminal a line for each task that runs, updated in place, above it those that
have ended; without a terminal one plain line for each task that has ended."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from cortex.text import fit, has_symbols, local_time, styled, terminal_columns
from cortex.workflows import mark_of

from .workflow_rows import STYLES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from cortex.workflows import EventRow

MAX_LIVE = 10
"""Lines for tasks that run; of more, only the number is told."""
_ERASE = "\x1b[1A\x1b[2K"
_ENDS = {"task_completed": "ok", "task_failed": "failed", "task_skipped": "skipped", "task_unknown": "unknown"}


class RunProgress:
    """What happens in one run. Safe to use from several threads."""

    def __init__(self, stream: TextIO, *, is_quiet: bool = False) -> None:
        self._stream = stream
        self._is_quiet = is_quiet
        self._is_live = stream.isatty() and not is_quiet
        self._symbols = has_symbols(stream)
        self._lock = threading.RLock()
        self._running: dict[str, float] = {}
        self._drawn = 0
        self._holds = 0

    def tell(self, event: EventRow) -> None:
        """Show one event, if it is worth a line."""
        line = self._line(event)
        with self._lock:
            if event.kind in _ENDS:
                self._running.pop(str(event.data.get("task", "")), None)
            if line is not None:
                self._write(line)

    def runs(self, tasks: Sequence[str]) -> None:
        """These tasks run now, and no others."""
        with self._lock:
            now = time.monotonic()
            self._running = {task: self._running.get(task, now) for task in tasks}
            self._draw()

    def tick(self) -> None:
        """Show how long they have run."""
        with self._lock:
            self._draw()

    def note(self, text: str) -> None:
        with self._lock:
            if not self._is_quiet:
                self._write(text)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep off the terminal: a question stands there."""
        with self._lock:
            self._holds += 1
            self._erase()
        try:
            yield
        finally:
            with self._lock:
                self._holds -= 1
                self._draw()

    @contextmanager
    def beside_logs(self) -> Iterator[None]:
        """Step aside for each line of the log, which would else be overwritten."""

        def step_aside(record: logging.LogRecord) -> bool:
            del record
            with self._lock:
                self._erase()
            return True

        handlers = list(logging.getLogger().handlers)
        for handler in handlers:
            handler.addFilter(step_aside)
        try:
            yield
        finally:
            for handler in handlers:
                handler.removeFilter(step_aside)
            with self._lock:
                self._running = {}
                self._erase()

    def _line(self, event: EventRow) -> str | None:
        data = event.data
        match event.kind:
            case "task_completed" | "task_failed" | "task_skipped" | "task_unknown" as kind:
                return self._ended(_ENDS[kind], data)
            case "task_retried":
                return f"  task {data.get('task')}: attempt {data.get('attempt')}"
            case "decision_answered":
                return f"  task {data.get('task')}: {data.get('answer')}, by {fit(str(data.get('by')), 40)}"
            case "replanned":
                return f"  the plan has changed: revision {data.get('revision')}"
            case "run_resting":
                at = data.get("wake_at")
                until = (
                    f"until {local_time(at, '%H:%M:%S')}" if isinstance(at, int | float) else "until it is topped up"
                )
                return f"  not enough energy: it rests {until}"
            case _:
                return None

    def _ended(self, state: str, data: Mapping[str, Any]) -> str:
        mark = styled(f"{mark_of(state, symbols=self._symbols)} {state:7}", STYLES[state], self._stream)
        ms, cost, error = data.get("duration_ms"), data.get("cost"), data.get("error")
        facts = f" {ms:.0f} ms" if isinstance(ms, int | float) else ""
        facts += f", {cost:.4g} energy" if isinstance(cost, int | float) and cost else ""
        why = f"  {error.get('type')}: {error.get('message')}" if isinstance(error, dict) else ""
        about = fit(str(data.get("task")) + facts + why, max(20, self._columns() - 12))
        return f"{mark} {about}"

    def _columns(self) -> int:
        return terminal_columns(self._stream) if self._is_live else 400

    def _write(self, line: str) -> None:
        if self._is_quiet:
            return
        self._erase()
        self._stream.write(f"{line}\n")
        self._draw()
        self._stream.flush()

    def _draw(self) -> None:
        if not self._is_live or self._holds:
            return
        self._erase()
        now = time.monotonic()
        shown = list(self._running.items())[:MAX_LIVE]
        for task, since in shown:
            text = fit(f"{task} {now - since:.0f} s", self._columns() - 12)
            mark = styled(f"{mark_of('running', symbols=self._symbols)} running", "bold", self._stream)
            self._stream.write(f"{mark} {text}\n")
        more = len(self._running) - len(shown)
        if more:
            self._stream.write(f"  and {more} more\n")
        self._drawn = len(shown) + bool(more)
        self._stream.flush()

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write(_ERASE * self._drawn)
            self._stream.flush()
        self._drawn = 0
