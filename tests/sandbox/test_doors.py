"""Lazy doors: a module is imported when one of its names is used, and not before."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import pytest

import sandbox

DOORS = ("sandbox", "sandbox.network", "sandbox.workspace")


def loaded_by(program: str) -> set[str]:
    program = f"{program}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("door", DOORS)
def test_a_door_opens_for_each_of_its_names_and_for_no_other(door):
    module = importlib.import_module(door)
    for name in module.__all__:
        assert getattr(getattr(module, name), "__name__", name) == name  # a constant has none
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        module.Nothing  # noqa: B018 - to be asked for is enough


def test_a_name_is_found_once():
    assert sandbox.Guard is sandbox.Guard
    assert "Guard" in vars(sandbox)


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        ("import sandbox", {"pydantic", "anyio", "subprocess"}),
        ("import cortex", {"pydantic", "anyio", "sandbox.contracts.outcomes"}),
        ("from sandbox import HeadStart, Tier", {"pydantic", "anyio"}),
        ("import cortex.commands.run", {"pydantic", "anyio", "cortex.settings.settings"}),
        ("from cortex import load_settings; load_settings()", {"anyio", "asyncio", "sandbox.runtime", "openai"}),
        (
            "import cortex.commands.run_script",
            {"sandbox.network.broker", "sandbox.workspace.transaction", "sandbox.doctor", "tree_sitter", "openai"},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_needed_is_not_loaded(program, absent):
    assert absent & loaded_by(program) == set()
