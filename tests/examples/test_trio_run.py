"""The example for trio, with trio and without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
# As on a machine without trio: its import fails.
WITHOUT_TRIO = "import runpy, sys; sys.modules['trio'] = None; runpy.run_module('examples.trio_run')"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.mark.deno
def test_it_prints_what_its_docstring_says():
    done = run("-m", "examples.trio_run")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 1, 4, 9, 16]\n", "")


def test_without_trio_it_says_what_to_install():
    done = run("-c", WITHOUT_TRIO)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "This example needs trio: pip install trio\n"
