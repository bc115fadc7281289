"""What all tests of this folder measure: they share one search for garbage in what was there before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .measure import unscanned


@pytest.fixture(autouse=True, scope="module")
def frozen() -> Iterator[None]:
    with unscanned():
        yield
