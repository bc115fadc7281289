"""A home with an audit, a ledger and a clock, and its metrics as Prometheus's own parser reads them."""

from __future__ import annotations

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from cortex.audit import Audit
from cortex.home import Home
from cortex.settings import Settings
from cortex.telemetry import METRICS, HomeMetrics, exposition, fold_all


def settings_of(home: Path) -> Settings:
    return Settings(home=home, sandbox={"pool_size": 0})


def audit_of(home: Path) -> Audit:
    return Audit(Home(home).audit, Settings().audit)


def text_of(home: Path) -> str:
    """The metrics as a new process finds them."""
    metrics = HomeMetrics(settings_of(home))
    fold_all(metrics)
    metrics.keep()
    return exposition(metrics.gather(), METRICS)


def families(text: str) -> dict[str, object]:
    found = list(text_string_to_metric_families(text))
    assert len({one.name for one in found}) == len(found), "a metric stands twice"
    return {one.name: one for one in found}


def value_of(text: str, name: str, **labels: str) -> float | None:
    """The value of the one sample with this name and these labels; None where there is none."""
    found = [
        sample.value
        for family in families(text).values()
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    assert len(found) <= 1
    return found[0] if found else None
