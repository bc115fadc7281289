"""`python -m examples.mcp_story` as a person finds it: what it promises is looked for in what it prints. Most tests share one run."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from cortex import Decision, Question
from cortex.demo import Page
from cortex.models import ScriptError
from cortex.text import columns_of
from examples.mcp_story.accounts import Account, table, verdict
from examples.mcp_story.owner import PageOwner
from examples.mcp_story.plain import plain_client
from examples.mcp_story.scenes import load_scenes
from examples.mcp_story.settings import story_servers
from examples.mcp_story.story import tell
from sandbox import SandboxSettings
from tests.conftest import descendants
from tests.documents import CODE_MODE, ROOT

STORY = [sys.executable, "-m", "examples.mcp_story"]
# Only what hangs takes so long, on a slow machine too.
BOUND_S = 300
# Of an owner who allows nothing: the story must be the same.
STRICT = {
    "CORTEX_ENERGY__INITIAL_LEVEL": "0",
    "CORTEX_EXECUTE__MAX_CALLS_PER_TURN": "0",
    "CORTEX_LOOP__MAX_ROUNDS": "1",
    "CORTEX_SANDBOX__MAX_TOOL_CALLS": "0",
    "CORTEX_REDACTION__ENABLED": "false",
    "CORTEX_TOOLS__POLICIES": "commit-log.list_commits=deny",
}
RULE = re.compile(r"^[-─]{80}\n", re.M)
ROWS = {
    "definitions": "tool definitions",
    "written": "calls, written",
    "read": "results, read",
    "total": "bytes in the context",
    "tokens": "tokens, estimated",
    "rounds": "rounds of the model",
}


@dataclass(frozen=True)
class Told:
    code: int
    text: str
    errors: str
    left: list[Path]
    """In its folder for temporary files, and in the owner's home."""

    def scene(self, number: int) -> str:
        """In one line: where lines are broken is a matter of layout."""
        return " ".join(RULE.split(self.text)[number].split())

    def counted(self, number: int) -> dict[str, tuple[int, int]]:
        """Of a scene, by code mode and by plain calls."""
        cells = {name: re.search(rf"{label} ([\d,]+) ([\d,]+)", self.scene(number)) for name, label in ROWS.items()}
        return {name: tuple(int(cell.replace(",", "")) for cell in found.groups()) for name, found in cells.items()}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = tmp_path_factory.mktemp("story")
    environment = {**os.environ, **STRICT, "TMPDIR": str(folder), "CORTEX_HOME": str(folder / "home")}
    done = subprocess.run(
        STORY, cwd=ROOT, capture_output=True, timeout=BOUND_S, env=environment, stdin=subprocess.DEVNULL
    )
    return Told(done.returncode, done.stdout.decode(), done.stderr.decode(), list(folder.rglob("*")))


@pytest.mark.deno
def test_it_succeeds_whatever_the_owner_has_set_and_leaves_nothing(told):
    assert (told.code, told.errors, told.left) == (0, "", [])
    assert [part[:3] for part in RULE.split(told.text)[1:]] == ["1. ", "2. ", "3. ", "4. ", "Wha"]
    assert "Audit chain whole" in told.scene(5)


@pytest.mark.deno
def test_it_counts_what_the_page_about_code_mode_says(told):
    rows = [row for row in CODE_MODE.rows("What it saves") if row[1].endswith(" bytes")]
    counted = re.findall(r"bytes in the context +([\d,]+) +([\d,]+)", told.text)
    assert [tuple(re.match(r"[\d,]+", cell)[0] for cell in row[1:3]) for row in rows] == counted


@pytest.mark.deno
def test_it_says_first_what_is_scripted_what_is_real_and_how_it_counts(told):
    opening = told.scene(0)
    assert "Scripted what the user and the model say, and the code that the model writes." in opening
    assert "Real two MCP servers" in opening
    assert "Tokens are estimated at 4 bytes each" in opening


@pytest.mark.deno
def test_last_weeks_commits_come_to_a_few_hundred_bytes_instead_of_every_commit(told):
    assert '"total":42,"authors":12' in told.scene(1)
    counted = told.counted(1)
    assert counted["read"][0] < 4_000
    assert counted["read"][1] > 50_000
    assert counted["total"][0] * 5 < counted["total"][1]


@pytest.mark.deno
def test_the_whole_log_stays_out_of_the_context(told):
    counted = told.counted(2)
    assert counted["read"][1] > 1_150_000
    assert counted["total"][0] * 100 < counted["total"][1]
    assert re.search(r"Code mode put [\d,]+ bytes less into the context, which is 99\.\d\d %", told.scene(2))


@pytest.mark.deno
def test_a_small_case_in_which_a_plain_call_wins_is_told_as_such(told):
    counted = told.counted(3)
    assert counted["written"][0] + counted["read"][0] > counted["written"][1] + counted["read"][1]
    assert counted["rounds"] == (4, 2)
    assert "A plain call" in told.scene(3)


@pytest.mark.deno
def test_what_is_counted_adds_up(told):
    for number in (1, 2, 3):
        counted = told.counted(number)
        for way in (0, 1):
            parts = [counted[name][way] for name in ("definitions", "written", "read")]
            assert sum(parts) == counted["total"][way]
            assert counted["tokens"][way] == round(sum(parts) / 4)


@pytest.mark.deno
def test_addresses_of_people_do_not_reach_the_model(told):
    assert "[EMAIL_" in told.scene(1)
    assert "@" not in told.text


@pytest.mark.deno
def test_without_consent_a_ticket_stays_open_and_code_catches_the_refusal(told):
    scene = told.scene(4)
    assert "Nobody is at a terminal, and that is a no." in scene
    assert '"server":"ticket-desk","tool":"close_ticket","code":"denied"' in scene
    assert "You did not agree: T-017 stays open" in scene
    assert "You agreed" not in scene


@pytest.mark.deno
def test_no_line_is_wider_than_the_page(told):
    assert max(columns_of(line) for line in told.text.splitlines()) <= 80


@pytest.mark.deno
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_with_yes_the_ticket_is_closed(anyio_backend):
    stream = io.StringIO()
    assert await tell(SandboxSettings(), stream, says_yes=True, scenes=load_scenes()[-1:])
    assert "--yes agrees for you." in stream.getvalue()
    assert '{"status":"closed"}' in stream.getvalue()
    assert "You agreed: T-017 is closed" in stream.getvalue()
    assert "You did not agree" not in stream.getvalue()


async def test_whoever_leaves_at_the_question_leaves_a_whole_line():
    reading, writing = os.pipe()
    page = Page(io.StringIO())
    with os.fdopen(reading) as keyboard, os.fdopen(writing, "w"):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(PageOwner(page, keyboard).decide, Question("desk.close", {}, "code"))
            with anyio.fail_after(BOUND_S):
                while not page.stream.getvalue().endswith("> "):
                    await anyio.sleep(0.001)
            tasks.cancel_scope.cancel()
    assert page.stream.getvalue().endswith("> \n")


@pytest.mark.deno
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_script_that_does_not_fit_stops_the_story_and_every_process(anyio_backend):
    scene = load_scenes()[-1]
    never = scene.steps[1].model_copy(update={"expect": "never"})
    wrong = scene.model_copy(update={"steps": (scene.steps[0], never), "refused": never})
    with pytest.raises(ScriptError, match="expects /never/"):
        await tell(SandboxSettings(), io.StringIO(), scenes=[wrong])
    assert [line for line in descendants().values() if "examples.servers" in line] == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_plain_calls_are_real_calls_and_a_failure_ends_them_as_what_it_is(anyio_backend):
    async def made():
        async with plain_client(story_servers()) as client:
            assert (client.tools, client.definitions.count('"type":"function"')) == (8, 8)
            assert '"id":"T-017"' in await client.call("ticket-desk", "get_ticket", {"id": "T-017"})
            await client.call("ticket-desk", "get_ticket", {"id": "T-999"})

    with pytest.raises(ScriptError, match="ticket-desk has no result for get_ticket"):
        await made()
    assert [line for line in descendants().values() if "examples.servers" in line] == []


@pytest.mark.parametrize(
    ("typed", "allowed"), [("yes\n", True), (" YES \n", True), ("y\n", False), ("\n", False), ("", False)]
)
async def test_a_person_at_the_keyboard_agrees_with_yes_and_with_nothing_else(typed, allowed):
    reading, writing = os.pipe()
    os.write(writing, typed.encode())
    os.close(writing)
    with os.fdopen(reading) as keyboard:
        page = Page(io.StringIO())
        decision = await PageOwner(page, keyboard).decide(Question("desk.close", {}, "code"))
        assert decision == Decision(allowed, "" if allowed else "the owner said no")
    assert "Type yes to agree. Anything else is a no." in page.stream.getvalue()


def test_an_account_counts_bytes_and_not_characters():
    account = Account(100).and_call("täst", '{"a":1}', "é").in_rounds(2)
    assert (account.written, account.read, account.total, account.tokens, account.rounds) == (12, 2, 114, 28, 2)


def test_the_verdict_is_for_whoever_put_less_into_the_context():
    small, large = Account(10, 20, 70, 4), Account(1_000, 2_000, 7_000, 2)
    assert verdict(small, large) == (
        "Code mode put 9,900 bytes less into the context, which is 99 %; code mode took 2 more rounds of the model."
    )
    assert verdict(large, small) == "A plain call put 9,900 bytes less into the context, which is 99 %."
    assert verdict(small, small) == "Neither put less into the context."
    assert "which is 99.96 %" in verdict(Account(480), Account(1_200_000))
    assert {len(line) for line in table(small, large, 54)} == {54}


@pytest.mark.parametrize("width", [53, 40, 24])
def test_a_narrow_page_has_two_lines_for_each_count(width):
    lines = list(table(Account(10, 20, 70, 4), Account(1_000, 2_000, 1_200_000, 2), width))
    assert max(map(len, lines)) <= width
    assert lines[1] == "tool definitions"
    assert [line.split() for line in lines if "1,203,000" in line] == [["100", "1,203,000"]]


def test_each_scene_that_is_compared_searches_describes_and_executes():
    for scene in load_scenes():
        calls = [call.name for step in scene.steps for call in step.calls]
        assert calls == (["core_search", "core_describe", "core_execute"] if scene.plain else ["core_execute"])
