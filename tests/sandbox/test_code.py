"""What code may be, JavaScript or TypeScript, and what comes back for it."""

from __future__ import annotations

import json

import anyio
import pytest

from sandbox import DenoRuntime, ErrorType, ExecutionRequest
from tests.conftest import execute, small

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return 1 + 1", 2),
        ("1 + 1", 2),
        ("1 + 1;", 2),
        ("// a comment first\n1 + 1; // and one at the end", 2),
        ("/* a */ return 'no newline at the end'", "no newline at the end"),
        ("{ a: 1, 'b': [2] }", {"a": 1, "b": [2]}),
        ("(async () => { return 5 })()", 5),
        ("await Promise.resolve(4)", 4),
        ("const x = await Promise.resolve(3); return x", 3),
        ("const x = 1;", None),
        ("if (true) { return 'yes' }", "yes"),
        ("const x: number = 3;\nreturn x", 3),
        ("enum Colour { Red = 2, Blue }\nreturn Colour.Blue", 3),
        ("interface A { a: number }\nconst a = { a: 1 } satisfies A;\nreturn a", {"a": 1}),
        ("function same<T>(x: T): T { return x }\nreturn same<string>('y')", "y"),
        ("const f = <T,>(x: T) => x; f<number>(3)", 3),
        ("type Pair<T> = [T, T]; const p: Pair<number> = [1, 2]; return p!", [1, 2]),
        ("class A<T> { constructor(private readonly x: T) {} get() { return this.x } }\nreturn new A(7).get()", 7),
        ("[1, 2, 3].map((x) => (x < 2))", [True, False, False]),
        ("return 'ünïcödé 🙂'", "ünïcödé 🙂"),
        ("const context = 5, tools = 6; return context + tools", 11),
    ],
)
async def test_code_runs_as_written(code, expected):
    outcome = await execute(code)
    assert outcome.error is None
    assert outcome.result == expected


async def test_code_runs_only_once():
    outcome = await execute("console.log('ran'); const x: number = 1; return x")
    assert [entry.text for entry in outcome.logs] == ["ran"]
    outcome = await execute("(() => { console.log('ran'); return 1 })()")
    assert [entry.text for entry in outcome.logs] == ["ran"]


async def test_context_is_found_as_a_global():
    outcome = await execute("return context.items.map((item) => item * 2)", context={"items": [1, 2]})
    assert outcome.result == [2, 4]


async def test_megabytes_of_context_arrive_whole():
    commits = [{"sha": f"{n:040}", "author": f"a{n % 7}", "message": "m" * 1150} for n in range(1000)]
    assert len(json.dumps(commits)) > 1_200_000
    code = (
        "return { total: context.length, last: context[999].sha, authors: new Set(context.map((c) => c.author)).size }"
    )
    outcome = await execute(code, context=commits)
    assert outcome.result == {"total": 1000, "last": f"{999:040}", "authors": 7}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return undefined", None),
        ("return [undefined, { a: undefined }]", [None, {}]),
        ("return [NaN, Infinity, -0]", [None, None, 0]),
        ("return 2n ** 100n", 2**100),
        ("return new Date(0)", "1970-01-01T00:00:00.000Z"),
        ("return new Map([['a', 1]])", {"a": 1}),
        ("return new Map([[1, 2]])", [[1, 2]]),
        ("return new Set([1, 2])", [1, 2]),
        ("return new Uint8Array([1, 2])", [1, 2]),
        ("return new Error('e')", {"name": "Error", "message": "e"}),
        ("return new Proxy({ a: 1 }, {})", {"a": 1}),
        ("return { toJSON: () => 'own' }", "own"),
        ("return '\\ud800'", "\ufffd"),
        ("return JSON.parse('{\"__proto__\": 1}')", {"__proto__": 1}),
    ],
)
async def test_a_value_that_json_has_a_form_for_is_returned(code, expected):
    outcome = await execute(code)
    assert outcome.error is None
    assert outcome.result == expected


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("return { a: { b: () => 1 } }", "Cannot return result.a.b: a function"),
        ("return Symbol('x')", "Cannot return result: a symbol"),
        ("const a = { b: [] }; a.b.push(a); return a", "Cannot return result.b[0]: it contains itself"),
        ("return { get x() { throw new Error('boom') } }", "Cannot return result.x: reading it threw Error: boom"),
        ("return { toJSON() { throw 1 } }", "Cannot return result: reading it threw 1"),
        ("return { p: Promise.resolve(1) }", "Cannot return result.p: a Promise; await it first"),
        ("return new Array(1e9)", "Cannot return result: more than 1000000 values"),
        ("let a = []; for (let i = 0; i < 500; i++) a = [a]; return a", "nested deeper than 100 levels"),
        ("return new Proxy({}, { ownKeys() { throw new Error('trap') } })", "reading it threw Error: trap"),
        ("return new DataView(new ArrayBuffer(3))", "Cannot return result: an object of type DataView"),
    ],
)
async def test_a_value_that_json_has_no_form_for_is_an_error_that_says_where(code, message):
    outcome = await execute(code)
    assert outcome.error is not None
    assert outcome.error.type == ErrorType.RUNTIME
    assert message in outcome.error.message


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("let a = 1;\n\nlet : = 3;", "line 3, column 7"),
        ("let a = 1;\n  a b c", "line 2, column 5"),
        ("const x: number = ;", "line 1, column 19"),
        ("return 1 +", "line 1, column 11"),
        ("1); console.log(2); (3", "line 1, column 2"),
        ("})(); evil(); (async () => {", "line 1, column 2"),
        ("} export const y = 1; {", "closes more than the code has opened"),
    ],
)
async def test_a_syntax_error_names_the_place_in_the_code(code, place):
    outcome = await execute(code)
    assert outcome.error is not None
    assert outcome.error.type == ErrorType.SYNTAX
    assert place in outcome.error.message


async def test_static_import_is_explained():
    outcome = await execute("import x from 'npm:left-pad';\nreturn x")
    assert outcome.error is not None
    assert outcome.error.type == ErrorType.SYNTAX
    assert "import and export are not available" in outcome.error.message


@pytest.mark.parametrize(
    ("code", "frames"),
    [
        ("function f() {\n  throw new TypeError('x');\n}\n\nf();\nreturn 1", ["at f (code:2:9)", "at code:5:1"]),
        ("throw new TypeError('x')", ["at code:1:7"]),
        (
            "interface A {\n  a: number\n}\nconst f = (a: A): never => { throw new TypeError(String(a.a)) };\nf({ a: 1 });",
            ["at f (code:4:36)", "at code:5:1"],
        ),
        ("\n\n  missing()", ["at code:3:"]),
    ],
)
async def test_a_stack_is_in_the_lines_of_the_code_and_names_no_path(code, frames):
    outcome = await execute(code)
    assert outcome.error is not None
    stack = outcome.error.stack or ""
    for frame in frames:
        assert frame in stack
    assert "/" not in stack
    assert "data:" not in stack
    assert "harness" not in stack


async def test_a_reference_error_lists_the_globals_that_exist():
    outcome = await execute("return fs.readFileSync('x')")
    assert outcome.error is not None
    assert outcome.error.message.startswith("ReferenceError: fs is not defined. Globals that exist: context, tools,")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("throw 'just text'", 'a thrown value: "just text"'),
        ("throw null", "a thrown value: null"),
        ("throw { get message() { throw 1 }, toString() { throw 2 } }", "a thrown value"),
        ("throw { get stack() { throw 1 }, get name() { throw 2 }, message: 'm' }", "m"),
        ("JSON.parse('{')", "SyntaxError: Expected property name"),
        ("Promise.reject(new Error('boom')); await new Promise((r) => setTimeout(r, 200)); return 5", "boom"),
        ("setTimeout(() => { throw new Error('late') }); await new Promise((r) => setTimeout(r, 200))", "late"),
    ],
)
async def test_whatever_is_thrown_becomes_a_runtime_error(code, message):
    outcome = await execute(code)
    assert outcome.error is not None
    assert outcome.error.type == ErrorType.RUNTIME
    assert message in outcome.error.message


async def test_console_is_captured_in_order_with_its_level():
    code = """
    console.log("text", { a: 1 }); console.info("i"); console.debug("d"); console.warn("w"); console.error("e");
    console.table([{ a: 1 }]); console.log("%s is %d", "x", 3); console.group("g"); console.log("inside");
    Deno.stdout.writeSync(new TextEncoder().encode("written")); return 7
    """
    outcome = await execute(code)
    assert outcome.result == 7
    assert [(entry.level, entry.text) for entry in outcome.logs if "─" not in entry.text] == [
        ("log", "text { a: 1 }"),
        ("info", "i"),
        ("debug", "d"),
        ("warn", "w"),
        ("error", "e"),
        ("log", "x is 3"),
        ("log", "g"),
        ("log", "  inside"),
        ("log", "written"),
    ]


@pytest.mark.parametrize("end", ["throw new Error('x')", "while (true) {}", "Deno.exit(0)"])
async def test_logs_are_kept_when_the_run_fails(end):
    # On a machine that stands still, the time may be up before the first line: then with more of it.
    for timeout_ms in (300, 10_000):
        outcome = await execute(f"console.log('before'); {end}", timeout_ms=timeout_ms)
        assert not outcome.ok
        if outcome.logs:
            break
    assert [entry.text for entry in outcome.logs] == ["before"]


async def test_a_run_that_ends_without_an_answer_is_a_crash():
    outcome = await execute("Deno.exit(0)")
    assert outcome.error is not None
    assert outcome.error.type == ErrorType.CRASH
    assert "exit code 0" in outcome.error.message


@pytest.mark.parametrize(
    "code",
    [
        "return Deno.readTextFileSync('/etc/passwd')",
        "Deno.writeTextFileSync('/tmp/motor-cortex-test', 'x')",
        "return Deno.env.get('PATH')",
        "return new Deno.Command('/bin/ls').outputSync()",
        "return Deno.dlopen('libc.so.6', {})",
        "return await fetch('http://127.0.0.1:4000/')",
        "return Deno.hostname()",
        "Deno.kill(Deno.ppid, 'SIGCONT')",
    ],
)
async def test_what_deno_denies_is_a_permission_error(code):
    outcome = await execute(code)
    assert outcome.error is not None
    assert outcome.error.type == ErrorType.PERMISSION
    assert "--allow" not in outcome.error.message


@pytest.mark.parametrize(
    "code",
    [
        'return (await import("file:///etc/passwd", { with: { type: "text" } })).default',
        'const t: string = (await import("file:///etc/passwd", { with: { type: "text" } })).default; return t',
        '} import leak from "file:///etc/passwd" with { type: "text" }; export const x = leak; {',
        'return (await import("https://deno.land/std/version.ts")).VERSION',
        'return (await import("npm:chalk")).default',
        'return (await import("jsr:@std/path")).join("a")',
    ],
)
async def test_no_module_can_be_loaded_from_outside(code):
    outcome = await execute(code)
    assert outcome.error is not None
    assert outcome.error.type in {ErrorType.PERMISSION, ErrorType.RUNTIME, ErrorType.SYNTAX}
    assert "root:" not in str(outcome)


async def test_a_denied_import_is_a_permission_error():
    for code in (
        'await import("file:///etc/passwd")',
        'const x: string = await import("file:///etc/passwd"); return x',
    ):
        outcome = await execute(code)
        assert outcome.error is not None
        assert outcome.error.type == ErrorType.PERMISSION
        assert outcome.error.message.startswith('TypeError: Requires read access to "/etc/passwd". The sandbox')


async def test_what_one_run_stores_is_not_there_for_the_next():
    code = """
    try { localStorage.setItem("k", "planted") } catch { /* refused */ }
    globalThis.planted = true; Array.prototype.planted = true;
    return 1
    """
    async with DenoRuntime(small()) as runtime:
        await runtime.execute(ExecutionRequest(code=code))
        check = "let kept = null; try { kept = localStorage.getItem('k') } catch {} return [kept, globalThis.planted, [].planted]"
        outcome = await runtime.execute(ExecutionRequest(code=check))
    assert outcome.result == [None, None, None]


async def test_patched_built_ins_do_not_change_what_the_run_says():
    patch = "JSON.stringify = () => '{}'; Promise.prototype.then = () => {}; Map.prototype.get = () => 9;"
    outcome = await execute(f"{patch} throw new Error('honest failure')")
    assert outcome.error is not None
    assert outcome.error.message == "honest failure"
    outcome = await execute(f"{patch} return {{ honest: true }}")
    assert outcome.result == {"honest": True}


async def test_every_outcome_has_metrics():
    for code in ("return 1", "throw 1", "while (true) {}"):
        outcome = await execute(code, timeout_ms=300)
        metrics = outcome.metrics
        assert metrics.startup_ms > 0
        assert metrics.execution_ms > 0
        assert metrics.total_ms >= metrics.startup_ms + metrics.execution_ms
        assert 10 < metrics.peak_memory_mb < 200
        assert metrics.tool_calls == 0


async def test_many_executions_at_once_each_get_their_own_answer():
    results: dict[int, object] = {}
    async with DenoRuntime(small()) as runtime:

        async def one(number: int) -> None:
            outcome = await runtime.execute(ExecutionRequest(code="return context * 2", context=number))
            results[number] = outcome.result

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(one, number)
    assert results == {number: number * 2 for number in range(20)}


async def test_a_runtime_that_is_not_open_says_how_to_open_it():
    with pytest.raises(RuntimeError, match="async with"):
        await DenoRuntime(small()).execute(ExecutionRequest(code="return 1"))
