"""Benchmark of the command line: the time from the start of `cortex` to its answer, on a warm disk."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sandbox import SandboxSettings
from sandbox.process.command import find_deno

from .measure import Report, Row, p50

COMMAND = "from cortex.commands import main; main()"


async def program(rounds: int, report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours.ts", Path(folder) / "theirs.ts"
        ours.write_text("return 1 + 1")
        theirs.write_text("console.log(1 + 1)")
        programs = {
            "python": python("pass"),
            "pydantic": python("import pydantic"),
            "import": python("import cortex"),
            "plugin": python("from cortex import MotorCortex"),
            "deno": [str(find_deno(SandboxSettings())), "run", str(theirs)],
            "run": [*python(COMMAND), "run", str(ours)],
        }
        for one in programs.values():
            answer_ms(one)  # from here on Python's bytecode is on disk
        taken: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(max(8, rounds // 3)):
            for name, one in programs.items():
                taken[name].append(answer_ms(one))
    time_of = {name: p50(values) for name, values in taken.items()}
    bare = time_of["python"] + time_of["deno"]
    report(Row("import cortex", time_of["import"], time_of["pydantic"], "ms", 1.0, "import pydantic"))
    report(Row("import cortex", time_of["import"], 150, "ms", 1.0, "limit"))
    report(Row("from cortex import MotorCortex", time_of["plugin"], time_of["pydantic"], "ms", 6.0, "import pydantic"))
    report(
        Row("cortex run, from the start to the answer", time_of["run"], bare, "ms", 12.0, "python and bare deno run")
    )
    report(Row("cortex run, from the start to the answer", time_of["run"], 300, "ms", 1.0, "limit"))


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def answer_ms(command: list[str]) -> float:
    """Milliseconds until the program prints something, or exits without output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment)
    assert process.stdout is not None
    process.stdout.read(1)
    taken = (time.perf_counter() - start) * 1000
    process.stdout.read()
    process.stdout.close()
    assert process.wait() == 0, command
    return taken
