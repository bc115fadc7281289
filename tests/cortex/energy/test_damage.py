"""Files that a crash, a power cut or a hand has left in any state: the level is what can be believed, and never more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings, strategies as st

from cortex.energy import EnergyReserve, Insufficient, Reservation
from cortex.energy.ledger import LedgerFile
from cortex.settings.sections import EnergySettings
from sandbox import Tier, copy_aside as keep_damaged
from tests.conftest import without_coverage

NOW = 1_800_000_000.0
LEDGER = b"".join(
    b'{"seq":%d,"at":1800000000.0,"reason":"set","amount":0.0,"recharged":0.0,"level":%.1f,"by":"owner"}\n' % pair
    for pair in ((1, 0.7), (2, 0.6), (3, 0.7), (4, 0.6))
)
STILL = EnergySettings(recharge_per_minute=0)
GARBAGE = (
    b"not json\n",
    b"\xff\xfe\x00\n",
    b"{}\n",
    b"[]\n",
    b"null\n",
    b"[" * 100_000 + b"\n",
    b'{"seq":' + b"9" * 20_000 + b"}\n",
    b'{"seq":4,"at":1,"reason":"execution","amount":0,"level":7}\n',
    b'{"seq":4,"at":1,"reason":"execution","amount":0,"level":NaN}\n',
    b'{"seq":4,"at":Infinity,"reason":"execution","amount":0,"level":0.5}\n',
    b'{"seq":-4,"at":1,"reason":"execution","amount":0,"level":0.5}\n',
    b"\n",
)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def reserve_of(state: Path, at: EnergySettings = STILL) -> EnergyReserve:
    return EnergyReserve(state, at, now=lambda: NOW)


def spent(state: Path) -> Path:
    """A home at 0.6, with its ledger and its snapshot; the path of the ledger."""
    reserve = reserve_of(state)
    reserve.set(0.75)
    reserve.set(0.6)
    reserve.close()
    return state / "energy-ledger.jsonl"


def set_aside(state: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(state.glob("*.damaged-*"))}


def newest(state: Path) -> dict[str, object]:
    lines = (state / "energy-ledger.jsonl").read_bytes().split(b"\n")
    assert lines[-1] == b""
    return json.loads(lines[-2])


async def test_an_unfinished_entry_is_cut_off_and_reported(state, caplog):
    ledger = spent(state)
    whole = ledger.read_bytes()
    ledger.write_bytes(whole + b'{"seq":4,"at":18000000')
    reserve = reserve_of(state)
    assert reserve.level() == 0.6
    assert isinstance(await reserve.take(Tier.ISOLATED), Reservation)
    assert ledger.read_bytes().startswith(whole)
    assert [entry.seq for entry in reserve.entries()] == [1, 2, 3, 4, 5]
    recovered = reserve.entries()[-2]
    assert (recovered.reason, recovered.level) == ("recovered", 0.6)
    assert recovered.note == "22 bytes of an entry that was never finished were cut off"
    assert "22 bytes" in caplog.text
    assert set_aside(state) == {}


@pytest.mark.parametrize("hole", [b"\x00" * 70_000, b"x" * 5_000_000, b"\xff", b"{"])
def test_whatever_stands_behind_the_last_whole_entry_is_cut_off(state, hole):
    ledger = spent(state)
    whole = ledger.read_bytes()
    ledger.write_bytes(whole + hole)
    reserve_of(state).set(0.5)
    assert len(ledger.read_bytes()) < len(whole) + 1000
    assert newest(state)["level"] == 0.5
    assert [entry.reason for entry in reserve_of(state).entries()] == ["initial", "set", "set", "recovered", "set"]


def test_a_part_of_an_entry_is_not_remembered_as_the_end(state):
    """It was seen, and then a whole entry of the same length stands there: cutting that off would give it twice."""
    path = spent(state)
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    ledger = LedgerFile(path)
    path.write_bytes(whole + last[:-1] + b"x")
    assert not ledger.read().is_sound
    os.truncate(path, len(whole))
    with path.open("ab") as file:
        file.write(last.replace(b'"seq":3', b'"seq":4'))
    assert (ledger.read().is_sound, ledger.read().newest.seq) == (True, 4)


@pytest.mark.parametrize("torn", [b"", b"{", b'{"seq":1,"at":18'])
def test_a_new_home_whose_very_first_entry_was_torn_is_new(state, torn):
    state.mkdir()
    (state / "energy-ledger.jsonl").write_bytes(torn)
    assert reserve_of(state, EnergySettings(initial_level=0.4)).level() == 0.4
    assert newest(state)["reason"] == "initial"
    assert set_aside(state) == {}


@pytest.mark.parametrize("garbage", GARBAGE)
def test_damage_at_the_end_falls_back_on_the_newest_account(state, garbage, caplog):
    ledger = spent(state)
    damaged = ledger.read_bytes() + garbage
    ledger.write_bytes(damaged)
    assert reserve_of(state).level() == 0.6
    assert (newest(state)["reason"], newest(state)["seq"]) == ("recovered", 4)
    assert set_aside(state) == {"energy-ledger.jsonl.damaged-1": damaged}
    assert "the ledger was damaged; continued from" in caplog.text


def test_of_two_accounts_the_newer_one_counts(state):
    ledger = spent(state)
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(lines[0] + lines[1] + b"damaged\n")
    assert reserve_of(state).level() == 0.6
    assert newest(state)["note"] == "the ledger was damaged; continued from energy.json"
    ledger.write_bytes(lines[0] + lines[1] + lines[2] + b"damaged\n")
    (state / "energy.json").write_text('{"level": 0.9, "seq": 2}')
    assert reserve_of(state).level() == 0.6
    assert newest(state)["note"] == "the ledger was damaged; continued from its newest whole entry"


@pytest.mark.parametrize(
    ("garbage", "snapshot"),
    [
        *((garbage, None) for garbage in (*GARBAGE, b"no line at all", b"\x00" * 4096, b"x" * 20_000_000)),
        *((b"damaged\n", snapshot) for snapshot in (b"", b"{", b"{}", b'{"level": 2}', b'{"level": NaN}', b"\xff")),
    ],
)
def test_where_nothing_can_be_believed_the_level_is_0(state, garbage, snapshot, caplog):
    state.mkdir()
    (state / "energy-ledger.jsonl").write_bytes(garbage)
    expected = {"energy-ledger.jsonl.damaged-1": garbage}
    if snapshot is not None:
        (state / "energy.json").write_bytes(snapshot)
        expected["energy.json.damaged-1"] = snapshot
    assert reserve_of(state).level() == 0
    assert set_aside(state) == expected
    assert "the level is 0 until it recharges or the owner sets it" in caplog.text
    assert reserve_of(state).level() == 0
    assert reserve_of(state).set(0.5).level == 0.5


async def test_a_level_that_counts_as_0_recharges(state):
    state.mkdir()
    (state / "energy-ledger.jsonl").write_bytes(b"damaged\n")
    clock = [NOW]
    reserve = EnergyReserve(state, EnergySettings(recharge_per_minute=0.05), now=lambda: clock[0])
    assert isinstance(await reserve.take(Tier.ISOLATED), Insufficient)
    clock[0] += 180
    assert isinstance(await reserve.take(Tier.ISOLATED), Reservation)


def test_without_a_ledger_the_snapshot_counts_and_recharges_since_its_time(state):
    spent(state).unlink()
    assert EnergyReserve(
        state, EnergySettings(recharge_per_minute=0.05), now=lambda: NOW + 60
    ).level() == pytest.approx(0.65)
    assert (newest(state)["seq"], newest(state)["note"]) == (4, "the ledger was missing; continued from energy.json")


def test_a_snapshot_written_by_hand_needs_no_more_than_the_level(state):
    state.mkdir()
    (state / "energy.json").write_text('{"level": 0.25}')
    assert reserve_of(state, EnergySettings()).level() == 0.25


def test_without_a_ledger_a_damaged_snapshot_counts_as_0(state):
    spent(state).unlink()
    (state / "energy.json").write_bytes(b'{"level": 1')
    assert reserve_of(state).level() == 0
    assert set_aside(state) == {"energy.json.damaged-1": b'{"level": 1'}
    assert json.loads((state / "energy.json").read_bytes())["level"] == 0


def test_a_snapshot_is_not_looked_at_while_the_ledger_is_whole(state):
    spent(state)
    for snapshot in (b"damaged", b'{"level": 1, "seq": 1000}'):
        (state / "energy.json").write_bytes(snapshot)
        assert reserve_of(state).level() == 0.6


def test_what_is_set_aside_never_overwrites_what_was_set_aside_before(state):
    ledger = spent(state)
    for number in range(1, 4):
        ledger.write_bytes(b"damage %d\n" % number)
        reserve_of(state).level()
    assert sorted(set_aside(state).values()) == [b"damage 1\n", b"damage 2\n", b"damage 3\n"]


def test_the_same_bytes_are_set_aside_once(state):
    """Also when the file that is to take their place could not be written, and all begins anew."""
    ledger = spent(state)
    for damage in (b"damage 1\n", b"damage 1\n", b"damage 2\n", b"damage 1\n"):
        ledger.write_bytes(damage)
        for _ in range(3):
            keep_damaged(ledger)
    assert set_aside(state) == {
        "energy-ledger.jsonl.damaged-1": b"damage 1\n",
        "energy-ledger.jsonl.damaged-2": b"damage 2\n",
    }


FULL_DISK = """
import resource, sys
from pathlib import Path
from cortex.energy import EnergyError, EnergyReserve
from cortex.settings.sections import EnergySettings
reserve = EnergyReserve(Path(sys.argv[1]), EnergySettings())
resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, resource.RLIM_INFINITY))
for _ in range(5):
    try:
        print(reserve.level())
    except EnergyError as error:
        print("refused")
"""


def test_a_full_disk_keeps_no_part_of_a_copy(state):
    ledger = spent(state)
    damaged = ledger.read_bytes() + b"damaged\n" * 2_000
    ledger.write_bytes(damaged)
    before = sorted(path.name for path in state.iterdir())
    command = [sys.executable, "-c", FULL_DISK, state]
    done = subprocess.run(command, env=without_coverage(), capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("refused\n" * 5, "")
    assert sorted(path.name for path in state.iterdir()) == before
    assert ledger.read_bytes() == damaged


async def test_a_ledger_that_another_process_has_replaced_is_the_one_that_counts(state):
    ledger = spent(state)
    reserve = reserve_of(state)
    await reserve.take(Tier.ISOLATED)
    ledger.write_bytes(b"damaged\n")
    other = reserve_of(state)
    other.level()
    await reserve.take(Tier.ISOLATED)
    assert [entry.reason for entry in other.entries()] == ["recovered", "execution"]
    assert other.level() == reserve.level()


def test_a_ledger_of_the_same_size_is_not_taken_for_the_same(state):
    ledger = spent(state)
    reserve = reserve_of(state)
    assert reserve.level() == 0.6
    restored = state / "restored"
    restored.write_bytes(ledger.read_bytes().replace(b'"level":0.6', b'"level":0.5'))
    restored.replace(ledger)
    assert reserve.level() == 0.5


def test_damage_in_the_middle_does_not_change_the_level(state):
    ledger = spent(state)
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(lines[0] + b"damaged\n" + lines[2])
    reserve = reserve_of(state)
    assert reserve.level() == 0.6
    assert [entry.seq for entry in reserve.entries()] == [1, 3]
    assert set_aside(state) == {}


def test_keys_of_a_later_version_are_no_damage(state):
    ledger = spent(state)
    ledger.write_bytes(ledger.read_bytes().replace(b'"reason"', b'"mood":"good","reason"'))
    assert reserve_of(state).level() == 0.6
    assert set_aside(state) == {}


def test_a_ledger_that_points_elsewhere_is_not_written_to(state, tmp_path):
    ledger = spent(state)
    elsewhere = tmp_path / "elsewhere"
    ledger.rename(elsewhere)
    ledger.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    with pytest.raises(Exception, match="Cannot use the energy"):
        reserve_of(state).set(1)
    assert elsewhere.read_bytes() == before


@given(cut=st.integers(1, 500), junk=st.binary(max_size=200), flips=st.lists(st.integers(0, 500), max_size=3))
@settings(deadline=None)
def test_no_damage_whatever_gives_more_than_was_ever_there(tmp_path_factory, cut, junk, flips):
    """Nor does it keep anybody from going on."""
    state = tmp_path_factory.mktemp("home") / "state"
    state.mkdir()
    data = bytearray(LEDGER[:cut] + junk)
    for place in flips:
        # Digits stay what they are: a number that reads as another one is no damage that anybody could see.
        if place < len(data) and not chr(data[place]).isdigit():
            data[place] ^= 0x55
    (state / "energy-ledger.jsonl").write_bytes(data)
    settings = EnergySettings(recharge_per_minute=0, initial_level=0.75, cost_isolated=0, floor_isolated=0)
    level = reserve_of(state, settings).level()
    assert level in {0.0, 0.6, 0.7, 0.75}
    assert isinstance(anyio.run(reserve_of(state, settings).take, Tier.ISOLATED), Reservation)
    assert reserve_of(state, settings).level() == level
