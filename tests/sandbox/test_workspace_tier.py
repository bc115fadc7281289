"""A workspace from end to end: the code's file functions, the frames, the overlay, a real folder."""

from __future__ import annotations

import anyio
import pytest

from sandbox import DenoRuntime, ErrorType, ExecutionRequest, SandboxError, Tier, Workspace, WorkspaceConflict
from tests.conftest import small

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("alpha")
    (tmp_path / "old.txt").write_text("old")
    return tmp_path


def contents(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


async def worked(folder, code: str, timeout_ms: int = 5000, **settings: object):
    async with DenoRuntime(small(pool_size=0, **settings)) as runtime:
        return await runtime.execute(ExecutionRequest(code=code, timeout_ms=timeout_ms), workspace=Workspace(folder))


EDIT = """
const text = await Deno.readTextFile("notes/a.txt");
await Deno.writeTextFile("notes/a.txt", text + "!");
await Deno.mkdir("new/deep", { recursive: true });
await Deno.writeFile("/workspace/new/deep/b.bin", new Uint8Array([1, 2, 3]));
await Deno.remove("old.txt");
const names = [];
for await (const entry of Deno.readDir(".")) names.push(entry.name);
return [await Deno.readTextFile("notes/a.txt"), names.sort(), (await Deno.stat("new/deep/b.bin")).size];
"""


async def test_a_run_sees_its_changes_and_the_folder_does_not_until_they_are_committed(folder):
    before = contents(folder)
    outcome = await worked(folder, EDIT)
    assert outcome.result == ["alpha!", ["new", "notes"], 3]
    assert contents(folder) == before
    assert [str(change) for change in outcome.changes] == [
        "added new/",
        "added new/deep/",
        "added new/deep/b.bin (3 bytes)",
        "changed notes/a.txt (5 to 6 bytes)",
        "removed old.txt (3 bytes)",
    ]
    await outcome.changes.commit()
    assert contents(folder) == {"notes/a.txt": "alpha!", "new/deep/b.bin": "\x01\x02\x03"}


async def test_after_a_rollback_nothing_has_changed_and_nothing_can(folder):
    before = contents(folder)
    outcome = await worked(folder, EDIT)
    outcome.changes.rollback()
    with pytest.raises(SandboxError, match="already rolled back"):
        await outcome.changes.commit()
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("end", "type_"),
    [
        ("throw new Error('no')", ErrorType.RUNTIME),
        ("while (true) {}", ErrorType.TIMEOUT),
        ("Deno.exit(3)", ErrorType.CRASH),
    ],
)
async def test_a_run_that_fails_changes_nothing(folder, end, type_):
    before = contents(folder)
    timeout_ms = 500 if type_ is ErrorType.TIMEOUT else 60_000
    outcome = await worked(folder, f"await Deno.writeTextFile('old.txt', 'new'); {end}", timeout_ms=timeout_ms)
    assert outcome.error.type == type_
    assert list(outcome.changes) == []
    await outcome.changes.commit()
    assert contents(folder) == before


async def test_a_run_that_is_cancelled_changes_nothing(folder):
    before = contents(folder)
    with anyio.move_on_after(0.5):
        await worked(folder, "await Deno.writeTextFile('old.txt', 'new'); await new Promise(() => {})")
    assert contents(folder) == before


async def test_the_synchronous_functions_work_too(folder):
    code = """
    Deno.writeTextFileSync("a.txt", "hi");
    Deno.mkdirSync("d", { recursive: true });
    Deno.renameSync("a.txt", "d/b.txt");
    Deno.copyFileSync("d/b.txt", "c.txt");
    return [Deno.readTextFileSync("d/b.txt"), Deno.statSync("c.txt").size, [...Deno.readDirSync("d")].length, Deno.cwd()];
    """
    outcome = await worked(folder, code)
    assert outcome.result == ["hi", 2, 1, "/workspace"]


async def test_a_missing_file_is_the_error_that_deno_has_for_it(folder):
    code = """
    try { await Deno.stat("nothing"); } catch (error) { return [error instanceof Deno.errors.NotFound, error.name]; }
    """
    assert (await worked(folder, code)).result == [True, "NotFound"]


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/passwd", "notes/../../outside.txt", "link.txt", "dir/secret"])
async def test_no_path_leads_out_of_the_folder(folder, path):
    outside = folder.parent / "outside.txt"
    outside.write_text("secret")
    (folder / "link.txt").symlink_to(outside)
    (folder / "dir").symlink_to(folder.parent)
    for verb in ("readTextFile", "stat", "remove"):
        outcome = await worked(folder, f"return await Deno.{verb}({path!r})")
        if verb != "remove" or path != "link.txt":  # a link itself may be removed
            assert outcome.error.type == ErrorType.PERMISSION, (verb, outcome)
    outcome = await worked(folder, f"await Deno.writeTextFile({path!r}, 'mine')")
    assert outcome.error.type == ErrorType.PERMISSION
    assert outside.read_text() == "secret"


async def test_without_a_workspace_there_are_no_files():
    async with DenoRuntime(small(pool_size=0)) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code="return await Deno.readTextFile('a.txt')"))
    assert outcome.error.type == ErrorType.PERMISSION


async def test_the_network_tier_can_have_a_workspace_too(folder):
    async with DenoRuntime(small(pool_size=0)) as runtime:
        request = ExecutionRequest(code="return await Deno.readTextFile('old.txt')", tier=Tier.NETWORK)
        assert (await runtime.execute(request, workspace=Workspace(folder))).result == "old"


async def test_two_runs_that_change_the_same_file_do_not_lose_one(folder):
    first = await worked(folder, "await Deno.writeTextFile('old.txt', 'first')")
    second = await worked(folder, "await Deno.writeTextFile('old.txt', 'second')")
    await first.changes.commit()
    with pytest.raises(WorkspaceConflict):
        await second.changes.commit()
    assert contents(folder)["old.txt"] == "first"


async def test_a_large_file_travels_in_pieces(folder):
    code = """
    const data = new Uint8Array(5 << 20).fill(7);
    await Deno.writeFile("big", data);
    return (await Deno.readFile("big")).every((byte) => byte === 7) && (await Deno.stat("big")).size;
    """
    outcome = await worked(folder, code, timeout_ms=20_000)
    assert outcome.result == 5 << 20
    assert outcome.changes[0].size == 5 << 20


async def test_the_settings_limit_a_workspace(folder):
    code = "try { await Deno.writeTextFile('x', 'y'.repeat(200)) } catch (error) { return error.name }"
    outcome = await worked(folder, code, workspace={"max_file_bytes": 100})
    assert outcome.result == "LimitError"


async def test_what_fills_the_disk_is_stopped(folder):
    code = "for (let n = 0; ; n++) await Deno.writeFile('fill' + n, new Uint8Array(1 << 20))"
    outcome = await worked(folder, code, timeout_ms=20_000)
    assert outcome.error.type == ErrorType.LIMIT
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 100


async def test_a_folder_that_is_gone_is_a_clear_error(folder, tmp_path_factory):
    gone = tmp_path_factory.mktemp("gone")
    workspace = Workspace(gone)
    gone.rmdir()
    async with DenoRuntime(small(pool_size=0)) as runtime:
        outcome = await runtime.execute(
            ExecutionRequest(code="return await Deno.readTextFile('a')"), workspace=workspace
        )
    assert outcome.error is not None
    assert not outcome.ok


async def test_honest_code_may_ask_for_many_files_at_once(folder):
    code = """
    const names = Array.from({ length: 1200 }, () => "old.txt");
    return (await Promise.all(names.map((name) => Deno.readTextFile(name)))).every((text) => text === "old");
    """
    assert (await worked(folder, code, timeout_ms=30_000)).result is True
