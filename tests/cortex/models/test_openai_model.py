"""The real client against a server on loopback: what it sends, what it makes of replies, how it tries again."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl

import anyio
import pytest
import trustme

from cortex.loop import (
    AssistantMessage,
    ModelError,
    ModelReply,
    SystemMessage,
    ToolAnswer,
    ToolRequest,
    Usage,
    UserMessage,
    Waiting,
)
from cortex.models.openai_model import OpenAIModel
from cortex.settings.sections import ModelSettings
from tests.sandbox.network.servers import chunked

from .server import ChatServer, begin, call_piece, completion, delta, end, error, send, status, stream, usage, words

HELLO = [UserMessage("hello")]
TOOLS = [{"type": "function", "function": {"name": "core_execute", "description": "run", "parameters": {}}}]
KEY = "sk-very-secret-0123456789"


async def ask(server: ChatServer, messages=HELLO, tools=TOOLS, on_text=None, waits=None, **changes) -> ModelReply:
    async def sleep(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    async with OpenAIModel(server.settings(**changes), sleep=sleep, now=lambda: 1_000_000_000.0) as model:
        with anyio.fail_after(120):
            return await model.reply(messages, tools, on_text=on_text or (lambda text: None))


async def fails(server: ChatServer, **changes) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(server, **changes)
    assert caught.value.message == str(caught.value)
    return caught.value


def stalls(talk):
    """Begins to reply, and says no more until the other side has gone."""
    begin(talk)
    send(talk, delta(content="a"))
    talk.wait_until_gone()


# What is sent


async def test_the_request_has_the_conversation_the_tools_and_what_was_set_and_nothing_else():
    conversation = [
        SystemMessage("be brief"),
        UserMessage("sum?"),
        AssistantMessage("", (ToolRequest("c1", "core_execute", '{"code": "1"}'),)),
        ToolAnswer("c1", "core_execute", "1"),
    ]
    with ChatServer(words("ok")) as server:
        await ask(server, conversation, temperature=0.5, max_reply_tokens=99)
    assert server.asked == [
        {
            "model": "tiny",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "sum?"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "core_execute", "arguments": '{"code": "1"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "1"},
            ],
            "tools": TOOLS,
            "temperature": 0.5,
            "max_tokens": 99,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]


async def test_without_tools_none_are_sent():
    with ChatServer(words("ok")) as server:
        await ask(server, tools=[])
    assert "tools" not in server.asked[0]


async def test_the_key_is_sent_and_a_server_without_one_gets_a_placeholder():
    with ChatServer(words("ok"), words("ok")) as server:
        await ask(server, api_key=f" {KEY}\n")
        await ask(server)
    assert [request.header("authorization") for request in server.heard] == [f"Bearer {KEY}", "Bearer none"]


async def test_another_endpoint_is_not_told_who_the_user_is_at_openai(monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    with ChatServer(words("ok")) as server:
        await ask(server)
    sent = {name.lower(): value for name, value in server.heard[0].headers}
    assert "openai-organization" not in sent
    assert "openai-project" not in sent
    assert "sk-from-the-environment" not in str(sent)


async def test_slips_of_the_model_in_earlier_calls_do_not_spoil_the_request():
    slips = AssistantMessage(
        "half \ud83d",
        (
            ToolRequest("c1", "no such tool!", '{"code": "unfinished'),
            ToolRequest("c2", "", ""),
            ToolRequest("c3", "x", "[1]"),
        ),
    )
    with ChatServer(words("ok")) as server:
        await ask(server, [UserMessage("\udcff"), slips])
    sent = server.asked[0]["messages"][1]
    functions = [call["function"] for call in sent["tool_calls"]]
    assert sent["content"] == "half \ufffd"
    assert [function["name"] for function in functions] == ["no_such_tool_", "unnamed", "x"]
    assert [json.loads(function["arguments"]) for function in functions] == [
        {"malformed": '{"code": "unfinished'},
        {},
        {"malformed": "[1]"},
    ]


async def test_an_encrypted_endpoint_is_asked_only_when_its_certificate_is_trusted(monkeypatch, tmp_path):
    authority = trustme.CA()
    encrypted = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(encrypted)
    with ChatServer(words("ok"), tls=encrypted) as server:
        fault = await fails(server, max_attempts=1)
        assert server.heard == []
        assert "certificate" in fault.message.lower()
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert (await ask(server)).message.text == "ok"


# What comes back


async def test_text_is_shown_as_it_comes_and_tokens_are_counted():
    shown: list[str] = []
    with ChatServer(words("Hel", "lo ", "there")) as server:
        reply = await ask(server, on_text=shown.append)
    assert shown == ["Hel", "lo ", "there"]
    assert reply == ModelReply(AssistantMessage("Hello there"), Usage(7, 3), "stop")


async def test_a_piece_is_shown_before_the_next_one_exists():
    heard = anyio.Event()

    def reply(talk):
        begin(talk)
        send(talk, delta(content="first"))
        assert talk.server.gone.wait(60)  # Set by the client's side of this test.
        send(talk, delta(content=" second"), delta("stop"))
        end(talk)

    with ChatServer(reply) as server:

        def on_text(text: str) -> None:
            if text == "first":
                heard.set()
                server.gone.set()

        reply_ = await ask(server, on_text=on_text)
    assert heard.is_set()
    assert reply_.message.text == "first second"


async def test_a_call_split_in_the_middle_of_a_json_string_is_put_together():
    arguments = json.dumps({"purpose": "é😀\n", "code": 'return "a\\u0041" + 1'}, ensure_ascii=False)
    pieces = [arguments[place : place + 3] for place in range(0, len(arguments), 3)]
    with ChatServer(
        stream(
            delta(role="assistant", content=None),
            call_piece("", name="core_execute", index=0, id="call_1"),
            *(call_piece(piece, index=0) for piece in pieces),
            delta("tool_calls"),
            usage(20, 9),
        )
    ) as server:
        reply = await ask(server)
    assert reply.message.calls == (ToolRequest("call_1", "core_execute", arguments),)
    assert (reply.finish, reply.usage) == ("tools", Usage(20, 9))


async def test_bytes_split_anywhere_even_inside_a_character_make_the_same_reply():
    events = b"".join(
        b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\r\n\r\n"
        for chunk in (delta(content="é😀"), call_piece('{"a": "ü"}', name="t", index=0, id="c"), delta("tool_calls"))
    )

    def reply(talk):
        begin(talk)
        send(talk, *(events[place : place + 1] for place in range(len(events))))
        end(talk)

    with ChatServer(reply) as server:
        got = await ask(server)
    assert got.message == AssistantMessage("é😀", (ToolRequest("c", "t", '{"a": "ü"}'),))


async def test_a_character_split_between_two_chunks_is_shown_whole():
    shown: list[str] = []
    with ChatServer(
        stream(delta(content="a\ud83d"), delta(content="\ude00b"), delta(content="\ud83d"), delta("stop"))
    ) as server:
        reply = await ask(server, on_text=shown.append)
    assert "".join(shown) == reply.message.text == "a😀b\ufffd"


async def test_parallel_calls_are_told_apart_by_their_index():
    with ChatServer(
        stream(
            call_piece('{"n', name="a", index=0, id="c0"),
            call_piece('{"n', name="b", index=1, id="c1"),
            call_piece('": 1}', index=1),
            call_piece('": 0}', index=0),
            delta("tool_calls"),
        )
    ) as server:
        reply = await ask(server)
    assert reply.message.calls == (ToolRequest("c0", "a", '{"n": 0}'), ToolRequest("c1", "b", '{"n": 1}'))


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param(
            [call_piece('{"n": 0}', name="a", index=0, id="c0"), call_piece('{"n": 1}', name="a", index=0, id="c1")],
            id="all numbered 0",
        ),
        pytest.param(
            [call_piece('{"n"', name="a", id="c0"), call_piece(": 0}"), call_piece('{"n": 1}', name="a", id="c1")],
            id="no index",
        ),
        pytest.param(
            [
                call_piece('{"n"', name="a", id="c0"),
                call_piece('{"n"', name="a", id="c1"),
                call_piece(": 0}", id="c0"),
                call_piece(": 1}", id="c1"),
            ],
            id="by id",
        ),
        pytest.param(
            [
                call_piece('{"n"', name="a", index=0, id="c0"),
                call_piece(": 0}", name="a", index=0, id="c0"),
                call_piece('{"n": 1}', name="a", index=1, id="c1"),
            ],
            id="name and id with every piece",
        ),
        pytest.param(
            [
                delta(
                    tool_calls=[
                        {"id": "c0", "type": "function", "function": {"name": "a", "arguments": {"n": 0}}},
                        {"id": "c1", "type": "function", "function": {"name": "a", "arguments": {"n": 1}}},
                    ]
                )
            ],
            id="whole, as objects",
        ),
    ],
)
async def test_calls_are_understood_as_servers_really_send_them(chunks):
    with ChatServer(stream(*chunks, delta("stop"))) as server:
        reply = await ask(server)
    assert reply.message.calls == (ToolRequest("c0", "a", '{"n": 0}'), ToolRequest("c1", "a", '{"n": 1}'))
    assert reply.finish == "tools"


async def test_without_a_stream_the_reply_comes_whole():
    shown: list[str] = []
    call = {"id": "c0", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    with ChatServer(status("200 OK", completion("hi", "tool_calls", [call]))) as server:
        reply = await ask(server, stream=False, on_text=shown.append)
    assert "stream" not in server.asked[0]
    assert shown == ["hi"]
    assert reply == ModelReply(AssistantMessage("hi", (ToolRequest("c0", "a", "{}"),)), Usage(11, 5), "tools")


async def test_a_server_that_cannot_stream_may_answer_whole():
    with ChatServer(status("200 OK", completion("hi"))) as server:
        reply = await ask(server)
    assert server.asked[0]["stream"] is True
    assert reply.message.text == "hi"


async def test_tokens_are_estimated_when_the_server_does_not_count():
    with ChatServer(stream(delta(content="x" * 400), delta("stop"))) as server:
        reply = await ask(server)
    assert reply.usage.estimated
    assert reply.usage.output_tokens >= 100
    assert reply.usage.input_tokens > 10


async def test_a_server_without_stream_options_is_asked_without_them():
    with ChatServer(error("400 Bad Request", "unknown field stream_options"), words("ok"), words("again")) as server:
        async with OpenAIModel(server.settings(max_attempts=1)) as model:
            assert (await model.reply(HELLO, [])).message.text == "ok"
            assert (await model.reply(HELLO, [])).message.text == "again"
    assert ["stream_options" in body for body in server.asked] == [True, False, False]


async def test_a_server_that_has_once_counted_in_a_stream_is_not_asked_twice():
    with ChatServer(words("ok"), error("400 Bad Request", "too hot"), words("never")) as server:
        async with OpenAIModel(server.settings()) as model:
            await model.reply(HELLO, [])
            with pytest.raises(ModelError, match="too hot"):
                await model.reply(HELLO, [])
    assert len(server.heard) == 2


async def test_a_request_that_is_refused_for_another_reason_still_asks_for_the_count_later():
    with ChatServer(*[error("400 Bad Request", "too hot")] * 2, words("ok")) as server:
        async with OpenAIModel(server.settings()) as model:
            with pytest.raises(ModelError, match="too hot"):
                await model.reply(HELLO, [])
            assert (await model.reply(HELLO, [])).usage == Usage(7, 1)
    assert ["stream_options" in body for body in server.asked] == [True, False, True]


@pytest.mark.parametrize("counted", [(10**30, 2), (-1, 2), (3, "2"), (None, None)])
async def test_invalid_token_counts_are_replaced_by_an_estimate(counted):
    with ChatServer(stream(delta(content="fine"), delta("stop"), usage(*counted))) as server:
        reply = await ask(server)
    assert reply.usage.estimated
    assert 0 < reply.usage.total < 1_000


async def test_parts_of_text_and_refusals_are_text():
    with ChatServer(
        stream(
            delta(content=[{"type": "text", "text": "I "}, {"type": "image"}]), delta(refusal="won't"), delta("stop")
        )
    ) as server:
        assert (await ask(server)).message.text == "I won't"


@pytest.mark.parametrize(("said", "finish"), [("length", "length"), ("content_filter", "filter"), ("odd", "stop")])
async def test_how_a_reply_ended_is_told(said, finish):
    with ChatServer(stream(delta(content="a"), delta(said))) as server:
        assert (await ask(server)).finish == finish


async def test_a_reply_that_is_too_long_is_cut_and_the_rest_is_not_read(nothing_left):
    def reply(talk):
        begin(talk)
        talk.flood(chunked(b"data: " + json.dumps(delta(content="é" * 500)).encode() + b"\n\n"))

    shown: list[str] = []
    with ChatServer(reply) as server:
        got = await ask(server, max_reply_bytes=2_001, on_text=shown.append)
        assert server.sent_bytes < 300 * 1024 * 1024
    assert got.finish == "length"
    assert got.message.text == "".join(shown) == "é" * 1_000


async def test_arguments_count_towards_the_size_of_a_reply():
    with ChatServer(stream(call_piece("x" * 5_000, name="a", index=0, id="c"), delta("tool_calls"))) as server:
        reply = await ask(server, max_reply_bytes=1_000)
    assert reply.finish == "length"
    assert len(reply.message.calls[0].arguments_json) < 1_000


async def test_the_number_of_calls_in_a_reply_is_limited():
    many = [call_piece("{}", name="a", index=place, id=f"c{place}") for place in range(200)]
    with ChatServer(stream(*many, delta("tool_calls"))) as server:
        reply = await ask(server)
    assert len(reply.message.calls) == 128
    assert reply.finish == "length"


async def test_a_connection_is_used_again_for_the_next_reply():
    with ChatServer(words("one"), words("two")) as server:
        async with OpenAIModel(server.settings()) as model:
            await model.reply(HELLO, [])
            await model.reply(HELLO, [])
    assert server.connections == 1


# Trying again


async def test_too_many_requests_and_then_success_honours_the_wait_that_the_server_asks_for():
    waits: list[float] = []
    with ChatServer(error("429 Too Many Requests", Retry_After="7"), words("ok")) as server:
        reply = await ask(server, max_wait_s=30, waits=waits)
    assert reply.message.text == "ok"
    assert waits == [7]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry_After": "Sun, 09 Sep 2001 01:46:49 GMT"}, 9),
        ({"Retry_After": "Sun, 09 Sep 2001 01:46:30 GMT"}, 0),
        ({"Retry_After": "2.5"}, 2.5),
        ({"Retry_After_Ms": "250"}, 0.25),
        ({"Retry_After": "30"}, 30),
        ({"Retry_After": "1e999"}, None),
        ({"Retry_After": "soon"}, None),
        ({}, None),
    ],
)
async def test_waits_are_seconds_milliseconds_or_dates_and_never_longer_than_set(headers, wait):
    waits: list[float] = []
    with ChatServer(error("503 Service Unavailable", **headers), words("ok")) as server:
        await ask(server, max_wait_s=30, waits=waits)
    assert waits == [wait] if wait is not None else 0.5 <= waits[0] <= 1


@pytest.mark.parametrize(
    ("line", "headers", "time"),
    [
        ("429 Too Many Requests", {"Retry_After": "3600"}, "in about 60 minutes"),
        ("503 Service Unavailable", {"Retry_After": "31"}, "in about 35 seconds"),
        ("503 Service Unavailable", {"Retry_After": "Sun, 09 Sep 2001 03:46:40 GMT"}, "in about 2 hours"),
    ],
)
async def test_a_server_that_asks_for_a_longer_wait_than_is_set_is_given_up_at_once(line, headers, time):
    waits: list[float] = []
    with ChatServer(error(line, **headers), words("never")) as server:
        fault = await fails(server, max_wait_s=30, waits=waits)
        assert len(server.heard) == 1
    assert waits == []
    assert f"it asks to wait: try again {time}" in fault.message
    assert not fault.retryable


async def test_failures_are_tried_again_with_growing_waits_up_to_the_number_of_attempts():
    waits: list[float] = []
    with ChatServer(*[error("500 Internal Server Error", "boom")] * 9) as server:
        fault = await fails(server, max_attempts=4, max_wait_s=2, waits=waits)
    assert len(server.heard) == 4
    assert [low <= wait <= high for wait, (low, high) in zip(waits, [(0.5, 1), (1, 1.5), (2, 2)], strict=True)] == [
        True
    ] * 3
    assert "failed (status 500)" in fault.message
    assert "boom" in fault.message
    assert fault.retryable


@pytest.mark.parametrize(
    "line", ["408 Request Timeout", "409 Conflict", "429 Too Many", "502 Bad Gateway", "529 Overloaded"]
)
async def test_what_may_pass_is_tried_again(line):
    with ChatServer(error(line), words("ok")) as server:
        assert (await ask(server)).message.text == "ok"


async def test_real_waits_pass_on_the_running_event_loop():
    with ChatServer(error("500 Oops"), words("ok")) as server:
        async with OpenAIModel(server.settings(max_wait_s=0.001)) as model:
            assert (await model.reply(HELLO, [])).message.text == "ok"


async def test_a_retry_is_announced_only_when_one_follows():
    told: list[Waiting] = []
    with ChatServer(*[error("500 Oops")] * 9) as server:
        async with OpenAIModel(server.settings(max_attempts=3), on_wait=told.append) as model:
            with pytest.raises(ModelError, match="status 500"):
                await model.reply(HELLO, [])
    assert (len(server.heard), len(told)) == (3, 2)
    with ChatServer(error("500 Oops")) as server:
        async with OpenAIModel(server.settings(max_attempts=1), on_wait=told.append) as model:
            with pytest.raises(ModelError, match="status 500"):
                await model.reply(HELLO, [])
    assert len(told) == 2


@pytest.mark.parametrize("bound", ["the reply", "the turn"])
async def test_a_retry_that_would_come_after_the_timeout_is_neither_announced_nor_waited_for(bound):
    told: list[Waiting] = []
    with ChatServer(error("429 Too Many", retry_after="100"), words("too late")) as server:
        settings = server.settings(max_wait_s=120, reply_timeout_s=60 if bound == "the reply" else 300)
        async with OpenAIModel(settings, on_wait=told.append) as model:
            with anyio.fail_after(60 if bound == "the turn" else 300), pytest.raises(ModelError, match="too many"):
                await model.reply(HELLO, [])
    assert (told, len(server.heard)) == ([], 1)


async def test_a_connection_that_is_refused_is_tried_again_and_then_told():
    waits: list[float] = []
    # Bound but not listening, so that no other process takes the port meanwhile.
    with ChatServer() as server, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        fault = await fails(server, base_url=address, max_attempts=3, waits=waits)
    assert len(waits) == 2
    assert "the connection failed" in fault.message
    assert address in fault.message


async def test_a_stream_that_breaks_off_before_text_was_shown_is_tried_again():
    def broken(talk):
        begin(talk)
        send(talk, call_piece('{"a', name="a", index=0, id="c"))
        talk.reset()

    shown: list[str] = []
    with ChatServer(broken, words("ok")) as server:
        reply = await ask(server, on_text=shown.append)
    assert reply.message == AssistantMessage("ok")
    assert shown == ["ok"]


async def test_a_stream_that_breaks_off_after_text_was_shown_is_not_tried_again(nothing_left):
    def broken(talk):
        begin(talk)
        send(talk, delta(content="half"))
        talk.hang_up()

    shown: list[str] = []
    with ChatServer(broken, words("never")) as server:
        fault = await fails(server, on_text=shown.append)
        assert len(server.heard) == 1
    assert shown == ["half"]
    assert fault.retryable


async def test_a_stream_that_ends_without_saying_so_is_a_fault():
    def ends(talk):
        begin(talk)
        send(talk, delta(content="half"))
        end(talk)

    with ChatServer(ends) as server:
        fault = await fails(server)
    assert "broke off in the middle" in fault.message


async def test_a_complete_reply_without_the_end_of_the_stream_is_a_reply():
    def reply(talk):
        begin(talk)
        send(talk, delta(content="all"), delta("stop"))
        talk.reset()

    with ChatServer(reply) as server:
        assert (await ask(server)).message.text == "all"


# Hangs


async def test_a_server_that_says_nothing_is_given_up():
    with ChatServer(lambda talk: talk.wait_until_gone()) as server:
        fault = await fails(server, stall_timeout_s=0.05, max_attempts=1)
        assert server.gone.wait(60)
    assert "nothing came for 0.05 s" in fault.message
    assert "model.stall_timeout_s" in fault.message


async def test_a_server_that_does_not_take_connections_is_given_up():
    with contextlib.ExitStack() as sockets:
        deaf = sockets.enter_context(socket.socket())
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for _ in range(4):  # Those who wait before us, more than may.
            waiting = sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(deaf.getsockname())
        with ChatServer() as server:
            fault = await fails(
                server,
                base_url=f"http://127.0.0.1:{deaf.getsockname()[1]}/v1",
                connect_timeout_s=0.05,
                max_attempts=1,
            )
    assert "the connection failed (no answer within 0.05 s)" in fault.message


async def test_a_stream_that_stalls_is_given_up(nothing_left):
    with ChatServer(stalls) as server:
        fault = await fails(server, stall_timeout_s=0.1, max_attempts=1)
    assert "nothing came" in fault.message


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_reply_that_trickles_in_ends_at_its_timeout(streamed):
    def trickles(talk):
        begin(talk, "text/event-stream" if streamed else "application/json")
        while talk.send(b"3\r\n: x\r\n" if streamed else b"1\r\n \r\n") and not talk.server.gone.wait(0.005):
            pass

    with ChatServer(trickles) as server:
        fault = await fails(server, reply_timeout_s=0.2, stream=streamed)
    assert "no whole reply within 0.2 s" in fault.message


async def test_the_time_of_a_reply_is_for_all_attempts_together():
    with ChatServer(*[lambda talk: talk.wait_until_gone()] * 50) as server:
        fault = await fails(server, reply_timeout_s=0.3, stall_timeout_s=0.1, max_attempts=1_000_000)
    assert "no whole reply within 0.3 s" in fault.message


async def test_cancelling_a_reply_ends_its_connection(nothing_left):
    with ChatServer(stalls) as server:
        async with OpenAIModel(server.settings()) as model:
            with anyio.CancelScope() as scope:
                await model.reply(HELLO, [], on_text=lambda text: scope.cancel())
            assert scope.cancelled_caught
            assert server.gone.wait(60)


@pytest.mark.parametrize("fault", [LookupError, BrokenPipeError])
async def test_what_the_watcher_raises_comes_out_as_it_is(fault, nothing_left):
    def watch(text: str) -> None:
        raise fault(text)

    with ChatServer(words("a", "b")) as server:
        with pytest.raises(fault, match="a"):
            await ask(server, on_text=watch)
        assert len(server.heard) == 1


# Garbage


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(status("200 OK", b"<html>Hi</html>", Content_Type="text/html"), "a page for people", id="a page"),
        pytest.param(status("200 OK", b"\xff\xfe\x00garbage"), "not JSON", id="bytes"),
        pytest.param(status("200 OK", b""), "not JSON", id="nothing"),
        pytest.param(status("200 OK", b"[" * 20_000), "not JSON", id="deep"),
        pytest.param(status("200 OK", b"[" * 50_000), "more than 25000 objects and arrays", id="deeper"),
        pytest.param(status("200 OK", b"7" * 20_000), "not JSON", id="a long number"),
        pytest.param(status("200 OK", {"choices": "no"}), "choices", id="choices that are text"),
        pytest.param(status("200 OK", {"choices": [{"message": [1]}]}), "delta", id="a message that is a list"),
        pytest.param(status("200 OK", {"choices": []}), "it holds no reply", id="no choices"),
        pytest.param(status("200 OK", [1]), "not an object", id="a list"),
        pytest.param(status("200 OK", b"x" * 200_000), "it has more than", id="too long"),
        pytest.param(status("200 OK", b"\x1f\x8b", Content_Encoding="gzip"), "compressed", id="compressed"),
        pytest.param(stream(b"data: {broken\n\n"), "not JSON", id="broken events"),
        pytest.param(stream(b"data: " + b"[" * 20_000 + b"\n\n"), "not JSON", id="deep events"),
        pytest.param(
            stream(b"data: " + b"[" * 50_000 + b"\n\n"), "more than 25000 objects and arrays", id="deeper events"
        ),
        pytest.param(stream(b"data: \xff\xfe\n\n"), "not JSON", id="events of bytes"),
        pytest.param(stream({"choices": [7]}), "choices", id="events of numbers"),
        pytest.param(stream(b"data: " + b"x" * 200_000), "an event has more than", id="an endless event"),
        pytest.param(
            stream(*[b"data: " + b"x" * 1_000 + b"\n"] * 200), "an event has more than", id="an event of endless lines"
        ),
    ],
)
async def test_garbage_is_a_fault_that_says_where_to_look_and_is_not_asked_for_again(reply, reason, nothing_left):
    with ChatServer(reply) as server:
        fault = await fails(server, max_reply_bytes=1_000)
        assert len(server.heard) == 1
    assert "not a chat completion" in fault.message
    assert reason in fault.message
    assert "model.base_url" in fault.message
    assert not fault.retryable


@pytest.mark.parametrize("piece", [b"x" * 65_536, b"data:\n" * 10_000], ids=["one line", "empty lines"])
async def test_an_event_without_end_is_not_read_to_its_end(piece, nothing_left):
    def reply(talk):
        begin(talk)
        talk.flood(chunked(piece))

    with ChatServer(reply) as server:
        fault = await fails(server, max_reply_bytes=1_000)
        assert server.sent_bytes < 100 * 1024 * 1024
    assert "an event has more than" in fault.message


async def test_an_event_that_is_larger_than_a_reply_may_be_is_not_even_parsed():
    def objects(number: int) -> bytes:
        return b'data: {"odd": [' + b"{}," * number + b"{}" + b" " * 100_000 + b"]}\n\n"

    with ChatServer(stream(objects(20_000), delta(content="fine"), delta("stop"))) as server:
        assert (await ask(server, max_reply_bytes=100_000)).message == AssistantMessage("fine")
    with ChatServer(stream(objects(24_000), delta(content="fine"), delta("stop"))) as server:
        fault = await fails(server, max_reply_bytes=100_000)
    assert "an event has more than 165536 bytes" in fault.message
    with ChatServer(stream(objects(26_000), delta(content="fine"), delta("stop"))) as server:
        fault = await fails(server, max_reply_bytes=200_000)
    assert "more than 25000 objects and arrays" in fault.message


@pytest.mark.parametrize("noise", [b"SSH-2.0-OpenSSH_9.6\r\n", b"\x15\x03\x01\x00\x02\x02\x46", b"HTTP/1.1 200"])
async def test_what_does_not_speak_http_is_a_fault(noise):
    def reply(talk):
        talk.send(noise)
        talk.hang_up()

    with ChatServer(reply) as server:
        assert "the connection failed" in (await fails(server, max_attempts=1)).message


async def test_odd_values_in_a_stream_are_passed_over():
    with ChatServer(
        stream(
            b": a comment\n\n",
            b"event: ping\nid: 3\nretry: 1\n\n",
            {"choices": None},
            {"choices": [{"delta": None}]},
            {"choices": [{"delta": {"content": 7, "tool_calls": "x"}}], "usage": {"prompt_tokens": -1}},
            delta(tool_calls=[7, {"function": 3}, {"index": True, "function": {"name": 5, "arguments": 1.5}}]),
            delta(content="fine"),
            delta("stop"),
        )
    ) as server:
        reply = await ask(server)
    assert reply.message == AssistantMessage("fine")
    assert reply.usage.estimated


async def test_an_error_inside_the_stream_is_told_and_tried_again_if_it_may_pass():
    overloaded = {"error": {"message": "come back later", "code": 503}}
    wrong = {"error": {"message": "no such thing", "type": "invalid_request_error"}}
    with ChatServer(stream(overloaded), stream(wrong)) as server:
        fault = await fails(server)
        assert len(server.heard) == 2
    assert "no such thing" in fault.message
    assert not fault.retryable


# Words for people


@pytest.mark.parametrize(
    ("line", "body", "words_"),
    [
        ("401 Unauthorized", {"error": {"message": "bad key"}}, ["the key", "bad key", "model.api_key"]),
        ("403 Forbidden", {"error": "not yours"}, ["does not allow", "not yours", "model.api_key"]),
        ("404 Not Found", {"error": {"message": "try pulling it"}}, ["no such model", "pulling", "model.name", "/v1"]),
        ("404 Not Found", b"404 page not found", ["no chat at this address", "model.base_url"]),
        ("404 Not Found", b"<html>\x1b[2J</html>", ["no chat at this address", "model.base_url"]),
        ("400 Bad Request", {"message": "no tools"}, ["refused", "no tools", "call tools"]),
        (
            "400 Bad Request",
            {"error": {"code": "context_length_exceeded"}},
            ["too long", "new one", "max_history_bytes"],
        ),
        ("400 Bad Request", {"error": "This model's maximum context length is 4096 tokens"}, ["too long", "new one"]),
        ("400 Bad Request", {"error": "it exceeds the available context size"}, ["too long", "max_history_bytes"]),
        ("413 Content Too Large", {}, ["too long", "max_history_bytes"]),
        ("422 Unprocessable", {"detail": [{"loc": ["body"]}]}, ["refused", "loc"]),
        ("429 Too Many", {"error": {"code": "insufficient_quota", "message": "pay"}}, ["no credit", "pay", "billing"]),
        ("418 Teapot", b"", ["refused the request (status 418)"]),
        ("307 Moved", b"", ["it has moved", "https://elsewhere.example/v1", "model.base_url"]),
    ],
)
async def test_faults_say_what_to_do_and_are_not_tried_again(line, body, words_):
    reply = status(line, body, Location="https://elsewhere.example/v1") if "307" in line else status(line, body)
    with ChatServer(reply, reply, words("never")) as server:
        fault = await fails(server)
        assert len(server.heard) == (2 if line[:3] in {"400", "422"} else 1)  # Perhaps it was the counting.
    assert '"tiny"' in fault.message
    assert f"http://127.0.0.1:{server.port}/v1" in fault.message
    assert all(word in fault.message for word in words_), fault.message
    assert "\x1b" not in fault.message
    assert not fault.retryable


async def test_the_header_x_should_retry_decides_about_a_retry():
    with ChatServer(error("500 Oops", x_should_retry="false")) as server:
        await fails(server)
        assert len(server.heard) == 1
    with ChatServer(error("418 Teapot", x_should_retry="true"), words("ok")) as server:
        assert (await ask(server)).message.text == "ok"


async def test_the_key_is_never_shown_even_when_the_server_quotes_it():
    long = "x" * 290
    for message in (f"bad key {KEY}\x1b[31m", f"{long} {KEY}", {"nested": [f"{long} {KEY}"]}):
        with ChatServer(status("401 Unauthorized", {"error": message})) as server:
            fault = await fails(server, api_key=KEY)
        chain = [fault, fault.__cause__, fault.__context__ if not fault.__suppress_context__ else None]
        assert "sk-very" not in " ".join(map(str, chain))
        assert "\x1b" not in fault.message


async def test_the_password_in_an_address_is_not_shown():
    with ChatServer() as server:
        fault = await fails(server, base_url=f"http://user:hunter2@127.0.0.1:{server.port}/v1?token=hunter3")
    assert "hunter" not in fault.message


async def test_the_body_of_an_error_is_read_in_part_only(nothing_left):
    def floods(talk):
        talk.send(b"HTTP/1.1 401 No\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n")
        talk.flood(b"no! " * 16_384)

    with ChatServer(floods) as server:
        fault = await fails(server)
        assert server.sent_bytes < 100 * 1024 * 1024
    assert "no! no!" in fault.message
    assert len(fault.message) < 700


@pytest.mark.parametrize(
    ("changes", "words_"),
    [
        ({"name": None}, "no model is named"),
        ({"name": "m"}, "OpenAI wants a key"),
        ({"name": "m", "api_key": " "}, "OpenAI wants a key"),
        ({"name": "m", "base_url": "http://[::1/v1"}, "not the address of an endpoint"),
        ({"name": "m", "base_url": "http://localhost:port/v1"}, "not the address of an endpoint"),
        ({"name": "m", "api_key": "sk-“quoted”"}, "a character that no key has"),
        ({"name": "m", "api_key": "sk-two\nlines"}, "a character that no key has"),
    ],
)
def test_settings_that_name_no_model_are_told_at_once(changes, words_):
    with pytest.raises(ModelError, match=words_) as caught:
        OpenAIModel(ModelSettings.model_validate(changes))
    assert "sk-" not in str(caught.value)


def test_the_client_of_openai_is_imported_late():
    import subprocess
    import sys

    code = "import sys, cortex.models.openai_model, cortex.models.scripted_model; print({'openai', 'httpx2', 'tenacity'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "set()\n"
