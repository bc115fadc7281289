"""`--home` of a folder that does not exist: commands that look say so, and commands that keep something make it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortex.commands import run_command as run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "mistyped"


LOOKS = [
    ["energy"],
    ["energy", "--json"],
    ["audit"],
    ["audit", "verify"],
    ["audit", "show", "1"],
    ["neurons"],
    ["neurons", "list", "--json"],
    ["neurons", "habits"],
    ["neurons", "show", "x"],
    ["neurons", "approve", "x"],
    ["neurons", "disable", "x"],
    ["mcp"],
    ["mcp", "list"],
    ["mcp", "test"],
    ["mcp", "remove", "x"],
    ["tools"],
    ["tools", "show", "x"],
    ["chat", "--list"],
    ["chat", "--resume", "x"],
    ["revive", "--reason", "x"],
    ["runs"],
    ["runs", "list", "--json"],
    ["runs", "open"],
    ["runs", "show", "x"],
    ["runs", "forget", "x"],
    ["runs", "export", "x"],
    ["replay", "x"],
    ["store"],
    ["store", "clear", "--all"],
    ["jobs"],
    ["jobs", "show", "job-x"],
    ["jobs", "cancel", "job-x"],
    ["jobs", "clear"],
    ["workflow", "list"],
    ["workflow", "show", "x"],
    ["workflow", "decide", "x", "y"],
    ["workflow", "abort", "x"],
    ["workflow", "forget", "x"],
    ["workflow", "resume", "x"],
    ["workflow", "events", "x"],
]


@pytest.mark.parametrize("command", LOOKS, ids=" ".join)
@pytest.mark.parametrize("below", ["", "deeper", "~"])
def test_a_command_that_looks_says_that_there_is_no_such_home(command, below, home, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(home.parent))
    place = f"~/{home.name}" if below == "~" else str(home / below)
    assert run([*command, "--home", place]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    named = home if below == "~" else home / below
    assert err == (
        f'cortex {command[0]}: there is no home at "{named}": is --home mistyped? cortex chat and cortex run make one\n'
    )
    assert not home.exists()


@pytest.mark.parametrize("command", [["energy"], ["audit", "verify"], ["neurons"], ["mcp"]], ids=" ".join)
def test_the_home_of_the_environment_may_not_exist_yet(command, home, capsys, monkeypatch):
    monkeypatch.setenv("CORTEX_HOME", str(home))
    assert run(command) == 0
    assert not home.exists()


@pytest.mark.parametrize(
    "command", [["energy", "set", "0.5"], ["kill"], ["mcp", "add", "x", "--", "true"]], ids=" ".join
)
def test_a_command_that_keeps_something_makes_the_home(command, home, capsys):
    assert run([command[0], "--home", str(home), *command[1:]]) == 0
    assert home.is_dir()


def test_the_settings_of_a_home_that_is_still_to_be_made_can_be_printed(home, capsys):
    assert run(["config", "home", "--home", str(home)]) == 0
    assert str(home) in capsys.readouterr().out


def test_the_doctor_examines_the_machine_and_says_that_there_is_no_such_home(home, capsys, monkeypatch):
    monkeypatch.setenv("CORTEX_SANDBOX__DENO_PATH", "/nowhere/deno")  # so that nothing else is tried
    run(["doctor", "--json", "--home", str(home)])
    last = json.loads(capsys.readouterr().out)[-1]
    assert (last["name"], last["verdict"]) == ("kill switch", "absent")
    assert last["detail"] == f'there is no home at "{home}": is --home mistyped?'


def test_a_place_that_is_a_file_is_not_called_missing(home, capsys):
    home.touch()
    assert run(["neurons", "--home", str(home)]) == 2
    assert "it is a file and not a folder" in capsys.readouterr().err
