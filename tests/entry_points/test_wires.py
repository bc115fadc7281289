"""The limits of test_entry_points.py over real connections: servers and clients in their own processes, and the SDK."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from cortex.channels.webhook import WebhookChannel
from cortex.http import Address, listen
from cortex.loop import ModelError, UserMessage
from cortex.mcp_client import McpServers
from cortex.mcp_client.server import _load_sdk
from cortex.mcp_server import ClientCalls, HttpDoor, mcp_server, serve_http, serve_stdio
from cortex.mcp_server.stdio import Ends
from cortex.models.openai_model import OpenAIModel
from cortex.settings.mcp_servers import McpServerSettings
from cortex.settings.sections import McpSettings, ModelSettings
from neurons import OwnerSettings
from sandbox import ToolError
from tests.cortex.mcp_server.scripted import ScriptedCortex, settings as server_settings

from .measure import judged

BOUND_S = 60
MEGABYTE = 1_000_000


def many(unit: str, size: int) -> bytes:
    return ("[" + unit * (size // len(unit)) + "0]").encode()


SHAPES: dict[str, bytes] = {
    # Over the limit, of each kind.
    "16 MB of pairs": many("[[],[]],", 16 * MEGABYTE),
    "16 MB of objects": many("{},", 16 * MEGABYTE),
    "16 MB of deep ones": many("[" * 180 + "]" * 180 + ",", 16 * MEGABYTE),
    "16 MB of numbers": many("0,", 16 * MEGABYTE),
    # As much as is accepted.
    "as many pairs as are taken": many("[[],[]],", 60_000),
    "as many deep ones as are taken": many("[" * 180 + "]" * 180 + ",", 45_000),
    "as many numbers as are taken": many("1.5e-7,", 680_000),
    "as many members as are taken": b"[{" + b",".join(b'"k%d":0' % n for n in range(99_000)) + b"}]",
    "as many wide integers as are taken": many("18446744073709551617,", 2 * MEGABYTE),
    "one long text": b'["' + b"x" * (7 * MEGABYTE) + b'"]',
    "one text of escapes": b'["' + b"\\u0041" * MEGABYTE + b'"]',
    "a text that is slow to print": b'["' + b"\x7f" * (7 * MEGABYTE) + b'"]',
}


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """Import the SDK before the tests: it takes a second, in a thread, and a test below measures it by itself."""
    _load_sdk()
    import cortex.models.chat_client  # noqa: F401


def program(*arguments: str) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    return started([sys.executable, "-m", "tests.entry_points.servers", *arguments])


@contextlib.contextmanager
def started(arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def port_of(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


async def call(server: McpServerSettings) -> None:
    async with McpServers({"s": server}, McpSettings(start_timeout_ms=BOUND_S * 1000)) as servers:
        (tool,) = await servers.tools_of("s")
        with contextlib.suppress(ToolError):
            await tool.call_json({})


KINDS = {
    "structured": b'{"content":[],"structuredContent":{"a":%b}}',
    "content": b'{"content":[{"type":"text","text":%b}]}',
}


# Some ways take a second for each shape. So the shapes that once broke something are tested in all ways, and all shapes
# in the plainest way.
FEW = ("16 MB of pairs", "as many deep ones as are taken", "one text of escapes")


def ways(plainest: str, *others: str) -> list[tuple[str, str]]:
    return [(shape, plainest) for shape in SHAPES] + [(shape, way) for way in others for shape in FEW]


@pytest.mark.parametrize(("shape", "kind"), ways("structured", "content"))
def test_what_an_mcp_server_says_through_its_pipes(shape, kind, tmp_path):
    value = SHAPES[shape] if kind == "structured" else json.dumps(SHAPES[shape].decode()).encode()
    (tmp_path / "payload").write_bytes(KINDS[kind] % value)
    arguments = ("-m", "tests.entry_points.servers", "stdio", str(tmp_path / "payload"))
    here = str(Path(__file__).parents[2])
    server = McpServerSettings(command=sys.executable, args=arguments, cwd=here)
    judged(lambda: call(server), shape)


@pytest.mark.parametrize(("shape", "how"), ways("json", "events", "bytes"))
def test_what_an_mcp_server_says_over_http(shape, how, tmp_path):
    (tmp_path / "payload").write_bytes(KINDS["structured"] % SHAPES[shape])
    with program("http", str(tmp_path / "payload"), how) as process:
        url = f"http://127.0.0.1:{port_of(process)}/mcp"
        judged(lambda: call(McpServerSettings(url=url)), shape)


# Put right after the start of an answer. To print any of these takes seconds.
SLOW = b'["' + b"\x7f" * (9 * MEGABYTE) + b'"]'
WRONG = {
    "parts that are none": b'{"content":[{"x":%b}]}' % SLOW,
    "very many parts that are none": b'{"content":[' + b",".join([b'{"type":"text","text":1}'] * 24_000) + b"]}",
    "no result": SLOW,
    "a text that is slow to print": b'{"content":[],"structuredContent":{"a":%b}}' % SLOW,
    "as much as is taken": b'{"content":[],"structuredContent":{"a":"%b"}}' % (b"x" * 8_388_000),
    "wide characters": b'{"content":[],"structuredContent":{"a":"%b"}}' % (b"x" * 9_300_000 + "\U0001f600".encode()),
}


@pytest.mark.parametrize("how", ["stdio", "json", "events"])
@pytest.mark.parametrize("wrong", WRONG)
def test_an_answer_that_is_wrong_is_not_printed(wrong, how, tmp_path):
    (tmp_path / "payload").write_bytes(WRONG[wrong])
    with reached(how, tmp_path / "payload") as server:
        judged(lambda: call(server), wrong)


@contextlib.contextmanager
def reached(how: str, payload: Path) -> Iterator[McpServerSettings]:
    if how == "stdio":
        arguments = ("-m", "tests.entry_points.servers", "stdio", str(payload))
        yield McpServerSettings(command=sys.executable, args=arguments, cwd=str(Path(__file__).parents[2]))
        return
    with program("http", str(payload), how) as process:
        yield McpServerSettings(url=f"http://127.0.0.1:{port_of(process)}/mcp")


BODIES = {
    "no message": (b"application/json", b'{"x":%b}' % SLOW),
    "an event that is no message": (b"text/event-stream", b'data: {"x":%b}\n\n' % SLOW),
    "a kind of event that is long": (b"text/event-stream", b"event: " + b"http://a " * MEGABYTE + b"\ndata: 1\n\n"),
    "very many events": (b"text/event-stream", b"event: x\ndata: 1\n\n" * 60_000),
    "very many ids": (b"text/event-stream", b"id: 1\n\n" * 100_000),
    "very many empty lines": (b"text/event-stream", b"\n" * 300_000),
}


@pytest.mark.parametrize("body", BODIES)
def test_what_is_no_answer_over_http(body, tmp_path):
    """The server is a few lines of code below: it answers every request but a call as the other servers do."""
    kind, data = BODIES[body]
    (tmp_path / "payload").write_bytes(data)
    code = f"""if True:
        import json, sys
        from pathlib import Path
        from tests.entry_points.servers import answer, reply, request, served
        data = Path(sys.argv[1]).read_bytes()
        head = b"HTTP/1.1 200 OK\\r\\nContent-Type: %b\\r\\nContent-Length: %d\\r\\n\\r\\n" % ({kind!r}, len(data))
        def talk(connection):
            with connection, connection.makefile("rb") as stream:
                while (body := request(stream)) is not None:
                    message = json.loads(body) if body else {{}}
                    said = answer(message, b"")
                    if said is None:
                        connection.sendall(b"HTTP/1.1 202 Accepted\\r\\nContent-Length: 0\\r\\n\\r\\n")
                    elif message["method"] == "tools/call":
                        connection.sendall(head + data)
                    else:
                        reply(connection, said, "json")
        served(talk)
    """
    arguments = [sys.executable, "-c", code, str(tmp_path / "payload")]
    with started(arguments) as process:
        url = f"http://127.0.0.1:{port_of(process)}/mcp"
        judged(lambda: call(McpServerSettings(url=url)), body)


LISTS = {
    "tools that are none": b'{"tools":[{"x":%b}]}' % SLOW,
    "very many tools that are none": b'{"tools":[' + b",".join([b"{}"] * 24_000) + b"]}",
    "a mark of the next page": b'{"tools":[],"nextCursor":"%b"}' % (b"x" * 9 * MEGABYTE),
    "a long description": b'{"tools":[{"name":"go","inputSchema":{"type":"object"},"description":%b}],"nextCursor":"%%d"}'
    % SLOW[1:-1],
}


LISTED = {
    "tools that are none": "it does not speak MCP: 2 errors in ListToolsResult",
    "very many tools that are none": "it does not speak MCP: 48000 errors in ListToolsResult",
    "a mark of the next page": "0 tools",
    "a long description": "1 tools",
}


@pytest.mark.parametrize("page", LISTS)
def test_what_an_mcp_server_lists(page, tmp_path):
    """Each page of a list is as large as a message may be. There are at most ten pages."""
    (tmp_path / "payload").write_bytes(LISTS[page])
    code = """if True:
        import json, sys
        from pathlib import Path
        from tests.entry_points.servers import answer
        page, number = Path(sys.argv[1]).read_bytes(), 0
        for line in sys.stdin.buffer:
            message = json.loads(line)
            said = answer(message, b"")
            if message["method"] == "tools/list":
                number += 1
                page_now = page.replace(b"%d", b"%d" % number if number < 10 else b"")
                said = b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (message["id"], page_now)
            if said is not None:
                sys.stdout.buffer.write(said + b"\\n")
                sys.stdout.buffer.flush()
    """
    here = str(Path(__file__).parents[2])
    arguments = ("-c", code, str(tmp_path / "payload"))
    server = McpServerSettings(command=sys.executable, args=arguments, env={"PYTHONPATH": here}, cwd=here)

    async def listed() -> None:
        async with McpServers({"s": server}, McpSettings(start_timeout_ms=BOUND_S * 1000)) as servers:
            with contextlib.suppress(ToolError):
                await servers.tools_of("s")
            (status,) = servers.statuses()
            told.append(status.error or f"{status.tools} tools")

    told: list[str] = []
    judged(listed, page)
    assert LISTED[page] in told[-1]


@pytest.mark.parametrize(
    ("level", "said"), [("info", "An MCP server logs"), ("none", "Failed to validate notification")]
)
def test_what_an_mcp_server_logs(level, said, tmp_path, caplog):
    """Also a notification that is invalid in the protocol, which the SDK would log whole."""
    caplog.set_level("DEBUG", logger="motor_cortex.mcp")
    logged = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"%b","data":%b}}'
    (tmp_path / "payload").write_bytes(b'{"content":[]}}\n' + logged % (level.encode(), SLOW) + b"\n{")

    async def heard(server: McpServerSettings) -> None:
        async with McpServers({"s": server}, McpSettings(start_timeout_ms=BOUND_S * 1000)) as servers:
            (tool,) = await servers.tools_of("s")
            await tool.call_json({})
            async with asyncio.timeout(BOUND_S):
                while said not in caplog.text:
                    await asyncio.sleep(0.01)

    with reached("stdio", tmp_path / "payload") as server:
        judged(lambda: heard(server), level)


def test_noise_of_an_mcp_server_lets_others_have_their_turn(tmp_path):
    noise = "import sys; sys.stdout.write('1\\n' * 2_000_000); sys.stdout.flush(); sys.stdin.read()"

    async def start() -> None:
        server = McpServerSettings(command=sys.executable, args=("-c", noise))
        async with McpServers({"s": server}, McpSettings(start_timeout_ms=1_000)) as servers:
            with contextlib.suppress(ToolError):
                await servers.tools_of("s")

    judged(start, "noise")


def test_the_sdk_is_loaded_while_others_have_their_turn(tmp_path):
    """Run in a process of its own, where the SDK is not imported yet."""
    code = """if True:
        import sys
        from tests.entry_points.measure import watched
        from cortex.mcp_client import McpServers
        from cortex.settings import McpServerSettings
        from cortex.settings.sections import McpSettings
        from sandbox import ToolError

        async def start():
            server = McpServerSettings(command="/does/not/exist")
            async with McpServers({"s": server}, McpSettings()) as servers:
                try:
                    await servers.tools_of("s")
                except ToolError:
                    pass

        assert "mcp" not in sys.modules
        watched(start).check("the SDK")
        assert "mcp" in sys.modules
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]


def message(shape: str) -> bytes:
    params = b'{"name":"core_energy","arguments":{"x":%b}}' % SHAPES[shape]
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}' % params


@contextlib.asynccontextmanager
async def serving(tmp_path: Path) -> AsyncIterator[int]:
    listening = listen(Address("127.0.0.1", 0))
    until, calls = asyncio.Event(), ClientCalls()
    server = mcp_server(ScriptedCortex(), server_settings(tmp_path), calls)
    task = asyncio.create_task(serve_http(server, listening, HttpDoor("token"), calls, until=until))  # type: ignore[arg-type]
    try:
        yield listening.getsockname()[1]
    finally:
        until.set()
        await task


SENDER = """
import socket, sys
port, file = int(sys.argv[1]), sys.argv[2]
data = open(file, "rb").read()
with socket.create_connection(("127.0.0.1", port)) as connection:
    connection.settimeout(60)
    try:
        connection.sendall(data)
        print(connection.recv(100)[:30])
    except OSError as error:
        print(error)
"""


async def send(port: int, file: Path) -> bytes:
    sender = await asyncio.create_subprocess_exec(
        sys.executable, "-S", "-c", SENDER, str(port), str(file), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await sender.communicate()
    return said


HEAD = (
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n"
    b"Content-Type: application/json\r\n"
)
TOKEN = b"Authorization: Bearer token\r\n"
MODERN = b"MCP-Protocol-Version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: core_energy\r\n"


@pytest.mark.parametrize(("shape", "era"), ways("modern", "old"))
def test_what_an_mcp_client_says_over_http(shape, era, tmp_path):
    body = message(shape)
    body = body if len(body) < 8 * MEGABYTE else body[: 7 * MEGABYTE]
    head = HEAD + TOKEN + (MODERN if era == "modern" else b"") + b"Content-Length: %d\r\n\r\n" % len(body)
    (tmp_path / "payload").write_bytes(head + body)

    async def ask() -> None:
        async with serving(tmp_path) as port:
            assert b"HTTP/1.1" in await send(port, tmp_path / "payload")

    judged(ask, shape)


@pytest.mark.parametrize("token", [b"", TOKEN], ids=["a stranger", "a client"])
@pytest.mark.parametrize(
    "rest",
    [
        b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 200_000 + b"0\r\n\r\n",
        b"x: y\r\n" * 100_000 + b"\r\n",
        b"x: " + b"y" * 2_000_000 + b"\r\n\r\n",
        b"Content-Length: 2\r\n\r\n{}" + (HEAD + b"Content-Length: 2\r\n\r\n{}") * 2_000,
    ],
    ids=["little chunks", "many headers", "one long header", "many requests at once"],
)
def test_how_an_http_request_is_cut_makes_no_difference(rest, token, tmp_path):
    (tmp_path / "payload").write_bytes(HEAD + token + rest)

    async def ask() -> None:
        async with serving(tmp_path) as port:
            await send(port, tmp_path / "payload")

    judged(ask, "a request")


@pytest.mark.parametrize("shape", SHAPES)
def test_what_an_mcp_client_says_through_its_pipes(shape, tmp_path):
    (tmp_path / "payload").write_bytes(message(shape) + b"\n" + b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')

    async def serve() -> None:
        reading, writing = os.pipe()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        client = await asyncio.create_subprocess_exec("cat", str(tmp_path / "payload"), stdout=writing)
        os.close(writing)
        server = mcp_server(ScriptedCortex(), server_settings(tmp_path), ClientCalls())
        await asyncio.wait_for(serve_stdio(server, Ends(reading, nowhere)), BOUND_S)
        await client.wait()
        os.close(reading)
        os.close(nowhere)

    judged(serve, shape)


@pytest.mark.parametrize("how", ["json", "events", "bytes"])
@pytest.mark.parametrize("shape", FEW)
def test_what_an_endpoint_of_a_model_says(shape, how, tmp_path):
    chunk = b'{"choices":[{"delta":{"content":"x"},"logprobs":%b,"finish_reason":"stop"}]}'
    (tmp_path / "payload").write_bytes(chunk % SHAPES[shape][:5_000_000])
    with program("chat", str(tmp_path / "payload"), how) as process:
        url = f"http://127.0.0.1:{port_of(process)}/v1"
        settings = ModelSettings(name="tiny", base_url=url, max_attempts=1, stream=how != "json")

        async def ask() -> None:
            async with OpenAIModel(settings) as model:
                with contextlib.suppress(ModelError):
                    await model.reply([UserMessage("hello")], [])

        judged(ask, shape)


def test_what_the_address_of_a_webhook_says(tmp_path):
    (tmp_path / "payload").write_bytes(SHAPES["16 MB of pairs"])
    with program("hook", str(tmp_path / "payload")) as process:
        url = f"http://127.0.0.1:{port_of(process)}/hook"
        settings = OwnerSettings(webhook_url=url, webhook_secret="s" * 32)

        async def tell() -> None:
            await WebhookChannel(settings)._notify(b"{}")

        judged(tell, "a webhook")


def test_many_who_connect_at_once(tmp_path):
    async def crowd() -> None:
        async with serving(tmp_path) as port:
            code = f"""if True:
                import socket, time
                found = [socket.create_connection(("127.0.0.1", {port})) for _ in range(400)]
                time.sleep(0.5)
            """
            client = await asyncio.create_subprocess_exec(sys.executable, "-S", "-c", code)
            await client.wait()

    judged(crowd, "a crowd")
