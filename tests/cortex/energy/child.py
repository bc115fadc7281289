"""A process that starts others, all with the energy of one home. It reads orders and answers, a JSON text a line.

Workers are forked here and not in the test's process, which has threads, and which a fork would copy.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import anyio

from cortex.energy import EnergyReserve, Reservation
from cortex.settings.sections import EnergySettings
from sandbox import Tier

SYSTEM_MODULES = {"posix", "fcntl"}


def reserve_of(order: dict[str, Any]) -> EnergyReserve:
    settings = EnergySettings.model_validate(order.get("settings", {}))
    return EnergyReserve(Path(order["state"]), settings, now=lambda: order.get("now", 1_800_000_000.0))


def spend(order: dict[str, Any]) -> None:
    """Take until nothing is left, each time with a receipt once it was granted; settle some."""
    chance = random.Random(order["seed"])
    receipts = os.open(order["receipts"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    reserve = reserve_of(order)
    while "start" in order and not os.path.exists(order["start"]):
        os.sched_yield()  # all at the same time; the test ends the waiting

    async def loop() -> None:
        while isinstance(taken := await reserve.take(chance.choice(list(Tier)), turn=str(os.getpid())), Reservation):
            settled = taken.cost
            if chance.random() < order.get("settles", 0):
                settled = round(chance.uniform(0, 2 * taken.cost), 6)
                await reserve.settle(taken, settled)
            os.write(receipts, json.dumps([taken.seq, taken.cost, settled]).encode() + b"\n")

    anyio.run(loop)


def pause(order: dict[str, Any]) -> None:
    """Set the level, and stop once before the first call of that name until somebody wakes this process."""
    reserve = reserve_of(order)

    def stop(frame: FrameType, event: str, argument: object) -> None:
        if event == "c_call" and getattr(argument, "__name__", None) == order["before"]:
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGSTOP)

    sys.setprofile(stop)
    reserve.set(order["level"])


def step(order: dict[str, Any]) -> None:
    """One thing, and the end of the process before its n-th call of the system, if it makes so many."""
    reserve = reserve_of(order)
    left = order["calls"]

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        if event == "c_call" and getattr(argument, "__module__", None) in SYSTEM_MODULES:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    async def take() -> None:
        sys.setprofile(count)  # not before: the event loop makes calls too
        await reserve.take(Tier.ISOLATED)
        sys.setprofile(None)

    if order["step"] == "take":
        anyio.run(take)
        return
    sys.setprofile(count)
    if order["step"] == "set":
        reserve.set(0.5)
    else:
        reserve.level()
    sys.setprofile(None)


WORK: dict[str, Callable[[dict[str, Any]], None]] = {"spend": spend, "pause": pause, "step": step}


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "wait":
            _, status = os.waitpid(order["pid"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork()
            if answer == 0:
                try:
                    WORK[order["do"]](order)
                except Exception as error:  # noqa: BLE001 - a fork must end here, whatever happened
                    print(repr(error), file=sys.stderr, flush=True)
                    os._exit(1)
                os._exit(0)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
