"""Whatever is done to the log is found: which file, which line, and what."""

from __future__ import annotations

import json
import re

import pytest

from cortex.audit import Audit
from cortex.audit.lines import sealed
from cortex.settings.sections import AuditSettings
from sandbox import FileLock

DAYS = ("2026-11-16.jsonl", "2026-11-17.jsonl", "2026-11-18.jsonl")
MIDDLE = DAYS[1]


@pytest.fixture
def log(audit, folder, clock):
    """Three days with three records each: numbers 1 to 9."""
    for _ in DAYS:
        for _ in range(3):
            audit.record("execution", purpose="p", cost=0.05)
        clock.forward(days=1)
    audit.close()
    assert audit.verify().ok
    return folder


def lines_of(log, name=MIDDLE):
    return (log / name).read_bytes().splitlines(keepends=True)


def put(log, lines, name=MIDDLE):
    (log / name).write_bytes(b"".join(lines))


def damages(audit):
    verdict = audit.verify()
    assert verdict.ok == (not verdict.damages)
    assert verdict.damages_found == len(verdict.damages)
    return [(damage.file, damage.line, damage.flaw, damage.detail) for damage in verdict.damages]


def resealed(line: bytes, **changes: object) -> bytes:
    """As one who knows how it is done would forge it."""
    fields = {**json.loads(line), **changes}
    facts = {name: value for name, value in fields.items() if name not in {"seq", "at", "kind", "previous", "hash"}}
    text = "".join(f",{json.dumps(name)}:{json.dumps(value)}" for name, value in facts.items())
    return sealed(fields["seq"], fields["at"], fields["kind"], text, fields["previous"])[0]


def test_a_log_as_it_was_written(audit, log):
    verdict = audit.verify()
    assert (verdict.records, verdict.files, verdict.end.seq) == (9, 3, 9)
    assert verdict.end.hash == json.loads(lines_of(log, DAYS[2])[2])["hash"]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_line_that_was_changed(audit, log, number):
    lines = lines_of(log)
    lines[number - 1] = lines[number - 1].replace(b'"cost":0.05', b'"cost":0.01')
    put(log, lines)
    assert damages(audit) == [(MIDDLE, number, "changed", f"record {3 + number} is not as it was written")]


def test_a_line_that_was_changed_in_its_spacing_alone(audit, log):
    lines = lines_of(log)
    lines[1] = lines[1].replace(b'"cost":0.05', b'"cost": 0.05')
    put(log, lines)
    assert damages(audit) == [(MIDDLE, 2, "changed", "record 5 is not as it was written")]


def test_a_line_that_was_changed_with_a_new_hash(audit, log):
    lines = lines_of(log)
    lines[1] = resealed(lines[1], cost=0.01)
    put(log, lines)
    detail = "record 6 does not continue the line before it; one of the two was changed"
    assert damages(audit) == [(MIDDLE, 3, "changed", detail)]


def test_lines_that_were_taken_out(audit, log):
    lines = lines_of(log)
    put(log, lines[:1] + lines[2:])
    assert damages(audit) == [(MIDDLE, 2, "missing", "record 5 is missing before this line")]
    put(log, [])
    assert damages(audit) == [(DAYS[2], 1, "missing", "records 4 to 6 are missing before this line")]
    (log / MIDDLE).unlink()
    assert damages(audit) == [(DAYS[2], 1, "missing", "records 4 to 6 are missing before this line")]


def test_the_beginning_that_was_taken_away(audit, log):
    (log / DAYS[0]).unlink()
    assert damages(audit) == [(MIDDLE, 1, "missing", "records 1 to 3 are missing before this line")]


def test_lines_that_were_taken_out_and_the_rest_numbered_anew(audit, log):
    lines = lines_of(log)
    put(log, [lines[0], resealed(lines[2], seq=5)])
    assert damages(audit)[0][:3] == (MIDDLE, 2, "changed")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"hello\n", "it is not JSON"),
        (b"\n", "it is not JSON"),
        (b"{}\n", "it lacks a field that every record has"),
        (b"[" * 10_000 + b"\n", "it is not JSON"),
        (b"x" * 300_000 + b"\n", "it is longer than any record: more than 17408 bytes"),
    ],
    ids=["text", "empty", "object", "deep", "long"],
)
def test_a_foreign_line(audit, log, line, reason):
    lines = lines_of(log)
    put(log, [lines[0], line, *lines[1:]])
    assert damages(audit) == [(MIDDLE, 2, "foreign", f"this is not a record: {reason}")]


def test_a_record_of_this_log_a_second_time(audit, log):
    lines = lines_of(log)
    put(log, [*lines, lines[1]])
    assert damages(audit) == [(MIDDLE, 4, "foreign", "record 5 does not belong after record 6")]


def test_a_record_that_was_put_in(audit, log):
    lines = lines_of(log)
    put(log, [lines[0], resealed(lines[1], cost=0), *lines[1:]])
    assert [damage[:3] for damage in damages(audit)] == [(MIDDLE, 3, "foreign"), (MIDDLE, 4, "changed")]


def test_lines_in_another_order(audit, log):
    lines = lines_of(log)
    put(log, [lines[0], lines[2], lines[1]])
    assert [damage[:3] for damage in damages(audit)] == [(MIDDLE, 2, "missing"), (MIDDLE, 3, "foreign")]


@pytest.mark.parametrize("left", [0, 1, 2])
def test_an_end_that_was_cut_off(audit, log, left):
    put(log, lines_of(log, DAYS[2])[:left], DAYS[2])
    missing = "record 9 is missing" if left == 2 else f"records {7 + left} to 9 are missing"
    detail = f"{missing} at the end; head.json knows of record 9"
    assert damages(audit) == [(DAYS[2], left or None, "cut off", detail)]


def test_an_end_that_was_cut_off_with_its_file(audit, log):
    (log / DAYS[2]).unlink()
    detail = "records 7 to 9 are missing at the end; head.json knows of record 9"
    assert damages(audit) == [(MIDDLE, 3, "cut off", detail)]


def test_an_end_that_was_cut_off_in_the_middle_of_a_line(audit, log):
    lines = lines_of(log, DAYS[2])
    put(log, [*lines[:2], lines[2][:50]], DAYS[2])
    assert damages(audit)[0][2] == "cut off"
    assert audit.verify().unfinished_bytes == 50


def test_everything_that_was_deleted_but_the_known_end(audit, log):
    for name in DAYS:
        (log / name).unlink()
    assert damages(audit) == [
        ("head.json", None, "cut off", "records 1 to 9 are missing at the end; head.json knows of record 9")
    ]


def test_half_a_line_in_a_file_that_is_not_the_newest(audit, log):
    put(log, [*lines_of(log), b'{"seq":'])
    assert damages(audit) == [(MIDDLE, 4, "foreign", "this is not a record: it is not JSON")]


def test_a_log_that_was_written_anew_from_beginning_to_end(audit, log, clock, tmp_path):
    clock.forward(days=-3)
    forger = Audit(tmp_path / "forged", AuditSettings(), now=clock)
    for _ in DAYS:
        for _ in range(3):
            forger.record("execution", purpose="p", cost=0.01)
        clock.forward(days=1)
    forger.close()
    for name in DAYS:
        (log / name).write_bytes((tmp_path / "forged" / name).read_bytes())
    detail = "head.json knows another record 9: the log was rewritten up to here"
    assert damages(audit) == [(DAYS[2], 3, "changed", detail)]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"seq":true,"hash":"x"}', '{"seq":-1}', '{"seq":1,"hash":"00"}', "[" * 5000, "\xff"],
)
def test_a_known_end_that_says_nothing(audit, log, text):
    (log / "head.json").write_text(text, encoding="latin-1")
    detail = "without it, a cut-off end cannot be detected"
    assert damages(audit) == [("head.json", None, "missing", detail)]


def test_an_end_that_was_cut_off_with_the_known_end_stays_a_damage_when_others_write(audit, log, clock):
    put(log, lines_of(log, DAYS[2])[:1], DAYS[2])
    (log / "head.json").unlink()
    clock.forward(days=-1)
    for _ in range(2):
        writer = Audit(log, AuditSettings(), now=clock)
        writer.record("execution")
        writer.close()
    detail = "head.json was gone when this was written; records before this line may be missing"
    assert damages(audit) == [(DAYS[2], 2, "missing", detail)]


def test_a_known_end_that_lags_behind_is_what_a_kill_leaves(audit, log):
    fifth = json.loads(lines_of(log)[1])
    (log / "head.json").write_text(json.dumps({"seq": 5, "hash": fifth["hash"]}))
    assert damages(audit) == []


def test_of_many_damages_the_first_hundred_are_named_and_all_are_counted(audit, log):
    put(log, [*lines_of(log), *[b"x\n"] * 250])
    verdict = audit.verify()
    assert (len(verdict.damages), verdict.damages_found) == (100, 250)


def test_code_that_was_changed_or_put_there(audit, log):
    own_hash = audit.keep_code("return 1")
    kept = log / "code" / own_hash[:2] / f"{own_hash}.ts"
    kept.write_text("return 2")
    detail = "its content does not match the hash in its name"
    assert damages(audit) == [(f"code/{own_hash[:2]}/{own_hash}.ts", None, "changed", detail)]


def test_a_damage_in_one_sentence(audit, log):
    put(log, [b"x\n", *lines_of(log)])
    (damage,) = audit.verify().damages
    assert re.fullmatch(r"2026-11-17\.jsonl, line 1: foreign: this is not a record: it is not JSON", str(damage))


def test_verifying_needs_no_lock_and_leaves_no_trace(audit, log):
    before = {path: path.lstat().st_mtime_ns for path in (log, *log.rglob("*"))}
    with FileLock(log / ".lock").held(), FileLock(log / ".head.lock").held():
        assert Audit(log, AuditSettings()).verify().ok
    assert {path: path.lstat().st_mtime_ns for path in (log, *log.rglob("*"))} == before
