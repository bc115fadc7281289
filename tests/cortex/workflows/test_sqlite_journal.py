"""What is particular to the journal in SQLite: its files, its bounds, and what it says when a disk fails it."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from cortex.home import Home
from cortex.workflows import JournalDamaged, JournalError, NoSuchRun, Saved, SqliteJournal, TaskRow
from tests.workflow_journal_conformance import BOUND_S, LEASE_S, NOW, event, led, plan, run

ROOT = Path(__file__).parents[3]
LARGE = "x" * 2_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def filled(folder: Path) -> dict[str, bytes]:
    """A journal with a run and a large result, closed; the contents of its files."""
    journal = SqliteJournal(folder)
    claim = led(journal)
    for n in range(20):
        journal.save(claim, Saved(tasks=[TaskRow(f"t{n}", "ok", result="y" * 5_000)], events=[event()]), NOW)
    journal.save(claim, Saved(tasks=[TaskRow("large", "ok", result=LARGE)]), NOW)
    journal.close()
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_nothing_is_made_before_the_journal_is_used(folder):
    journal = SqliteJournal(folder)
    assert not folder.exists()
    assert journal.list() == []
    assert folder.exists()


def test_the_files_of_a_journal_are_for_its_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        home = Home(tmp_path / "home")
        journal = SqliteJournal(home.workflows)
        claim = led(journal)
        journal.save(claim, Saved(tasks=[TaskRow("a", "ok", result=LARGE)]), NOW)
        found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "home").rglob("*")}
    finally:
        os.umask(before)
    assert {"workflows", "results", "journal.sqlite", "journal.sqlite-wal"} <= found.keys()
    assert {found.pop("workflows"), found.pop("results")} == {0o700}
    assert set(found.values()) == {0o600}
    journal.close()
    (home.workflows / "journal.sqlite").chmod(0o644)
    SqliteJournal(home.workflows).list()
    assert stat.S_IMODE((home.workflows / "journal.sqlite").stat().st_mode) == 0o600


def test_every_step_is_flushed_to_the_disk_before_it_returns(folder):
    """WAL, and synchronous=FULL on each connection."""
    journal = SqliteJournal(folder)
    led(journal)
    with journal._file.writing() as db:
        assert db.execute("pragma synchronous").fetchone() == (2,)
        assert db.execute("pragma journal_mode").fetchone() == ("wal",)
    traced = shutil.which("strace")
    if traced is None:
        pytest.skip("there is no strace here")
    program = (
        "from tests.workflow_journal_conformance import *\nfrom cortex.workflows import *\nfrom pathlib import Path\nimport sys\n"
        "journal = SqliteJournal(Path(sys.argv[1]))\nclaim = journal.claim('r1', 'w1', LEASE_S, NOW)\n"
        "print('before', flush=True)\njournal.save(claim, Saved(tasks=[TaskRow('a', 'ok', result='x' * 2_000_000)]), NOW)\n"
        "print('after', flush=True)"
    )
    done = subprocess.run(
        [traced, "-f", "-y", "-e", "trace=fsync,fdatasync,write", sys.executable, "-c", program, folder],
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        cwd=ROOT,
    )
    if "before" not in done.stdout:
        pytest.skip("processes cannot be traced here")
    calls = done.stderr
    calls = calls[calls.index('"before') : calls.index('"after')]
    flushed = [line for line in calls.splitlines() if "sync(" in line]
    # The file of the large result, the folder with its name, and then the row.
    assert "/results/." in flushed[0]
    assert "/results>" in flushed[1]
    assert "/journal.sqlite-wal>" in flushed[2]


def test_a_large_result_lies_in_a_file_that_is_named_by_its_hash(folder):
    journal = SqliteJournal(folder)
    claim = led(journal)
    journal.save(claim, Saved(tasks=[TaskRow("a", "ok", result=LARGE), TaskRow("b", "ok", result=LARGE)]), NOW)
    journal.save(claim, Saved(tasks=[TaskRow("c", "ok", result="y" * 1_000_000)]), NOW)
    [file] = (folder / "results").iterdir()
    assert file.name == hashlib.sha256(file.read_bytes()).hexdigest()
    assert file.read_text() == f'"{LARGE}"'


@pytest.mark.parametrize("change", ["gone", "cut", "other"])
def test_a_large_result_that_was_changed_on_disk_is_not_taken_for_the_one_that_was_saved(folder, change):
    filled(folder)
    [file] = (folder / "results").iterdir()
    file.unlink() if change == "gone" else file.write_bytes(file.read_bytes()[:-1] if change == "cut" else b'"no"')
    with pytest.raises(JournalDamaged, match=r'the result of task "large".* is missing or was changed'):
        SqliteJournal(folder).load("r1")


def test_files_of_results_whose_rows_were_never_saved_are_cleared_away_and_no_others(folder):
    filled(folder)
    orphan = folder / "results" / ("0" * 64)
    orphan.write_bytes(b"x")
    journal = SqliteJournal(folder)
    claim = led(journal, "r2")
    assert orphan.exists()
    journal.save(claim, Saved(tasks=[TaskRow("a", "ok", result=LARGE + "z")]), NOW)
    assert not orphan.exists()
    assert journal.load("r1").tasks["large"].result == LARGE
    assert journal.load("r2").tasks["a"].result == LARGE + "z"


def test_a_fenced_writer_leaves_no_file(folder):
    journal = SqliteJournal(folder)
    claim = led(journal)
    journal.claim("r1", "w2", LEASE_S, NOW + LEASE_S)
    with pytest.raises(JournalError):
        journal.save(claim, Saved(tasks=[TaskRow("a", "ok", result=LARGE)]), NOW)
    assert not (folder / "results").exists()


def test_a_result_is_bounded_and_so_are_all_together(folder):
    journal = SqliteJournal(folder, max_result_bytes=3_000_000, max_total_bytes=5_000_000)
    claim = led(journal)
    with pytest.raises(JournalError, match=r"it has 3000002 bytes, and at most 3000000 are allowed"):
        journal.save(claim, Saved(tasks=[TaskRow("a", "ok", result="x" * 3_000_000)]), NOW)
    journal.save(claim, Saved(tasks=[TaskRow("a", "ok", result="x" * 2_500_000)]), NOW)
    too_much = Saved(tasks=[TaskRow("b", "ok", result="y" * 2_500_000)], events=[event()])
    with pytest.raises(
        JournalError, match=r"at most 5000000 are allowed\. Nothing of this step was saved; forget runs"
    ):
        journal.save(claim, too_much, NOW)
    kept = 0
    with suppress(JournalError):
        for _ in range(20):
            journal.save(claim, Saved(tasks=[TaskRow(f"t{kept}", "ok", result="z" * 500_000)]), NOW)
            kept += 1
    assert 2 <= kept <= 5
    with pytest.raises(JournalError, match="at most 5000000"):
        journal.begin(run("r2", plan=plan(*(f"t{n}" for n in range(200)))), [event(text="x" * 900_000)])
    # A run can be ended all the same, and what has ended can be forgotten.
    journal.save(claim, Saved(status="failed", events=[event()]), NOW)
    assert {*journal.load("r1").tasks} == {"a", *(f"t{n}" for n in range(kept))}
    journal.forget("r1")
    assert list((folder / "results").iterdir()) == []
    claim = led(journal, "r2")
    journal.save(claim, too_much, NOW)


def test_only_a_run_that_has_ended_can_be_forgotten_and_other_runs_keep_their_results(folder):
    journal = SqliteJournal(folder)
    for id_ in ("r1", "r2"):
        claim = led(journal, id_)
        journal.save(claim, Saved(tasks=[TaskRow("a", "ok", result=LARGE)], events=[event()]), NOW)
    with pytest.raises(JournalError, match='run "r1" has not ended'):
        journal.forget("r1")
    journal.stop("r1", "enough", by="owner", now=NOW)
    journal.forget("r1")
    with pytest.raises(NoSuchRun):
        journal.load("r1")
    assert journal.load("r2").tasks["a"].result == LARGE
    assert len(journal.events("r2")) == 1


# Faults


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda data: data[: len(data) // 2], "malformed"),
        (lambda data: data[:4096], "malformed"),
        (lambda data: data[:50], "not a journal"),
        (lambda data: b"", "empty"),
        (lambda data: b"This is a text, and was never a database.\n" * 500, "not a database"),
        (lambda data: data[:100] + b"\xff" * (len(data) - 100), "malformed|not a database"),
    ],
    ids=["half", "a page", "a part of the header", "nothing", "a text", "overwritten"],
)
def test_a_journal_that_was_cut_or_is_no_database_is_named_and_left_as_it_is(folder, damage, why):
    before = filled(folder)
    path = folder / "journal.sqlite"
    path.write_bytes(damage(before["journal.sqlite"]))
    damaged = contents(folder)
    for attempt in (
        lambda journal: journal.load("r1"),
        lambda journal: journal.list(),
        lambda journal: journal.begin(run("r2"), []),
    ):
        journal = SqliteJournal(folder)
        with pytest.raises(JournalDamaged, match=why) as raised:
            attempt(journal)
        assert str(folder) in str(raised.value)
        assert "Nothing was changed" in str(raised.value)
        assert "move it aside" in str(raised.value)
        journal.close()
    after = contents(folder)
    assert {name: after[name] for name in damaged} == damaged

    # When the owner asks for it, the folder makes way as a whole, and a new journal begins.
    journal = SqliteJournal(folder)
    aside = journal.set_aside()
    assert aside == folder.with_name("journal.damaged-1")
    kept = contents(aside)
    assert {name: kept[name] for name in damaged} == damaged
    assert journal.list() == []
    led(journal)
    journal.close()
    # The copy of an owner who has one is a journal as before.
    path = aside / "journal.sqlite"
    path.write_bytes(before["journal.sqlite"])
    for name in ("journal.sqlite-wal", "journal.sqlite-shm"):
        (aside / name).unlink(missing_ok=True)
    assert SqliteJournal(aside).load("r1").tasks["large"].result == LARGE


def test_a_journal_whose_main_file_is_missing_is_not_begun_anew(folder):
    journal = SqliteJournal(folder)
    led(journal)
    (folder / "journal.sqlite").unlink()
    with pytest.raises(JournalDamaged, match="its main file is missing"):
        SqliteJournal(folder).list()
    assert (folder / "journal.sqlite-wal").stat().st_size


def test_a_database_of_something_else_is_not_written_to(folder):
    folder.mkdir()
    with sqlite3.connect(folder / "journal.sqlite") as other:
        other.execute("create table bookmarks (url text)")
    other.close()
    before = contents(folder)
    with pytest.raises(JournalDamaged, match="not a journal"):
        SqliteJournal(folder).begin(run(), [])
    assert contents(folder) == before


def test_a_link_in_the_place_of_the_journal_is_not_followed(folder, tmp_path):
    filled(tmp_path / "elsewhere")
    folder.mkdir()
    (folder / "journal.sqlite").symlink_to(tmp_path / "elsewhere" / "journal.sqlite")
    with pytest.raises(JournalDamaged, match="not a file"):
        SqliteJournal(folder).list()


def test_a_journal_of_a_newer_program_is_left_to_it(folder):
    filled(folder)
    with sqlite3.connect(folder / "journal.sqlite") as db:
        db.execute("pragma user_version = 2")
    db.close()
    before = contents(folder)
    with pytest.raises(JournalError, match="has version 2, and this program reads version 1: use the newer program"):
        SqliteJournal(folder).begin(run("r2"), [])
    after = contents(folder)
    assert after["journal.sqlite"] == before["journal.sqlite"]


def test_a_full_disk_is_an_error_that_says_so_and_nothing_is_lost(tmp_path):
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no namespaces here")
    done = subprocess.run(
        [
            unshare,
            "--user",
            "--map-root-user",
            "--mount",
            sys.executable,
            "-m",
            "tests.cortex.workflows.full_disk",
            tmp_path,
        ],
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        cwd=ROOT,
    )
    if (done.returncode and "unshare" in done.stderr) or "cannot" in done.stdout:
        pytest.skip("nothing can be mounted here")
    full = f'Cannot write the journal in "{tmp_path}/journal": the disk is full. What was saved before is safe; make room, then resume the run'
    assert done.stdout.splitlines() == [full, full, "True", "True", "True"], done.stderr


READ_ONLY = """
import os, sqlite3, sys
from pathlib import Path
from cortex.workflows import *
from tests.workflow_journal_conformance import *
journal = SqliteJournal(Path(sys.argv[1]))
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
for attempt in (lambda: journal.begin(run("r2"), []), lambda: journal.load("r1")):
    try:
        attempt()
    except JournalError as error:
        print(error)
"""


@pytest.mark.parametrize("is_there", [True, False])
def test_a_home_that_cannot_be_written_is_an_error_that_says_so_and_nothing_is_lost(tmp_path, is_there):
    home = tmp_path / "home"
    home.mkdir()
    folder = home / "journal"
    before = filled(folder) if is_there else {}
    for path in (home, *home.rglob("*")):
        path.chmod(0o444 if path.is_file() else 0o555)
    for path in tmp_path.parents:
        if path.owner() == tmp_path.owner() and path.stat().st_mode & 0o1 == 0 and path.name.startswith("pytest-"):
            path.chmod(0o711)
    tmp_path.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, folder], capture_output=True, text=True, timeout=BOUND_S, cwd=ROOT
    )
    for path in (home, *home.rglob("*")):
        path.chmod(0o600 if path.is_file() else 0o700)
    assert "Traceback" not in done.stderr
    first, second = done.stdout.splitlines()
    advice = "the folder cannot be written; make it writable for this user, or choose another home"
    assert first == f'Cannot write the journal in "{folder}": {advice}'
    assert second == f'Cannot read the journal in "{folder}": {advice}'
    assert contents(folder).items() >= before.items()
    if is_there:
        assert len(SqliteJournal(folder).load("r1").tasks) == 21


def test_a_writer_that_never_ends_is_waited_for_until_the_bound_and_readers_do_not_wait(folder):
    filled(folder)
    other = sqlite3.connect(folder / "journal.sqlite", isolation_level=None)
    other.execute("begin immediate")
    journal = SqliteJournal(folder, busy_s=0.2)
    assert len(journal.load("r1").tasks) == 21
    with pytest.raises(JournalError, match=r"another process has been writing for 0.2 s; try again"):
        journal.begin(run("r2"), [])
    other.rollback()
    other.close()
    journal.begin(run("r2"), [])


def test_many_processes_that_open_a_new_journal_at_once_make_one(folder):
    program = (
        "import sys\nfrom pathlib import Path\nfrom cortex.workflows import *\nfrom tests.workflow_journal_conformance import *\n"
        "input()\nSqliteJournal(Path(sys.argv[1])).begin(run(sys.argv[2]), [])"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, folder, f"r{n}"], stdin=subprocess.PIPE, text=True, cwd=ROOT)
        for n in range(4)
    ]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.close()
    assert [process.wait(BOUND_S) for process in processes] == [0] * 4
    assert {row.id for row in SqliteJournal(folder).list()} == {f"r{n}" for n in range(4)}


def test_an_unfinished_journal_of_a_process_that_was_killed_is_made_anew(folder):
    folder.mkdir()
    (folder / "journal.sqlite.unfinished").write_bytes(b"half")
    (folder / "journal.sqlite.unfinished-journal").write_bytes(b"half")
    led(SqliteJournal(folder))
    assert not (folder / "journal.sqlite.unfinished").exists()


def test_threads_share_one_journal(folder):
    journal = SqliteJournal(folder)
    claims = [led(journal, f"r{n}") for n in range(4)]

    def work(number: int) -> None:
        for n in range(15):
            journal.save(claims[number], Saved(tasks=[TaskRow(f"t{n}", "ok")], events=[event()]), NOW)
            assert len(journal.load(f"r{number}").tasks) == n + 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)
    assert [len(journal.events(f"r{n}")) for n in range(4)] == [15] * 4


# Imports


@pytest.mark.parametrize(
    "program",
    [
        "import cortex; from cortex import MotorCortex",
        "import cortex.workflows",
        "import io; sys.stdin = io.TextIOWrapper(io.BytesIO(b'1 + 1')); from cortex.commands import run_command; run_command(['run', '-'])",
    ],
    ids=["import cortex", "import cortex.workflows", "cortex run"],
)
def test_nothing_but_a_journal_that_is_opened_imports_sqlite(program):
    look = "print(sorted(name for name in sys.modules if 'sqlite' in name or name.startswith('cortex.workflows.')))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {program}; {look}"],
        capture_output=True,
        timeout=BOUND_S,
        check=True,
        cwd=ROOT,
    )
    assert done.stdout.decode().splitlines()[-1] == "[]"


@pytest.mark.parametrize("damage", [lambda wal: os.truncate(wal, wal.stat().st_size - 5_000), Path.unlink])
def test_steps_that_are_missing_because_the_wal_was_cut_are_noticed(folder, tmp_path, damage):
    journal = SqliteJournal(folder)
    claim = led(journal)
    journal.close()  # what there is so far is in the main file
    journal = SqliteJournal(folder)
    journal.save(claim, Saved(tasks=[TaskRow("a", "ok")], events=[event()]), NOW)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)  # as the disk is after a kill
    journal.close()
    assert SqliteJournal(copy).load("r1").tasks.keys() == {"a"}
    shutil.rmtree(copy)
    journal = SqliteJournal(folder)
    journal.save(claim, Saved(tasks=[TaskRow("b", "ok")]), NOW)
    shutil.copytree(folder, copy)
    journal.close()
    damage(copy / "journal.sqlite-wal")
    with pytest.raises(JournalDamaged, match="1 steps that were saved are missing"):
        SqliteJournal(copy).load("r1")
    (copy / "journal.steps").unlink()  # as the message says
    assert SqliteJournal(copy).load("r1").tasks.keys() == {"a"}
