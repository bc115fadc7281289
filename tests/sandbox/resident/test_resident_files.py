"""Files for resident programs: each signal has its own view of the folder, and changes it only by its caller's commit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox import DenoRuntime, ErrorType, Resident, ResidentProgram, Workspace, WorkspaceConflict
from tests.conftest import small

pytestmark = [
    pytest.mark.deno,
    pytest.mark.usefixtures("nothing_left"),
    pytest.mark.parametrize("anyio_backend", ["asyncio"]),
]

GO: list[dict[str, object]] = [{"type": "go", "data": None}]
APPEND = 'await Deno.writeTextFile("log.txt", `${signal.data}\\n`, { append: true });'
WRITES = """
const said = [];
for (const write of [
  () => Deno.writeTextFile("new.txt", "x"),
  () => Deno.writeTextFile("a.txt", "x", { append: true }),
  () => Deno.mkdir("d"),
  () => Deno.remove("a.txt"),
  () => Deno.rename("a.txt", "b.txt"),
  () => Deno.copyFile("a.txt", "b.txt"),
  () => Deno.writeTextFileSync("new.txt", "x"),
]) {
  try {
    await write();
    said.push("written");
  } catch (error) {
    said.push(`${error.name}: ${error.message}`);
  }
}
emit("said", [said, await Deno.readTextFile("a.txt"), Deno.cwd()]);
"""


@asynccontextmanager
async def resident(code: str, workspace: Workspace | None, **limits: object) -> AsyncIterator[Resident]:
    program = ResidentProgram(code=code, **{"timeout_ms": 5000, **limits})
    async with (
        DenoRuntime(small(pool_size=0)) as runtime,
        runtime.resident(program, workspace=workspace) as opened,
    ):
        yield opened


def given(data: object) -> list[dict[str, object]]:
    return [{"type": "go", "data": data}]


async def test_each_signal_sees_the_folder_as_it_is_then_and_proposes_changes_of_its_own(tmp_path: Path):
    async with resident(APPEND, Workspace(tmp_path)) as opened:
        first = (await opened.handle(given("one"), {})).answers[0]
        assert [str(change) for change in first.changes] == ["added log.txt (4 bytes)"]
        assert not (tmp_path / "log.txt").exists()
        await first.changes.commit()
        second = await opened.handle(given("two"), {})
        assert second.work.files == ("writeFile",)
        await second.answers[0].changes.commit()
    assert (tmp_path / "log.txt").read_text() == "one\ntwo\n"


async def test_a_read_only_folder_is_read_and_every_kind_of_write_is_refused(tmp_path: Path):
    (tmp_path / "a.txt").write_text("as it was")
    async with resident(WRITES, Workspace(tmp_path, read_only=True)) as opened:
        answer = (await opened.handle(GO, {})).answers[0]
    said, text, cwd = answer.emitted[0][1]
    assert said == ["PermissionDenied: The workspace is read-only"] * 7
    assert (text, cwd) == ("as it was", "/workspace")
    assert not answer.changes
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


async def test_a_signal_that_fails_leaves_no_change_and_the_next_one_does_not_find_what_it_wrote(tmp_path: Path):
    code = """
    if (signal.data === "fail") {
      await Deno.writeTextFile("half.txt", "half");
      throw new Error("no");
    }
    const names = [];
    for await (const { name } of Deno.readDir(".")) names.push(name);
    emit("names", names);
    """
    async with resident(code, Workspace(tmp_path)) as opened:
        failed = (await opened.handle(given("fail"), {})).answers[0]
        after = (await opened.handle(given("look"), {})).answers[0]
    assert not failed.ok
    assert not failed.changes
    assert after.emitted == (("names", []),)
    assert not list(tmp_path.iterdir())


async def test_a_process_that_is_killed_in_a_signal_leaves_no_change(tmp_path: Path):
    code = 'await Deno.writeTextFile("half.txt", "half"); for (;;);'
    async with resident(code, Workspace(tmp_path), timeout_ms=300) as opened:
        answer = (await opened.handle(GO, {})).answers[0]
    assert answer.error is not None
    assert answer.error.type is ErrorType.TIMEOUT
    assert not answer.changes
    assert not list(tmp_path.iterdir())


async def test_writes_that_a_signal_did_not_wait_for_are_not_made_by_the_next_one(tmp_path: Path):
    code = """
    if (signal.data === "leave") {
      for (let n = 0; n < 20; n++) void Deno.writeTextFile(`${n}.txt`, "x".repeat(1e5));
      return;
    }
    await Deno.writeTextFile("mine.txt", "mine");
    """
    async with resident(code, Workspace(tmp_path)) as opened:
        left = (await opened.handle(given("leave"), {})).answers[0]
        mine = (await opened.handle(given("mine"), {})).answers[0]
    assert left.ok
    assert [change.path for change in mine.changes] == ["mine.txt"]


async def test_a_change_of_somebody_else_meanwhile_is_a_conflict_and_not_overwritten(tmp_path: Path):
    (tmp_path / "log.txt").write_text("zero\n")
    async with resident(APPEND, Workspace(tmp_path)) as opened:
        answer = (await opened.handle(given("one"), {})).answers[0]
        (tmp_path / "log.txt").write_text("somebody else's\n")
        with pytest.raises(WorkspaceConflict):
            await answer.changes.commit()
    assert (tmp_path / "log.txt").read_text() == "somebody else's\n"


async def test_a_link_that_leads_out_and_a_path_of_another_folder_lead_nowhere(tmp_path: Path):
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    other.mkdir()
    (other / "secret.txt").write_text("secret")
    (mine / "way").symlink_to(other)
    (mine / "file").symlink_to(other / "secret.txt")
    paths = ["way/secret.txt", "file", "../other/secret.txt", str(other / "secret.txt"), "/proc/self/root/etc/hostname"]
    code = """
    const said = [];
    for (const path of signal.data) {
      for (const use of [() => Deno.readTextFile(path), () => Deno.writeTextFile(path, "x")]) {
        try {
          said.push(await use() ?? "written");
        } catch (error) {
          said.push(error.name);
        }
      }
    }
    emit("said", said);
    """
    async with resident(code, Workspace(mine)) as opened:
        answer = (await opened.handle(given(paths), {})).answers[0]
    assert answer.ok, answer.error
    said = answer.emitted[0][1]
    assert "secret" not in said
    assert "written" not in said
    assert not answer.changes
    assert (other / "secret.txt").read_text() == "secret"


async def test_without_a_workspace_there_are_no_files(tmp_path: Path):
    (tmp_path / "a.txt").write_text("secret")
    code = "emit('said', await Deno.readTextFile(signal.data).catch((error) => error.name));"
    async with resident(code, None) as opened:
        answer = (await opened.handle(given(str(tmp_path / "a.txt")), {})).answers[0]
    assert answer.emitted in [(("said", "NotCapable"),), (("said", "PermissionDenied"),)]


async def test_a_program_with_files_is_given_one_signal_at_a_time(tmp_path: Path):
    async with resident(APPEND, Workspace(tmp_path)) as opened:
        with pytest.raises(ValueError, match="one signal at a time"):
            await opened.handle([*GO, *GO], {})
