"""`core.consolidate`: it proposes at once, says what happens next, and does nothing else."""

from __future__ import annotations

import dataclasses
import json

import pytest

from cortex import Decision, MotorCortex, ScriptedOwner, Settings
from cortex.contracts.events import Proposed as ProposedEvent, Refused
from cortex.settings.sections import ToolSettings
from cortex.tools import Toolbox, arguments_for
from cortex.turn.consolidate_tool import ConsolidateTool, ProposalAccepted
from neurons import Fingerprint, FingerprintReader, Status, StorageError
from sandbox import SandboxError
from sandbox.testing import ScriptedRuntime
from tests.cortex.learning.support import MAX_CODE_BYTES, PROPOSAL, learning_cortex
from tests.neurons.governance import Governed


async def proposed(home, pipeline, arguments=PROPOSAL, **more):
    async with learning_cortex(home, pipeline=pipeline, **more) as cortex, cortex.turn() as turn:
        return await turn.call("core_consolidate", arguments), cortex


async def test_a_proposal_is_in_quarantine_when_the_answer_comes(tmp_path):
    pipeline = Governed()
    text, cortex = await proposed(tmp_path, pipeline, json.dumps(PROPOSAL))
    [neuron] = pipeline.store.load_all()
    assert neuron.status is Status.QUARANTINE
    assert (neuron.name, neuron.metadata.author, neuron.metadata.approved_by) == ("CryptoPrice", "agent", None)
    assert (neuron.input_signals, neuron.output_signals, neuron.energy_budget) == (("tick",), ("price_change",), 0.02)
    assert text.startswith('Proposed: "CryptoPrice" (id crypto-price) is in quarantine, the first of four stages')
    assert "only the owner can approve it" in text
    assert cortex.events == [ProposedEvent("crypto-price", "CryptoPrice", "Tell when the price moves")]
    [call] = cortex.recorded("tool_call")
    assert (call["tool"], call["ok"], call["origin"]) == ("core.consolidate", True, "model")
    assert "code" not in call


async def test_all_that_the_seed_and_the_issue_name_can_be_given(tmp_path):
    pipeline = Governed()
    whole = {
        **PROPOSAL,
        "tier": "network",
        "hosts": ["https://API.example.com/v1/", "http://localhost:8000"],
        "tools": "shop.stock, shop.order",
    }
    await proposed(tmp_path, pipeline, whole)
    [neuron] = pipeline.store.load_all()
    assert (neuron.tier, neuron.hosts) == ("network", ("api.example.com", "http://localhost:8000"))
    assert neuron.tools == ("shop.stock", "shop.order")


async def test_a_proposal_with_hosts_and_no_tier_has_the_network_tier(tmp_path):
    pipeline = Governed()
    await proposed(tmp_path, pipeline, {**PROPOSAL, "hosts": ["api.example.com"]})
    assert pipeline.store.load_all()[0].tier == "network"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": ""}, 'needs "name"'),
        ({"code": " "}, 'needs "code"'),
        ({"purpose": None}, 'needs "purpose"'),
        ({"inputSignals": []}, "a neuron answers something"),
        ({"energyBudget": 0}, 'needs "energyBudget"'),
        ({"energyBudget": 2}, "energyBudget"),
        ({"energyBudget": -0.1}, "energyBudget"),
        ({"energyBudget": "a lot"}, '"energyBudget" is a number'),
        ({"name": "x" * 100}, "name"),
        ({"name": "core.execute"}, "name"),
        ({"name": "tick"}, "name"),
        ({"inputSignals": ["Not A Signal!"]}, "inputSignals"),
        ({"inputSignals": [{"a": 1}]}, "is a list of names"),
        ({"outputSignals": ["tick"]}, "outputSignals"),
        ({"outputSignals": ["core.say"]}, "outputSignals"),
        ({"tools": ["core.execute"]}, "tools"),
        ({"tools": ["core_consolidate"]}, "tools"),
        ({"hosts": ["not a host"], "tier": "network"}, "hosts"),
        ({"hosts": ["api.example.com"], "tier": "isolated"}, "network"),
        ({"tier": "root"}, '"tier" is one of'),
        ({"code": "x" * (MAX_CODE_BYTES + 1)}, "bytes"),
    ],
)  # fmt: skip
async def test_what_cannot_be_proposed_is_refused_with_the_reason_and_nothing_is_kept(changes, says, tmp_path):
    pipeline = Governed()
    text, cortex = await proposed(tmp_path, pipeline, {**PROPOSAL, **changes})
    assert text.startswith("EXECUTION_DENIED: ")
    assert says in text
    assert pipeline.store.load_all() == []
    assert [type(event) for event in cortex.events] == [Refused]
    assert [refusal["tool"] for refusal in cortex.recorded("refusal")] == ["core.consolidate"]


async def test_an_existing_neuron_cannot_be_modified(tmp_path):
    pipeline = Governed()
    before = pipeline.active(name="CryptoPrice")
    text, _ = await proposed(tmp_path, pipeline, {**PROPOSAL, "name": "crypto price", "code": "emit('a', 1)"})
    assert text.startswith("EXECUTION_DENIED: ")
    assert "existing neurons cannot be changed" in text
    assert pipeline.store.load_all() == [before]


async def test_the_number_of_pending_proposals_is_limited(tmp_path):
    pipeline = Governed(proposals={"max_pending": 1})
    await proposed(tmp_path, pipeline)
    text, _ = await proposed(tmp_path, pipeline, {**PROPOSAL, "name": "Another", "code": "emit('price_change', 2)"})
    assert "pending" in text


async def test_rejected_code_is_refused_again_also_with_other_names(tmp_path):
    async def read(code: str) -> Fingerprint:
        return Fingerprint(shape="the same shape", parts={})

    pipeline = Governed()
    given = {"read": read}
    await proposed(tmp_path, pipeline, consolidate=given)
    pipeline.reject("crypto-price", "no")
    text, _ = await proposed(
        tmp_path,
        pipeline,
        {**PROPOSAL, "name": "Weather", "code": "emit('price_change', { cost: 2 })"},
        consolidate=given,
    )
    assert text.startswith("EXECUTION_DENIED: ")
    assert "reject" in text


async def test_rejected_code_is_refused_again_also_with_one_line_more(tmp_path):
    base = 'const p = signal.data?.price; if (p > 10) emit("price_change", { p });'
    pipeline = Governed(proposals={"max_per_day": 99})
    async with FingerprintReader() as reader:
        given = {"read": reader.read}
        await proposed(tmp_path, pipeline, {**PROPOSAL, "code": base}, consolidate=given)
        pipeline.reject("crypto-price", "never propose this again")
        for again in (
            f"void 0;{base}",
            f"if (true) {{{base}}}",
            f'console.log("x");{base}',
            base.replace("const p", "const q").replace("(p >", "(q >").replace("{ p }", "{ p: q }"),
        ):
            text, _ = await proposed(tmp_path, pipeline, {**PROPOSAL, "code": again}, consolidate=given)
            assert "the owner has rejected this" in text, again
        other = "state.n = (state.n ?? 0) + 1; for (const x of signal.data.list) emit('price_change', x.map(String));"
        text, _ = await proposed(tmp_path, pipeline, {**PROPOSAL, "code": other}, consolidate=given)
        assert text.startswith("Proposed: ")


async def test_code_that_cannot_be_read_is_not_proposed(tmp_path):
    async def read(code: str) -> Fingerprint | None:
        return None

    pipeline = Governed()
    text, _ = await proposed(tmp_path, pipeline, consolidate={"read": read})
    assert text.startswith("EXECUTION_DENIED: ")
    assert "too nested to be read" in text
    assert pipeline.store.load_all() == []


async def test_code_that_cannot_be_compared_is_proposed_all_the_same(tmp_path):
    async def read(code: str) -> Fingerprint | None:
        raise SandboxError("the process died")

    pipeline = Governed()
    text, _ = await proposed(tmp_path, pipeline, consolidate={"read": read})
    assert text.startswith("Proposed: ")


@dataclasses.dataclass
class Habit:
    id: str
    hosts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    last_at: float = 0.0


HABITS = (
    Habit("aaaa", hosts=("api.example.com",), last_at=1),
    Habit("bbbb", hosts=("api.example.com",), last_at=2),
    Habit("cccc", tools=("shop.stock",), last_at=3),
)


@pytest.mark.parametrize(
    ("changes", "habit"),
    [
        ({"habit": "aaaa"}, "aaaa"),
        ({"habit": " cccc "}, "cccc"),
        ({"hosts": ["api.example.com:8443"]}, "bbbb"),
        ({"habit": "unknown", "hosts": ["api.example.com"]}, "bbbb"),
        ({"tools": ["shop.stock"]}, "cccc"),
        ({"hosts": ["other.example.com"]}, None),
        ({"habit": "aa"}, None),
        ({}, None),
    ],
)  # fmt: skip
async def test_a_proposal_knows_the_habit_that_it_came_from(changes, habit, tmp_path):
    pipeline = Governed()
    await proposed(tmp_path, pipeline, {**PROPOSAL, **changes}, consolidate={"habits": lambda: HABITS})
    assert pipeline.store.load_all()[0].metadata.habit == habit


async def test_the_quarantine_is_told_at_once_and_its_failure_harms_no_proposal(tmp_path):
    pipeline = Governed()
    told = []

    def on_proposed(neuron):
        told.append(neuron.id)
        raise RuntimeError("no")

    text, _ = await proposed(tmp_path, pipeline, consolidate={"on_proposed": on_proposed})
    assert text.startswith("Proposed: ")
    assert told == ["crypto-price"]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (StorageError('Cannot write "neurons/x": disk full'), 'EXECUTION_DENIED: Cannot write "neurons/x": disk full'),
        (
            OSError(28, "No space left on device"),
            "EXECUTION_DENIED: The home cannot be written: No space left on device",
        ),
        (ZeroDivisionError("secret"), "EXECUTION_ERROR: InternalError: the host failed with ZeroDivisionError"),
    ],
)
async def test_propose_never_raises(error, text, tmp_path):
    class Broken:
        def propose(self, *_, **__):
            raise error

    assert (await proposed(tmp_path, Broken()))[0] == text


async def test_where_an_agent_cannot_learn_it_is_told_so(tmp_path):
    owner = ScriptedOwner()
    tools = ToolSettings(policies={"core.consolidate": "ask"})
    async with learning_cortex(tmp_path, owner=owner, tools=tools) as cortex, cortex.turn() as turn:
        text = await turn.call("core.consolidate", PROPOSAL)
        unknown = await turn.call("core.nothing", {})
    assert text == "EXECUTION_DENIED: Learning is switched off here; go on without it"
    assert "core_consolidate" not in unknown
    assert owner.questions == []


async def test_a_policy_can_deny_it(tmp_path):
    pipeline = Governed()
    tools = ToolSettings(policies={"core.consolidate": "deny"})
    text, _ = await proposed(tmp_path, pipeline, tools=tools)
    assert text == "EXECUTION_DENIED: the owner does not allow core.consolidate"
    assert pipeline.store.load_all() == []


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_policy_can_have_the_owner_asked_who_sees_the_code(allowed, tmp_path):
    from cortex.tools.owner import describe

    pipeline = Governed()
    owner = ScriptedOwner([Decision(allowed)])
    tools = ToolSettings(policies={"core.consolidate": "ask"})
    code = "emit('price_change', 1)\n// \u202e second line"
    text, _ = await proposed(tmp_path, pipeline, {**PROPOSAL, "code": code}, owner=owner, tools=tools)
    shown = describe(owner.questions[0]).split("\n")
    assert shown[0] == "The agent wants to call core.consolidate"
    assert "  | // ⟨U+202E⟩ second line" in shown
    assert any("Tell when the price moves" in line for line in shown)
    assert text.startswith("Proposed: " if allowed else "EXECUTION_DENIED: the owner was asked")
    # A yes to the call is not a yes to the neuron.
    assert [neuron.status for neuron in pipeline.store.load_all()] == [Status.QUARANTINE] * allowed


async def test_while_the_kill_switch_is_on_nothing_is_proposed(tmp_path):
    pipeline = Governed()
    async with learning_cortex(tmp_path, pipeline=pipeline) as cortex, cortex.turn() as turn:
        cortex.parts.switch.turn_on("a test", by="owner")
        text = await turn.call("core.consolidate", PROPOSAL)
    assert text.startswith("EXECUTION_DENIED: Kill switch is on")
    assert pipeline.store.load_all() == []


async def test_the_kill_switch_is_looked_at_again_after_the_owner_was_asked(tmp_path):
    pipeline = Governed()
    tools = ToolSettings(policies={"core.consolidate": "ask"})
    switched = []

    class Owner:
        async def decide(self, question):
            switched.append(cortex.parts.switch.turn_on("meanwhile", by="owner"))
            return Decision(allowed=True)

    async with (
        learning_cortex(tmp_path, pipeline=pipeline, owner=Owner(), tools=tools) as cortex,
        cortex.turn() as turn,
    ):
        text = await turn.call("core.consolidate", PROPOSAL)
    assert switched
    assert text.startswith("EXECUTION_DENIED: Kill switch is on")
    assert pipeline.store.load_all() == []


async def test_the_tool_alone_answers_with_the_stage():
    pipeline = Governed()
    done = await ConsolidateTool(pipeline, max_code_bytes=MAX_CODE_BYTES).propose(
        arguments_for("core.consolidate", PROPOSAL)
    )
    assert isinstance(done, ProposalAccepted)
    assert done.neuron.status is Status.QUARANTINE


def test_no_tool_of_a_program_can_take_its_name():
    for name in ("core.consolidate", "core_consolidate", "Core.Consolidate", "core-consolidate"):
        with pytest.raises(ValueError, match="those of the cortex itself"):
            Toolbox().add(lambda: None, name=name)


def test_it_is_a_tool_that_settings_may_name():
    assert Settings(home="unused", tools={"policies": {"core.consolidate": "deny"}}).tools.policies


class Hosting(ScriptedRuntime):
    """A runtime that could keep programs, and is never asked to."""

    def resident(self, *_, **__):
        raise AssertionError("nothing is awake here")


@pytest.mark.parametrize(("policy", "offered"), [("allow", True), ("ask", True), ("deny", False)])
async def test_a_model_is_not_told_of_it_where_the_owner_denies_it(policy, offered, tmp_path):
    settings = Settings(home=tmp_path, tools={"policies": {"core.consolidate": policy}})
    async with MotorCortex(settings, runtime=Hosting([])) as cortex:
        for api in ("chat", "responses"):
            told = [tool.get("function", tool)["name"] for tool in cortex.openai_tools(api)]
            assert ("core_consolidate" in told) == offered
