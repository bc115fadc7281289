"""Commands that only look at a home import nothing that only runs and decisions need: an owner looks often."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from benchmarks.looks import LOOKS, fill
from cortex.commands import COLLECTED_AFTER, run_command

HEAVY = [
    "asyncio",
    "ssl",
    "subprocess",
    "sqlite3",
    "httpx2",
    "openai",
    "mcp",
    "rich",
    "tree_sitter",
    "starlette",
    "multiprocessing",
    "cortex.motor_cortex",
    "cortex.turn",
    "cortex.loop",
    "cortex.models",
    "cortex.mcp_client",
    "cortex.catalogue",
    "cortex.learning",
    "cortex.workflows",
    "cortex.chat",
    "cortex.demo",
    "sandbox.runtime",
    "sandbox.run",
    "sandbox.guard",
    "sandbox.network.broker",
    "neurons.quarantine",
    "neurons.pipeline.pipeline",
    "neurons.autonomic.autonomic",
    "neurons.habits.fingerprint_shape",
]
PROGRAM = """
import sys
from cortex.commands import run_command
code = run_command(sys.argv[2:])
print([name for name in sys.argv[1].split() if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("looks") / "home"
    anyio.run(fill, home)
    return home


@pytest.mark.parametrize("look", [*LOOKS, "neurons history watch-0"])
def test_a_look_imports_nothing_that_only_runs_and_decisions_need(look, home):
    command = [sys.executable, "-c", PROGRAM, " ".join(HEAVY), *look.split(), "--home", str(home)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "[]"), done.stderr


@pytest.mark.parametrize(
    ("look", "shown"),
    [("neurons list", "watch-4"), ("neurons habits", "Count list 3"), ("energy", "0.95"), ("audit", "energy")],
)
def test_the_home_that_is_looked_at_has_something_to_show(look, shown, home, capsys):
    assert run_command([*look.split(), "--home", str(home)]) == 0
    assert shown in capsys.readouterr().out


def test_the_program_does_not_look_for_garbage_while_it_imports():
    program = (
        "import gc, sys\nfrom cortex.commands import main\n"
        "try:\n    main(['energy', '--help'])\nfinally:\n    print(gc.get_threshold()[0], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.split()[-1]) == (0, str(COLLECTED_AFTER))
