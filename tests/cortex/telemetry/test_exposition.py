"""What `cortex metrics` prints is clean: Prometheus's own parser reads it, and finds names, types and units as it wants
them."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass

import pytest
from hypothesis import given, strategies as st

from cortex.telemetry import METRICS, Fold, exposition, facts_of_metrics
from cortex.telemetry.metric_names import DURATION, FOLDED, TOOL_CALLS
from cortex.telemetry.samples import Samples, recalled
from tests.cortex.telemetry.support import families, value_of

FORBIDDEN_LABELS = {"purpose", "code_hash", "turn", "host", "tool", "url", "call"}


@pytest.mark.parametrize("metric", METRICS, ids=lambda one: one.name)
def test_a_metric_is_named_as_prometheus_wants_it(metric):
    assert re.fullmatch(r"cortex_[a-z]+(_[a-z]+)*", metric.name)
    # As `promtool check metrics` judges them: base units, no abbreviations, no type in the name.
    assert not re.search(r"_(ms|s|mb|kb|count|sum|bucket|gauge|counter|histogram)(_total)?$", metric.name)
    assert metric.name.endswith("_total") == (metric.type == "counter")
    assert metric.help
    assert FORBIDDEN_LABELS.isdisjoint(metric.labels)
    assert bool(metric.bounds) == (metric.type == "histogram")
    assert list(metric.bounds) == sorted(set(metric.bounds))


@pytest.mark.parametrize(
    ("seed", "name"),
    [
        ("code_execution_total", "cortex_code_executions_total"),
        ("code_execution_duration_ms", "cortex_code_execution_duration_seconds"),
        ("code_execution_errors_total", "cortex_code_execution_errors_total"),
        ("sandbox_memory_mb", "cortex_sandbox_memory_bytes"),
        ("tools_injected_count", "cortex_tools_injected"),
    ],
)
def test_the_help_of_a_metric_names_the_one_of_the_source_documents(seed, name):
    (found,) = (metric for metric in METRICS if seed in metric.help)
    assert found.name == name


def test_the_parser_of_prometheus_reads_every_metric_with_its_type_and_help():
    found = families(exposition(Fold().samples, METRICS))
    assert {name.removesuffix("_total") for name in (one.name for one in METRICS)} == set(found)
    for metric in METRICS:
        family = found[metric.name.removesuffix("_total")]
        assert (family.type, family.documentation) == (metric.type, metric.help)


@given(st.lists(st.text(), unique=True, max_size=8))
def test_every_text_in_a_label_comes_back_as_it_was(texts):
    samples = Samples()
    for at, text in enumerate(texts):
        samples.add(TOOL_CALLS, text, "ok", by=at + 1)
    for at, text in enumerate(texts):
        assert value_of(exposition(samples, METRICS), TOOL_CALLS.name, server=text) == at + 1


@given(st.lists(st.floats(min_value=0, max_value=1e6), max_size=50))
def test_the_buckets_of_a_histogram_rise_to_its_count(values):
    samples = Samples()
    for value in values:
        samples.observe(DURATION, "isolated", value=value)
    family = families(exposition(samples, METRICS))[DURATION.name]
    buckets = [(float(one.labels["le"]), one.value) for one in family.samples if one.name.endswith("_bucket")]
    assert buckets == sorted(buckets)
    for bound, count in buckets:
        assert count == sum(value <= bound for value in values)
    if values:
        assert buckets[-1] == (math.inf, len(values))
        assert value_of(exposition(samples, METRICS), f"{DURATION.name}_count") == len(values)
        assert value_of(exposition(samples, METRICS), f"{DURATION.name}_sum") == pytest.approx(sum(values))


@pytest.mark.parametrize("value", [math.nan, math.inf, -1, True, "1", None, [1], 2**64])
def test_what_is_no_number_of_at_least_0_is_not_counted(value):
    samples = Samples()
    samples.add(TOOL_CALLS, "shop", "ok", by=value)
    samples.observe(DURATION, "isolated", value=value)
    assert samples == Samples()


@dataclass
class Line:
    kind: str
    facts: dict


def test_what_is_kept_as_json_comes_back():
    fold = Fold()
    fold.hear(Line("execution", {"tier": "network", "ok": True, "total_ms": 3.5, "peak_memory_mb": 40, "fetches": 2}))
    fold.hear(Line("tool_call", {"tool": "shop.stock", "ok": True, "duration_ms": 2}))
    kept = json.loads(json.dumps(fold.samples.as_json(FOLDED)))
    assert exposition(recalled(kept, FOLDED), METRICS) == exposition(fold.samples, METRICS)


def test_the_json_for_programs_has_every_metric():
    facts = facts_of_metrics(Fold().samples, METRICS)
    assert [one["name"] for one in facts] == [metric.name for metric in METRICS]
    assert {"labels": {"tier": "isolated", "outcome": "ok"}, "value": 0} in facts[0]["samples"]
    json.dumps(facts, allow_nan=False)
