"""Files in a turn: what a run changes is asked about, committed or only shown, as the owner wants, and told."""

from __future__ import annotations

import json

import anyio
import pytest

from cortex import Decision, Folder, MotorCortex, ScriptedOwner, Settings
from cortex.audit import AuditError
from cortex.chat import load_toolbox
from cortex.contracts import ExecutionEnded, FilesChanged
from cortex.settings import load_settings
from cortex.settings.sections import EnergySettings, ExecuteSettings, ToolSettings
from cortex.tools import COMMIT, describe
from sandbox import (
    Change,
    Changes,
    ErrorType,
    ExecutionError,
    ExecutionOutcome,
    SandboxSettings,
    WorkspaceError,
    WorkspaceLimits,
)
from sandbox.testing import ScriptedRuntime

EDIT = """
const text = await Deno.readTextFile("a.txt");
await Deno.writeTextFile("a.txt", text.replace("two", "2"));
await Deno.writeTextFile("new.txt", "mail to anna.smith@example.com\\n");
await Deno.remove("old.txt");
return "done";
"""
LISTED = "changed a.txt (8 to 6 bytes)\nadded new.txt (31 bytes)\nremoved old.txt (3 bytes)"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "granted"
    made.mkdir()
    (made / "a.txt").write_text("one\ntwo\n")
    (made / "old.txt").write_text("old")
    return made


def contents(folder):
    """The files by name, but for what Python keeps of a module that it has imported from there."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


def cortex(home, folder=None, commit="ask", *, owner=None, runtime=None, **sections):
    sections.setdefault("energy", EnergySettings(cost_isolated=0, recharge_per_minute=0))
    sections.setdefault("sandbox", SandboxSettings(pool_size=0))
    # So much time that no machine is too slow.
    sections.setdefault("execute", ExecuteSettings(max_calls_per_turn=20, max_timeout_isolated_ms=60_000))
    settings = Settings(home=home / "home", **sections)
    workspace = None if folder is None else Folder(folder, commit)
    return MotorCortex(settings, owner=owner, runtime=runtime, workspace=workspace)


async def ran(place, code=EDIT, **turn):
    async with place, place.turn(**turn) as one:
        return await one.call("core.execute", {"purpose": "tidy up", "code": code})


def records(place, kind):
    return [record.facts for record in place.audit.records() if record.kind == kind]


async def test_the_owner_sees_the_list_and_the_differences_and_answers_once_for_the_run(tmp_path, folder):
    owner = ScriptedOwner([True])
    text = await ran(cortex(tmp_path, folder, owner=owner))
    # The reply is redacted; the files are not.
    assert text == f'"done"\nFiles written: 1 added, 1 changed, 1 removed\n{LISTED}'
    assert contents(folder) == {"a.txt": "one\n2\n", "new.txt": "mail to anna.smith@example.com\n"}
    [question] = owner.questions
    assert (question.tool, question.origin) == (COMMIT, "code")
    assert describe(question) == "\n".join(
        [
            f"Code that the agent wrote wants to change files in {folder}",
            "  its purpose, in its own words: tidy up",
            "  removed old.txt (3 bytes)",
            "  changed a.txt (8 to 6 bytes)",
            "  added new.txt (31 bytes)",
            "  the differences:",
            "  | removed old.txt",
            "  |   all of its 3 bytes",
            "  | changed a.txt",
            "  | @@ 1",
            "  |   one",
            "  | - two",
            "  | + 2",
            "  | added new.txt",
            "  | @@ 1",
            "  | + mail to anna.smith@example.com",
        ]
    )


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([False], "the owner was asked about changing files and said no"),
        ([Decision(False, "not the\nold one")], "and said no: not the old one"),
        ([None], "no answer within 0.05 s"),
        (None, "no owner can be asked here"),
    ],
    ids=["no", "reason", "silence", "nobody"],
)
async def test_without_a_yes_nothing_changes_and_the_model_is_told(tmp_path, folder, answers, reason):
    before = contents(folder)
    owner = None if answers is None else ScriptedOwner(answers)
    # Only silence runs into the clock: whoever answers has answered long before.
    settings = ToolSettings(owner_timeout_s=0.05 if answers == [None] else 60)
    text = await ran(cortex(tmp_path, folder, owner=owner, tools=settings))
    first, head, *lines = text.split("\n")
    assert (first, "\n".join(lines)) == ('"done"', LISTED)
    assert head.startswith("Files not written: 1 added, 1 changed, 1 removed (")
    assert reason in head
    assert contents(folder) == before


async def test_auto_commits_what_succeeded_without_a_question(tmp_path, folder):
    owner = ScriptedOwner()
    text = await ran(cortex(tmp_path, folder, "auto", owner=owner))
    assert "Files written" in text
    assert contents(folder)["a.txt"] == "one\n2\n"
    assert owner.questions == []


async def test_never_only_shows(tmp_path, folder):
    before, owner = contents(folder), ScriptedOwner([True])
    text = await ran(cortex(tmp_path, folder, "never", owner=owner))
    assert "Files not written: 1 added, 1 changed, 1 removed (changes are only shown here)" in text
    assert contents(folder) == before
    assert owner.questions == []


@pytest.mark.parametrize("end", ["throw new Error('no')", "Deno.exit(3)", "while (true) {}"])
async def test_a_run_that_failed_changes_nothing_and_says_so(tmp_path, folder, end):
    before, owner = contents(folder), ScriptedOwner([True])
    place = cortex(tmp_path, folder, "auto", owner=owner, execute=ExecuteSettings(max_timeout_isolated_ms=1_000))
    text = await ran(place, f"await Deno.writeTextFile('a.txt', 'x'); {end}")
    assert text.startswith("EXECUTION_")
    assert text.endswith("\nNo file was changed.")
    assert contents(folder) == before
    assert records(place, "files") == []


async def test_a_run_without_changes_says_nothing_of_files(tmp_path, folder):
    owner = ScriptedOwner()
    assert await ran(cortex(tmp_path, folder, owner=owner), "return await Deno.readTextFile('old.txt')") == '"old"'
    assert owner.questions == []


async def test_a_conflict_is_told_and_nothing_of_it_is_written(tmp_path, folder):
    class Meddling(ScriptedOwner):
        async def decide(self, question):
            (folder / "a.txt").write_text("by another hand")
            return Decision(True)

    text = await ran(cortex(tmp_path, folder, owner=Meddling()))
    assert "Files not written" in text
    assert 'Cannot commit: "a.txt"' in text
    assert "Look at it again" in text
    assert contents(folder) == {"a.txt": "by another hand", "old.txt": "old"}


async def test_a_folder_that_is_gone_is_told_without_its_place(tmp_path, folder):
    class Meddling(ScriptedOwner):
        async def decide(self, question):
            folder.rename(tmp_path / "moved")
            folder.mkdir()
            return Decision(True)

    text = await ran(cortex(tmp_path, folder, owner=Meddling()))
    assert "/workspace" in text
    assert str(folder) not in text


async def test_two_runs_at_once_that_change_the_same_file_do_not_both_win(tmp_path, folder):
    async with cortex(tmp_path, folder, "auto") as place, place.turn() as turn:
        answers = []

        async def one(number):
            code = (
                f"await Deno.readTextFile('a.txt'); await Deno.writeTextFile('a.txt', 'by {number}'); return {number}"
            )
            answers.append(await turn.call("core.execute", {"purpose": "x", "code": code}))

        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(one, number)
    written = [answer for answer in answers if "Files written" in answer]
    assert written
    assert contents(folder)["a.txt"] == f"by {written[-1][0]}"
    assert all("Files written" in answer or "Cannot commit" in answer for answer in answers)


async def test_a_folder_of_a_turn_takes_the_place_of_that_of_the_cortex(tmp_path, folder):
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text("other")
    code = "const names = []; for await (const { name } of Deno.readDir('.')) names.push(name); return names.sort()"
    async with cortex(tmp_path, folder) as place:
        for given, names in ((None, ["a.txt", "old.txt"]), (Folder(other), ["b.txt"])):
            async with place.turn(workspace=given) as turn:
                assert json.loads(await turn.call("core.execute", {"purpose": "x", "code": code})) == names
    text = await ran(cortex(tmp_path), "return await Deno.readTextFile('a.txt')")
    assert text.startswith("EXECUTION_ERROR: PermissionError")


async def test_a_table_of_five_megabytes_is_read_and_added_up_within_the_limits(tmp_path, folder):
    rows = "".join(f"{number},item {number},{number % 100},some words to fill the line\n" for number in range(110_000))
    assert 5_000_000 < len(rows) < 6_000_000
    (folder / "sales.csv").write_text(rows)
    code = """
    const text = await Deno.readTextFile("sales.csv");
    return text.trim().split("\\n").reduce((sum, line) => sum + Number(line.split(",")[2]), 0);
    """
    place = cortex(tmp_path, folder, execute=ExecuteSettings())
    assert await ran(place, code) == str(sum(number % 100 for number in range(110_000)))


async def test_the_audit_has_counts_and_hashes_and_neither_names_nor_contents(tmp_path, folder):
    owner = ScriptedOwner([True, False])
    place = cortex(tmp_path, folder, owner=owner)
    async with place:
        for _ in range(2):
            (folder / "a.txt").write_text("one\ntwo\n")
            (folder / "old.txt").write_text("old")
            async with place.turn() as turn:
                await turn.call("core.execute", {"purpose": "tidy up", "code": EDIT})
    begun, made, refused = records(place, "files")
    assert [facts["what"] for facts in (begun, made, refused)] == [
        "files committing",
        "files committed",
        "files not committed",
    ]
    assert (made["added"], made["changed"], made["removed"]) == (1, 1, 1)
    assert len(made["content_hashes"]) == 2
    assert made["changes_hash"] == begun["changes_hash"] != ""
    assert "said no" in refused["reason"]
    assert [facts["allowed"] for facts in records(place, "owner_decision")] == [True, False]
    whole = json.dumps([record.facts for record in place.audit.records()])
    for text in ("a.txt", "old.txt", "new.txt", "anna", "two"):
        assert text not in whole


async def test_what_cannot_be_written_down_is_not_committed(tmp_path, folder, monkeypatch):
    before = contents(folder)
    place = cortex(tmp_path, folder, "auto")
    record = place.audit.record

    def full(kind, **facts):
        if kind == "files":
            raise AuditError("The disk is full")
        return record(kind, **facts)

    monkeypatch.setattr(place.audit, "record", full)
    text = await ran(place)
    assert "Files not written" in text
    assert "The disk is full" in text
    assert contents(folder) == before


async def test_the_kill_switch_that_is_turned_during_the_question_wins(tmp_path, folder):
    before = contents(folder)

    class Killing(ScriptedOwner):
        async def decide(self, question):
            place.switch.turn_on("enough", by="owner")
            return Decision(True)

    place = cortex(tmp_path, folder, owner=Killing())
    text = await ran(place)
    assert "Files not written" in text
    assert contents(folder) == before


async def test_a_turn_that_is_cancelled_during_the_question_changes_nothing_and_is_written_down(tmp_path, folder):
    before = contents(folder)
    owner = ScriptedOwner([None])
    async with cortex(tmp_path, folder, owner=owner) as place:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks, place.turn() as turn:
                tasks.start_soon(turn.call, "core.execute", {"purpose": "x", "code": EDIT})
                while not owner.questions:
                    await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()
        [facts] = records(place, "files")
        [execution] = records(place, "execution")
    assert facts["what"] == "files not committed"
    assert execution["reply_code"] == "CANCELLED"
    assert contents(folder) == before


async def test_what_git_would_run_is_asked_about_also_with_auto(tmp_path, folder):
    (folder / ".git").mkdir()
    code = "await Deno.writeTextFile('.git/config', '[core]\\nfsmonitor = evil\\n'); return 1"
    owner = ScriptedOwner([False])
    assert "said no" in await ran(cortex(tmp_path, folder, "auto", owner=owner), code)
    assert "fsmonitor" in describe(owner.questions[0])
    assert contents(folder / ".git") == {}


async def test_a_git_repository_of_any_name_is_asked_about_also_with_auto(tmp_path, folder):
    plant = """
    for (const name of ["x/objects", "x/refs"]) await Deno.mkdir(name, { recursive: true });
    await Deno.writeTextFile("x/HEAD", "ref: refs/heads/main\\n");
    await Deno.writeTextFile("x/config", "[core]\\n\\tworktree = .\\n\\tfsmonitor = touch evil\\n");
    return 1"""
    owner = ScriptedOwner([False, False])
    assert "said no" in await ran(cortex(tmp_path, folder, "auto", owner=owner), plant)
    assert not (folder / "x").exists()
    # And one that is there already.
    (folder / "kept" / "hooks").mkdir(parents=True)
    (folder / "kept" / "HEAD").write_text("ref: refs/heads/main\n")
    hook = "await Deno.writeTextFile('kept/hooks/post-update', 'touch evil'); return 1"
    assert "said no" in await ran(cortex(tmp_path, folder, "auto", owner=owner), hook)
    assert contents(folder / "kept" / "hooks") == {}
    assert len(owner.questions) == 2


@pytest.mark.parametrize("name", ["cortex.toml", "conf/secrets.env", "conf/tools.py"])
async def test_files_that_decide_what_the_cortex_does_are_asked_about_also_with_auto(tmp_path, folder, name):
    (folder / "conf").mkdir()
    config, secrets, tools = folder / "cortex.toml", folder / "conf/secrets.env", folder / "conf/tools.py"
    config.write_text(f'[sandbox.network]\nsecrets_file = "{secrets}"\n[tools.policies]\n"mail.send" = "deny"\n')
    secrets.write_text("A=1\n")
    tools.write_text("from cortex import Toolbox\ntoolbox = Toolbox()\n@toolbox.tool\ndef one() -> int: return 1\n")
    before = contents(folder)
    settings = load_settings(config, {}, tmp_path / "home", energy={"cost_isolated": 0}, sandbox={"pool_size": 0})
    owner = ScriptedOwner([False, False])
    toolbox = load_toolbox(f"{tools}:toolbox")
    writes = f"await Deno.writeTextFile('{name}', ''); return 1"
    moves = f"await Deno.rename('{name.split('/')[0]}', 'other'); return 1"
    for code in (writes, moves):
        place = MotorCortex(settings, owner=owner, toolbox=toolbox, workspace=Folder(folder, "auto"))
        assert "said no" in await ran(place, code)
    assert contents(folder) == before
    free = MotorCortex(settings, owner=owner, toolbox=toolbox, workspace=Folder(folder, "auto"))
    assert "Files written" in await ran(free, "await Deno.writeTextFile('conf/other.txt', ''); return 1")
    assert len(owner.questions) == 2


@pytest.mark.parametrize("where", ["above", "the same", "inside", "through a link"])
async def test_the_home_of_the_cortex_is_never_in_a_workspace(tmp_path, where):
    home = tmp_path / "home"
    (home / "state").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    place = {"above": tmp_path, "the same": home, "inside": home / "state", "through a link": tmp_path / "link"}[where]
    with pytest.raises(WorkspaceError, match="the home of the cortex"):
        cortex(tmp_path, place)
    async with cortex(tmp_path, runtime=ScriptedRuntime([])) as opened:
        with pytest.raises(WorkspaceError, match="the home of the cortex"):
            opened.turn(workspace=Folder(place))


def test_a_folder_is_checked_when_it_is_named(tmp_path):
    with pytest.raises(WorkspaceError, match="No such file"):
        Folder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="commit is one of ask, auto, never, not 'always'"):
        Folder(tmp_path, "always")  # type: ignore[arg-type]


async def test_a_run_with_files_is_never_answered_from_the_cache(tmp_path, folder):
    async with cortex(tmp_path, folder, "auto") as place, place.turn() as turn:
        for content in ("first", "second"):
            (folder / "a.txt").write_text(content)
            run = {"purpose": "x", "code": "return await Deno.readTextFile('a.txt')"}
            assert await turn.call("core.execute", run) == f'"{content}"'
        for _ in range(2):
            await turn.call("core.execute", {"purpose": "x", "code": "return 1 + 1"})
    assert not any(facts.get("cached") for facts in records(place, "execution"))


async def test_names_that_hold_secrets_are_redacted_for_the_model(tmp_path, folder):
    code = "await Deno.writeTextFile('anna.smith@example.com', 'x'); return 1"
    async with cortex(tmp_path, folder, "auto") as place, place.turn() as turn:
        answer = await turn.execute_code({"code": code})
    assert "anna" not in answer.text + json.dumps(answer.structured)
    assert contents(folder)["anna.smith@example.com"] == "x"


async def test_a_program_gets_the_changes_in_parts(tmp_path, folder):
    async with cortex(tmp_path, folder, "auto") as place, place.turn() as turn:
        shown = await turn.execute_code({"code": EDIT, "sandbox_config": {"allowWrite": False}})
        made = await turn.execute_code({"code": EDIT, "sandbox_config": {"allowedReadPaths": ["/workspace"]}})
        for wrong in ({"allowedReadPaths": ["/etc"]}, {"allowedReadPaths": 5}):
            refused = await turn.execute_code({"code": EDIT, "sandbox_config": wrong})
            assert refused.structured["error"]["type"] == "EXECUTION_DENIED"
    changes = [
        {"kind": "changed", "path": "a.txt", "size": 6},
        {"kind": "added", "path": "new.txt", "size": 31},
        {"kind": "removed", "path": "old.txt", "size": None},
    ]
    assert shown.structured["files"] == {
        "committed": False,
        "changes": changes,
        "count": 3,
        "reason": "changes are only shown here",
    }
    assert made.structured["files"] == {"committed": True, "changes": changes, "count": 3}


async def test_changes_beyond_the_limits_are_refused_to_the_code_and_nothing_is_written(tmp_path, folder):
    small = Folder(folder, "auto", WorkspaceLimits(max_files=3))
    code = "for (let n = 0; n < 9; n++) await Deno.writeTextFile(`${n}`, 'x'); return 1"
    text = await ran(cortex(tmp_path), code, workspace=small)
    assert "More than 3 files and folders would be changed" in text
    assert contents(folder) == {"a.txt": "one\ntwo\n", "old.txt": "old"}


async def test_changes_of_a_runtime_that_is_not_ours_are_settled_too(tmp_path, folder):
    """A name that ours would not let through does no harm either."""
    changes = Changes([Change("added", "a\n\x1b[2J\u202e", size=1)])
    error = ExecutionError(ErrorType.RUNTIME, "no")
    failed = ExecutionOutcome(ok=False, error=error, changes=Changes([Change("added", "b")]))
    outcome = ExecutionOutcome(ok=True, result=1, changes=changes)
    place = cortex(tmp_path, folder, "auto", runtime=ScriptedRuntime([outcome, failed]))
    async with place, place.turn() as turn:
        run = {"purpose": "x", "code": "return 1"}
        text = await turn.call("core.execute", run)
        assert (await turn.call("core.execute", run)).endswith("No file was changed.")
    assert text.split("\n") == ["1", "Files written: 1 added", 'added "a\\n\\u001b[2J\\u202e" (1 bytes)']
    assert changes.state == "committed"
    assert failed.changes.state == "rolled back"


async def test_listeners_hear_of_the_changes_and_no_content_stays_in_memory(tmp_path, folder):
    heard = []
    async with cortex(tmp_path, folder, "never") as place:
        end = place.subscribe(heard.append)
        async with place.turn() as turn:
            await turn.call("core.execute", {"purpose": "x", "code": EDIT})
        end()
    [told] = [event for event in heard if isinstance(event, FilesChanged)]
    assert (told.state, dict(told.counts)) == ("not committed", {"added": 1, "changed": 1, "removed": 1})
    [ended] = [event for event in heard if isinstance(event, ExecutionEnded)]
    assert ended.outcome.changes.state == "rolled back"
    assert {file.after for file in await ended.outcome.changes.files()} == {None}


def test_one_line_of_the_description_says_that_files_are_there(tmp_path, folder):
    with_files, without = cortex(tmp_path, folder), cortex(tmp_path)
    [told, not_told] = [place.openai_tools()[0]["function"]["description"] for place in (with_files, without)]
    assert "/workspace" in told
    assert "No import, require, process." in told
    assert "/workspace" not in not_told
    assert "process or files" in not_told
    assert without.openai_tools(files=True) == with_files.openai_tools() == cortex(tmp_path, folder).openai_tools()
    assert len(told) - len(not_told) < 150
