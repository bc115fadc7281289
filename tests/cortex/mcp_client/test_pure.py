"""The decisions of the MCP client, without any server."""

from __future__ import annotations

import json
import logging

import pytest
from hypothesis import given, strategies as st
from pydantic import TypeAdapter, ValidationError

from cortex.mcp_client import unwrap
from cortex.mcp_client.errors import MAX_TEXT, short
from cortex.mcp_client.listing import tool_names
from cortex.mcp_client.server import Rate, Restarts
from cortex.mcp_client.unwrap import MAX_ERROR_CHARACTERS, unwrapped
from cortex.tools.names import check_name
from sandbox import ToolError


def value(**answer):
    return json.loads(unwrapped(answer, "s.t", 1_000_000).data)


def text(words: str):
    return {"type": "text", "text": words}


def test_names_are_the_servers_own_where_every_api_takes_them():
    assert tool_names("git-hub", ["list_commits", "a-b", "a_b"]) == {
        "list_commits": "git-hub.list_commits",
        "a-b": "git-hub.a-b",
        "a_b": "git-hub.a_b",
    }


def test_odd_characters_become_lines_and_two_tools_never_share_a_name():
    names = tool_names("s", ["list.commits", "list/commits", "list_commits", "größe", ""])
    assert names["list_commits"] == "s.list_commits"
    assert names["größe"] == "s.gr__e"
    assert names["list.commits"].startswith("s.list_commits_")
    assert len(set(names.values())) == len(names)


@given(st.lists(st.text(max_size=90), unique=True, max_size=20))
def test_every_name_can_be_used_and_depends_on_no_order(originals):
    names = tool_names("a" * 40, originals)
    assert len(set(names.values())) == len(originals)
    for name in names.values():
        check_name(name)
    assert tool_names("a" * 40, reversed(originals)) == names


def test_structured_content_comes_first():
    assert value(content=[text("other")], structuredContent={"a": 1}) == {"a": 1}
    assert value(content=[text("other")], structuredContent=[]) == []


def test_then_comes_json_in_a_text_and_then_the_text():
    assert value(content=[text(' {"a": [1]} ')]) == {"a": [1]}
    assert value(content=[text("[1, 2]")]) == [1, 2]
    assert value(content=[text("{broken")]) == "{broken"
    assert value(content=[text("1.10")]) == "1.10"
    assert value(content=[text("[1]"), text("[2]")]) == "[1]\n[2]"
    assert value(content=[]) is None


def test_images_sounds_and_blobs_reach_code_with_their_bytes():
    image = {"type": "image", "mimeType": "image/png", "data": "AQI="}
    sound = {"type": "audio", "mimeType": "audio/wav", "data": "AQI="}
    blob = {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "application/zip", "blob": "AQI="}}
    alone = unwrapped({"content": [image]}, "s.t", 1_000)
    assert json.loads(alone.data) == image
    assert alone.bytes_at == (("data",),)
    mixed = unwrapped({"content": [text("here:"), image, sound, blob]}, "s.t", 1_000)
    assert json.loads(mixed.data) == [
        {"type": "text", "text": "here:"},
        image,
        sound,
        {"type": "blob", "mimeType": "application/zip", "uri": "file:///a", "data": "AQI="},
    ]
    assert mixed.bytes_at == ((1, "data"), (2, "data"), (3, "data"))
    with pytest.raises(ToolError, match="more than 50"):
        unwrapped({"content": [{**image, "data": "A" * 100}]}, "s.t", 50)


def test_damaged_base64_and_other_parts_are_described():
    content = [
        text("here:"),
        {"type": "image", "mimeType": "image/png", "data": "A*" * 2000},
        {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "application/zip", "blob": "A" * 4001}},
        {"type": "resource", "resource": {"uri": "file:///b", "text": "of the file"}},
        {"type": "resource_link", "uri": "file:///c", "name": "c"},
        {"type": "hologram"},
    ]
    assert value(content=content) == (
        "here:\n[image image/png, about 3000 bytes]\n[resource file:///a application/zip, about 3000 bytes]\n"
        "of the file\n[resource file:///c of unknown type]\n[hologram]"
    )


def test_an_error_is_raised_with_the_servers_text_but_not_all_of_it():
    with pytest.raises(ToolError, match="no such commit") as caught:
        value(isError=True, content=[text("no such commit")])
    assert caught.value.code == "tool_failed"
    with pytest.raises(ToolError) as caught:
        value(isError=True, content=[text("x" * 1_000_000)])
    assert len(str(caught.value)) == MAX_ERROR_CHARACTERS
    with pytest.raises(ToolError, match="does not say why"):
        value(isError=True, content=[])


def test_what_is_too_large_is_refused_and_a_question_is_no_answer():
    with pytest.raises(ToolError) as caught:
        unwrapped({"content": [text("x" * 100)]}, "s.t", 50)
    assert caught.value.code == "result_too_large"
    with pytest.raises(ToolError) as caught:
        value(resultType="input_required", content=[])
    assert caught.value.code == "input_required"


class Unprintable(list[object]):
    def __str__(self) -> str:
        raise AssertionError("all of it was printed")

    __repr__ = __str__


def test_what_is_long_is_cut_before_it_is_printed():
    assert short("x" * 10_000_000) == "x" * (MAX_TEXT - 1) + "…"
    assert short(Unprintable(["\x7f" * 10_000])).startswith('["\x7f')
    assert short({"a": [1, None]}) == '{"a":[1,null]}'
    assert short(ValueError("so it is")) == "so it is"


def test_an_error_of_a_validation_is_told_without_what_was_validated():
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(list[int]).validate_python(["secret", "words"])
    assert short(caught.value) == "2 errors in list[int]"


def test_log_lines_of_the_sdk_are_cut_and_tell_errors_of_a_validation_by_their_number(caplog):
    import cortex.mcp_client.link  # noqa: F401 - it loads the SDK

    log = logging.getLogger("client")
    try:
        TypeAdapter(list[int]).validate_python(["secret"])
    except ValidationError:
        log.warning("Failed to validate notification: %s", "x" * 1_000_000, exc_info=True)
    log.warning("http://a/token " * 1_000_000)
    first, second = caplog.records
    assert first.getMessage().endswith("…: 1 errors in list[int]")
    assert "secret" not in caplog.text
    assert max(len(first.getMessage()), len(second.getMessage())) < 5_000
    assert "token" not in second.getMessage()


def test_a_rate_holds_for_any_minute():
    rate = Rate(2)
    assert [rate.take(0), rate.take(10)] == [None, None]
    assert rate.take(20) == 40
    assert rate.take(60) is None
    assert rate.take(61) == 9


def test_waits_double_up_to_a_bound_and_begin_anew_after_a_long_life():
    restarts = Restarts(1, 10)
    waits = []
    for _ in range(6):
        restarts.failed(100)
        waits.append(restarts.wait_s(100))
    assert waits == [1, 2, 4, 8, 10, 10]
    restarts.failures = 10_000
    restarts.failed(100)
    assert restarts.wait_s(100) == 10
    restarts.failed(200, up_s=11)
    assert restarts.wait_s(200) == 1
    assert restarts.wait_s(300) == 0


def test_an_image_is_read_once_and_one_that_is_too_large_not_at_all(monkeypatch):
    read = []
    is_base64 = unwrap._is_base64
    monkeypatch.setattr(unwrap, "_is_base64", lambda data: read.append(len(data)) or is_base64(data))
    part = {"type": "image", "mimeType": "image/png", "data": "AAAA" * 1_000}
    unwrapped({"content": [part, {"type": "text", "text": "a"}]}, "t", 10_000)
    assert read == [4_000]
    with pytest.raises(ToolError, match="answered with 12000 bytes") as failed:
        unwrapped({"content": [part] * 3}, "t", 10_000)
    assert failed.value.code == "result_too_large"
    assert read == [4_000]


@pytest.mark.parametrize("damaged", ["AAA", "A===", "AA=A", "AAA\n", "=AAA", "AAé=", "====", "A B="])
def test_damaged_base64_is_no_image(damaged):
    value = unwrapped({"content": [{"type": "image", "mimeType": "image/png", "data": damaged}]}, "t", 100)
    assert value.bytes_at == ()


@pytest.mark.parametrize("sound", ["", "AAAA", "AAA=", "AA==", "+/09AZaz"])
def test_base64_with_or_without_padding_is_an_image(sound):
    value = unwrapped({"content": [{"type": "image", "mimeType": "image/png", "data": sound}]}, "t", 1_000)
    assert value.bytes_at == (("data",),)
