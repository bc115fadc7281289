"""`cortex mcp add`, `list`, `remove` and `test` as a person or a program at a shell finds them."""

from __future__ import annotations

import http.server
import io
import json
import logging
import os
import pty
import subprocess
import sys
import threading

import pytest

from cortex import Settings
from cortex.audit import Audit
from cortex.commands import run_command
from cortex.mcp_config import McpFile
from neurons import KillSwitch
from tests.cortex.mcp_client.support import raw

CORTEX = [sys.executable, "-c", "from cortex.commands import main; main()"]


@pytest.fixture(autouse=True)
def own_log(monkeypatch):
    monkeypatch.setattr(logging, "lastResort", logging.lastResort)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Also the current folder is one without anything in it."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("CORTEX_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def mcp(home, capsys):
    def run(*arguments: str, code: int = 0) -> tuple[str, str]:
        assert run_command(["mcp", *arguments]) == code
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err
        return shown.out, shown.err

    return run


def decisions(home) -> list[str]:
    audit = Audit(home / "audit", Settings().audit)
    try:
        return [str(record.facts.get("what")) for record in audit.records() if record.kind == "owner_decision"]
    finally:
        audit.close()


def test_a_command_is_added_as_it_stands_behind_the_dashes(mcp, home):
    out, err = mcp(
        "add",
        "files",
        "--env",
        "DEBUG=1",
        "--policy",
        "ask",
        "--env",
        "FILES_TOKEN",
        "--",
        "npx",
        "-y",
        "--env",
        "--",
        "x",
    )
    assert out == "files was added: npx -y --env -- x\n"
    assert err == "To try: cortex mcp test files\n"
    [server] = McpFile(home).read().values()
    assert (server.command, server.args, server.policy) == ("npx", ("-y", "--env", "--", "x"), "ask")
    # One that is named alone comes from the environment, whenever it is started.
    assert server.env == {"DEBUG": "1", "FILES_TOKEN": "${env:FILES_TOKEN}"}
    assert decisions(home) == ["mcp add files"]


def test_a_url_is_added_with_its_headers_in_both_spellings(mcp, home):
    mcp(
        "add",
        "--url",
        "https://t.example/mcp",
        "tickets",
        "--header",
        "X-A=a:b",
        "--header",
        "Authorization: Bearer ${env:T}=",
    )
    [server] = McpFile(home).read().values()
    assert (server.url, server.headers) == (
        "https://t.example/mcp",
        {"X-A": "a:b", "Authorization": "Bearer ${env:T}="},
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["add"], "one NAME"),
        (["add", "a", "b", "--url", "https://x"], "one NAME"),
        (["add", "a"], "what is 'a'? A command"),
        (["add", "a", "--"], "what is 'a'? A command"),
        (["add", "a", "--url", "https://x", "--", "y"], "not both"),
        (["add", "a", "--url", "ftp://x"], "does not begin with http"),
        (["add", "a.b", "--", "x"], "cannot be the name of a server"),
        (["add", "core", "--", "x"], "cannot be the name of a server"),
        (["add", "a", "--env", "=1", "--", "x"], "--env is K=V or K"),
        (["add", "a", "--header", "SECRET", "--url", "https://x"], "--header is K=V"),
        (["add", "a", "--header", "A=SECRET", "--", "x"], '"headers" are for a "url"'),
        (["add", "a", "--from", "x.json", "--", "x"], "as they are in the file"),
        (["add", "--from", "nowhere.json"], 'cannot read "nowhere.json": No such file'),
        (["add", "--from", "/"], 'cannot read "/": Is a directory'),
        (["remove", "a"], 'no server "a" was added; there are: none'),
        (["test", "a"], 'there is no server "a"; there are: none'),
        (["list", "--", "x"], "list takes no command behind --"),
        (["serve", "--json"], "cortex mcp serve speaks MCP and prints nothing else: leave --json out"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_added(mcp, home, arguments, problem):
    _, err = mcp(*arguments, code=2)
    assert problem in err
    assert "SECRET" not in err
    assert '(in "' not in err, "it is no file"
    assert not (home / "mcp.json").exists()


def test_a_secret_that_is_written_down_is_warned_of_and_never_shown(mcp, home):
    out, err = mcp("add", "a", "--env", "API_TOKEN=SECRET1", "--", "x", "--password", "SECRET2")
    assert '"a": env.API_TOKEN looks like a secret' in err
    assert '"a": args[1] looks like a secret' in err
    assert "${env:VARIABLE}" in err
    out2, err2 = mcp("add", "b", "--url", "https://me:SECRET3@x/mcp?key=SECRET4", "--header", "Authorization=SECRET5")
    for form in ([], ["--json"]):
        shown, _ = mcp("list", *form)
        assert "SECRET" not in out + err + out2 + err2 + shown
        assert "•••" in shown or "\\u2022" in shown


def test_servers_of_another_program_are_taken_over(mcp, home, tmp_path):
    foreign = tmp_path / "claude.json"
    servers = {"a": {"command": "x", "env": {"TOKEN": "${TOKEN}"}, "autoApprove": []}, "b": {"command": "y"}}
    foreign.write_text(json.dumps({"mcpServers": servers}))
    out, err = mcp("add", "--from", str(foreign), "a", "--policy", "deny")
    assert out == "a was added: x\n"
    assert '"a": left out, because it means nothing here: autoApprove' in err
    assert {name: server.policy for name, server in McpFile(home).read().items()} == {"a": "deny"}
    # All of them, and one is there already: none is added.
    _, err = mcp("add", "--from", str(foreign), code=2)
    assert 'there is a server "a" already' in err
    foreign.write_text(json.dumps({"mcpServers": {"old": {"type": "sse", "url": "https://x"}}}))
    _, err = mcp("add", "--from", str(foreign), code=2)
    assert '"sse" is a transport that MCP has given up' in err
    assert list(McpFile(home).read()) == ["a"]
    assert decisions(home) == ["mcp add a"]


def test_servers_come_through_a_pipe_too(mcp, home, monkeypatch):
    pipe = io.TextIOWrapper(io.BytesIO(b'{"servers": {"a": {"command": "x"}}}'))
    monkeypatch.setattr(sys, "stdin", pipe)
    out, _ = mcp("add", "--from", "-", "--json")
    assert json.loads(out) == {"added": ["a"], "file": str(home / "mcp.json"), "warnings": []}


def test_a_path_in_a_folder_means_that_folder_for_ever(mcp, home, tmp_path, monkeypatch):
    """Whoever starts it in a repository with a file of that name must not run that one."""
    (tmp_path / "here" / "server.py").touch()
    _, err = mcp("add", "a", "--", "python", "server.py")
    assert f'"a" is always started in "{tmp_path / "here"}", because "server.py" is there' in err
    project = tmp_path / "project"
    (project / ".vscode").mkdir(parents=True)
    (project / "run.sh").touch()
    (project / ".vscode" / "mcp.json").write_text(
        '{"servers": {"b": {"command": "./run.sh"}, "c": {"command": "npx"}}}'
    )
    mcp("add", "--from", str(project / ".vscode" / "mcp.json"))
    servers = McpFile(home).read()
    assert [servers[name].cwd for name in "abc"] == [str(tmp_path / "here"), str(project), None]


@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        ("mine.py", ["-m", "mine"]),
        ("mine/server/__init__.py", ["-I", "-mmine.server"]),
        ("mine/server.py", ["-m", "mine.server"]),
    ],
)
def test_a_module_in_the_folder_means_that_folder_too(mcp, home, tmp_path, place, arguments):
    (tmp_path / "here" / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "here" / place).touch()
    _, err = mcp("add", "a", "--", "python", *arguments)
    assert (
        f'"a" is always started in "{tmp_path / "here"}", because "{arguments[-1].removeprefix("-m")}" is there' in err
    )
    mcp("add", "b", "--", "python", "-m", "json", "-m")
    assert [server.cwd for server in McpFile(home).read().values()] == [str(tmp_path / "here"), None]


def test_what_is_to_be_tried_is_the_same_home_and_the_same_settings(mcp, tmp_path):
    (tmp_path / "c d.toml").touch()
    _, err = mcp("--home", str(tmp_path / "other"), "add", "a", "--config", str(tmp_path / "c d.toml"), "--", "x")
    assert err == f"To try: cortex mcp test --home {tmp_path / 'other'} --config '{tmp_path / 'c d.toml'}' a\n"


def test_a_url_of_the_environment_is_reached_when_the_variable_is_there(mcp, home, monkeypatch):
    mcp("add", "a", "--url", "${env:NO_BASE}/mcp")
    mcp("add", "b", "--url", "${env:NO_BASE:-nowhere}/mcp")
    mcp("add", "c", "--url", "${env:NO_BASE:-http://127.0.0.1:9}/mcp")
    out, _ = mcp("test", "--json", code=1)
    first, second, third = [trial["error"] for trial in json.loads(out)]
    assert first == 'the environment has no variable "NO_BASE"'
    assert "'http://' or 'https://'" in second
    assert "it cannot be reached: " in third
    assert "http://' or" not in third


@pytest.mark.parametrize(
    ("headers", "advice"),
    [
        ([], "(does it want --header 'Authorization=Bearer ${env:VARIABLE}'?)"),
        (["--header", "authorization=Bearer no"], "(look at its header Authorization)"),
    ],
)
def test_a_server_that_answers_401_is_reported_with_what_to_set(mcp, unauthorized, headers, advice):
    mcp("add", "a", "--url", unauthorized, *headers)
    [line] = mcp("test", code=1)[0].splitlines()
    assert "HTTP 401" in line
    assert line.endswith(advice)


@pytest.fixture
def unauthorized():
    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(401)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()
        thread.join()


def test_servers_of_the_settings_cannot_be_added_or_removed(mcp, home, tmp_path, monkeypatch):
    (tmp_path / "c.toml").write_text('[mcpServers.a]\ncommand = "x"\ndisabled = true\n')
    monkeypatch.setenv("CORTEX_CONFIG", str(tmp_path / "c.toml"))
    assert "the settings have a server" in mcp("add", "a", "--", "y", code=2)[1]
    assert 'the servers "a" and "A_" are called the same but for case' in mcp("add", "A_", "--", "y", code=2)[1]
    assert "take it out there" in mcp("remove", "a", code=2)[1]
    out, _ = mcp()
    assert out.splitlines()[1].split() == ["a", "off", "settings", "x"]


def test_what_was_added_is_listed_and_removed(mcp, home):
    assert mcp() == ("", "There are no MCP servers yet: cortex mcp add NAME -- COMMAND\n")
    assert json.loads(mcp("--json")[0]) == []
    assert not home.exists()
    mcp("add", "a", "--env", "X=1", "--policy", "ask", "--", "x", "an argument")
    mcp("add", "b", "--url", "https://x")
    assert mcp("list")[0].splitlines() == [
        "name  policy  from      what",
        "a     ask     home      x 'an argument'",
        "b     allow   home      https://x",
    ]
    [first, second] = json.loads(mcp("list", "--json")[0])
    assert first == {
        "name": "a",
        "source": str(home / "mcp.json"),
        "transport": "stdio",
        "command": "x",
        "args": ["an argument"],
        "env": {"X": "•••"},
        "cwd": None,
        "url": None,
        "headers": {},
        "policy": "ask",
        "max_calls_per_minute": None,
        "disabled": False,
    }
    assert (second["transport"], second["url"]) == ("http", "https://x")
    assert mcp("remove", "a", "b")[0] == "a was removed\nb was removed\n"
    assert mcp("list")[0] == ""
    assert decisions(home) == ["mcp add a", "mcp add b", "mcp remove a", "mcp remove b"]


def test_what_cannot_be_recorded_is_not_changed(mcp, home):
    (home / "audit").mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    (home / "audit" / "head.json").mkdir()  # no line is taken while this is no file
    _, err = mcp("add", "a", "--", "x", code=3)
    assert "nothing was changed, because it could not be recorded" in err
    assert McpFile(home).read() == {}


def test_each_server_is_tried_and_a_broken_server_does_not_stop_the_others(mcp, home, monkeypatch):
    monkeypatch.setenv("CORTEX_TOOLS__POLICIES", "good.ecko=deny,elsewhere.x=deny")
    good, off = raw("echo", "text"), raw("echo", disabled=True)
    dead = raw("echo", early_exit=3, stderr="\x1b[2Jno database")
    needy = raw("echo", env={"KEY": "${env:NOBODY_HAS_THIS}"})
    McpFile(home).add({"good": good, "dead": dead, "needy": needy, "off": off})
    out, err = mcp("test", code=1)
    lines = sorted(out.splitlines())
    assert [line.split()[:2] for line in lines] == [["broken", "dead"], ["broken", "needy"], ["ok", "good"]]
    assert "no database" in lines[0]
    assert "\x1b" not in out
    assert 'the environment has no variable "NOBODY_HAS_THIS"' in lines[1]
    assert "2 tools after " in lines[2]
    assert lines[2].endswith(" ms, MCP 2025-06-18")
    # A `deny` that means nobody protects nobody.
    assert err == 'cortex mcp: tools.policies has "good.ecko", but there is no tool with that name\n'
    [only] = json.loads(mcp("test", "off", "--json")[0])
    assert only.pop("ms") >= 0
    assert only == {"name": "off", "ok": True, "tools": ["off.echo"], "protocol": "2025-06-18", "error": None}


def test_nothing_is_started_while_the_kill_switch_is_on(mcp, home, tmp_path):
    McpFile(home).add({"a": raw("echo", heard=str(tmp_path / "heard"))})
    KillSwitch(home / "state").turn_on("enough", "owner")
    _, err = mcp("test", code=3)
    assert "enough" in err
    assert not (tmp_path / "heard").exists()


def test_without_servers_there_is_nothing_to_try(mcp):
    assert mcp("test", "--json") == ("[]\n", "There are no MCP servers to try\n")


def in_a_terminal(columns: int, *arguments: str) -> str:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen([*CORTEX, *arguments], stdout=theirs, stderr=theirs, stdin=theirs, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65_536):
            shown += chunk
    except OSError:  # how a terminal says that nobody is there any more
        pass
    finally:
        os.close(ours)
    process.wait(120)
    return shown.decode().replace("\r\n", "\n")


def test_a_narrow_terminal_has_two_lines_for_each_and_colour(mcp, home):
    mcp("add", "a", "--policy", "ask", "--", "x", "words " * 20)
    shown = in_a_terminal(40, "mcp")
    assert shown.startswith("\x1b[33ma: ask, from home\x1b[0m\n  x 'words words")
    assert all(len(line) <= 50 for line in shown.splitlines())


def test_serve_is_part_of_the_command(mcp):
    assert "is not of the form HOST:PORT" in mcp("serve", "--http", "nowhere:at:all", code=2)[1]
