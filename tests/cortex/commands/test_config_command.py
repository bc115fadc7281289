"""`cortex config` as a person or a program at a shell finds it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tomllib

import pytest

from cortex import load_settings
from cortex.commands import run_command
from cortex.mcp_config import McpFile
from cortex.settings.mcp_servers import McpServerSettings
from sandbox import data_file

CORTEX = [sys.executable, "-c", "from cortex.commands import main; main()", "config"]
SECRETS = """
[model]
api_key = "SECRET"
base_url = "https://me:SECRET@models.example/v1"

[[sandbox.network.allow]]
host = "api.example.com"
headers = { Authorization = "SECRET" }
"""


def environment(**more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CORTEX_", "OPENAI_"))}
    return {**clean, "PYTHONUTF8": "1", **more}


def config(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CORTEX, *arguments], capture_output=True, text=True, timeout=60, env=environment(**variables)
    )


def in_a_terminal(*arguments: str, **variables: str) -> str:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*CORTEX, *arguments], stdout=theirs, stdin=theirs, stderr=theirs, env=environment(**variables)
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65_536):
            shown += chunk
    except OSError:  # how a terminal says that nobody is there any more
        pass
    finally:
        os.close(ours)
    assert process.wait(60) == 0
    return shown.decode().replace("\r\n", "\n")


def test_without_a_terminal_it_prints_a_file_that_gives_the_same_settings(tmp_path):
    (tmp_path / "c.toml").write_text(
        """
        home = "somewhere"
        [sandbox]
        require = ["landlock", "seccomp"]
        [[sandbox.network.allow]]
        host = "api.example.com"
        ports = [443, 8443]
        http = true
        [tools.policies]
        "shop.order" = "ask"
        [loop]
        instructions = "Say \\"yes\\"\\n\\u001b[31m and \\U000e0041 \\u007f back\\\\slash"
        [energy.metered]
        floor = 0.00001
        """
    )
    done = config("--config", str(tmp_path / "c.toml"), CORTEX_SANDBOX__POOL_SIZE="3")
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "again.toml").write_text(done.stdout)
    settings = load_settings(tmp_path / "c.toml", {"CORTEX_SANDBOX__POOL_SIZE": "3"})
    assert load_settings(tmp_path / "again.toml", {}) == settings
    assert f"# {tmp_path / 'c.toml'}" in done.stdout
    assert re.search(r"^pool_size = 3 +# CORTEX_SANDBOX__POOL_SIZE$", done.stdout, re.M)
    assert re.search(r"^max_rounds = 12 +# default$", done.stdout, re.M)
    assert re.search(r"^# name is not set +# default$", done.stdout, re.M)
    assert "\x1b" not in done.stdout


def test_for_programs_there_is_a_list(tmp_path):
    done = config("--json", "--home", str(tmp_path), CORTEX_ENERGY__COST_ISOLATED="0.1")
    settings = {setting.pop("key"): setting for setting in json.loads(done.stdout)}
    assert settings["home"] == {"value": str(tmp_path), "source": "option"}
    assert settings["energy.cost_isolated"] == {"value": 0.1, "source": "CORTEX_ENERGY__COST_ISOLATED"}
    assert settings["energy.cost_network"] == {"value": 0.15, "source": "default"}
    assert settings["model.name"] == {"value": None, "source": "default"}


def test_in_a_terminal_it_is_a_table_with_what_was_changed_in_colour(tmp_path):
    shown = in_a_terminal("energy", "home", CORTEX_ENERGY__METERED__FLOOR="0.02", CORTEX_HOME=str(tmp_path / "home"))
    lines = shown.splitlines()
    assert lines[0].split()[0] == "home"
    assert lines[1].strip() == "\x1b[36mCORTEX_HOME\x1b[0m"  # its value leaves no room beside it
    assert "\x1b[1m[energy]\x1b[0m" in lines
    assert re.search(r"^cost_isolated +0\.05 +\x1b\[2mdefault\x1b\[0m$", shown, re.M)
    assert re.search(r"^floor +0\.02 +\x1b\[36mCORTEX_ENERGY__METERED__FLOOR\x1b\[0m$", shown, re.M)
    assert "\x1b" not in in_a_terminal("energy", NO_COLOR="1")


def test_a_very_long_value_does_not_fill_the_terminal():
    shown = in_a_terminal("loop.instructions", CORTEX_LOOP__INSTRUCTIONS="x" * 5_000)
    assert len(shown) < 500
    assert "x…" in shown


def test_nothing_in_a_value_steers_the_terminal(tmp_path):
    odd = tmp_path / "odd\x1b[2J\nname"
    odd.mkdir()
    (odd / "c.toml").write_text('[model]\nname = "\\u001b[2J\\u202e"\n')
    shown = in_a_terminal("model.name", "--config", str(odd / "c.toml"), NO_COLOR="1")
    assert "\x1b" not in shown
    assert r'"\u001b[2J\u202e"' in shown
    plain = config("model.name", "--config", str(odd / "c.toml")).stdout
    assert "\x1b" not in plain
    assert tomllib.loads(plain) == {"model": {"name": "\x1b[2J\u202e"}}


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_secrets_are_not_printed(tmp_path, form):
    (tmp_path / "c.toml").write_text(SECRETS)
    done = config(*form, "--config", str(tmp_path / "c.toml"))
    assert done.returncode == 0
    assert "SECRET" not in done.stdout
    assert "SECRET" not in in_a_terminal(*form, "--config", str(tmp_path / "c.toml"))
    done = config(*form, "model", OPENAI_API_KEY="SECRET")
    assert "SECRET" not in done.stdout
    assert "OPENAI_API_KEY" in done.stdout
    if not form:
        # As a file it would set wrong ones.
        assert "api_key" not in tomllib.loads(done.stdout)["model"]


def test_keys_choose_settings_and_sections():
    done = config("--json", "audit", "energy.metered.floor", "sandbox.network.allow")
    assert [setting["key"] for setting in json.loads(done.stdout)] == [
        "sandbox.network.allow",
        "energy.metered.floor",
        "audit.keep_code",
        "audit.flush_ms",
    ]


@pytest.mark.parametrize(
    ("key", "meant"),
    [("energy.recharge", "energy.recharge_per_minute"), ("enrgy", "energy"), ("max_rounds", "loop.max_rounds")],
)
def test_an_unknown_setting_is_an_error_that_names_the_nearest_setting(key, meant):
    done = config(key)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f'cortex config: Unknown setting "{key}": did you mean "{meant}"?\n'


def test_a_mistake_in_the_settings_is_told(tmp_path):
    done = config(CORTEX_ENERGY__RECHARGE="1")
    assert (done.returncode, done.stdout) == (2, "")
    assert 'did you mean "CORTEX_ENERGY__RECHARGE_PER_MINUTE"?' in done.stderr


def test_the_defaults_are_printed_with_their_reasons():
    done = config("--defaults")
    assert (done.returncode, done.stdout) == (0, data_file("config", "defaults.toml").read_text())
    done = config("--defaults", "energy")
    assert (done.returncode, done.stdout) == (2, "")


def test_servers_of_the_home_are_named_beside_the_settings(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CORTEX_HOME", str(tmp_path / "home"))
    assert run_command(["config", "mcpServers"]) == 0
    assert capsys.readouterr().err == ""
    McpFile(tmp_path / "home").add({"a": McpServerSettings(command="x")})
    assert run_command(["config", "mcpServers"]) == 0
    shown = capsys.readouterr()
    assert shown.err == (
        "cortex config: mcpServers is not all: 1 server of cortex mcp add in the home, see cortex mcp list\n"
    )
    assert shown.out.startswith("mcpServers = {}")
    # Who asks for something else, or is a program, reads nothing of it.
    for arguments in (["energy"], ["--json"]):
        assert run_command(["config", *arguments]) == 0
        assert capsys.readouterr().err == ""
    # A settings file that is right can be looked at whatever the home is like.
    (tmp_path / "home" / "mcp.json").write_text("{")
    assert run_command(["config", "mcpServers"]) == 0
