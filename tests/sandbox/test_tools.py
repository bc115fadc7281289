"""Lent tools: what the code sees of them, and what it can never do with them."""

from __future__ import annotations

import json
import logging

import anyio
import pytest

from sandbox import (
    DenoRuntime,
    ErrorType,
    ExecutionOutcome,
    ExecutionRequest,
    ReadyJson,
    ToolDeclaration,
    ToolError,
)
from sandbox.testing import FunctionTools, ScriptedRuntime
from tests.conftest import execute, small

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]

FORGE = "const send = (text) => Deno[Deno.internal].core.writeSync(1, new TextEncoder().encode(text + '\\n'));"
SUM_SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


async def echo(arguments):
    return arguments


async def add(arguments):
    return arguments["a"] + arguments["b"]


async def broken(arguments):
    raise OSError("/home/secret/HOSTSECRET.py")


async def choosy(arguments):
    raise ToolError("not today", code="closed", retryable=True)


class ServerTools(FunctionTools):
    """Tools of an MCP server."""

    def declarations(self):
        own = [ToolDeclaration(f"git_hub.{name.replace('.', '_')}", server="git-hub", tool=name) for name in self.names]
        return [*own, ToolDeclaration("echo")]

    def __init__(self, *names):
        self.names = names
        super().__init__({**{f"git_hub.{name.replace('.', '_')}": choosy for name in names}, "echo": echo})


async def test_every_spelling_of_a_name_calls_the_same_tool():
    code = """
    const called = [tools.git_hub.list_commits, tools.gitHub.listCommits, tools["git-hub"]["list.commits"]];
    const codes = await Promise.all(called.map((call) => call({}).catch((error) => error.code)));
    return [codes, Object.keys(tools), Object.keys(tools.git_hub)]
    """
    tools = ServerTools("list.commits")
    outcome = await execute(code, tools)
    assert outcome.result == [["closed"] * 3, ["git_hub", "echo"], ["list_commits"]]
    assert tools.calls == [("git_hub.list_commits", {})] * 3


async def test_the_error_of_an_mcp_servers_tool_says_whose_it_is():
    code = """
    try { await tools.gitHub.listCommits() } catch (error) {
      const { name, server, tool, code, retryable, message } = error;
      const kinds = [MCPToolError, ToolError, Error].map((kind) => error instanceof kind);
      return [name, server, tool, code, retryable, message, ...kinds];
    }
    """
    outcome = await execute(code, ServerTools("list.commits"))
    assert outcome.result == [
        *("MCPToolError", "git-hub", "list.commits", "closed", True, "not today"),
        *(True, True, True),
    ]


async def test_an_error_of_another_tool_is_no_mcp_tool_error():
    code = (
        "try { await tools.echo([1]) } catch (e) { return [e.name, e instanceof ToolError, e instanceof MCPToolError] }"
    )
    assert (await execute(code, ServerTools("x"))).result == ["ToolError", True, False]


async def test_an_mcp_tool_error_that_nobody_catches_names_server_and_tool():
    outcome = await execute("await tools.gitHub.listCommits()", ServerTools("list.commits"))
    assert outcome.error is not None
    assert outcome.error.type is ErrorType.TOOL
    assert outcome.error.message == 'MCPToolError: Tool "list.commits" of MCP server "git-hub": not today'


async def test_a_tool_is_called_and_its_answer_returned():
    tools = FunctionTools({"math.add": add, "echo": echo}, {"math.add": SUM_SCHEMA})
    outcome = await execute("return [await tools.math.add({ a: 1, b: 2 }), await tools.echo({ x: 'é' })]", tools)
    assert outcome.result == [3, {"x": "é"}]
    assert outcome.metrics.tool_calls == 2
    assert tools.calls == [("math.add", {"a": 1, "b": 2}), ("echo", {"x": "é"})]


async def test_no_argument_is_an_empty_object():
    tools = FunctionTools({"echo": echo})
    assert (await execute("return await tools.echo()", tools)).result == {}


async def test_calls_run_in_parallel():
    together = 0
    all_are_here = anyio.Event()

    async def slow(arguments):
        nonlocal together
        together += 1
        if together == 5:
            all_are_here.set()
        await all_are_here.wait()
        return arguments["n"]

    code = "return await Promise.all([1, 2, 3, 4, 5].map((n) => tools.slow({ n })))"
    outcome = await execute(code, FunctionTools({"slow": slow}))
    assert outcome.result == [1, 2, 3, 4, 5], outcome.error


async def test_no_more_tools_work_at_once_than_the_settings_allow_and_the_others_come_in_order():
    working = most = 0
    order: list[int] = []

    async def work(arguments):
        nonlocal working, most
        working += 1
        most = max(most, working)
        order.append(arguments["n"])
        await anyio.sleep(0.005)
        working -= 1
        return arguments["n"]

    code = "return await Promise.all(Array.from({ length: 40 }, (_, n) => tools.work({ n })))"
    outcome = await execute(code, FunctionTools({"work": work}), timeout_ms=60_000, max_tool_calls_at_once=3)
    assert outcome.result == list(range(40)), outcome.error
    assert (most, sorted(order)) == (3, list(range(40)))
    # Of the three that are let in at once, any may begin first.
    assert all(n <= place + 2 for place, n in enumerate(order)), order


async def test_the_time_of_a_call_begins_with_its_turn():
    code = "return await Promise.all([1, 2, 3, 4].map((n) => tools.work({ n })))"
    for times in (1, 20):  # retry with 20 times the time, in case the machine stalled

        async def work(arguments, times=times):
            await anyio.sleep(0.15 * times)
            return 1

        limits = {"max_tool_calls_at_once": 1, "tool_timeout_ms": 500 * times}
        outcome = await execute(code, FunctionTools({"work": work}), timeout_ms=60_000, **limits)
        if outcome.ok:
            break
    assert outcome.result == [1, 1, 1, 1], outcome.error


async def test_answers_that_the_code_does_not_read_have_a_limit_together():
    """It calls, and then computes without a look at what comes. The host would keep all of it."""
    calls = 0
    all_work = anyio.Event()

    async def large(_):
        nonlocal calls
        calls += 1
        if calls >= 8:
            all_work.set()
        await all_work.wait()  # so that the first ones end at the same time
        return ReadyJson(b'"' + b"x" * 8_000_000 + b'"')

    code = """
        const calls = Array.from({ length: 30 }, () => tools.large({}).then(() => "read", (error) => error.code));
        await new Promise((go) => setTimeout(go, 1));
        for (const end = Date.now() + 1_500; Date.now() < end;);
        return await Promise.all(calls);
    """
    limits = {"max_tool_calls_at_once": 8, "max_memory_mb": 1_000, "max_heap_mb": 900}
    outcome = await execute(code, FunctionTools({"large": large}), timeout_ms=60_000, **limits)
    assert outcome.ok, outcome.error
    assert calls == 30
    # Of the first eight, some; then fewer are called at once, and each has its room.
    assert {*outcome.result[:8]} == {"read", "result_too_large"}
    assert {*outcome.result[8:]} == {"read"}


async def test_a_slow_tool_blocks_neither_output_nor_other_tools_nor_timers():
    all_others_are_done = anyio.Event()

    async def slow(arguments):
        await all_others_are_done.wait()
        return "slow"

    async def last(arguments):
        all_others_are_done.set()
        return arguments

    code = """
    const slow = tools.slow();
    const order = [];
    await tools.echo({ n: 1 }); order.push("echo");
    await new Promise((r) => setTimeout(r, 20)); order.push("timer");
    console.log("still here");
    await tools.last({ n: 2 }); order.push("last");
    order.push(await slow);
    return order
    """
    outcome = await execute(code, FunctionTools({"slow": slow, "echo": echo, "last": last}), timeout_ms=30_000)
    assert outcome.result == ["echo", "timer", "last", "slow"]
    assert [entry.text for entry in outcome.logs] == ["still here"]


async def test_an_answer_wins_a_race_against_a_later_timer():
    code = "return await Promise.race([tools.echo({ n: 1 }), new Promise((r) => setTimeout(() => r('late'), 20_000))])"
    assert (await execute(code, FunctionTools({"echo": echo}), timeout_ms=60_000)).result == {"n": 1}


@pytest.mark.parametrize(
    "beside",
    [
        "new Promise((resolve) => process.nextTick(resolve))",
        "(async () => { for (let n = 0; n < 100; n++) await null })()",
        "new Promise((resolve) => setTimeout(resolve, 5))",
        "new Promise((resolve) => setImmediate(resolve))",
        "crypto.subtle.digest('SHA-256', new Uint8Array(3))",
        "import('data:text/javascript,export default 1')",
    ],
)
async def test_a_call_behind_something_else_is_not_held_up_by_a_slow_one(beside):
    first_is_called = anyio.Event()
    second_is_called = anyio.Event()

    async def first(arguments):
        first_is_called.set()
        await second_is_called.wait()
        return 1

    async def second(arguments):
        await first_is_called.wait()
        second_is_called.set()
        return 2

    code = f"return await Promise.all([tools.first(), {beside}.then(() => tools.second())])"
    outcome = await execute(code, FunctionTools({"first": first, "second": second}))
    assert outcome.result == [1, 2]


async def test_answers_arrive_while_a_port_is_open():
    code = "const { port1 } = new MessageChannel(); port1.onmessage = () => {}; return await tools.echo({ n: 1 })"
    assert (await execute(code, FunctionTools({"echo": echo}))).result == {"n": 1}


async def test_an_error_can_be_caught_and_says_what_it_is():
    code = """
    try { await tools.shop.buy() } catch (e) {
      return [e instanceof Error, e.name, e.message, e.tool, e.code, e.retryable]
    }
    """
    outcome = await execute(code, FunctionTools({"shop.buy": choosy}))
    assert outcome.result == [True, "ToolError", "not today", "shop.buy", "closed", True]


async def test_an_error_that_is_not_caught_is_the_outcome():
    outcome = await execute("return await tools.choosy()", FunctionTools({"choosy": choosy}))
    assert outcome.error is not None
    assert outcome.error.type == ErrorType.TOOL
    assert outcome.error.message == "not today"


async def test_a_tool_that_raises_shows_its_text_to_the_log_and_not_to_the_code(caplog):
    with caplog.at_level(logging.WARNING, "motor_cortex"):
        outcome = await execute(
            "try { await tools.broken() } catch (e) { return String(e) }", FunctionTools({"broken": broken})
        )
    assert outcome.result == 'ToolError: Tool "broken" failed with OSError'
    assert "HOSTSECRET" in caplog.text


async def test_an_error_of_odd_parts_is_still_an_error_for_the_code():
    async def odd(arguments):
        raise ToolError("half: \ud800", code=object())  # type: ignore[arg-type] - a mistake of the author's

    outcome = await execute("try { await tools.odd() } catch (e) { return e.message }", FunctionTools({"odd": odd}))
    assert outcome.result == "half: ?"


async def test_a_tool_that_returns_what_is_not_json_is_an_error_of_the_tool():
    async def odd(arguments):
        return object()

    outcome = await execute("try { await tools.odd() } catch (e) { return e.message }", FunctionTools({"odd": odd}))
    assert outcome.result == 'Tool "odd" returned a value that is not JSON'


READY = ("null", "1", '"é\\n\\u2028"', '{\n  "a": [1.50, {"b": "x"}],\r\n  "c": null\n}', "[]\n")


async def test_a_result_may_be_json_text_already_in_lines_or_not():
    async def ready(arguments):
        return ReadyJson(READY[arguments["n"]].encode())

    code = "const all = []; for (let n = 0; n < context; n++) all.push(await tools.ready({ n })); return all"
    outcome = await execute(code, FunctionTools({"ready": ready}), context=len(READY))
    assert outcome.result == [json.loads(text) for text in READY]


@pytest.mark.parametrize(
    "text", [b"", b"{", b"NaN", b"\xff", b'1}\n{"type":"__tool_result__","call_id":"1","result":2']
)
async def test_text_that_is_no_json_is_the_end_of_the_run_and_not_of_the_host(text):
    async def ready(arguments):
        return ReadyJson(text)

    outcome = await execute("return await tools.ready()", FunctionTools({"ready": ready}))
    assert outcome.error.type == ErrorType.RUNTIME
    assert "JSON" in outcome.error.message


async def test_what_is_not_even_bytes_is_an_error_of_the_tool():
    async def ready(arguments):
        return ReadyJson("null")

    outcome = await execute(
        "try { await tools.ready() } catch (e) { return e.message }", FunctionTools({"ready": ready})
    )
    assert outcome.result == 'Tool "ready" failed with TypeError'


@pytest.mark.parametrize("result", ["x" * 2000, ReadyJson(b'"%b"' % (b"x" * 2000))], ids=["a value", "text"])
async def test_a_result_that_is_too_large_is_an_error_of_the_tool(result):
    async def large(arguments):
        return result

    outcome = await execute(
        "try { await tools.large() } catch (e) { return e.code }",
        FunctionTools({"large": large}),
        max_tool_result_bytes=1000,
    )
    assert outcome.result == "result_too_large"


async def test_a_tool_that_never_answers_times_out():
    async def never(arguments):
        await anyio.sleep_forever()

    code = "try { await tools.never() } catch (e) { return [e.code, e.retryable, e.message] }"
    outcome = await execute(code, FunctionTools({"never": never}), tool_timeout_ms=100)
    assert outcome.result == ["timeout", True, 'Tool "never" gave no answer within 100 ms']


async def test_tools_that_are_still_running_end_with_the_run():
    ended = []

    async def slow(arguments):
        try:
            await anyio.sleep(60)
        finally:
            ended.append(True)

    outcome = await execute(
        "tools.slow().catch(() => {}); await tools.echo(); return 1", FunctionTools({"slow": slow, "echo": echo})
    )
    assert outcome.result == 1
    assert ended == [True]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("{ a: 1 }", '"b" is a required property'),
        ("{ a: 1, b: 'two' }", "tools.add: arguments.b:"),
        ("{ a: 1, b: 2, c: 3 }", "c"),
        ("5", "takes one object with its arguments, not a number"),
        ("[1]", "not an array"),
        ("'x'", "not a string"),
        ("true", "not a boolean"),
        ("{ a: 1.5, b: NaN }", "arguments"),
    ],
)
async def test_arguments_are_checked_on_the_host(arguments, complaint):
    tools = FunctionTools({"add": add}, {"add": SUM_SCHEMA})
    outcome = await execute(f"try {{ await tools.add({arguments}) }} catch (e) {{ return [e.code, e.message] }}", tools)
    assert outcome.result[0] == "invalid_arguments"
    assert complaint in outcome.result[1]
    assert tools.calls == []


async def test_arguments_that_are_not_json_are_refused_in_the_sandbox():
    outcome = await execute(
        "try { await tools.echo({ f: () => 1 }) } catch (e) { return e.message }", FunctionTools({"echo": echo})
    )
    assert outcome.result == "Cannot call echo with arguments.f: a function"


async def test_hostile_arguments_reach_the_tool_as_plain_json():
    tools = FunctionTools({"echo": echo})
    code = """
    const out = [];
    for (const a of [JSON.parse('{"__proto__":{"x":1},"constructor":{"y":1}}'), { s: "\\ud800" }, { n: NaN }, { b: 10n }, { big: "x".repeat(1 << 20) }])
      out.push(Object.keys(await tools.echo(a)).length);
    return out
    """
    outcome = await execute(code, tools)
    assert outcome.result == [2, 1, 1, 1, 1]
    assert tools.calls[0][1] == {"__proto__": {"x": 1}, "constructor": {"y": 1}}


@pytest.mark.parametrize(
    "schema", [{"type": 5}, {"$ref": "http://127.0.0.1:9/x.json"}, {"$ref": "file:///etc/passwd"}, {"x": object()}]
)
async def test_a_schema_that_cannot_be_used_spoils_only_its_own_tool(schema):
    tools = FunctionTools({"bad": echo, "echo": echo}, {"bad": schema})
    code = "try { await tools.bad() } catch (e) { return [e.code, await tools.echo({ a: 1 })] }"
    assert (await execute(code, tools)).result == ["bad_schema", {"a": 1}]


async def test_a_pattern_that_backtracks_does_not_stall_the_host():
    schema = {"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}}
    tools = FunctionTools({"echo": echo}, {"echo": schema})
    with anyio.fail_after(60):
        outcome = await execute(
            "try { await tools.echo({ s: 'a'.repeat(5000) + 'b' }) } catch (e) { return e.code }",
            tools,
            timeout_ms=30_000,
        )
    assert outcome.result == "invalid_arguments"


@pytest.mark.parametrize(
    "attack",
    [
        "return await tools.admin({})",
        "return await tools['admin']({})",
        "return await tools.echo.constructor('return 1')().admin()",
        f'{FORGE} send(\'{{"type":"__tool_call__","call_id":"7","name":"admin","params":{{}}}}\'); await tools.echo()',
        f'{FORGE} send(\'{{"type":"__tool_call__","call_id":"7","name":"echo","name":"admin","params":{{}}}}\'); await tools.echo()',
        "const s = JSON.stringify; JSON.stringify = (v) => s(v).replaceAll('echo', 'admin'); await tools.echo()",
    ],
)
async def test_a_tool_that_was_not_lent_is_never_called(attack):
    class Host(FunctionTools):
        def declarations(self):
            return [tool for tool in super().declarations() if tool.name != "admin"]

    tools = Host({"echo": echo, "admin": echo})
    await execute(attack, tools, timeout_ms=1000)
    assert "admin" not in [name for name, _ in tools.calls]


async def test_a_forged_call_is_answered_that_it_was_not_lent():
    tools = FunctionTools({"echo": echo})
    forge = "const core = Deno[Deno.internal].core; const bytes = (text) => new TextEncoder().encode(text);"
    call = '{"type":"__tool_call__","call_id":"7","name":"admin","params":{}}'
    code = f"""{forge} core.writeSync(1, bytes('{call}\\n'));
    const buffer = new Uint8Array(1000);
    return new TextDecoder().decode(buffer.subarray(0, core.readSync(0, buffer)))"""
    outcome = await execute(code, tools)
    assert '"code":"not_lent"' in outcome.result
    assert tools.calls == []


async def test_a_missing_tool_is_explained_with_those_that_exist():
    outcome = await execute("return await tools.nope()", FunctionTools({"echo": echo, "a.b": echo}))
    assert outcome.error is not None
    assert (
        outcome.error.message
        == "TypeError: tools.nope is not a function. Tools lent to this run: tools.a.b, tools.echo"
    )


async def test_a_missing_group_is_explained_too():
    outcome = await execute("return await tools.shop.buy()", FunctionTools({"echo": echo}))
    assert outcome.error is not None
    assert outcome.error.message.endswith("Tools lent to this run: tools.echo")


async def test_tools_cannot_be_swapped_by_the_code():
    code = (
        "try { tools.echo = () => 'swapped' } catch {} try { tools.g.f = 1 } catch {} return await tools.echo({ a: 1 })"
    )
    assert (await execute(code, FunctionTools({"echo": echo, "g.f": echo}))).result == {"a": 1}


async def test_core_tools_are_never_lent(caplog):
    tools = FunctionTools({"core.execute": echo, "echo": echo})
    outcome = await execute("return [typeof tools.core, typeof tools.echo]", tools)
    assert outcome.result == ["undefined", "function"]
    assert "code cannot start code" in caplog.text


async def test_the_number_of_calls_is_limited():
    tools = FunctionTools({"echo": echo})
    outcome = await execute("for (;;) await tools.echo()", tools, max_tool_calls=5)
    assert outcome.error is not None
    assert outcome.error.type == ErrorType.LIMIT
    assert outcome.error.message == "More than 5 tool calls"
    assert len(tools.calls) == 5


async def test_a_guest_that_does_not_read_blocks_neither_the_clock_nor_the_memory():
    async def large(arguments):
        return "x" * (4 << 20)

    code = "for (let i = 0; i < 10; i++) tools.large().catch(() => {}); while (true) {}"
    outcome = await execute(code, FunctionTools({"large": large}), timeout_ms=500)
    assert outcome.error is not None
    assert outcome.error.type == ErrorType.TIMEOUT


async def test_runs_at_the_same_time_have_their_own_tools():
    async def one(arguments):
        return 1

    async def two(arguments):
        return 2

    results = {}
    async with DenoRuntime(small()) as runtime:

        async def run(name, function):
            request = ExecutionRequest(code="return [await tools.number(), Object.keys(tools)]")
            results[name] = (await runtime.execute(request, FunctionTools({"number": function}))).result

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "a", one)
            tasks.start_soon(run, "b", two)
    assert results == {"a": [1, ["number"]], "b": [2, ["number"]]}


async def test_the_scripted_runtime_answers_as_it_was_told():
    runtime = ScriptedRuntime([ExecutionOutcome(ok=True, result=5)])
    assert (await runtime.execute(ExecutionRequest(code="x"))).result == 5
    assert runtime.requests[0].code == "x"
    with pytest.raises(AssertionError, match="no outcome is left"):
        await runtime.execute(ExecutionRequest(code="y"))


def test_a_declaration_needs_only_a_name():
    assert ToolDeclaration("x").input_schema == {}


async def test_arguments_of_too_many_values_are_an_error_of_the_call_and_not_of_the_run():
    tools = FunctionTools({"echo": echo})
    code = "try { await tools.echo({ items: new Array(150000).fill(1) }) } catch (error) { return error.message }"
    outcome = await execute(code, tools)
    assert outcome.result == "Cannot call echo with arguments.items: more than 100000 values"


@pytest.mark.parametrize(
    ("code", "failed"),
    [
        ("return await tools.echo({})", 0),
        ("try { await tools.choosy({}) } catch {} return 1", 1),
        ("try { await tools.broken({}) } catch {} try { await tools.broken({}) } catch {} return 1", 2),
        ("try { await tools.add({ a: 'x' }) } catch {} return 1", 1),
        ("try { await tools.big({}) } catch {} return 1", 1),
    ],
)  # fmt: skip
async def test_a_call_that_failed_is_counted_also_when_the_code_caught_it(code, failed):
    async def big(arguments):
        return "x" * 2_000

    tools = FunctionTools(
        {"echo": echo, "choosy": choosy, "broken": broken, "add": add, "big": big}, {"add": SUM_SCHEMA}
    )
    outcome = await execute(code, tools, max_tool_result_bytes=1_000)
    assert (outcome.ok, outcome.metrics.failed_calls) == (True, failed)
