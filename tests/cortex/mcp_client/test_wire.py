"""What comes over the wire is cut into messages and counted before it is parsed."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from cortex.mcp_client.child import message_of
from cortex.mcp_client.messages import MAX_HEAD_CHARACTERS, parsed
from cortex.mcp_client.unwrap import MAX_PARTS
from cortex.mcp_wire.messages import (
    HEAD_BYTES,
    MAX_EVENT_LINES,
    MAX_FIELD_BYTES,
    MESSAGE_LIMITS,
    Event,
    EventMeter,
    EventReader,
    MessageLines,
    RefusedMessage,
)
from sandbox import JsonLimits, TooComplex


def fed(lines: MessageLines, data: bytes, step: int) -> list[object]:
    return [line for at in range(0, len(data), step) for line in lines.feed(data[at : at + step])]


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=10), st.integers(1, 40))
def test_lines_are_the_same_however_they_are_cut(expected, step):
    data = b"".join(line + b"\n" for line in expected) + b"unfinished"
    lines = MessageLines(1_000)
    assert fed(lines, data, step) == expected
    assert lines.end() == b"unfinished"
    assert lines.end() is None


def test_of_a_line_that_is_too_long_only_the_beginning_and_the_end_are_kept():
    lines = MessageLines(1_000)
    assert list(lines.feed(b"head" + b"x" * 800)) == []
    for _ in range(1_000):
        assert list(lines.feed(b"x" * 1_000)) == []
    assert len(lines._kept) + len(lines._head) + len(lines._tail) <= 2 * HEAD_BYTES
    assert list(lines.feed(b"\nnext\n")) == [
        RefusedMessage(b"head" + b"x" * (HEAD_BYTES - 4), b"x" * HEAD_BYTES, "more than 1000 bytes"),
        b"next",
    ]


@pytest.mark.parametrize("step", [1, 7, 64, 100_000])
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[" + b"[]," * 40 + b"0]", "more than 10 objects and arrays"),
        (b"[" + b"0," * 40 + b"0]", "more than 20 values"),
        (b'["' + b"[,{" * 40 + b'"]', None),
        (b"[[],[],[]]", None),
    ],
)
def test_a_line_that_holds_too_much_is_refused_wherever_it_is_cut(line, reason, step):
    lines = MessageLines(1_000, JsonLimits(10, 20))
    first, after = fed(lines, line + b"\n[1]\n", step)
    assert (first.reason if isinstance(first, RefusedMessage) else None) == reason
    if reason is None:
        assert first == line
    assert after == b"[1]"


@pytest.mark.parametrize(
    ("begins", "ends", "asked"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"id":8,"text":"', b'"}}', 7),
        (b'{"jsonrpc":"2.0","id":"seven","method":"x","params":{"id":8,"text":"', b'"}}', "seven"),
        (b'{"result":{"id":8,"text":"', b'"},"jsonrpc":"2.0","id":7}', 7),
        (b'{"result":{"id":8,"text":"', b'"}, "id": 7, "jsonrpc": "2.0"} ', 7),
        (b'{"params":{"id":8,"text":"', b'"}, "id": "seven", "jsonrpc": "2.0"} ', "seven"),
        (b'{"jsonrpc":"2.0","result":{"id":8,"text":"', b'","id":8}}', None),
        (b'{"id":7,"result":{"text":"', b'"}}', None),
    ],
)
def test_the_id_of_a_refused_message_is_read_from_its_top_level_only(begins, ends, asked):
    (line,) = fed(MessageLines(1_000), begins + b"x" * 2_000 + ends + b"\n", 7)
    assert isinstance(line, RefusedMessage)
    assert line.id == asked
    message = message_of(line)
    # Our own requests have numbers: nobody here waits for an answer with another id.
    assert (None if message is None else message.id) == (asked if isinstance(asked, int) else None)


def test_an_answer_that_is_too_complex_is_an_error_for_the_caller_that_waits_for_it():
    line = b'{"jsonrpc":"2.0","id":7,"result":[' + b"[]," * MESSAGE_LIMITS.containers + b"0]}\n"
    (refused,) = fed(MessageLines(10**6), line, 65_536)
    message = message_of(refused)
    assert message.error.message == "the answer is too large: more than 25000 objects and arrays"


SMALL = JsonLimits(containers=10, values=20)
FULL = b"[" * 10


def metered(*pieces: bytes) -> str | None:
    meter = EventMeter(SMALL)
    try:
        for piece in pieces:
            meter.feed(piece)
    except TooComplex as error:
        return str(error)
    return None


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_each_event_of_a_stream_is_counted_by_itself(end):
    event = b"data: " + FULL + end + end
    assert metered(event * 5) is None
    assert metered(*(bytes([byte]) for byte in event * 5)) is None
    assert metered(event[:-1], event[-1:], event) is None
    assert metered(b"data: " + FULL + end + b"data: [" + end + end) == "more than 10 objects and arrays"
    assert metered(b"data: " + FULL + end, b"data: [") == "more than 10 objects and arrays"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("before", [b': "', b'data: "', b'event: "', b': "\\', b'id: \\"'])
def test_no_line_hides_the_next_one_in_a_string(before, end):
    assert metered(before + end + b"data: [" + FULL + end) == "more than 10 objects and arrays"


@given(
    st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b'"', b"[", b"data: ", b"\\", b": "]), max_size=30),
    st.lists(st.integers(0, 60), max_size=5),
)
def test_where_a_stream_is_cut_makes_no_difference(parts, cuts):
    data = b"".join(parts)
    pieces = [data[start:end] for start, end in pairwise([0, *sorted(min(cut, len(data)) for cut in cuts), len(data)])]
    assert metered(*pieces) == metered(data)


def test_an_event_of_very_many_lines_is_refused():
    assert metered(b"data\n" * (MAX_EVENT_LINES - 1) + b"\n" + b"data\n") is None
    assert metered(b"data\n" * (MAX_EVENT_LINES + 1)) == f"more than {MAX_EVENT_LINES} lines"


def events(*pieces: bytes, max_bytes: int = 1_000_000) -> list[Event]:
    reader = EventReader(max_bytes)
    return [event for piece in pieces for event in reader.read(piece)]


@given(st.integers(1, 40), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_events_are_the_same_however_they_are_cut(step, end):
    lines = [b": hi", b"", b"id:7", b"data: 1", b"data", b"data:  2", b"", b"event: other", b"data: 3", b"", b"data:4"]
    data = end.join([*lines, b"retry: 20", b"x: y", b"", b""])
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    assert events(*pieces) == [Event(b"1\n\n 2", b"7", None), Event(b"4", None, b"20")]


def test_of_events_without_data_the_last_id_is_passed_on():
    assert events(b"id: 1\n\nretry: 5\n\nid: 2\n\nevent: x\ndata: 1\n\n\n\n" * 100) == [Event(b"", b"2", b"5")]


@pytest.mark.parametrize("field", [b"event", b"id", b"retry"])
def test_a_field_that_is_not_data_is_short(field):
    events(field + b": " + b"1" * MAX_FIELD_BYTES + b"\n\n")
    with pytest.raises(TooComplex, match="more than 1024 bytes in a field that is not data"):
        events(field + b": " + b"1" * (MAX_FIELD_BYTES + 1) + b"\n\n")


def test_a_retry_field_must_be_a_number_of_a_few_digits():
    said = (b"5", b"x", b"-1", b"9" * 400, "٣".encode())
    assert [event.retry for wait in said for event in events(b"id: 1\nretry: " + wait + b"\n\n")] == [b"5", *[None] * 4]


def test_an_event_that_is_too_long_is_refused_wherever_it_is_cut():
    events(b"data: " + b"x" * 94 + b"\n\n", max_bytes=100)
    for pieces in ([b"data: " + b"x" * 95], [b"data: ", b"x" * 95], [b"data: \n"] * 17):
        with pytest.raises(TooComplex, match="more than 100 bytes"):
            events(*pieces, max_bytes=100)


@pytest.mark.parametrize("head", ['"id":"%s","method":"ping"', '"method":"%s"', '"id":"%s","result":{}'])
def test_a_message_with_a_long_id_or_method_is_not_accepted(head):
    assert parsed(b"{%b}" % f'"jsonrpc":"2.0",{head % ("x" * MAX_HEAD_CHARACTERS)}'.encode()) is not None
    assert parsed(b"{%b}" % f'"jsonrpc":"2.0",{head % ("x" * (MAX_HEAD_CHARACTERS + 1))}'.encode()) is None


@pytest.mark.parametrize("wide", ["\U0001f600", "\\ud83d\\ude00", "\\uD83D\\uDE00"])
def test_a_long_message_with_a_wide_character_is_too_large(wide, monkeypatch):
    monkeypatch.setattr("cortex.mcp_client.messages.MAX_WIDE_BYTES", 1_000)
    line = '{"jsonrpc":"2.0","id":7,"result":{"a":"%s"}}'
    assert message_of((line % wide).encode()).result == {"a": "\U0001f600"}
    assert message_of((line % ("\u2026" * 1_000)).encode()).id == 7
    message = message_of((line % ("x" * 1_000 + wide)).encode())
    said = "the answer is too large: more than 1000 bytes, with characters that take four bytes"
    assert (message.id, message.error.message) == (7, said)


def test_of_very_many_parts_only_those_are_checked_that_are_taken():
    line = json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"content": [{}] * (MAX_PARTS + 100)}}).encode()
    assert len(parsed(line).result["content"]) == MAX_PARTS + 1


def test_a_message_of_ordinary_size_is_read():
    tool = {"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool] * 1_000}}).encode()
    (line,) = fed(MessageLines(10**7), message + b"\n", 65_536)
    read = message_of(line)
    assert read is not None
    assert len(read.result["tools"]) == 1_000
