"""`cortex stats` as an owner finds it: on an empty home, on a full one, on one that is too large, and for programs."""

from __future__ import annotations

import json
import time

import anyio
import pytest

from cortex.audit import Audit
from cortex.commands import run_command
from cortex.commands.stats import read
from cortex.commands.stats_rows import plot, usage_lines
from cortex.energy import EnergyReserve
from cortex.home import Home
from cortex.settings import Settings
from cortex.text import columns_of
from neurons import ApprovalKey, DeferredStorage
from tests.neurons.governance import Clock, Governed


def plain(text: str, style: str) -> str:
    del style
    return text


@pytest.fixture
def home(tmp_path):
    place = Home(tmp_path / "home")
    audit = Audit(place.audit, Settings().audit)
    for number in range(20):
        tier = "network" if number % 4 == 0 else "isolated"
        audit.record("execution", tier=tier, ok=number != 3, code_hash=f"h{number % 5}", cost=0.05)
    audit.record("tool_call", tool="shop.stock\x1b[2J", origin="code", ok=True)
    audit.record("tool_call", tool="learned.compoundInterest", origin="code", ok=True)
    audit.close()
    reserve = EnergyReserve(place.state, Settings().energy)
    assert anyio.run(lambda: reserve.spend(0.2, reason="neuron crypto-price"))
    reserve.close()
    agent = Governed(DeferredStorage(place.state), key=ApprovalKey.load_or_make(place.state), clock=Clock(time.time()))
    agent.in_trial()
    agent.storage.close()
    return place.path


def test_an_empty_home_has_no_answers_and_stays_empty(tmp_path, capsys):
    home = tmp_path / "empty"
    home.mkdir()
    assert run_command(["stats", "--home", str(home)]) == 0
    out, err = capsys.readouterr()
    assert "no: no code ran" in out
    assert err == ""
    assert run_command(["stats", "--json", "--home", str(home)]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == {}
    assert list(home.iterdir()) == []


def test_the_gates_are_answered_and_the_numbers_are_in_a_table(home, capsys):
    assert run_command(["stats", "--home", str(home)]) == 0
    out, _ = capsys.readouterr()
    for words in (
        "The last 30 days, 20",
        "Does the agent use its hands?\n  yes: 20 runs on 1 of 30 days, 95% succeeded",
        "Is the network needed?\n  yes: 5 of 20 runs",
        "Does it write the same again?\n  yes: 0 habits, 0 learned; 15 runs of the very same code",
        "Is what it learned used?\n  yes: 1 awake, at least 1 model call saved",
        "runs, isolated         15, 14 succeeded",
        "learned now            1 neuron, 0 functions: 1 awake, 0 waiting for you",
        "0.2 neurons",
        "shop.stock\\u001b[2J 1",
    ):
        assert words in out, words
    assert "\x1b" not in out


def test_json_has_all_of_it(home, capsys):
    assert run_command(["stats", "--json", "--days", "7", "--home", str(home)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == {"isolated": 15, "network": 5}
    assert (found["learnedCalls"], found["neurons"]["awake"], found["cut"]) == (1, 1, [])
    [day] = found["days"].values()
    assert (day["runs"], day["energy"]) == (20, 0.2)
    assert len(found["gates"]) == 4


def test_of_a_large_audit_the_newest_records_are_read_and_the_cut_is_told(home):
    settings = Settings(home=home)
    usage, cut = read(settings, 30, time.time(), 10)
    assert usage.records == 10
    assert cut[0].startswith("Only the newest 10 records of the audit were read, since 2")
    _, cut = read(settings, 30, time.time(), 1_000)
    assert cut == []


@pytest.mark.parametrize("days", ["0", "367", "x", "-1", "9" * 5_000])
def test_a_number_of_days_that_is_none_is_a_usage_error(home, days, capsys):
    with pytest.raises(SystemExit) as error:
        run_command(["stats", "--days", days, "--home", str(home)])
    assert error.value.code == 2
    assert "a number of days from 1 to 366" in capsys.readouterr().err


def test_a_home_that_is_not_there_is_a_usage_error(tmp_path, capsys):
    assert run_command(["stats", "--home", str(tmp_path / "nowhere")]) == 2
    assert "there is no home at" in capsys.readouterr().err


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("days", [1, 30, 366])
def test_no_line_is_wider_than_the_terminal(home, width, days):
    usage, _ = read(Settings(home=home), days, time.time(), 1_000)
    assert max(columns_of(line) for line in usage_lines(usage, width, plain, symbols=True)) <= width


def test_a_plot_shows_the_least_that_is_not_nothing():
    assert plot([0, 1, 500, 1000], symbols=True) == " ▁▄█"
    assert plot([0, 1, 500, 1000], symbols=False) == ".149"
    assert plot([0, 0], symbols=False) == ".."
    assert plot([], symbols=True) == ""
