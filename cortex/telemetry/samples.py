"""Counters and histograms with labels, how they are kept as JSON, and how Prometheus reads them. Pure."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .metric_names import Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_LABEL_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})
_MOST = 2.0**63

LabelValues: TypeAlias = tuple[str, ...]


@dataclass(slots=True)
class Distribution:
    """How many values were in each bucket, and their sum."""

    counts: list[int]
    sum: float = 0.0

    def add(self, value: float, bounds: Sequence[float]) -> None:
        self.counts[bisect_left(bounds, value)] += 1
        self.sum += value


@dataclass(slots=True)
class Samples:
    """The values of metrics by their labels. A value that is no finite number of at least 0 is left out: the lines that
    it comes from may be forged."""

    values: dict[str, dict[LabelValues, float]] = field(default_factory=dict)
    distributions: dict[str, dict[LabelValues, Distribution]] = field(default_factory=dict)

    def add(self, metric: Metric, *labels: str, by: Any = 1) -> None:
        """Add to a counter or a gauge."""
        if (amount := number(by)) is not None:
            series = self.values.setdefault(metric.name, {})
            series[labels] = series.get(labels, 0) + amount

    def put(self, metric: Metric, *labels: str, value: Any) -> None:
        if (amount := number(value)) is not None:
            self.values.setdefault(metric.name, {})[labels] = amount

    def observe(self, metric: Metric, *labels: str, value: Any) -> None:
        """Add a value to a histogram."""
        if (amount := number(value)) is not None:
            series = self.distributions.setdefault(metric.name, {})
            if labels not in series:
                series[labels] = Distribution([0] * (len(metric.bounds) + 1))
            series[labels].add(amount, metric.bounds)

    def labels_of(self, metric: Metric) -> set[LabelValues]:
        return {*self.values.get(metric.name, {}), *self.distributions.get(metric.name, {})}

    def as_json(self, metrics: Sequence[Metric]) -> dict[str, Any]:
        """The series of these metrics, to be read by `recalled`."""
        return {
            metric.name: [
                *([list(labels), value] for labels, value in self.values.get(metric.name, {}).items()),
                *(
                    [list(labels), one.counts, one.sum]
                    for labels, one in self.distributions.get(metric.name, {}).items()
                ),
            ]
            for metric in metrics
        }


def number(value: Any) -> float | None:
    """The value as a number that can be added up; None for any other."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and 0 <= value < _MOST else None


def recalled(kept: Mapping[str, Any], metrics: Sequence[Metric]) -> Samples:
    """What `as_json` made. Raises ValueError for anything else."""
    samples = Samples()
    for metric in metrics:
        for labels, *values in kept[metric.name]:
            if len(labels) != len(metric.labels) or not all(isinstance(one, str) and len(one) <= 100 for one in labels):
                raise ValueError(f"the labels of {metric.name} are others")
            if metric.type != "histogram":
                (value,) = values
                samples.put(metric, *labels, value=value)
                continue
            counts, total = values
            is_sound = len(counts) == len(metric.bounds) + 1 and all(type(one) is int and one >= 0 for one in counts)
            if not is_sound or number(total) is None:
                raise ValueError(f"the buckets of {metric.name} are others")
            samples.distributions.setdefault(metric.name, {})[tuple(labels)] = Distribution(list(counts), float(total))
    return samples


def exposition(samples: Samples, metrics: Sequence[Metric]) -> str:
    """The samples in Prometheus's text format, metrics without any included."""
    return "\n".join(line for metric in metrics for line in _lines(samples, metric)) + "\n"


def facts_of_metrics(samples: Samples, metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    """The samples as JSON, for programs."""
    return [
        {"name": metric.name, "type": metric.type, "help": metric.help, "samples": list(_facts(samples, metric))}
        for metric in metrics
    ]


def _lines(samples: Samples, metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.help.translate(_HELP_ESCAPES)}"
    yield f"# TYPE {metric.name} {metric.type}"
    for labels, value in sorted(samples.values.get(metric.name, {}).items()):
        yield f"{metric.name}{_braces(metric.labels, labels)} {_number(value)}"
    for labels, one in sorted(samples.distributions.get(metric.name, {}).items(), key=lambda item: item[0]):
        for bound, count in zip((*map(_number, metric.bounds), "+Inf"), _cumulative(one.counts), strict=True):
            yield f"{metric.name}_bucket{_braces((*metric.labels, 'le'), (*labels, bound))} {count}"
        yield f"{metric.name}_sum{_braces(metric.labels, labels)} {_number(one.sum)}"
        yield f"{metric.name}_count{_braces(metric.labels, labels)} {sum(one.counts)}"


def _facts(samples: Samples, metric: Metric) -> Iterator[dict[str, Any]]:
    for labels, value in sorted(samples.values.get(metric.name, {}).items()):
        yield {"labels": dict(zip(metric.labels, labels, strict=True)), "value": value}
    for labels, one in sorted(samples.distributions.get(metric.name, {}).items(), key=lambda item: item[0]):
        bounds = (*map(_number, metric.bounds), "+Inf")
        yield {
            "labels": dict(zip(metric.labels, labels, strict=True)),
            "buckets": dict(zip(bounds, _cumulative(one.counts), strict=True)),
            "sum": one.sum,
            "count": sum(one.counts),
        }


def _cumulative(counts: Sequence[int]) -> Iterator[int]:
    total = 0
    for count in counts:
        total += count
        yield total


def _braces(names: Sequence[str], values: Sequence[str]) -> str:
    pairs = zip(names, values, strict=True)
    inside = ",".join(f'{name}="{value.translate(_LABEL_ESCAPES)}"' for name, value in pairs)
    return f"{{{inside}}}" if inside else ""


def _number(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(float(value))
