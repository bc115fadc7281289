"""Tools of MCP servers as everything else here knows tools."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from pydantic_core import to_json

from cortex.mcp_client import McpTool
from cortex.mcp_client.listing import MAX_ALL_CONTAINERS, MAX_DESCRIPTION, MAX_SCHEMA_BYTES, Listing, tools_of
from cortex.mcp_client.server import Server
from cortex.settings.sections import McpSettings
from cortex.tools.calls import UsableTool
from cortex.tools.fitting import MAX_STEPS
from sandbox import ReadyJson, ToolError, typescript_of
from tests.conftest import is_readable

from .support import BOUND_S, is_alive, raw, result, servers, tool, until

COMMITS = {
    "type": "object",
    "properties": {"since": {"type": "string"}, "per_page": {"type": "integer"}},
    "required": ["since"],
    "additionalProperties": False,
}


class Nobody:
    async def call(self, tool, arguments, timeout_ms):
        return ReadyJson(to_json(arguments))


class Listed:
    def __init__(self, name: str = "list", schema: Any = None, output: Any = None, description: str | None = None):
        self.name = name
        self.title = "A title"
        self.description = description
        self.input_schema = COMMITS if schema is None else schema
        self.output_schema = output


def taken(*listed: Listed) -> tuple[McpTool, ...]:
    return tools_of("s", listed, "ask", Nobody())


def only(schema: Any) -> McpTool:
    (found,) = taken(Listed(schema=schema))
    return found


def test_a_tool_is_what_a_turn_can_use():
    (found,) = taken(Listed("list.commits", description="Commits of a repository."))
    usable: UsableTool = found
    assert (usable.name, usable.policy, usable.for_code, found.for_model) == ("s.list_commits", "ask", True, False)
    declared = usable.declaration
    assert (declared.server, declared.tool, declared.description) == ("s", "list.commits", "Commits of a repository.")
    assert "per_page?: number" in typescript_of([declared])


def test_arguments_are_brought_near_and_checked():
    found = only(COMMITS)
    assert found.read({"since": "today", "perPage": "5"}).shown == {"since": "today", "per_page": 5}
    assert found.read('{"since": "today", "per_page": null}').shown == {"since": "today"}
    with pytest.raises(ToolError, match=r"since.* It takes since, per_page \(optional\)") as caught:
        found.read({"per_page": 5})
    assert caught.value.code == "invalid_arguments"
    with pytest.raises(ToolError):
        found.read({"since": "today", "other": 1})
    with pytest.raises(ToolError):
        found.read([1])


def test_a_text_alone_is_the_only_parameter():
    assert only({"type": "object", "properties": {"q": {"type": "string"}}}).read("words").shown == {"q": "words"}


LOOP = {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
HOSTILE = [
    ({"type": "object", "properties": {"x": LOOP}, "$defs": {"a": LOOP}}, "bad_schema"),
    ({"$schema": DRAFT_4, "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": [1]}, "bad_schema"),
    ({"type": "object", "properties": {"x": True, "y": False}}, None),
    ({"type": "object", "required": ["x"] * 1000}, "bad_schema"),
    ({"anyOf": [{"type": "object"}, {"type": "null"}]}, None),
]


@pytest.mark.parametrize(("schema", "code"), HOSTILE)
def test_no_schema_takes_for_ever_or_fails_in_another_way(schema: Any, code: str | None):
    found = None
    try:
        assert only(schema).read({"x": {"y": "1"}, "Z": None}).shown["x"]
    except ToolError as error:
        found = error.code
    assert found == code


def test_arguments_that_are_too_deep_for_a_schema_are_told_as_wrong_arguments():
    arms = [{"type": "object", "required": ["x"], "properties": {"x": {"$ref": f"#/$defs/a{n}"}}} for n in range(30)]
    schema = {"properties": {"x": {"anyOf": arms}}, "$defs": {f"a{n}": {"anyOf": arms} for n in range(30)}}
    value: Any = 1
    for _ in range(40):
        value = {"x": value}
    with pytest.raises(ToolError, match="too deep or too many for the references of this schema") as caught:
        only(schema).read(value)
    assert caught.value.code == "invalid_arguments"


def test_a_schema_that_cannot_be_used_says_so():
    with pytest.raises(ToolError, match="cannot be used") as caught:
        only({"properties": 5}).read({})
    assert caught.value.code == "bad_schema"


def test_many_values_are_checked_as_they_are():
    numbers = {"type": "object", "properties": {"n": {"type": "array", "items": {"type": "integer"}}}}
    assert only(numbers).read({"n": ["1"]}).shown == {"n": [1]}
    with pytest.raises(ToolError):
        only(numbers).read({"n": ["1"] * MAX_STEPS})


def test_what_a_server_lists_is_bounded():
    vast = {"type": "object", "description": "x" * MAX_SCHEMA_BYTES}
    tools = taken(
        Listed("a", description="x" * 100_000),
        Listed("a", description="again"),
        Listed("n" * 10_000),
        Listed("vast", schema=vast),
        Listed("vast_output", output=vast),
        Listed("odd_output", output={"type": "strin"}),
        Listed("untold"),
    )
    assert [tool.tool for tool in tools] == ["a", "vast_output", "odd_output", "untold"]
    assert [len(tool.description) for tool in tools] == [MAX_DESCRIPTION, 7, 7, 7]
    assert [tool.output_schema for tool in tools] == [None, None, {"type": "strin"}, None]


def test_no_schema_is_compiled_before_it_is_used():
    program = (
        "import sys; from tests.cortex.mcp_client.test_tools import Listed, taken; "
        "taken(Listed(output={'type': 'object'})); assert 'jsonschema_rs' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=BOUND_S, cwd=Path(__file__).parents[3])


class Page(NamedTuple):
    tools: Any
    next_cursor: str | None = None


class Pages:
    """A session of the SDK that only lists tools."""

    protocol_version = "2025-06-18"

    def __init__(self, *pages: Page) -> None:
        self._pages = iter(pages)
        self._tool_output_schemas: dict[str, Any] = {}
        self._x_mcp_header_maps: dict[str, Any] = {}
        self.asked = 0

    @property
    def session(self) -> Pages:
        return self

    async def list_tools(self, params: Any) -> Page:
        self.asked += 1
        page = next(self._pages)
        for number in range(len(page.tools)):
            self._tool_output_schemas[page.tools[number].name] = page.tools[number].output_schema
            self._x_mcp_header_maps[page.tools[number].name] = {}
        return page


def linked(pages: Pages) -> Any:
    from cortex.mcp_client.link import Link

    return Link(pages, None)  # type: ignore[arg-type]


async def test_a_long_mark_of_the_next_page_ends_the_list(caplog):
    pages = Pages(Page([Listed("a")], "x" * 1_024), Page([Listed("b")], "x" * 1_025), Page([Listed("c")]))
    listing = Listing("s", 10)
    await linked(pages).tools(listing)
    assert sorted(listing.names) == ["a", "b"]
    assert pages.asked == 2
    assert "the rest of its tools is left out, the mark of its next page is too long" in caplog.text


async def test_pages_are_asked_for_as_long_as_there_is_room_for_their_schemas(monkeypatch):
    monkeypatch.setattr("cortex.mcp_client.listing.MAX_ALL_BYTES", 2_500)
    vast = {"type": "object", "description": "x" * 1_000}
    pages = Pages(*(Page([Listed(f"t{n}", vast)], str(n)) for n in range(10)))
    listing = Listing("s", 10)
    await linked(pages).tools(listing)
    assert (sorted(listing.names), pages.asked) == (["t0", "t1"], 3)


async def test_of_tools_that_are_left_out_the_sdk_keeps_nothing():
    pages = Pages(Page([Listed("a", output={"type": "object"}), Listed("b" * 300, output={"type": "object"})]))
    await linked(pages).tools(Listing("s", 10))
    assert (pages._tool_output_schemas, pages._x_mcp_header_maps) == ({}, {"a": {}})


def test_objects_and_arrays_are_counted_over_all_tools_of_a_server(caplog):
    """Each of these is within the bytes of a schema. Together they would take hundreds of megabytes."""
    schema = {"type": "object", "examples": [[]] * 24_000}
    tools = taken(*(Listed(f"t{n}", schema) for n in range(20)))
    assert len(tools) == MAX_ALL_CONTAINERS // 24_002
    assert '"t8" is left out, the schemas of all tools hold more than 200000 objects and arrays' in caplog.text


def test_of_a_page_only_what_is_used_is_kept():
    (found,) = taken(Listed(description=" " * 100_000 + "x" * 10_000_000))
    assert len(found.description) == MAX_DESCRIPTION


async def test_while_a_list_is_taken_everything_else_goes_on():
    class Long(tuple[Listed, ...]):
        """A list during which another task has its turn, or else never ends."""

        def __iter__(self) -> Iterator[Listed]:
            assert turn.wait(BOUND_S)
            return super().__iter__()

    turn = threading.Event()
    server = Server("s", raw(), McpSettings(), {}, lambda: None, time.monotonic, None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server._list, linked(Pages(Page(Long([Listed("a"), Listed("b")])))))
        await anyio.sleep(0.01)
        turn.set()
    assert [tool.name for tool in server.tools] == ["s.a", "s.b"]


async def test_arguments_that_do_not_fit_never_reach_the_server(tmp_path: Path):
    heard = tmp_path / "heard"
    async with servers(s=raw({"name": "echo", "inputSchema": COMMITS}, heard=str(heard))) as mcp:
        with pytest.raises(ToolError):
            await result(mcp, "s.echo", since=1, other=2)
        assert await result(mcp, "s.echo", since="today", perPage=1) == {"since": "today", "per_page": 1}
        assert heard.read_text().count("tools/call") == 1


async def test_a_result_that_is_not_what_the_tool_declares_is_an_error():
    output = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    lying = {"name": "echo", "inputSchema": {"type": "object"}, "outputSchema": output}
    async with servers(s=raw(lying)) as mcp:
        assert await result(mcp, "s.echo", a=1) == {"a": 1}
        with pytest.raises(ToolError, match=r"something else than it declares: result\.a") as caught:
            await result(mcp, "s.echo", a="one")
        assert caught.value.code == "bad_answer"


@pytest.mark.parametrize(
    "output",
    [{"type": "strin"}, {"$ref": "#/properties/n/items"}, {"enum": [{"a": n} for n in range(5_000)]}],
    ids=["odd", "loop", "vast"],
)
async def test_a_result_that_cannot_be_checked_in_a_moment_is_good_as_it_is(output: Any):
    declared = {
        "name": "echo",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"n": {"items": output}}},
    }
    async with servers(s=raw(declared)) as mcp:
        assert await result(mcp, "s.echo", n=[1] * 10_000) == {"n": [1] * 10_000}


async def test_an_error_of_the_protocol_has_its_code():
    async with servers(s=raw("refuse", "answer")) as mcp:
        with pytest.raises(ToolError, match="no such commit") as caught:
            await result(mcp, "s.refuse")
        assert caught.value.code == "mcp_-32602"
        assert len(str(caught.value)) < 600
        with pytest.raises(ToolError) as caught:
            await result(mcp, "s.answer", content="not a list")
        assert caught.value.code == "bad_answer"
        # Where the error is logged, the error of the validation would be printed with it, and with it the message.
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)


async def test_the_policy_of_a_server_is_that_of_its_tools():
    async with servers(a=raw(policy="ask"), b=raw()) as mcp:
        assert [(tool.name, tool.policy) for tool in await mcp.tools()] == [("a.echo", "ask"), ("b.echo", "allow")]


async def test_odd_names_are_called_by_the_names_that_the_server_knows():
    odd = ["a-b", "a_b", "a b", "echo"]
    async with servers(s=raw(*odd)) as mcp:
        names = {tool.tool: tool.name for tool in await mcp.tools()}
        assert len(set(names.values())) == 4
        with pytest.raises(ToolError, match="no tool a b"):
            await (await tool(mcp, names["a b"])).call_json({})


def test_the_client_is_loaded_without_the_sdk():
    program = "import cortex.mcp_client, sys; assert not {'mcp', 'httpx2', 'jsonschema_rs'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=BOUND_S)


def test_a_host_that_is_killed_by_force_takes_its_servers_with_it():
    """By the end of their standard input. One that ignores that outlives its host."""
    root = str(Path(__file__).parent.parent.parent.parent)
    host = subprocess.Popen(
        [sys.executable, "-m", "tests.cortex.mcp_client.host"], stdout=subprocess.PIPE, cwd=root, text=True
    )
    assert host.stdout is not None
    with host.stdout:
        assert is_readable(host.stdout, BOUND_S)
        server = int(host.stdout.readline())
        assert is_alive(server)
        host.send_signal(signal.SIGKILL)
        host.wait()

    async def gone() -> None:
        await until(lambda: not is_alive(server))

    anyio.run(gone)
