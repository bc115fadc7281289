"""What all commands have in common."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.commands import main, run_command as run

CORTEX = [sys.executable, "-c", "from cortex.commands import main; main()"]


@pytest.mark.parametrize("place", ["before", "after"])
def test_the_home_may_be_named_before_the_command_or_after_it(place: str, tmp_path: Path, capsys):
    option = ["--home", str(tmp_path)]
    assert run([*option, "config", "home"] if place == "before" else ["config", "home", *option]) == 0
    assert str(tmp_path) in capsys.readouterr().out


def test_a_home_that_is_called_like_a_command_is_a_home(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["--home", "run", "config", "home"]) == 0
    assert str(tmp_path / "run") in capsys.readouterr().out


def test_a_reader_that_goes_away_is_no_error():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*CORTEX, "config"], stdout=write, stderr=subprocess.PIPE, timeout=60)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.deno
def test_one_command_after_another_in_one_process(tmp_path: Path, capsys):
    (tmp_path / "one.js").write_text("return 1")
    for _ in range(2):
        assert run(["run", str(tmp_path / "one.js")]) == 0
        with pytest.raises(SystemExit) as ended:
            main(["config", "home", "--home", str(tmp_path)])
        assert ended.value.code == 0
