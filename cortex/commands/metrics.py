"""`cortex metrics`: print the metrics of a home for Prometheus. Only reads."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from .exits import SUCCESS
from .options import load_existing


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print them as JSON, for programs")


def run(options: Namespace) -> int:
    # Imported here: `--help` must not wait for it.
    from cortex.telemetry import METRICS, HomeMetrics, exposition, facts_of_metrics, fold_all

    metrics = HomeMetrics(load_existing(options))
    fold_all(metrics)
    samples = metrics.gather()
    metrics.keep()
    print(json.dumps(facts_of_metrics(samples, METRICS)) if options.json else exposition(samples, METRICS), end="")
    if options.json:
        print()
    return SUCCESS
