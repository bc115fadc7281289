"""Benchmark of learned functions: a call from code, beside a call of a lent tool in the same run."""

from __future__ import annotations

import json
from typing import Any

from cortex import MotorCortex, Settings, Toolbox
from cortex.settings.sections import EnergySettings
from neurons import Proposal, Report, ScenarioResult, code_hash, policy_hash

from .measure import Report as Tell, Row, folder_on_disk, p50

CALLS = 50
CODE = f"""
const time = async (call) => {{
  const began = performance.now();
  for (let i = 0; i < {CALLS}; i++) await call({{ p: 1000, r: 0.05, n: i }});
  return (performance.now() - began) / {CALLS};
}};
await tools.bank.interest({{ p: 1, r: 1, n: 1 }});
await tools.learned.compoundInterest({{ p: 1, r: 1, n: 1 }});
return [await time(tools.bank.interest), await time(tools.learned.compoundInterest)];
"""
NUMBER = {"type": "number"}
PROPOSAL: dict[str, Any] = {
    "name": "CompoundInterest",
    "purpose": "Compute compound interest",
    "code": "return args.p * (1 + args.r) ** args.n",
    "kind": "function",
    "parameters": {"p": NUMBER, "r": NUMBER, "n": NUMBER},
    "energyBudget": 0.5,
}


async def functions(rounds: int, report: Tell) -> None:
    toolbox = Toolbox()

    @toolbox.tool(name="bank.interest")
    async def interest(p: float, r: float, n: float) -> float:
        """Compute compound interest."""
        return p * (1 + r) ** n

    assert interest is not None
    with folder_on_disk() as home:
        energy = EnergySettings(recharge_per_minute=1_000_000)
        settings = Settings(home=home, energy=energy, cache={"enabled": False})
        async with MotorCortex(settings, toolbox=toolbox) as cortex:
            await _learn(cortex)
            tool, learned = [], []
            for _ in range(max(5, rounds // 2)):
                async with cortex.turn() as turn:
                    told = await turn.call("core.execute", {"purpose": "measure", "code": CODE, "timeout": 30_000})
                assert told.startswith("["), told
                lent_ms, learned_ms = json.loads(told.splitlines()[0])
                tool.append(lent_ms)
                learned.append(learned_ms)
    name = "a learned function called from code, p50"
    report(Row(name, p50(learned), p50(tool) + 1, "ms", 1.0, "a lent tool + 1 ms"))


async def _learn(cortex: MotorCortex) -> None:
    """As an owner has approved it; its quarantine is not measured here."""
    pipeline = cortex.learning.pipeline
    neuron = pipeline.propose(Proposal.of(PROPOSAL), max_code_bytes=50_000)
    tried = (ScenarioResult(name="typical", signals=1, ok=True),)
    hashes = {"code_hash": code_hash(neuron.code), "policy_hash": policy_hash(neuron.policy)}
    neuron = pipeline.judged(neuron.id, Report(at=0, scenarios=tried, **hashes))
    assert neuron.request is not None
    pipeline.approve(neuron.id, neuron.request.shown_hash)
    assert cortex._living is not None
    await cortex._living.functions.functions.look()
