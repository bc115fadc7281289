"""The wheel, built and installed into a clean environment, without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.deno


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    return next(folder.glob("*.whl"))


def test_the_wheel_carries_the_harness_and_the_defaults(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "sandbox/data/deno/harness.js" in names
    assert "sandbox/data/config/defaults.toml" in names
    assert {name.split("/")[0] for name in names} == {"cortex", "sandbox", "neurons", "motor_cortex-0.1.0.dist-info"}
    assert not [name for name in names if name.endswith(".ts")]


def test_the_wheel_runs_a_script_without_the_checkout(wheel, tmp_path):
    environment = tmp_path / "clean"
    venv.create(environment, with_pip=False)
    target = next(environment.glob("lib/python3*/site-packages"))
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=120, cwd=tmp_path)
    # The dependencies are those of this environment, by a path file that does not lead to the checkout.
    (target / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    python = environment / "bin" / "python"
    (tmp_path / "script.ts").write_text("const answer: number = 6 * 7; return { answer }")
    program = "import cortex, sandbox, sys; assert 'clean' in sandbox.__file__, sandbox.__file__; from cortex.commands import main; main()"
    done = subprocess.run(
        [str(python), "-I", "-c", program, "run", "script.ts"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )
    assert done.stderr.decode() == ""
    assert done.stdout.decode() == '{"answer":42}\n'
