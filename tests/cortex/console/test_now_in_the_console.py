"""The page of what happens now: what runs, what only looks so, and what neurons did in the last day."""

from __future__ import annotations

import json
import os
import re
import time

import anyio
import pytest

from cortex.console.plots import activity_line
from cortex.energy import EnergyReserve
from cortex.home import Home
from cortex.settings import EnergySettings
from cortex.views import ActivityPart
from sandbox import Tier, identity_of

from .agent import Agent
from .served import served


@pytest.fixture
def agent(tmp_path):
    found = Agent(tmp_path / "home")
    yield found
    found.close()


def open_program(home, pid: int, started: int | None, run: str) -> None:
    folder = home / "state" / "open"
    folder.mkdir(exist_ok=True)
    own = identity_of(os.getpid())
    runs = [{"id": run, "at": time.time(), "purpose": "x"}]
    facts = {"format": 1, "pid": pid, "started": started, "boot": own.boot, "namespace": own.namespace, "at": 1.0}
    (folder / f"{pid}-00000000.json").write_text(json.dumps({**facts, "program": "shop<b>", "runs": runs}))


def test_the_programs_that_are_open_are_named_and_not_those_that_are_gone(agent):
    own = identity_of(os.getpid())
    open_program(agent.home, os.getpid(), own.started, "aa-1")
    with served(agent.home) as found:
        owner = found.log_in()
        assert f"<bdi>shop&lt;b&gt;</bdi> ({os.getpid()})" in owner.get("/").text
        (agent.home / "state" / "open" / f"{os.getpid()}-00000000.json").unlink()
        open_program(agent.home, os.getpid(), 1, "aa-1")
        assert "Open:" not in owner.get("/").text


def test_what_a_neuron_did_is_drawn_with_what_failed_and_what_it_said():
    parts = [ActivityPart(), ActivityPart(signals=4), ActivityPart(signals=8, emitted=1), ActivityPart(2, 1, 1)]
    picture = str(activity_line(parts))
    assert re.findall(r'class="(rest|spent|said|failed)"', picture) == ["rest", "spent", "said", "failed"]
    assert "14 signals, 2 emitted, 1 errors" in picture
    heights = [float(one) for one in re.findall(r' height="([\d.]+)"', picture)]
    assert heights == sorted(heights[:3]) + heights[3:]


def test_the_rate_is_that_of_the_programs_that_spend(agent):
    """And not that of the settings which the console has read."""
    reserve = EnergyReserve(Home(agent.home).state, EnergySettings(recharge_per_minute=0.037))
    anyio.run(reserve.take, Tier.ISOLATED)
    reserve.close()
    with served(agent.home) as found:
        page = found.log_in().get("/").text
    assert 'data-rate="0.037"' in page
    assert "recharges 0.037 a minute" in page
