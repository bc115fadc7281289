"""A neuron: proposed by an agent, tried, shown to its owner, approved by hash, awake, and stopped by the kill switch. A
model would make the proposal, and a person should decide on it; here both are this program.

Prints:

    agent: Proposed: "PriceWatch" (id price-watch) is in quarantine, the first of four stages: …
    owner: Agent wants to learn: PriceWatch neuron
    owner: on price it may emit price_change, for 0.01 energy at most; 3 of 3 scenarios passed
    price-watch is in trial: at least 24 hours and 50 signals
    price_change {'usd': 100, 'before': None}
    price_change {'usd': 102.5, 'before': 100}
    4 signals, 2 emitted, 0 errors
    killed: EXECUTION_DENIED: Kill switch is on since … (the example ends). The owner can turn it off with …
"""

from tempfile import TemporaryDirectory

import anyio
from anyio.abc import ObjectSendStream

from cortex import MotorCortex, Settings
from neurons import Notice, Signal

# The body of an async function with `signal`, `state` and `emit`. It runs once for each signal.
CODE = """
const usd = signal.data?.usd;
if (typeof usd !== "number") return;
// Against the last price that was told, and not the last one seen: four small steps are a change, too.
const before = state.told ?? null;
if (before !== null && Math.abs(usd - before) < 0.02 * Math.abs(before)) return;
state.told = usd;
emit("price_change", { usd, before });
"""
PROPOSAL = {
    "name": "PriceWatch",
    "purpose": "Tell when a price has moved by two per cent",
    "code": CODE,
    "inputSignals": ["price"],
    "outputSignals": ["price_change"],
    "energyBudget": 0.01,
}


class Letterbox:
    """Any object with this method is an OwnerChannel. It tells of a proposal, and decides nothing."""

    def __init__(self, stream: ObjectSendStream[Notice]) -> None:
        self._stream = stream

    async def notify(self, notice: Notice) -> None:
        await self._stream.send(notice)


def show(notice: Notice) -> None:
    """A part of it: `cortex neurons show price-watch` has all, the code among it."""
    neuron, scenarios = notice.neuron, notice.neuron.report.scenarios
    passed = f"{sum(one.ok for one in scenarios)} of {len(scenarios)} scenarios passed"
    may_do = f"on {', '.join(neuron.input_signals)} it may emit {', '.join(neuron.output_signals)}"
    print(f"owner: {notice.title}\nowner: {may_do}, for {neuron.energy_budget:g} energy at most; {passed}")


def told(signal: Signal) -> None:
    if signal.type == "price_change":
        print(signal.type, signal.data)


async def main(home: str) -> None:
    sending, receiving = anyio.create_memory_object_stream[Notice](1)
    async with sending, receiving, MotorCortex(Settings(home=home), channels=[Letterbox(sending)]) as cortex:
        async with cortex.turn() as turn:
            print("agent:", await turn.call("core.consolidate", PROPOSAL))
        with anyio.fail_after(30):
            notice = await receiving.receive()  # it has passed its quarantine
        show(notice)

        # Consent to what this very hash was shown for. Nothing that an agent can call comes here.
        neuron = cortex.learning.pipeline.approve(notice.neuron.id, notice.shown_hash[:8])
        await cortex.autonomic.refresh()  # it would wake up within a second by itself
        span = f"{(neuron.trial.ends_at - neuron.trial.started_at) / 3600:g} hours"
        print(f"{neuron.id} is in {neuron.status}: at least {span} and {neuron.trial.min_signals} signals")

        cortex.autonomic.watch(told)
        for usd in (100, 101, 100.5, 102.5):
            cortex.autonomic.emit("price", {"usd": usd})
        await cortex.autonomic.idle()
        [nerve] = cortex.autonomic.overview().nerves
        done = nerve.neuron.trial.counters
        print(f"{done.signals} signals, {done.emitted} emitted, {done.errors} errors")

        cortex.switch.turn_on("the example ends", "owner")  # as `cortex kill` does, from any process
        async with cortex.turn() as turn:
            print("killed:", await turn.call("core.execute", {"purpose": "try", "code": "return 1"}))


with TemporaryDirectory() as folder:
    anyio.run(main, folder)
