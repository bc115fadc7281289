"""What is written down: one chain, whoever writes, and whatever became of the files meanwhile."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import threading

import anyio
import anyio.to_thread
import pytest

from cortex.audit import Audit, AuditError, FactRefused
from cortex.audit.lines import GENESIS
from cortex.settings.sections import AuditSettings
from sandbox import FileLock, Flusher

TODAY = "2026-11-16.jsonl"


def on_disk(folder, name=TODAY):
    return [json.loads(line) for line in (folder / name).read_bytes().splitlines()]


def another(folder, clock):
    return Audit(folder, AuditSettings(), now=clock)


def test_a_record_is_a_line_with_its_facts_and_two_hashes(audit, folder):
    record = audit.record("execution", turn="t1", ok=True, cost=0.05)
    first, second = audit.record("tool_call", tool="shop.stock"), audit.record("odd_kind")
    assert on_disk(folder)[0] == {
        "seq": 1,
        "at": "2026-11-16T11:30:00.000000+00:00",
        "kind": "execution",
        "turn": "t1",
        "ok": True,
        "cost": 0.05,
        "previous": GENESIS,
        "hash": record.hash,
    }
    assert (first.seq, first.previous, second.previous) == (2, record.hash, first.hash)
    assert [found.as_json() for found in audit.records()] == on_disk(folder)
    assert list(audit.records(last=2)) == [first, second]
    assert (audit.find(2), audit.find(9)) == (first, None)


def test_a_log_that_nobody_has_any_more_has_no_file_open(folder, clock, nothing_left):
    log = another(folder, clock)
    log.record("k")
    del log
    gc.collect()  # what it wants to be flushed has it, too


def test_a_log_of_nothing_is_nothing_on_disk(audit, folder):
    assert list(audit.records(last=5)) == []
    assert audit.find(1) is None
    assert audit.verify().ok
    audit.close()
    assert not folder.parent.exists()


def test_everything_is_for_the_owner_alone(audit, folder):
    audit.keep_code("return 1")
    audit.record("k")
    audit.close()
    found = {
        path: stat.S_IMODE(path.lstat().st_mode)
        for path in (folder.parent, *folder.parent.rglob("*"))
        if not path.is_symlink()
    }
    assert {path.name for path, mode in found.items() if mode != (0o700 if path.is_dir() else 0o600)} == set()
    assert len(found) >= 8


def test_another_object_and_this_one_write_one_chain(audit, folder, clock):
    other = another(folder, clock)
    for _ in range(3):
        audit.record("a")
        other.record("b")
        other.record("b")
    assert [line["seq"] for line in on_disk(folder)] == list(range(1, 10))
    assert audit.verify().ok
    other.close()


def test_threads_write_one_chain(audit, folder, clock):
    other = another(folder, clock)
    threads = [threading.Thread(target=lambda a=a: [a.record("k") for _ in range(100)]) for a in (audit, audit, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert audit.verify().records == 300
    assert audit.verify().ok
    other.close()


def test_a_new_day_is_a_new_file_and_the_same_chain(audit, folder, clock):
    before = audit.record("k")
    other = another(folder, clock)
    clock.forward(hours=13)
    first = other.record("k")
    assert (first.seq, first.previous) == (2, before.hash)
    assert sorted(path.name for path in folder.glob("*.jsonl")) == [TODAY, "2026-11-17.jsonl"]
    assert audit.record("k").previous == first.hash
    assert os.readlink(folder / "latest") == "2026-11-17.jsonl"
    assert [record.seq for record in audit.records(last=2)] == [2, 3]
    verdict = audit.verify()
    assert (verdict.ok, verdict.records, verdict.files) == (True, 3, 2)
    other.close()


def test_a_clock_that_is_set_back_does_not_lead_back_to_an_older_file(audit, folder, clock):
    other = another(folder, clock)
    audit.record("k")
    other.record("k")
    clock.forward(days=1)
    audit.record("k")
    clock.forward(days=-1)
    # The other one's file is as it left it, and by the clock the right one.
    other.record("k")
    third = another(folder, clock)
    third.record("k")
    assert [len(on_disk(folder, name)) for name in (TODAY, "2026-11-17.jsonl")] == [2, 3]
    assert audit.verify().ok
    other.close()
    third.close()


def test_a_writer_killed_between_the_link_and_the_first_line_of_a_day_harms_nothing(audit, folder, clock):
    audit.record("k")
    (folder / "latest").unlink()
    (folder / "latest").symlink_to("2026-11-17.jsonl")
    audit.record("k")
    assert os.readlink(folder / "latest") == TODAY
    clock.forward(days=1)
    (folder / "latest").unlink()
    (folder / "latest").symlink_to("2026-11-17.jsonl")
    audit.record("k")
    assert [record.kind for record in audit.records()] == ["k", "k", "k"]
    assert audit.verify().ok


@pytest.mark.parametrize("is_same", [True, False], ids=["the same writer", "another"])
@pytest.mark.parametrize(
    "torn", [b'{"seq":3,"at":"2026', b"\0" * 70_000, b"{"], ids=["half a line", "zeros", "one sign"]
)
def test_a_torn_line_is_cut_off_and_the_log_says_how_much_it_was(audit, folder, clock, torn, is_same):
    audit.record("k")
    audit.record("k")
    with (folder / TODAY).open("ab") as file:
        file.write(torn)
    assert audit.verify().unfinished_bytes == len(torn)
    assert audit.verify().ok
    writer = audit if is_same else another(folder, clock)
    assert writer.record("k").seq == 4
    assert [(line["kind"], line.get("torn_bytes")) for line in on_disk(folder)[2:]] == [
        ("recovered", len(torn)),
        ("k", None),
    ]
    verdict = audit.verify()
    assert (verdict.ok, verdict.records, verdict.recoveries, verdict.unfinished_bytes) == (True, 4, 1, 0)
    writer.close()


def test_a_torn_line_at_the_end_of_yesterday_is_cut_off_there(audit, folder, clock):
    audit.record("k")
    with (folder / TODAY).open("ab") as file:
        file.write(b'{"seq":')
    clock.forward(days=1)
    audit.record("k")
    assert [line["kind"] for line in on_disk(folder)] == ["k"]
    assert [line["kind"] for line in on_disk(folder, "2026-11-17.jsonl")] == ["recovered", "k"]
    assert audit.verify().ok


def damages(audit):
    return [(damage.file, damage.line, damage.flaw) for damage in audit.verify().damages]


@pytest.mark.parametrize("is_same", [True, False], ids=["the same writer", "another"])
def test_lines_that_were_cut_off_stay_missing_whoever_writes_on(audit, folder, clock, is_same):
    for _ in range(5):
        audit.record("k")
    audit.close()
    lines = (folder / TODAY).read_bytes().splitlines(keepends=True)
    (folder / TODAY).write_bytes(b"".join(lines[:3]))
    assert damages(audit) == [(TODAY, 3, "cut off")]
    writer = audit if is_same else another(folder, clock)
    assert writer.record("k").seq == 7
    writer.close()
    assert (on_disk(folder)[3]["kind"], on_disk(folder)[3]["missing_records"]) == ("recovered", 2)
    assert damages(audit) == [(TODAY, 4, "missing")]


def test_a_last_line_that_was_forged_stays_damage_whoever_writes_on(audit, folder, clock, tmp_path):
    audit.record("k", amount=1)
    audit.record("k", amount=2)
    audit.close()
    forger = Audit(tmp_path / "forged", AuditSettings(), now=clock)
    forger.record("k", amount=1)
    forger.record("k", amount=3)
    (folder / TODAY).write_bytes((tmp_path / "forged" / TODAY).read_bytes())
    assert damages(audit) == [(TODAY, 2, "changed")]
    writer = another(folder, clock)
    writer.record("k")
    writer.close()
    assert on_disk(folder)[2]["changed_end"] is True
    assert damages(audit) == [(TODAY, 3, "changed")]
    forger.close()


def test_writing_goes_on_behind_damaged_lines_which_stay_damaged(audit, folder, clock):
    audit.record("k")
    audit.record("k", amount=1)
    audit.close()
    text = (folder / TODAY).read_text()
    (folder / TODAY).write_text(text.replace('"amount":1', '"amount":2') + "foreign\n")
    writer = another(folder, clock)
    writer.record("k")
    writer.close()
    assert on_disk_tail(folder)[-2]["damaged_lines"] == 2
    assert [flaw for _, _, flaw in damages(audit)][:2] == ["changed", "foreign"]


def on_disk_tail(folder):
    return [json.loads(line) for line in (folder / TODAY).read_bytes().splitlines()[-2:]]


def test_a_folder_that_was_deleted_is_made_again_and_the_gap_is_told(audit, folder):
    audit.record("k")
    audit.record("k")
    shutil.rmtree(folder)
    assert audit.record("k").seq == 4
    assert on_disk(folder)[0]["missing_records"] == 2
    assert damages(audit)[0] == (TODAY, 1, "missing")


def test_a_file_that_was_deleted_is_a_gap(audit, folder):
    audit.record("k")
    (folder / TODAY).unlink()
    assert audit.record("k").seq == 3
    assert damages(audit) == [(TODAY, 1, "missing")]


def test_the_loss_of_the_known_end_is_told(audit, folder, clock):
    audit.record("k")
    audit.close()
    (folder / "head.json").write_text("{}")
    assert damages(audit) == [("head.json", None, "missing")]
    writer = another(folder, clock)
    writer.record("k")
    writer.close()
    assert on_disk(folder)[1]["head_missing"] is True
    assert damages(audit) == [(TODAY, 2, "missing")], "whoever writes next does not cover it up"


def test_a_file_that_was_put_back_from_a_copy_is_read_again(audit, folder):
    audit.record("k")
    data = (folder / TODAY).read_bytes()
    (folder / TODAY).unlink()
    (folder / TODAY).write_bytes(data)
    assert audit.record("k").seq == 2
    assert len(on_disk(folder)) == 2


def test_the_known_end_is_written_by_the_flusher_and_never_goes_back(audit, folder, clock):
    other = another(folder, clock)
    other.record("k")
    assert json.loads((folder / "head.json").read_text())["seq"] == 0
    for _ in range(3):
        last = audit.record("k")
    audit.close()
    assert json.loads((folder / "head.json").read_text()) == {"format": 1, "seq": 4, "hash": last.hash}
    other.close()
    assert json.loads((folder / "head.json").read_text())["seq"] == 4


async def test_a_running_flusher_writes_the_known_end_by_itself(folder):
    flusher = Flusher(5)
    audit = Audit(folder, AuditSettings(), flusher=flusher)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(flusher.run)
        await anyio.to_thread.run_sync(audit.record, "k")
        with anyio.fail_after(30):
            while json.loads((folder / "head.json").read_text())["seq"] != 1:
                await anyio.sleep(0.001)
        tasks.cancel_scope.cancel()
    audit.close()


def test_code_is_kept_once_under_its_hash(audit, folder):
    own_hash = audit.keep_code("return 1 // ü")
    path = folder / "code" / own_hash[:2] / f"{own_hash}.ts"
    assert path.read_text() == "return 1 // ü"
    inode = path.stat().st_ino
    assert audit.keep_code("return 1 // ü") == own_hash
    assert path.stat().st_ino == inode
    assert audit.code(own_hash) == "return 1 // ü"
    assert len(list((folder / "code").rglob("*.ts"))) == 1


def test_half_of_a_code_is_replaced(audit, folder):
    own_hash = audit.keep_code("return 1")
    (path,) = (folder / "code").rglob("*.ts")
    path.write_text("ret")
    assert damages(audit) == [(f"code/{own_hash[:2]}/{own_hash}.ts", None, "changed")]
    # By the next program: this one remembers what it has kept.
    Audit(folder, AuditSettings()).keep_code("return 1")
    assert audit.code(own_hash) == "return 1"
    assert audit.verify().ok


def test_code_is_not_kept_if_the_owner_does_not_want_it(folder):
    audit = Audit(folder, AuditSettings(keep_code=False))
    own_hash = audit.keep_code("return 1")
    assert own_hash == hashlib.sha256(b"return 1").hexdigest()
    assert audit.code(own_hash) is None
    assert not folder.exists()


def test_code_that_nothing_would_run_has_a_hash_too(audit, folder):
    assert audit.code(audit.keep_code("\ud800")) == "\ud800"
    assert audit.code(audit.keep_code("x" * 2_000_000)) is None


@pytest.mark.parametrize("name", ["../secret", "a" * 63, "", None, 5, "A" * 64])
def test_only_a_hash_leads_to_a_file(audit, folder, name):
    audit.keep_code("return 1")
    (folder.parent / "secret.ts").write_text("out of the folder")
    for odd in ("a" * 63, "", "A" * 64):
        (folder / "code" / odd[:2]).mkdir(exist_ok=True)
        (folder / "code" / odd[:2] / f"{odd}.ts").write_text("no hash")
    assert audit.code(name) is None


@pytest.mark.parametrize("kind", ["", "Execution", "two words", "a\n", "k" * 41, None, 5])
def test_a_kind_is_a_plain_name(audit, kind):
    with pytest.raises(FactRefused):
        audit.record(kind)


def test_what_is_refused_leaves_no_line(audit, folder):
    audit.record("k")
    with pytest.raises(FactRefused):
        audit.record("k", fact=object())
    assert len(on_disk(folder)) == 1


def test_where_a_file_stands_the_message_says_what_to_do(folder):
    folder.parent.parent.joinpath("home").write_text("")
    audit = Audit(folder, AuditSettings())
    for act in (lambda: audit.record("k"), lambda: audit.keep_code("return 1")):
        with pytest.raises(AuditError, match=r"Cannot .* in .*: Not a directory; choose another home"):
            act()


def test_a_lock_that_a_stopped_process_holds_is_an_error_that_says_so(audit, folder, clock):
    audit.record("k")
    lock = FileLock(folder / ".lock")
    with (
        lock.held(),
        pytest.raises(AuditError, match=r"another process has held .* for 2 s; if it is stopped, continue or end it"),
    ):
        audit.record("k")
    assert audit.record("k").seq == 2
    lock.close()


FULL = """
import json, resource, sys
from pathlib import Path
from cortex.audit import Audit, AuditError
from cortex.settings.sections import AuditSettings
audit = Audit(Path(sys.argv[1]), AuditSettings())
audit.record("k")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
written = 1
try:
    while True:
        audit.record("k", text="x" * 100)
        written += 1
except AuditError as error:
    message = str(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
audit.record("k")
print(json.dumps([written, message]))
audit.close()
"""


def test_a_disk_that_takes_only_a_part_of_a_line_keeps_none_of_it(audit, folder):
    done = subprocess.run([sys.executable, "-c", FULL, folder], capture_output=True, text=True, timeout=120)
    written, message = json.loads(done.stdout)
    assert message == f'Cannot write to the audit in "{folder}": File too large; raise the limit on the size of files'
    verdict = audit.verify()
    assert (verdict.ok, verdict.records, verdict.recoveries) == (True, written + 1, 0)


FORBIDDEN = """
import os, sys
from pathlib import Path
from cortex.audit import Audit, AuditError
from cortex.settings.sections import AuditSettings
audit = Audit(Path(sys.argv[1]), AuditSettings())
if os.geteuid() == 0:
    os.seteuid(65534)
try:
    audit.record("k")
except AuditError as error:
    print(error)
"""


def test_a_folder_that_is_not_ours_to_write_is_an_error_that_says_so(tmp_path):
    tmp_path.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", FORBIDDEN, tmp_path / "audit"], capture_output=True, text=True, timeout=120
    )
    tmp_path.chmod(0o755)
    assert done.stdout.strip().endswith(
        "Permission denied; make the folder writable for this user, or choose another home"
    )


def test_following_shows_the_last_ones_and_then_each_that_comes(audit, folder, clock):
    other = another(folder, clock)
    for _ in range(3):
        other.record("k")
    waits = []

    def wait(interval_s):
        waits.append(interval_s)
        clock.forward(hours=10)
        other.record("k")

    following = audit.follow(last=2, interval_s=0.5, wait=wait)
    assert [next(following).seq for _ in range(6)] == [2, 3, 4, 5, 6, 7]
    assert waits == [0.5] * 4
    assert len(list(folder.glob("*.jsonl"))) > 1
    other.close()
