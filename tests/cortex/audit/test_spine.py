"""Each fact is announced once: the audit first, then the watcher and the listeners, which disturb nothing."""

from __future__ import annotations

import threading

import pytest

from cortex.audit import Audit, AuditError, AuditJournal, Spine
from cortex.audit.spine import MAX_LISTENERS, MAX_WAITING
from cortex.contracts import ExecutionStarted, Recorded, RunCode, RunCodeIntent, Said, ToolCalled
from sandbox import Tier

BOUND_S = 60
STARTED = ExecutionStarted(
    RunCodeIntent(payload=RunCode(purpose="sum", code="return 1", tier=Tier.ISOLATED, timeout=100)),
    1.0,
    0.95,
    "ab",
    0.05,
)


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self, most: int) -> None:
        self.events: list[object] = []
        self.done = threading.Event()
        self._most = most

    def __call__(self, event: object) -> None:
        self.events.append(event)
        if len(self.events) == self._most:
            self.done.set()


@pytest.fixture
def spine(audit: Audit):
    spine = Spine(audit, AuditJournal(audit))
    yield spine
    spine.close()


def test_the_audit_the_watcher_and_each_listener_hear_an_event_once(spine: Spine, audit: Audit):
    watched: list[object] = []
    first, second = Heard(2), Heard(2)
    for listener in (first, second):
        spine.subscribe(listener)
    called = ToolCalled("shop.order", "code", True, 1.5, "turn", {"count": 1})
    spine.announce(called, watched.append)
    spine.announce(STARTED, watched.append)
    assert first.done.wait(BOUND_S)
    assert second.done.wait(BOUND_S)
    assert watched == first.events == second.events == [called, STARTED]
    assert [record.kind for record in audit.records()] == ["tool_call", "intent"]
    assert (STARTED.kind, called.kind) == ("code_execution_started", "tool_called")


def test_what_the_audit_refuses_is_heard_by_nobody(spine: Spine, monkeypatch):
    heard, watched = Heard(1), []
    spine.subscribe(heard)

    def full(*_: object, **__: object) -> None:
        raise AuditError("the disk is full")

    monkeypatch.setattr(Audit, "record", full)
    with pytest.raises(AuditError, match="the disk is full"):
        spine.announce(STARTED, watched.append)
    with pytest.raises(AuditError, match="the disk is full"):
        spine.record("owner_decision", what="kill")
    spine.close()
    assert (heard.events, watched) == ([], [])


def test_a_line_of_the_audit_without_an_event_of_its_own_is_announced_as_recorded(spine: Spine, audit: Audit):
    heard = Heard(1)
    spine.subscribe(heard)
    spine.record("owner_decision", what="kill", reason="it buys too much")
    assert heard.done.wait(BOUND_S)
    assert heard.events == [Recorded("owner_decision", {"what": "kill", "reason": "it buys too much"})]
    assert [record.kind for record in audit.records()] == ["owner_decision"]


def test_a_watcher_or_listener_that_raises_is_logged_and_hears_the_next_event(spine: Spine, caplog):
    done = threading.Event()

    def broken(event: Said) -> None:
        if event.text == "two":
            done.set()
        raise RuntimeError("broken")

    spine.subscribe(broken)
    for text in ("one", "two"):
        spine.announce(Said(text), broken)
    assert done.wait(BOUND_S)
    spine.close()
    assert caplog.text.count("A listener failed with an event of kind said") == 2
    assert caplog.text.count("The watcher of a turn failed") == 2


def test_a_listener_that_is_stuck_holds_up_nobody_and_misses_what_is_too_much(spine: Spine, caplog):
    go_on, heard = threading.Event(), []

    def slow(event: Said) -> None:
        go_on.wait(BOUND_S)
        heard.append(event)

    spine.subscribe(slow)
    for number in range(MAX_WAITING + 100):
        spine.announce(Said(str(number)))  # returns at once
    assert "events behind and misses what follows" in caplog.text
    go_on.set()
    spine.close()
    assert MAX_WAITING <= len(heard) <= MAX_WAITING + 1
    assert "A listener has missed" in caplog.text


def test_a_listener_that_is_stuck_keeps_at_most_32_mib_of_events(spine: Spine, caplog):
    go_on, heard = threading.Event(), []

    def slow(event: Said) -> None:
        go_on.wait(BOUND_S)
        heard.append(event)

    spine.subscribe(slow)
    for _ in range(1_000):
        spine.announce(Said("x" * 100_000))
    for _ in range(100):
        spine.announce(Said("x" * 1_000_000))
    go_on.set()
    spine.close()
    assert 300 <= len(heard) <= 340
    assert "A listener has missed" in caplog.text


def test_a_subscription_can_be_ended_and_there_are_at_most_32(spine: Spine):
    heard = Heard(1)
    unsubscribe = spine.subscribe(heard)
    others = [spine.subscribe(lambda _: None) for _ in range(MAX_LISTENERS - 1)]
    with pytest.raises(ValueError, match="32 listeners already"):
        spine.subscribe(heard)
    unsubscribe()
    spine.announce(Said("after"))
    spine.subscribe(lambda _: None)
    for end in others:
        end()
    spine.close()
    assert heard.events == []


def test_closing_waits_for_a_stuck_listener_at_most_two_seconds(spine: Spine, monkeypatch):
    monkeypatch.setattr("cortex.audit.spine.CLOSING_S", 0.05)
    go_on, began = threading.Event(), threading.Event()

    def stuck(_: object) -> None:
        began.set()
        go_on.wait(BOUND_S)

    spine.subscribe(stuck)
    spine.announce(Said("hello"))
    assert began.wait(BOUND_S)
    spine.close()  # returns, although the listener does not
    go_on.set()
