"""`cortex energy` as a person or a program at a shell finds it."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from cortex.audit import Audit
from cortex.commands import run_command as run
from cortex.energy import EnergyNotOnDisk, EnergyReserve
from cortex.settings.sections import AuditSettings, EnergySettings
from neurons import KillSwitch
from sandbox import Tier

CORTEX = [sys.executable, "-c", "from cortex.commands import main; main()"]
STILL = {"CORTEX_ENERGY__RECHARGE_PER_MINUTE": "0"}
# 2023-11-14 22:13:20 UTC
NOW = 1_700_000_000.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing recharges: what is shown does not depend on the moment."""
    for name, value in STILL.items():
        monkeypatch.setenv(name, value)


def spend(home: Path, level: float, **settings: object) -> EnergyReserve:
    reserve = EnergyReserve(home / "state", EnergySettings.model_validate(settings), now=lambda: NOW)
    reserve.set(level)
    return reserve


def test_it_shows_level_prices_and_forecast_and_the_ledger(home, still, capsys):
    reserve = spend(home, 0.4)
    anyio.run(lambda: reserve.take(Tier.NETWORK, turn="c0ffee1234567890", code_hash="9b1c22de" * 8))
    assert run(["energy", "--home", str(home)]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert re.sub(r"\d\d-\d\d \d\d:\d\d:\d\d", "MM-DD hh:mm:ss", shown.out) == (
        "Energy 0.25\n"
        "does not recharge by itself: cortex energy top-up AMOUNT\n"
        "\n"
        "tier         cost  floor  now\n"
        "isolated     0.05   0.15  possible, 3 runs in a row\n"
        "network      0.15   0.30  not possible until it is topped up\n"
        "\n"
        "time             amount   level  reason       tier      turn      code\n"
        "MM-DD hh:mm:ss  +0.0000  1.0000  initial\n"
        "MM-DD hh:mm:ss  -0.6000  0.4000  set\n"
        "MM-DD hh:mm:ss  -0.1500  0.2500  execution    network   c0ffee123 9b1c22de\n"
    )


def test_a_kill_switch_that_is_on_is_said_and_no_run_is_called_possible(home, still, capsys):
    spend(home, 0.4)
    KillSwitch(home / "state").turn_on("the agent\x1b[2J ordered too much", "owner")
    assert run(["energy", "--home", str(home)]) == 0
    shown = capsys.readouterr().out
    assert "Nothing runs, whatever the level: Kill switch is on since " in shown
    assert "ordered too much" in shown
    assert 'The owner can turn it off with "cortex revive"' in shown
    assert "\x1b" not in shown
    assert shown.count("not possible until cortex revive") == 2
    assert "runs in a row" not in shown
    assert run(["energy", "--home", str(home), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["killed"].startswith("Kill switch is on since ")
    assert [(tier["possible"], tier["possible_in_s"], tier["runs"]) for tier in told["tiers"]] == [(False, None, 0)] * 2
    KillSwitch(home / "state").turn_off("all is well", "owner")
    assert run(["energy", "--home", str(home), "--json"]) == 0
    assert json.loads(capsys.readouterr().out).get("killed") is None


def test_a_wait_is_said_in_words(home, monkeypatch, capsys):
    monkeypatch.setenv("CORTEX_ENERGY__RECHARGE_PER_MINUTE", "0.001")
    assert run(["energy", "--home", str(home), "set", "0.1"]) == 0
    assert run(["energy", "--home", str(home)]) == 0
    shown = capsys.readouterr().out
    assert "Energy 0.10  full in about 15 hours\nrecharges 0.001 a minute\n" in shown
    assert "isolated     0.05   0.15  possible in about 50 minutes\n" in shown
    assert "network      0.15   0.30  possible in about 4 hours\n" in shown


def test_a_full_reserve_says_so_and_free_tiers_have_no_number_of_runs(home, monkeypatch, capsys):
    home.mkdir()
    monkeypatch.setenv("CORTEX_ENERGY__COST_ISOLATED", "0")
    assert run(["energy", "--home", str(home)]) == 0
    shown = capsys.readouterr().out
    assert "Energy 1.00  full\n" in shown
    assert "isolated     0.00   0.15  possible\n" in shown


def test_times_are_local(home):
    spend(home, 0.4)
    environment = {**os.environ, "TZ": "Asia/Tokyo"}
    done = subprocess.run([*CORTEX, "energy", "--home", str(home)], capture_output=True, timeout=60, env=environment)
    assert b"11-15 07:13:20  -0.6000  0.4000  set" in done.stdout


def test_metered_entries_show_both_amounts(home, still, monkeypatch, capsys):
    monkeypatch.setenv("CORTEX_ENERGY__METERED__ENABLED", "true")
    reserve = spend(home, 0.5)

    async def one() -> None:
        await reserve.settle(await reserve.take(Tier.ISOLATED), 0.0123)

    anyio.run(one)
    assert run(["energy", "--home", str(home)]) == 0
    shown = capsys.readouterr().out
    assert "metered: a run is settled to what it took, from 0.01 to 0.25\n" in shown
    assert "0.05 reserved, 0.0123 settled\n" in shown


def test_json_is_for_programs_and_unrounded(home, still, capsys):
    reserve = spend(home, 0.123456789012)
    reserve.set(0.2000000001, by="a program")
    assert run(["energy", "--json", "--last", "1", "--home", str(home)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {
        "level": 0.2000000001,
        "recharge_per_minute": 0.0,
        "full_in_s": None,
        "metered": EnergySettings().metered.model_dump(),
        "jobs": {"under_way": 0, "reserved": 0},
        "tiers": [
            {"tier": "isolated", "cost": 0.05, "floor": 0.15, "possible": True, "possible_in_s": 0, "runs": 2},
            {"tier": "network", "cost": 0.15, "floor": 0.3, "possible": False, "possible_in_s": None, "runs": 0},
        ],
        "entries": [
            {
                "seq": 3,
                "at": NOW,
                "reason": "set",
                "amount": pytest.approx(0.0765432),
                "recharged": 0.0,
                "level": 0.2000000001,
                "by": "a program",
                **dict.fromkeys(("tier", "turn", "code_hash", "reserved", "settled", "of", "note", "terms")),
            }
        ],
    }


@pytest.mark.parametrize(
    ("last", "count"), [([], 10), (["--last", "3"], 3), (["--last", "0"], 0), (["--last", "99"], 14)]
)
def test_last_says_how_many_entries(home, still, capsys, last, count):
    reserve = spend(home, 0.5)
    for _ in range(12):
        reserve.set(0.5)
    assert run(["energy", "--home", str(home), *last]) == 0
    assert len(re.findall(r"^\d\d-\d\d ", capsys.readouterr().out, re.MULTILINE)) == count
    assert run(["energy", "--home", str(home), "--json", *last]) == 0
    assert len(json.loads(capsys.readouterr().out)["entries"]) == count


def test_the_owner_sets_and_tops_up_and_it_is_recorded(home, still, capsys):
    assert run(["energy", "--home", str(home), "set", "0.5"]) == 0
    assert run(["--home", str(home), "energy", "top-up", "0.2"]) == 0
    assert run(["energy", "top-up", "1", "--home", str(home), "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Energy 0.50, it was 1.00", "Energy 0.70, it was 0.50"]
    entry = json.loads(lines[2])
    assert (entry["reason"], entry["level"], entry["amount"]) == ("top-up", 1, pytest.approx(0.3))
    reserve = EnergyReserve(home / "state", EnergySettings(recharge_per_minute=0))
    assert [entry.reason for entry in reserve.entries()] == ["initial", "set", "top-up", "top-up"]
    records = list(Audit(home / "audit", AuditSettings()).records())
    assert [record.kind for record in records] == ["owner_decision"] * 3
    assert [record.facts for record in records] == [
        {"what": "energy set", "by": "owner", "level": 0.5},
        {"what": "energy top-up", "by": "owner", "level": 0.7},
        {"what": "energy top-up", "by": "owner", "level": 1.0},
    ]


def test_what_a_look_repairs_is_recorded_like_what_a_program_repairs(home, still, capsys):
    spend(home, 0.5).close()
    with (home / "state" / "energy-ledger.jsonl").open("ab") as ledger:
        ledger.write(b'{"seq":3,"at')
    assert run(["energy", "--home", str(home)]) == 0
    assert "12 bytes of an entry that was never finished were cut off" in capsys.readouterr().out
    (record,) = Audit(home / "audit", AuditSettings()).records()
    assert (record.kind, record.facts) == (
        "recovered",
        {"what": "energy", "reason": "12 bytes of an entry that was never finished were cut off", "level": 0.5},
    )


def test_what_a_look_finds_in_order_it_leaves_as_it_is(home, still):
    spend(home, 0.5).close()
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
    assert run(["energy", "--home", str(home)]) == 0
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before


@pytest.mark.parametrize("arguments", [[], ["--json"], ["set", "1.5"]])
def test_a_home_that_is_not_there_is_not_made_by_a_look(home, monkeypatch, capsys, arguments):
    monkeypatch.setenv("CORTEX_ENERGY__INITIAL_LEVEL", "0.4")
    monkeypatch.setenv("CORTEX_HOME", str(home))
    run(["energy", *arguments])
    assert not home.exists()
    if not arguments:
        assert capsys.readouterr().out.startswith("Energy 0.40  full in about 2 minutes\n")


def test_what_cannot_be_recorded_is_not_changed(home, still, capsys):
    spend(home, 0.5)
    (home / "audit").mkdir(mode=0o700)
    (home / "audit" / ".lock").mkdir()
    assert run(["energy", "--home", str(home), "set", "1"]) == 3
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert shown.err.startswith("cortex energy: nothing was changed, because it could not be recorded: ")
    assert "Is a directory" in shown.err
    assert EnergyReserve(home / "state", EnergySettings(recharge_per_minute=0)).level() == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["set", "1.5"], 'a level is a number from 0 to 1, not "1.5"'),
        (["set", "-0.1"], 'a level is a number from 0 to 1, not "-0.1"'),
        (["set", "nan"], 'a level is a number from 0 to 1, not "nan"'),
        (["set", "inf"], 'a level is a number from 0 to 1, not "inf"'),
        (["set", "abc"], 'a level is a number from 0 to 1, not "abc"'),
        (["set", ""], 'a level is a number from 0 to 1, not ""'),
        (["set", "\x1b[2J" + "9" * 100], 'not "\\u001b[2J' + "9" * 36 + '"'),
        (["top-up", "0"], 'an amount is a number above 0 and up to 1, not "0"'),
        (["top-up", "-0.2"], 'an amount is a number above 0 and up to 1, not "-0.2"'),
        (["top-up", "1.5"], 'an amount is a number above 0 and up to 1, not "1.5"'),
        (["top-up", "nan"], 'an amount is a number above 0 and up to 1, not "nan"'),
        (["--last", "3", "set", "0.5"], "--last does not go with set"),
    ],
)
def test_bad_values_are_errors_of_usage_and_change_nothing(home, capsys, arguments, message):
    assert run(["energy", "--home", str(home), *arguments]) == 2
    shown = capsys.readouterr()
    assert (shown.out, message in shown.err) == ("", True)
    assert EnergyReserve(home / "state", EnergySettings()).level() == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["set"], "the following arguments are required: LEVEL"),
        (["drain", "0.5"], "invalid choice: 'drain'"),
        (["--last", "-1"], "a number of entries, not '-1'"),
        (["--last", "many"], "a number of entries, not 'many'"),
        (["set", "0.5", "0.6"], "unrecognized arguments: 0.6"),
    ],
)
def test_bad_usage_is_said_by_the_parser(home, capsys, arguments, message):
    with pytest.raises(SystemExit, match="2"):
        run(["energy", "--home", str(home), *arguments])
    assert message in capsys.readouterr().err


def test_damage_is_said_to_the_person_who_looks(home, still):
    (home / "state").mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    (home / "state" / "energy-ledger.jsonl").write_bytes(b"damaged\n")
    done = subprocess.run(
        [*CORTEX, "energy", "--home", str(home)], capture_output=True, timeout=60, env={**os.environ, **STILL}
    )
    assert done.returncode == 0
    assert b"the level is 0 until it recharges or the owner sets it" in done.stderr
    assert done.stdout.startswith(b"Energy 0.00\n")
    assert b"\n               ledger and snapshot are damaged: the level is 0 until it\n" in done.stdout


def test_a_disk_that_refuses_is_a_refusal(home, still, capsys):
    spend(home, 0.5)
    (home / "state" / "energy-ledger.jsonl").unlink()
    (home / "state" / "energy-ledger.jsonl").mkdir()
    assert run(["energy", "--home", str(home)]) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[-1].startswith("cortex energy: Cannot use the energy in ")


def test_nothing_in_the_ledger_steers_the_terminal(home, still, capsys):
    reserve = spend(home, 0.5)
    anyio.run(lambda: reserve.take(Tier.ISOLATED, turn="\x1b[2J\n\u202ex", code_hash="\x07", reason="日本\x9b"))
    assert run(["energy", "--home", str(home)]) == 0
    shown = capsys.readouterr().out
    assert set(shown) & {"\x1b", "\x07", "\x9b", "\u202e"} == set()
    assert "日本\\u009b" in shown


def on_a_terminal(home: Path, **environment: str) -> str:
    parent, child = pty.openpty()
    shown = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [*CORTEX, "energy", "--home", str(home)], stdout=child, stderr=child, env={**shown, **STILL, **environment}
    )
    assert process.wait(60) == 0
    os.close(child)
    text = os.read(parent, 8192).decode().replace("\r\n", "\n")
    os.close(parent)
    return text


@pytest.mark.parametrize(
    ("level", "colour", "filled"), [(1.0, "32", 10), (0.999, "32", 9), (0.2, "33", 2), (0.1, "31", 1)]
)
def test_a_terminal_shows_a_gauge_in_colour(home, level, colour, filled):
    spend(home, level)
    text = on_a_terminal(home)
    assert f"\x1b[{colour}m{'▰' * filled}{'▱' * (10 - filled)}\x1b[0m" in text
    assert max(len(re.sub(r"\x1b\[\d+m", "", line)) for line in text.splitlines()) <= 80


def test_a_terminal_without_those_marks_shows_no_gauge_and_one_without_colour_no_colour(home):
    spend(home, 0.5)
    assert "0.50\n" in on_a_terminal(home, PYTHONIOENCODING="ascii")
    plain = on_a_terminal(home, NO_COLOR="1")
    assert ("\x1b" in plain, "Energy 0.50  ▰▰▰▰▰▱▱▱▱▱\n" in plain) == (False, True)


def test_whoever_stops_reading_is_not_told_off(home):
    spend(home, 0.5)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*CORTEX, "energy", "--home", str(home)], stdout=writer, stderr=subprocess.PIPE, timeout=60, env={**os.environ}
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_is_set_on_a_full_disk_is_told_as_it_is(tmp_path):
    """The ledger takes the line, and the snapshot beside it finds no room: it has been set, and that is what is said."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare to mount a small disk with")
    program = [sys.executable, "-m", "tests.cortex.energy.full_disk", str(tmp_path)]
    done = subprocess.run(["unshare", "-rm", *program], capture_output=True, text=True, check=False)
    if done.returncode or "cannot" in done.stdout:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()[-200:]}")
    full, code, told, *shown = done.stdout.splitlines()
    assert full == "full: No space left on device"
    assert code == "0"
    # What comes back with time may be a hundredth on a slow machine.
    assert told.startswith("Energy 0.25, it was 0.5")
    assert "energy.json" in shown[0]  # what could not be written
    assert any(line.startswith("Energy 0.2") for line in shown)


def test_what_the_disk_does_not_take_is_in_force_and_said_to_be(tmp_path, monkeypatch):
    reserve = EnergyReserve(tmp_path / "state", EnergySettings())

    def refuse(path):
        raise OSError(errno.EIO, "Input/output error")

    reserve.set(0.5)
    monkeypatch.setattr("cortex.energy.ledger.flush_file", refuse)
    with pytest.raises(EnergyNotOnDisk, match=r"The level is 0.25 now, .*after a power cut it may be as before"):
        reserve.set(0.25)
    monkeypatch.undo()
    assert EnergyReserve(tmp_path / "state", EnergySettings()).level() == pytest.approx(0.25, abs=0.01)
