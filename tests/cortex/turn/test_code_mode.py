"""Code mode as an agent has it: servers, search, grants, redaction and the cache, through a whole cortex."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from cortex import Decision, Folder, MotorCortex, Redactor, ScriptedOwner, Settings, Toolbox
from cortex.contracts.replies import MAX_WHERE_CHARACTERS
from cortex.turn.notes import Note
from neurons import KillSwitch
from tests.conftest import descendants
from tests.cortex.learning.support import learning_cortex
from tests.cortex.mcp_client.support import raw, until

SCHEMA = {
    "type": "object",
    "properties": {
        "structuredContent": {"type": "object"},
        "content": {"type": "array"},
        "isError": {"type": "boolean"},
    },
    "required": ["content"],
    "additionalProperties": False,
}
ANSWER = {"name": "answer", "description": "Answer with what it is given", "inputSchema": SCHEMA}
COMMITS = {"name": "list-commits", "description": "List the commits of a repository", "inputSchema": {"type": "object"}}


def cortex(
    home,
    *,
    toolbox: Toolbox | None = None,
    owner: Any = None,
    servers: Any = None,
    workspace: Any = None,
    **changes: Any,
) -> MotorCortex:
    settings = Settings.model_validate(
        {
            "home": home,
            "sandbox": {"pool_size": 1},
            "execute": {"max_calls_per_turn": 100},
            "energy": {"cost_isolated": 0.001},
            "neurons": {"autonomic": {"enabled": False}, "habits": {"enabled": False}},
            "mcpServers": servers if servers is not None else {"git-hub": raw("echo", ANSWER, COMMITS)},
            **changes,
        }
    )
    return MotorCortex(settings, toolbox=toolbox, owner=owner, workspace=workspace)


async def run(turn: Any, code: str, **more: Any) -> Any:
    text = await turn.call("core.execute", {"purpose": "a test", "code": code, **more})
    return text if text.startswith("EXECUTION_") else json.loads(text)


async def test_code_calls_tools_of_a_server_by_its_own_names_and_in_camel_case(tmp_path, nothing_left):
    async with cortex(tmp_path) as hands, hands.turn() as turn:
        code = """
        const own = await tools["git-hub"]["echo"]({ n: 1 });
        const plain = await tools.git_hub.echo({ n: 2 });
        const camel = await tools.gitHub.echo({ n: 3 });
        const result = await tools.gitHub.answer({ content: [{ type: "text", text: '{"a":[1,2]}' }] });
        return [own, plain, camel, result, typeof tools["git" + "Hub"]["list" + "Commits"]];
        """
        assert await run(turn, code) == [{"n": 1}, {"n": 2}, {"n": 3}, {"a": [1, 2]}, "undefined"]
        assert await run(turn, "return typeof tools.gitHub.listCommits") == "function"


async def test_only_what_a_run_was_lent_can_be_called(tmp_path):
    async with cortex(tmp_path) as hands, hands.turn() as turn:
        hidden = 'const s = "git" + "Hub", t = "ec" + "ho";'
        assert await run(turn, f"{hidden} return typeof tools[s]") == "undefined"
        # Named by the request, or found by the intent, it is there, whatever the code says.
        assert await run(turn, f"{hidden} return (await tools[s][t]({{ n: 1 }})).n", tools=["git-hub.echo"]) == 1
        wish = "list the commits of a repository"
        assert await run(turn, f'{hidden} return typeof tools[s]["list" + "Commits"]', intent=wish) == "function"


async def test_an_intent_lends_as_many_tools_as_the_settings_say(tmp_path):
    many = [{**COMMITS, "name": f"list_commits_{n}"} for n in range(20)]
    wish = "list the commits of a repository"
    count = "return new Set(Object.values(tools.git)).size"
    async with cortex(tmp_path / "a", servers={"git": raw(*many)}) as hands, hands.turn() as turn:
        assert await run(turn, count, intent=wish) == 5
    async with (
        cortex(tmp_path / "b", servers={"git": raw(*many)}, discovery={"tools_per_intent": 2}) as hands,
        hands.turn() as turn,
    ):
        assert await run(turn, count, intent=wish) == 2


async def test_an_error_of_a_tool_can_be_caught_and_says_whose_it_is(tmp_path):
    servers = {"git": raw("echo", ANSWER), "dead": raw("echo", early_exit=3, stderr="no licence")}
    facts = "[e instanceof MCPToolError, e.server, e.tool, e.code, e.retryable]"
    async with cortex(tmp_path, servers=servers) as hands, hands.turn() as turn:
        failing = '{ isError: true, content: [{ type: "text", text: "no such branch" }] }'
        caught = await run(
            turn, f"try {{ await tools.git.answer({failing}) }} catch (e) {{ return [...{facts}, e.message] }}"
        )
        assert caught[:5] == [True, "git", "answer", "tool_failed", False]
        assert "no such branch" in caught[5]
        wrong = await run(turn, f"try {{ await tools.git.answer({{}}) }} catch (e) {{ return {facts} }}")
        assert wrong == [True, "git", "answer", "invalid_arguments", False]
        missing = await run(turn, f"try {{ await tools.git.eco({{}}) }} catch (e) {{ return [...{facts}, e.message] }}")
        assert missing[:4] == [True, "git", "eco", "not_found"]
        assert "echo" in missing[5]
        # One that is dead stops nobody else.
        both = f"const n = (await tools.git.echo({{ n: 7 }})).n; try {{ await tools.dead.echo({{}}) }} catch (e) {{ return [n, ...{facts}] }}"
        assert await run(turn, both) == [7, True, "dead", "echo", "unavailable", True]
        uncaught = await run(turn, f"await tools.git.answer({failing})")
        assert uncaught.startswith('EXECUTION_ERROR: ToolError: MCPToolError: Tool "answer" of MCP server "git": ')


async def test_a_name_put_together_at_run_time_works_among_the_tools_that_were_lent(tmp_path):
    hidden = 'const t = "ec" + "ho";'
    async with cortex(tmp_path) as hands, hands.turn() as turn:
        # The code takes the whole server, and no word in it is the name of a tool: all are lent.
        assert await run(turn, f"{hidden} return (await tools.gitHub[t]({{ n: 1 }})).n") == 1
        assert await run(turn, f"{hidden} const g = tools.gitHub; return (await g[t]({{ n: 2 }})).n") == 2
        # A tool's name in the code: it is lent, and no other. The same with an intent or named tools.
        other = f"{hidden} const g = tools.gitHub; g.listCommits; return typeof g[t]"
        assert await run(turn, other) == "undefined"
        assert await run(turn, f"{hidden} return typeof tools.gitHub[t]", tools=["git-hub.answer"]) == "undefined"
        # Without the name of the server there is nothing to lend.
        assert await run(turn, f'{hidden} return typeof tools["git" + "Hub"]') == "undefined"


async def test_policies_hold_inside_code_as_they_do_outside(tmp_path):
    owner = ScriptedOwner([Decision(allowed=True), Decision(allowed=False, reason="not today")])
    servers = {"git": raw("echo", policy="ask"), "mail": raw("echo", policy="ask"), "bank": raw("echo")}
    policies = {"mail.echo": "allow", "bank.echo": "deny"}
    async with cortex(tmp_path, servers=servers, owner=owner, tools={"policies": policies}) as hands:
        async with hands.turn() as turn:
            call = "try { return await tools.%s.echo({ n: 1 }) } catch (e) { return [e.code, e.message] }"
            assert await run(turn, call % "git") == {"n": 1}
            assert owner.questions[0].tool == "git.echo"
            assert owner.questions[0].arguments == {"n": 1}
            refused = await run(turn, call % "git")
            assert refused[0] == "denied"
            assert "not today" in refused[1]
            assert await run(turn, call % "mail") == {"n": 1}
            assert (await run(turn, call % "bank"))[0] == "denied"
            assert len(owner.questions) == 2
            # And nobody finds what cannot be used.
            assert "bank" not in await turn.call("core.search", {"query": "echo"})
        calls = [record for record in hands.audit.records() if record.kind == "tool_call"]
        assert [record.facts["tool"] for record in calls if record.facts["origin"] == "code"] == [
            *("git.echo", "git.echo", "mail.echo", "bank.echo")
        ]
        assert [record.facts["error_code"] for record in calls if not record.facts["ok"]] == ["denied", "denied"]


async def test_a_model_searches_and_describes_what_there_is(tmp_path):
    mailing = {"name": "mail", "description": f"Writes to {SECRET}", "inputSchema": {"type": "object"}}
    servers = {"git": raw(COMMITS, ANSWER, mailing), "dead": raw(early_exit=3)}
    async with cortex(tmp_path, servers=servers) as hands, hands.turn() as turn:
        assert "Writes to [EMAIL_1]" in await turn.call("core_search", {"query": "write a mail"})
        found = (await turn.call("core_search", {"query": "commits of a repository"})).splitlines()
        assert found[0].startswith("git.list-commits  List the commits of a repository  (")
        assert found[-1].startswith("(not there now: dead: ")
        told = await turn.call("core_describe", {"tools": ["git.list-commits", "git.answr"]})
        assert "declare const tools" in told
        assert "/** List the commits of a repository */" in told
        assert "// git.answr: git has no such tool; there are answer" in told
        assert (await turn.call("core.search", {})).startswith("EXECUTION_DENIED: core.search needs")


async def test_results_of_a_search_are_as_many_as_the_settings_say(tmp_path):
    many = [{**COMMITS, "name": f"list_commits_{n}"} for n in range(20)]
    async with (
        cortex(tmp_path, servers={"git": raw(*many)}, discovery={"max_results": 3}) as hands,
        hands.turn() as turn,
    ):
        assert len((await turn.call("core.search", {"query": "commits"})).splitlines()) == 3


def surface(hands: MotorCortex) -> bytes:
    return json.dumps(hands.openai_tools(), ensure_ascii=False, separators=(",", ":")).encode()


def box(count: int) -> Toolbox:
    toolbox = Toolbox()
    for n in range(count):
        toolbox.add(_of_no_interest, name=f"shop.thing_{n}", description="Does something that takes a few words to say")
    return toolbox


def _of_no_interest(text: str, limit: int = 10) -> list[str]:
    return [text] * limit


async def test_what_the_model_is_told_stays_small_and_the_same_with_ten_tools_or_a_thousand(tmp_path):
    sizes = {}
    for count in (10, 1_000):
        many = [{**COMMITS, "name": f"list_commits_{n}"} for n in range(count)]
        async with cortex(tmp_path / str(count), servers={"git": raw(*many)}) as hands:
            before = surface(hands)
            async with hands.turn() as turn:
                await turn.call("core.search", {"query": "commits"})
            assert surface(hands) == before
            sizes[count] = before
    assert sizes[10] == sizes[1_000]
    for count in (10, 200):  # of which each takes milliseconds to read its signature
        async with cortex(tmp_path / f"box-{count}", servers={}, toolbox=box(count)) as hands:
            assert surface(hands) == sizes[10]
    # Nor do a toolbox beside servers and many hosts change that.
    hosts = {"network": {"allow": [f"api-{n}.example.com" for n in range(50)]}}
    async with cortex(tmp_path / "both", toolbox=box(5), sandbox={"pool_size": 0, **hosts}) as hands:
        assert len(surface(hands)) / 4 < 1_000
    assert len(sizes[10]) / 4 < 1_000


async def test_what_the_model_is_told_stays_small_with_all_that_can_be_mentioned(tmp_path):
    (tmp_path / "files").mkdir()
    hosts = {"network": {"allow": [f"api-{n}.example.com" for n in range(50)]}}
    async with cortex(
        tmp_path / "home",
        toolbox=box(5),
        sandbox={"pool_size": 0, **hosts},
        execute={"later": True},
        workspace=Folder(tmp_path / "files"),
    ) as hands:
        told = surface(hands)
        assert all(word in told for word in (b"store", b"display", b"Deno.readTextFile", b"later", b"consolidate"))
        assert len(told) / 4 < 1_000


async def test_store_display_and_files_are_described_and_a_tool_of_that_name_goes_before(tmp_path):
    async with cortex(tmp_path / "none") as hands, hands.turn() as turn:
        told = await turn.call("core_describe", {"tools": ["store", "display", "files", "nothing"]})
    assert [name in told for name in ("declare const store", "function display(", "readTextFile(path")] == [True] * 3
    assert "// nothing: " in told
    toolbox = box(30)
    toolbox.add(_of_no_interest, name="store", description="A shop")
    async with cortex(tmp_path / "own", servers={}, toolbox=toolbox) as hands, hands.turn() as turn:
        told = await turn.call("core_describe", {"tools": ["store"]})
    assert "A shop" in told
    assert "declare const store" not in told


async def test_a_small_toolbox_is_told_whole_and_a_large_one_is_searched(tmp_path):
    async with cortex(tmp_path / "small", servers={}, toolbox=box(2)) as hands, hands.turn() as turn:
        names = [tool["function"]["name"] for tool in hands.openai_tools()]
        assert "shop_thing_0" in names
        assert "core_search" not in names
        assert "shop.thing_1" in await turn.call("core.search", {"query": "thing"})
        assert await run(turn, "return Object.keys(tools.shop).length >= 2") is True
    async with (
        cortex(tmp_path / "large", servers={}, toolbox=box(3), discovery={"max_listed": 2}) as hands,
        hands.turn() as turn,
    ):
        names = [tool["function"]["name"] for tool in hands.openai_tools()]
        assert "core_search" in names
        assert "shop_thing_0" not in names
        assert "shop.thing_0" in await turn.call("core.search", {"query": "thing"})
        assert await run(turn, 'return tools.shop.thing_1({ text: "a", limit: 2 })') == ["a", "a"]
        assert await run(turn, "return typeof tools.shop") == "undefined"


SECRET = "jane.doe@corp.example"


async def test_personal_data_reaches_neither_the_model_nor_the_audit(tmp_path):
    toolbox = Toolbox()

    @toolbox.tool
    def who() -> str:
        return SECRET

    @toolbox.tool
    def fails() -> str:
        from sandbox import ToolError

        raise ToolError(f"{SECRET} is unknown")

    async with cortex(tmp_path, servers={}, toolbox=toolbox) as hands, hands.turn() as turn:
        texts = [
            await turn.call("core.execute", {"purpose": f"ask {SECRET}", "code": "return [await tools.who()]"}),
            await turn.call("core.execute", {"purpose": "x", "code": "throw new Error(await tools.who())"}),
            await turn.call("core.execute", {"purpose": "x", "code": "await tools.fails()"}),
            await turn.call("who"),
            await turn.call("fails"),
            await turn.call(SECRET),
        ]
        answer = await turn.execute_code({"code": "console.log(await tools.who()); return { a: await tools.who() }"})
    assert all("[EMAIL_1]" in text for text in texts)
    assert answer.structured["result"] == {"a": "[EMAIL_1]"}
    assert answer.structured["logs"] == ["[EMAIL_1]"]
    everything = "".join([*texts, answer.text, json.dumps(answer.structured)])
    assert SECRET not in everything
    written = b"".join(
        file.read_bytes()
        for file in (tmp_path / "audit").rglob("*")
        if file.is_file() and "code" not in str(file.relative_to(tmp_path))
    )
    assert SECRET.encode() not in written
    assert b"[EMAIL_1]" in written


async def test_redaction_can_be_switched_off_or_narrowed(tmp_path):
    code = {"purpose": "x", "code": f'return ["{SECRET}", "4111 1111 1111 1111"]'}
    async with cortex(tmp_path / "off", servers={}, redaction={"enabled": False}) as hands, hands.turn() as turn:
        assert await turn.call("core.execute", code) == f'["{SECRET}","4111 1111 1111 1111"]'
    async with cortex(tmp_path / "cards", servers={}, redaction={"kinds": ["card"]}) as hands, hands.turn() as turn:
        assert await turn.call("core.execute", code) == f'["{SECRET}","[CARD_1]"]'


async def test_a_token_is_the_value_again_in_an_argument_of_a_tool_if_the_settings_say_so(tmp_path):
    sent: list[str] = []
    toolbox = Toolbox()

    @toolbox.tool
    def who() -> str:
        return SECRET

    @toolbox.tool
    def mail(to: str) -> str:
        sent.append(to)
        return f"sent to {to}"

    for restore in (True, False):
        async with cortex(
            tmp_path / str(restore), servers={}, toolbox=toolbox, redaction={"restore": restore}
        ) as hands:
            async with hands.turn() as turn:
                assert await run(turn, "return await tools.who()") == "[EMAIL_1]"
            async with hands.turn() as turn:
                assert await run(turn, 'return await tools.mail({ to: "[EMAIL_1]" })') == "sent to [EMAIL_1]"
                assert "[EMAIL_1]" in await turn.call("mail", '{"to": "[EMAIL_1]"}')
                assert "[EMAIL_9]" in await turn.call("mail", {"to": "[EMAIL_9]"})
                # Somebody else's words that look like a token stay what they are.
                await run(turn, 'return await tools.mail({ to: "[EMAIL" + "_1]" })')
                await turn.call("core.remember", {"text": "Write to [EMAIL_1]"})
            assert hands.memory.recent(1)[0].text == "Write to [EMAIL]"
    assert sent == [SECRET, SECRET, "[EMAIL_9]", "[EMAIL_1]", "[EMAIL_1]", "[EMAIL_1]", "[EMAIL_9]", "[EMAIL_1]"]


async def test_the_same_code_gives_the_stored_result_for_less_energy(tmp_path):
    toolbox = box(1)
    async with cortex(
        tmp_path, servers={}, toolbox=toolbox, energy={"cost_isolated": 0.05, "recharge_per_minute": 0}
    ) as hands:
        async with hands.turn() as turn:
            first = await turn.execute_code({"code": "return context.n + 1", "context": {"n": 1}})
            level = hands.energy.level()
            again = await turn.execute_code({"code": "return context.n + 1", "context": {"n": 1}})
            other = await turn.execute_code({"code": "return context.n + 1", "context": {"n": 2}})
            clock = [await turn.execute_code({"code": "return Date.now()"}) for _ in range(2)]
        assert [first.structured["metrics"]["cached"], again.structured["metrics"]["cached"]] == [False, True]
        assert (first.text, again.text, other.text) == ("2", "2", "3")
        assert hands.energy.level() == pytest.approx(level - 0.002 - 3 * 0.05)
        assert not any(answer.structured["metrics"]["cached"] for answer in (other, *clock))
    async with cortex(tmp_path, servers={}, cache={"enabled": False}) as hands, hands.turn() as turn:
        answer = await turn.execute_code({"code": "return context.n + 1", "context": {"n": 1}})
        assert answer.structured["metrics"]["cached"] is False


async def test_the_limits_of_execute_code_can_be_narrower_and_never_wider(tmp_path):
    async def told(code: str, **limits: Any) -> str:
        return (await turn.execute_code({"code": code, "sandbox_config": limits})).text

    short = {"max_calls_per_turn": 100, "max_timeout_isolated_ms": 700}
    async with cortex(tmp_path / "short", servers={}, execute=short) as hands, hands.turn() as turn:
        assert await told("for (;;);", timeoutMs=150) == "EXECUTION_TIMEOUT: Code exceeded 150ms limit."
        assert (await told("for (;;);", timeoutMs=10**9)) == "EXECUTION_TIMEOUT: Code exceeded 700ms limit."
    # What is to come to its end has time for that, also on a machine that stands still for a second.
    long = {"max_calls_per_turn": 100, "max_timeout_isolated_ms": 60_000}
    async with cortex(tmp_path / "long", servers={}, execute=long) as hands, hands.turn() as turn:
        grow = "const a = []; for (let n = 0; n < 200; n++) a.push(new Uint8Array(1 << 20).fill(1)); return a.length"
        assert await told(grow) == "200"
        assert (await told(grow, heapLimitMB=96)).startswith("EXECUTION_ERROR: MemoryError")
        for limits in ({"allowNetwork": True}, {"allowWrite": True}, {"allowedReadPaths": ["/etc"]}, {"other": 1}):
            assert (await told("return 1", **limits)).startswith("EXECUTION_DENIED: execute_code: ")
        stateful = await turn.execute_code({"code": "return { state: { step: 2 }, done: false }"})
        assert stateful.structured["state"] == {"step": 2}
        failed = await turn.execute_code({"code": "throw new Error('no')"})
        assert not failed.ok
        assert failed.structured["error"] == {"type": "RuntimeError", "message": "no"}
        assert failed.text == "EXECUTION_ERROR: RuntimeError: no\n  at line 1, column 7: throw new Error('no')"


async def test_the_calls_of_a_run_are_part_of_its_answer_for_programs(tmp_path):
    toolbox = Toolbox()

    @toolbox.tool(policy="allow")
    def mail(to: str) -> str:
        if to == "nobody":
            raise LookupError(to)
        return "sent"

    async with cortex(tmp_path, servers={}, toolbox=toolbox) as hands, hands.turn() as turn:
        sent = await turn.execute_code({"code": "return await tools.mail({ to: 'a' })"})
        failed = await turn.execute_code(
            {"code": "for (const to of ['a', 'b', 'nobody']) await tools.mail({ to })", "tools": ["mail"]}
        )
    assert sent.structured["calls"] == [{"name": "tools.mail", "done": 1, "failed": 0, "underWay": 0}]
    assert not failed.ok
    assert failed.structured["calls"] == [{"name": "tools.mail", "done": 2, "failed": 1, "underWay": 0}]
    assert "Calls that this run has made:\n  tools.mail: 2 done, 1 failed" in failed.text


async def test_a_secret_where_printed_output_is_cut_is_found_whole(tmp_path):
    # Of much output the first and last two kilobytes are told. Wherever the cut falls, no part of an address is there.
    code = f"console.log('{SECRET} '.repeat(700)); throw new Error('late')"
    async with cortex(tmp_path, servers={}) as hands, hands.turn() as turn:
        text = await turn.call("core.execute", {"purpose": "x", "code": code})
    output = text.partition("It printed:\n")[2]
    assert "bytes printed in all" in output
    assert output.count("[EMAIL_1]") > 300
    assert not any(SECRET[:length] in output for length in range(4, len(SECRET)))


async def test_a_secret_in_a_message_of_several_lines_or_over_the_end_of_the_shown_line_is_found_whole(tmp_path):
    key = "-----BEGIN PRIVATE KEY-----\\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\\n" * 8 + "-----END PRIVATE KEY-----"
    lines = f"throw new Error('no such key\\n{key}')"
    start = "throw new Error('no'); // "
    over = start + "x " * ((MAX_WHERE_CHARACTERS - len("at line 1, column 7: ") - len(start) - 5) // 2) + SECRET
    async with cortex(tmp_path, servers={}) as hands, hands.turn() as turn:
        first = await turn.call("core.execute", {"purpose": "x", "code": lines})
        second = await turn.call("core.execute", {"purpose": "x", "code": over})
    assert "MIIEvQ" not in first
    assert "throw new Error('no')" in second
    assert "jane" not in second


@pytest.mark.parametrize("name", ["core.search", "core.describe", "core.execute"])
async def test_nothing_is_looked_for_while_the_kill_switch_is_on(tmp_path, name):
    async with cortex(tmp_path) as hands, hands.turn() as turn:
        KillSwitch(tmp_path / "state").turn_on("smoke", "owner")
        arguments = {"query": "echo", "tools": ["git-hub.echo"], "purpose": "x", "code": "return 1"}
        assert (await turn.call(name, arguments)).startswith("EXECUTION_DENIED: Kill switch is on")
        assert not (await turn.execute_code({"code": "return 1"})).ok
        assert hands.servers is not None
        assert {status.state for status in hands.servers.statuses()} == {"idle"}


async def test_a_server_starts_when_it_is_first_needed_and_ends_with_the_host(tmp_path, nothing_left):
    async with cortex(tmp_path) as hands, hands.turn() as turn:
        states: list[Sequence[str]] = []
        for code in ("return 1", "return tools.gitHub.echo({ n: 1 })"):
            await run(turn, code)
            assert hands.servers is not None
            states.append([status.state for status in hands.servers.statuses()])
        assert states == [["idle"], ["ready"]]


@pytest.mark.parametrize(
    "code",
    [
        "const { echo } = tools.gitHub; return (await echo({ n: 1 })).n",
        "const hub = tools.gitHub; return (await hub.echo({ n: 1 })).n",
        "const { gitHub } = tools; return (await gitHub.echo({ n: 1 })).n",
        "const all = tools; return (await all.gitHub.echo({ n: 1 })).n",
        'const { "git-hub": hub } = tools; return (await hub.echo({ n: 1 })).n',
    ],
)
async def test_code_may_take_a_server_or_a_function_into_a_variable(tmp_path, code):
    async with cortex(tmp_path) as hands, hands.turn() as turn:
        assert await run(turn, code) == 1


async def test_a_name_means_the_same_tool_whatever_else_is_lent(tmp_path):
    both = [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in ("e-cho", "e_cho")]
    async with cortex(tmp_path, servers={"git": raw(*both)}) as hands, hands.turn() as turn:
        told = await turn.call("core.describe", {"tools": ["git.e-cho"]})
        assert "e_cho_2(" in told
        say = "const t: any = tools; try { await t.git.%s({}) } catch (e) { return e.tool }"
        assert await run(turn, say % "e_cho_2", tools=["git.e-cho"]) == "e-cho"
        assert await run(turn, say % "e_cho") == "e_cho"


async def test_code_that_waits_for_servers_has_the_time_of_the_network_tier(tmp_path):
    for network_ms in (900, 20_000):
        limits = {"max_calls_per_turn": 100, "max_timeout_isolated_ms": 300, "max_timeout_network_ms": network_ms}
        servers = {"git": raw("silent", "echo")}
        async with cortex(tmp_path, servers=servers, execute=limits) as hands, hands.turn() as turn:
            assert await run(turn, "for (;;);") == "EXECUTION_TIMEOUT: Code exceeded 300ms limit."
            late = await run(turn, "await tools.git.silent({})")
            short = await run(turn, "await tools.git.silent({})", timeout=400)
        assert short.startswith("EXECUTION_TIMEOUT: Code exceeded 400ms limit.")
        if "Calls" in late:  # if not, the machine stood still, and the code did not come to its call
            break
    assert late.splitlines() == [
        f"EXECUTION_TIMEOUT: Code exceeded {network_ms}ms limit.",
        "Calls that this run has made:",
        "  tools.git.silent: 1 still under way",
    ]


async def test_code_that_waits_for_a_lent_tool_has_the_time_of_the_network_tier(tmp_path):
    toolbox = Toolbox()

    @toolbox.tool
    async def silent() -> None:
        """Never answers."""
        await anyio.sleep_forever()

    limits = {"max_calls_per_turn": 100, "max_timeout_isolated_ms": 300, "max_timeout_network_ms": 900}
    async with (
        cortex(tmp_path, servers={}, toolbox=toolbox, execute=limits) as hands,
        hands.turn() as turn,
    ):
        assert await run(turn, "for (;;);") == "EXECUTION_TIMEOUT: Code exceeded 300ms limit."
        for limit, more in ((900, {}), (400, {"timeout": 400})):
            late = await run(turn, "await tools.silent({})", **more)
            assert late.splitlines()[0] == f"EXECUTION_TIMEOUT: Code exceeded {limit}ms limit."
        told = hands.openai_tools()[0]["function"]["parameters"]["properties"]["timeout"]["description"]
        assert told == "Milliseconds, 100 to 300, in the network tier or with tools to 900"


async def test_a_tool_that_may_not_be_called_gives_code_no_more_time(tmp_path):
    toolbox = Toolbox()

    @toolbox.tool
    async def silent() -> None:
        """Never answers."""

    limits = {"max_timeout_isolated_ms": 300, "max_timeout_network_ms": 900}
    tools = {"policies": {"silent": "deny"}}
    async with (
        cortex(tmp_path, servers={}, toolbox=toolbox, execute=limits, tools=tools) as hands,
        hands.turn() as turn,
    ):
        assert await run(turn, "for (;;) tools;") == "EXECUTION_TIMEOUT: Code exceeded 300ms limit."


async def test_the_owner_raises_the_limit_and_the_model_is_told_the_one_that_holds(tmp_path):
    limits = {"max_timeout_isolated_ms": 20_000, "max_timeout_network_ms": 90_000}
    async with (
        cortex(tmp_path, servers={}, execute=limits, sandbox={"pool_size": 1, "max_timeout_ms": 1_500}) as hands,
        hands.turn() as turn,
    ):
        told = hands.openai_tools()[0]["function"]["parameters"]["properties"]["timeout"]["description"]
        assert told == "Milliseconds, 100 to 1500, in the network tier to 1500"
        assert await run(turn, "for (;;);") == "EXECUTION_TIMEOUT: Code exceeded 1500ms limit."


async def test_a_mistake_about_servers_is_told_with_what_to_do(tmp_path, caplog):
    policies = {"tools": {"policies": {"shop.oder": "deny", "git-hub.later": "ask"}}}
    async with cortex(tmp_path, **policies) as hands, hands.turn() as turn:
        assert [record.args for record in caplog.records if "policy" in record.message] == [("shop.oder",)]
        assert "is for code: await tools.git-hub.echo" in await turn.call("git-hub.echo", {})
        caught = "try { await tools.gitHbu.echo({}) } catch (e) { return [e.code, e.message] }"
        code, message = await run(turn, caught)
        assert code == "not_found"
        assert 'there is no server "gitHbu"; there are git-hub' in message


async def test_an_owner_who_is_asked_about_code_sees_what_it_is_given(tmp_path):
    owner = ScriptedOwner([True, True])
    async with (
        cortex(tmp_path, owner=owner, tools={"policies": {"core.execute": "ask"}}) as hands,
        hands.turn() as turn,
    ):
        await turn.execute_code(
            {"code": "return context.pay", "context": {"pay": 5000}, "intent": "pay", "tools": ["a.b"]}
        )
        await turn.call("core.execute", {"purpose": "sum", "code": "return 1"})
    assert owner.questions[0].arguments["context"] == {"pay": 5000}
    assert owner.questions[0].arguments["tools"] == ["a.b"]
    assert set(owner.questions[1].arguments) == {"purpose", "code", "tier", "timeout"}


async def test_what_a_run_expects_is_redacted_in_the_audit_and_long_words_are_cut_first(tmp_path):
    async with cortex(tmp_path, servers={}) as hands, hands.turn() as turn:
        expected = f"mail of {SECRET}"
        await turn.call(
            "core.execute", {"purpose": "api_key=a" * 100_000, "code": "return 1", "expectedOutput": expected}
        )
        [record] = [record for record in hands.audit.records() if record.kind == "intent"]
    assert record.facts["expected_output"] == "mail of [EMAIL_1]"
    assert len(record.facts["purpose"]) <= 1_000


def servers_run() -> bool:
    return any("raw.py" in command for command in descendants().values())


async def test_the_kill_switch_ends_servers_and_what_they_are_doing(tmp_path, nothing_left):
    texts: list[str] = []
    async with cortex(tmp_path, servers={"git": raw("silent")}) as hands, hands.turn() as turn:

        async def waits() -> None:
            texts.append(await run(turn, "await tools.git.silent({})"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waits)
            await until(servers_run)
            KillSwitch(tmp_path / "state").turn_on("smoke", "owner")
        assert "Kill switch is on" in texts[0]
        assert not servers_run()
        KillSwitch(tmp_path / "state").turn_off("toast", "owner")


class Noting:
    """Notes about somebody."""

    async def take(self) -> Note:
        return Note(f"You keep asking {SECRET}", "key", None)  # type: ignore[arg-type]

    def settle(self, note: Note, *, arrived: bool) -> None:
        pass


async def test_hints_are_redacted_as_answers_are(tmp_path):
    async with learning_cortex(tmp_path, notes=Noting()) as hands, hands.turn() as turn:
        assert (await turn.answer("core.energy")).note == "You keep asking [EMAIL_1]"


async def test_a_token_means_the_same_in_all_turns_that_share_a_redactor(tmp_path):
    async with cortex(tmp_path, servers={}) as hands:
        redactor = Redactor(hands.settings.redaction)
        texts = []
        for code in ('return "a@corp.example"', f'return "{SECRET}"', 'return "a@corp.example"'):
            async with hands.turn(redactor=redactor) as turn:
                texts.append(await run(turn, code))
        async with hands.turn() as turn:
            texts.append(await run(turn, f'return "{SECRET}"'))
    assert texts == ["[EMAIL_1]", "[EMAIL_2]", "[EMAIL_1]", "[EMAIL_1]"]
