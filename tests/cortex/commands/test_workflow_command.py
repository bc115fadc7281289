"""`cortex workflow` as a person types it: good and bad input, and what is shown. Only a few need a sandbox."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cortex.audit import Audit
from cortex.commands import run_command
from cortex.settings import Settings
from cortex.settings.sections import AuditSettings
from cortex.workflows import (
    APPROVAL,
    DecisionRow,
    KeptFiles,
    NewEvent,
    RunRow,
    Saved,
    SqliteJournal,
    TaskRow,
    told_plan,
)
from tests.cortex.commands.test_kill_command import without_privileges
from tests.cortex.workflows.support import code, decision, plan, tool

HASH = "c0ffee" * 10 + "beef"
TOOLS = """
from cortex import Toolbox
toolbox = Toolbox()

@toolbox.tool(name="shop.post", description="Posts.")
def post(text: str, times: int = 1) -> str:
    return text * times

@toolbox.tool(name="shop.hidden", description="Denied.", policy="deny")
def hidden() -> None: ...
"""
REPORT = {
    "name": "report",
    "tasks": [
        code("one", "return 1 + context.n", context={"n": "${input.n}"}),
        code("two", "return 2"),
        code("sum", "return context.one + context.two", "one", "two"),
        decision("ok", "sum"),
        tool("post", "shop.post", "ok", "sum", arguments={"text": "sum", "times": "${sum}"}),
    ],
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def cortex(home, capsys):
    def run(*words: str, code: int = 0, at: Path = home) -> Any:
        """Its output: of a failure what it says, of --json what it means, of others the text."""
        assert run_command(["workflow", *words, "--home", str(at)]) == code
        told = capsys.readouterr()
        run.err = told.err
        if "--json" in words and told.out:
            return json.loads(told.out)
        return told.out if code in {0, 4} else told.err

    return run


@pytest.fixture
def file(tmp_path: Path):
    def write(given: Any, name: str = "plan.json") -> str:
        path = tmp_path / name
        path.write_text(given if isinstance(given, str) else json.dumps(given))
        return str(path)

    return write


@pytest.fixture
def tools(file) -> str:
    return file(TOOLS, "shop_tools.py") + ":toolbox"


def journal_in(home: Path) -> SqliteJournal:
    home.mkdir(mode=0o700, exist_ok=True)
    return SqliteJournal(home / "workflows")


def waiting(home: Path, run: str = "r1234", *, may_replan: bool = False) -> None:
    """A run that waits for an answer, and that nobody leads."""
    own = plan(code("one", "return 1"), decision("ok", "one", may_replan=may_replan), code("last", "return 2", "ok"))
    journal = journal_in(home)
    now = time.time()
    journal.begin(RunRow(run, own, own.hash, at=now), [NewEvent("run_queued", {"plan": "\x1b[2J"}, now)])
    claim = journal.claim(run, "w", 10, now)
    asked = DecisionRow("ok", "owner", "Is it right?\n\x1b[2J", HASH, now)
    row = TaskRow("one", "ok", result={"n": 1}, metrics={"duration_ms": 12.0}, cost=0.05, started_at=now, ended_at=now)
    journal.save(claim, Saved(tasks=[row], decisions=[asked], status="waiting", energy_spent=0.05), now)
    journal.release(claim)
    journal.close()


def said_in(home: Path, run: str = "r1234") -> Any:
    journal = journal_in(home)
    try:
        return journal.load(run).decisions["ok"].said
    finally:
        journal.close()


def decisions(home: Path) -> list[str]:
    audit = Audit(home / "audit", AuditSettings())
    try:
        return [record.facts["what"] for record in audit.records() if record.kind == "owner_decision"]
    finally:
        audit.close()


# Looking


def test_a_check_says_layers_inputs_and_cost_and_starts_nothing(cortex, file, tools, home, monkeypatch):
    monkeypatch.setattr("sandbox.runtime.DenoRuntime.__init__", None)  # whoever opens a sandbox fails
    found = cortex("check", file(REPORT), "--tools", tools, "--json")
    assert found["ok"] is True
    assert found["layers"] == [["one", "two"], ["sum"], ["ok"], ["post"]]
    assert found["inputs"] == ["n"]
    assert found["energy"] == {"once": pytest.approx(0.15), "at_most": pytest.approx(0.3)}
    shown = cortex("check", file(REPORT), "--tools", tools, "--input", "n=1")
    assert "report: 5 tasks in 4 layers" in shown
    assert shown.endswith("ok\n")
    assert not home.exists()


@pytest.mark.parametrize(
    ("task", "says"),
    [
        (tool("a", "shop.past"), "there is no tool shop.past"),
        (tool("a", "shop.post", arguments={"text": ["x"]}), "shop.post: text"),
        (tool("a", "shop.post", arguments={}), "text"),
        (tool("a", "shop.post", arguments={"text": "${input.x}", "times": "many"}), "times"),
        (tool("a", "shop.post", arguments={"text": "x", "other": "${input.x}"}), "other"),
        (tool("a", "shop.hidden"), "is denied"),
        (tool("a", "core.execute"), "is not for workflows"),
        (code("a", "return 1", tools=["nope"]), "there is no tool nope"),
        (code("a", "return 1", workspace="workspace"), 'it wants the folder "workspace"'),
        (code("a", "return 1", sandbox_config={"allowNetwork": True}), "no host is allowed"),
        (code("a", "x" * 200_000), "its code is longer than"),
    ],
)
def test_what_is_certain_to_go_wrong_is_found_before_anything_runs(cortex, file, tools, home, task, says):
    name = file({"name": "x", "tasks": [task]})
    [problem] = cortex("check", name, "--tools", tools, "--json", code=1)["problems"]
    assert problem["task"] == "a"
    assert says in problem["problem"]
    inputs = ["--input", "x=1"] if "${input" in json.dumps(task) else []
    refused = cortex("run", name, "--tools", tools, *inputs, code=2)
    assert refused.startswith("cortex workflow: ")
    assert not home.exists()


def test_tools_of_servers_that_were_not_asked_are_named_as_such(cortex, file, tmp_path):
    config = tmp_path / "cortex.toml"
    config.write_text('[mcpServers.files]\ncommand = "false"\n')
    name = file({"name": "x", "tasks": [tool("a", "files.read"), tool("b", "other.read")]})
    found = cortex("check", name, "--json", "--config", str(config), code=1)["problems"]
    assert [(each["task"], each["certain"]) for each in found] == [("a", False), ("b", True)]
    asked = cortex("check", name, "--json", "--config", str(config), "--ask-servers", code=1)["problems"]
    assert [each["certain"] for each in asked] == [True, True]


def test_a_check_notes_retries_that_are_never_made(cortex, file, tools):
    own = {"name": "x", "tasks": [tool("a", "shop.post", arguments={"text": "x"}, retries=3)]}
    shown = cortex("check", file(own), "--tools", tools)
    assert 'note   task "a": `retries` changes nothing without `idempotent`\nok, but for the notes\n' in shown
    own["tasks"][0]["idempotent"] = True
    assert "note" not in cortex("check", file(own), "--tools", tools)


@pytest.mark.parametrize("action", ["check", "run", "export"])
def test_a_file_that_is_no_plan_is_an_error_of_one_line(cortex, file, tmp_path, home, action):
    circle = {"name": "x", "tasks": [decision("a", "b"), decision("b", "a")]}
    wrong = {
        file(circle): "in a circle: a → b → a",
        file("\x1b[2J", "c.json"): "it is not JSON",
        file("", "d.json"): "is empty",
        str(tmp_path): "is a folder",
        str(tmp_path / "no.json"): "No such file",
        file({"name": "x", "tasks": [decision("__proto__")]}, "e.json"): 'task "__proto__": id: an id begins with',
    }
    (tmp_path / "f.json").write_bytes(os.urandom(1_000) + b"\xff")
    for name, says in {**wrong, str(tmp_path / "f.json"): "UTF-8"}.items():
        told = cortex(action, name, code=2)
        assert told.startswith("cortex workflow: ")
        assert says in told
        assert told.count("\n") == 1
        assert "\x1b" not in told
    assert not home.exists()


def test_a_plan_comes_from_a_pipe(cortex, monkeypatch, tmp_path):
    (tmp_path / "in").write_text(json.dumps({"name": "x", "tasks": [decision("a")]}))
    with (tmp_path / "in").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert "x: 1 task in 1 layer" in cortex("check", "-")


def test_runs_are_listed_and_shown_and_control_no_terminal(cortex, home):
    assert cortex("list", "--json", at=home.parent) == []
    cortex("list", at=home.parent)
    waiting(home)
    head, row = cortex("list").splitlines()
    assert head.split() == ["run", "status", "tasks", "energy", "since", "plan"]
    assert row.split()[:4] == ["r1234", "waiting", "3", "0.05"]
    [facts] = cortex("list", "--json", "--status", "waiting", "--limit", "1")
    assert (facts["run"], facts["name"]) == ("r1234", "a plan")
    assert cortex("list", "--json", "--status", "done") == []
    shown = cortex("show", "r123")  # the beginning is enough
    for part in ("● one", "? ok", "○ last", "12 ms", "0.05", "asks the owner", "| Is it right?", f"--hash {HASH[:12]}"):
        assert part in shown or part.replace("●", "+").replace("○", ".") in shown
    assert "\x1b" not in shown
    whole = cortex("show", "r1234", "--json")
    assert [(task["id"], task["layer"], task["state"]) for task in whole["tasks"]] == [
        ("one", 1, "ok"),
        ("ok", 2, "waiting"),
        ("last", 3, "pending"),
    ]
    assert whole["tasks"][0]["result"] == {"n": 1}
    assert whole["questions"][0]["hash"] == HASH


def test_events_are_lines_for_people_and_json_for_programs(cortex, home, capsys):
    waiting(home)
    assert "run_queued" in cortex("events", "r1234")
    assert "\x1b" not in cortex("events", "r1234")
    assert cortex("events", "r1234", "--json")["seq"] == 1
    assert cortex("events", "r1234", "--after", "1") == ""
    cortex("abort", "r1234")
    assert run_command(["workflow", "events", "r1234", "--follow", "--json", "--home", str(home)]) == 0
    kinds = [json.loads(line)["kind"] for line in capsys.readouterr().out.splitlines()]
    assert kinds == ["run_queued", "run_aborted"]


def test_events_are_followed_until_the_run_ends_whoever_ends_it(home, capsys):
    waiting(home)

    def abort() -> None:
        time.sleep(0.5)
        journal = journal_in(home)
        journal.stop("r1234", "enough", by="another", now=time.time())
        journal.close()

    thread = threading.Thread(target=abort)
    thread.start()
    assert run_command(["workflow", "events", "r1234", "--follow", "--json", "--home", str(home)]) == 0
    thread.join()
    assert [json.loads(line)["seq"] for line in capsys.readouterr().out.splitlines()] == [1, 2]


@pytest.mark.parametrize(
    "words",
    [
        ["show", "x"],
        ["resume", "x"],
        ["abort", "x"],
        ["events", "x"],
        ["export", "x"],
        ["forget", "x"],
        ["fork", "x", "--at", "a"],
        ["decide", "x", "a"],
    ],
)
def test_a_run_that_does_not_exist_is_a_mistake(cortex, home, words):
    home.mkdir(mode=0o700)
    assert "there are no runs in" in cortex(*words, code=2)
    assert list(home.iterdir()) == []
    waiting(home)
    waiting(home, "r1235")
    assert 'there is no run "x"; cortex workflow list lists the runs' in cortex(*words, code=2)
    more = words[2:]
    assert "say more of it" in cortex(words[0], "r123", *more, code=2)
    for strange in ("\x1b[2J", "", "x" * 300):
        assert "\x1b" not in cortex(words[0], strange, *more, code=2)


def test_a_drawing_is_written_to_a_file_or_to_the_output(cortex, home, file, tmp_path):
    waiting(home)
    assert "class t0 ok" in cortex("export", "r1234")
    assert "classDef" not in cortex("export", file(REPORT))
    assert cortex("export", "r1234", "--json")["drawing"] == cortex("export", "r1234")
    picture = tmp_path / "graph.svg"
    assert cortex("export", "r1234", "--format", "svg", "--output", str(picture)) == ""
    assert picture.read_text().startswith("<svg ")
    assert "cannot write" in cortex("export", "r1234", "--output", str(tmp_path), code=1)


def test_the_schema_is_printed(cortex):
    assert json.loads(cortex("schema"))["title"] == "Workflow"


# Changing


def test_a_question_is_answered_once_with_the_hash_of_what_was_shown(cortex, home):
    waiting(home)
    shown = cortex("decide", "r1234", "ok")
    assert "| Is it right?" in shown
    assert f"--hash {HASH[:12]}" in shown
    assert cortex("decide", "r1234", "ok", "--json")["hash"] == HASH
    assert "repeat it with --hash" in cortex("decide", "r1234", "ok", "--approve", code=3)
    assert "look at it again" in cortex("decide", "r1234", "ok", "--approve", "--hash", "0" * 64, code=3)
    assert "8 or more" in cortex("decide", "r1234", "ok", "--approve", "--hash", HASH[:7], code=2)
    assert "say what the answer is" in cortex("decide", "r1234", "ok", "--hash", HASH, code=2)
    assert "asked nothing about" in cortex("decide", "r1234", "one", "--approve", "--hash", HASH, code=3)
    assert said_in(home) is None
    assert decisions(home) == []
    cortex("decide", "r1234", "ok", "--reject", "too dear", "--hash", HASH[:8].upper())
    assert said_in(home) == {"answer": "reject", "reason": "too dear"}
    assert decisions(home) == ["workflow decide"]
    assert "has an answer already: reject, by owner" in cortex(
        "decide", "r1234", "ok", "--approve", "--hash", HASH, code=3
    )


def test_the_owner_sees_a_plan_that_waits_for_approval_to_its_end(cortex, home):
    own = plan(code("long", f"// {'harmless ' * 2_200}\nreturn 1"), code("last", "return 'e\u202evil'", "long"))
    journal, now = journal_in(home), time.time()
    journal.begin(RunRow("r1234", own, own.hash, started_by="agent", at=now), [])
    claim = journal.claim("r1234", "w", 10, now)
    asked = DecisionRow(APPROVAL, "owner", told_plan(own, Settings(home=home)).text, HASH, now)
    journal.save(claim, Saved(decisions=[asked], status="waiting"), now)
    journal.release(claim)
    journal.close()
    for shown in (cortex("show", "r1234"), cortex("decide", "r1234", APPROVAL)):
        assert "May this plan run?" in shown
        assert "  | return 'e⟨U+202E⟩vil'" in shown
        assert "not shown" not in shown
        assert f"cortex workflow decide r1234 @plan (--approve | --reject REASON) --hash {HASH[:12]}" in shown
    [question] = cortex("show", "r1234", "--json")["questions"]
    assert (question["task"], question["hash"], question["shown"]) == (APPROVAL, HASH, asked.shown)


def test_an_answer_may_be_a_value_or_a_change_of_the_plan(cortex, home, file):
    waiting(home)
    for wrong in ("yes", "[1", "[" * 9_999):
        assert "--value is not JSON" in cortex("decide", "r1234", "ok", "--value", wrong, "--hash", HASH, code=2)
    cortex("decide", "r1234", "ok", "--value", '{"n": 1}', "--hash", HASH)
    assert said_in(home) == {"answer": "value", "value": {"n": 1}}
    waiting(home, "r2345")
    change = file({"add": [tool("more", "a.b", "one", arguments={"x": "${one.n}"})], "remove": ["last"]}, "change.json")
    replan = ("ok", "--replan", change, "--hash", HASH)
    assert "cannot be answered with a new plan" in cortex("decide", "r2345", *replan, code=2)
    waiting(home, "r3456", may_replan=True)
    for wrong, says in (
        ({"name": "x"}, "a new plan is"),
        ({"add": 1}, "tasks"),
        ({"remove": [1]}, "remove"),
        ({"remove": ["__proto__"]}, "remove"),
        ({"remove": ["one"]}, "has begun"),
        ({"add": [decision("x", "none")]}, "there is no such task"),
        ({"add": [{"id": "x", "type": "decision"}]}, 'task "x": ask: the field is missing'),
    ):
        bad = file(wrong, "bad.json")
        assert says in cortex("decide", "r3456", "ok", "--replan", bad, "--hash", HASH, code=2)
    assert "--value JSON | --replan FILE) --hash" in cortex("show", "r3456")
    cortex("decide", "r3456", *replan)
    assert said_in(home, "r3456")["remove"] == ["last"]
    assert f"to go on: cortex workflow resume r3456 --home {home}" in cortex("show", "r3456")


def test_a_run_shows_how_its_plan_is_approved(cortex, home):
    own = plan(code("one", "return 1"))
    journal = journal_in(home)
    now = time.time()
    journal.begin(RunRow("r1234", own, own.hash, started_by="agent", at=now), [])
    claim = journal.claim("r1234", "w", 10, now)
    asked = DecisionRow("@plan", "owner", "The whole plan", HASH, now)
    journal.save(claim, Saved(decisions=[asked], status="waiting"), now)
    journal.release(claim)
    journal.close()
    shown = cortex("show", "r1234")
    assert "| The whole plan" in shown
    assert f"cortex workflow decide r1234 @plan (--approve | --reject REASON) --hash {HASH[:12]}" in shown
    assert [question["task"] for question in cortex("show", "r1234", "--json")["questions"]] == ["@plan"]


def test_an_id_of_another_plan_is_refused(cortex, home, file):
    waiting(home)
    other = file({"name": "other", "tasks": [code("one", "return 1")]})
    assert "with another plan: choose another id" in cortex("run", other, "--id", "r1234", code=3)


def test_a_run_that_no_process_leads_says_how_to_go_on(cortex, home):
    own = plan(code("one", "return 1"))
    journal = journal_in(home)
    now = time.time()
    journal.begin(RunRow("r1234", own, own.hash, at=now), [])
    claim = journal.claim("r1234", "w", 10, now)
    journal.save(claim, Saved(status="running"), now)
    assert "no process leads it" not in cortex("show", "r1234")
    journal.release(claim)
    journal.close()
    assert f"no process leads it; to go on: cortex workflow resume r1234 --home {home}" in cortex("show", "r1234")


def test_an_abort_ends_a_run_for_good_and_is_recorded(cortex, home):
    waiting(home)
    assert cortex("abort", "r1234", "--reason", "it is late") == "Run r1234 is aborted\n"
    assert cortex("abort", "r1234") == "Run r1234 had ended: aborted\n"
    assert cortex("show", "r1234", "--json")["reason"] == "it is late"
    assert decisions(home) == ["workflow abort"]
    assert "has ended (aborted)" in cortex("resume", "r1234", code=3)
    assert "has ended (aborted)" in cortex("decide", "r1234", "ok", "--approve", "--hash", HASH, code=3)


def test_an_abort_does_not_lose_changes_of_files_that_are_saved(cortex, home):
    waiting(home)
    KeptFiles(home / "workflows" / "changes").put("r1234", "one", 1, b"changes")
    told = cortex("abort", "r1234", code=1)
    assert "changes of files of one are saved and not made yet: cortex workflow abort r1234 --workspace DIR" in told
    assert KeptFiles(home / "workflows" / "changes").get("r1234", "one", 1) == b"changes"
    assert cortex("show", "r1234", "--json")["status"] == "aborted"


def test_an_abort_says_that_a_leader_has_died_before_it_made_what_was_saved(cortex, home):
    waiting(home)
    journal = journal_in(home)
    journal.claim("r1234", "killed", 60, time.time())
    journal.close()
    KeptFiles(home / "workflows" / "changes").put("r1234", "one", 1, b"changes")
    assert "changes of files of one are saved and not made yet" in cortex("abort", "r1234", code=1)
    assert KeptFiles(home / "workflows" / "changes").get("r1234", "one", 1) == b"changes"


def test_runs_that_have_ended_are_forgotten_and_no_others(cortex, home):
    waiting(home)
    waiting(home, "r2345")
    assert "has not ended (waiting): abort it first" in cortex("forget", "r1234", code=3)
    assert "say which runs" in cortex("forget", code=2)
    assert "not both" in cortex("forget", "r1234", "--older-than", "1", code=2)
    cortex("abort", "r1234")
    assert cortex("forget", "--older-than", "1") == "No run ended before that\n"
    assert cortex("forget", "--older-than", "0", "--json") == {"forgotten": ["r1234"]}
    assert [run["run"] for run in cortex("list", "--json")] == ["r2345"]


def test_what_cannot_be_recorded_is_not_done(cortex, home, monkeypatch):
    from cortex.audit import AuditError

    def refuse(*_: object, **__: object) -> None:
        raise AuditError("the disk is full")

    waiting(home)
    monkeypatch.setattr(Audit, "record", refuse)
    for words in (("abort", "r1234"), ("decide", "r1234", "ok", "--approve", "--hash", HASH)):
        assert "nothing was done, because it could not be recorded" in cortex(*words, code=3)
    assert said_in(home) is None
    assert cortex("show", "r1234", "--json")["status"] == "waiting"


def test_the_switch_aborts_also_the_runs_that_no_process_leads(cortex, home, capsys):
    waiting(home)
    assert run_command(["kill", "--home", str(home), "--reason", "enough"]) == 0
    capsys.readouterr()
    assert (cortex("show", "r1234", "--json")["status"]) == "aborted"
    assert "enough" in cortex("show", "r1234", "--json")["reason"]
    waiting(home, "r2345")
    assert "Kill switch is on" in cortex("resume", "r2345", code=3)


def test_a_journal_that_is_damaged_is_told_by_all_and_by_the_doctor(cortex, home, capsys):
    waiting(home)
    (home / "workflows" / "journal.sqlite").write_bytes(b"x" * 5_000)
    for words in (("list",), ("show", "r1234"), ("abort", "r1234")):
        assert "is damaged" in cortex(*words, code=1)
    from cortex.commands.doctor import _journal
    from cortex.settings import Settings

    assert _journal(Settings(home=home)).verdict == "broken"
    other = _journal(Settings(home=home.parent / "other"))
    assert (other.verdict, "no runs yet" in other.detail) == ("ok", True)
    assert not (home.parent / "other").exists()


def test_the_doctor_says_where_the_journal_is_and_its_version(home):
    from cortex.commands.doctor import _journal
    from cortex.settings import Settings

    waiting(home)
    found = _journal(Settings(home=home))
    assert (found.name, found.verdict) == ("workflows", "ok")
    assert found.detail == f'SQLite journal, version 1, runs: 1 waiting; in "{home / "workflows"}"'


def test_a_home_that_cannot_be_written_is_said(home, file):
    home.mkdir(mode=0o500)
    words = ["workflow", "run", file({"name": "x", "tasks": [decision("a")]}), "--home", str(home)]
    done = subprocess.run(
        [sys.executable, "-c", "from cortex.commands import main; main()", *words],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=without_privileges if os.geteuid() == 0 else None,
    )
    assert done.returncode == 2
    assert "it is not writable" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_and_other_commands_import_neither_workflows_nor_sqlite():
    program = (
        "import sys\n"
        "from cortex.commands import run_command\n"
        "try: run_command(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith(('cortex.workflows', 'sqlite3', 'yaml'))])"
    )
    for words in (["--help"], ["workflow", "--help"]):
        done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=120)
        assert done.stdout.splitlines()[-1] == "[]"
