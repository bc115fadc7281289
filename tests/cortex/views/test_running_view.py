"""What runs now: what began and has not ended, without what was cut short with its program."""

from __future__ import annotations

import os

import pytest

from cortex.audit import Audit
from cortex.runs import OpenProgram
from cortex.settings.sections import AuditSettings
from cortex.views import running_now
from sandbox import identity_of

OWN = identity_of(os.getpid())


def program(state: str, pid: int, started: int) -> OpenProgram:
    return OpenProgram(pid=pid, started=started, at=1.0, state=state)


@pytest.mark.parametrize(
    ("host", "started", "programs", "is_running"),
    [
        (OWN.pid, OWN.started, (), True),
        (OWN.pid, OWN.started - 1, (), False),
        (2**22 + 1, 1, (), False),
        (None, None, (), True),
        ("x", [], (), True),
        (7, 1, (program("unknown", 7, 1),), True),
        (7, 1, (program("gone", 7, 1),), False),
        (7, 1, (program("gone", 7, 1), program("unknown", 7, 1)), True),
        (7, 1, (program("unknown", 7, 2),), False),
    ],
    # Not by the number of the process: each process that runs tests must have the same names.
    ids=["runs", "was another", "no process", "unknown", "damaged", "not told", "gone", "gone and not told", "older"],
)
def test_a_run_whose_program_is_gone_runs_no_more(tmp_path, host, started, programs, is_running):
    audit = Audit(tmp_path, AuditSettings())
    audit.record("intent", turn="a", call=1, host=OWN.pid, host_started=OWN.started)
    audit.record("execution", turn="a", call=1)
    begun = audit.record("intent", turn="b", call=1, host=host, host_started=started)
    records = list(audit.records())
    audit.close()
    running, gone = running_now(records, programs)
    found = running if is_running else gone
    assert [record.seq for record in found] == [begun.seq]
    assert len(running) + len(gone) == 1
