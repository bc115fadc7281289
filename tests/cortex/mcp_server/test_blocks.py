"""What MCP clients get of what code displayed: content blocks."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from contextlib import asynccontextmanager

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from cortex.loop import Answer
from cortex.mcp_server import server
from cortex.mcp_server.calls import Progress
from cortex.mcp_server.offered import RUN_SCHEMA
from cortex.mcp_server.server import answer_result, code_result
from cortex.turn import CodeAnswer
from cortex.turn.code_answer import with_displays
from sandbox import Displayed
from tests.pixels import Pixels
from tests.sandbox.contracts.test_displays import png

from .scripted import BOUND_S
from .test_serve_command import CORTEX, environment


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


PICTURE = Displayed("image", "image/png", png())
BLOCK = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png()).decode()}


def test_the_schema_for_clients_declares_what_an_answer_says_of_displays():
    declared = RUN_SCHEMA["properties"]["displayed"]["items"]["properties"]
    [told] = with_displays(CodeAnswer("1", ok=True), (PICTURE,)).structured["displayed"]
    assert declared.keys() == told.keys()


def test_a_picture_is_an_image_block_behind_the_text():
    text = {"type": "text", "text": "1"}
    assert answer_result(Answer("1", displayed=(PICTURE,)))["content"] == [text, BLOCK]
    result = code_result(CodeAnswer("1", ok=True, structured={"result": 1}, displayed=(PICTURE,)))
    assert result["content"] == [text, BLOCK]
    assert "data" not in repr(result["structuredContent"])


def test_a_text_is_a_block_only_where_the_reply_has_less_of_it():
    short, long = (Displayed("markdown", "text/markdown", b"x" * size) for size in (100, 10_000))
    content = answer_result(Answer("1", displayed=(short, long)))["content"]
    assert [len(block["text"]) for block in content] == [1, 10_000]


def test_a_sound_is_an_audio_block_and_a_blob_an_embedded_resource():
    sound, blob = Displayed("audio", "audio/wav", b"\1\2"), Displayed("blob", "application/pdf", b"%PDF")
    _, first, second = answer_result(Answer("1", displayed=(sound, blob)))["content"]
    assert first == {"type": "audio", "mimeType": "audio/wav", "data": "AQI="}
    uri = f"cortex://displayed/{hashlib.sha256(b'%PDF').hexdigest()}"
    assert second == {
        "type": "resource",
        "resource": {"uri": uri, "mimeType": "application/pdf", "blob": base64.b64encode(b"%PDF").decode()},
    }


def test_the_sdk_takes_the_blocks():
    from mcp_types import CallToolResult

    shown = (PICTURE, Displayed("audio", "audio/wav", b"\1"), Displayed("blob", "a/b", b""))
    result = CallToolResult.model_validate(answer_result(Answer("1", displayed=shown)))
    assert [block.type for block in result.content] == ["text", "image", "audio", "resource"]


DRAW = """
display(`<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><rect width="20" height="10" fill="lime"/></svg>`);
const data = new Uint8Array([9, 1, 2]).subarray(1);
return [{ type: "audio", mimeType: "audio/wav", data }, { type: "blob", mimeType: "application/pdf", data }];
"""
RETURNED = [
    {"type": "audio", "mimeType": "audio/wav", "bytes": 2},
    {"type": "blob", "mimeType": "application/pdf", "bytes": 2},
]


@pytest.mark.deno
@pytest.mark.parametrize("tool", ["core_execute", "execute_code"])
async def test_a_client_over_stdio_gets_what_code_displays_and_returns_as_blocks(tmp_path, tool, nothing_left):
    started = StdioServerParameters(command=CORTEX[0], args=[*CORTEX[1:], "mcp", "serve"], env=environment(tmp_path))
    with open(tmp_path / "stderr", "w+") as errors:
        async with Client(stdio_client(started, errlog=errors), mode="legacy", read_timeout_seconds=BOUND_S) as client:
            result = await client.call_tool(tool, {"purpose": "draw", "code": DRAW})
        errors.seek(0)
        assert errors.read() == ""
    text, picture, sound, blob = result.content
    assert not result.is_error
    assert json.loads(text.text.splitlines()[0]) == RETURNED
    assert (picture.type, picture.mime_type) == ("image", "image/png")
    assert Pixels(base64.b64decode(picture.data)).at(10, 5) == (0, 255, 0, 255)
    assert (sound.type, sound.mime_type, sound.data) == ("audio", "audio/wav", "AQI=")
    assert (blob.type, blob.resource.mime_type, blob.resource.blob) == ("resource", "application/pdf", "AQI=")


def test_small_tables_do_not_become_megabytes_of_blocks():
    rows = json.dumps([{f"c{n}": 1 for n in range(50)}, *[{}] * 999]).encode()
    tables = (Displayed("table", "application/json", rows),) * 20
    content = answer_result(Answer("1", displayed=tables))["content"]
    assert sum(len(block["text"]) for block in content) < 20 * 70_000


async def test_large_displays_become_blocks_in_a_thread(monkeypatch):
    threads = []

    class Turn:
        async def answer(self, name, arguments=None):
            return Answer("1", displayed=(Displayed("image", "image/png", png() + bytes(100_000)),))

        async def execute_code(self, arguments=None):
            return CodeAnswer("1", True, {}, (await self.answer("")).displayed)

    class Cortex:
        @asynccontextmanager
        async def turn(self, *_, **__):
            yield Turn()

    def block(item):
        threads.append(threading.get_ident())
        return BLOCK

    monkeypatch.setattr(server, "_block", block)
    answers = server._Answers(Cortex(), set(), None, 1.0, None, None, None)
    for name in ("core_execute", "execute_code"):
        result = await answers._answer(name, {}, Progress(None, 1.0), None, None)
        assert result["content"][-1] == BLOCK
    assert len(threads) == 2
    assert threading.get_ident() not in threads
