"""`cortex neurons approve ID --files DIR`: what an owner grants at a shell, sees again, and takes away."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from neurons import FileGrant, Neuron, Status, granted_files
from tests.cortex.commands.test_neurons_command import Shell, shell
from tests.neurons.governance import report_of, shown

__all__ = ["shell"]

CODE = 'emit("price_change", await Deno.readTextFile("price.txt"));'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    return tmp_path / "shop"


def waiting(shell: Shell) -> Neuron:
    neuron = shell.agent.in_quarantine(code=CODE)
    report = report_of(neuron, at=shell.agent.clock()).model_copy(update={"files": "read"})
    return shell.agent.judged(neuron.id, report)


def test_a_folder_is_granted_read_only_and_shown(shell, folder):
    neuron = waiting(shell)
    assert "files         wants to read a folder; none is granted" in shell("show", neuron.id).out
    said = shell("approve", neuron.id, "--hash", shown(neuron), "--files", str(folder))
    assert said.code == 0, said.err
    assert granted_files(shell.neuron(neuron.id)) == FileGrant(folder=os.path.realpath(folder))
    told = " ".join(shell("show", neuron.id).out.split())
    assert f"files {os.path.realpath(folder)}, read-only" in told
    facts = shell.recorded()[-1][1]
    assert (facts["what"], facts["files"]) == ("neuron approve", "read")
    assert str(folder) not in str(shell.recorded())


def test_writing_is_granted_only_by_name(shell, folder):
    neuron = waiting(shell)
    said = shell("approve", neuron.id, "--hash", shown(neuron), "--files", str(folder), "--files-write")
    assert said.code == 0, said.err
    assert granted_files(shell.neuron(neuron.id)) == FileGrant(folder=os.path.realpath(folder), write=True)
    assert "read and written" in " ".join(shell("show", neuron.id).out.split())


def test_code_that_uses_files_is_not_approved_without_a_folder_and_the_command_is_told(shell):
    neuron = waiting(shell)
    said = shell("approve", neuron.id, "--hash", shown(neuron))
    assert said.code == 3
    assert f"cortex neurons approve {neuron.id} --files DIR" in said.err
    assert shell.neuron(neuron.id).status is Status.AWAITING_OWNER


def test_a_folder_that_cannot_be_granted_is_refused_and_nothing_is_approved(shell, folder):
    neuron = waiting(shell)
    for place in (folder / "nothing", shell.home, shell.home.parent):
        said = shell("approve", neuron.id, "--hash", shown(neuron), "--files", str(place))
        assert said.code == 3
        assert "Cannot use" in said.err
    assert shell("approve", neuron.id, "--hash", shown(neuron), "--files-write").code == 2
    assert shell.neuron(neuron.id).status is Status.AWAITING_OWNER


def test_disabling_takes_the_folder_away(shell, folder):
    neuron = waiting(shell)
    shell("approve", neuron.id, "--hash", shown(neuron), "--files", str(folder))
    assert shell("disable", neuron.id).code == 0
    assert granted_files(shell.neuron(neuron.id)) is None
    assert str(folder) not in shell("show", neuron.id).out
