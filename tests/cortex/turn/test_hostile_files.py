"""Hostile names, contents and moments, where files are in a turn."""

from __future__ import annotations

import json
import os
import shutil

import anyio
import pytest

from cortex import Decision, ScriptedOwner
from cortex.contracts import OwnerAnswered
from cortex.settings.sections import RedactionSettings
from cortex.tools import COMMIT, describe
from cortex.turn.file_lines import MAX_LINES
from tests.cortex.turn.test_files import contents, cortex, ran, records

KEY = "sk-proj-" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 2
MAIL = "anna.smith@example.com"
CONTROL = ["two\nlines", "esc\x1b[2J", "cr\rover", "a\tb", "\x9b2J", "line\u2028end", "back\u202edrow"]
ODD = ["zero\u200bwidth", "\u200b", "Files written: 9 added", 'quo"te', "e\u0301" * 60]


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "granted"
    made.mkdir()
    (made / "a.txt").write_text("one\ntwo\n")
    return made


async def test_names_with_control_characters_are_refused_to_code(tmp_path, folder):
    (folder / "d").mkdir()
    for name in CONTROL:
        (folder / "d" / name).write_text("x")
        codes = [f"await Deno.writeTextFile({json.dumps(name)}, 'x')", "await Deno.remove('d', { recursive: true })"]
        for code in codes:
            text = await ran(cortex(tmp_path, folder, "auto"), f"{code}; return 1")
            assert "has control characters" in text or "whose name cannot be used here" in text
            assert not {"\x1b", "\r", "\x9b"} & {*text}
        (folder / "d" / name).unlink()
    assert contents(folder) == {"a.txt": "one\ntwo\n"}


async def test_odd_names_stay_on_their_line_in_the_reply_and_in_the_question(tmp_path, folder):
    (folder / "d").mkdir()
    for name in ODD[::2]:
        (folder / "d" / name).write_text("x")
    owner = ScriptedOwner([True])
    write = f"for (const name of {json.dumps(ODD[1::2])}) await Deno.writeTextFile(name, 'x')"
    text = await ran(
        cortex(tmp_path, folder, owner=owner), f"await Deno.remove('d', {{ recursive: true }}); {write}; return 1"
    )
    first, head, *lines = text.split("\n")
    assert (first, head) == ("1", "Files written: 2 added, 4 removed")
    assert len(lines) == 6
    [question] = owner.questions
    shown, asked = describe(question), question.arguments["changes"]
    assert len(asked) == 6
    assert all(line.split(" ")[0] in {"added", "removed"} for line in (*lines, *asked))
    for word in ("\u202e", "\u200b"):
        assert word not in text
        assert word not in shown
    assert all("\n" not in line for line in (*asked, *question.arguments["diff"]))
    assert sorted(os.listdir(folder)) == sorted(["a.txt", *ODD[1::2]])


async def test_secrets_in_contents_and_names_reach_neither_the_model_nor_listeners(tmp_path, folder):
    heard = []
    (folder / "a.txt").write_text(f"key = {KEY}\n")
    code = f"""
    await Deno.writeTextFile("a.txt", "mail {MAIL}\\n");
    await Deno.writeTextFile("{MAIL}", "key = {KEY}\\n");
    await Deno.writeTextFile("{KEY}", "x");
    return 1
    """
    owner = ScriptedOwner([True])
    place = cortex(tmp_path, folder, owner=owner)
    async with place:
        place.subscribe(heard.append)
        async with place.turn(heard.append) as turn:
            text = await turn.call("core.execute", {"purpose": "x", "code": code})
    asked = [event for event in heard if isinstance(event, OwnerAnswered)]
    assert asked
    assert "added" in text
    for secret in (KEY, MAIL):
        assert secret not in text
        assert secret in describe(owner.questions[0])  # the owner decides about what is really there
        assert secret not in json.dumps([event.arguments for event in asked])
    assert all(event.tool == COMMIT and "[EMAIL_1]" in json.dumps(event.arguments) for event in asked)
    # The audit has the hash of what the owner saw.
    assert {facts["arguments_hash"] for facts in records(place, "owner_decision")} == {asked[0].arguments_hash}


async def test_a_secret_of_a_diff_gets_no_token_that_the_model_could_name(tmp_path, folder):
    (folder / "a.txt").write_text(f"mail {MAIL}\n")
    owner = ScriptedOwner([False])
    place = cortex(tmp_path, folder, owner=owner, redaction=RedactionSettings(restore=True))
    async with place, place.turn() as turn:
        await turn.call("core.execute", {"purpose": "x", "code": "await Deno.writeTextFile('a.txt', 'y'); return 1"})
        assert turn._restored({"text": "[EMAIL_1]"}, None) == {"text": "[EMAIL_1]"}


async def test_two_turns_that_write_the_same_file_do_not_both_win(tmp_path, folder):
    class Slow(ScriptedOwner):
        """Says yes to both once both have been asked for."""

        async def decide(self, question):
            started.append(question)
            return Decision(True)

    started: list[object] = []
    answers: dict[int, str] = {}
    async with cortex(tmp_path, folder, owner=Slow()) as place:

        async def one(number: int) -> None:
            code = f"await Deno.readTextFile('a.txt'); await Deno.writeTextFile('a.txt', 'by {number}'); return 1"
            async with place.turn() as turn, place.turn():
                answers[number] = await turn.call("core.execute", {"purpose": "x", "code": code})

        async with place._services.asking, anyio.create_task_group() as tasks:
            for number in range(2):
                tasks.start_soon(one, number)
            with anyio.fail_after(60):
                # Both runs have ended when both wait for the owner.
                while place._services.asking.statistics().tasks_waiting < 2:
                    await anyio.sleep(0.01)
            place._services.asking.release()
            with anyio.fail_after(60):
                while len(answers) < 2:
                    await anyio.sleep(0.01)
            await place._services.asking.acquire()
    won = [number for number, text in answers.items() if "Files written" in text]
    lost = [text for text in answers.values() if "Files not written" in text]
    assert len(won) == len(lost) == 1
    assert 'Cannot commit: "a.txt"' in lost[0]
    assert contents(folder) == {"a.txt": f"by {won[0]}"}


@pytest.mark.parametrize(
    "how", ["changed", "removed", "replaced by a link", "folder vanished", "the new name is taken"]
)
async def test_a_yes_after_the_folder_has_changed_writes_nothing(tmp_path, folder, how):
    outside = tmp_path / "outside.txt"
    outside.write_text("outside")

    class Meddling(ScriptedOwner):
        async def decide(self, question):
            match how:
                case "changed":
                    (folder / "a.txt").write_text("ONE\nTWO\n")
                case "removed":
                    (folder / "a.txt").unlink()
                case "replaced by a link":
                    (folder / "a.txt").unlink()
                    (folder / "a.txt").symlink_to(outside)
                case "folder vanished":
                    shutil.rmtree(folder)
                case _:
                    (folder / "new.txt").write_text("mine")
            return Decision(True)

    code = """
    await Deno.writeTextFile("a.txt", (await Deno.readTextFile("a.txt")).toUpperCase() + "!");
    await Deno.writeTextFile("new.txt", "new"); return 1
    """
    text = await ran(cortex(tmp_path, folder, owner=Meddling()), code)
    assert text.startswith("1\nFiles not written: 1 added, 1 changed (")
    assert str(folder) not in text
    assert outside.read_text() == "outside"
    left = contents(folder) if folder.exists() else {}
    assert "!" not in "".join(left.values())
    assert left.get("new.txt", "mine") == "mine"


async def test_a_thousand_changes_are_ten_lines_and_one_question_and_more_are_refused(tmp_path, folder):
    owner = ScriptedOwner([True])
    code = "for (let i = 0; i < 1000; i++) await Deno.writeTextFile(`f${i}`, 'x'); return 1"
    too_many = await ran(cortex(tmp_path, folder, owner=owner), code.replace("1000", "1001"))
    assert too_many.startswith("EXECUTION_ERROR: LimitError: More than 1000 files and folders would be changed")
    assert len(too_many.splitlines()) < 2 * MAX_LINES
    assert contents(folder) == {"a.txt": "one\ntwo\n"}
    assert owner.questions == []
    text = await ran(cortex(tmp_path, folder, owner=owner), code)
    first, *lines = text.split("\n")
    assert first == "1"
    assert len(lines) <= MAX_LINES
    assert lines[0] == "Files written: 1000 added"
    assert lines[-1].startswith("… and ")
    assert len(owner.questions) == 1
    assert len(describe(owner.questions[0]).splitlines()) < 600
    assert len(os.listdir(folder)) == 1001


async def test_a_binary_file_is_named_and_not_shown_in_the_differences(tmp_path, folder):
    (folder / "a.txt").write_bytes(b"\x00\xff\x1b[2J")
    owner = ScriptedOwner([True])
    code = """
    await Deno.writeFile("a.txt", new Uint8Array([0, 1, 2, 27, 91]));
    await Deno.writeFile("new.bin", new Uint8Array([255, 254, 27, 91, 50, 74])); return 1
    """
    text = await ran(cortex(tmp_path, folder, owner=owner), code)
    assert "Files written: 1 added, 1 changed" in text
    shown = describe(owner.questions[0])
    assert shown.count("(not shown: it is not text)") == 2
    assert "\x1b" not in shown


async def test_never_writes_nothing_whatever_the_code_and_the_owner_say(tmp_path, folder):
    before = contents(folder)
    owner = ScriptedOwner([True] * 9)
    place = cortex(tmp_path, folder, "never", owner=owner)
    async with place, place.turn() as turn:
        for code in ("await Deno.writeTextFile('a.txt', 'x')", "await Deno.remove('a.txt')", "await Deno.mkdir('d')"):
            text = await turn.call("core.execute", {"purpose": "x", "code": f"{code}; return 1"})
            assert "(changes are only shown here)" in text
        again = await turn.call("core.execute", {"purpose": "x", "code": "return await Deno.readTextFile('a.txt')"})
        assert json.loads(again) == "one\ntwo\n"
    assert contents(folder) == before
    assert owner.questions == []
    assert {facts["what"] for facts in records(place, "files")} == {"files not committed"}
