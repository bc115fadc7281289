"""A real cortex behind the server: its limits hold for clients as they do for its own agent."""

from __future__ import annotations

from contextlib import asynccontextmanager

import anyio
import pytest
from mcp import Client

from cortex import MotorCortex, Settings
from cortex.mcp_server import mcp_server
from cortex.settings.sections import EnergySettings, ExecuteSettings
from neurons import KillSwitch
from sandbox import ExecutionOutcome, Metrics, SandboxSettings, Tier
from sandbox.testing import ScriptedRuntime

from .scripted import BOUND_S
from .test_serve_command import LONGEST_MS, busy, until

DONE = ExecutionOutcome(ok=True, result={"total": 42}, metrics=Metrics(execution_ms=2.0, startup_ms=1.0))
DENO = object()
WITH_HOST = {"network": {"allow": ["api.example.com"]}}


@asynccontextmanager
async def clients(home, runtime=None, **sections):
    sections.setdefault("energy", EnergySettings(cost_isolated=0, recharge_per_minute=0))
    settings = Settings(home=home, **sections)
    async with (
        MotorCortex(settings, runtime=None if runtime is DENO else runtime or ScriptedRuntime([])) as cortex,
        Client(mcp_server(cortex, settings)) as client,
    ):
        yield client, cortex


@pytest.mark.parametrize(
    ("config", "sandbox", "asked"),
    [
        ({}, {}, (Tier.ISOLATED, 5_000, None)),
        ({"timeoutMs": 700}, {}, (Tier.ISOLATED, 700, None)),
        ({"timeoutMs": 3_600_000}, {}, (Tier.ISOLATED, 5_000, None)),
        ({"heapLimitMB": 96}, {}, (Tier.ISOLATED, 5_000, 96)),
        ({"allowNetwork": False, "allowWrite": False, "allowedReadPaths": []}, {}, (Tier.ISOLATED, 5_000, None)),
        ({"allowNetwork": True, "timeoutMs": 3_600_000}, WITH_HOST, (Tier.NETWORK, 30_000, None)),
        ({"timeoutMs": 30_000}, WITH_HOST, (Tier.ISOLATED, 5_000, None)),
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
    assert (request.tier, request.timeout_ms, request.max_memory_mb) == asked
    assert request.context == {"a": 1}


FILL = "const a = []; for (let n = 0; n < MANY; n++) a.push(new Uint8Array(1 << 20).fill(1)); return a.length"


@pytest.mark.deno
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_client_can_ask_for_a_smaller_heap_and_not_for_a_larger_one(tmp_path):
    # So much time that no machine is too slow to fill the memory in it.
    execute, sandbox = (
        ExecuteSettings(max_timeout_isolated_ms=LONGEST_MS),
        SandboxSettings(pool_size=0, max_memory_mb=256),
    )
    async with clients(tmp_path, DENO, execute=execute, sandbox=sandbox) as (client, _):

        async def told(megabytes: int, limit: int) -> str:
            code = FILL.replace("MANY", str(megabytes))
            given = {"code": code, "sandbox_config": {"heapLimitMB": limit}}
            return (await client.call_tool("execute_code", given)).content[0].text

        assert await told(100, 200) == "100"
        assert (await told(100, 96)).startswith("EXECUTION_ERROR: MemoryError")
        assert (await told(300, 65_536)).startswith("EXECUTION_ERROR: MemoryError")


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


async def test_wrong_arguments_of_core_tools_are_an_answer_too(tmp_path):
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


ASKED = {"purpose": "x", "code": "return 1", "query": "x", "tools": ["x"]}
RUNNING = ("execute_code", "core_execute", "core_search", "core_describe")


async def test_the_kill_switch_holds_for_clients(tmp_path):
    runtime = ScriptedRuntime([])  # one that does not look at the switch by itself
    async with clients(tmp_path, runtime) as (client, cortex):
        before = await client.list_tools()
        cortex.switch.turn_on("enough", by="owner")
        for name in RUNNING:
            result = await client.call_tool(name, ASKED)
            assert result.is_error, name
            assert result.content[0].text.startswith("EXECUTION_DENIED: Kill switch is on"), name
            assert "enough" in result.content[0].text
        assert not (await client.call_tool("core_energy", {})).is_error
        assert (await client.list_tools()).tools == before.tools
    assert runtime.requests == []


@pytest.mark.deno
async def test_the_kill_switch_ends_the_calls_of_clients_and_they_can_go_on_after_it(tmp_path, nothing_left):
    switch = KillSwitch(tmp_path / "state")  # as another process has it
    results = []
    # Longer than the test waits: what ends sooner was ended.
    slow = {"execute": ExecuteSettings(max_timeout_isolated_ms=LONGEST_MS), "sandbox": SandboxSettings(pool_size=0)}
    async with clients(tmp_path, DENO, **slow) as (client, _):

        async def call() -> None:
            endless = {"purpose": "wait", "code": "for (;;);", "timeout": LONGEST_MS}
            results.append(await client.call_tool("core_execute", endless))

        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                await until(busy)
                switch.turn_on("enough", by="owner")
            assert results[0].is_error
            assert "Kill switch is on" in results[0].content[0].text
            await until(lambda: not busy())
            for name in (*RUNNING, "core_consolidate"):
                assert (await client.call_tool(name, ASKED)).content[0].text.startswith("EXECUTION_DENIED: Kill switch")
            switch.turn_off("looked at", "owner")
            while (result := await client.call_tool("core_execute", ASKED)).is_error:
                await anyio.sleep(0.05)  # the sandbox looks again in a moment
        assert result.content[0].text == "1"
