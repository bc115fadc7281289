"""Reading runs: order, pages, filters, and files that are torn, damaged or of another format."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, strategies as st

from cortex.audit import Audit
from cortex.runs import AmbiguousRun, ForgottenRun, RunFiles, RunFilter, RunReader, standing
from cortex.runs.details import MAX_LINE_BYTES, body_of, entry_of, run_id, sealed
from cortex.runs.run_files import lines_backwards
from cortex.settings.sections import AuditSettings, RunsSettings
from tests.cortex.runs.support import DAY_S, NOON, details, line_of


def files(folder, now=lambda: NOON, **settings) -> RunFiles:
    return RunFiles(folder, RunsSettings(**settings), now=now)


def written(folder, *numbers: int, **more) -> RunReader:
    kept = files(folder)
    for number in numbers:
        kept.append(line_of(details(number, **more)))
    kept.close()
    return RunReader(folder)


def test_a_line_says_again_what_was_written_and_what_its_bytes_are():
    one = details(7, purpose="“é”\u202e\n", logs=({"level": "log", "text": "a", "at_ms": 1.5},))
    line = line_of(one, 12)
    assert line.isascii()
    again = entry_of(line[:-1], "x:0")
    assert again == one.model_copy(update={"audit": 12, "hash": body_of(one)[1], "position": "x:0"})


def test_an_empty_home_has_no_runs_and_reading_creates_nothing(tmp_path):
    reader = RunReader(tmp_path / "runs")
    assert (reader.newest().runs, reader.after(), reader.find("a"), reader.at("2027-01-15:0")) == ((), [], None, None)
    assert list(tmp_path.iterdir()) == []


def test_runs_come_newest_first_in_pages_that_go_on_where_the_last_one_ended(tmp_path):
    reader = written(tmp_path, *range(1, 8))
    seen, before = [], None
    while True:
        page = reader.newest(before=before, most=3)
        seen.append([entry.call and int(entry.turn, 16) for entry in page.runs])
        before = page.before
        if before is None:
            break
    assert seen == [[7, 6, 5], [4, 3, 2], [1]]


def test_a_run_that_is_added_between_two_pages_moves_nothing(tmp_path):
    reader = written(tmp_path, 1, 2, 3)
    first = reader.newest(most=2)
    written(tmp_path, 4)
    assert [int(entry.turn, 16) for entry in reader.newest(before=first.before).runs] == [1]


def test_days_and_parts_are_read_in_their_order_in_both_directions(tmp_path):
    clock = [NOON]
    kept = files(tmp_path, lambda: clock[0], max_mb=1)
    big = "x" * 30_000
    for number in range(1, 13):
        clock[0] = NOON + DAY_S * (number // 9)
        kept.append(line_of(details(number, reply=big)))
    names = sorted(path.name for path in tmp_path.glob("*.jsonl"))
    assert len(names) == 3
    assert names[0].count(".") == 2 or names[1].count(".") == 2
    reader = RunReader(tmp_path)
    assert [int(entry.turn, 16) for entry in reader.newest().runs] == [*range(12, 0, -1)]
    assert [int(entry.turn, 16) for entry in reader.after()] == [*range(1, 13)]
    middle = reader.after(most=5)[-1].position
    assert [int(entry.turn, 16) for entry in reader.after(middle)] == [*range(6, 13)]
    assert reader.at(middle) is not None
    assert reader.at(middle.replace(":", ":1")) is None


def test_a_clock_that_was_set_back_leads_to_no_older_file(tmp_path):
    clock = [NOON]
    kept = files(tmp_path, lambda: clock[0])
    kept.append(line_of(details(1)))
    clock[0] -= 3 * DAY_S
    kept.append(line_of(details(2)))
    assert [int(entry.turn, 16) for entry in RunReader(tmp_path).newest().runs] == [2, 1]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (RunFilter(), [4, 3, 2, 1]),
        (RunFilter(text="RUN 3"), [3]),
        (RunFilter(outcome="error"), [2]),
        (RunFilter(error_type="TypeError"), [2]),
        (RunFilter(tier="network"), [3]),
        (RunFilter(tool="shop.stock"), [2]),
        (RunFilter(host="a.example"), [3]),
        (RunFilter(host="example"), []),
        (RunFilter(conversation="mine"), [4]),
        (RunFilter(origin="loop"), [4]),
        (RunFilter(turn=f"{1:016x}"), [1]),
        (RunFilter(code_hash=f"{2:064x}"), [2]),
        (RunFilter(since=NOON + 2, until=NOON + 4), [3, 2]),
        (RunFilter(tier="isolated", outcome="error", text="run"), [2]),
    ],
)
def test_a_filter_finds_what_fits_all_that_it_says(tmp_path, wanted, found):
    kept = files(tmp_path)
    call = {"name": "shop.stock", "start_ms": 1, "ms": 2, "ok": True}
    fetch = {"method": "GET", "url": "https://A.example:8443/b", "start_ms": 1, "ms": 2}
    kept.append(line_of(details(1)))
    kept.append(line_of(details(2, outcome="error", error_type="TypeError", calls=(call,))))
    kept.append(line_of(details(3, tier="network", requests=(fetch,))))
    kept.append(line_of(details(4, conversation="mine", origin="loop")))
    assert [int(entry.turn, 16) for entry in RunReader(tmp_path).newest(wanted).runs] == found


def test_a_run_is_found_by_its_id_or_by_a_beginning_that_only_it_has(tmp_path):
    reader = written(tmp_path, 0x1A, 0x1B, 0x2A)
    assert reader.find(f"{0x1A:016x}-1").purpose == "run 26"
    assert reader.find(f"{0x2:015x}").purpose == "run 42"
    with pytest.raises(AmbiguousRun):
        reader.find(f"{0x1:015x}")
    assert (reader.find("f"), reader.find("")) == (None, None)


def test_the_name_of_a_run_fits_an_address_and_a_file():
    assert run_id("9f608c2d7a02eb47", 2) == "9f608c2d7a02eb47-2"
    assert run_id("run-1/a b/2\n", 1) == "run-1.a.b.2.-1"
    assert len(run_id("x" * 1_000, 1)) == 122


DAMAGE = [
    b"{}",
    b"null",
    b"\xff\xfe",
    b'{"format":2,"id":"a"}',
    b"[" * 10_000,
    b'{"format":1,"forgotten":true}',
    b"a" * 200,
]


@pytest.mark.parametrize("damage", DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_line_costs_no_other(tmp_path, damage):
    written(tmp_path, 1)
    [path] = tmp_path.glob("*.jsonl")
    with path.open("ab") as file:
        file.write(damage + b"\n")
    reader = written(tmp_path, 2)
    page = reader.newest()
    assert ([int(entry.turn, 16) for entry in page.runs], page.damaged) == ([2, 1], 1)
    assert len(reader.after()) == 2


def test_a_torn_end_is_left_out_and_the_next_line_stands_for_itself(tmp_path):
    written(tmp_path, 1)
    [path] = tmp_path.glob("*.jsonl")
    whole = line_of(details(2))
    for length in range(0, len(whole), 37):
        path.write_bytes(line_of(details(1)) + whole[:length])
        page = RunReader(tmp_path).newest()
        assert ([int(entry.turn, 16) for entry in page.runs], page.damaged) == ([1], 0)
        reader = written(tmp_path, 3)
        assert [int(entry.turn, 16) for entry in reader.newest().runs] == [3, 1]


def test_a_line_without_an_end_of_any_length_is_skipped(tmp_path):
    written(tmp_path, 1)
    [path] = tmp_path.glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b"x" * (MAX_LINE_BYTES + 70_000) + b"\n")
    written(tmp_path, 2)
    with path.open("ab") as file:
        file.write(b"y" * (2 * MAX_LINE_BYTES))
    page = RunReader(tmp_path).newest()
    assert [int(entry.turn, 16) for entry in page.runs] == [2, 1]


@given(st.lists(st.binary(max_size=80_000).map(lambda data: data.replace(b"\n", b" ")), max_size=6), st.booleans())
def test_lines_read_backwards_are_the_lines(tmp_path_factory, pieces, is_torn):
    path = tmp_path_factory.mktemp("lines") / "file"
    data = b"".join(piece + b"\n" for piece in pieces) + (b"torn" if is_torn else b"")
    path.write_bytes(data)
    handle = os.open(path, os.O_RDONLY)
    try:
        found = [(at, line) for at, line in lines_backwards(handle, len(data))]
    finally:
        os.close(handle)
    assert [line for _, line in found] == [piece for piece in reversed(pieces) if piece.strip()]
    assert all(data[at : at + len(line)] == line for at, line in found)


@pytest.mark.parametrize("cursor", ["", "x", "2027-01-15", "2027-01-15:", "2027-01-15:-1", "../../x:0", "2027-01-15:²"])
def test_what_is_no_cursor_is_refused(tmp_path, cursor):
    with pytest.raises(ValueError, match="expected"):
        RunReader(tmp_path).newest(before=cursor)


def test_a_changed_run_does_not_match_the_audit_and_neither_does_a_forged_one(tmp_path):
    audit = Audit(tmp_path / "audit", AuditSettings())
    one = details(1)
    body, digest = body_of(one)
    number = audit.record("details", run=one.id, turn=one.turn, call=1, details_hash=digest).seq
    files(tmp_path / "runs").append(sealed(body, digest, number))
    reader = RunReader(tmp_path / "runs")
    assert standing(reader.find(one.id), audit) == "matches"
    [path] = (tmp_path / "runs").glob("*.jsonl")
    honest = path.read_bytes()
    path.write_bytes(honest.replace(b"reply 1", b"reply 2"))
    assert standing(reader.find(one.id), audit) == "differs"
    forged, forged_digest = body_of(one.model_copy(update={"reply": "forged"}))
    path.write_bytes(sealed(forged, forged_digest, number))
    assert standing(reader.find(one.id), audit) == "differs"
    for other in (None, number + 1, number + 5):
        path.write_bytes(sealed(body, digest, other))
        assert standing(reader.find(one.id), audit) == "unknown"
    path.write_bytes(sealed(*body_of(details(2)), number))
    assert standing(reader.find(details(2).id), audit) == "unknown"
    audit.close()


def test_a_forgotten_run_leaves_a_tombstone_and_nothing_else_moves(tmp_path):
    reader = written(tmp_path, 1, 2, 3, reply="the secret of this run")
    before = {entry.id: entry.position for entry in reader.newest().runs}
    kept = files(tmp_path)
    assert kept.forget(lambda entry: entry.id == details(2).id) == [details(2).id]
    data = b"".join(path.read_bytes() for path in tmp_path.glob("*.jsonl"))
    assert data.count(b"the secret of this run") == 2
    page = reader.newest()
    assert page.damaged == 0
    assert {entry.id: entry.position for entry in page.runs} == before
    [_, gone, _] = page.runs
    assert isinstance(gone, ForgottenRun)
    assert (gone.id, gone.by, gone.forgotten_at) == (details(2).id, "owner", NOON)
    assert isinstance(reader.find(details(2).id), ForgottenRun)
    assert [entry.id for entry in reader.newest(RunFilter(text="run")).runs] == [details(3).id, details(1).id]


def test_forgetting_the_past_takes_what_cannot_be_read_of_it_too(tmp_path):
    written(tmp_path, 1)
    [path] = tmp_path.glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"reply":"half a secr\n')
    kept = files(tmp_path, lambda: NOON + 5 * DAY_S)
    kept.append(line_of(details(2, at=NOON + 5 * DAY_S)))
    assert kept.forget(lambda entry: entry.at < NOON + DAY_S, before=NOON + DAY_S) == [details(1).id]
    assert b"secr" not in path.read_bytes()
    assert RunReader(tmp_path).newest().damaged == 0


def test_runs_are_kept_for_the_days_of_the_setting(tmp_path):
    written(tmp_path, 1)
    kept = files(tmp_path, lambda: NOON + 2 * DAY_S, days=3)
    kept.append(line_of(details(2)))
    kept.keep_recording("0" * 24, b"{}")
    for path in tmp_path.rglob("*"):
        is_old = path.name.startswith("2027-01-15") or path.suffix == ".json"
        os.utime(path, (NOON, NOON) if is_old else (NOON + 2 * DAY_S,) * 2)
    kept.trim()
    assert len(RunReader(tmp_path).newest().runs) == 2
    files(tmp_path, lambda: NOON + 3.5 * DAY_S, days=3).trim()
    assert [int(entry.turn, 16) for entry in RunReader(tmp_path).newest().runs] == [2]
    assert list((tmp_path / "recordings").iterdir()) == []


def test_the_oldest_runs_make_way_when_there_is_too_much(tmp_path):
    clock = [NOON]
    kept = files(tmp_path, lambda: clock[0], max_mb=1)
    for number in range(1, 80):
        clock[0] += 1
        kept.append(line_of(details(number, reply="x" * 30_000)))
        for path in tmp_path.glob("*.jsonl"):
            os.utime(path, (NOON + int(path.stem.partition(".")[2] or 1),) * 2)
    kept.trim()
    assert sum(path.stat().st_size for path in tmp_path.glob("*.jsonl")) <= 1_048_576
    left = [int(entry.turn, 16) for entry in RunReader(tmp_path).newest().runs]
    assert left == [*range(79, 79 - len(left), -1)]
    assert len(left) > 20


@given(
    st.builds(
        RunFilter,
        text=st.sampled_from(["", "RUN", "k", "ſ", "ss", '"', "\\", "ada ", "1-1", "timeout_ms"]),
        outcome=st.sampled_from([None, "ok", "error"]),
        tool=st.sampled_from([None, "a", 'b"', "ü"]),
        host=st.sampled_from([None, "a.example", "ü.example"]),
        turn=st.sampled_from([None, f"{1:016x}"]),
        conversation=st.sampled_from([None, 'of "ada"', "\u202e"]),
    ),
    st.sampled_from(["run K", "ſtraße", 'ada "x" \\ \u212a', ',"timeout_ms":1 run', "\u202e"]),
    st.sampled_from(["a", 'b"', "ü"]),
    st.sampled_from(["https://A.example/", "https://ü.example/x", "nonsense"]),
    st.sampled_from([None, 'of "ada"', "\u202e"]),
)
def test_the_check_before_a_line_is_read_leaves_out_nothing_that_fits(wanted, purpose, tool, url, conversation):
    call = {"name": tool, "start_ms": 1, "ms": 2, "ok": True}
    fetch = {"method": "GET", "url": url, "start_ms": 1, "ms": 2}
    one = details(1, purpose=purpose, calls=(call,), requests=(fetch,), conversation=conversation)
    line = line_of(one)[:-1]
    if wanted.fits(entry_of(line)):
        assert wanted.sieve()(line)


def test_lines_that_cannot_fit_are_not_parsed(tmp_path, monkeypatch):
    reader = written(tmp_path, *range(1, 50))
    parsed = []
    monkeypatch.setattr("cortex.runs.reader.entry_of", lambda line, at: parsed.append(line) or entry_of(line, at))
    for wanted in (RunFilter(text="run 7"), RunFilter(tool="nothing"), RunFilter(turn=f"{7:016x}")):
        reader.newest(wanted)
    assert len(parsed) == 2
