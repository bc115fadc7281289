"""The tools of neurons: those that were approved, of the toolbox and of servers, under the policies of today."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from cortex import Toolbox
from cortex.contracts import ToolCalled
from cortex.learning.neuron_tools import NeuronTools
from cortex.settings.sections import ToolSettings
from neurons import NeuronSettings, Status
from neurons.contracts.program import program_of
from sandbox import ToolError
from tests.cortex.learning.test_learning_alive import Life, until as until_so
from tests.cortex.mcp_client.support import raw, servers, until
from tests.neurons.governance import Governed

COMMITS = {"name": "list-commits", "description": "List commits", "inputSchema": {"type": "object"}}


def toolbox() -> Toolbox:
    box = Toolbox()
    for name in ("shop.stock", "shop.buy", "shop.refund"):
        box.add(lambda: 1, name=name)
    box.add(lambda: 1, name="shop.report", for_code=False)
    return box


def tools(mcp: Any = None, **policies: str) -> NeuronTools:
    settings = ToolSettings.model_validate({"policies": {name.replace("__", "."): p for name, p in policies.items()}})
    return NeuronTools(toolbox(), mcp, settings)


async def test_a_neuron_has_its_approved_tools_and_no_other():
    neuron = Governed().in_trial(tools=("shop.stock", "shop.buy"))
    calls: list[ToolCalled] = []
    lent = tools(shop__buy="ask").lent(neuron, require=lambda: None, on_call=calls.append)
    assert lent is not None
    assert [declaration.name for declaration in lent.declarations()] == ["shop.stock", "shop.buy"]
    assert (await lent.call("shop.stock", {})).data == b"1"
    with pytest.raises(ToolError, match="no owner can be asked"):
        await lent.call("shop.buy", {})
    with pytest.raises(ToolError, match="No tool"):
        await lent.call("shop.refund", {})
    assert [(call.tool, call.ok) for call in calls] == [("shop.stock", True), ("shop.buy", False)]


async def test_while_nothing_may_be_done_a_neuron_calls_no_tool():
    def killed() -> None:
        raise ToolError("Kill switch is on", code="denied")

    neuron = Governed().in_trial(tools=("shop.stock",))
    lent = tools().lent(neuron, require=killed, on_call=lambda _: None)
    assert lent is not None
    with pytest.raises(ToolError, match="Kill switch is on"):
        await lent.call("shop.stock", {})


def test_a_neuron_without_tools_is_lent_none():
    assert tools().lent(Governed().in_trial(), require=lambda: None, on_call=lambda _: None) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("shop.stock", None),
        ("shop.steal", 'there is no tool "shop.steal" for neurons; there are: shop.buy, shop.refund, shop.stock'),
        ("shop.report", 'there is no tool "shop.report" for neurons'),
        ("shop.buy", 'the policy of "shop.buy" is "ask", and the owner cannot be asked'),
        ("shop.refund", 'the policy of "shop.refund" is "deny"'),
    ],
)
def test_what_no_neuron_could_have_here_is_told_before_anything_is_tried(name, problem):
    found = tools(shop__buy="ask", shop__refund="deny").missing(["shop.stock", name])
    assert found is None if problem is None else problem in (found or "")


async def test_tools_of_a_server_are_known_when_it_was_started():
    async with servers(git=raw("echo", COMMITS, policy="allow"), bank=raw("echo", policy="ask")) as mcp:
        these = tools(mcp)
        # Nobody knows yet what it has, and who asks does not start it.
        assert these.missing(["git.echo", "git.steal"]) is None
        assert [status.state for status in mcp.statuses()] == ["idle", "idle"]
        await mcp.tools()
        assert these.missing(["git.echo", "git.list-commits"]) is None
        assert 'no tool "git.steal"' in (these.missing(["git.steal"]) or "")
        assert 'no tool "gut.echo"' in (these.missing(["gut.echo"]) or "")
        assert 'the policy of "bank.echo" is "ask"' in (these.missing(["bank.echo"]) or "")
        lent = these.lent(Governed().in_trial(tools=("git.echo",)), require=lambda: None, on_call=lambda _: None)
        assert lent is not None
        assert json.loads((await lent.call("git.echo", {"n": 1})).data) == {"n": 1}
        with pytest.raises(ToolError, match="No tool"):
            await lent.call("git.list-commits", {})


async def test_a_server_is_started_in_the_background_for_a_neuron_that_tries_again():
    async with servers(git=raw("echo"), dead=raw("echo", early_exit=3)) as mcp:
        these = tools(mcp)
        assert these.awaited(["shop.stock"]) is None
        assert these.awaited(["git.echo"]) == 'MCP server "git" is not there yet: it is starting'
        await until(lambda: these.awaited(["shop.stock", "git.echo"]) is None)
        await until(lambda: "it ended" in (these.awaited(["dead.echo"]) or ""))
        assert next(status.state for status in mcp.statuses() if status.name == "git") == "ready"


async def test_a_tool_may_be_named_as_code_spells_it():
    async with servers(**{"git-hub": raw(COMMITS)}) as mcp:
        await mcp.tools()
        names = ["gitHub.listCommits", "git_hub.list_commits", "shop.stock", "shop.steal"]
        assert tools(mcp).spelled_out(names) == ("git-hub.list-commits", "shop.stock", "shop.steal")


async def test_a_server_cannot_take_the_name_of_a_tool_of_the_toolbox():
    async with servers(shop=raw("stock")) as mcp:
        await mcp.tools()
        neuron = Governed().in_trial(tools=("shop.stock",))
        lent = tools(mcp).lent(neuron, require=lambda: None, on_call=lambda _: None)
        assert lent is not None
        assert (await lent.call("shop.stock", {})).data == b"1"


@pytest.mark.parametrize(
    ("changes", "timeout_ms"), [({}, 1_000), ({"tier": "network"}, 15_000), ({"tools": ("shop.stock",)}, 15_000)]
)
def test_a_neuron_that_waits_for_others_has_the_time_for_it(changes, timeout_ms):
    assert program_of(Governed().in_trial(**changes), NeuronSettings()).timeout_ms == timeout_ms


TICKETS = {
    "name": "TicketWatch",
    "purpose": "Tell of new tickets",
    "inputSignals": ["door_opened"],
    "outputSignals": ["new_ticket"],
    "energyBudget": 0.05,
    "tools": ["helpDesk.echo"],
    "code": "try { emit('new_ticket', await tools.helpDesk.echo({ id: 7 })); } catch { /* another time */ }",
}


@pytest.mark.deno
async def test_a_habit_over_a_server_becomes_a_neuron_that_calls_it(tmp_path, nothing_left, monkeypatch, caplog):
    monkeypatch.setattr("neurons.quarantine.queue.LOOK_S", 0.1)
    heard = tmp_path / "heard"
    life = Life(tmp_path / "home", mcpServers={"help-desk": raw("echo", heard=str(heard))})
    async with life.cortex() as cortex:
        cortex.autonomic.watch(life.signals.append)
        for _ in range(3):
            async with cortex.turn() as turn:
                call = {"purpose": "look for tickets", "code": "return await tools.helpDesk.echo({ id: 7 })"}
                assert await turn.call("core.execute", call) == '{"id":7}'
        with anyio.fail_after(30):
            while not cortex.learning.habits.all():
                await anyio.sleep(0.02)
        calls = heard.read_text().count("tools/call")
        neuron = await life.propose(cortex, TICKETS)
        assert neuron.status is Status.AWAITING_OWNER, neuron.reason
        assert neuron.tools == ("help-desk.echo",)
        assert heard.read_text().count("tools/call") == calls, "a quarantine calls no real tool"
        await life.approve(cortex, neuron)
        await life.open_doors(cortex)
        await until_so(lambda: life.heard("new_ticket") == [{"id": 7}])
        told = [
            r.facts for r in cortex.audit.records() if r.kind == "tool_call" and r.facts["tool"] == "help-desk.echo"
        ]
        assert len(told) == 4
    # And in the next process, where nobody has started the server: the neuron waits for it, and not the other way.
    life.signals.clear()
    async with life.cortex() as cortex:
        cortex.autonomic.watch(life.signals.append)
        cortex.autonomic.emit("door_opened", {})
        await until_so(lambda: life.heard("new_ticket") == [{"id": 7}])
        assert cortex.learning.store.get("ticket-watch").trial.counters.errors == 0
    # That a server takes its time is no trouble that anybody need hear of.
    assert [record for record in caplog.records if "has no process" in record.message and record.levelno > 20] == []
