"""The guide to neurons is one story that happens as it is told, and its tables are those of the code."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import BaseModel

from cortex.channels.webhook import SIGNATURE, TIMESTAMP, body_of
from cortex.settings.sections import ExecuteSettings
from cortex.tools import core_definitions
from neurons import BUILT_IN, Drop, NeuronSettings, Notice, Signal, Status
from neurons.contracts import signals as built_in
from neurons.contracts.settings import MIN_SECRET
from neurons.contracts.signals import as_given
from neurons.quarantine import scenarios
from tests.documents import NEURONS, ROOT, Block, assert_prints, commands, environment, run_python
from tests.neurons.candidates import candidate

SECTIONS = {
    "neurons": ("Signals", 2),
    "habits": ("Habits", 1),
    "proposals": ("The proposal", 1),
    "quarantine": ("Quarantine", 1),
    "cost": ("Quarantine", 2),
    "trial": ("The trial", 0),
    "autonomic": ("Signals", 3),
    "owner": ("The webhook", 2),
}
"""Where the table of each section is."""


def story() -> list[Block]:
    kinds = {"python", "console"}
    return [block for block in NEURONS.blocks if block.kind in kinds]


def run_commands(console: str, folder: Path) -> None:
    for command, expected in commands(console):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment(folder / "data", CORTEX_HOME="agent"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert_prints(expected, done.stdout)


@pytest.mark.deno
def test_the_story_happens_as_it_is_told(tmp_path: Path):
    """In one folder, block after block: each goes on with what those before it left."""
    names = iter(re.findall(r"Save this as `(\w+\.py)`", NEURONS.text))
    for block in story():
        if block.kind == "console":
            run_commands(block.text, tmp_path)
            continue
        assert block.follower == "text"
        program = next(names)
        (tmp_path / program).write_text(block.text, encoding="utf-8")
        assert_prints(block.printed, run_python(program, folder=tmp_path))
    assert next(names, None) is None
    assert [block.kind for block in story()] == ["python", "console", "python", "console"]


def test_code_in_the_guide_is_that_of_an_example():
    examples = [path.read_text(encoding="utf-8") for path in (ROOT / "examples" / "neurons").glob("*.ts")]
    found = [block.text for block in NEURONS.blocks if block.kind == "ts"]
    assert len(found) == 1
    assert all(any(text in example for example in examples) for text in found)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_table_of_settings_has_each_of_them_with_its_default(section: str):
    settings = NeuronSettings()
    model = settings if section == "neurons" else getattr(settings, section)
    title, table = SECTIONS[section]
    described = {row[0].strip("`"): row[1] for row in NEURONS.rows(title, table)}
    defaults = {name: value for name, value in dict(model).items() if not isinstance(value, BaseModel)}
    assert described.keys() == defaults.keys()
    for name, cell in described.items():
        assert written(defaults[name]) == cell, name


def written(value: object) -> str:
    match value:
        case None | ():
            return "none"
        case bool():
            return f"`{str(value).lower()}`"
        case int() if value >= 1_000:
            return f"`{value:_}`"
        case _:
            return f"`{value:g}`"


def test_the_table_of_arguments_names_each():
    [tool] = [tool for tool in core_definitions(ExecuteSettings(), learns=True) if tool.name == "core.consolidate"]
    assert [row[0].strip("`") for row in NEURONS.rows("The proposal")] == list(tool.parameters["properties"])


def test_the_table_of_a_signal_names_each_part():
    assert sorted(NEURONS.named("The code")) == sorted(as_given(Signal("tick", "cortex")))


def test_the_table_of_built_in_signals_names_each_with_its_data():
    data = {
        "tick": built_in.tick(1, 60),
        "hour_changed": built_in.hour_changed(datetime(2026, 1, 1, tzinfo=UTC)),
        "energy": built_in.energy(0.5, 0.6),
        "user_message": built_in.user_message("hello"),
        "schedule": built_in.schedule_due("every 15m", datetime(2026, 1, 1, tzinfo=UTC), 0),
    }
    assert data.keys() == BUILT_IN
    described = {row[0].strip("`"): row[1] for row in NEURONS.rows("Signals")}
    assert described.keys() == data.keys()
    for name, cell in described.items():
        assert [word for word in re.findall(r"`(\w+)`", cell) if word in data[name]] == list(data[name]), name


def test_the_table_of_drops_names_each():
    assert NEURONS.named("Signals", table=1) == [drop.value for drop in Drop]


def test_the_table_of_scenarios_names_each():
    known = {value for name, value in vars(scenarios).items() if re.match("[A-Z]", name) and isinstance(value, str)}
    known -= BUILT_IN  # imported, and the name of a signal
    assert set(NEURONS.named("Quarantine")) == known


def test_each_status_is_named():
    assert [status for status in Status if status.value not in NEURONS.text] == []


def test_the_tables_of_the_webhook_name_what_is_sent():
    assert NEURONS.named("The webhook") == [TIMESTAMP, SIGNATURE]
    body = body_of(Notice("title", candidate(), "hash"))
    assert sorted(NEURONS.named("The webhook", table=1)) == sorted(body)
    assert f"{MIN_SECRET} characters at least" in NEURONS.section("The webhook")
