"""The file of MCP servers in the home, the files of other programs, and secrets in both."""

from __future__ import annotations

import ast
import json
import multiprocessing
import os
import stat
import subprocess
import sys

import pytest

from cortex import Settings, SettingsError, mcp_config
from cortex.home.home import HomeError
from cortex.mcp_config import MAX_FILE_BYTES, McpFile, imported, literal_secrets, servers_of, shown_arguments
from cortex.settings.mcp_servers import McpServerSettings, MissingVariable, expanded

GITHUB = {"command": "github-mcp", "args": ["stdio"], "env": {"TOKEN": "${env:TOKEN}"}}
KEY = "ghp_" + "x7Kq2mVbT9wLr4ZsN8pD" + "u3Hy6FcJ1gAe"


def server(**facts) -> McpServerSettings:
    return McpServerSettings.model_validate(facts)


def written(home, value) -> McpFile:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "mcp.json").write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return McpFile(home)


def found_in(value, *names: str):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return imported(data, "foreign.json", names)


def test_an_added_server_is_there_for_the_next_reader_and_readable_by_the_owner_only(tmp_path):
    home = tmp_path / "new" / "home"
    assert McpFile(home).read() == {}
    assert not home.exists()
    McpFile(home).add({"github": server(**GITHUB), "tickets": server(url="https://tickets.example/mcp", policy="ask")})
    assert McpFile(home).read()["github"] == server(**GITHUB)
    # As others write it, so that it can be handed to them.
    kept = json.loads((home / "mcp.json").read_text())
    assert kept == {
        "mcpServers": {"github": GITHUB, "tickets": {"url": "https://tickets.example/mcp", "policy": "ask"}}
    }
    assert stat.S_IMODE((home / "mcp.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    McpFile(home).remove(["github"])
    assert list(McpFile(home).read()) == ["tickets"]


def test_a_change_is_made_whole_or_not_at_all(tmp_path):
    file = McpFile(tmp_path)
    file.add({"a": server(command="x")})
    with pytest.raises(SettingsError, match='there is a server "a" already; remove it first: cortex mcp remove a'):
        file.add({"b": server(command="x"), "a": server(command="y")})
    with pytest.raises(SettingsError, match='no server "b" was added; there are: a'):
        file.remove(["a", "b"])
    with pytest.raises(SettingsError, match="cannot be the name of a server"):
        file.add({"no.name": server(command="x")})
    assert file.read() == {"a": server(command="x")}


def test_on_change_is_called_before_each_change_that_would_be_made_and_may_prevent_it(tmp_path):
    called = []

    def refuse() -> None:
        called.append(True)
        raise RuntimeError("not today")

    with pytest.raises(RuntimeError, match="not today"):
        McpFile(tmp_path, refuse).add({"a": server(command="x")})
    assert McpFile(tmp_path).read() == {}
    with pytest.raises(SettingsError):
        McpFile(tmp_path, refuse).remove(["a"])
    assert len(called) == 1


def add_some(home: str, name: str) -> None:
    from pathlib import Path

    for number in range(5):
        McpFile(Path(home)).add({f"{name}{number}": McpServerSettings(command="x")})


def test_two_processes_that_add_at_once_lose_nothing(tmp_path):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=add_some, args=(str(tmp_path), name)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
        assert writer.exitcode == 0
    assert len(McpFile(tmp_path).read()) == 10


def test_the_settings_win_over_the_home(tmp_path):
    written(
        tmp_path / "home", {"mcpServers": {"a": {"command": "of-the-home"}, "b": {"command": "x", "disabled": True}}}
    )
    settings = Settings(home=tmp_path / "home", mcpServers={"a": {"command": "of-the-settings"}})
    servers = servers_of(settings)
    assert (servers["a"].settings.command, servers["a"].source) == ("of-the-settings", "settings")
    assert (servers["b"].source, servers["b"].is_enabled) == (str(tmp_path / "home" / "mcp.json"), False)


def test_nothing_is_read_from_the_current_folder(tmp_path, monkeypatch):
    project = tmp_path / "cloned"
    project.mkdir()
    for name in (".mcp.json", "mcp.json"):
        (project / name).write_text(json.dumps({"mcpServers": {"evil": {"command": "evil"}}}))
    monkeypatch.chdir(project)
    assert servers_of(Settings(home=tmp_path / "home")) == {}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("{", "is not JSON"),
        ("[1]", "does not hold an object"),
        ("[" * 100_000, "is not JSON"),
        (f'{{"mcpServers": {{}}}}{" " * MAX_FILE_BYTES}', "is larger than"),
        ({"mcpServers": []}, '"mcpServers" in .* is not an object'),
        ({"servers": {}}, 'has "servers" beside "mcpServers"'),
        ({"mcpServers": {"a": {"command": "x", "autoApprove": []}}}, r"mcpServers\.a\.autoApprove: Extra inputs"),
        ({"mcpServers": {"a": {"type": "sse", "url": "http://x"}}}, r'mcpServers\.a\.type: "sse" is a transport'),
        ({"mcpServers": {"a": {"type": "ws", "url": "http://x"}}}, r"mcpServers\.a\.type: Input should be"),
        ({"mcpServers": {"git-hub": {"command": "x"}, "git_hub": {"command": "x"}}}, "^mcpServers: the servers"),
        ({"mcpServers": {"a": {}}}, 'either a "command" or a "url"'),
        ({"mcpServers": {"core": {"command": "x"}}}, "cannot be the name of a server"),
    ],
)
def test_the_file_of_the_home_is_taken_as_it_is_meant_or_not_at_all(tmp_path, value, problem):
    file = written(tmp_path, value)
    before = file.path.read_bytes()
    with pytest.raises(SettingsError, match=problem):
        file.read()
    with pytest.raises(SettingsError, match=problem):
        file.add({"b": server(command="x")})
    assert file.path.read_bytes() == before


def test_a_mistake_is_told_without_the_value_which_may_be_a_secret(tmp_path):
    file = written(tmp_path, {"mcpServers": {"a": {"command": "x", "env": {"KEY": ["SECRET"]}, "token": "SECRET"}}})
    with pytest.raises(SettingsError) as caught:
        file.read()
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("place", ["home", "file"])
def test_a_file_that_other_users_could_have_written_is_refused(tmp_path, place):
    home = tmp_path / "home"
    file = written(home, {"mcpServers": {"a": {"command": "x"}}})
    (home if place == "home" else file.path).chmod(0o777)
    with pytest.raises(HomeError, match="others may write there"):
        file.read()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_home_that_cannot_be_written_is_told(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(SettingsError, match="Cannot write"):
        McpFile(tmp_path).add({"a": server(command="x")})


def test_a_file_in_place_of_the_home_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError):
        McpFile(tmp_path / "file").add({"a": server(command="x")})


def test_files_of_other_programs_are_understood():
    claude = {"mcpServers": {"github": {"type": "stdio", **GITHUB}}, "globalShortcut": "x"}
    vs_code = {"servers": {"github": {"type": "stdio", **GITHUB}}, "inputs": []}
    in_settings = {"editor.fontSize": 12, "mcp": {"servers": {"github": GITHUB}}}
    for foreign in (claude, vs_code, in_settings):
        found = found_in(foreign)
        assert (found.servers, found.warnings) == ({"github": server(**GITHUB)}, ())


def test_keys_of_other_programs_are_left_out_and_named():
    found = found_in({"mcpServers": {"a": {"command": "x", "autoApprove": ["*"], "envFile": ".env", "timeout": 5}}})
    assert found.servers == {"a": server(command="x")}
    assert found.warnings == (
        '"a": envFile is not read; set its variables yourself, with "env"',
        '"a": left out, because it means nothing here: autoApprove, timeout',
    )


@pytest.mark.parametrize(
    ("key", "meant"), [("arg", "args"), ("Args", "args"), ("header", "headers"), ("environment", "env")]
)
def test_a_key_that_is_probably_one_of_ours_is_not_left_out(key, meant):
    """A server without its arguments or variables is another one."""
    with pytest.raises(SettingsError, match=rf'mcpServers\.a\.{key}: did you mean "{meant}"\?'):
        found_in({"mcpServers": {"a": {"command": "x", key: []}}})


@pytest.mark.parametrize("key", ["type", "transport", "transportType"])
def test_the_transport_that_was_given_up_is_refused_in_clear_words(key):
    with pytest.raises(SettingsError, match=r'mcpServers\.old: "sse" is a transport that MCP has given up'):
        found_in({"mcpServers": {"old": {key: "sse", "url": "https://x/sse"}, "a": {"command": "x"}}})
    # The others can be had all the same.
    foreign = {"mcpServers": {"old": {key: "sse", "url": "https://x/sse"}, "a": {"command": "x"}}}
    assert list(found_in(foreign, "a").servers) == ["a"]
    with pytest.raises(SettingsError, match='no transport "ws"'):
        found_in({"mcpServers": {"old": {key: "ws", "url": "https://x"}}})


def test_other_spellings_mean_the_same():
    foreign = {
        "mcpServers": {
            "a": {"httpUrl": "https://a/mcp", "transport": "streamableHttp", "env": {"X": "1"}},
            "b": {"serverUrl": "https://b/mcp", "headers": {"X-Number": 5}},
            "c": {"command": "x", "args": ["--port", 80, True], "env": {"N": 1, "B": False, "NONE": None}},
            "d": {"command": "x", "enabled": False, "url": None},
        }
    }
    found = found_in(foreign)
    assert found.servers == {
        "a": server(url="https://a/mcp"),
        "b": server(url="https://b/mcp", headers={"X-Number": "5"}),
        "c": server(command="x", args=["--port", "80", "true"], env={"N": "1", "B": "false"}),
        "d": server(command="x", disabled=True),
    }
    assert found.warnings == ('"a": left out, because it means nothing here: env',)


def test_references_of_other_programs_become_ours():
    env = {
        "A": "${GITHUB_TOKEN}",
        "B": "Bearer ${input:github-token}",
        "C": "${HOST:-localhost}:${env:PORT:-}",
        "D": "${userHome}/x",
        "E": "${workspaceFolder}/x",
        "F": "$HOME ${} ${odd thing}",
        "G": "${A:-${B}}",
    }
    found = found_in({"servers": {"a": {"command": "x", "env": env}}})
    assert found.servers["a"].env == {
        "A": "${env:GITHUB_TOKEN}",
        "B": "Bearer ${env:GITHUB_TOKEN}",
        "C": "${env:HOST:-localhost}:${env:PORT:-}",
        "D": "${env:HOME}/x",
        "E": "${workspaceFolder}/x",
        "F": "$HOME ${} ${odd thing}",
        "G": "${A:-${env:B}}",
    }
    assert [warning.partition(": ")[2].split()[0] for warning in found.warnings] == [
        "what",
        "${workspaceFolder}",
        "${odd",
        "a",
    ]


def test_a_file_as_claude_code_has_it_is_taken_as_it_is():
    foreign = {
        "mcpServers": {
            "api": {
                "type": "http",
                "url": "${API_BASE_URL:-https://api.example.com}/mcp",
                "headers": {"Authorization": "Bearer ${API_KEY}"},
            }
        }
    }
    found = found_in(foreign)
    assert found.warnings == ()
    assert found.servers == {
        "api": server(
            url="${env:API_BASE_URL:-https://api.example.com}/mcp", headers={"Authorization": "Bearer ${env:API_KEY}"}
        )
    }


@pytest.mark.parametrize(
    ("environment", "text"),
    [({}, "https://x/mcp"), ({"BASE": ""}, "https://x/mcp"), ({"BASE": "http://y"}, "http://y/mcp")],
)
def test_a_default_stands_for_a_variable_that_is_not_set(environment, text):
    assert expanded("${env:BASE:-https://x}/mcp", environment) == text


def test_without_a_default_a_variable_has_to_be_there():
    assert expanded("<${env:A}${env:B:-}>", {"A": ""}) == "<>"
    with pytest.raises(MissingVariable, match='no variable "A"'):
        expanded("${env:A}", {})


def test_a_url_may_begin_with_a_variable_and_with_nothing_else():
    assert server(url="${env:BASE}/mcp").url == "${env:BASE}/mcp"
    for url in ("x${env:BASE}", "${BASE}/mcp", "${env:}/mcp"):
        with pytest.raises(ValueError, match="does not begin with http"):
            server(url=url)


def test_two_names_that_code_cannot_tell_apart_are_refused_wherever_they_come_from(tmp_path):
    """Which of the two `tools.gitHub` means must never depend on who else is lent."""
    file = McpFile(tmp_path)
    file.add({"git-hub": server(command="x")})
    for name in ("git_hub", "gitHub", "GITHUB"):
        with pytest.raises(SettingsError, match=f'the servers "git-hub" and "{name}" are called the same but for case'):
            file.add({name: server(command="y")})
        with pytest.raises(SettingsError, match=f'"{name}" is in the settings, "git-hub" in ".*mcp.json"'):
            servers_of(Settings(home=tmp_path, mcpServers={name: {"command": "y"}}))
    # The same name is something else: there the settings win.
    assert list(servers_of(Settings(home=tmp_path, mcpServers={"git-hub": {"command": "y"}}))) == ["git-hub"]
    with pytest.raises(SettingsError, match="but for case"):
        found_in({"mcpServers": {"git hub": {"command": "x"}, "git_hub": {"command": "y"}}})
    # One that stands in the file can be taken out of it.
    written(tmp_path, {"mcpServers": {"a-b": {"command": "x"}, "a_b": {"command": "x"}}}).remove(["a_b"])
    assert list(file.read()) == ["a-b"]


def test_the_settings_load_nothing_but_what_a_server_is():
    program = "import sys, cortex.settings.settings; print([name for name in sys.modules if 'mcp' in name or 'redact' in name])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == ["cortex.settings.mcp_servers"]
    assert list(mcp_config.__all__) == sorted(mcp_config.__all__)
    assert all(getattr(mcp_config, name) is not None for name in mcp_config.__all__)


def test_names_are_made_to_fit_and_two_never_become_one():
    found = found_in({"mcpServers": {"My Server (beta)": {"command": "x"}, "core": {"command": "y"}}})
    assert list(found.servers) == ["My-Server-beta", "core-server"]
    assert found.warnings[0] == '"My Server (beta)" is called "My-Server-beta" here'
    with pytest.raises(SettingsError, match='two servers that would be called "a-b"'):
        found_in({"mcpServers": {"a b": {"command": "x"}, "a/b": {"command": "y"}}})


def test_comments_and_last_commas_of_editors_are_no_mistake():
    text = b'\xef\xbb\xbf{ // mine\n "servers": { /* all, "of" } */ "a": {"command": "x", "args": ["// no", "a,]", "\\"/*"],},\n}, }'
    assert found_in(text).servers == {"a": server(command="x", args=["// no", "a,]", '"/*'])}


@pytest.mark.parametrize("text", [b"/*" * 500_000, b'{"' * 300_000, b"{" + b"," * 1_000_000, b'"\\' * 400_000])
def test_nothing_in_a_foreign_file_takes_long(text):
    with pytest.raises(SettingsError, match="is not JSON"):
        found_in(text)


@pytest.mark.parametrize(
    ("foreign", "problem"),
    [
        (b"\xff\xfe{", "is not JSON"),
        (b"x" * (MAX_FILE_BYTES + 1), "is larger than"),
        ({}, "names no servers"),
        ({"mcpServers": {"a": []}}, "mcpServers.a: it is not an object"),
        ({"mcpServers": {"a": {"command": "x", "url": "https://x"}}}, 'either a "command" or a "url"'),
        ({"mcpServers": {"a": {"command": ["x"]}}}, "mcpServers.a.command"),
        ({"mcpServers": {"a": {"command": "x", "args": "y"}}}, "mcpServers.a.args"),
    ],
)
def test_a_file_that_cannot_be_understood_is_reported(foreign, problem):
    with pytest.raises(SettingsError, match=problem):
        found_in(foreign)


def test_only_the_named_servers_are_imported():
    foreign = {"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}
    assert list(found_in(foreign, "b").servers) == ["b"]
    with pytest.raises(SettingsError, match='has no server "c"; there are: a, b'):
        found_in(foreign, "a", "c")


@pytest.mark.parametrize(
    ("facts", "places"),
    [
        (
            {"command": "x", "env": {"API_TOKEN": "abc", "DEBUG": "1", "TOKEN_PATH": "/x", "MAX_TOKENS": "100"}},
            ["env.API_TOKEN"],
        ),
        ({"command": "x", "env": {"API_TOKEN": "${env:API_TOKEN}", "SECRET": " "}}, []),
        ({"command": "x", "env": {"WHATEVER": KEY}}, ["env.WHATEVER"]),
        ({"url": "https://x", "headers": {"Authorization": "Bearer abc", "X": "y"}}, ["headers.Authorization"]),
        ({"url": "https://x", "headers": {"Authorization": "Bearer ${env:T}"}}, []),
        (
            {"command": "x", "args": ["-y", "--api-key", "abc", "--password=abc", KEY, "--key"]},
            ["args[2]", "args[3]", "args[4]"],
        ),
        (
            {"command": "x", "args": ["-e", "API_KEY=abc", "API_KEY=${env:A}", "postgres://me:word@host/db"]},
            ["args[1]", "args[3]"],
        ),
        ({"url": "https://x/mcp?api_key=abc&page=1"}, ["url"]),
        ({"url": "https://x/mcp?api_key=${env:KEY}"}, []),
        ({"url": "https://x/mcp?api_key=${env:KEY:-abc}"}, ["url"]),
        ({"url": "${env:BASE:-https://me:word@x}/mcp"}, ["url"]),
        (
            {"url": "${env:BASE:-https://x}/mcp", "headers": {"Authorization": "Bearer ${env:T:-abc}"}},
            ["headers.Authorization"],
        ),
        ({"command": "x", "args": ["--key", "${env:A:-abc}", f"${{env:B:-{KEY}}}"]}, ["args[1]", "args[2]"]),
    ],
)
def test_secrets_written_literally_in_settings_are_found(facts, places):
    assert literal_secrets(server(**facts)) == places


def test_arguments_are_shown_without_their_secrets():
    shown = shown_arguments(
        ("-y", "pkg", "--api-key", "abc", "--token=abc", KEY, "https://me:word@x/?q=1", "A_KEY=abc")
    )
    assert shown == ["-y", "pkg", "--api-key", "•••", "--token=•••", "•••", "•••", "A_KEY=•••"]
