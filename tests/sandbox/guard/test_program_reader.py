"""The reader of programs: what its process asks for, and who waits for it, is bounded."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from sandbox import CodeReader, SandboxUnavailable
from sandbox.contracts.frames import Failure
from sandbox.guard.program_reader import MAX_EDITS_BYTES, Program, ProgramReader, edited
from sandbox.run.diagnostics import diagnose

CODE = "x" * 51_200


def cpu_seconds(work: Callable[[], Any], tries: int = 3) -> float:
    best = float("inf")
    for _ in range(tries):
        began = time.thread_time()
        work()
        best = min(best, time.thread_time() - began)
    return best


@pytest.mark.parametrize("edit", ['["blank",0,51200]', '["default",0,51200]', '["blank",1,51200]'])
def test_edits_that_overlap_cost_no_more_than_reading_them(edit):
    count = (MAX_EDITS_BYTES - 2) // (len(edit) + 1)
    answer = f"[{','.join([edit] * count)}]".encode()
    assert edited(CODE, answer) == Program(CODE)
    # Making the text of each took 7 ms, so 25 seconds for all.
    assert cpu_seconds(lambda: edited(CODE, answer)) < 0.2


@pytest.mark.parametrize(
    "answer", [b'[["return",1]]', b'[["end",3]]', b'[["blank",0,1]]', b'[["blank",1,2]]', b'[["default",2,3]]']
)
def test_an_edit_inside_of_a_character_changes_nothing(answer):
    assert edited("é" * 10, answer) == Program("é" * 10)


def test_what_is_blanked_keeps_its_lines_and_columns():
    code = "export\r\n  default é; a"
    answer = json.dumps([["blank", 0, 18], ["return", 22]]).encode()
    assert edited(code, answer).code == "      \r\n          é; return(a"


def one_by_one(program: Program, line: int, column: int) -> tuple[int, int]:
    """The position as it follows from what `moved` means, one insertion after the other."""
    for at_line, at_column, inserted in reversed(program.moved):
        if at_line == line and at_column <= column:
            column = max(at_column, column - inserted)
    return line, column


def test_a_position_leads_back_past_each_insertion_of_its_line():
    chance = random.Random(7)
    for _ in range(200):
        moved, line, column = [], 1, 1
        for _ in range(chance.randrange(12)):
            if chance.random() < 0.3:
                line, column = line + chance.randrange(1, 3), 1
            column += chance.randrange(5)
            moved.append((line, column, chance.choice((1, 9))))
            column += moved[-1][2]
        program = Program("", tuple(moved))
        for _ in range(50):
            place = chance.randrange(1, line + 2), chance.randrange(1, column + 12)
            assert program.written_at(*place) == one_by_one(program, *place)


def test_an_error_full_of_positions_is_placed_in_no_time():
    # Honest code of 26 KB: 1,900 leaves of `if` in one line, and an error that its author filled with positions.
    program = Program("", tuple((1, 50 + 14 * n, 9 if n % 2 == 0 else 1) for n in range(3_800)))
    failure = Failure(
        "run", "Error", "code.js, <anonymous>:3:999999 " * 136, "  at code.js, <anonymous>:3:999999\n" * 455
    )
    taken = cpu_seconds(lambda: diagnose(failure, "1", (), written_at=program.written_at))
    # Walking along all insertions took 700 ms.
    assert taken < 0.1


SLOW = """
import time

def read(code):
    if code.startswith("slow"):
        end = time.process_time() + 0.15
        while time.process_time() < end:
            pass
    return len(code)
"""


def slow_reader(folder: Path, turn_timeout_s: float) -> CodeReader:
    (folder / "module.py").write_text(SLOW)
    return CodeReader(folder / "module.py", "read", name="test", max_answer_bytes=1_000, turn_timeout_s=turn_timeout_s)


async def test_a_small_program_waits_behind_one_large_program_at_most(tmp_path, nothing_left):
    slow = slow_reader(tmp_path, turn_timeout_s=60)
    answered: list[int] = []

    async def ask(code: str) -> None:
        await slow.answer(code)
        answered.append(len(code))

    with anyio.fail_after(60):
        async with slow:
            await slow.answer("first")
            async with anyio.create_task_group() as tasks:
                for _ in range(4):
                    tasks.start_soon(ask, "slow" * 5_000)
                await anyio.wait_all_tasks_blocked()
                tasks.start_soon(ask, "small")
    assert answered.index(len("small")) <= 1


async def test_who_waits_too_long_for_the_reader_is_told_so(tmp_path, nothing_left):
    slow = slow_reader(tmp_path, turn_timeout_s=0.01)
    refused = 0

    async def ask(code: str) -> None:
        nonlocal refused
        try:
            await slow.answer(code)
        except SandboxUnavailable as error:
            refused += "busy" in str(error)

    with anyio.fail_after(60):
        async with slow:
            await slow.answer("first")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask, "slow")
                await anyio.wait_all_tasks_blocked()
                for code in ("slow", "x", "slow" * 5_000, "slow" * 5_000):
                    tasks.start_soon(ask, code)
            assert refused == 4
            assert json.loads(await slow.answer("xy")) == 2


async def test_who_comes_while_the_first_process_starts_waits_for_it(tmp_path, nothing_left):
    slow = slow_reader(tmp_path, turn_timeout_s=0.001)
    answers: list[int] = []

    async def ask(code: str) -> None:
        answers.append(json.loads(await slow.answer(code) or b"0"))

    with anyio.fail_after(60):
        async with slow, anyio.create_task_group() as tasks:
            for code in ("a", "ab", "abc"):
                tasks.start_soon(ask, code)
    assert sorted(answers) == [1, 2, 3]


async def held(reader: ProgramReader, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    async with reader._one_at_a_time:
        task_status.started()
        await anyio.sleep_forever()


async def test_a_program_that_finds_the_reader_busy_is_run_as_it_is(monkeypatch, nothing_left):
    monkeypatch.setattr("sandbox.guard.program_reader.TURN_TIMEOUT_S", 0.01)
    async with ProgramReader() as reader, anyio.create_task_group() as tasks:
        await reader.program("let a = 1\na")
        await tasks.start(held, reader)
        assert await reader.program("let a = 1\na") == Program("let a = 1\na")
        tasks.cancel_scope.cancel()


async def test_code_that_returns_costs_no_process_and_does_not_wait_for_others(nothing_left):
    code = "const rows = context.rows;\nfor (const row of rows) {\n  row.id;\n}\nreturn rows.length;\n// done\n"
    async with ProgramReader() as reader, anyio.create_task_group() as tasks:
        await tasks.start(held, reader)
        with anyio.fail_after(60):
            assert await reader.program(code) == Program(code)
        assert reader._process is None
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("code", "last"),
    [
        ("const total = 3; // total (in EUR)\ntotal", "return(total)"),
        ("const total = 3; console.log('total (EUR)', `total`)\ntotal", "return(total)"),
        ("class A { total() {} }\nconst a = new A(), total = a.total();\ntotal", "return(total)"),
        ("const f = () => 1;\nconst total = f();\ntotal", "return(total)"),
        ("let a;\na = " + " + ".join(["'x'"] * 3_000), "'x')"),
        ("let a = 1;\n" + "(" * 100 + "a" + ")" * 100, ")"),
        ("const f = () => 1;\nf();\n(f /* again */)", "\n(f /* again */)"),
    ],
)
async def test_a_value_is_returned_unless_it_is_a_function_that_has_run(code, last):
    async with ProgramReader() as reader:
        program = await reader.program(code)
    assert program.code.endswith(last)
    assert (program.code != code) is ("again" not in code)
