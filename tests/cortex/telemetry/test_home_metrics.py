"""The metrics of a home: of all its processes, over restarts, and whatever was deleted, rolled or damaged meanwhile."""

from __future__ import annotations

import json
import sys
import time

import anyio
import pytest

from cortex import MotorCortex
from cortex.commands import run_command
from cortex.energy import EnergyReserve, LedgerPlace, entries_after
from cortex.home import Home
from cortex.inbox import QuestionBox
from cortex.settings import Settings
from cortex.telemetry import METRICS, HomeMetrics, exposition, fold_all
from cortex.telemetry.checkpoint import FILE
from cortex.tools import Question
from neurons import ApprovalKey, DeferredStorage, KillSwitch
from tests.cortex.telemetry.support import audit_of, families, settings_of, text_of, value_of
from tests.neurons.governance import Clock, Governed

RUNS = "cortex_code_executions_total"
ANOTHER_PROGRAM = """
import sys, anyio
from cortex import MotorCortex, Settings

async def main():
    async with MotorCortex(Settings(home=sys.argv[1], sandbox={"pool_size": 0})) as cortex, cortex.turn() as turn:
        assert await turn.call("core.execute", {"purpose": "another", "code": "return 2"}) == "2"

anyio.run(main)
"""


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def run_some(home, count, *, ok=True):
    audit = audit_of(home)
    for _ in range(count):
        audit.record("execution", tier="isolated", ok=ok, reply_code="OK", total_ms=2.0)
    audit.close()


def runs_of(text, outcome="ok"):
    return value_of(text, RUNS, tier="isolated", outcome=outcome)


@pytest.mark.deno
async def test_runs_of_several_processes_are_in_one_page(home):
    """Two programs run code on one home, and a third one prints the metrics."""
    settings = Settings(home=home, sandbox={"pool_size": 1}, cache={"enabled": False})
    calls = {
        "ok": {"purpose": "SECRET-PURPOSE", "code": "return 1 + 1"},
        "error": {"purpose": "fail", "code": "throw new Error('SECRET-ERROR')"},
        "timeout": {"purpose": "wait", "code": "while (true) {}", "timeout": 100},
        "blocked": {"purpose": "eval", "code": "return eval('1')"},
    }
    async with MotorCortex(settings) as cortex, cortex.turn() as turn:
        for call in calls.values():
            await turn.call("core.execute", call)
    await anyio.run_process([sys.executable, "-c", ANOTHER_PROGRAM, str(home)])
    text = await anyio.to_thread.run_sync(text_of, home)
    assert {outcome: runs_of(text, outcome) for outcome in calls} == {"ok": 2, "error": 1, "timeout": 1, "blocked": 1}
    assert "SECRET" not in text
    assert value_of(text, "cortex_code_execution_errors_total", error_type="TimeoutError") == 1
    assert value_of(text, "cortex_code_execution_duration_seconds_count", tier="isolated") == 4
    assert value_of(text, "cortex_sandbox_memory_bytes_count", tier="isolated") == 4
    assert value_of(text, "cortex_tools_injected_count") == 4
    assert 0 < value_of(text, "cortex_energy_spent_total", origin="isolated") < 1
    assert 0 < value_of(text, "cortex_energy_level_ratio") < 1


def test_the_next_process_goes_on_where_the_last_one_stopped(home):
    run_some(home, 3)
    assert runs_of(text_of(home)) == 3
    run_some(home, 2)
    found = HomeMetrics(settings_of(home), at_once=2)
    assert found.go_on() is True
    assert found.go_on() is False, "only what is new is read"
    assert runs_of(exposition(found.gather(), METRICS)) == 5


def test_what_was_counted_stays_when_old_days_are_deleted(home):
    run_some(home, 3)
    text_of(home)
    (day,) = (home / "audit").glob("????-??-??.jsonl")
    day.rename(day.with_name("2020-01-01.jsonl"))
    run_some(home, 1)
    assert runs_of(text_of(home)) == 4
    (home / "audit" / "2020-01-01.jsonl").unlink()
    assert runs_of(text_of(home)) == 4


def test_a_deleted_cache_is_made_again(home):
    run_some(home, 3)
    before = text_of(home)
    (home / "cache" / FILE).unlink()
    assert text_of(home) == before
    assert (home / "cache" / FILE).is_file()


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: "",
        lambda kept: "[1]",
        lambda kept: "{" * 100_000,
        lambda kept: json.dumps({**kept, "format": 0}),
        lambda kept: json.dumps({**kept, "seq": -1}),
        lambda kept: json.dumps({**kept, "series": {}}),
        lambda kept: json.dumps({**kept, "spent": {"isolated": 10**400}}),
        lambda kept: json.dumps({**kept, "ledger": None}),
        lambda kept: json.dumps(kept | {"series": kept["series"] | {RUNS: [[["isolated"], 9]]}}),
        lambda kept: json.dumps(kept | {"series": kept["series"] | {RUNS: [[["isolated", "x" * 200], 9]]}}),
        lambda kept: json.dumps(kept | {"series": kept["series"] | {"cortex_tools_injected": [[[], [1], 1]]}}),
    ],
)
def test_a_damaged_cache_is_made_again(home, change):
    run_some(home, 3)
    before = text_of(home)
    place = home / "cache" / FILE
    place.write_text(change(json.loads(place.read_text())))
    assert text_of(home) == before


def test_another_audit_is_counted_from_its_beginning(home, tmp_path):
    run_some(home, 5)
    text_of(home)
    (home / "audit").rename(tmp_path / "old")
    run_some(home, 2)
    assert runs_of(text_of(home)) == 2
    (home / "audit").rename(tmp_path / "older")
    run_some(home, 9, ok=False)
    assert (runs_of(text_of(home)), runs_of(text_of(home), "error")) == (0, 9)


def test_an_empty_home_has_metrics_and_stays_empty(home, capsys):
    home.mkdir(mode=0o700)
    assert run_command(["metrics", "--home", str(home)]) == 0
    out, err = capsys.readouterr()
    assert (runs_of(out), err) == (0, "")
    assert list(home.iterdir()) == []


def test_the_command_prints_text_for_prometheus_and_json_for_programs(home, capsys):
    run_some(home, 2)
    assert run_command(["metrics", "--home", str(home)]) == 0
    assert runs_of(capsys.readouterr().out) == 2
    assert run_command(["metrics", "--json", "--home", str(home)]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert {"labels": {"tier": "isolated", "outcome": "ok"}, "value": 2} in found[RUNS]["samples"]


def test_a_part_that_cannot_be_read_takes_nothing_else_with_it(home):
    run_some(home, 2)
    state = Home(home).state
    (state / "energy-ledger.jsonl").mkdir()
    text = text_of(home)
    assert runs_of(text) == 2
    up = {
        one: value_of(text, "cortex_metrics_source_up", source=one)
        for one in ("audit", "ledger", "energy", "neurons", "questions")
    }
    assert up == {"audit": 1, "ledger": 0, "energy": 0, "neurons": 1, "questions": 1}
    assert value_of(text, "cortex_energy_level_ratio") is None


def test_the_kill_switch_and_the_last_record_are_shown(home):
    run_some(home, 2)
    assert value_of(text_of(home), "cortex_killed") == 0
    KillSwitch(Home(home).state).turn_on("stop", "owner")
    text = text_of(home)
    assert (value_of(text, "cortex_killed"), value_of(text, "cortex_audit_seq")) == (1, 2)
    assert value_of(text, "cortex_audit_verified_seq") == 0


def test_neurons_are_counted_by_status_and_only_those_of_the_owner_are_named(home):
    state = Home(home).state
    agent = Governed(DeferredStorage(state), key=ApprovalKey.load_or_make(state), clock=Clock(4_000_000_000.0))
    neuron = agent.in_trial()
    agent.storage.close()
    text = text_of(home)
    assert value_of(text, "cortex_neurons", status="trial") == 1
    assert value_of(text, "cortex_neurons", status="disabled") == 0
    assert value_of(text, "cortex_neuron_signals_total", neuron=neuron.id, outcome="answered") is not None
    assert value_of(text, "cortex_owner_questions", kind="neuron", state="waiting") == 0


def test_a_neuron_that_waits_for_the_owner_is_counted_and_not_named(home):
    state = Home(home).state
    agent = Governed(DeferredStorage(state), key=ApprovalKey.load_or_make(state), clock=Clock(time.time()))
    neuron = agent.waiting()
    agent.storage.close()
    text = text_of(home)
    assert value_of(text, "cortex_owner_questions", kind="neuron", state="waiting") == 1
    assert neuron.id not in text


def test_a_call_that_a_program_asks_about_is_counted(home):
    assert value_of(text_of(home), "cortex_owner_questions", kind="call", state="waiting") == 0
    with QuestionBox.opened(Home(home)) as box:
        asked = box.asked(Question("shop.order", {"item": "tea"}, "model"))
        box.ask(asked, time.time() + 100, 20)
        assert value_of(text_of(home), "cortex_owner_questions", kind="call", state="waiting") == 1
        box.settle(asked, "withdrawn")
    assert value_of(text_of(home), "cortex_owner_questions", kind="call", state="waiting") == 0


def spend(home, *amounts):
    reserve = EnergyReserve(Home(home).state, Settings().energy)
    for amount in amounts:
        assert anyio.run(lambda amount=amount: reserve.spend(amount, reason="neuron one"))
    reserve.close()


def test_the_ledger_is_read_once_and_a_rolled_one_goes_on(home):
    spend(home, 0.1, 0.2)
    assert value_of(text_of(home), "cortex_energy_spent_total", origin="neuron") == pytest.approx(0.3)
    ledger = Home(home).state / "energy-ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[-1:]))
    rolled = ledger.with_name("new")
    rolled.write_bytes(ledger.read_bytes())
    rolled.rename(ledger)
    spend(home, 0.05)
    assert value_of(text_of(home), "cortex_energy_spent_total", origin="neuron") == pytest.approx(0.35)


def test_a_place_in_the_ledger_moves_by_whole_lines(home):
    spend(home, 0.1, 0.2)
    state = Home(home).state
    ledger = state / "energy-ledger.jsonl"
    whole = ledger.read_bytes()
    ledger.write_bytes(whole[:-5])
    first, place = entries_after(state, LedgerPlace())
    ledger.write_bytes(whole)
    second, place = entries_after(state, place)
    assert [one.seq for one in (*first, *second)] == [1, 2, 3]
    assert entries_after(state, place) == ([], place)
    few, place = entries_after(state, LedgerPlace(), most_bytes=len(whole) // 2)
    assert 0 < len(few) < 3
    assert few + entries_after(state, place)[0] == first + second


def test_the_metrics_of_a_running_console_follow_the_home(home):
    found = HomeMetrics(settings_of(home))
    for count in (1, 2, 3):
        run_some(home, 1)
        fold_all(found)
        assert runs_of(exposition(found.gather(), METRICS)) == count
    assert families(exposition(found.gather(), METRICS))
