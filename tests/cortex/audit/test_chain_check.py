"""The chain is checked piece by piece: what was good stays so, and what is not is named."""

from __future__ import annotations

import pytest

from cortex.audit import ChainCheck

from .test_verify import put, resealed


@pytest.fixture
def log(audit, folder, clock):
    for _ in range(3):
        for _ in range(3):
            audit.record("execution", purpose="p", cost=0.05)
        clock.forward(days=1)
    audit.close()
    return folder


def lines_of(log, name="2026-11-17.jsonl"):
    return (log / name).read_bytes().splitlines(keepends=True)


def test_it_goes_on_from_the_last_good_place_in_this_and_in_the_next_process(audit, log, clock, tmp_path):
    check = ChainCheck(log, tmp_path / "cache", now=clock)
    assert check.go_on(most=4)
    assert (check.state.seq, check.state.flaw) == (4, "")
    assert not check.go_on()
    assert check.state.seq == 9
    again = ChainCheck(log, tmp_path / "cache", now=clock)
    assert (again.state.seq, again.state.at) == (9, clock())
    audit.record("execution", purpose="more")
    assert not again.go_on()
    assert (again.state.seq, again.state.flaw) == (10, "")


@pytest.mark.parametrize(
    ("changed", "flaw"),
    [
        (lambda line: line.replace(b'"cost":0.05', b'"cost":0.01'), "record 5 is not as it was written"),
        (lambda line: resealed(line, cost=0.01), "does not continue"),
        (lambda line: resealed(line, seq=9), "behind record 4 comes record 9"),
        (lambda line: b"nothing\n", "is not a record"),
        (lambda line: b"", "behind record 4 comes record 6"),
    ],
)
def test_a_record_that_was_changed_is_named_and_nothing_behind_it_is_good(log, clock, tmp_path, changed, flaw):
    lines = lines_of(log)
    put(log, [lines[0], changed(lines[1]), lines[2]], "2026-11-17.jsonl")
    check = ChainCheck(log, tmp_path / "cache", now=clock)
    assert not check.go_on()
    assert (flaw in check.state.flaw) or (check.state.seq == 5 and "does not continue" in check.state.flaw)
    assert check.state.seq in {4, 5}


def test_a_kept_place_whose_line_was_changed_is_not_believed(log, clock, tmp_path):
    check = ChainCheck(log, tmp_path / "cache", now=clock)
    check.go_on()
    path = log / "2026-11-18.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"cost":0.05', b'"cost":0.06'))
    assert ChainCheck(log, tmp_path / "cache", now=clock).state.seq == 0
    (tmp_path / "cache" / "audit-checked.json").write_text('{"format": 1, "seq": []}')
    assert ChainCheck(log, tmp_path / "cache", now=clock).state.seq == 0


def test_without_a_log_nothing_is_checked(clock, tmp_path):
    check = ChainCheck(tmp_path / "none", tmp_path / "cache", now=clock)
    assert not check.go_on()
    assert (check.state.seq, check.state.flaw) == (0, "")
