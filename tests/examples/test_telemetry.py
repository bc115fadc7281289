"""The example for monitoring systems: its program runs, and its files name metrics, labels and ports that there are."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import anyio
import pytest
import yaml

from cortex.settings import Settings
from cortex.telemetry import METRICS
from tests.cortex.telemetry.collector import collecting
from tests.documents import ROOT

HERE = ROOT / "examples" / "telemetry"
DASHBOARD = json.loads((HERE / "dashboard.json").read_text(encoding="utf-8"))
FILES = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(HERE.glob("*.yml"))}
PANELS = {panel["title"]: panel for panel in DASHBOARD["panels"]}
RULES = {rule["alert"]: rule for group in FILES["alerts.yml"]["groups"] for rule in group["rules"]}
EXPRESSIONS = [
    *(target["expr"] for panel in PANELS.values() for target in panel["targets"]),
    *(rule["expr"] for rule in RULES.values()),
]
SERIES = {
    f"{metric.name}{end}": metric
    for metric in METRICS
    for end in (("_bucket", "_sum", "_count") if metric.type == "histogram" else ("",))
}
WORDS = {"sum", "by", "rate", "increase", "max", "min", "histogram_quantile", "le", "on"}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_each_metric_and_label_of_an_expression_is_one_that_is_printed(expression):
    names = re.findall(r"cortex_\w+", expression)
    assert names
    assert [name for name in names if name not in SERIES] == []
    labels = {label for name in names for label in SERIES[name].labels} | {"le"}
    used = re.findall(r"(\w+)=?[!~=]+\"", expression)
    used += [label.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(",")]
    assert {*used} <= labels
    for name in names:
        is_counter = SERIES[name].type != "gauge"
        assert is_counter == (f"rate({name}" in expression or f"increase({name}" in expression), "a counter has a rate"


def test_the_dashboard_has_a_panel_for_each_metric_and_no_two_in_one_place():
    shown = {
        SERIES[name].name
        for panel in PANELS.values()
        for target in panel["targets"]
        for name in re.findall(r"cortex_\w+", target["expr"])
    }
    assert shown == {metric.name for metric in METRICS}
    places = [panel["gridPos"] for panel in PANELS.values()]
    cells = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len({*cells})
    assert all(0 <= x < 24 for x, _ in cells)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(PANELS) == len(DASHBOARD["panels"])


def test_the_files_of_the_example_fit_together():
    (scrape,) = FILES["prometheus.yml"]["scrape_configs"]
    (target,) = scrape["static_configs"][0]["targets"]
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    assert f"cortex console --port {target.rpartition(':')[2]}" in readme
    assert Settings(console={"metrics": True}).console.metrics
    assert "CORTEX_CONSOLE__METRICS=true" in readme
    collector = FILES["collector.yml"]
    for pipeline in collector["service"]["pipelines"].values():
        for kind in ("receivers", "processors", "exporters"):
            assert {*pipeline[kind]} <= {*collector[kind]}
    place = collector["receivers"]["otlp"]["protocols"]["http"]["endpoint"]
    assert f"http://{place}/v1/traces" in (HERE / "traces.py").read_text(encoding="utf-8")
    for service in FILES["compose.yml"]["services"].values():
        assert ":" in service["image"], "a version is named"
        for volume in service.get("volumes", []):
            name = volume.split(":")[0].removeprefix("./")
            assert (HERE / name).is_file() or name == "cortex.token"
    for name in (
        path.name for path in HERE.iterdir() if path.suffix in {".yml", ".json", ".py"} and path.stem != "__init__"
    ):
        assert f"`{name}`" in readme


@pytest.mark.deno
async def test_the_program_sends_a_trace(tmp_path: Path):
    with collecting() as collector:
        command = [sys.executable, "-m", "examples.telemetry.traces", collector.url]
        done = await anyio.run_process(
            command, cwd=ROOT, env={"CORTEX_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
        )
    count, trace = done.stdout.decode().split("\n")[:2]
    assert (count, trace) == ("14", f"trace {collector.one('morning report').trace}")
    assert len(collector.named("execute_tool shop.stock")) == 3
    root = "morning report"
    assert collector.path(collector.one("run_code"))[:2] == [root, "invoke_agent motor-cortex"]
