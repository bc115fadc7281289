"""What counts as a difference between a run on record and its replay, and what does not."""

from __future__ import annotations

import pytest

from cortex.replay import differences
from tests.cortex.runs.support import details


def call(name: str, start_ms: float = 1, ms: float = 1, **more):
    return {"name": name, "start_ms": start_ms, "ms": ms, "ok": True, **more}


def what(record, replay, misfits=()) -> list[str]:
    return [found.what for found in differences(record, replay, misfits)]


@pytest.mark.parametrize(
    ("record", "replay"),
    [
        ({}, {"id": "another", "total_ms": 9, "cpu_ms": 9, "level": 0.5, "cost": 0.1, "queue_ms": 3}),
        ({"reply": "[EMAIL_1] and [EMAIL_2]"}, {"reply": "[EMAIL_4] and [EMAIL_1]"}),
        ({"calls": (call("a"),)}, {"calls": (call("a", 50, 90, bytes_in=9),)}),
        ({"calls": (call("a", 1, 9), call("b", 2, 9))}, {"calls": (call("b"), call("a"))}),
        (
            {"calls": (call("a", ok=False, code="timeout"),)},
            {"calls": (call("a", ok=False, code="cancelled"),)},
        ),
        ({"reply": "long te… (cut)"}, {"reply": "long text that goes on"}),
        ({"calls": (call("a"),), "calls_left_out": 1}, {"calls": (call("a"), call("b"))}),
        ({"keep": "facts", "reply": None}, {"reply": "anything", "logs": ({"level": "log", "text": "x"},)}),
        (
            {"logs": ({"level": "log", "text": "x"},), "logs_head": 1, "logs_left_out": 4},
            {"logs": ({"level": "log", "text": "x"}, {"level": "log", "text": "y"})},
        ),
    ],
    ids=range(9),
)
def test_what_may_be_another_in_a_replay_is_no_difference(record, replay):
    assert what(details(1, **{"reply": "r", **record}), details(1, **{"reply": "r", **replay})) == []


@pytest.mark.parametrize(
    ("record", "replay", "found"),
    [
        ({"reply": "a"}, {"reply": "b"}, ["reply"]),
        ({"reply": "long te… (cut)"}, {"reply": "other text"}, ["reply"]),
        ({"outcome": "error", "reply_code": "EXECUTION_ERROR", "error_type": "A"}, {}, ["outcome"]),
        ({"calls": (call("a"), call("b"))}, {"calls": (call("a"), call("c"))}, ["call 2"]),
        ({"calls": (call("a", 1), call("b", 5))}, {"calls": (call("b"), call("a"))}, ["call 1"]),
        ({"calls": (call("a"),)}, {"calls": ()}, ["call 1"]),
        ({"calls": ()}, {"calls": (call("a"),)}, ["call 1"]),
        ({"calls": (call("a"),)}, {"calls": (call("a", ok=False, code="x"),)}, ["call 1"]),
        ({"calls": (call("set", kind="store"),)}, {"calls": (call("set"),)}, ["call 1"]),
        ({"logs": ({"level": "log", "text": "x"},)}, {"logs": ({"level": "warn", "text": "x"},)}, ["console"]),
        (
            {"requests": ({"method": "GET", "url": "https://a.example/", "status": 200, "start_ms": 1, "ms": 1},)},
            {"requests": ({"method": "GET", "url": "https://a.example/", "status": 404, "start_ms": 1, "ms": 1},)},
            ["request 1"],
        ),
        (
            {
                "requests": (
                    {"method": "GET", "url": "https://a.example/", "refused": "denied: a", "start_ms": 1, "ms": 1},
                )
            },
            {
                "requests": (
                    {"method": "GET", "url": "https://a.example/", "refused": "network: a", "start_ms": 1, "ms": 1},
                )
            },
            ["request 1"],
        ),
    ],
    ids=range(12),
)
def test_what_is_not_as_on_record_is_a_difference(record, replay, found):
    assert what(details(1, **{"reply": "r", **record}), details(1, **{"reply": "r", **replay})) == found


def test_what_is_not_on_record_comes_first_and_is_bounded():
    record, replay = details(1, reply="a\nb\nc"), details(1, reply="a\nx\nc")
    found = differences(record, replay, [f"call {number}" for number in range(90)])
    assert [each.replayed for each in found[:20]] == [f"call {number}" for number in range(20)]
    assert [each.what for each in found[20:]] == ["reply"]
    assert found[-1].lines == ("@@ 1", "  a", "- b", "+ x", "  c")
    endless = differences(details(1, reply="a\n" * 5_000), details(1, reply="b\n" * 5_000))
    assert len(endless[0].lines) == 201
