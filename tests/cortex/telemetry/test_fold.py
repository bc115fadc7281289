"""What each record of the audit, and each entry of the ledger, adds to the metrics."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, strategies as st

from cortex.energy import Entry
from cortex.telemetry import METRICS, Fold, exposition
from cortex.telemetry.metric_names import ERROR_TYPES, MAX_SERVERS
from sandbox import ErrorType
from tests.cortex.telemetry.support import value_of


@dataclass
class Line:
    kind: str
    facts: dict = field(default_factory=dict)


def folded(*lines: Line, entries: tuple[Entry, ...] = ()) -> str:
    fold = Fold()
    for line in lines:
        fold.hear(line)
    for entry in entries:
        fold.pay(entry)
    return exposition(fold.samples, METRICS)


def entry(reason: str, amount: float, seq: int = 1, **more: object) -> Entry:
    return Entry(seq=seq, at=1.0, reason=reason, amount=amount, level=0.5, **more)


RUNS = {
    "ok": {"ok": True, "reply_code": "OK"},
    "cached": {"ok": True, "reply_code": "OK", "cached": True},
    "error": {"ok": False, "reply_code": "EXECUTION_ERROR", "error_type": "RuntimeError"},
    "timeout": {"ok": False, "reply_code": "EXECUTION_TIMEOUT", "error_type": "TimeoutError"},
    "killed": {"ok": False, "reply_code": "EXECUTION_ERROR", "error_type": "CrashError", "stopped": True},
    "cancelled": {"ok": False, "reply_code": "CANCELLED"},
}
REFUSALS = {
    "blocked": "EXECUTION_BLOCKED: Code contains disallowed pattern: eval",
    "denied": "EXECUTION_DENIED: There is not enough energy",
    "error": "EXECUTION_ERROR: InvalidArguments: code is missing",
}


@pytest.mark.parametrize("outcome", RUNS)
def test_a_run_is_counted_by_how_it_ended(outcome):
    text = folded(Line("execution", {"tier": "network", **RUNS[outcome]}))
    assert value_of(text, "cortex_code_executions_total", tier="network", outcome=outcome) == 1
    assert sum_of(text, "cortex_code_executions_total") == 1


@pytest.mark.parametrize("outcome", REFUSALS)
def test_a_refused_request_is_counted_and_one_for_another_tool_is_not(outcome):
    refused = Line("refusal", {"tool": "core.execute", "tier": "isolated", "reason": REFUSALS[outcome]})
    other = Line("refusal", {"tool": "shop.stock", "reason": REFUSALS[outcome]})
    text = folded(refused, other)
    assert value_of(text, "cortex_code_executions_total", tier="isolated", outcome=outcome) == 1
    assert sum_of(text, "cortex_code_executions_total") == sum_of(text, "cortex_code_execution_errors_total") == 1


@pytest.mark.parametrize("kind", [*ErrorType, "HOST_FAILED", "CANCELLED"])
def test_a_failure_is_counted_by_its_kind(kind):
    facts = {"reply_code": str(kind)} if kind.isupper() else {"reply_code": "EXECUTION_ERROR", "error_type": str(kind)}
    text = folded(Line("execution", {"tier": "isolated", "ok": False, **facts}))
    assert value_of(text, "cortex_code_execution_errors_total", error_type=str(kind)) == 1


def test_a_kind_of_failure_that_nobody_knows_is_an_other_one():
    text = folded(Line("execution", {"tier": ["x"], "ok": False, "error_type": {"a": 1}, "reply_code": "x" * 99}))
    assert value_of(text, "cortex_code_execution_errors_total", error_type="other") == 1
    assert value_of(text, "cortex_code_executions_total", tier="none", outcome="error") == 1


def test_a_run_is_measured_and_one_from_the_cache_is_not():
    run = {"tier": "isolated", "ok": True, "total_ms": 4.0, "execution_ms": 3.0, "peak_memory_mb": 20.0}
    text = folded(
        Line("execution", {**run, "fetches": 3, "failed_fetches": 1}), Line("execution", {**run, "cached": True})
    )
    assert value_of(text, "cortex_code_execution_duration_seconds_sum", tier="isolated") == pytest.approx(0.004)
    assert value_of(text, "cortex_code_execution_duration_seconds_count", tier="isolated") == 1
    assert value_of(text, "cortex_sandbox_memory_bytes_sum", tier="isolated") == 20 * 1024 * 1024
    assert value_of(text, "cortex_fetches_total", outcome="sent") == 3
    assert value_of(text, "cortex_fetches_total", outcome="failed") == 1


@pytest.mark.parametrize("strange", [10**400, -1, 1e308, float("nan"), "9", None, [1]], ids=repr)
def test_a_record_with_strange_numbers_is_counted_and_stops_nothing(strange):
    numbers = dict.fromkeys(("total_ms", "peak_memory_mb", "fetches", "failed_fetches", "lent", "duration_ms"), strange)
    run, call = {"tier": "isolated", "ok": True, **numbers}, {"tool": "a.b", "ok": True, **numbers}
    text = folded(Line("execution", run), Line("intent", numbers), Line("tool_call", call))
    assert value_of(text, "cortex_code_executions_total", tier="isolated", outcome="ok") == 1


def test_lent_tools_and_answers_of_the_owner_are_counted():
    text = folded(
        Line("intent", {"lent": 7}),
        Line("owner_decision", {"what": "tool call", "allowed": True}),
        Line("owner_decision", {"what": "tool call", "allowed": False}),
        Line("owner_decision", {"what": "neuron approve"}),
    )
    assert value_of(text, "cortex_tools_injected_sum") == 7
    assert [value_of(text, "cortex_owner_answers_total", answer=one) for one in ("allowed", "denied")] == [1, 1]


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        ({"ok": True}, "ok"),
        ({"ok": False, "error_code": "denied"}, "denied"),
        ({"ok": False, "error_code": "timeout"}, "timeout"),
        ({"ok": False, "error_code": "internal"}, "error"),
        ({"ok": False, "error_code": ["x"]}, "error"),
    ],
)
def test_a_tool_call_is_counted_by_its_server_and_never_by_its_name(facts, outcome):
    text = folded(Line("tool_call", {"tool": "github.list_commits", "duration_ms": 12, **facts}))
    assert value_of(text, "cortex_tool_calls_total", server="github", outcome=outcome) == 1
    assert "list_commits" not in text


def test_at_most_fifty_servers_have_series_of_their_own():
    lines = [Line("tool_call", {"tool": f"server{number}.x", "ok": True, "duration_ms": 1}) for number in range(80)]
    odd = [Line("tool_call", {"tool": name, "ok": True}) for name in ('"}\n.x', "x" * 999 + ".y", "plain", None)]
    text = folded(*odd, *lines, lines[0])
    servers = {line.split('server="')[1].split('"')[0] for line in text.splitlines() if "tool_calls_total{" in line}
    assert len(servers) == MAX_SERVERS + (1 if len(servers) > MAX_SERVERS else 0)
    assert "other" in servers
    assert sum_of(text, "cortex_tool_calls_total") == 85
    assert value_of(folded(*odd[:2]), "cortex_tool_calls_total", server="other", outcome="ok") == 2


SECRET = "s3cret-purpose"


def test_no_text_of_an_agent_is_in_the_metrics():
    facts = dict.fromkeys(("purpose", "code_hash", "turn", "host", "reason", "name", "neuron", "tier"), SECRET)
    kinds = ("intent", "execution", "refusal", "tool_call", "owner_decision", "emission", "details", "neuron", "files")
    assert SECRET not in folded(*(Line(kind, {**facts, "tool": f"core.execute.{SECRET}"}) for kind in kinds))


def test_energy_that_comes_back_never_lowers_what_was_spent():
    fold, counted = Fold(), []
    for one in (
        entry("execution", -0.05, tier="isolated"),
        entry("settled", 0.03, tier="isolated"),
        entry("execution", -0.05, tier="isolated"),
        entry("settled", 0.0, tier="isolated"),
    ):
        fold.pay(one)
        counted.append(value_of(exposition(fold.samples, METRICS), "cortex_energy_spent_total", origin="isolated"))
    assert counted == sorted(counted)
    assert counted[-1] == pytest.approx(0.07)


def test_energy_is_counted_by_what_spent_it_and_the_owners_changes_are_not():
    spent = (
        entry("execution", -0.1, tier="network"),
        entry("neuron crypto-price", -0.02),
        entry("something", -0.3),
        entry("top-up", 0.5, by="owner"),
        entry("set", -0.5, by="owner"),
        entry("recovered", -0.2),
    )
    text = folded(entries=spent)
    found = {one: value_of(text, "cortex_energy_spent_total", origin=one) for one in ("network", "neuron", "other")}
    assert found == {"network": 0.1, "neuron": 0.02, "other": 0.3}
    assert value_of(text, "cortex_energy_spent_total", origin="isolated") == 0


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.lists(st.integers(), max_size=2)
)
LINES = st.builds(
    Line,
    st.sampled_from(["intent", "execution", "refusal", "tool_call", "owner_decision", "other"]),
    st.dictionaries(
        st.sampled_from(
            [
                "tier",
                "ok",
                "cached",
                "reply_code",
                "error_type",
                "tool",
                "total_ms",
                "peak_memory_mb",
                "fetches",
                "lent",
                "duration_ms",
                "error_code",
                "reason",
                "what",
                "allowed",
                "stopped",
            ]
        ),
        ODD | st.sampled_from(["core.execute", "isolated", "network", "EXECUTION_DENIED: x", *ERROR_TYPES]),
    ),
)


@given(st.lists(LINES, max_size=20))
def test_any_facts_can_be_folded_and_no_counter_falls(lines):
    fold, before = Fold(), {}
    for line in lines:
        fold.hear(line)
        counted = {
            (name, labels): value for name, series in fold.samples.values.items() for labels, value in series.items()
        }
        assert all(counted[key] >= value for key, value in before.items())
        before = counted
    exposition(fold.samples, METRICS)


def sum_of(text: str, name: str) -> float:
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(f"{name}{{"))
