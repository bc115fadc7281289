from __future__ import annotations

import ast
from pathlib import Path

from sandbox import SandboxSettings
from tests.requirements import NESTED_SETTINGS, REQUIREMENTS, SETTINGS

ROOT = Path(__file__).parent.parent
SOURCE_IDS = {f"000-AC3.{n}" for n in range(1, 10)} | {f"004-{n}" for n in range(1, 10)}


def existing() -> set[str]:
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        file = str(path.relative_to(ROOT))
        found.add(f"{file}::")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found.add(f"{file}::{node.name}")
    return found


def test_every_test_that_is_named_exists():
    named = {test for requirement in REQUIREMENTS for test in requirement.tests} | set(SETTINGS.values())
    assert sorted(named - existing()) == []


def test_every_promise_of_the_sources_is_listed_once_and_has_a_test():
    ids = [requirement.id for requirement in REQUIREMENTS]
    assert len(ids) == len(set(ids))
    assert set(ids) >= SOURCE_IDS
    assert all(requirement.tests and requirement.promise for requirement in REQUIREMENTS)


def test_every_test_file_keeps_a_promise():
    named = {test.partition("::")[0] for requirement in REQUIREMENTS for test in requirement.tests}
    files = {test.partition("::")[0] for test in existing()}
    assert files - named == set()


def test_every_setting_has_a_test_that_it_bites():
    fields = SandboxSettings.model_fields
    assert SETTINGS.keys() == fields.keys()
    for section, settings in NESTED_SETTINGS.items():
        assert settings.keys() == fields[section].annotation.model_fields.keys()
    named = {*SETTINGS.values(), *(test for settings in NESTED_SETTINGS.values() for test in settings.values())}
    assert sorted(named - existing()) == []
