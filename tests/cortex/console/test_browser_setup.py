"""`make browser`: a Chromium for the tests of the console, installed where that needs no question, else told in one line."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent.parent
LINE = "*** SKIPPED: tests of the console in a browser. Install Chromium"


@pytest.fixture
def machine(tmp_path):
    """Runs the script on a machine that has only these programs."""

    def run(*arguments: str, user: int = 0, **programs: str) -> subprocess.CompletedProcess[str]:
        scripts = {"id": f"echo {user}", **{name.replace("_", "-"): text for name, text in programs.items()}}
        for name, text in scripts.items():
            path = tmp_path / name
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o700)
        if not (tmp_path / "cp").exists():
            (tmp_path / "cp").symlink_to(shutil.which("cp"))
        command = ["/bin/sh", str(ROOT / "tests" / "browser.sh"), *arguments]
        environment = {"PATH": str(tmp_path), "PLACE": str(tmp_path)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)

    return run


INSTALLS = 'cp -p "$PLACE/id" "$PLACE/chromium"'


def test_a_browser_that_is_there_is_taken(machine):
    done = machine("--must", chromium="exit 0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_root_on_debian_installs_it(machine):
    done = machine("--must", apt_get=INSTALLS)
    assert done.returncode == 0
    assert LINE not in done.stderr


def test_others_are_told_in_one_line_and_the_tests_are_skipped(machine):
    done = machine("--must", user=1000, apt_get=INSTALLS)
    assert done.returncode == 0
    assert done.stderr.startswith(LINE)
    assert done.stderr.count("\n") == 1


def test_what_cannot_be_installed_fails_before_a_change_lands_and_nowhere_else(machine):
    assert machine("--must", apt_get="exit 1").returncode == 1
    assert LINE in machine().stderr
    assert "BROWSER=--must" in (ROOT / ".ci" / "run").read_text()
