"""A process that runs jobs, to be killed or asked from outside: `python -m tests.cortex.jobs.host HOME WHAT`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import anyio

from cortex.jobs import JobRecords
from cortex.jobs.job_records import CUT_SHORT
from tests.cortex.jobs.support import Patient, begin, cortex

# One runs, the others wait.
ONE = {"pool_size": 1, "max_concurrent": 2}


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at_the_mark(state: str) -> None:
    """Kill this process when it is about to mark a job so, which is after its energy was settled."""
    write = JobRecords.write

    def mark(self: JobRecords, record: object) -> None:
        if record.state == state and record.reply != CUT_SHORT:  # not one that had begun
            die()
        write(self, record)

    JobRecords.write = mark


async def main(home: Path, what: str) -> None:
    if what == "settle":
        die_at_the_mark("cut_short")
        async with cortex(home, Patient()):
            raise AssertionError("there was nothing to settle")
    runtime = Patient()
    async with cortex(home, runtime, sandbox=ONE) as place, place.turn(conversation="c") as turn:
        handles = [await begin(turn) for _ in range(3)]
        await runtime.until_running()
        print(*handles, flush=True)
        if what == "die":
            die()
        if what == "cancel":
            die_at_the_mark("cancelled")
            place.jobs.cancel(handles[1])
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])
