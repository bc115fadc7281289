"""The guard: what it reports, what it leaves alone, and that no input can make it hang."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from hypothesis import example, given, settings, strategies as st

from sandbox.contracts.errors import SandboxUnavailable
from sandbox.guard import guard as guard_module
from sandbox.guard.guard import UNPARSABLE, Guard
from sandbox.guard.patterns import PATTERNS, Finding, inspect, may_match, places, unescape
from sandbox.process.children import start_piped_python


@pytest.fixture(autouse=True)
def patient_host(monkeypatch):
    """The host's clocks are not what is tested here: on a busy machine, ordinary code would come too late for them."""
    for name in ("START_TIMEOUT_S", "ANSWER_TIMEOUT_S"):
        monkeypatch.setattr(f"sandbox.guard.guard.{name}", 60)


CAUGHT = {
    "dynamic import": [
        'await import("fs")',
        'import("fs").then(use)',
        'import/**/("fs")',
        'import // why\n ("fs")',
        'import.defer("fs")',
        "const load = x => import(x)",
    ],
    "require": [
        'require("fs")',
        'require/**/("fs")',
        'require?.("fs")',
        '(require)("fs")',
        '(0, require)("fs")',
        'x.require("fs")',
        'x?.require("fs")',
        'x["require"]("fs")',
        '(require as any)("fs")',
        'import fs = require("fs")',
        "require`fs`",
    ],
    "eval": [
        'eval("1")',
        "eval?.(x)",
        "(0, eval)(x)",
        r"\u0065val(x)",
        r"ev\u{61}l(x)",
        "const run = eval",
        "({ eval })",
        "use(eval!)",
        "[1].map(eval)",
        'self.eval("1")',
        'self["eval"]("1")',
        "self[`eval`]('1')",
        r'self["\x65val"]("1")',
        r'self["\145val"]("1")',
        'self["ev\\\nal"]("1")',
        "return `${eval(x)}`",
    ],
    "Function constructor": [
        'Function("return 1")()',
        'new Function("return 1")',
        "new Function",
        "new (Function)('return 1')",
        'new self.Function("")',
        'self["Function"]("")',
        'Function<string>("x")',
        "Function`x`",
        r"new Functio\u006e('x')",
    ],
    "child_process": [
        'import cp from "child_process"',
        'import { exec } from "node:child_process"',
        'import "child_process"',
        'import type { X } from "child_process"',
        'export * from "child_process"',
        'import cp = require("child_process")',
        'await import("node:child_process")',
        'require("child_process")',
        'process.getBuiltinModule("child_process")',
        "child_process.exec('ls')",
        "x.child_process",
        r'require("child\x5fprocess")',
    ],
    "process.exit": [
        "process.exit(1)",
        "process.exit",
        'process["exit"](1)',
        "process[`exit`]",
        "process?.exit()",
        "process!.exit()",
        "(process as any).exit(1)",
        "self.process.exit()",
        'self["process"]["exit"]()',
        "process\n  // now\n  .exit()",
    ],
    "process.kill": ["process.kill(1)", 'process["kill"](1, 9)', "process?.kill(1)", r"process.k\u0069ll(1)"],
    "globalThis": [
        "globalThis.x = 1",
        "use(globalThis)",
        "({ globalThis })",
        "self.globalThis",
        'self["globalThis"]',
        r"globalTh\u0069s",
        "globalThis!",
    ],
    "__proto__": [
        "a.__proto__",
        'a["__proto__"]',
        "a?.['__proto__']",
        '({ "__proto__": x })',
        "({ __proto__: x })",
        '({ ["__proto__"]: x })',
        "const { __proto__: p } = a",
        'const { "__proto__": p } = a',
        "const { __proto__ } = a",
        'class A { "__proto__" = 1 }',
        r'a["\x5f_proto__"]',
        r"a.\u005f_proto__",
        "delete a.__proto__.b",
    ],
    "constructor[]": [
        'x.constructor["constructor"]',
        'x["constructor"]["constructor"]',
        "x.constructor[y]",
        "x.constructor?.[y]",
        "x.constructor![y]",
        "(x.constructor)[y]",
        "constructor[y]",
        "[].constructor[`from`]",
    ],
}


def names(code: str) -> list[str]:
    return [finding.pattern for finding in inspect(code)]


def test_every_pattern_has_its_spellings_here():
    assert [pattern.name for pattern in PATTERNS] == list(CAUGHT)


@pytest.mark.parametrize(("name", "code"), [(name, code) for name, codes in CAUGHT.items() for code in codes])
def test_a_pattern_is_caught_however_it_is_spelled(name, code):
    assert name in names(code)
    assert may_match(code)


WORDS = [
    'import("x")',
    'require("x")',
    'eval("x")',
    "new Function('x')",
    "child_process",
    "process.exit()",
    "process.kill()",
    "globalThis",
    "a.__proto__",
    "a.constructor['x']",
]


@pytest.mark.parametrize("word", WORDS)
def test_a_pattern_in_a_string_a_comment_or_a_regex_is_not_flagged(word):
    single = word.replace("'", '"')
    double = word.replace('"', "'")
    assert names(f"const text = '{single}'") == []
    assert names(f'log("{double}", `{word}`)') == []
    assert names(f"// {word}\n/* {word} */ return 1") == []
    assert names(f"return /{word}/.test(text)") == []
    assert names(f"return {{ text: '{single}' }}") == []


@pytest.mark.parametrize(
    "code",
    [
        "x instanceof Function",
        "typeof Function",
        "const f: Function = g",
        "obj.require",
        "obj.require = true",
        "obj.eval",
        "const required = { require: 1 }",
        "class A { constructor(x) { this.x = [x] } }",
        "new this.constructor(1)",
        "x.constructor === Array",
        'x.constructor.name + y["a"]',
        "x.constructor([1])[0]",
        "process.env",
        "process.exitCode",
        "other.exit(); other.kill()",
        "const process = { name: 1 }; return process.name",
        "evaluate(x); medieval; important(y)",
        'import { x } from "./module.ts"',
        "import.meta.url",
        'log("child_process")',
        "function f() { return function () {} }",
        "return await tools.github.listCommits({ owner: 'a' })",
    ],
)
def test_ordinary_code_is_left_alone(code):
    assert names(code) == []


COMPUTED = [
    'f["constructor"](x)',
    "f[`constructor`](x)",
    'Object.getPrototypeOf(async () => {})["con" + "structor"](x)',
    'f["c" + "on" + ("struct" + "or")](x)',
    'f[`con${"structor"}`](x)',
    'f["con" + `struct${"or"}`](x)',
    'f[("con" + "structor") as any](x)',
    r'f["\x63onstructor"](x)',
    'const { ["constructor"]: F } = f',
    'const { ["con" + "structor"]: F } = f',
    'Reflect.get(f, "constructor")(x)',
    'const name = "con" + "structor"; f[name](x)',
    'const name = ["con", "structor"].join(""); f[name](x)',
    'const name = `${"con"}structor`; f[name](x)',
]


@pytest.mark.parametrize("code", COMPUTED)
async def test_a_computed_constructor_is_found_in_code_that_stays_and_refuses_no_run(code, patient_host):
    assert names(code) == []
    async with Guard() as guard:
        assert await guard.inspect(code) == ()
        assert [finding.pattern for finding in await guard.inspect(code, is_kept=True)] == ["computed constructor"]


@pytest.mark.parametrize(
    "code",
    [
        *("x.constructor.name", "new this.constructor(1)", "class A { constructor(x) { this.x = x } }"),
        *(
            'state["a" + "b"]',
            "x[`a${y}`]",
            "x[y]",
            'log("a constructor")',
            '"a" + "constructor"',
            '["a", "b"].join("")',
        ),
    ],
)
async def test_code_that_stays_and_computes_other_names_is_left_alone(code):
    async with Guard() as guard:
        assert await guard.inspect(code, is_kept=True) == ()


def test_long_chains_of_pieces_take_little_time():
    code = "a[" + " + ".join(["'con'"] * 20_000) + "]" + "[`${" * 300 + "'structor'" + "}`]" * 300
    start = time.process_time()
    places(code)
    assert time.process_time() - start < 20  # where each piece was looked at for each other, it would be minutes


@pytest.mark.parametrize(
    "code",
    [
        'self["ev" + "al"]("1")',
        "self[name](1)",
        "x.constructor.constructor('return 1')()",
        "(() => {}).constructor('return 1')()",
        "const { exit } = process; exit()",
        "Reflect.get(process, 'exit')()",
        "const load = require; load('fs')",
        "const F = Function; F('return 1')()",
        "Reflect.construct(Function, ['return 1'])",
        "setTimeout('ev' + 'al(1)')",
        "Object.getPrototypeOf(x).y = 1",
    ],
)
def test_a_known_bypass_is_not_caught_and_harmless(code):
    """Harmless, because the wall holds without the guard. Do not rely on the guard to catch these."""
    assert names(code) == []


def test_findings_come_in_the_order_of_their_places_each_pattern_once():
    code = 'const a = 1\n  globalThis.b\n  eval("x"); eval("y")\nprocess.exit(eval("z"))'
    assert [(f.pattern, f.line, f.column) for f in inspect(code)] == [
        ("globalThis", 2, 3),
        ("eval", 3, 3),
        ("process.exit", 4, 1),
    ]


def test_a_column_counts_characters_and_not_bytes():
    assert [(f.line, f.column) for f in inspect('"ä€😀"; eval(x)')] == [(1, 8)]


def test_each_finding_says_why():
    (finding,) = inspect("await import(x)")
    assert finding == Finding("dynamic import", "loads code that was not checked", 1, 7)


def test_code_that_is_not_typescript_is_still_looked_at():
    assert names("if ( { x = eval(x) ] ]") == ["eval"]
    assert names("") == []
    assert names("\0\ud800 eval(1)") == ["eval"]


def test_deeply_nested_code_is_walked_without_recursion():
    depth = 5_000
    assert names("[" * depth + "eval" + "]" * depth) == ["eval"]
    assert names("(" * depth + "Function" + ")" * depth + "()") == ["Function constructor"]


def test_the_words_are_looked_for_whole():
    assert not may_match("const required = important ? evaluate(x) : Functional")
    assert not may_match("function f() { return process.env }")
    assert may_match("1neval")


def test_escapes_are_decoded_like_javascript_does_and_more():
    assert unescape(r"\u0065v\u{0061}\x6c\50") == "eval("
    assert unescape("ev\\\r\nal") == "eval"
    assert unescape(r"\\u0065 \u{110000} \u{zz}") == "e  u{zz}"


FRAGMENTS = st.sampled_from(
    [
        *(word for words in (sign.strip('."()[]').split(".") for p in PATTERNS for sign in p.signs) for word in words),
        *("self", "x", "new ", "u0065val", "\\u0065val", "ev\\\nal", "\\145val", "\\u{65}", "e", "val", "1n", "0x1f"),
        *("\\", "\\\\", '"', "'", "`", "${", "}", "{", "(", ")", "[", "]", ".", "?.", ",", ";", ":", "=", "<", ">"),
        *("/", "//", "/*", "*/", "\n", "\r\n", " ", "!", "from", "node:", "class A ", "=>", "const ", "u", "ß", "😀"),
    ]
)


@settings(deadline=None)
@given(st.lists(FRAGMENTS, max_size=30).map("".join) | st.text(max_size=40))
@example("//x\\\n\\u0065val(1)")
@example("\\\\u0065val")
@example("'\\' + eval")
def test_what_is_found_is_never_ruled_out_beforehand(code):
    if inspect(code):
        assert may_match(code)


@settings(deadline=None)
@given(st.sampled_from([code for codes in CAUGHT.values() for code in codes]), st.text(max_size=20), st.data())
def test_what_is_found_amid_noise_is_never_ruled_out_beforehand(code, noise, data):
    place = data.draw(st.integers(0, len(code)))
    noisy = code[:place] + noise + code[place:]
    if inspect(noisy):
        assert may_match(noisy)


@pytest.mark.parametrize(
    "text", ["\\" * 200_000, "\\u{" * 50_000, "\\u{" + "0" * 200_000, "import" * 30_000, "constructor[" * 20_000]
)
def test_ruling_out_takes_linear_time(text):
    start = time.process_time()
    may_match(text)
    assert time.process_time() - start < 0.5


async def test_the_guard_finds_what_the_pure_function_finds():
    async with Guard() as guard:
        for codes in CAUGHT.values():
            assert await guard.inspect(codes[0]) == inspect(codes[0])
        assert await guard.inspect("x instanceof Function") == ()


async def test_code_without_any_of_the_words_needs_no_process(monkeypatch):
    monkeypatch.setattr(guard_module, "start_piped_python", lambda *command: pytest.fail("a process was started"))
    async with Guard() as guard:
        assert await guard.inspect("return 1 + 1") == ()
        assert await guard.inspect(",+" * 25_000) == ()


async def test_one_process_serves_many_inspections(monkeypatch):
    started = count_starts(monkeypatch)
    async with Guard() as guard:
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(guard.inspect, "eval(x)")
        assert len(started) == 1


@pytest.mark.parametrize("hostile", [",+" * 25_000, "f<T," * 12_000, "eval" + "((" * 100_000])
async def test_code_that_would_hang_the_parser_is_answered_in_time(hostile):
    async with Guard() as guard:
        await guard.inspect("eval(1)")
        with anyio.fail_after(60):
            assert await guard.inspect(hostile + "\n;eval(1)") in ((UNPARSABLE,), inspect("eval"))
        assert await guard.inspect("eval(1)") == inspect("eval(1)")


@pytest.mark.parametrize("hostile", [",+" * 25_000, "f<T," * 12_000])
async def test_code_that_hangs_the_parser_is_reported_as_such(hostile):
    async with Guard() as guard:
        assert await guard.inspect(f"{hostile}\n;eval(1)") == (UNPARSABLE,)


async def test_code_longer_than_a_pipe_holds_gets_through():
    async with Guard() as guard:
        assert await guard.inspect("/*" + "x" * 1_000_000 + "*/ eval(1)") != ()


async def test_a_process_that_died_between_two_inspections_is_replaced_unnoticed(monkeypatch):
    started = count_starts(monkeypatch)
    async with Guard() as guard:
        await guard.inspect("eval(1)")
        os.kill(started[0].pid, signal.SIGKILL)
        await anyio.to_thread.run_sync(os.waitid, os.P_PID, started[0].pid, os.WEXITED | os.WNOWAIT)
        assert await guard.inspect("eval(1)") == inspect("eval(1)")
        assert len(started) == 2


async def test_a_cancelled_inspection_takes_its_process_with_it(monkeypatch):
    started = count_starts(monkeypatch)
    async with Guard() as guard:
        await guard.inspect("eval(1)")
        os.kill(started[0].pid, signal.SIGSTOP)  # it will not answer, and its own clock does not end it
        with anyio.move_on_after(0.05) as scope:
            await guard.inspect("eval(1)")
        assert scope.cancelled_caught
        assert started[0].returncode == -signal.SIGKILL
        assert await guard.inspect("globalThis") == inspect("globalThis")


async def test_a_start_that_is_cancelled_leaves_no_process(monkeypatch):
    async with Guard() as guard:
        with anyio.CancelScope() as scope:
            started = count_starts(monkeypatch, then=scope.cancel)
            await guard.inspect("eval(1)")
        assert [process.returncode for process in started] == [-signal.SIGKILL]


async def test_a_closed_guard_leaves_neither_process_nor_descriptor(monkeypatch):
    started = count_starts(monkeypatch)
    async with Guard() as guard:  # the first use of threads may open descriptors that stay
        await guard.inspect("eval(1)")
    before = open_descriptors()
    async with Guard() as guard:
        await guard.inspect("eval(1)")
        await guard.inspect(",+" * 25_000 + "eval(1)")
        await guard.inspect("eval(1)")
    assert len(started) == 3
    assert all(process.returncode is not None for process in started)
    assert open_descriptors() == before


async def test_closing_does_not_wait_for_the_inspection_under_way(monkeypatch):
    started = count_starts(monkeypatch)
    guard = Guard()

    async def inspect_until_closed():
        with pytest.raises(SandboxUnavailable, match="the guard was closed") as raised:
            await guard.inspect("eval(1)")
        assert isinstance(raised.value.__cause__, BrokenPipeError)  # and not the clock's TimeoutError

    await guard.inspect("eval(1)")
    os.kill(started[0].pid, signal.SIGSTOP)  # it will not answer
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(inspect_until_closed)
        await anyio.wait_all_tasks_blocked()
        await guard.aclose()
    with pytest.raises(SandboxUnavailable, match="it is closed"):
        await guard.inspect("eval(1)")


async def test_closing_works_in_a_cancelled_scope(monkeypatch):
    started = count_starts(monkeypatch)
    guard = Guard()
    await guard.inspect("eval(1)")
    with anyio.CancelScope() as scope:
        scope.cancel()
        await guard.aclose()
    assert started[0].returncode == -signal.SIGKILL


async def test_a_process_that_cannot_start_is_not_blamed_on_the_code(monkeypatch):
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    async with Guard() as guard:
        with pytest.raises(SandboxUnavailable, match="Cannot start"):
            await guard.inspect("eval(1)")
    monkeypatch.setattr("sys.executable", "/bin/false")
    async with Guard() as guard:
        with pytest.raises(SandboxUnavailable, match="was not ready"):
            await guard.inspect("eval(1)")


@pytest.mark.parametrize("answer", [b"{}}\n", b"[1]\n", b'[["eval"]]\n', b'[["no such", 1, 1]]\n', b"[" * 4000])
def test_an_answer_that_is_not_findings_is_refused(answer):
    with pytest.raises(ValueError, match=r"."):
        guard_module._findings(answer)


def test_a_process_whose_host_is_gone_is_ended_by_its_own_clock():
    process = start_piped_python(
        str(Path(guard_module.__file__).with_name("reading_process.py")),
        str(Path(guard_module.__file__).parent),
        "patterns",
        "places",
    )
    code = (",+" * 25_000).encode()
    os.set_blocking(process.stdin.fileno(), True)
    process.stdin.write(len(code).to_bytes(4, "big") + code)
    process.stdin.close()
    assert process.wait(60) == -signal.SIGPROF
    process.stdout.close()


def count_starts(monkeypatch, then=lambda: None):
    started = []
    start = guard_module.start_piped_python

    def counted(*command):
        started.append(start(*command))
        then()
        return started[-1]

    monkeypatch.setattr(guard_module, "start_piped_python", counted)
    return started


def open_descriptors():
    return sorted(os.listdir("/proc/self/fd"))
