"""Replays of real runs in real processes: the same comes of the same answers, nothing has an effect, and what if."""

from __future__ import annotations

import json
from dataclasses import replace

import anyio
import pytest

from cortex import MotorCortex, Settings, Toolbox
from cortex.audit import code_hash
from cortex.replay import ReplayRefused, WhatIf, replayable_of, replayed
from cortex.runs import RunFiles, RunRecording
from cortex.settings.sections import ToolSettings
from cortex.tools import Decision, ScriptedOwner
from cortex.views import HomeRuns
from sandbox import DenoRuntime, ToolError
from tests.cortex.runs.support import details, keeping_cortex, line_of
from tests.sandbox.network.servers import Server

pytestmark = pytest.mark.deno

CODE = """console.log("at", Math.random(), new Date().getFullYear());
const found = [];
for (const item of ["pear", "fig"]) {
  try { found.push(await tools.stock({ item })) } catch (error) { found.push(error.message) }
}
await store.set("found", found);
console.log(await store.get("found"), await store.keys());
return { found, drawn: Math.random() };"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # the first test also on trio: each replay starts a process


def settings_of(home, **sections) -> Settings:
    sections.setdefault("energy", {"recharge_per_minute": 1_000_000})
    sections.setdefault("cache", {"enabled": False})
    return Settings(home=home, neurons={"owner": {"console": False}}, **sections)


def kept_in(settings, which: int = 0):
    with HomeRuns.opened(settings) as runs:
        return replayable_of(runs, runs.find(runs.page().rows[which].id))


@pytest.fixture
def shop():
    """A toolbox that counts its calls."""
    toolbox, asked = Toolbox(), []

    @toolbox.tool(policy="allow")
    async def stock(item: str) -> int:
        asked.append(item)
        if item == "fig":
            raise ToolError("there are no figs", code="not_found", retryable=True)
        return 3

    @toolbox.tool(policy="allow")
    async def broken() -> int:
        asked.append("broken")
        raise KeyError("a secret of the host")

    return toolbox, asked


async def ran(home, toolbox, code: str, conversation: str | None = "mine", owner=None, **given):
    settings = settings_of(home)
    cortex = MotorCortex(settings, toolbox=toolbox, owner=owner)
    async with cortex, cortex.turn(conversation=conversation) as turn:
        answer = await turn.execute_code({"code": code, **given})
    return settings, answer


def files_of(home) -> dict[str, bytes]:
    # What `running` is noted in comes and goes.
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and "running" not in path.parts
    }


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_the_same_comes_of_a_run_and_nothing_has_an_effect(tmp_path, shop):
    toolbox, asked = shop
    settings, answer = await ran(tmp_path, toolbox, CODE)
    assert asked == ["pear", "fig"]
    before = files_of(tmp_path)
    result = await replayed(kept_in(settings), settings)
    assert (result.verdict, result.differences, result.missing) == ("same", (), ())
    assert result.reply == answer.text
    assert asked == ["pear", "fig"]
    assert files_of(tmp_path) == before


async def test_errors_of_functions_are_what_they_were(tmp_path, shop):
    toolbox, asked = shop
    code = """const told = [];
    for (const call of [() => tools.stock({ item: 'fig' }), () => tools.broken(), () => tools.stock({ item: 3 })]) {
      try { await call() } catch (error) { told.push(error.name, error.code, error.retryable, error.message) }
    }
    throw new Error(told.join());"""
    settings, answer = await ran(tmp_path, toolbox, code)
    assert asked == ["fig", "broken"]
    result = await replayed(kept_in(settings), settings)
    assert (result.verdict, result.differences) == ("same", ())
    assert result.reply == answer.text
    assert asked == ["fig", "broken"]


async def test_requests_are_answered_by_the_record_alone(tmp_path):
    template = """const told = [];
    for (const [url, more] of [["/old?key=1", {}], ["/post", { method: "POST", body: "a=b" }], ["/gone", {}]]) {
      const answer = await fetch("BASE" + url, more);
      told.push(answer.status, await answer.text());
    }
    for (const url of ["https://other.example/", "nonsense:", "http://127.0.0.1:1/"]) {
      try { await fetch(url) } catch (error) { told.push(error.name, error.message) }
    }
    return told;"""
    with Server() as server:
        code = template.replace("BASE", server.url)
        server.routes["/old"] = lambda talk: talk.redirect("/new")
        server.routes["/new"] = lambda talk: talk.reply(b"new")
        server.routes["/post"] = lambda talk: talk.reply(b"posted")
        network = {
            "allow": [
                {"host": "127.0.0.1", "ports": [server.port], "http": True, "private": True},
                {"host": "127.0.0.1", "ports": [1], "http": True, "private": True},
            ]
        }
        settings = settings_of(tmp_path, sandbox={"network": network})
        async with MotorCortex(settings) as cortex, cortex.turn() as turn:
            reply = await turn.call("core.execute", {"purpose": "p", "code": code, "tier": "network"})
        assert "posted" in reply
        seen = len(server.heard)
        result = await replayed(kept_in(settings), settings)
        assert (result.verdict, result.differences) == ("same", ())
        # Not even with settings that allow it is a server asked for what is not on record.
        kept = kept_in(settings)
        other = kept.code.replace("/old?key=1", "/other")
        found = await replayed(replace(kept, code=other), settings)
        assert "GET" in found.differences[0].replayed
        assert "/other was asked for, which is not on record" in found.differences[0].replayed
        assert len(server.heard) == seen


async def test_the_first_call_that_is_not_on_record_is_told_and_answered_by_nothing(tmp_path, shop):
    toolbox, asked = shop
    settings, _ = await ran(tmp_path, toolbox, CODE)
    kept = kept_in(settings)
    result = await replayed(replace(kept, code=kept.code.replace('"fig"', '"plum"')), settings)
    assert result.verdict == "differs"
    first = result.differences[0]
    assert first.what == "not on record"
    assert first.replayed.startswith('stock was called with {"item":"plum"}, which is not on record')
    assert 'on record it was called with {"item":"fig"}' in first.replayed
    assert [each.what for each in result.differences if each.what.startswith("call")] == ["call 2"]
    assert asked == ["pear", "fig"]


async def test_calls_that_are_under_way_together_may_change_places(tmp_path):
    toolbox = Toolbox()

    @toolbox.tool(policy="allow")
    async def wait(ms: int) -> int:
        await anyio.sleep(ms / 1000)
        return ms

    code = "return await Promise.all([60, 1, 30, 2, 1].map((ms) => tools.wait({ ms })))"
    settings, _ = await ran(tmp_path, toolbox, code)
    assert (await replayed(kept_in(settings), settings)).verdict == "same"


async def test_a_run_that_ran_out_of_time_does_so_again(tmp_path, shop):
    toolbox, _ = shop
    settings, answer = await ran(
        tmp_path, toolbox, "console.log('on'); while (true) {}", sandbox_config={"timeoutMs": 300}
    )
    assert "TIMEOUT" in answer.text
    assert (await replayed(kept_in(settings), settings)).verdict == "same"


async def test_a_call_that_had_no_answer_has_none_again_and_nothing_is_missing(tmp_path):
    toolbox = Toolbox()

    @toolbox.tool(policy="allow")
    async def never() -> None:
        await anyio.sleep_forever()

    limits = {"timeoutMs": 400}
    settings, answer = await ran(tmp_path, toolbox, "return await tools.never()", sandbox_config=limits)
    assert "TIMEOUT" in answer.text
    result = await replayed(kept_in(settings), settings)
    assert (result.verdict, result.missing) == ("same", ())


async def test_secrets_are_tokens_in_a_replay_and_no_difference(tmp_path):
    toolbox = Toolbox()

    @toolbox.tool(policy="allow")
    async def mail_of(who: str) -> str:
        return f"{who.split('@', maxsplit=1)[0]}@corp.example"

    code = """const mine = "own@corp.example";
    console.log(context.mail, mine, await tools.mail_of({ who: context.mail }));
    return [await tools.mail_of({ who: mine }), context.mail];"""
    settings, _ = await ran(tmp_path, toolbox, code, context={"mail": "ada@corp.example"})
    result = await replayed(kept_in(settings), settings)
    assert (result.verdict, result.differences) == ("same", ())
    assert "Secrets were taken out" in result.missing[0]
    assert "corp.example" not in json.dumps(result.as_json())


async def test_what_is_not_on_record_is_said_and_not_guessed(tmp_path, shop):
    toolbox, _ = shop
    settings, _ = await ran(tmp_path, toolbox, CODE)
    kept = kept_in(settings)
    for path in (tmp_path / "runs" / "recordings").iterdir():
        path.unlink()
    result = await replayed(kept_in(settings), settings)
    assert result.verdict == "differs"
    assert "Its recording was deleted" in result.missing[0]
    facts = replace(kept, details=kept.details.model_copy(update={"keep": "facts", "reply": None, "logs": ()}))
    assert (await replayed(facts, settings)).verdict == "same"


async def test_what_if_a_function_had_failed(tmp_path, shop):
    toolbox, asked = shop
    settings, _ = await ran(tmp_path, toolbox, CODE)
    result = await replayed(kept_in(settings), settings, what_if=WhatIf(failing=frozenset({"stock"})))
    assert result.differences[0].what == "call 1"
    assert (result.differences[0].recorded, result.differences[0].replayed) == ("stock: ok", "stock: tool_error")
    assert "stock fails in this replay" in result.reply
    assert asked == ["pear", "fig"]


async def test_what_if_there_had_been_less_energy(tmp_path, shop):
    toolbox, _ = shop
    settings, _ = await ran(tmp_path, toolbox, CODE)
    energy = {"energy": {"recharge_per_minute": 0.3}}
    low = await replayed(kept_in(settings), settings_of(tmp_path, **energy), what_if=WhatIf(level=0.01))
    assert (low.ran, low.verdict) == (False, "differs")
    assert low.reply.startswith("EXECUTION_DENIED: Insufficient energy")
    assert "0.01" in low.reply
    # At the prices of the program that ran it, and not of the shell that asks.
    dear = {"energy": {"cost_isolated": 0.95, "floor_isolated": 0.95}}
    enough = await replayed(kept_in(settings), settings_of(tmp_path, **dear), what_if=WhatIf(level=0.9))
    assert (enough.ran, enough.verdict) == (True, "same")


async def test_what_if_other_policies_had_been_in_force(tmp_path, shop):
    toolbox, _ = shop
    settings, _ = await ran(tmp_path, toolbox, CODE)
    kept = kept_in(settings)
    denies = ToolSettings(policies={"stock": "deny"})
    result = await replayed(kept, settings, what_if=WhatIf(policies=denies))
    assert [(judged.name, judged.policy) for judged in result.judged] == [("stock", "deny")] * 2
    assert "the owner does not allow stock" in result.reply
    asks = ToolSettings(policies={"stock": "ask", "core.execute": "ask"})
    result = await replayed(kept, settings, what_if=WhatIf(policies=asks))
    assert [judged.name for judged in result.judged] == ["core.execute", "stock", "stock"]
    assert result.verdict == "same"
    none = ToolSettings(policies={"core.execute": "deny"})
    result = await replayed(kept, settings, what_if=WhatIf(policies=none))
    assert (result.ran, result.reply) == (False, "EXECUTION_DENIED: the owner does not allow core.execute")


async def test_a_function_that_the_owner_was_asked_about_counts_as_one_to_ask_about(tmp_path):
    toolbox = Toolbox()

    @toolbox.tool(policy="ask")
    async def order() -> int:
        return 1

    owner = ScriptedOwner([Decision(allowed=True)])
    settings, _ = await ran(tmp_path, toolbox, "return await tools.order()", owner=owner)
    result = await replayed(kept_in(settings), settings, what_if=WhatIf(policies=ToolSettings()))
    assert ([(judged.name, judged.policy) for judged in result.judged], result.verdict) == ([("order", "ask")], "same")


async def test_code_that_looks_at_the_clock_is_told_why_it_differs(tmp_path, shop):
    toolbox, _ = shop
    code = "const begin = Date.now(); while (Date.now() - begin < 30) {} return Date.now() - begin > 20"
    settings, _ = await ran(tmp_path, toolbox, code, sandbox_config={"timeoutMs": 2_000})
    kept = kept_in(settings)
    result = await replayed(replace(kept, code="return Date.now()"), settings)
    assert '"Date" tells the time' in result.note
    # It begins where it began, and not now.
    assert int(result.reply) == pytest.approx(kept.details.clock_ms, abs=1)


@pytest.mark.parametrize("outcome", ["cancelled", "host_failed"])
def test_a_run_without_an_outcome_cannot_be_compared(tmp_path, outcome):
    with pytest.raises(ReplayRefused, match="no outcome on record"):
        refused(tmp_path, details(1, outcome=outcome, code_hash=code_hash("return 1")))


def test_a_run_that_was_forgotten_or_has_no_code_is_refused(tmp_path):
    with pytest.raises(ReplayRefused, match="its code was not kept"):
        refused(tmp_path, details(1))
    files = RunFiles(tmp_path / "runs", settings_of(tmp_path).runs)
    files.forget(lambda _: True)
    with pytest.raises(ReplayRefused, match="forgotten"):
        kept_in(settings_of(tmp_path))


def refused(home, one):
    settings = settings_of(home)
    files = RunFiles(home / "runs", settings.runs)
    files.append(line_of(one))
    files.close()
    with HomeRuns.opened(settings) as runs:
        runs.audit.keep_code("return 1")
    kept_in(settings)


async def test_a_runtime_may_be_given_for_many_replays(tmp_path):
    async with keeping_cortex(tmp_path) as cortex, cortex.turn() as turn:
        await turn.execute_code({"code": "return Math.random()"})
    settings = settings_of(tmp_path)
    async with DenoRuntime() as runtime:
        for _ in range(2):
            assert (await replayed(kept_in(settings), settings, runtime=runtime)).verdict == "same"


async def test_bytes_pictures_and_a_cached_result_come_again(tmp_path):
    toolbox = Toolbox()

    @toolbox.tool(policy="allow")
    async def blob() -> bytes:
        return bytes(range(200))

    code = """const data = await tools.blob();
    display([{ a: 1 }, { a: 2 }], { title: "rows" });
    return [data instanceof Uint8Array, data.length, data[199]];"""
    settings, answer = await ran(tmp_path, toolbox, code)
    assert answer.text.startswith("[true,200,199]")
    result = await replayed(kept_in(settings), settings)
    assert (result.verdict, result.reply) == ("same", answer.text)
    cached = settings_of(tmp_path / "cached", cache={"enabled": True})
    async with MotorCortex(cached) as cortex, cortex.turn() as turn:
        for _ in range(2):
            await turn.execute_code({"code": "return context.n + 1", "context": {"n": 1}})
    assert kept_in(cached).details.cached
    assert (await replayed(kept_in(cached), cached)).verdict == "same"


async def test_an_error_of_a_server_is_an_error_of_that_server_again(tmp_path, shop):
    toolbox, _ = shop
    code = """try { await tools.stock({ item: "fig" }) } catch (error) { return [error.name, error.server, error.message] }"""
    settings, _ = await ran(tmp_path, toolbox, code)
    kept = kept_in(settings)
    tools = tuple(tool.model_copy(update={"server": "shop", "tool": "stock"}) for tool in kept.recording.tools)
    from_server = replace(kept, recording=kept.recording.model_copy(update={"tools": tools}))
    result = await replayed(from_server, settings)
    assert result.reply == '["MCPToolError","shop","there are no figs"]'


@pytest.mark.parametrize(
    "more",
    [
        {"tier": "moon"},
        {"seed": 2**40},
        {"clock_ms": 1e300},
        {"max_memory_mb": 1},
        {"timeout_ms": -5},
        {"at": 1e308},
    ],
    ids=str,
)
async def test_a_record_that_no_run_can_have_left_is_refused(tmp_path, shop, more):
    toolbox, _ = shop
    settings, _ = await ran(tmp_path, toolbox, "return 1")
    kept = kept_in(settings)
    damaged = replace(kept, recording=None, details=kept.details.model_copy(update={"clock_ms": None, **more}))
    with pytest.raises(ReplayRefused, match="it is damaged"):
        await replayed(damaged, settings)


async def test_hostile_names_places_and_schemas_of_a_file_end_no_replay(tmp_path, shop):
    toolbox, _ = shop
    code = "try { return await tools.a.b({}) } catch (error) { return error.message }"
    settings, _ = await ran(tmp_path, toolbox, code)
    kept = kept_in(settings)
    schema = {"$ref": "#/x", "type": 12, "pattern": "(("}
    for tools in (
        [{"name": ""}, {"name": "a.b"}, {"name": "a.b"}, {"name": "__proto__.x"}, {"name": "a"}, {"name": "x\ny"}],
        [{"name": "a.b", "places": [["a", "b"], ["", "\u202e"]]}, {"name": "c", "places": [["a", "b"]]}],
        [{"name": "a.b", "input_schema": schema}],
    ):
        recording = RunRecording(run="x", code_hash=kept.details.code_hash, at=1.0, tools=tools)
        result = await replayed(replace(kept, recording=recording), settings)
        assert "a.b" in result.reply
