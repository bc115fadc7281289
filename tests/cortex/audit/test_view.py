"""One record in one line for people: nothing in it steers the terminal, and it fits."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cortex.audit import Record
from cortex.commands.audit_rows import heading, line
from cortex.text.terminal import columns_of, fit

AT = datetime(2026, 11, 16, 11, 30, 5, tzinfo=UTC)
CLOCK = f"{AT.astimezone():%H:%M:%S}"


def plain(text: str, style: str) -> str:
    return text


def shown(kind: str, facts: dict[str, Any], *, seq: int = 7, width: int = 80) -> str:
    return line(Record(seq, AT, kind, facts, "0" * 64, "abcdef" + "0" * 58), width, plain)


RUN = {"purpose": "Compute the interest of a loan", "tier": "isolated", "ok": True, "reply_code": "OK"}


@pytest.mark.parametrize(
    ("kind", "facts", "expected"),
    [
        (
            "execution",
            {**RUN, "execution_ms": 1.234, "cost": 0.05, "level": 0.95},
            "run     Compute the inte… isolated ok         1.2 0.05/0.95 abcdef",
        ),
        (
            "execution",
            {**RUN, "tier": "network", "ok": False, "reply_code": "EXECUTION_TIMEOUT", "execution_ms": 30_000.4},
            "run     Compute the inte… network  timeout  30000           abcdef",
        ),
        (
            "execution",
            {"purpose": "Sum", "reply_code": "EXECUTION_ERROR", "error_type": "TypeError", "tier": "isolated"},
            "run     Sum (TypeError)   isolated error                    abcdef",
        ),
        (
            "execution",
            {"purpose": "Sum", "reply_code": "CANCELLED", "tier": "isolated"},
            "run     Sum               isolated stopped                  abcdef",
        ),
        (
            "refusal",
            {"tool": "core.execute", "reason": "EXECUTION_DENIED: Too little energy", "level": 0.1},
            "refusal core.execute: Too little … denied              0.10 abcdef",
        ),
        (
            "refusal",
            {"purpose": "Sum", "tool": "core.execute", "tier": "network", "reason": "EXECUTION_BLOCKED: eval"},
            "refusal Sum: eval                  blocked                  abcdef",
        ),
        (
            "refusal",
            {"tool": "x.y", "reason": "no"},
            "refusal x.y: no                    refused                  abcdef",
        ),
        (
            "tool_call",
            {"tool": "shop.stock", "origin": "model", "ok": True, "duration_ms": 0.42},
            "tool    shop.stock                 ok         0.4           abcdef",
        ),
        (
            "tool_call",
            {"tool": "shop.stock", "origin": "code", "ok": False, "error_code": "gone", "duration_ms": 2},
            "tool    shop.stock (from code): g… error      2.0           abcdef",
        ),
        (
            "owner_decision",
            {"what": "tool call", "tool": "mail.send", "allowed": True, "by": "owner"},
            "owner   tool call mail.send        allowed                  abcdef",
        ),
        (
            "owner_decision",
            {"what": "tool call", "tool": "mail.send", "allowed": False, "reason": "no"},
            "owner   tool call mail.send: no    denied                   abcdef",
        ),
        (
            "owner_decision",
            {"what": "energy set", "by": "owner", "level": 1.0},
            "owner   energy set                                     1.00 abcdef",
        ),
        (
            "owner_decision",
            {"what": "energy top-up", "by": "owner", "reason": "for the long night", "level": 1.0},
            "owner   energy top-up: for the long night              1.00 abcdef",
        ),
        (
            "recovered",
            {"what": "energy", "reason": "the ledger was missing; continued from energy.json"},
            "repair  energy: the ledger was missing; continued from ene… abcdef",
        ),
        ("recovered", {"torn_bytes": 37}, "repair  torn_bytes=37                                       abcdef"),
        (
            "neuron_woken",
            {"neuron": "clock", "ok": True, "duration_ms": 3},
            "neuron_woken clock                 ok         3.0           abcdef",
        ),
        ("later", {"a": 1, "b": [True]}, "later   a=1 b=[True]                                        abcdef"),
        ("later", {}, "later                                                       abcdef"),
    ],
)
def test_a_line_for_each_kind_also_for_those_that_are_not_known_yet(kind, facts, expected):
    assert shown(kind, facts) == f"   7 {CLOCK} {expected}"
    assert len(shown(kind, facts)) == 80


def test_the_heading_stands_above_the_columns():
    for width in (80, 133):
        row = shown("execution", {**RUN, "execution_ms": 1.5, "cost": 0.05, "level": 0.95}, width=width)
        top = heading(width)
        assert (top.index("tier"), top.index("answer")) == (row.index("isolated"), row.index("ok"))
        assert (top.index("ms") + 2, top.index("energy") + 6) == (row.index("1.5") + 3, row.index("0.95") + 4)
        assert top.index("hash") == row.index("abcdef")


def test_a_wide_terminal_shows_more_of_the_text():
    assert "Compute the interest of a loan" in shown("execution", RUN, width=100)
    assert len(shown("execution", RUN, width=100)) == 100
    assert len(shown("execution", RUN, width=1000)) == 160
    assert len(shown("execution", RUN, width=10)) == 80


def test_a_large_number_takes_from_the_text():
    assert len(shown("execution", RUN, seq=1_234_567)) == 80


def test_a_text_cannot_steer_the_terminal_nor_begin_a_new_line():
    found = shown("execution", {**RUN, "purpose": "a\x1b[2J\n\r\u2028b\u202e\x9b", "tier": "\x1b]0;x\x07"})
    assert found.isprintable()
    assert "a\\u001b[2J b" in found


@pytest.mark.parametrize(
    "number", [10**400, -(10**400), 10**4000, 2**64, float("inf"), float("nan"), True, "1"], ids=range(8)
)
def test_a_number_that_nobody_measured_is_left_out(number):
    facts = {**RUN, "execution_ms": number, "duration_ms": number, "cost": number, "level": number}
    assert shown("execution", facts) == shown("execution", RUN)


VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.lists(st.text(), max_size=3)
)
NAMES = st.sampled_from(
    [
        "purpose",
        "tier",
        "reply_code",
        "error_type",
        "execution_ms",
        "duration_ms",
        "cost",
        "level",
        "reason",
        "tool",
        "ok",
        "origin",
        "error_code",
        "what",
        "allowed",
        "by",
        "name",
        "other",
    ]
)
KINDS = st.sampled_from(["execution", "refusal", "tool_call", "owner_decision", "recovered", "a_kind_with_a_long_name"])


@given(KINDS, st.dictionaries(NAMES, VALUES, max_size=8), st.integers(80, 200))
def test_whatever_a_line_of_the_file_says_it_is_shown_in_its_place(kind, facts, width):
    found = shown(kind, facts, width=width)
    assert "\n" not in found
    assert columns_of(found) <= min(width, 160)
    assert found.encode()


@given(st.text(max_size=60), st.integers(2, 40))
def test_what_is_cut_fits(text, columns):
    assert columns_of(fit(text, columns)) <= columns


def test_wide_characters_count_twice_and_accents_not_at_all():
    assert (columns_of("茶x"), columns_of("e\u0301")) == (3, 1)
    assert fit("茶茶茶茶", 6) == "茶茶…"


def test_kinds_and_answers_have_colours():
    def tagged(text: str, style: str) -> str:
        return f"<{style}>{text.strip()}</>"

    def styles(kind: str, facts: dict[str, Any]) -> str:
        return line(Record(7, AT, kind, facts, "0" * 64, "a" * 64), 80, tagged)

    assert "<cyan>run</>" in styles("execution", RUN)
    assert "<green>ok</>" in styles("execution", RUN)
    assert "<red>timeout</>" in styles("execution", {**RUN, "reply_code": "EXECUTION_TIMEOUT"})
    assert "<yellow>refusal</>" in styles("refusal", {"reason": "EXECUTION_DENIED: no"})
    assert "<yellow>denied</>" in styles("refusal", {"reason": "EXECUTION_DENIED: no"})
    assert "<red>repair</>" in styles("recovered", {})
