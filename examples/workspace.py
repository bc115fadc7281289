"""Let the code edit a folder, look at what it would change, and commit it; what somebody else changed meanwhile is not
overwritten.

Prints:

    changed notes/monday.txt (12 to 20 bytes)
    added summary.txt (20 bytes)
    on disk: ['notes', 'notes/monday.txt']
    on disk: ['notes', 'notes/monday.txt', 'summary.txt']
    conflict: Cannot commit: "summary.txt" is not what it was when the run looked at it; nothing has changed
"""

import tempfile
from pathlib import Path

import anyio

from sandbox import DenoRuntime, ExecutionOutcome, ExecutionRequest, Workspace, WorkspaceConflict

EDIT = """
const all = [];
for await (const { name, isFile } of Deno.readDir("notes")) {
  if (!isFile) continue;
  const text = (await Deno.readTextFile(`notes/${name}`)).trimEnd() + " (done)\\n";
  await Deno.writeTextFile(`notes/${name}`, text);
  all.push(text);
}
await Deno.writeTextFile("summary.txt", all.join(""));
"""
APPEND = 'await Deno.writeTextFile("summary.txt", "and one more\\n", { append: true })'


def on_disk(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def is_welcome(outcome: ExecutionOutcome) -> bool:
    """The review. Here it is a rule; it may be a person."""
    return outcome.ok and all(change.kind != "removed" and (change.size or 0) < 1000 for change in outcome.changes)


async def main(folder: Path) -> None:
    async with DenoRuntime() as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=EDIT), workspace=Workspace(folder))
        print(*outcome.changes, sep="\n")
        print("on disk:", on_disk(folder))
        if is_welcome(outcome):
            await outcome.changes.commit()
        print("on disk:", on_disk(folder))

        outcome = await runtime.execute(ExecutionRequest(code=APPEND), workspace=Workspace(folder))
        (folder / "summary.txt").write_text("written by somebody else")
        try:
            await outcome.changes.commit()
        except WorkspaceConflict as conflict:
            print("conflict:", conflict)


with tempfile.TemporaryDirectory() as name:
    (Path(name) / "notes").mkdir()
    (Path(name) / "notes" / "monday.txt").write_text("wash the car")
    anyio.run(main, Path(name))
