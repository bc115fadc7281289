"""Two scripts are run on the same inputs in real Deno processes: what tells something, and what cannot be told."""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from neurons import HabitSettings, LiteralReader, MemoryStorage, Recording, Recordings, Wording
from neurons.quarantine.side_by_side import SideBySide
from sandbox import DenoRuntime
from tests.conftest import small
from tests.neurons.candidates import settings
from tests.neurons.learning_corpus import Family, families, pairs

pytestmark = [
    pytest.mark.deno,
    pytest.mark.usefixtures("nothing_left"),
    pytest.mark.parametrize("anyio_backend", ["asyncio"]),
]
NUMBERS = {"n": [9, 2, 7, 4, 12, 5]}
MEDIAN = "const s = [...context.n].sort((a, b) => a - b); const m = s.length >> 1; return (s[m] + s[~~((s.length - 1) / 2)]) / 2"
OTHERWISE = """
const xs = context.n.toSorted((p, q) => p - q);
while (xs.length > 2) { xs.shift(); xs.pop(); }
"""
SAME = {
    "another style": (MEDIAN, OTHERWISE + "return xs.length === 1 ? xs[0] : (xs[0] + xs[1]) / 2"),
    "in an object": (MEDIAN, OTHERWISE + "return { median: xs.length === 1 ? xs[0] : (xs[0] + xs[1]) / 2 }"),
    "with its unit": (MEDIAN, OTHERWISE + "return `${(xs.length === 1 ? xs[0] : (xs[0] + xs[1]) / 2).toFixed(2)} EUR`"),
    "the data of one of them in the other": (
        "return [42, 17, 88].reduce((a, b) => a + b) * 3",
        "let sum = 0; for (const x of [5, 9, 30]) sum += x; return { total: sum * 3 }",
    ),
    "the same data": (
        'return ["b 2", "a 9", "c 5"].sort().map((x) => x.split(" ")[1]).join("")',
        'const all = ["b 2", "a 9", "c 5"]; all.sort(); let s = ""; for (const x of all) s += x.at(-1); return s',
    ),
}
OTHER = {
    "largest or smallest": ("return Math.max(...context.n)", "return Math.min(...context.n)"),
    "order": (
        "return context.n.toSorted((a, b) => a - b)",
        "const c = [...context.n]; c.sort((a, b) => b - a); return c",
    ),
    "of the same data": ("return [3, 8, 13].map((x) => x * 2)", "return [3, 8, 13].map((x) => x + 2)"),
}
UNKNOWN = {
    "nothing is recorded": ("return context.z.length", "return context.z.length + 1"),
    "other fields": ("return context.n.length", "return context.numbers.length"),
    "constant results": ("return context.n.length > 0 ? 'yes' : 'yes'", "return 'yes' + (context.n ? '' : 'no')"),
    "no data": ("return 1", "return 2"),
    "one reads the context and the other does not": ("return context.n[0]", "return [9, 2, 7][0]"),
    "tools": ("return tools.a.b({ n: context.n })", "return tools.a.b({ n: [...context.n] })"),
    "requests": ("return fetch(context.n)", "return fetch(`${context.n}`)"),
    "broken": ("return context.n.x.y", "return context.n.y.x"),
    "endless": ("while (true) {} return context.n", "for (;;) {} return context.n"),
}


def wording(code: str) -> Wording:
    return Wording(code, hashlib.sha256(code.encode()).hexdigest())


class Runs:
    def __init__(self, runtime: DenoRuntime, literals: LiteralReader) -> None:
        self.recordings = Recordings(MemoryStorage(), HabitSettings(max_recordings=1_000))
        self.is_killed = False
        self.behaviour = SideBySide(
            runtime,
            settings(),
            recordings=self.recordings,
            literals=literals,
            is_killed=lambda: self.is_killed,
        )

    async def same(self, one: str, other: str, context: Any = None) -> bool | None:
        for code in (one, other):
            self.recordings.keep(Recording(wording(code).code_hash, time.time(), context, code=code))
        return await self.behaviour.same(wording(one), wording(other))


@asynccontextmanager
async def runs() -> AsyncIterator[Runs]:
    async with DenoRuntime(small(pool_size=2)) as runtime, LiteralReader() as literals:
        yield Runs(runtime, literals)


async def test_scripts_that_give_the_same_are_told_from_those_that_do_not():
    async with runs() as each:
        for expected, cases in ((True, SAME), (False, OTHER), (None, UNKNOWN)):
            for case, codes in cases.items():
                assert await each.same(*codes, NUMBERS) is expected, case
                assert await each.same(*reversed(codes), NUMBERS) is expected, case


async def test_an_input_from_which_a_secret_was_removed_is_not_used():
    secret = {"n": [9, 2, 7, 4, 12, 5], "password": "hunter2hunter2"}
    async with runs() as each:
        assert await each.same(*SAME["another style"], secret) is None


async def test_nothing_is_run_any_more_once_the_kill_switch_is_on():
    async with runs() as each:
        each.is_killed = True
        assert await each.same(*SAME["another style"], NUMBERS) is None


async def test_pure_families_in_other_styles_are_found_and_none_of_their_scripts_is_said_to_differ():
    known = {family.name: family for split in ("held_out", "fresh") for family in families(split)}  # type: ignore[arg-type]
    wanted = ("median", "human_bytes", "newest_version", "roman_numeral")
    async with runs() as each:
        for name in wanted:
            verdicts = await verdicts_of(each, known[name])
            print(f"{name}: {verdicts}")
            assert False not in verdicts.values()
            # Enough to lead from each of four scripts to the others.
            assert largest(verdicts) >= 4, name


async def test_look_alikes_that_compute_are_never_said_to_be_the_same():
    async with runs() as each:
        verdicts = [
            await each.same(pair.first.code, pair.second.code) for pair in pairs("fresh") if pair.kind == "pure"
        ]
    print(f"{verdicts.count(False)} of {len(verdicts)} look-alikes differ on the same inputs")
    assert True not in verdicts
    assert verdicts.count(False) >= 0.75 * len(verdicts)


async def verdicts_of(each: Runs, family: Family) -> dict[tuple[int, int], bool | None]:
    codes = [script.code for script in family.scripts]
    numbered = itertools.combinations(range(len(codes)), 2)
    return {(a, b): await each.same(codes[a], codes[b], family.context) for a, b in numbered}


def largest(verdicts: dict[tuple[int, int], bool | None]) -> int:
    """How many scripts the largest group has in which they are the same."""
    groups = {number: {number} for pair in verdicts for number in pair}
    for (a, b), is_same in verdicts.items():
        if is_same:
            joined = groups[a] | groups[b]
            for number in joined:
                groups[number] = joined
    return max(map(len, groups.values()))
