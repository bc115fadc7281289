"""A real cortex behind the server: its limits hold for clients as they do for its own agent."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from mcp import Client

from cortex import MotorCortex, Settings
from cortex.mcp_server import mcp_server
from cortex.sections import EnergySettings
from sandbox import ExecutionOutcome, Metrics, SandboxSettings, Tier
from sandbox.testing import ScriptedRuntime

DONE = ExecutionOutcome(ok=True, result={"total": 42}, metrics=Metrics(execution_ms=2.0, startup_ms=1.0))
WITH_HOST = {"network": {"allow": ["api.example.com"]}}


@asynccontextmanager
async def clients(home, runtime=None, **sections):
    sections.setdefault("energy", EnergySettings(cost_isolated=0, recharge_per_minute=0))
    settings = Settings(home=home, **sections)
    async with (
        MotorCortex(settings, runtime=runtime or ScriptedRuntime([])) as cortex,
        Client(mcp_server(cortex, settings)) as client,
    ):
        yield client, cortex


@pytest.mark.parametrize(
    ("config", "sandbox", "asked"),
    [
        ({}, {}, (Tier.ISOLATED, 5_000)),
        ({"timeoutMs": 700}, {}, (Tier.ISOLATED, 700)),
        ({"timeoutMs": 3_600_000, "heapLimitMB": 65_536}, {}, (Tier.ISOLATED, 5_000)),
        ({"allowNetwork": False, "allowWrite": False, "allowedReadPaths": []}, {}, (Tier.ISOLATED, 5_000)),
        ({"allowNetwork": True, "timeoutMs": 3_600_000}, WITH_HOST, (Tier.NETWORK, 30_000)),
        ({"timeoutMs": 30_000}, WITH_HOST, (Tier.ISOLATED, 5_000)),
    ],
)
async def test_a_config_narrows_and_never_widens(config, sandbox, asked, tmp_path):
    runtime = ScriptedRuntime([DONE])
    async with clients(tmp_path, runtime, sandbox=SandboxSettings.model_validate(sandbox)) as (client, _):
        await client.list_tools()  # so that the client checks the result by the schema
        given = {"code": "return tools", "context": {"a": 1}, "sandbox_config": config}
        result = await client.call_tool("execute_code", given)
    assert (result.is_error, result.structured_content["result"]) == (False, {"total": 42})
    assert result.structured_content["metrics"]["executionTimeMs"] == 2.0
    [request] = runtime.requests
    assert (request.tier, request.timeout_ms, request.context) == (*asked, {"a": 1})


WRONG = [
    {"code": "x", "sandbox_config": {"allowNetwork": True}},
    {"code": "x", "sandbox_config": {"allowWrite": True}},
    {"code": "x", "sandbox_config": {"allowedReadPaths": ["/etc/passwd"]}},
    {"code": "x", "sandbox_config": {"allowRun": True}},
    {"code": "x", "sandbox_config": {"timeoutMs": "soon"}},
    {"code": "x", "sandbox_config": {"timeoutMs": -1}},
    {"code": "x", "sandbox_config": {"heapLimitMB": True}},
    {"code": "x", "sandbox_config": [1]},
    {"code": "x", "context": "no object"},
    {"code": "x", "intent": 7},
    {"code": ""},
    {"code": ["x"]},
    {"code": None},
    {},
]


async def test_what_is_wrong_with_arguments_is_an_answer(tmp_path):
    async with clients(tmp_path) as (client, _):
        for arguments in WRONG:
            result = await client.call_tool("execute_code", arguments)
            assert result.is_error, arguments
            assert result.content[0].text.startswith("EXECUTION_DENIED: ")
            assert result.structured_content["error"]["message"]


async def test_so_it_is_with_the_tools_of_the_core(tmp_path):
    async with clients(tmp_path) as (client, _):
        for name in ("core_execute", "core_search", "core_describe", "core_consolidate"):
            for arguments in ({}, {"code": ""}, {"query": ""}, {"tools": {}}, {"x" * 100_000: 1}):
                result = await client.call_tool(name, arguments)
                assert result.is_error, (name, arguments)
                assert result.content[0].text


async def test_each_call_is_a_turn_and_takes_energy(tmp_path):
    runtime = ScriptedRuntime([DONE] * 3)
    energy = EnergySettings(initial_level=0.2, recharge_per_minute=0)
    async with clients(tmp_path, runtime, energy=energy) as (client, cortex):
        runs = [await client.call_tool("execute_code", {"code": "return Date.now()"}) for _ in range(3)]
        turns = {record.facts.get("turn") for record in cortex.audit.records() if record.kind == "execution"}
    assert [run.is_error for run in runs] == [False, False, True]
    assert "energy" in runs[2].content[0].text
    assert len(turns) == 2


async def test_the_kill_switch_holds_for_clients(tmp_path):
    async with clients(tmp_path) as (client, cortex):
        cortex.switch.turn_on("enough", by="owner")
        for name in ("execute_code", "core_execute"):
            result = await client.call_tool(name, {"purpose": "x", "code": "return 1"})
            assert result.is_error
            assert "enough" in result.content[0].text
        assert not (await client.call_tool("core_energy", {})).is_error
