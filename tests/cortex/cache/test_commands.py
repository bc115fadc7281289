"""The cache of the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest

from cortex.commands import chat, mcp_serve, run as run_command
from cortex.settings.settings import load_settings

CORTEX = [sys.executable, "-c", "from cortex.commands import main; main()"]
CODE = "console.log('sorting'); return [2, 1].sort()"


def cortex_run(home: Path, *options: str, code: str = CODE) -> subprocess.CompletedProcess[str]:
    command = [*CORTEX, "--home", str(home), "run", "-", *options]
    return subprocess.run(command, input=code, capture_output=True, text=True, timeout=120)


def answer(home: Path, *options: str) -> dict[str, object]:
    return json.loads(cortex_run(home, "--json", *options).stdout)


@pytest.mark.deno
def test_the_same_script_runs_once_unless_it_is_told_to_run(tmp_path: Path):
    first, second, third = answer(tmp_path), answer(tmp_path), answer(tmp_path, "--no-cache")
    assert [one["metrics"]["cached"] for one in (first, second, third)] == [False, True, False]
    assert {one["output"] for one in (first, second, third)} == {"[1,2]"}
    assert {one["logs"][0]["text"] for one in (first, second, third)} == {"sorting"}
    plain = cortex_run(tmp_path)
    assert (plain.returncode, plain.stdout, plain.stderr) == (0, "[1,2]\n", "[log] sorting\n")
    assert not answer(tmp_path, "--context", '{"a": 1}')["metrics"]["cached"]


@pytest.mark.deno
def test_nothing_is_known_while_the_kill_switch_is_on_or_where_there_is_no_home(tmp_path: Path):
    answer(tmp_path)
    kill = [*CORTEX, "--home", str(tmp_path), "kill", "--reason", "enough"]
    subprocess.run(kill, capture_output=True, timeout=120, check=True)
    refused = cortex_run(tmp_path)
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "Kill switch is on" in refused.stderr
    (tmp_path / "file").write_text("")
    assert cortex_run(tmp_path / "file" / "home").stdout == "[1,2]\n"


@pytest.mark.parametrize("add", [run_command.add_arguments, chat.add_arguments, mcp_serve.add_serve_arguments])
def test_each_command_that_runs_code_can_skip_the_cache(add, tmp_path: Path):
    parser = ArgumentParser()
    add(parser)
    words = ["-"] if add is run_command.add_arguments else []
    for options, enabled in ((words, True), ([*words, "--no-cache"], False)):
        changed = parser.parse_args(options).changed
        settings = load_settings(None, {"CORTEX_CACHE__HIT_COST": "0.01"}, home=tmp_path, **changed)
        assert (settings.cache.enabled, settings.cache.hit_cost) == (enabled, 0.01)
