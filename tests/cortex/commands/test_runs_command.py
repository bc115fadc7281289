"""`cortex runs` as the owner finds it: the list and its filters, one run, and nothing that controls the terminal."""

from __future__ import annotations

import json
import shutil

import anyio
import pytest

from cortex.audit import Audit
from cortex.commands import run_command
from cortex.commands.run_page import Look, page_lines
from cortex.commands.runs_rows import size_of
from cortex.runs import RunFiles, RunRecording, missing_of, read_bundle
from cortex.settings import Settings
from cortex.settings.sections import AuditSettings, RunsSettings
from cortex.views import HomeRuns
from tests.cortex.runs.support import NOON, all_bytes, details, keeping_cortex, line_of

CODE = """console.log("first", context.item);
const found = await tools.stock({ item: context.item });
console.log("then\\nerror");
throw new TypeError("not " + found);"""
MAIL = "ada@corp.example"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A home with one real run that printed, called a function and failed."""
    home = tmp_path_factory.mktemp("ran")

    async def run() -> None:
        cortex = keeping_cortex(home, runs={"keep_arguments": True})

        @cortex.toolbox.tool
        async def stock(item: str) -> int:
            return 3

        async with cortex, cortex.turn() as turn:
            await turn.execute_code({"code": CODE, "context": {"item": f"pears of {MAIL}"}})

    anyio.run(run)
    return home


@pytest.fixture
def home(tmp_path):
    files = RunFiles(tmp_path / "runs", RunsSettings(), now=lambda: NOON)
    call = {"name": "shop.stock", "start_ms": 1, "ms": 2, "ok": True}
    fetch = {"method": "GET", "url": "https://a.example/b", "start_ms": 1, "ms": 2}
    files.append(line_of(details(0x1A, purpose="first\x1b[2J", tool_calls=1, calls=(call,))))
    files.append(line_of(details(0x1B, outcome="error", error_type="TypeError")))
    files.append(line_of(details(0x2C, tier="network", requests=(fetch,), fetches=1)))
    files.append(line_of(details(0x3D, at=NOON + 86_400, cached=True)))
    files.close()
    return tmp_path


@pytest.fixture
def cortex(capsys):
    def run(home, *arguments: str, code: int = 0) -> tuple[str, str]:
        assert run_command(["runs", *arguments, "--home", str(home)]) == code
        told = capsys.readouterr()
        return told.out, told.err

    return run


def ids(out: str) -> list[int]:
    return [int(json.loads(line)["turn"], 16) for line in out.splitlines()]


def test_the_list_is_a_table_newest_first(cortex, home):
    out, err = cortex(home)
    head, *rows = out.splitlines()
    assert head.split() == ["run", "when", "outcome", "tier", "took", "calls", "energy", "what"]
    assert [row.split()[0] for row in rows] == [details(number).id for number in (0x3D, 0x2C, 0x1B, 0x1A)]
    assert "cache" in rows[0]
    assert "(TypeError)" in rows[2]
    assert "\x1b" not in out
    assert err == ""


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ((), [0x3D, 0x2C, 0x1B, 0x1A]),
        (("--query", "FIRST"), [0x1A]),
        (("--outcome", "error"), [0x1B]),
        (("--state", "error"), [0x1B]),
        (("--tier", "network"), [0x2C]),
        (("--tool", "shop.stock"), [0x1A]),
        (("--host", "a.example"), [0x2C]),
        (("--turn", f"{0x1B:016x}"), [0x1B]),
        (("--before", details(0x2C).id), [0x1B, 0x1A]),
        (("--before", f"{0x2:015x}", "--limit", "1"), [0x1B]),
        (("--before", "2027-01-16T00:00+00:00"), [0x2C, 0x1B, 0x1A]),
        (("--limit", "2"), [0x3D, 0x2C]),
    ],
)
def test_a_filter_of_the_list_finds_what_fits(cortex, home, wanted, found):
    assert ids(cortex(home, "list", "--json", *wanted)[0]) == found


def test_a_list_goes_on_where_it_ended_and_says_how(cortex, home):
    _, err = cortex(home, "list", "--limit", "2")
    assert f"cortex runs list --before {details(0x2C).id}" in err
    *_, last = [json.loads(line) for line in cortex(home, "list", "--limit", "2", "--json")[0].splitlines()]
    assert ids(cortex(home, "list", "--json", "--before", last["position"])[0]) == [0x1B, 0x1A]
    assert cortex(home, "list", "--query", "zzz") == ("", "No run fits\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("show", "zz"), "there is no such run"),
        (("show", f"{0x1:015x}"), "several runs begin like this"),
        (("list", "--before", "2027-13-45"), "is no date"),
        (("list", "--before", "2027-01-15.0:5"), "expected the name of a file of runs"),
        (("list", "--before", "zz"), "there is no such run"),
    ],
)
def test_what_cannot_be_meant_is_said(cortex, home, words, told):
    assert told in cortex(home, *words, code=2)[1]


def test_a_damaged_line_is_told_and_costs_no_other(cortex, home):
    [path] = (home / "runs").glob("*.jsonl")
    path.write_bytes(path.read_bytes() + b"{}\n")
    out, err = cortex(home, "--json")
    assert len(ids(out)) == 4
    assert "1 line cannot be read" in err


def test_a_run_is_shown_with_code_calls_console_error_and_reply(cortex, ran):
    [listed] = [json.loads(line) for line in cortex(ran, "--json")[0].splitlines()]
    out, _ = cortex(ran, "show", listed["id"][:6])
    lines = out.splitlines()
    assert lines[0].startswith(f"{listed['id']}  error  ")
    assert any(line.startswith("lent") and "stock" in line for line in lines)
    assert any("matches" in line and "as it was written" in line for line in lines)
    assert '> 4 | throw new TypeError("not " + found);' in lines
    did = lines[lines.index("what it did") : lines.index("error")]
    assert [word for line in did for word in ("ran the code", "first", "call of stock", "then") if word in line] == [
        *("ran the code", "first", "call of stock", "then")
    ]
    assert any("given" in line and "[EMAIL_1]" in line for line in did)
    assert any("gave 3" in line for line in did)
    assert "  | TypeError: not 3" in lines
    assert "  | EXECUTION_ERROR: RuntimeError: TypeError: not 3" in lines
    assert MAIL not in out
    assert any("Secrets were taken out" in line for line in lines)


def test_programs_get_the_same_facts_as_json(cortex, ran):
    [listed] = [json.loads(line) for line in cortex(ran, "--json")[0].splitlines()]
    facts = json.loads(cortex(ran, "show", listed["id"], "--json")[0])
    assert facts["run"] == listed
    assert (facts["code"], facts["standing"], facts["details"]["error"]["line"]) == (CODE, "matches", 4)
    assert [span["name"] for span in facts["spans"]][-2:] == ["ran the code", "stock"]


def test_no_text_of_a_run_controls_the_terminal_or_looks_like_a_part_of_the_page(tmp_path):
    odd = "a\x1b[2J\u202e\nstanding      matches: as it was written\x00"
    call = {"name": odd, "start_ms": 1, "ms": 2, "ok": False, "code": odd, "arguments": odd, "result": odd}
    fetch = {"method": odd, "url": odd, "start_ms": 1, "ms": 2, "refused": odd}
    one = details(
        1,
        outcome="error",
        purpose=odd,
        error_type=odd,
        expected_output=odd,
        conversation=odd,
        model_call_id=odd,
        trace_id=odd,
        origin=odd,
        wall=odd,
        tools_lent=(odd,),
        tools_lent_count=1,
        reply=odd,
        logs=({"level": odd, "text": odd, "at_ms": 1.0},),
        error={"message": odd, "stack": odd, "where": odd, "line": 1},
        calls=(call,),
        requests=(fetch,),
    )
    files = RunFiles(tmp_path / "runs", RunsSettings())
    files.append(line_of(one))
    with HomeRuns.opened(Settings(home=tmp_path)) as runs:
        view = runs.find(one.id)
    assert view is not None
    for width in (20, 80, 200):
        lines = list(page_lines(view, Look(width, lambda text, style: text)))
        assert all("\n" not in line and line.isprintable() for line in lines)
        if width == 200:
            assert [line for line in lines if line.startswith("standing")] == [
                "standing      unknown: the audit has no hash of it: it proves nothing"
            ]


def test_a_home_without_runs_says_so_and_stays_empty(cortex, tmp_path):
    assert cortex(tmp_path) == ("", "No runs are kept here\n")
    assert list(tmp_path.iterdir()) == []


def test_forgetting_a_run_asks_is_recorded_first_and_leaves_the_audit_whole(cortex, ran, tmp_path):
    home = tmp_path / "copy"
    shutil.copytree(ran, home)
    [listed] = [json.loads(line) for line in cortex(home, "--json")[0].splitlines()]
    recordings = home / "runs" / "recordings"
    assert len(list(recordings.iterdir())) == 1
    assert "--yes where nobody can be asked" in cortex(home, "forget", listed["id"], code=2)[1]
    assert json.loads(cortex(home, "forget", listed["id"][:8], "--yes", "--json")[0]) == {"forgotten": [listed["id"]]}
    assert list(recordings.iterdir()) == []
    assert b"pears" not in b"".join(path.read_bytes() for path in (home / "runs").rglob("*") if path.is_file())
    out, _ = cortex(home, "show", listed["id"])
    assert "forgotten" in out
    assert "a run with this hash was there" in out
    assert run_command(["audit", "verify", "--home", str(home)]) == 0
    audit = Audit(home / "audit", AuditSettings())
    [record] = [record for record in audit.records() if record.facts.get("what") == "runs forget"]
    audit.close()
    assert (record.kind, record.facts["run"], record.facts["by"]) == ("owner_decision", listed["id"], "owner")
    assert "is forgotten already" in cortex(home, "forget", listed["id"], "--yes", code=3)[1]
    assert "is forgotten" in cortex(home, "export", listed["id"], code=3)[1]


def test_without_a_writable_audit_nothing_is_forgotten(cortex, home):
    (home / "audit").write_text("no folder")
    assert "udit" in cortex(home, "forget", details(0x1A).id, "--yes", code=2)[1]
    assert b"forgotten" not in all_bytes(home / "runs")


def test_all_runs_before_a_date_are_forgotten_together(cortex, home):
    assert cortex(home, "forget", "--before", "2027-01-16T00:00+00:00", "--yes")[0] == "3 runs forgotten\n"
    rows = [json.loads(line) for line in cortex(home, "--json")[0].splitlines()]
    assert [row["outcome"] for row in rows] == ["ok", "forgotten", "forgotten", "forgotten"]
    assert cortex(home, "forget", "--before", "2020-01-01", "--yes", code=3)[1].endswith("is that old\n")


@pytest.mark.parametrize("words", [(), ("1a", "--before", "2027-01-01")])
def test_forget_needs_to_know_what(cortex, home, words):
    assert "say what to forget" in cortex(home, "forget", *words, "--yes", code=2)[1]


def test_an_exported_run_has_no_planted_secret_and_is_read_again(cortex, tmp_path):
    secrets = ("ada@corp.example", "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2, "hunter2secret")
    code = f"""// for {secrets[0]}
console.log("key is", context.key, "{secrets[1]}");
const found = await tools.look({{ mail: context.mail, password: context.password }});
throw new Error("no " + context.mail + " " + found.key);"""
    context = {"mail": secrets[0], "key": secrets[1], "password": secrets[2]}

    async def run() -> None:
        cortex = keeping_cortex(tmp_path / "home", runs={"keep_arguments": True})

        @cortex.toolbox.tool
        async def look(mail: str, password: str) -> dict[str, str]:
            return {"mail": mail, "password": password, "key": secrets[1]}

        async with cortex, cortex.turn() as turn:
            await turn.execute_code({"code": code, "context": context})

    anyio.run(run)
    [listed] = [json.loads(line) for line in cortex(tmp_path / "home", "--json")[0].splitlines()]
    path = tmp_path / "run.json"
    _, err = cortex(tmp_path / "home", "export", listed["id"], "-o", str(path))
    assert "Secrets were taken out of its code" in err
    data = path.read_bytes()
    bundle = read_bundle(data)
    assert [secret for secret in secrets if secret.encode() in data] == []
    assert bundle.recording is not None
    assert (bundle.details.id, bundle.recording.calls[0].name) == (listed["id"], "look")
    assert path.stat().st_mode & 0o777 == 0o600
    assert "is there already" in cortex(tmp_path / "home", "export", listed["id"], "-o", str(path), code=2)[1]
    assert "is not kept" in cortex(home_without_code(tmp_path), "export", details(1).id, code=2)[1]


def home_without_code(folder):
    files = RunFiles(folder / "other" / "runs", RunsSettings())
    files.append(line_of(details(1)))
    files.close()
    return folder / "other"


@pytest.mark.parametrize(
    ("count", "told"),
    [(None, ""), (12, "12 B"), (2_048, "2.0 KiB"), (1_238_126, "1.2 MiB"), (2_000_000, "1.9 MiB")],
)
def test_a_size_is_told_with_one_digit_behind_the_point(count, told):
    assert size_of(count) == told


@pytest.mark.parametrize(
    ("count", "words"), [(1, "1 answer that it was given is not in"), (3, "3 of its answers are not in")]
)
def test_a_replay_that_lacks_answers_says_so_with_the_room_of_a_recording(count, words):
    recording = RunRecording(run="r", code_hash="0" * 64, at=NOON, seed=1, left_out=count)
    [told] = missing_of(details(), recording)
    assert told.startswith(f"{words} the recording, which takes 256 KiB at most")


@pytest.mark.parametrize("words", [("runs",), ("runs", "open"), ("replay", "1a2b")])
def test_a_home_that_is_a_file_or_that_others_can_write_to_is_refused(tmp_path, capsys, words):
    file = tmp_path / "file"
    file.write_text("no home")
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    for home, told in ((file, "it is a file and not a folder"), (open_to_all, "others may write there")):
        assert run_command([*words, "--home", str(home)]) == 2
        out, error = capsys.readouterr()
        assert out == ""
        assert error.startswith(f"cortex {words[0]}: ")
        assert told in error
