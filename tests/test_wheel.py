"""The wheel, built and installed into a clean environment, without the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.deno

# What is imported must be what was installed, or the checkout would be tested.
FIRST = "import cortex, sandbox; assert 'clean' in sandbox.__file__ and 'clean' in cortex.__file__, sandbox.__file__\n"
COMMAND = "from cortex.commands import main; main()"
TURN = """
import anyio
from cortex import MotorCortex

async def main():
    async with MotorCortex() as cortex, cortex.turn() as turn:
        print(await turn.call("core.execute", {"purpose": "try", "code": "const n: number = 42; return n"}))
        print(len(cortex.openai_tools()))

anyio.run(main)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """Of an environment that has the wheel."""
    environment = tmp_path_factory.mktemp("installed") / "clean"
    venv.create(environment, with_pip=False)
    target = next(environment.glob("lib/python3*/site-packages"))
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=120, cwd=environment)
    # The dependencies are those of this environment, by a path file that does not lead to the checkout.
    (target / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return environment / "bin" / "python"


def run(python: Path, program: str, *arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [str(python), "-I", "-c", FIRST + program, *arguments],
        cwd=folder,
        capture_output=True,
        timeout=120,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
    )
    assert done.stderr.decode() == ""
    return done.stdout.decode()


def test_the_wheel_carries_the_harness_and_what_is_in_config(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "sandbox/data/deno/harness.js" in names
    assert {f"sandbox/data/config/{path.name}" for path in (ROOT / "config").iterdir()} <= {*names}
    assert {name.split("/")[0] for name in names} == {"cortex", "sandbox", "neurons", "motor_cortex-0.1.0.dist-info"}
    assert not [name for name in names if name.endswith(".ts")]


def test_the_wheel_runs_a_script_without_the_checkout(python, tmp_path):
    (tmp_path / "script.ts").write_text("const answer: number = 6 * 7; return { answer }")
    assert run(python, COMMAND, "run", "script.ts", folder=tmp_path) == '{"answer":42}\n'


def test_the_wheel_runs_a_turn_and_keeps_its_state_in_the_users_data_folder(python, tmp_path):
    assert run(python, TURN, folder=tmp_path) == "42\n5\n"
    assert (tmp_path / ".local" / "share" / "motor-cortex" / "state" / "energy.json").is_file()
    # The last one has the hash of the details of the run. Of two days if midnight was between them.
    assert re.match("ok 3 records in (1 file|2 files)", run(python, COMMAND, "audit", "verify", folder=tmp_path))
