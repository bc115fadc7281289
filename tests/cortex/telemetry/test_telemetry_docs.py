"""The page about telemetry names what there is."""

from __future__ import annotations

import json
import re
import tomllib

from cortex.settings import Settings
from cortex.telemetry import METRICS
from tests.documents import PAGES

PAGE = PAGES["telemetry"]


def test_the_table_of_metrics_names_each_with_its_type_labels_and_seed():
    rows = [
        [re.findall(r"`([^`]+)`", cell) if at in {0, 2, 4} else cell for at, cell in enumerate(row)]
        for row in PAGE.rows("Metrics of a home")
    ]
    assert [(row[0], row[1], row[2], row[4]) for row in rows] == [
        ([one.name], one.type, list(one.labels), re.findall(r"\((\w+_\w+)\)", one.help)) for one in METRICS
    ]


def test_the_configuration_of_prometheus_asks_at_the_port_of_the_settings():
    (settings, *_) = [tomllib.loads(block.text) for block in PAGE.blocks if block.kind == "toml"]
    (scrapes, *_) = [json.loads(block.text) for block in PAGE.blocks if block.kind == "json"]
    console = Settings.model_validate(settings).console
    assert console.metrics
    (scrape,) = scrapes["scrape_configs"]
    assert scrape["static_configs"] == [{"targets": [f"127.0.0.1:{console.port}"]}]
