"""`cortex doctor`: whether it notices what is wrong."""

from __future__ import annotations

import pytest

from sandbox import examine
from sandbox.jail import Layer
from tests.conftest import small

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]


async def verdicts(settings):
    return {diagnosis.name: diagnosis async for diagnosis in examine(settings)}


async def test_all_is_well_here():
    found = await verdicts(small())
    assert {diagnosis.verdict for diagnosis in found.values()} == {"ok", "held"}
    assert {name for name, diagnosis in found.items() if diagnosis.verdict == "held"} == set(Layer)
    assert "Deno 2." in found["run"].detail


async def test_what_the_settings_leave_out_is_absent():
    assert (await verdicts(small(pool_size=0)))["warm pool"].verdict == "absent"


async def test_a_missing_launcher_is_absent_and_not_hidden(monkeypatch):
    monkeypatch.setattr("sandbox.doctor.can_fork_serve", lambda: False)
    found = await verdicts(small())
    assert found["launcher"].verdict == "absent"
    assert "memory is watched and not limited" in found["launcher"].detail


async def test_a_deno_that_does_not_start_is_broken_and_ends_the_examination(tmp_path):
    found = await verdicts(small(deno_path="/bin/false"))
    assert found["start"].verdict == "broken"
    assert "Cannot start Deno" in found["start"].detail
    assert "time limit" not in found


async def test_layers_that_are_missing_are_shown_with_the_reason(monkeypatch):
    monkeypatch.setattr("sandbox.wall.wall.can_fork_serve", lambda: False)
    found = await verdicts(small(require=["session", "landlock"]))
    assert found["landlock"].verdict == "absent"
    assert "launcher" in found["landlock"].detail
    assert found["require"].verdict == "broken"
    assert "landlock" in found["require"].detail


async def test_permissions_are_tried_without_any_layer_behind_them(monkeypatch):
    monkeypatch.setattr("sandbox.doctor.PERMISSIONS", ("--allow-all",))
    found = await verdicts(small())
    assert found["permissions"].verdict == "broken"
    assert "reading a file" in found["permissions"].detail
