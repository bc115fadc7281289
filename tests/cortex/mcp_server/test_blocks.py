"""What MCP clients get of what code displayed: content blocks."""

from __future__ import annotations

import base64
import hashlib

from cortex.loop import Answer
from cortex.mcp_server.server import answer_result, code_result
from cortex.turn import CodeAnswer
from sandbox import Displayed
from tests.sandbox.contracts.test_displays import png

PICTURE = Displayed("image", "image/png", png())
BLOCK = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png()).decode()}


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
