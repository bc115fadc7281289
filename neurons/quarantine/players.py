"""Runs scripts and candidates in resident processes, one world after the other, under a fixed clock and seed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sandbox import HostRule, NetworkPolicy, ResidentProgram, Tier

from ..contracts import (
    BUILT_IN,
    SCHEDULE,
    Schedule,
    Signal,
    as_given,
    energy,
    hour_changed,
    program_of,
    schedule_due,
    tick,
    user_message,
)
from ..functions import call_function
from .verdicts import Gave
from .worlds import AroundRun, Calls, policy_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sandbox import HostTools, Resident, ResidentHost, SignalAnswer

    from ..contracts import Neuron, NeuronSettings
    from .worlds import World

_MAX_BYTES = 512 * 1024
_GAVE = "gave"
# What could not be JSON is looked for here: later it would be null.
_WRAPPED = """const {{ context, given__ }} = signal.data;
const isOdd__ = (v, d) => typeof v === "number" ? !Number.isFinite(v)
  : d < 20 && v !== null && typeof v === "object" && Object.values(v).some((one) => isOdd__(one, d + 1));
try {{
  let value__ = await (async () => {{
{code}
  }})();
  if (typeof value__ === "function" && value__.length === 0) value__ = await value__();
  emit("gave", {{ value: value__, isOdd: isOdd__(value__, 0) }});
}} catch (error__) {{
  const message = String(error__?.message ?? error__).slice(0, 300);
  emit("gave", {{ error: String(error__?.name ?? "Error"), message }});
}}"""


class Player:
    """One process, and the world that it is in."""

    def __init__(self, resident: Resident, around: AroundRun, neuron: Neuron | None) -> None:
        self._resident = resident
        self._around = around
        self._neuron = neuron

    async def play(self, world: World) -> Gave:
        self._around.enter(world)
        neuron, calls = self._neuron, self._around.calls
        if neuron is not None and neuron.is_function:
            called = await call_function(self._resident, world.arguments, at=world.at * 1000)
            if called.error is not None:
                return Gave(failed=f"{called.error.type.value}: {called.error.message}", calls=calls)
            return Gave(value=called.result, calls=calls)
        data = {"context": world.context, "given__": world.arguments}
        signal = Signal("go", "cortex", data, at=world.at, id="") if neuron is None else _signal(neuron, world)
        [answer] = (await self._resident.handle([as_given(signal)], {})).answers
        if not answer.ok:
            error = answer.error
            kind, message = ("", "no answer") if error is None else (error.type.value, error.message)
            return Gave(failed=f"{kind}: {message}", error="ToolError", calls=calls)
        return _of_script(answer, calls) if neuron is None else Gave(emitted=answer.emitted, calls=calls)


@asynccontextmanager
async def script_player(
    code: str,
    hosts: ResidentHost,
    settings: NeuronSettings,
    *,
    tools: Sequence[str],
    urls: Sequence[str],
    real: HostTools | None = None,
    is_expression: bool = False,
) -> AsyncIterator[Player]:
    """A process for a recorded script, with all that its runs asked for. `urls` are those that they asked for. It has
    the schemas of the tools as the candidate has them: what only one of them is refused would be a difference."""
    where = AroundRun(tools, real)
    body = f"return (0,\n{code.rstrip().rstrip(';')}\n)" if is_expression else code
    program = ResidentProgram(
        code=_WRAPPED.format(code=body),
        tier=Tier.NETWORK if urls else Tier.ISOLATED,
        timeout_ms=settings.autonomic.timeout_isolated_ms * 5,
        max_signal_bytes=_MAX_BYTES,
        max_memory_mb=settings.autonomic.max_memory_mb,
        deterministic=True,
    )
    async with hosts.resident(program, where, network=where.network(policy_for(urls))) as resident:
        yield Player(resident, where, None)


@asynccontextmanager
async def candidate_player(
    neuron: Neuron,
    hosts: ResidentHost,
    settings: NeuronSettings,
    tools: HostTools | None,
    network: NetworkPolicy | None,
) -> AsyncIterator[Player]:
    where = AroundRun(neuron.tools, tools)
    policy = network or NetworkPolicy(allow=tuple(HostRule.model_validate(host) for host in neuron.hosts))
    program = replace(program_of(neuron, settings), deterministic=True)
    async with hosts.resident(program, where, network=where.network(policy)) as resident:
        yield Player(resident, where, neuron)


def _of_script(answer: SignalAnswer, calls: Calls) -> Gave:
    data: Any = next((data for type_, data in answer.emitted if type_ == _GAVE), None)
    if not isinstance(data, dict):
        return Gave(failed="gave no answer", error="ToolError", calls=calls)
    if "error" in data:
        return Gave(failed=f"{data['error']}: {data.get('message', '')}", error=str(data["error"]), calls=calls)
    return Gave(value=data.get("value"), is_odd=bool(data.get("isOdd")), calls=calls)


def _signal(neuron: Neuron, world: World) -> Signal:
    """The signal that a neuron would have done the same at."""
    moment = datetime.fromtimestamp(world.at, UTC)
    type_ = SCHEDULE if neuron.schedules else neuron.input_signals[0]
    made: dict[str, Any] = {
        "tick": lambda: tick(1, 60),
        "hour_changed": lambda: hour_changed(moment),
        "energy": lambda: energy(0.7, 0.8),
        "user_message": lambda: user_message("What is new?"),
        SCHEDULE: lambda: schedule_due(str((neuron.schedules or (Schedule(every="15m"),))[0]), moment, 0),
    }
    data = made[type_]() if type_ in made else world.context
    source = "cortex" if type_ in BUILT_IN else "host"
    return Signal(type_, source, data, at=world.at, id="0" * 16)
