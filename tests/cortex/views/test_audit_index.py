"""The index for searching in the audit: it finds what reading finds, catches up, and is made anew when it is wrong."""

from __future__ import annotations

import random
import stat

import pytest

from cortex.audit import Audit
from cortex.settings.sections import AuditSettings
from cortex.views import AuditIndex, searched_text
from cortex.views.audit_index import FILE, pieces_of

WORDS = (
    "Pears",
    "plums",
    "straße",
    "日本語です",
    "e\u0301clair",
    'quo"te',
    "a-b",
    "percent%",
    "under_score",
    "0abc" * 5,
)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def audit_of(home) -> Audit:
    return Audit(home / "audit", AuditSettings())


def written(home, count: int, seed: int = 1) -> None:
    chance = random.Random(seed)
    audit = audit_of(home)
    for _ in range(count):
        facts = {"purpose": " ".join(chance.choices(WORDS, k=2)), "code_hash": f"{chance.getrandbits(256):064x}"}
        audit.record(chance.choice(("execution", "refusal")), **facts, many=[1, {"x": "inner"}])
    audit.close()


@pytest.fixture
def index(home):
    found = AuditIndex(home / "cache", lambda: audit_of(home))
    yield found
    found.close()


def found_by(index: AuditIndex, home, wanted: str) -> list[int]:
    audit = audit_of(home)
    numbers = index.numbers(wanted, None, 10_000)
    assert numbers is not None
    records = [audit.find(seq) for seq in numbers]
    audit.close()
    return [one.seq for one in records if one is not None and wanted.casefold() in searched_text(one)]


def test_it_finds_what_reading_finds(home, index):
    written(home, 120)
    assert index.catch_up()
    audit = audit_of(home)
    records = list(audit.records())
    audit.close()
    some = records[40]
    hashes = (some.hash, some.hash[:20], some.hash[:9], str(some.facts["code_hash"])[:30])
    for wanted in (*WORDS, "PEARS", "lums", "pears plums", "strasse", "inner", "refusal", "nothing at all", *hashes):
        read = [one.seq for one in reversed(records) if wanted.casefold() in searched_text(one)]
        assert found_by(index, home, wanted) == read, wanted
    assert found_by(index, home, some.hash) == [some.seq]
    assert index.numbers("ears", some.seq, 10_000) == [
        one.seq for one in reversed(records) if one.seq < some.seq and "ears" in searched_text(one)
    ]


def test_a_text_without_a_piece_to_look_for_is_not_searched(index, home):
    written(home, 1)
    index.catch_up()
    assert [index.numbers(wanted, None, 10) for wanted in ("", "ab", "a b c", "\0\0\0")] == [None] * 4
    assert len(pieces_of("x".join(map(str, range(900))))) <= 24


def test_it_goes_on_with_what_is_new(home, index):
    written(home, 3)
    assert index.catch_up()
    audit = audit_of(home)
    audit.record("refusal", reason="something new")
    audit.close()
    assert found_by(index, home, "something new") == []
    assert index.catch_up()
    assert found_by(index, home, "something new") == [4]
    again = AuditIndex(home / "cache", lambda: audit_of(home))
    assert found_by(again, home, "something new") == [4]
    again.close()


def test_a_bounded_look_ends_and_the_next_one_goes_on(home):
    written(home, 1_200)
    ticks = iter(range(1_000_000))
    index = AuditIndex(home / "cache", lambda: audit_of(home), now=lambda: float(next(ticks)))
    rounds = 1
    while not index.catch_up(0.5):
        rounds += 1
    assert rounds == 4
    index.close()
    with pytest.raises(OSError, match="closed"):
        index.catch_up()


def test_an_index_of_another_audit_or_a_damaged_one_is_made_anew(home, index):
    written(home, 5)
    index.catch_up()
    index.close()
    for path in (home / "audit").rglob("*"):
        if path.is_file() or path.is_symlink():
            path.unlink()
    written(home, 5, seed=2)
    other = AuditIndex(home / "cache", lambda: audit_of(home))
    other.catch_up()
    assert len(found_by(other, home, "inner")) == 5
    other.close()
    (home / "cache" / FILE).write_bytes(b"rubbish" * 1_000)
    third = AuditIndex(home / "cache", lambda: audit_of(home))
    third.catch_up()
    assert len(found_by(third, home, "inner")) == 5
    third.close()


def test_an_index_that_breaks_while_it_is_used_is_told_and_made_anew(home, index):
    written(home, 5)
    index.catch_up()
    index._db.execute("drop table texts")
    with pytest.raises(OSError, match="made anew"):
        index.numbers("inner", None, 10)
    index.catch_up()
    assert len(found_by(index, home, "inner")) == 5


def test_it_is_private_and_lies_where_it_may_be_deleted(home, index):
    written(home, 1)
    index.catch_up()
    path = home / "cache" / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
