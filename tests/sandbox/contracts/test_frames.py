"""The host's half of the frame protocol, tested with the same golden lines as the other half in `deno/*_test.ts`."""

from __future__ import annotations

import base64
import json
import math
import tracemalloc
from contextlib import suppress
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sandbox.contracts.errors import MalformedFrame
from sandbox.contracts.frames import (
    Abort,
    Answered,
    CutResult,
    Debug,
    DisplayCall,
    Failed,
    Failure,
    Fetch,
    FileCall,
    FrameReader,
    Output,
    Ready,
    ResidentTerms,
    Result,
    RunTerms,
    StoreCall,
    ToolCall,
    Varied,
    decode,
    encode,
    rehearse_frame,
    reside_frame,
    run_frame,
    signals_frame,
    tool_error_frame,
    tool_result_frame,
)

GOLDEN = json.loads((Path(__file__).parents[3] / "deno/testdata/frames.json").read_text(encoding="utf-8"))
FROM_HOST = [entry for entry in GOLDEN["frames"] if entry["direction"] == "host"]
FROM_GUEST = [entry for entry in GOLDEN["frames"] if entry["direction"] == "guest"]
CLASSES = {
    "__ready__": Ready,
    "__tool_call__": ToolCall,
    "__fetch__": Fetch,
    "__file__": FileCall,
    "__store__": StoreCall,
    "__abort__": Abort,
    "__output__": Output,
    "__display__": DisplayCall,
    "__debug__": Debug,
    "__varied__": Varied,
    "__result__": Result,
    "__error__": Failure,
    "__answer__": Answered,
    "__failed__": Failed,
}


def written(frame: dict[str, Any]) -> bytes:
    match frame:
        case {"type": "__run__", "code": code, "context": context, **terms}:
            limits = terms.pop("display_limits", None)
            return run_frame(code, encode(context), RunTerms(**terms), limits)
        case {"type": "__rehearse__", "runs": runs}:
            return rehearse_frame(*(run["code"] for run in runs))
        case {"type": "__reside__", "code": code, **terms}:
            return reside_frame(code, ResidentTerms(**terms))
        case {"type": "__signals__", "batch": batch, "state": state, "signals": signals}:
            return signals_frame(batch, encode(state), [encode(signal) for signal in signals])
        case {"type": "__tool_result__", "call_id": call_id, "result": result}:
            return tool_result_frame(call_id, encode(result))
        case {"type": "__tool_error__", "call_id": call_id, "error": error, "code": code, "retryable": retryable}:
            return tool_error_frame(call_id, error, code, retryable=retryable)
    raise AssertionError(frame)


def malformed_line(entry: dict[str, Any]) -> bytes:
    if "base64" in entry:
        return base64.b64decode(entry["base64"])
    if "repeated" in entry:
        return "".join(text * count for text, count in entry["repeated"]).encode()
    return str(entry["line"]).encode()


def result_line(json_text: bytes) -> bytes:
    return b'{"type":"__result__","value":%b}' % json_text


def lines_of(reader: FrameReader, *chunks: bytes) -> list[bytes]:
    return [line for chunk in chunks for line in reader.feed(chunk)]


@pytest.mark.parametrize("entry", FROM_HOST, ids=lambda entry: entry["name"])
def test_the_host_writes_the_golden_line_byte_for_byte(entry):
    assert written(entry["frame"]) == entry["line"].encode() + b"\n"


@pytest.mark.parametrize("entry", FROM_GUEST, ids=lambda entry: entry["name"])
def test_the_host_reads_the_golden_line_as_its_meaning(entry):
    fields = dict(entry["frame"])
    expected = CLASSES[fields.pop("type")]
    frame = decode(entry["line"].encode())
    assert type(frame) is (CutResult if "text" in fields else expected)
    assert asdict(frame) == fields


def test_the_golden_file_has_every_frame_that_the_host_knows():
    assert {entry["frame"]["type"] for entry in FROM_GUEST} == CLASSES.keys()
    assert {entry["frame"]["type"] for entry in FROM_HOST} == {
        "__run__",
        "__rehearse__",
        "__reside__",
        "__signals__",
        "__tool_result__",
        "__tool_error__",
    }


@pytest.mark.parametrize("entry", FROM_HOST, ids=lambda entry: entry["name"])
def test_a_frame_of_the_host_is_not_taken_from_the_guest(entry):
    with pytest.raises(MalformedFrame):
        decode(entry["line"].encode())


@pytest.mark.parametrize("entry", GOLDEN["malformed"], ids=lambda entry: entry["why"])
def test_a_line_that_is_not_exactly_a_frame_is_refused(entry):
    with pytest.raises(MalformedFrame):
        decode(malformed_line(entry))


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode(errors="surrogatepass")))
def test_no_bytes_do_more_than_be_refused(line):
    try:
        frame = decode(line)
    except MalformedFrame:
        return
    assert type(frame) in {*CLASSES.values(), CutResult}


@given(
    st.dictionaries(
        st.sampled_from(
            [
                *("type", "value", "text", "original_bytes", "level", "data", "phase", "name", "message", "call_id"),
                *("params", "url", "method", "headers", "body", "redirect", "operation"),
                *("batch", "at", "emitted", "state"),
            ]
        ),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(list(CLASSES)),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=5,
        ),
    )
)
def test_no_object_does_more_than_be_refused(frame):
    with suppress(MalformedFrame):
        decode(json.dumps(frame).encode())


@given(st.binary(max_size=20), st.integers(0, 300), st.sampled_from(FROM_GUEST))
def test_no_change_of_a_frame_does_more_than_be_refused(noise, at, entry):
    line = entry["line"].encode()
    with suppress(MalformedFrame):
        decode(line[:at] + noise + line[at + len(noise) :])


@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"1E+400", b"1.5e0999", b"1" + b"0" * 300 + b"e100"])
def test_a_number_too_large_for_python_is_null(number):
    assert decode(result_line(b'[%b,"1e999",{"a":%b}]' % (number, number))) == Result([None, "1e999", {"a": None}])


@pytest.mark.parametrize("number", [b"9" * 400 + b".0", b"-" + b"9" * 400 + b".0", b"9" * 300 + b"e10"])
def test_a_number_too_large_for_python_without_a_long_exponent_is_null(number):
    assert decode(result_line(number)) == Result(None)


@given(st.from_regex(rb"\A-?[1-9][0-9]{0,400}(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,4})?\Z"))
def test_no_number_is_infinite(number):
    value = decode(result_line(number)).value
    assert value is None or isinstance(value, int) or math.isfinite(value)


def test_the_largest_number_is_itself():
    assert decode(result_line(b"1.7976931348623157e308")) == Result(1.7976931348623157e308)
    assert decode(result_line(b"[1e-999,-0.0,1e100]")) == Result([0.0, -0.0, 1e100])


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        (b'{"type":"__result__","value":1,"value":2}', Result(2)),
        (b'{"type":"__debug__","message":"a","type":"__debug__","message":"b"}', Debug("b")),
        (result_line(b'{"a":1,"a":1e999}'), Result({"a": None})),
        (result_line(b'{"a":1e999,"a":1}'), Result({"a": 1})),
    ],
)
def test_of_duplicate_keys_the_last_one_counts(line, meaning):
    assert decode(line) == meaning


def test_a_frame_of_a_million_little_objects_is_refused_before_they_are_made():
    line = result_line(b"[" + b"{}," * (1024 * 1024) + b"{}]")
    tracemalloc.start()
    try:
        with pytest.raises(MalformedFrame, match="more than 50000 objects"):
            decode(line)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 10 * 1024 * 1024


@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=6), st.data())
def test_where_the_bytes_are_cut_makes_no_difference_to_the_lines(lines, data):
    whole = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    edges = [0, *cuts, len(whole)]
    chunks = [whole[start:end] for start, end in pairwise(edges)]
    assert lines_of(FrameReader(100), *chunks) == lines


def test_two_frames_cut_at_every_byte_are_the_same_two_frames():
    lines = [entry["line"].encode() for entry in FROM_GUEST[:2]]
    whole = b"\n".join(lines) + b"\n"
    for at in range(len(whole) + 1):
        assert lines_of(FrameReader(len(whole)), whole[:at], whole[at:]) == lines
    assert lines_of(FrameReader(len(whole)), *(whole[at : at + 1] for at in range(len(whole)))) == lines


@pytest.mark.parametrize("at", range(12))
def test_a_line_exactly_at_the_limit_is_accepted(at):
    chunk = b"0123456789\n"
    assert lines_of(FrameReader(10), chunk[:at], chunk[at:], b"next\n") == [b"0123456789", b"next"]


def test_a_line_over_the_limit_is_refused_before_it_is_complete():
    reader = FrameReader(10)
    assert lines_of(reader, b"short\n", b"0123456789") == [b"short"]
    with pytest.raises(MalformedFrame, match="more than 10 bytes"):
        list(reader.feed(b"x"))


def test_a_line_over_the_limit_is_refused_when_it_comes_in_one_piece():
    with pytest.raises(MalformedFrame, match="more than 10 bytes"):
        lines_of(FrameReader(10), b"0123456789x\n")


def test_lines_before_one_that_is_too_long_are_still_given():
    reader = FrameReader(10).feed(b"first\n0123456789x\n")
    assert next(reader) == b"first"
    with pytest.raises(MalformedFrame):
        next(reader)


def test_a_line_without_an_end_is_kept_back():
    assert lines_of(FrameReader(10), b"one\ntwo") == [b"one"]


def test_places_of_bytes_stand_beside_the_result_and_not_in_it():
    line = tool_result_frame("1", b'{"a":["AQI="]}', [("a", 0)])
    assert line == b'{"type":"__tool_result__","call_id":"1","result":{"a":["AQI="]},"bytes":[["a",0]]}\n'
