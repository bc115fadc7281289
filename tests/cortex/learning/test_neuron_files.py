"""Files for neurons, the whole way with real Deno: granted, read, written, recorded, and taken away."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from cortex import Folder, MotorCortex
from cortex.audit import AuditError
from cortex.channels import owner_view
from cortex.learning import file_grant
from neurons import Neuron, Refused, Status
from tests.cortex.learning.test_learning_alive import Life, run, told_in, until

pytestmark = [pytest.mark.deno, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr("neurons.quarantine.queue.LOOK_S", 0.1)


READER = """
let text = "none";
try {
  text = await Deno.readTextFile("sales.csv");
} catch (error) {
  text = `${error.name}: ${error.message}`;
}
emit("counted", [text, Deno.cwd()]);
"""
WRITER = """
const number = signal.data?.number ?? -1;
await Deno.writeTextFile("log.txt", `${number}\\n`, { append: true });
if (number === 7) throw new Error("not this one");
state.last = number;
emit("counted", number);
"""
# Quarantine finds no folder of anybody's, and so nothing to attack.
ATTACKER = """
const said = [];
const paths = signal.data?.paths;
for (const path of Array.isArray(paths) ? paths : []) {
  for (const use of [
    () => Deno.readTextFile(path),
    () => Deno.writeTextFile(path, "x"),
    () => Deno.remove(path),
    () => Deno.rename(path, "mine.txt"),
    () => Deno.copyFile("sales.csv", path),
  ]) {
    try {
      said.push(await use() ?? "done");
    } catch (error) {
      said.push(`${error.name}: ${error.message}`);
    }
  }
}
emit("counted", said);
"""


def proposal(code: str, name: str = "Counter") -> dict[str, Any]:
    return {
        "name": name,
        "purpose": "Count the sales",
        "code": code,
        "inputSignals": ["door_opened"],
        "outputSignals": ["counted"],
        "energyBudget": 0.5,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "sales.csv").write_text("tea,3\n")
    return folder


@pytest.fixture
def life(tmp_path: Path) -> Life:
    return Life(tmp_path / "home")


async def learned(life: Life, cortex: MotorCortex, code: str, folder: Path, *, write: bool = False) -> Neuron:
    cortex.autonomic.watch(life.signals.append)
    neuron = await life.propose(cortex, proposal(code))
    assert neuron.request is not None, neuron.reason
    grant = cortex.learning.grant(folder, write=write)
    awake = cortex.learning.pipeline.approve(neuron.id, neuron.request.shown_hash[:8], files=grant)
    await cortex.autonomic.refresh()
    return awake


def files_recorded(cortex: MotorCortex) -> list[dict[str, Any]]:
    return [dict(record.facts) for record in cortex.audit.records() if record.kind == "files"]


async def test_a_neuron_reads_the_folder_that_came_with_its_approval_and_sees_no_path_of_the_host(life, folder):
    async with life.cortex() as cortex:
        await learned(life, cortex, READER, folder)
        await life.open_doors(cortex)
        (folder / "sales.csv").write_text("tea,4\n")
        await life.open_doors(cortex)
    assert life.heard("counted") == [["tea,3\n", "/workspace"], ["tea,4\n", "/workspace"]]


async def test_the_owner_is_told_that_a_proposal_uses_files_and_cannot_approve_it_without_a_folder(life):
    async with life.cortex() as cortex:
        neuron = await life.propose(cortex, proposal(READER))
        assert neuron.request is not None
        await until(lambda: bool(life.told.notices))
        lines = owner_view(life.told.notices[0].neuron)
        assert "  files         wants to read a folder; none is granted" in lines
        with pytest.raises(Refused, match="its code uses files"):
            cortex.learning.pipeline.approve(neuron.id, neuron.request.shown_hash)


async def test_what_a_signal_that_succeeds_writes_is_committed_and_recorded_and_of_one_that_fails_nothing(life, folder):
    async with life.cortex() as cortex:
        neuron = await learned(life, cortex, WRITER, folder, write=True)
        await life.open_doors(cortex, times=9)
        recorded = files_recorded(cortex)
        assert cortex.learning.store.get(neuron.id) is not None
    assert (folder / "log.txt").read_text() == "0\n1\n2\n3\n4\n5\n6\n8\n"
    assert life.heard("counted") == [0, 1, 2, 3, 4, 5, 6, 8]
    assert [facts["what"] for facts in recorded] == ["files committing", "files committed"] * 8
    assert {facts["neuron"] for facts in recorded} == {"counter"}
    assert len(recorded[0]["changes_hash"]) == 64
    assert "log.txt" not in str(recorded)


async def test_read_only_is_the_default_and_cannot_write(life, folder):
    async with life.cortex() as cortex:
        await learned(life, cortex, ATTACKER, folder)
        cortex.autonomic.emit("door_opened", {"paths": ["sales.csv", "new.txt"]})
        await cortex.autonomic.idle()
        assert files_recorded(cortex) == []
    said = life.heard("counted")[0]
    assert said[0] == "tea,3\n"
    assert said[5].startswith("NotFound")
    assert {text for number, text in enumerate(said) if number % 5} == {"PermissionDenied: The workspace is read-only"}
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"sales.csv": "tea,3\n"}


async def test_links_and_paths_that_lead_out_reach_neither_another_neurons_folder_nor_the_home(life, folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "secret.txt").write_text("secret")
    (folder / "way").symlink_to(other)
    (folder / "file").symlink_to(other / "secret.txt")
    paths = ["way/secret.txt", "file", "../other/secret.txt", str(other / "secret.txt"), "../home/state/approval.key"]
    async with life.cortex() as cortex:
        await learned(life, cortex, ATTACKER, folder, write=True)
        cortex.autonomic.emit("door_opened", {"paths": paths})
        await cortex.autonomic.idle()
    said = life.heard("counted")[0]
    assert len(said) == 25
    # The code may remove the link itself, and put a file of its own in its place; it reads nothing through it.
    assert all(text.startswith(("PermissionDenied: ", "NotFound: ")) for text in said[::5]), said
    assert (other / "secret.txt").read_text() == "secret"
    assert sorted(path.name for path in other.iterdir()) == ["secret.txt"]


async def test_a_file_that_somebody_else_changes_meanwhile_is_not_overwritten_and_the_signal_has_failed(
    life, folder, monkeypatch
):
    async with life.cortex() as cortex:
        neuron = await learned(life, cortex, WRITER, folder, write=True)
        refusal = cortex.learning.pipeline.granted

        def meanwhile(neuron_id: str):
            (folder / "log.txt").write_text("somebody else's\n")
            return refusal(neuron_id)

        monkeypatch.setattr(cortex.learning.pipeline, "granted", meanwhile)
        await life.open_doors(cortex)
        assert files_recorded(cortex)[-1]["what"] == "files not committed"
        view = next(view for view in cortex.autonomic.overview().nerves if view.neuron.id == neuron.id)
        assert view.neuron.trial is not None
        assert view.neuron.trial.counters.errors == 1
        assert "Files not written" in view.neuron.trial.counters.last_error
        assert str(folder) not in view.neuron.trial.counters.last_error
    assert (folder / "log.txt").read_text() == "somebody else's\n"
    assert life.heard("counted") == []


async def test_a_grant_that_is_taken_away_while_a_signal_is_answered_commits_nothing(life, folder, monkeypatch):
    async with life.cortex() as cortex:
        neuron = await learned(life, cortex, WRITER, folder, write=True)
        granted = cortex.learning.pipeline.granted

        def after_all(neuron_id: str):
            cortex.learning.pipeline.disable(neuron_id, "no more")
            return granted(neuron_id)

        monkeypatch.setattr(cortex.learning.pipeline, "granted", after_all)
        cortex.autonomic.emit("door_opened", {"number": 1})
        await until(lambda: bool(files_recorded(cortex)))
        assert [facts["what"] for facts in files_recorded(cortex)] == ["files not committed"]
        assert cortex.learning.store.get(neuron.id).status is Status.DISABLED
    assert not (folder / "log.txt").exists()


async def test_the_kill_switch_keeps_changes_from_being_made(life, folder, monkeypatch):
    async with life.cortex() as cortex:
        await learned(life, cortex, WRITER, folder, write=True)
        granted = cortex.learning.pipeline.granted

        def killed(neuron_id: str):
            cortex.switch.turn_on("enough", "owner")
            return granted(neuron_id)

        monkeypatch.setattr(cortex.learning.pipeline, "granted", killed)
        cortex.autonomic.emit("door_opened", {"number": 1})
        await until(lambda: bool(files_recorded(cortex)))
        assert [facts["what"] for facts in files_recorded(cortex)] == ["files not committed"]
    assert not (folder / "log.txt").exists()


async def test_what_cannot_be_recorded_is_not_committed(life, folder, monkeypatch):
    async with life.cortex() as cortex:
        await learned(life, cortex, WRITER, folder, write=True)
        folders = cortex.autonomic._awake._around.lent.folders

        def full(kind: str, /, **facts: Any) -> None:
            raise AuditError("the disk is full")

        monkeypatch.setattr(folders, "_record", full)
        await life.open_doors(cortex)
    assert not (folder / "log.txt").exists()
    assert life.heard("counted") == []


async def test_what_git_would_run_is_never_written_by_a_neuron(life, folder):
    (folder / ".git").mkdir()
    code = 'await Deno.mkdir(".git", { recursive: true }); await Deno.writeTextFile(".git/config", "[core]");'
    async with life.cortex() as cortex:
        await learned(life, cortex, code, folder, write=True)
        await life.open_doors(cortex)
        assert "another program runs by itself, as git" in files_recorded(cortex)[-1]["reason"]
    assert list((folder / ".git").iterdir()) == []


async def test_a_disabled_neuron_has_no_process_and_its_grant_is_gone(life, folder):
    async with life.cortex() as cortex:
        neuron = await learned(life, cortex, READER, folder)
        cortex.learning.pipeline.disable(neuron.id, "enough")
        await cortex.autonomic.refresh()
        await life.open_doors(cortex)
        assert life.heard("counted") == []
        assert cortex.learning.pipeline.enable(neuron.id).status is Status.QUARANTINE
        assert cortex.learning.pipeline.granted(neuron.id) is None


async def test_a_folder_that_leads_elsewhere_now_is_not_lent(life, folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "sales.csv").write_text("secret")
    async with life.cortex() as cortex:
        neuron = await learned(life, cortex, READER, folder)
    folder.rename(tmp_path / "was")
    folder.symlink_to(other)
    async with life.cortex() as cortex:
        cortex.autonomic.emit("door_opened", {})
        with anyio.fail_after(60):
            while not (found := [view for view in cortex.autonomic.overview().nerves if view.reason]):
                await anyio.sleep(0.02)
    assert neuron.id == found[0].neuron.id
    assert "leads elsewhere than when it was granted" in found[0].reason
    assert "secret" not in str(life.heard("counted"))


@pytest.mark.parametrize("where", ["home", "above", "state", "nothing", "file"])
async def test_no_folder_is_granted_that_cannot_be_one(where, tmp_path):
    home = tmp_path / "home"
    (home / "state").mkdir(parents=True)
    (tmp_path / "a.txt").touch()
    places = {
        "home": home,
        "above": tmp_path,
        "state": home / "state",
        "nothing": tmp_path / "nothing",
        "file": tmp_path / "a.txt",
    }
    with pytest.raises(Refused, match="Cannot use"):
        file_grant(places[where], home)


async def test_a_granted_link_is_granted_as_the_folder_that_it_leads_to(tmp_path, folder):
    (tmp_path / "link").symlink_to(folder)
    assert file_grant(tmp_path / "link", tmp_path / "home").folder == os.path.realpath(folder)


async def test_scripts_that_use_files_become_a_habit(life, folder):
    async with life.cortex(workspace=Folder(folder, "never")) as cortex:
        for name in ("text", "sales", "rows"):
            code = f'const {name} = await Deno.readTextFile("sales.csv"); return {name}.length;'
            assert await run(cortex, code) == "6"
        hints = await told_in(cortex)
    assert "core.consolidate" in hints[0]
