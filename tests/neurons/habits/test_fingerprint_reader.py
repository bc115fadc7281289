"""Fingerprints are taken in a process that may be killed: no code can hold up the one who asks."""

from __future__ import annotations

import json

import anyio
import pytest

from benchmarks.habits import SCRIPT, habits
from benchmarks.measure import Row
from neurons import FingerprintReader
from neurons.habits import fingerprint_shape
from neurons.habits.fingerprint import fingerprint
from neurons.habits.fingerprint_reader import MAX_REMEMBERED
from neurons.habits.fingerprint_tree import MAX_NODES
from sandbox import SandboxUnavailable
from tests.neurons.corpus import scripts

from .test_fingerprint import HOSTILE

BOUND_S = 60


@pytest.fixture(autouse=True)
def patient_host(monkeypatch):
    """The host's clocks are not what is tested here: on a busy machine, ordinary code would come too late for them."""
    for name in ("START_TIMEOUT_S", "ANSWER_TIMEOUT_S"):
        monkeypatch.setattr(f"sandbox.guard.guard.{name}", 60)


async def test_the_process_finds_what_the_pure_function_finds(nothing_left):
    async with FingerprintReader() as reader:
        for script in scripts()[:10]:
            assert await reader.read(script.code) == fingerprint(script.code)
        assert await reader.read("return 'Grüße 😀'") == fingerprint("return 'Grüße 😀'")


@pytest.mark.parametrize("hostile", [",+" * 25_000, "f<T," * 12_000])
async def test_code_that_hangs_the_parser_has_no_fingerprint_and_delays_no_other_task(hostile, nothing_left):
    async with FingerprintReader() as reader:
        with anyio.fail_after(BOUND_S):
            assert await reader.read(hostile) is None
            assert await reader.read("return 1") == fingerprint("return 1")


def test_hostile_code_is_read_or_not_and_the_next_code_is(nothing_left):
    async def read_all() -> None:
        async with FingerprintReader() as reader:
            with anyio.fail_after(BOUND_S):
                for code in HOSTILE.values():
                    assert await reader.read(code) in (None, fingerprint(code))
                assert await reader.read("return 1") == fingerprint("return 1")

    anyio.run(read_all)


async def test_code_that_is_too_large_has_no_fingerprint():
    async with FingerprintReader() as reader:
        assert await reader.read("f(a, b);" * MAX_NODES) is None


async def test_an_answer_that_is_none_is_no_fingerprint():
    class Forged(FingerprintReader):
        async def answer(self, code):
            return code.encode()

    reader = Forged()
    for answer in ('{"parts": {}}', "[" * 10_000, "{", "7", '"x"', "NaN"):
        assert await reader.read(answer) is None


async def test_code_that_comes_again_is_not_read_again_and_few_fingerprints_are_remembered():
    asked: list[str] = []

    class Counting(FingerprintReader):
        async def answer(self, code):
            asked.append(code)
            return await super().answer(code)

    codes = [f"return {number} + context.a{number}" for number in range(MAX_REMEMBERED + 1)]
    async with Counting() as reader:
        for code in codes:
            assert await reader.read(code) == await reader.read(code) == fingerprint(code)
        assert asked == codes
        # The first one was forgotten for the last one, and is read again; the one after that is still known, because it
        # was used.
        await reader.read(codes[1])
        await reader.read(codes[0])
        await reader.read(codes[1])
        assert asked == [*codes, codes[0]]
        await reader.read("((((")
    assert not reader._remembered
    with pytest.raises(SandboxUnavailable, match="it is closed"):
        await reader.read(codes[1])


async def test_code_without_a_fingerprint_is_read_again():
    """Perhaps the machine was busy."""
    answers = [None, json.dumps(fingerprint_shape.read("return 1")).encode()]

    class Busy(FingerprintReader):
        async def answer(self, code):
            return answers.pop(0)

    reader = Busy()
    assert await reader.read("return 1") is None
    assert await reader.read("return 1") == fingerprint("return 1")


async def test_a_process_that_cannot_start_says_nothing_about_the_code(monkeypatch):
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    async with FingerprintReader() as reader:
        with pytest.raises(SandboxUnavailable, match="Cannot start"):
            await reader.read("return 1")


async def test_what_is_under_way_ends_when_it_is_closed(nothing_left):
    reader = FingerprintReader()
    await reader.aclose()
    with pytest.raises(SandboxUnavailable, match="it is closed"):
        await reader.read("return 1")


def test_what_a_fingerprint_costs_is_measured():
    rows: list[Row] = []
    anyio.run(habits, 3, rows.append)
    [itself, *_] = rows
    assert itself.name == "fingerprint of a script of 50 lines"
    assert len(SCRIPT.strip().splitlines()) == 50
    assert (itself.theirs, itself.unit, itself.bar) == (2, "ms", 1.0)
    print(f"{itself.ours:.2f} ms, {itself.ratio:.2f} of the limit")
