"""Nothing that a client calls can approve a neuron or consent to anything: every tool is tried with every argument that
looks like it, over the protocol."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from mcp import Client

from cortex.mcp_server import mcp_server
from cortex.settings.sections import EnergySettings, ExecuteSettings, ToolSettings
from cortex.tools import core_definitions, openai_tools
from sandbox import ExecutionOutcome
from sandbox.testing import ScriptedRuntime
from tests.cortex.learning.support import PROPOSAL, learning_cortex
from tests.cortex.learning.test_nothing_approves import arguments, unchanged
from tests.neurons.governance import Governed

from .test_calls import NAMES, never_asked

OTHERS = ("core_approve", "neurons_approve", "approve", "owner_decide", "core.consolidate", "elicitation/create")


@asynccontextmanager
async def clients(home, pipeline, era: str, **sections):
    """A client of a cortex that learns. It would say yes to everything, and nobody asks it."""
    runtime = ScriptedRuntime([ExecutionOutcome(ok=True, result="approved")] * 10_000)
    async with learning_cortex(home, pipeline=pipeline, runtime=runtime, **sections) as cortex:

        class Served:
            def turn(self, watch=None, *, conversation=None):
                return cortex.turn()

            def openai_tools(self):
                return openai_tools(core_definitions(ExecuteSettings(), learns=True, searches=True))

        server = mcp_server(Served(), cortex.parts.settings)
        async with Client(server, mode=era, elicitation_callback=never_asked, sampling_callback=never_asked) as client:
            yield client


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_no_tool_with_no_argument_approves_anything(era, tmp_path):
    pipeline = Governed(proposals={"max_pending": 10_000, "max_per_day": 10_000})
    before = pipeline.waiting()
    given = [arguments for arguments in arguments(before) if isinstance(arguments, dict)]
    taken = 0
    async with clients(tmp_path, pipeline, era, energy=EnergySettings(cost_isolated=0)) as client:
        for name in (*NAMES, *OTHERS):
            for argument in given:
                result = await client.call_tool(name, argument)
                assert result.content[0].text
                taken += result.content[0].text.startswith("Proposed: ")
    unchanged(pipeline, before)
    # Some were proposals, which are parked, and that is all that they could be.
    assert taken == len(pipeline.store.load_all()) - 1 > 0


async def test_a_call_that_needs_consent_is_refused_without_an_owner(tmp_path):
    asking = ToolSettings(policies=dict.fromkeys(("core.execute", "core.consolidate"), "ask"))
    pipeline = Governed()
    async with clients(tmp_path, pipeline, "legacy", tools=asking) as client:
        for name, argument in (
            ("core_execute", {"purpose": "x", "code": "return 1"}),
            ("execute_code", {"code": "return 1"}),
            ("core_consolidate", PROPOSAL),
        ):
            result = await client.call_tool(name, argument)
            assert result.is_error
            assert result.content[0].text.startswith("EXECUTION_DENIED: ")
    assert pipeline.store.load_all() == []


async def test_a_proposal_of_a_client_waits_for_the_owner(tmp_path):
    pipeline = Governed()
    async with clients(tmp_path, pipeline, "2026-07-28") as client:
        result = await client.call_tool("core_consolidate", PROPOSAL)
    assert not result.is_error
    assert [neuron.status for neuron in pipeline.store.load_all()] == ["quarantine"]
