"""CodeReader: whatever its module does with the code, the caller gets a bounded answer or None."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox import CodeReader, SandboxUnavailable

MODULE = """
from .neighbour import double

def read(code):
    if code == "raise":
        raise ValueError(code)
    if code == "long":
        return "x" * 10_000
    if code == "hang":
        while True:
            pass
    if code == "memory":
        return len(bytes(2 << 30))
    if code == "exit":
        import os
        os._exit(0)
    return double(code)
"""


@pytest.fixture(autouse=True)
def patient_host(monkeypatch):
    """The host's clocks are not what is tested here: on a busy machine, ordinary code would come too late for them."""
    for name in ("START_TIMEOUT_S", "ANSWER_TIMEOUT_S"):
        monkeypatch.setattr(f"sandbox.guard.guard.{name}", 60)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "neighbour.py").write_text("def double(text):\n    return text * 2\n")
    # This file would shadow Python's own `json`, if the folder were on `sys.path`.
    (tmp_path / "json.py").write_text("raise SystemExit\n")
    (tmp_path / "module.py").write_text(MODULE)
    return tmp_path / "module.py"


async def test_a_module_finds_its_neighbours_and_stands_in_for_nothing_else(module, nothing_left):
    async with CodeReader(module, "read", name="test", max_answer_bytes=1_000) as reader:
        assert json.loads(await reader.answer("ab")) == "abab"
        assert json.loads(await reader.answer("é")) == "éé"


@pytest.mark.parametrize("hostile", ["raise", "long", "hang", "memory", "exit"])
async def test_an_answer_that_does_not_come_or_is_too_long_is_none_and_the_next_one_comes(
    module, hostile, nothing_left
):
    async with CodeReader(module, "read", name="test", max_answer_bytes=1_000) as reader:
        assert await reader.answer(hostile) is None
        assert json.loads(await reader.answer("x")) == "xx"


async def test_a_missing_module_or_function_says_nothing_about_the_code(module, nothing_left):
    for path, function in ((module.with_name("missing.py"), "read"), (module, "missing")):
        async with CodeReader(path, function, name="test", max_answer_bytes=1_000) as reader:
            with pytest.raises(SandboxUnavailable, match="Cannot start the test: its process was not ready"):
                await reader.answer("x")


@pytest.mark.parametrize("extra", ['"[]\\n"', '"["'], ids=["a second line", "the beginning of a second line"])
async def test_an_answer_of_more_than_one_line_is_none_and_the_next_one_comes(tmp_path, extra, nothing_left):
    # A line too many would be taken for the answer to the next code.
    (tmp_path / "module.py").write_text(
        f'import sys\n\ndef read(code):\n    if code == "two":\n        sys.stdout.write("[]\\n" + {extra})\n    return []\n'
    )
    async with CodeReader(tmp_path / "module.py", "read", name="test", max_answer_bytes=1_000) as reader:
        assert await reader.answer("two") is None
        assert json.loads(await reader.answer("one")) == []
