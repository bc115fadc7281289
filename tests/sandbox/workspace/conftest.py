"""Fixtures: a folder to grant, and a secret beside it that must never be read or written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import descriptors

from .support import contents

SECRET = b"secret of the host"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "granted"
    (made / "docs" / "deep").mkdir(parents=True)
    (made / "a.txt").write_bytes(b"alpha")
    (made / "docs" / "b.txt").write_bytes(b"beta")
    (made / "docs" / "deep" / "c.txt").write_bytes(b"gamma")
    return made


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "outside"
    made.mkdir()
    (made / "secret.txt").write_bytes(SECRET)
    yield made
    assert contents(made) == {"secret.txt": SECRET}


@pytest.fixture(autouse=True)
def no_descriptor_left() -> Iterator[None]:
    before = descriptors()
    yield
    # Threads and loops of the test plugin keep some of their own.
    assert descriptors() <= before + 8
