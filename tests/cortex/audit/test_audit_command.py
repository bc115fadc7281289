"""`cortex audit` as a person or a program at a shell finds it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

from cortex.audit import Audit
from cortex.commands import main, run_command as run
from cortex.settings.sections import AuditSettings

CORTEX = [sys.executable, "-c", "from cortex.commands import main; main()"]


@pytest.fixture
def home(folder):
    return folder.parent


@pytest.fixture
def environment(home):
    return {**os.environ, "CORTEX_HOME": str(home), "TZ": "Asia/Tokyo", "NO_COLOR": "1"}


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def cortex(environment, monkeypatch, capsys):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    time.tzset()

    def run(*arguments: str) -> Done:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return Done(ended.value.code, *capsys.readouterr())

    yield run
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def filled(audit):
    own_hash = audit.keep_code("const a: number = 1;\nreturn a;")
    audit.record(
        "execution",
        purpose="Sum\x1b[2J",
        tier="isolated",
        code_hash=own_hash,
        ok=True,
        reply_code="OK",
        cost=0.05,
        level=0.9,
    )
    audit.record("refusal", tool="core.execute", reason="EXECUTION_DENIED: a\nhash             forged", level=0.1)
    audit.record("tool_call", tool="shop.stock", ok=True, duration_ms=1.5)
    audit.close()
    return audit


def test_one_line_for_each_record_in_local_time(cortex, filled):
    done = cortex("audit")
    assert (done.returncode, done.stderr) == (0, "")
    heading, day, *lines = done.stdout.splitlines()
    assert heading.split() == ["#", "time", "kind", "what", "tier", "answer", "ms", "energy", "hash"]
    assert day == "2026-11-16"
    assert [line.split()[:3] for line in lines] == [
        ["1", "20:30:00", "run"],
        ["2", "20:30:00", "refusal"],
        ["3", "20:30:00", "tool"],
    ]
    assert "Sum\\u001b[2J" in lines[0]
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_the_last_so_many(cortex, filled):
    assert [line.split()[0] for line in cortex("audit", "--last", "2").stdout.splitlines()[2:]] == ["2", "3"]
    assert cortex("audit", "--last", "0").stdout == ""


def test_json_is_the_lines_as_they_are(cortex, filled, folder):
    done = cortex("audit", "--json", "--last", "2")
    lines = [json.loads(line) for line in (folder / "2026-11-16.jsonl").read_text().splitlines()]
    assert [json.loads(line) for line in done.stdout.splitlines()] == lines[1:]


def test_a_new_day_has_a_line_of_its_own(cortex, filled, clock):
    clock.forward(hours=5)
    filled.record("k")
    assert [line for line in cortex("audit").stdout.splitlines() if line.startswith("2026")] == [
        "2026-11-16",
        "2026-11-17",
    ]


def test_nothing_yet(cortex, home):
    done = cortex("audit")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Nothing has been recorded yet\n")
    assert cortex("audit", "verify").stdout == "ok 0 records in 0 files, as they were written\n"
    assert not home.exists()


@pytest.mark.parametrize(
    "arguments", [["audit", "verify"], ["audit", "--json", "verify"], ["audit", "verify", "--json"]]
)
def test_verify_says_ok_and_how_it_ends(cortex, filled, arguments):
    done = cortex(*arguments)
    (*_, last) = filled.records()
    assert done.returncode == 0
    if "--json" in arguments:
        answer = json.loads(done.stdout)
        assert answer["ok"] is True
        assert answer["end"] == {"seq": 3, "hash": last.hash}
        assert answer.keys() == {
            "ok",
            "records",
            "files",
            "end",
            "damages",
            "damages_found",
            "recoveries",
            "unfinished_bytes",
        }
    else:
        assert done.stdout == f"ok 3 records in 1 file, as they were written\nThe last is 3, {last.hash}\n"


def test_verify_says_what_is_damaged_and_where(cortex, filled, folder):
    path = folder / "2026-11-16.jsonl"
    path.write_text(path.read_text().replace("shop.stock", "shop.stack"))
    with path.open("ab") as file:
        file.write(b'{"seq":')
    done = cortex("audit", "verify")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "damaged 2026-11-16.jsonl, line 3: changed: record 3 is not as it was written",
        "The last line is unfinished (7 bytes): the next record cuts it off",
        "3 records in 1 file, 1 damaged place",
    ]
    done = cortex("audit", "verify", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["damages"] == [
        {"file": "2026-11-16.jsonl", "line": 3, "flaw": "changed", "detail": "record 3 is not as it was written"}
    ]


def test_a_number_of_a_thousand_digits_that_somebody_wrote_is_no_trouble(cortex, filled, folder):
    (day,) = folder.glob("2*.jsonl")
    day.write_bytes(day.read_bytes().replace(b'"purpose"', b'"execution_ms":1' + b"0" * 1000 + b',"purpose"'))
    for arguments in ((), ("--json",), ("show", "1")):
        assert cortex("audit", *arguments).returncode == 0


def test_show_prints_a_record_in_full_and_its_code(cortex, filled):
    done = cortex("audit", "show", "1")
    facts, _, code = done.stdout.partition("\n\n")
    assert [line.split()[0] for line in facts.splitlines()] == [
        *("seq", "at", "kind", "purpose", "tier", "code_hash", "ok", "reply_code", "cost", "level", "previous", "hash"),
    ]
    assert "purpose          Sum\\u001b[2J" in facts
    assert code == "const a: number = 1;\nreturn a;\n"
    assert json.loads(cortex("audit", "show", "1", "--json").stdout)["code"] == "const a: number = 1;\nreturn a;"


def test_a_text_of_several_lines_does_not_look_like_facts(cortex, filled):
    lines = cortex("audit", "show", "2").stdout.splitlines()
    assert [line for line in lines if line.startswith("hash")] == [lines[-1]]
    assert f"{'':17}hash             forged" in lines


def test_show_says_when_the_code_is_not_there_or_is_another(cortex, filled, folder):
    (path,) = (folder / "code").rglob("*.ts")
    path.write_text("return 2")
    assert cortex("audit", "show", "1").stdout.endswith("\nThe file of its code holds something else now\n")
    assert json.loads(cortex("audit", "show", "1", "--json").stdout)["code"] is None
    path.unlink()
    assert cortex("audit", "show", "1").stdout.endswith("\nIts code was not kept\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "9"], "there is no record 9 that can be read"),
        (["show"], "the following arguments are required: N"),
        (["show", "x"], "invalid int value: 'x'"),
        (["--last", "-1"], "a number of records, not '-1'"),
        (["--last", "many"], "a number of records, not 'many'"),
        (["--follow", "verify"], "--follow and --last do not go with verify"),
        (["sing"], "invalid choice: 'sing'"),
        (["--home", "/dev/null"], 'Cannot read the audit in "/dev/null/audit": Not a directory; choose another home'),
    ],
)
def test_bad_input_has_a_clear_error_and_its_exit_code(cortex, filled, arguments, message):
    done = cortex("audit", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_home_may_be_named_before_and_behind_every_word(cortex, filled, tmp_path):
    empty = str(tmp_path / "empty")
    (tmp_path / "empty").mkdir()
    for arguments in (
        ["--home", empty, "audit", "verify"],
        ["audit", "--home", empty, "verify"],
        ["audit", "verify", "--home", empty],
    ):
        assert cortex(*arguments).stdout == "ok 0 records in 0 files, as they were written\n"


@pytest.mark.parametrize("as_json", [True, False])
def test_following_goes_on_until_it_is_interrupted(environment, filled, folder, clock, as_json):
    process = subprocess.Popen(
        [*CORTEX, "audit", "--follow", "--last", "1", *(["--json"] if as_json else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        before = [process.stdout.readline() for _ in range(1 if as_json else 3)]
        clock.forward(hours=5)
        other = Audit(folder, AuditSettings(), now=clock)
        other.record("k", note="later")
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "shop.stock" in before[-1]
    # For people each day has a line of its own first.
    assert "later" in line if as_json else line == "2026-11-17\n"
    assert (process.returncode, "Traceback" in errors) == (130, False)
    other.close()


def test_a_reader_that_has_seen_enough_is_no_error(environment, filled):
    for _ in range(300):
        filled.record("k", text="x" * 1000)
    process = subprocess.Popen(
        [*CORTEX, "audit", "--json", "--last", "300"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert (process.wait(120), errors) == (0, b"")


def test_colours_on_a_terminal(environment, filled):
    environment.pop("NO_COLOR")
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*CORTEX, "audit"], stdout=theirs, env={**environment, "COLUMNS": "100"})
    os.close(theirs)
    output = b""
    try:
        while chunk := os.read(ours, 65536):
            output += chunk
    except OSError:
        pass
    os.close(ours)
    assert process.wait(120) == 0
    assert b"\x1b[36mrun    \x1b[0m" in output
    assert b"\x1b[32mok     \x1b[0m" in output
    assert b"\x1b[2J" not in output


def test_what_was_begun_is_shown_until_it_has_ended(tmp_path, capsys):
    audit = Audit(tmp_path / "audit", AuditSettings())
    for number in (1, 2, 3, 4):
        audit.record("intent", turn="t", call=number, purpose=f"purpose {number}", tier="isolated")
    audit.record("refusal", tool="core.execute", turn="t", call=4, reason="no free place")
    audit.record("execution", turn="t", call=2, purpose="purpose 2", tier="isolated", ok=True, reply_code="OK")
    audit.close()
    assert run(["audit", "--home", str(tmp_path)]) == 0
    lines = [line.split()[2:5] for line in capsys.readouterr().out.splitlines() if "purpose" in line]
    assert lines == [["begun", "purpose", "1"], ["begun", "purpose", "3"], ["run", "purpose", "2"]]
    assert run(["audit", "--home", str(tmp_path), "--last", "1"]) == 0
    assert capsys.readouterr().out.count("purpose") == 1


@pytest.mark.parametrize("arguments", [[], ["--last", "3"], ["--json"], ["verify"], ["show", "1"]])
def test_a_look_makes_nothing(tmp_path, arguments):
    home = tmp_path / "home"
    run(["audit", "--home", str(home), *arguments])
    assert not home.exists()
    audit = Audit(home / "audit", AuditSettings())
    audit.record("refusal", reason="for a test")
    audit.close()
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
    run(["audit", "--home", str(home), *arguments])
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before
