"""What a person sees while a run goes on, how long a command stays with it, and questions that stay open."""

from __future__ import annotations

import io
import logging
from contextlib import nullcontext

import anyio
import pytest

from cortex.chat import ConsoleOwner
from cortex.commands.workflow_progress import MAX_LIVE, RunProgress
from cortex.commands.workflow_runs import _Follower
from cortex.tools import DECISION, Question
from cortex.workflows import EventRow, RunRow
from tests.cortex.workflows.support import code, plan

UP = "\x1b[1A\x1b[2K"


class Tty(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def ended(task: str, kind: str = "task_completed", **more: object) -> EventRow:
    return EventRow(1, kind, {"task": task, "attempt": 1, "cost": 0.05, "duration_ms": 12.3, **more}, 0.0)


@pytest.fixture
def screen(monkeypatch) -> Tty:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    return Tty()


def test_in_a_terminal_the_lines_of_running_tasks_give_way_to_those_that_have_ended(screen):
    progress = RunProgress(screen)
    progress.runs(["a", "b"])
    assert screen.getvalue() == "▶ running a 0 s\n▶ running b 0 s\n"
    progress.tell(ended("a"))
    assert screen.getvalue().endswith(f"{UP * 2}● ok      a 12 ms, 0.05 energy\n▶ running b 0 s\n")
    progress.tick()
    assert screen.getvalue().endswith(f"{UP}▶ running b 0 s\n")
    with progress.held():
        assert screen.getvalue().endswith(UP)
        held = screen.getvalue()
        progress.tick()
        assert screen.getvalue() == held  # a question stands there
    assert screen.getvalue().endswith("▶ running b 0 s\n")


def test_of_many_tasks_that_run_only_some_have_a_line(screen):
    RunProgress(screen).runs([f"t{n}" for n in range(200)])
    assert screen.getvalue().count("running") == MAX_LIVE
    assert screen.getvalue().endswith(f"  and {200 - MAX_LIVE} more\n")


def test_a_line_of_the_log_is_not_written_over(screen):
    progress = RunProgress(screen)
    handler = logging.StreamHandler(screen)
    logging.getLogger().addHandler(handler)
    try:
        with progress.beside_logs():
            progress.runs(["a"])
            logging.getLogger("motor_cortex").warning("look")
            assert screen.getvalue().endswith(f"{UP}look\n")
            progress.tick()
            assert screen.getvalue().endswith("look\n▶ running a 0 s\n")
        assert screen.getvalue().endswith(UP)
    finally:
        logging.getLogger().removeHandler(handler)


def test_without_a_terminal_there_is_a_plain_line_for_each_task_that_has_ended():
    stream = io.StringIO()
    progress = RunProgress(stream)
    progress.runs(["a"])
    for event in (
        ended("a"),
        ended("b", "task_failed", error={"type": "Error", "message": "x\n\x1b[2J"}),
        EventRow(3, "decision_answered", {"task": "ok", "answer": "approve", "by": "owner"}, 0.0),
        EventRow(4, "run_resting", {"wake_at": None}, 0.0),
        EventRow(5, "checkpoint_saved", {}, 0.0),
    ):
        progress.tell(event)
    lines = stream.getvalue().splitlines()
    assert lines[0].endswith("a 12 ms, 0.05 energy")
    assert "Error: x" in lines[1]
    assert "\x1b" not in stream.getvalue()
    assert len(lines) == 4


def test_a_program_that_reads_json_gets_no_progress():
    stream = Tty()
    progress = RunProgress(stream, is_quiet=True)
    progress.runs(["a"])
    progress.tell(ended("a"))
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("status", "wake_at", "wait_s", "patience_s"),
    [
        ("waiting", None, None, 0),
        ("waiting", None, 30, 30),
        ("resting", 1.0, None, 3_600),
        ("resting", 1.0, 5, 5),
        ("resting", None, 5, 0),  # it does not wake by itself
    ],
)
def test_how_long_a_command_stays_with_a_run_that_waits_or_rests(status, wake_at, wait_s, patience_s):
    own = plan(code("a", "return 1"))

    async def patience() -> float:
        follower = _Follower("r1", 0, RunProgress(io.StringIO()), wait_s)
        return follower._patience_s(RunRow("r1", own, own.hash, status=status, wake_at=wake_at))

    assert anyio.run(patience) == patience_s


def test_a_question_of_a_workflow_without_a_terminal_stays_open():
    owner = ConsoleOwner(lambda _: None, nullcontext, is_there=False)
    assert anyio.run(owner.decide, Question(DECISION, {"shown": "?"}, "workflow")).is_answer is False
    assert anyio.run(owner.decide, Question("shop.buy", {}, "workflow")).allowed is False
