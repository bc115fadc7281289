from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from cortex import Settings
from tests.requirements import REQUIREMENTS, SETTINGS

ROOT = Path(__file__).parent.parent
SOURCE_IDS = {f"000-AC3.{n}" for n in range(1, 10)} | {f"004-{n}" for n in range(1, 10)}

OF_SETTINGS = {test for tests in SETTINGS.values() for test in tests.values()}


def existing() -> set[str]:
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        file = str(path.relative_to(ROOT))
        found.add(f"{file}::")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found.add(f"{file}::{node.name}")
    return found


def test_every_test_that_a_requirement_names_exists():
    named = {test for requirement in REQUIREMENTS for test in requirement.tests} | OF_SETTINGS
    assert sorted(named - existing()) == []


def test_every_promise_of_the_sources_is_listed_once_and_has_a_test():
    ids = [requirement.id for requirement in REQUIREMENTS]
    assert len(ids) == len(set(ids))
    assert set(ids) >= SOURCE_IDS
    assert all(requirement.tests and requirement.promise for requirement in REQUIREMENTS)


def test_every_test_file_is_named_by_a_requirement():
    named = {test.partition("::")[0] for requirement in REQUIREMENTS for test in requirement.tests}
    files = {test.partition("::")[0] for test in existing()}
    assert files - named == set()


def sections(model: type[BaseModel], name: str = "") -> Iterator[tuple[str, set[str], set[str]]]:
    """Each section with its own settings, and with the sections in it."""
    inner = {
        key: field.annotation
        for key, field in model.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    }
    yield name, model.model_fields.keys() - inner.keys(), set(inner)
    for key, section in inner.items():
        yield from sections(section, f"{name}.{key}".removeprefix("."))


def test_every_setting_has_a_test_of_its_effect():
    found = {name: (settings, inner) for name, settings, inner in sections(Settings)}
    assert SETTINGS.keys() <= found.keys()
    for name, (settings, inner) in found.items():
        tested = SETTINGS.get(name, {}).keys()
        assert (name, settings - tested, tested - settings - inner) == (name, set(), set())
