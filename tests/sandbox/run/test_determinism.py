"""may_vary: what the words of the code say about whether another run could give another result."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from sandbox import may_vary
from tests.cpu_clock import cpu_clock

SAME = [
    "return 1 + 1",
    "const byDay = Object.groupBy(context.rows, (row) => row.at.slice(0, 10)); return Object.keys(byDay).length",
    "return context.rows.map((row) => new Date(row.at).getTime())",
    "return Date.parse(context.at) - Date.UTC(2024, 0, 1)",
    "return context.at instanceof Date",
    "return (1234.5).toLocaleString()",
    "console.log('a'); return new URL(context.url).hostname + atob('YQ==')",
    "const randomly = 1, updated = 2, $Date = 3; return randomly + updated + $Date",
    "return await Promise.all([1, 2].map(async (n) => structuredClone({ n })))",
    "return [...'résumé'].reverse().join('') + `${Math.max(1, 2)}`",
    "",
]
VARIES = {
    "return new Date()": '"Date" tells the time',
    "return new Date( )": '"Date" tells the time',
    "return new Date": '"Date" tells the time',
    "return Date.now()": '"Date" tells the time',
    "return new Date(Date.now() - 1)": '"Date" tells the time',
    "const D = Date; return D.now()": '"Date" tells the time',
    "return Math.random()": '"random" is chance',
    "return Math['random']()": '"random" is chance',
    "return crypto.randomUUID()": '"crypto" is chance',
    "return performance.now()": '"performance" tells the time',
    "return Temporal.Now.instant()": '"Temporal" tells the time',
    "return new Intl.DateTimeFormat().format()": '"Intl" tells the time',
    "await new Promise((r) => setTimeout(r, 1))": '"setTimeout" tells the time',
    "console.time(); console.timeEnd()": '"timeEnd" tells the time',
    "return new AbortController().signal.onabort": '"AbortController" tells the time',
    "return await tools.a.b()": '"tools" reaches beyond the code',
    "return await fetch('x')": '"fetch" reaches beyond the code',
    "return Deno.pid": '"Deno" reaches beyond the code',
    "return process.pid": '"process" reaches beyond the code',
    "return globalThis['Da' + 'te']": '"globalThis" reaches beyond the code',
    "return self.x": '"self" reaches beyond the code',
    "return eval('1')": '"eval" can make code out of text',
    "return (() => {}).constructor('return 1')()": '"constructor" can make code out of text',
    "return await import('node:os')": '"import" can make code out of text',
    "return new Error('x').stack": '"stack" shows how it was run',
    "new WeakRef({}).deref()": '"WeakRef" is chance',
    "return M\\u0061th.r\\u0061ndom()": '"\\u" may hide another word',
    "return Math['r\\x61ndom']()": '"\\x" may hide another word',
    "// a word in a comment counts: random": '"random" is chance',
    "éDate.now()": '"Date" tells the time',
}


@pytest.mark.parametrize("code", SAME)
def test_code_that_only_computes_gives_the_same_again(code):
    assert may_vary(code) is None


@pytest.mark.parametrize(("code", "why"), VARIES.items())
def test_code_that_could_ask_for_the_time_for_chance_or_for_the_host_may_vary(code, why):
    assert may_vary(code) == why


@given(st.text(max_size=200), st.text(max_size=200))
def test_nothing_around_a_word_hides_it_but_what_makes_it_another_word(before, after):
    assert may_vary(f"{before} tools {after}") is not None


@pytest.mark.parametrize("part", ["Date( ", "Date.", " ", "\\", "$", "a.", "instanceof ", "\n", "é"])
def test_a_long_code_is_looked_at_in_linear_time(part):
    code = "Date" + part * (200_000 // len(part))
    # Some milliseconds; half a minute and more, if it grew as the square.
    with cpu_clock(2):
        may_vary(code)
