"""A budget that does not come back by itself, and runs that pay for what they used of it: the cost of the tier is
reserved before a run, and settled afterwards between a floor and a ceiling. The ledger has both.

Prints:

    2
    true
    EXECUTION_DENIED: Insufficient energy for code execution. The isolated tier needs 0.15 and the level is 0.09; it …
    2
    initial    0.30
    execution  0.25
    settled    0.29  0.05 to 0.01
    execution  0.24
    settled    0.09  0.05 to 0.20
    top-up     0.59
    execution  0.54
    settled    0.58  0.05 to 0.01
"""

from tempfile import TemporaryDirectory

import anyio

from cortex import MotorCortex, Settings

ENERGY = {
    "initial_level": 0.3,
    "recharge_per_minute": 0,
    "metered": {"enabled": True, "floor": 0.01, "ceiling": 0.2, "per_cpu_second": 2.0},
}
LIGHT = "return 1 + 1"
HEAVY = "let sum = 0; for (let n = 0; n < 3e8; n++) sum += n; return sum > 0"


async def main(home: str) -> None:
    # Without the cache: a result that is known from before costs next to nothing.
    async with MotorCortex(Settings(home=home, energy=ENERGY, cache={"enabled": False})) as cortex:
        for code in (LIGHT, HEAVY, LIGHT, LIGHT):
            async with cortex.turn() as turn:
                answer = await turn.answer("core.execute", {"purpose": "try", "code": code})
            print(answer.text)
            if not answer.ok:
                cortex.energy.top_up(0.5)  # the owner's to do: `cortex energy top-up 0.5`
        for entry in cortex.energy.entries():
            settled = "" if entry.settled is None else f"  {entry.reserved:.2f} to {entry.settled:.2f}"
            print(f"{entry.reason:9}  {entry.level:.2f}{settled}")


with TemporaryDirectory() as home:
    anyio.run(main, home)
