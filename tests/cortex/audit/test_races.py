"""Many processes on one log, some of which are killed: the chain holds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from cortex.audit import Audit
from cortex.settings.sections import AuditSettings

WRITE = """
import sys
from pathlib import Path
from cortex.audit import Audit
from cortex.settings.sections import AuditSettings
folder, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
# Two in one process, as two cortices would have.
audits = [Audit(folder, AuditSettings()), Audit(folder, AuditSettings())]
print("ready", flush=True)
sys.stdin.readline()
number = 0
while number < count or not count:
    # Longer than a page: a kill can tear such a line.
    audits[number % 2].record("execution", writer=name, number=number, purpose="x" * (number * 37 % 1900), more="y" * 1900)
    number += 1
    if not count and number == 20:
        print("going", flush=True)
for audit in audits:
    audit.close()
"""


def writer(folder, name, count):
    return subprocess.Popen(
        [sys.executable, "-c", WRITE, folder, name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def start(processes):
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()


def end(process):
    process.stdin.close()
    process.stdout.close()
    return process.wait(60)


def numbers_by_writer(audit):
    found: dict[str, list[int]] = {}
    for record in audit.records():
        if record.kind == "execution":
            found.setdefault(record.facts["writer"], []).append(record.facts["number"])
    return found


def test_processes_that_write_at_once_make_one_chain_and_lose_nothing(folder):
    processes = [writer(folder, f"w{n}", 150) for n in range(4)]
    start(processes)
    assert [end(process) for process in processes] == [0, 0, 0, 0]
    audit = Audit(folder, AuditSettings())
    verdict = audit.verify()
    assert (verdict.damages, verdict.records, verdict.recoveries) == ((), 600, 0)
    assert numbers_by_writer(audit) == {f"w{n}": list(range(150)) for n in range(4)}


def test_processes_that_are_killed_in_the_middle_leave_a_chain(folder):
    steady = writer(folder, "steady", 0)
    start([steady])
    for attempt in range(8):
        process = writer(folder, f"killed{attempt}", 0)
        start([process])
        assert process.stdout.readline() == "going\n"
        os.kill(process.pid, signal.SIGKILL)
        assert end(process) == -signal.SIGKILL
    steady.kill()
    end(steady)
    audit = Audit(folder, AuditSettings())
    audit.record("after")
    verdict = audit.verify()
    assert verdict.damages == ()
    assert verdict.unfinished_bytes == 0
    found = numbers_by_writer(audit)
    assert len(found) == 9
    # What a writer had been told is written is there: no number is missing before its last.
    assert all(numbers == list(range(len(numbers))) and len(numbers) >= 20 for numbers in found.values())
    audit.close()


FORK = """
import os, sys
from pathlib import Path
from cortex.audit import Audit
from cortex.settings.sections import AuditSettings
audit = Audit(Path(sys.argv[1]), AuditSettings())
audit.record("before")
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        for _ in range(100):
            audit.record("child")
        os._exit(0)
    children.append(child)
for _ in range(100):
    audit.record("parent")
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
audit.close()
"""


def test_forks_of_a_writer_write_one_chain_too(folder):
    subprocess.run([sys.executable, "-c", FORK, folder], timeout=60, check=True)
    verdict = Audit(folder, AuditSettings()).verify()
    assert (verdict.damages, verdict.records) == ((), 401)


def test_verifying_while_others_write_finds_no_damage(folder):
    process = writer(folder, "w", 0)
    start([process])
    assert process.stdout.readline() == "going\n"
    audit = Audit(folder, AuditSettings())
    for _ in range(40):
        verdict = audit.verify()
        assert verdict.damages == ()
        if verdict.records > 300:
            break
    process.kill()
    end(process)
    audit.close()
