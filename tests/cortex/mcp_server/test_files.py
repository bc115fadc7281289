"""Files for MCP clients: a folder of the owner's, or a root of the client's where the owner allows it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import ListRootsResult, Root

from cortex import Folder, MotorCortex, Settings
from cortex.commands import run_command as run
from cortex.mcp_server import mcp_server
from cortex.mcp_server.roots import ClientRoots, local_path, within
from cortex.settings.sections import EnergySettings, ExecuteSettings, McpSettings, ServeSettings
from sandbox import SandboxSettings

from .scripted import BOUND_S
from .test_calls import never_asked
from .test_serve_command import CORTEX, environment

WRITE = {"purpose": "x", "code": "await Deno.writeTextFile('new.txt', 'x'); return (await Deno.stat('.')).isDirectory"}


@asynccontextmanager
async def clients(home, folder=None, *, allowed=(), roots=None, commit="ask", era="legacy"):
    """A client that tells these roots if it is asked, and gives consent to nothing."""
    settings = Settings(
        home=home / "home",
        sandbox=SandboxSettings(pool_size=0),
        execute=ExecuteSettings(max_timeout_isolated_ms=60_000),
        energy=EnergySettings(cost_isolated=0, recharge_per_minute=0),
        mcp=McpSettings(serve=ServeSettings(roots=tuple(map(str, allowed)))),
    )
    options = {} if roots is None else {"list_roots_callback": roots if callable(roots) else telling(*roots)}
    async with (
        MotorCortex(settings, workspace=None if folder is None else Folder(folder, commit)) as cortex,
        Client(
            mcp_server(cortex, settings, commit=commit),
            mode=era,
            elicitation_callback=never_asked,
            read_timeout_seconds=BOUND_S,
            **options,
        ) as client,
    ):
        yield client


def telling(*paths):
    async def told(*_: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=path if "://" in str(path) else Path(path).as_uri()) for path in paths])

    return told


async def text_of(client, name="core_execute", arguments=WRITE):
    return (await client.call_tool(name, arguments)).content[0].text


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "projects" / "one"
    made.mkdir(parents=True)
    return made


@pytest.mark.deno
@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_clients_use_the_folder_of_the_server_and_auto_commits(tmp_path, folder, era):
    async with clients(tmp_path, folder, commit="auto", era=era) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "/workspace" in tools["core_execute"].description
        assert "/workspace" in str(tools["execute_code"].input_schema)
        assert await text_of(client) == "true\nFiles written: 1 added\nadded new.txt (1 bytes)"
        result = await client.call_tool("execute_code", {"code": "await Deno.remove('new.txt'); return 1"})
    change = {"kind": "removed", "path": "new.txt", "size": None}
    assert result.structured_content["files"] == {"committed": True, "changes": [change], "count": 1}
    assert list(folder.iterdir()) == []


@pytest.mark.deno
@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_client_is_never_asked_for_the_owners_consent_to_changes(tmp_path, folder, era):
    async with clients(tmp_path, folder, era=era) as client:
        text = await text_of(client)
    assert "Files not written: 1 added (changing files has the policy" in text
    assert "no owner can be asked here" in text
    assert list(folder.iterdir()) == []


@pytest.mark.deno
async def test_a_root_of_the_client_is_used_where_the_owner_allows_it(tmp_path, folder):
    async with clients(tmp_path, allowed=[folder.parent], roots=[tmp_path, folder], commit="auto") as client:
        assert "/workspace" in (await client.list_tools()).tools[0].description
        assert "Files written" in await text_of(client)
    assert (folder / "new.txt").read_text() == "x"


@pytest.mark.deno
async def test_no_root_leads_where_the_owner_has_not_allowed_it(tmp_path, folder):
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    roots = [
        outside,
        folder / "link",
        f"file://{folder}/../../outside",
        f"file://{folder}/%2e%2e/%2e%2e/outside",
        f"file://elsewhere{folder}",
        f"file://{folder}-beside",
        "file:///",
        "file:///etc",
        tmp_path / "home",
    ]
    async with clients(tmp_path, allowed=[folder.parent], roots=roots, commit="auto") as client:
        assert "EXECUTION_ERROR: PermissionError" in await text_of(client)
    assert list(outside.iterdir()) == []


@pytest.mark.deno
async def test_roots_are_not_asked_for_unless_the_owner_allows_it(tmp_path, folder):
    async with clients(tmp_path, roots=never_asked, commit="auto") as client:
        assert "/workspace" not in (await client.list_tools()).tools[0].description
        assert "EXECUTION_ERROR: PermissionError" in await text_of(client)


@pytest.mark.deno
@pytest.mark.parametrize(("roots", "era"), [(None, "legacy"), ([], "legacy"), (never_asked, "2026-07-28")])
async def test_a_client_without_roots_goes_on_without_files(tmp_path, folder, roots, era):
    async with clients(tmp_path, allowed=[folder.parent], roots=roots, era=era) as client:
        assert await text_of(client, arguments={"purpose": "x", "code": "return 2"}) == "2"


@pytest.mark.deno
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_command_serves_a_folder_and_roots_within_those_that_it_is_told(tmp_path, folder, nothing_left):
    given = tmp_path / "given"
    given.mkdir()
    config = tmp_path / "config.toml"
    config.write_text(f'[mcp.serve]\nroots = ["{folder.parent}"]\n')
    options = ["--config", str(config), "--workspace", str(given), "--commit", "auto"]
    arguments = [*CORTEX[1:], "mcp", "serve", *options]
    started = StdioServerParameters(command=CORTEX[0], args=arguments, env=environment(tmp_path / "home"))
    for roots in ([folder], [tmp_path]):
        told = telling(*roots)
        async with Client(
            stdio_client(started), mode="legacy", read_timeout_seconds=BOUND_S, list_roots_callback=told
        ) as client:
            assert "Files written: 1 added" in await text_of(client)
    assert (folder / "new.txt").read_text() == (given / "new.txt").read_text() == "x"


def test_wrong_usage_has_a_clear_error(tmp_path, capsys):
    home = ["--home", str(tmp_path / "home")]
    for arguments, code, said in (
        (["--commit", "auto"], 2, "--commit needs a --workspace"),
        (["--workspace", str(tmp_path / "nowhere")], 2, "No such file"),
        (["--workspace", str(tmp_path)], 3, "it holds the home of the cortex"),
    ):
        assert run([*home, "mcp", "serve", *arguments]) == code
        assert said in capsys.readouterr().err


async def test_the_home_is_no_root_and_a_client_that_says_nothing_is_not_waited_for(tmp_path):
    home = tmp_path / "home"
    home.mkdir()

    class Session:
        def __init__(self, answer):
            self.answer = answer
            self.can_send_request = True
            self.client_capabilities = type("Has", (), {"roots": True})

        async def send_request(self, *_: object, **__: object):
            return await self.answer()

    def context(answer):
        return type("Context", (), {"session": Session(answer), "request_id": 1})

    hasty = ClientRoots([str(tmp_path)], home, "auto", asking_s=0.05)
    assert await hasty.folder(context(lambda: anyio.sleep(600))) is None
    roots = ClientRoots([str(tmp_path)], home, "auto", asking_s=60)
    assert await roots.folder(context(telling(home, tmp_path, home / "missing"))) is None
    (tmp_path / "good").mkdir()
    found = await roots.folder(context(telling(*[home] * 19, tmp_path / "good")))
    assert found is not None
    assert await roots.folder(context(telling(*[home] * 20, tmp_path / "good"))) is None


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b%20c", "/a/b c"),
        ("file://localhost/a", "/a"),
        ("file:relative", None),
        ("file://other/a", None),
        ("http:///a", None),
        ("file:///a?b", None),
        ("file:///a%00b", None),
        ("file://[/a", None),
        (f"file:///{'a' * 9_000}", None),
        ("", None),
    ],
)
def test_only_an_address_of_a_file_of_this_machine_is_a_path(uri, path):
    assert local_path(uri) == (None if path is None else Path(path))


def test_a_path_is_within_an_allowed_folder_only_after_its_links_are_followed(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "away").symlink_to(tmp_path / "out")
    (tmp_path / "out" / "back").symlink_to(tmp_path / "in")
    allowed = [tmp_path / "in"]
    assert within(tmp_path / "in", allowed) == tmp_path / "in"
    assert within(tmp_path / "out" / "back", allowed) == tmp_path / "in"
    assert within(tmp_path / "in" / "away", allowed) is None
    assert within(tmp_path / "in" / ".." / "out", allowed) is None
    assert within(tmp_path / "inner", allowed) is None
