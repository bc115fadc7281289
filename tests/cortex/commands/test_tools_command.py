"""`cortex tools` as a person or a program at a shell finds it, with real servers."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
from contextlib import aclosing

import anyio
import pytest

from cortex import Settings, Toolbox
from cortex.catalogue.workbench import Workbench
from cortex.commands import mcp_trial, run_command
from cortex.commands.mcp_trial import started
from cortex.commands.tool_rows import list_lines
from cortex.commands.tool_source import Seen
from cortex.discovery import Discovery
from cortex.mcp_client import McpServers
from cortex.mcp_config import McpFile
from cortex.settings.sections import McpSettings
from cortex.text.terminal import visible
from neurons import KillSwitch
from tests.cortex.commands.test_mcp_command import CORTEX, in_a_terminal
from tests.cortex.mcp_client.support import raw
from tests.cortex.mcp_config.test_mcp_file import server

COMMITS = {
    "name": "list-commits",
    "description": "Lists the commits of a repository.\nThe newest come first. \x1b[2J",
    "inputSchema": {
        "type": "object",
        "properties": {"repo": {"type": "string"}, "since": {"type": "string", "description": "A date"}},
        "required": ["repo"],
    },
    "outputSchema": {"type": "object", "properties": {"commits": {"type": "array"}}},
}
CLOSE = {"name": "close_issue", "description": "Closes an issue.", "inputSchema": {"type": "object"}}
MAIL = {"name": "send", "description": "Sends a message to somebody.", "inputSchema": {"type": "object"}}


@pytest.fixture(autouse=True)
def own_log(monkeypatch):
    monkeypatch.setattr(logging, "lastResort", logging.lastResort)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CORTEX_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CORTEX_TOOLS__POLICIES", "git.close_issue=deny")
    return tmp_path / "home"


@pytest.fixture
def tools(home, capsys):
    def run(*arguments: str, code: int = 0) -> tuple[str, str]:
        assert run_command(["tools", *arguments]) == code
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err
        assert "\x1b" not in shown.out + shown.err
        return shown.out, shown.err

    return run


@pytest.fixture
def servers(home, tmp_path):
    """Two that work, of which one is asked about, and one that does not."""
    McpFile(home).add(
        {
            "git": raw(COMMITS, CLOSE),
            "mail": raw(MAIL, policy="ask", heard=str(tmp_path / "mail")),
            "dead": raw("echo", early_exit=3, stderr="no \x1b[2J database"),
        }
    )


def test_all_tools_are_listed_and_a_dead_server_is_reported_and_stops_no_other(tools, servers):
    out, err = tools()
    assert out.splitlines() == [
        "name              policy  what",
        "git.list-commits  allow   Lists the commits of a repository. The newest come first. \\u001b[2J",
        "git.close_issue   deny    Closes an issue.",
        "mail.send         ask     Sends a message to somebody.",
    ]
    assert re.fullmatch(r"cortex tools: dead cannot be used: .+no \\u001b\[2J database.*\n", err)


def test_a_search_gives_the_best_first_with_their_scores(tools, servers):
    out, _ = tools("what", "was", "committed", "--server", "git", "--server", "mail")
    head, first, *_ = out.splitlines()
    assert head.split() == ["name", "policy", "score", "what"]
    name, policy, score, *_ = first.split()
    assert (name, policy, float(score) > 0) == ("git.list-commits", "allow", True)
    [only] = json.loads(tools("send a message", "--limit", "1", "--json", "--server", "mail")[0])
    assert only.pop("score") > 0
    assert only == {
        "name": "mail.send",
        "server": "mail",
        "tool": "send",
        "policy": "ask",
        "description": "Sends a message to somebody.",
    }
    # As an agent's search: what is denied is not found.
    assert tools("close an issue", "--json", "--server", "git")[0] == "[]\n"


def test_the_settings_bound_a_search(tools, home, monkeypatch):
    McpFile(home).add({"git": raw(*(f"commit_{number}" for number in range(8)))})
    monkeypatch.setenv("CORTEX_DISCOVERY__MAX_RESULTS", "3")
    assert len(json.loads(tools("commit", "--json")[0])) == 3
    assert len(json.loads(tools("--json")[0])) == 8
    out, err = tools("zebra")
    assert (out, err) == ("", "None of 8 tools matches 'zebra', or those that match have the policy deny\n")


def test_a_search_is_made_as_the_settings_say_and_a_mistake_in_them_starts_nothing(
    tools, servers, tmp_path, monkeypatch
):
    monkeypatch.setenv("CORTEX_DISCOVERY__SEMANTIC", "onnx")
    assert "discovery.model does not name the folder of a model" in tools("commits", code=2)[1]
    assert not (tmp_path / "mail").exists()


@pytest.mark.parametrize("name", ["git.list-commits", "git.listCommits", "git.list_commits", "tools.git.listCommits"])
def test_a_declaration_is_shown_by_each_spelling_and_no_other_server_is_started(tools, servers, tmp_path, name):
    out, err = tools("show", name)
    assert "declare const tools: {" in out
    assert "repo: string" in out
    assert "since?: string" in out
    assert "close_issue" not in out
    assert err == ""
    assert not (tmp_path / "mail").exists()


def test_all_of_a_server_are_shown_and_what_is_not_allowed_is_said(tools, servers):
    out, _ = tools("show", "git", "mail.send")
    assert out.startswith(
        "// git.close_issue: deny, it is not lent\n// mail.send: ask, the owner is asked before each call\n"
    )
    assert out.count("Promise<") == 3


def test_for_programs_there_are_schemas_too(tools, servers):
    [tool] = json.loads(tools("show", "git.list_commits", "--json")[0])
    assert tool["input_schema"] == COMMITS["inputSchema"]
    assert tool["output_schema"] == COMMITS["outputSchema"]
    assert tool["declaration"].startswith("declare const tools")
    assert (tool["name"], tool["tool"], tool["policy"]) == ("git.list-commits", "list-commits", "allow")


def test_an_unknown_tool_is_a_usage_error_and_a_tool_of_a_dead_server_a_failure(tools, servers):
    _, err = tools("show", "git.list_comits", code=2)
    assert "git.list_comits: git has no such tool; there are list-commits, close_issue" in err
    assert 'lgo.x: there is no server "lgo"; there are ' in tools("show", "lgo.x", code=2)[1]
    out, err = tools("show", "git.close_issue", "dead.echo", code=1)
    assert "close_issue" in out
    assert "dead cannot be used" in err
    assert "does not go with show" in tools("show", "git", "--limit", "2", code=2)[1]


@pytest.mark.parametrize("names", [["git.listCommits", "tools.git.close_issue"], ["git"], ["git.list_comits"], ["x"]])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_names_mean_what_they_mean_to_core_describe(anyio_backend, home, names):
    """Whatever the workbench says of a name, the command says."""
    git = {"git": raw(COMMITS, CLOSE)}
    settings = Settings(home=home, mcpServers=git)
    async with McpServers(git, settings.mcp) as clients, aclosing(Discovery(settings.discovery)) as discovery:
        described = await Workbench(Toolbox(), clients, settings, discovery).describe(names)
    McpFile(home).add(git)
    command = [*CORTEX, "tools", "show", *names]
    done = await anyio.run_process(command, check=False)
    if described.startswith("// "):
        assert done.stderr.decode() == f"cortex tools: {described.removeprefix('// ')}\n"
        assert done.returncode == 2
    else:
        assert done.stdout.decode().replace("// git.close_issue: deny, it is not lent\n", "") == visible(
            f"{described}\n"
        )


def test_show_without_a_name_and_a_list_of_nothing_are_mistakes(tools, servers, tmp_path):
    assert "show needs a NAME" in tools("show", code=2)[1]
    with pytest.raises(SystemExit):
        tools("--limit", "0")
    assert not (tmp_path / "mail").exists()


def test_in_a_terminal_it_says_which_servers_it_waits_for(home, monkeypatch):
    McpFile(home).add({"quick": raw(MAIL), "hang": server(command="sleep", args=["1000"])})
    monkeypatch.setenv("CORTEX_MCP__RESTART_S", "60")
    # On a machine that stands still for a moment the first limit may be too short for the quick one, too.
    for limit_ms in (1_500, 15_500):
        monkeypatch.setenv("CORTEX_MCP__START_TIMEOUT_MS", str(limit_ms))
        shown = in_a_terminal(120, "tools")
        if "quick.send" in shown:
            break
    waiting = rf"^waiting for (quick, )?hang, \d+ s by now \(mcp.start_timeout_ms is {limit_ms / 1000} s\)$"
    assert re.search(waiting, shown, re.M)
    assert "quick.send" in shown
    assert f"hang cannot be used: it did not start within {limit_ms} ms" in shown


@pytest.mark.parametrize("is_terminal", [True, False])
async def test_the_line_about_waiting_is_repeated_and_only_shown_in_a_terminal(monkeypatch, is_terminal):
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return is_terminal

    monkeypatch.setattr(mcp_trial, "_LOOK_S", 0.01)
    monkeypatch.setattr(mcp_trial, "_AGAIN_S", 0.05)
    # On a machine that stands still for a moment the first limit may be over before anything is said twice.
    for limit_ms in (500, 5_000):
        monkeypatch.setattr(sys, "stderr", Stream())
        settings = McpSettings(start_timeout_ms=limit_ms)
        async with McpServers({"hang": server(command="sleep", args=["1000"])}, settings) as clients:
            await started(clients, ["hang"], settings)
            assert [status.state for status in clients.statuses()] == ["failed"]
        said = sys.stderr.getvalue().splitlines()
        if (len(said) > 1) is is_terminal:
            break
    assert (len(said) > 1) is is_terminal
    assert all(line.startswith("waiting for hang, ") for line in said)


def test_when_no_server_can_be_used_the_command_has_failed(tools, home):
    McpFile(home).add({"dead": raw("echo", early_exit=3)})
    out, err = tools(code=1)
    assert out == ""
    assert "dead cannot be used" in err


def test_tools_of_ones_own_toolbox_are_among_them(tools, tmp_path):
    (tmp_path / "shop_tools_here.py").write_text(
        "from cortex import Toolbox\n"
        "toolbox = Toolbox()\n"
        "@toolbox.tool(name='shop.stock', policy='ask')\n"
        "def stock(item: str) -> int:\n"
        "    '''How many of an item are left.'''\n"
        "    return 1\n"
    )
    place = f"{tmp_path / 'shop_tools_here.py'}:toolbox"
    out, _ = tools("--tools", place)
    assert out.splitlines()[1] == "shop.stock  ask     How many of an item are left."
    out, _ = tools("show", "shop.stock", "--tools", place)
    assert "stock(args: { item: string })" in out
    assert "--tools: " in tools("--tools", "nowhere", code=2)[1]


def test_without_tools_it_says_how_to_get_some_and_makes_no_home(tools, home):
    assert tools() == ("", "There are no tools yet: cortex mcp add NAME -- COMMAND\n")
    assert tools("--json")[0] == "[]\n"
    assert 'no server "x"' in tools("--server", "x", code=2)[1]
    assert not home.exists()


def test_nothing_is_started_while_the_kill_switch_is_on(tools, servers, home, tmp_path):
    KillSwitch(home / "state").turn_on("enough", "owner")
    assert "enough" in tools(code=3)[1]
    assert not (tmp_path / "mail").exists()


def test_in_a_terminal_declarations_have_colours_and_nothing_steers_it(home, tmp_path):
    (tmp_path / "odd_tools_here.py").write_text(
        "from cortex import Toolbox\n"
        "toolbox = Toolbox()\n"
        "@toolbox.tool(description='Reads \\x1b[2J many words about nothing in particular')\n"
        "def read(item: str) -> int:\n"
        "    return 1\n"
    )
    shown = in_a_terminal(48, "tools", "show", "read", "--tools", f"{tmp_path / 'odd_tools_here.py'}:toolbox")
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert plain != shown
    assert "\x1b" not in plain
    assert "declare const tools" in plain
    assert max(map(len, plain.splitlines())) <= 48


def test_a_narrow_list_has_a_few_lines_for_each():
    toolbox = Toolbox()
    toolbox.add(lambda: None, name="git.list", description="Lists the commits of a repository, the newest first.")
    seen = Seen(list(toolbox), 1, scores={"git.list": 7.25})
    assert list(list_lines(seen, Settings(), 30, lambda text, _: text)) == [
        "git.list: allow, 7.25",
        "  Lists the commits of a",
        "  repository, the newest",
        "  first.",
    ]
