"""The runs of a home as facts: rows of a list, and all of one run with its waterfall, console, standing and gaps."""

from __future__ import annotations

import json

from cortex.audit import Audit
from cortex.runs import RunFiles, RunFilter
from cortex.runs.details import body_of, sealed
from cortex.settings import Settings
from cortex.settings.sections import AuditSettings, RunsSettings
from cortex.views import HomeRuns, RunLog, RunSpan, interleaved, logs_of, run_row, spans_of
from tests.cortex.runs.support import details, line_of

CALL = {"name": "stock", "start_ms": 6, "ms": 2, "ok": False, "code": "denied", "bytes_in": 9, "asked_ms": 1.5}
FETCH = {"method": "GET", "url": "https://a.example/b", "query_hash": "c", "start_ms": 5, "ms": 4, "bytes": 12}


def kept(home, *runs, settings=None) -> Settings:
    files = RunFiles(home / "runs", RunsSettings())
    for one in runs:
        files.append(line_of(one))
    files.close()
    return settings or Settings(home=home)


def test_a_row_has_what_a_list_shows_and_no_float_of_the_ledger():
    one = details(3, cost=0.050000000000000044, level=0.0020000000000000018, error_type="TypeError", outcome="error")
    row = run_row(one)
    assert (row.id, row.outcome, row.error_type, row.took_ms) == (one.id, "error", "TypeError", 500.0)
    assert (row.cost, row.level) == (0.05, 0.002)


def test_what_took_time_comes_in_the_order_in_which_it_began():
    one = details(
        1,
        before_ms=0.5,
        queue_ms=2.0,
        startup_ms=1.5,
        execution_ms=9.0,
        calls=(CALL,),
        requests=({**FETCH, "status": 404}, {**FETCH, "start_ms": 9, "refused": "not allowed"}),
    )
    spans = spans_of(one)
    assert [(span.kind, span.start_ms, span.ms, span.outcome) for span in spans] == [
        ("pay", 0.0, 0.5, "ok"),
        ("wait", 0.5, 2.0, "ok"),
        ("start", 2.5, 1.5, "ok"),
        ("run", 4.0, 9.0, "ok"),
        ("fetch", 5.0, 4.0, "404"),
        ("tool", 6.0, 2.0, "denied"),
        ("fetch", 9.0, 4.0, "refused"),
    ]
    assert [span.ok for span in spans] == [True, True, True, True, False, False, False]
    assert spans[4].name == "GET https://a.example/b?…"
    assert (spans[5].bytes_in, spans[5].asked_ms, spans[6].note) == (9, 1.5, "not allowed")


def test_a_cached_run_has_no_time_of_its_own():
    assert spans_of(details(1, cached=True)) == ()


def test_entries_of_the_console_stand_between_the_calls_and_say_where_some_are_missing():
    logs = ({"level": "log", "text": "a", "at_ms": 1.0}, {"level": "warn", "text": "b"}, {"level": "log", "text": "c"})
    one = details(1, logs=logs, logs_head=1, logs_left_out=7, calls=(CALL,))
    found = logs_of(one)
    assert [log.text for log in found] == ["a", "7 entries left out", "b", "c"]
    late = RunLog(8.0, "log", "late")
    order = interleaved(spans_of(one), [*found, late])
    assert [each.text if isinstance(each, RunLog) else each.kind for each in order] == [
        *("run", "a", "7 entries left out", "b", "c", "tool", "late")
    ]
    assert isinstance(order[0], RunSpan)


def test_a_run_is_shown_with_its_code_and_whether_the_audit_has_its_hash(tmp_path):
    audit = Audit(tmp_path / "audit", AuditSettings())
    own = audit.keep_code("return 1")
    one = details(1, code_hash=own, seed=1)
    body, digest = body_of(one)
    number = audit.record("details", run=one.id, details_hash=digest).seq
    audit.close()
    files = RunFiles(tmp_path / "runs", RunsSettings())
    files.append(sealed(body, digest, number))
    files.append(line_of(details(2, reply="\u202e")))
    with HomeRuns.opened(Settings(home=tmp_path)) as runs:
        view = runs.find(one.id)
        other = runs.find(details(2).id)
        assert runs.find("nothing") is None
    assert view is not None
    assert other is not None
    assert (view.code, view.code_state, view.standing) == ("return 1", "kept", "matches")
    assert (view.can_replay, view.missing) == (True, ())
    assert (other.code, other.code_state, other.standing, other.can_replay) == (None, "not kept", "unknown", False)
    for each in (view, other):
        again = json.loads(json.dumps(each.as_json()))
        assert again["details"]["id"] == again["run"]["id"] == each.row.id
        assert {"spans", "logs", "standing", "code", "missing", "can_replay"} <= again.keys()


def test_code_that_was_changed_in_its_folder_is_not_shown_as_what_ran(tmp_path):
    audit = Audit(tmp_path / "audit", AuditSettings())
    own = audit.keep_code("return 1")
    audit.close()
    [path] = (path for path in (tmp_path / "audit").rglob("*") if own[:16] in path.name)
    path.chmod(0o600)
    path.write_bytes(b"return 2")
    settings = kept(tmp_path, details(1, code_hash=own))
    with HomeRuns.opened(settings) as runs:
        view = runs.find(details(1).id)
    assert view is not None
    assert (view.code, view.code_state, view.can_replay) == (None, "changed", False)


def test_what_a_replay_would_lack_is_said_in_sentences(tmp_path):
    lost = {"id": "0" * 24, "bytes": 10, "hash": "0" * 64}
    settings = kept(
        tmp_path, details(1, keep="facts"), details(2, recording=lost, seed=1), details(3, seed=1, calls_left_out=2)
    )
    with HomeRuns.opened(settings) as runs:
        missing = [runs.find(details(number).id).missing for number in (1, 2, 3)]
    assert "Only facts were kept" in missing[0][1]
    assert "seed is unknown" in missing[0][2]
    assert "was deleted" in missing[1][1]
    assert "not recorded" in missing[2][1]


def test_a_forgotten_run_is_a_row_and_a_page_of_its_own(tmp_path):
    settings = kept(tmp_path, details(1), details(2))
    files = RunFiles(tmp_path / "runs", RunsSettings())
    files.forget(lambda entry: entry.id == details(1).id)
    with HomeRuns.opened(settings) as runs:
        page = runs.page()
        view = runs.find(details(1).id)
        assert runs.page(RunFilter(tier="isolated")).rows == page.rows[:1]
    assert [row.outcome for row in page.rows] == ["ok", "forgotten"]
    assert view is not None
    assert (view.spans, view.logs, view.can_replay) == ((), (), False)


def test_looking_at_a_home_without_runs_creates_nothing(tmp_path):
    with HomeRuns.opened(Settings(home=tmp_path / "none")) as runs:
        assert runs.page().rows == ()
        assert runs.find("a") is None
    assert list(tmp_path.iterdir()) == []
