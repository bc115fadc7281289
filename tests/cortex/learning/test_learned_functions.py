"""Learned functions in one cortex, with real Deno: code of the agent calls them as tools, under the owner's policy."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client

from cortex import MotorCortex, Settings, Toolbox
from cortex.commands import run_command
from cortex.mcp_server import mcp_server
from cortex.settings.sections import EnergySettings, ExecuteSettings
from cortex.tools import Owner, ScriptedOwner
from cortex.views import questions_of
from neurons import Neuron, Proposal, Status
from sandbox import ToolError
from tests.conftest import small
from tests.neurons.functions.cases import COMPOUND, P_R_N, schema
from tests.neurons.governance import report_of, shown

pytestmark = [pytest.mark.deno, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

CALL = "return await tools.learned.compoundInterest({ p: 1000, r: 0.05, n: 10 })"
PATIENT = {"timeout_isolated_ms": 60_000, "timeout_network_ms": 60_000}
# Each call looks: nothing waits for the half second after which a process looks by itself.
AT_ONCE = pytest.fixture(autouse=True)


@AT_ONCE
def _look_at_once(monkeypatch):
    monkeypatch.setattr("neurons.functions.functions.MAX_AGE_S", -1)


def shout(text: str) -> str:
    """Shout."""
    return text.upper()


def mine(p: float, r: float, n: float) -> str:
    """My own."""
    return f"mine {p + r + n}"


def cortex_at(
    home: Path, toolbox: Toolbox | None = None, *, owner: Owner | None = None, **sections: Any
) -> MotorCortex:
    sections = {"neurons": {"autonomic": PATIENT}, **sections}
    energy = EnergySettings(cost_isolated=0, cost_network=0, recharge_per_minute=0)
    execute = ExecuteSettings(max_timeout_isolated_ms=60_000)
    settings = Settings(home=home, **{"sandbox": small(), "energy": energy, "execute": execute, **sections})
    return MotorCortex(settings, toolbox=toolbox, owner=owner)


async def test_no_example_of_one_conversation_is_told_in_another(tmp_path):
    examples = schema(p={"type": "number", "examples": [4711]})
    async with cortex_at(tmp_path) as cortex:
        await learn(cortex, code="return args.p", parameters=examples)
        [tool] = cortex._living.functions.tools()
        assert tool.declaration.input_schema["properties"] == {"p": {"type": "number"}}
        assert await cortex.call_function("compoundInterest", {"p": 1}) == 1


async def learn(cortex: MotorCortex, name: str = "CompoundInterest", code: str = COMPOUND, **changes: Any) -> Neuron:
    """As the owner approved it, without quarantine."""
    given = {
        "name": name,
        "code": code,
        "purpose": "Compute compound interest",
        "kind": "function",
        "parameters": P_R_N,
    }
    pipeline = cortex.learning.pipeline
    neuron = pipeline.propose(Proposal.of({"energyBudget": 0.05, **given, **changes}), max_code_bytes=50_000)
    neuron = pipeline.judged(neuron.id, report_of(neuron))
    neuron = pipeline.approve(neuron.id, shown(neuron))
    assert cortex._living is not None
    await cortex._living.functions.functions.look()
    return neuron


async def run(cortex: MotorCortex, code: str) -> str:
    async with cortex.turn() as turn:
        told = await turn.call("core.execute", {"code": code, "purpose": "to compute", "timeout": 60_000})
    return told.strip('"')


async def test_code_calls_a_learned_function_and_it_is_audited_counted_and_paid_for(tmp_path):
    async with cortex_at(tmp_path) as cortex:
        neuron = await learn(cortex)
        before = cortex.energy.level()
        assert await run(cortex, CALL) == "1628.89"
        many = (
            "return (await Promise.all([1, 2, 3].map((p) => tools.learned.compoundInterest({ p, r: 0, n: 1 })))).join()"
        )
        assert await run(cortex, many) == "1,2,3"
    assert cortex.energy.level() < before
    [*_, last] = [one for one in cortex.audit.records() if one.kind == "tool_call"]
    assert last.facts["tool"] == "learned.compoundInterest"
    counted = cortex.learning.store.get(neuron.id)
    assert counted.trial is not None
    assert counted.trial.counters.signals == 4
    assert counted.status is Status.TRIAL


async def test_arguments_that_do_not_fit_the_schema_never_reach_the_function(tmp_path):
    async with cortex_at(tmp_path) as cortex:
        neuron = await learn(cortex)
        for arguments in ("{}", "{ p: 'much', r: 1, n: 1 }", "{ p: 1, r: 1, n: 1, more: 1 }", "null"):
            code = f"try {{ return await tools.learned.compoundInterest({arguments}) }} catch (e) {{ return e.code }}"
            assert await run(cortex, code) == "invalid_arguments"
    trial = cortex.learning.store.get(neuron.id).trial
    assert trial is not None
    assert trial.counters.signals == 0


async def test_it_is_declared_found_and_described_as_a_tool(tmp_path):
    async with cortex_at(tmp_path) as cortex:
        assert "compoundInterest" not in json.dumps(cortex.openai_tools())
        await learn(cortex)
        assert "compoundInterest(" in json.dumps(cortex.openai_tools())
        async with cortex.turn() as turn:
            assert "learned.compoundInterest" in await turn.call("core.search", {"query": "compound interest"})
            described = await turn.call("core.describe", {"tools": ["learned.compoundInterest"]})
    assert "namespace learned" in described or "learned" in described
    assert "compoundInterest" in described


async def test_in_a_large_toolbox_it_is_lent_when_code_names_it(tmp_path):
    toolbox = Toolbox()
    for number in range(12):
        toolbox.add(lambda: "x", name=f"shop.tool{number}", description="Something else")
    async with cortex_at(tmp_path, toolbox) as cortex:
        await learn(cortex)
        assert "compoundInterest" not in json.dumps(cortex.openai_tools())
        assert await run(cortex, CALL) == "1628.89"


@pytest.mark.parametrize("key", ["learned.*", "learned.compoundInterest"])
async def test_the_policy_of_the_settings_holds_for_it(tmp_path, key):
    async with cortex_at(tmp_path, tools={"policies": {key: "deny"}}) as cortex:
        await learn(cortex)
        assert "the owner does not allow learned.compoundInterest" in await run(cortex, CALL)
        async with cortex.turn() as turn:
            assert "learned." not in await turn.call("core.search", {"query": "compound interest"})
    async with cortex_at(tmp_path, tools={"policies": {key: "ask"}}) as cortex:
        assert "no owner can be asked here" in await run(cortex, CALL)


async def test_once_it_is_disabled_or_killed_code_is_refused(tmp_path):
    async with cortex_at(tmp_path) as cortex:
        neuron = await learn(cortex)
        caught = f"try {{ {CALL} }} catch (e) {{ return e.code + ': ' + e.message }}"
        assert await run(cortex, caught) == "1628.89"
        cortex.switch.turn_on("stop it", "owner", neuron=neuron.id)
        assert "denied: Function" in await run(cortex, caught)
        cortex.switch.turn_off("go on", "owner", neuron=neuron.id)
        assert await run(cortex, caught) == "1628.89"
        cortex.learning.pipeline.disable(neuron.id, "no longer wanted")
        # It may still be lent, if it was looked up a moment before; it cannot be called.
        assert "1628.89" not in await run(cortex, caught)


async def test_a_function_uses_its_approved_tools_and_calls_no_other_function(tmp_path):
    toolbox = Toolbox()
    toolbox.add(shout, name="notes.shout")
    text = schema(text={"type": "string"})
    async with cortex_at(tmp_path, toolbox) as cortex:
        await learn(cortex)
        code = "return (await tools.notes.shout({ text: args.text })) + typeof tools.learned"
        await learn(cortex, "Shouting", code, tools=["notes.shout"], parameters=text)
        assert await run(cortex, "return await tools.learned.shouting({ text: 'hey' })") == "HEYundefined"
        async with cortex.turn() as turn:
            asked = {
                "name": "Calling",
                "purpose": "Call another",
                "code": CALL,
                "parameters": text,
                "energyBudget": 0.01,
            }
            told = await turn.call("core.consolidate", {**asked, "tools": ["learned.compoundInterest"]})
    assert "learned.compoundInterest" in told
    assert "is in quarantine" not in told
    called = [one.facts for one in cortex.audit.records() if one.kind == "tool_call"]
    assert {(one["tool"], one["turn"].partition(":")[0]) for one in called} >= {("notes.shout", "neuron")}


async def test_it_also_works_while_another_process_runs_the_neurons_and_for_the_program_itself(tmp_path):
    async with cortex_at(tmp_path) as leading:
        await learn(leading)
        async with cortex_at(tmp_path, neurons={"autonomic": {**PATIENT, "enabled": False}}) as other:
            with anyio.fail_after(60):
                assert await other.call_function("compoundInterest", {"p": 100, "r": 1, "n": 2}) == 400
            with pytest.raises(ToolError, match="there are: compoundInterest"):
                await other.call_function("another", {})
            with pytest.raises(ToolError, match='"x" is not'):
                await other.call_function("compoundInterest", {"p": "x", "r": 1, "n": 2})


async def test_what_the_program_calls_and_the_owner_is_asked_about_is_kept_without_secrets_and_recorded(tmp_path):
    ask = {"policies": {"learned.*": "ask"}}
    async with cortex_at(tmp_path, tools=ask, owner=ScriptedOwner([True])) as cortex:
        await learn(cortex, "Shouting", "return args.text + '!'", parameters=schema(text={"type": "string"}))
        with anyio.fail_after(60):
            assert await cortex.call_function("shouting", {"text": "ada@corp.example"}) == "ada@corp.example!"
        [question] = questions_of(cortex.settings, time.time)
        assert question.arguments == {"text": "[EMAIL_1]"}
    [asked] = [one.facts for one in cortex.audit.records() if one.kind == "owner_decision" and "tool" in one.facts]
    assert (asked["tool"], asked["origin"], asked["allowed"]) == ("learned.shouting", "host", True)
    assert b"ada@" not in b"".join(path.read_bytes() for path in (tmp_path / "state" / "questions").glob("*.json"))


async def test_a_tool_of_the_host_keeps_its_name(tmp_path):
    toolbox = Toolbox()
    toolbox.add(mine, name="learned.compoundInterest")
    async with cortex_at(tmp_path, toolbox) as cortex:
        await learn(cortex)
        assert (await run(cortex, CALL)).startswith("mine")


async def test_the_model_calls_it_by_its_name_and_gets_the_result_redacted(tmp_path):
    async with cortex_at(tmp_path) as cortex:
        await learn(cortex)
        await learn(cortex, "TellKey", "return 'sk-' + 'proj-' + 'aB3'.repeat(16)", parameters=schema())
        async with cortex.turn() as turn:
            assert await turn.call("learned.compoundInterest", {"p": 100, "r": 1, "n": 2}) == "400"
            assert "EXECUTION_DENIED" in await turn.call("learned.compoundInterest", {"p": 100})
            assert "there is no tool" in (await turn.call("learned.nothing", {})).lower()
            assert "aB3aB3" not in await turn.call("learned.tellKey", {})


async def test_clients_get_functions_when_the_owner_says_so_and_the_list_is_that_of_the_moment(tmp_path):
    serve = {"serve": {"functions": True}}
    async with (
        cortex_at(tmp_path, mcp=serve) as cortex,
        Client(mcp_server(cortex, cortex.settings), mode="legacy") as client,
    ):
        assert not [tool for tool in (await client.list_tools()).tools if tool.name.startswith("learned")]
        await learn(cortex)
        [offered] = [tool for tool in (await client.list_tools()).tools if tool.name.startswith("learned")]
        assert (offered.name, offered.input_schema["required"]) == ("learned_compoundInterest", ["p", "r", "n"])
        answer = await client.call_tool(offered.name, {"p": 100, "r": 1, "n": 2})
        assert (answer.is_error, answer.structured_content) == (False, {"text": "400"})
        refused = await client.call_tool(offered.name, {"p": "x", "r": 1, "n": 2})
        assert refused.is_error
        cortex.switch.turn_on("stop", "owner")
        assert (await client.call_tool(offered.name, {"p": 100, "r": 1, "n": 2})).is_error


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_clients_are_told_when_functions_come_and_go(tmp_path, mode, monkeypatch):
    monkeypatch.setattr("cortex.mcp_server.list_changes.LOOK_S", 0.05)
    told = anyio.Event()

    async def heard(message: Any) -> None:
        if "list_changed" in str(getattr(message, "method", "")):
            told.set()

    async def listed(cortex: MotorCortex, client: Client) -> None:
        async with client.listen(tools_list_changed=True) as stream:
            ready.set()
            async for _ in stream:
                told.set()

    serve = {"serve": {"functions": True}}
    async with (
        cortex_at(tmp_path, mcp=serve) as cortex,
        Client(mcp_server(cortex, cortex.settings), mode=mode, message_handler=heard) as client,
        anyio.create_task_group() as tasks,
    ):
        assert client.server_capabilities.tools.list_changed
        await client.list_tools()
        ready = anyio.Event()
        if mode == "auto":
            tasks.start_soon(listed, cortex, client)
            with anyio.fail_after(60):
                await ready.wait()
        neuron = await learn(cortex)
        with anyio.fail_after(60):
            await told.wait()
        told = anyio.Event()
        cortex.learning.pipeline.disable(neuron.id, "enough")
        await cortex._living.functions.functions.look()
        with anyio.fail_after(60):
            await told.wait()
        tasks.cancel_scope.cancel()


async def test_a_server_without_functions_promises_no_changes(tmp_path):
    async with (
        cortex_at(tmp_path) as cortex,
        Client(mcp_server(cortex, cortex.settings), mode="legacy") as client,
    ):
        assert not client.server_capabilities.tools.list_changed


async def test_clients_get_no_function_by_default(tmp_path):
    async with cortex_at(tmp_path) as cortex, Client(mcp_server(cortex, cortex.settings), mode="legacy") as client:
        await learn(cortex)
        assert not [tool for tool in (await client.list_tools()).tools if tool.name.startswith("learned")]
        refused = await client.call_tool("learned_compoundInterest", {"p": 100, "r": 1, "n": 2})
        assert "There is no tool" in refused.content[0].text


async def test_from_a_proposal_through_quarantine_and_the_owner_to_a_call(tmp_path, monkeypatch):
    monkeypatch.setattr("neurons.quarantine.queue.LOOK_S", 0.1)
    proposal = {
        "name": "CompoundInterest",
        "purpose": "Compute compound interest",
        "code": "const { p, r, n } = args as { p: number; r: number; n: number };\n" + COMPOUND,
        "parameters": {"p": {"type": "number"}, "r": {"type": "number"}, "n": {"type": "number", "maximum": 1000}},
        "energyBudget": 0.05,
    }
    async with cortex_at(tmp_path) as cortex:
        async with cortex.turn() as turn:
            assert "is in quarantine" in await turn.call("core.consolidate", proposal)
        assert "1628.89" not in await run(cortex, CALL)
        with anyio.fail_after(120):
            while cortex.learning.pipeline.quarantined():
                await anyio.sleep(0.05)
        neuron = cortex.learning.store.get("CompoundInterest")
        assert neuron.status is Status.AWAITING_OWNER, neuron.reason
        assert "1628.89" not in await run(cortex, CALL)
        cortex.learning.pipeline.approve(neuron.id, shown(neuron))
        assert cortex._living is not None
        await cortex._living.functions.functions.look()
        assert await run(cortex, CALL) == "1628.89"


async def test_the_owner_calls_one_at_a_shell(tmp_path, capsys):
    (tmp_path / "cortex.toml").write_text(
        f'home = "{tmp_path}/agent"\n[neurons.autonomic]\ntimeout_isolated_ms = 60000\n'
    )
    (tmp_path / "lent.py").write_text(
        'from cortex import Toolbox\n\ntoolbox = Toolbox()\n\n\n@toolbox.tool(name="notes.shout")\n'
        'def shout(text: str) -> str:\n    """Shout."""\n    return text.upper()\n'
    )
    toolbox = Toolbox()
    toolbox.add(shout, name="notes.shout")
    async with cortex_at(tmp_path / "agent", toolbox) as cortex:
        await learn(cortex)
        code, text = "return await tools.notes.shout({ text: args.text })", schema(text={"type": "string"})
        await learn(cortex, "Shouting", code, tools=["notes.shout"], parameters=text)

    async def at_a_shell(*arguments: str) -> tuple[int, str, str]:
        command = ["neurons", "--config", str(tmp_path / "cortex.toml"), "call", *arguments]
        code = await anyio.to_thread.run_sync(run_command, command)
        said = capsys.readouterr()
        return code, said.out, said.err

    for name in ("CompoundInterest", "compound-interest", "compoundInterest", "comp"):
        assert await at_a_shell(name, "--args", '{"p": 100, "r": 1, "n": 2}') == (0, "400\n", "")
    shouting = ("shouting", "--args", '{"text": "hey"}')
    lent = ("--tools", f"{tmp_path / 'lent.py'}:toolbox")
    assert await at_a_shell(*shouting, *lent) == (0, '"HEY"\n', "")
    for arguments, said in (
        (shouting, 'there is no tool "notes.shout" for neurons; there are: none. --tools MODULE:NAME lends'),
        (("CompoundInterest",), "It takes p, r, n"),
        (("CompoundInterest", "--args", "[1]"), "--args is one JSON object"),
        (("CompoundInterest", "--args", "{p"), "--args is not JSON"),
        (("CompoundInterest", "--args", "@/nothing/here"), 'Cannot read "/nothing/here"'),
        (("nobody",), 'There is no learned function "nobody"; there are: compoundInterest, shouting'),
    ):
        code, out, err = await at_a_shell(*arguments)
        assert (code != 0, out, said in err) == (True, "", True), err
