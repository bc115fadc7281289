"""`cortex replay` as the owner finds it: exit codes, what differs, what if, and a file from another machine."""

from __future__ import annotations

import json
import shutil

import anyio
import pytest

from cortex.audit import code_hash
from cortex.commands import run_command
from cortex.runs import RunBundle, RunReader, bundle_bytes
from neurons import KillSwitch
from tests.cortex.runs.support import details, keeping_cortex, line_of

pytestmark = pytest.mark.deno

CODE = """const found = await tools.stock({ item: context.item });
console.log("found \\u202e", found);
return found + Math.random();"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    home = tmp_path_factory.mktemp("ran")

    async def run() -> None:
        cortex = keeping_cortex(home)

        @cortex.toolbox.tool
        async def stock(item: str) -> int:
            return 3

        async with cortex, cortex.turn() as turn:
            await turn.execute_code({"code": CODE, "context": {"item": "pears"}})

    anyio.run(run)
    [one] = RunReader(home / "runs").after()
    return home, one.id


@pytest.fixture
def cortex(capsys):
    def run(home, *arguments: str, code: int = 0) -> tuple[str, str]:
        assert run_command(["replay", *arguments, "--home", str(home)]) == code
        told = capsys.readouterr()
        return told.out, told.err

    return run


def test_a_replay_says_that_the_same_came_of_it(cortex, ran):
    home, run = ran
    out, _ = cortex(home, run[:8])
    assert out == f"same  run {run}: outcome, calls, requests, console and reply\n"
    facts = json.loads(cortex(home, run, "--json")[0])
    assert (facts["run"], facts["verdict"], facts["differences"], facts["ran"]) == (run, "same", [], True)


def test_what_if_shows_what_would_differ_and_the_reply(cortex, ran):
    home, run = ran
    out, _ = cortex(home, run, "--tool", "stock=error", code=1)
    lines = out.splitlines()
    assert lines[0].startswith("differs  ")
    assert "call 1: on record stock: ok; now stock: tool_error" in lines
    assert "what the model would have read" in lines
    assert any(line.startswith("  | EXECUTION_ERROR: ToolError: stock fails in this replay") for line in lines)
    assert all(line.isprintable() for line in lines)
    out, _ = cortex(home, run, "--level", "0.01", code=1)
    assert "would not have run" in out
    assert "  | EXECUTION_DENIED: Insufficient energy" in out


def test_what_if_the_policies_of_another_file_had_been_in_force(cortex, ran, tmp_path):
    home, run = ran
    policy = tmp_path / "other.toml"
    policy.write_text('[tools.policies]\nstock = "deny"\n')
    out, _ = cortex(home, run, "--policy", str(policy), code=1)
    assert "stock: the policies refuse it" in out.splitlines()
    policy.write_text('[tools.policies]\nstock = "ask"\n')
    out, _ = cortex(home, run, "--policy", str(policy))
    assert "stock: you would have been asked" in out.splitlines()


def test_an_exported_run_is_replayed_on_another_machine(cortex, ran, tmp_path, capsys):
    home, run = ran
    path = tmp_path / "run.json"
    assert run_command(["runs", "export", run, "-o", str(path), "--home", str(home)]) == 0
    (tmp_path / "other").mkdir()
    assert cortex(tmp_path / "other", str(path))[0].startswith("same  ")
    assert list((tmp_path / "other").rglob("*.jsonl")) == []
    path.write_bytes(path.read_bytes().replace(b"pears", b"beans"))
    assert "was changed after it was exported" in cortex(tmp_path / "other", str(path), code=2)[1]


@pytest.mark.parametrize(
    "hostile",
    [
        {"tier": "\x1b[31mroot"},
        {"seed": 10**400},
    ],
    ids=["tier", "seed"],
)
def test_details_that_somebody_made_up_are_refused_in_one_line(cortex, tmp_path, hostile):
    code = "return 1"
    facts = {"code_hash": code_hash(code), "seed": 1, "clock_ms": 1e12}
    made_up = RunBundle(details=details(1, **facts).model_copy(update=hostile), code=code)
    path = tmp_path / "run.json"
    path.write_bytes(bundle_bytes(made_up))
    out, err = cortex(tmp_path, str(path), code=2)
    assert (out, err) == (
        "",
        f'cortex replay: "{path}" cannot be replayed: its record says what no run can have been: it is damaged\n',
    )


def test_the_name_of_a_run_of_a_file_is_no_second_verdict(cortex, tmp_path):
    made_up = RunBundle(details=details(1, id="x\nsame  run y", code_hash=code_hash("return 1")), code="return 1")
    path = tmp_path / "run.json"
    path.write_bytes(bundle_bytes(made_up))
    out, _ = cortex(tmp_path, str(path), code=1)
    assert [line for line in out.splitlines() if "run" in line] == [
        "differs  run x same run y: outcome, calls, requests, console and reply"
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("zz",), "there is no such run"),
        (("RUN", "--tool", "nothing=error"), "the run was not lent that function; it was lent: stock"),
        (("RUN", "--policy", "missing.toml"), "missing.toml"),
    ],
)
def test_what_cannot_be_replayed_is_an_error(cortex, ran, words, told):
    home, run = ran
    assert told in cortex(home, *(run if word == "RUN" else word for word in words), code=2)[1]


@pytest.mark.parametrize("words", [("--tool", "stock"), ("--tool", "=error"), ("--level", "2"), ("--level", "nan")])
def test_what_if_is_read_strictly(cortex, ran, words, capsys):
    with pytest.raises(SystemExit):
        run_command(["replay", "x", *words, "--home", str(ran[0])])


def test_a_run_without_its_code_says_what_is_missing(cortex, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "2027-01-15.jsonl").write_bytes(line_of(details(1)))
    assert "cannot be replayed: its code was not kept" in cortex(tmp_path, details(1).id, code=2)[1]


def test_nothing_is_replayed_while_the_kill_switch_is_on(cortex, ran, tmp_path):
    home, run = ran
    shutil.copytree(home, tmp_path / "home")
    KillSwitch(tmp_path / "home" / "state").turn_on("a test", by="owner")
    assert "kill" in cortex(tmp_path / "home", run, code=3)[1].lower()
