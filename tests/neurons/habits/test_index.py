"""A script is found among thousands, and compared with few of them."""

from __future__ import annotations

import pytest

from neurons.habits import index as index_module
from neurons.habits.fingerprint import fingerprint
from neurons.habits.index import MAX_COMPARED, Index, enough_of
from neurons.habits.sketch import Sketch, likeness

REACHING = "return (await tools.a{n}.list({{ n: {n} }})).items.filter((item) => item.open).length"
PURE = "return context.rows{n}.map((row) => row.field{n} * {n}).sort((a, b) => a - b).slice(0, {n})"
ENOUGH = enough_of(0.4, 0.71)


def taken(code: str) -> Sketch:
    found = fingerprint(code)
    assert found is not None
    return found.sketch


@pytest.mark.parametrize("written", [REACHING, PURE])
def test_a_script_is_found_among_thousands_and_compared_with_few(written: str, monkeypatch: pytest.MonkeyPatch):
    index = Index()
    for number in range(2_000):
        # Letters, not digits: words have none.
        name = "".join(chr(97 + int(digit)) * 2 for digit in str(number))
        index.put(str(number), (taken(written.format(n=name)),))
    compared = 0

    def counted(a: Sketch, b: Sketch) -> float:
        nonlocal compared
        compared += 1
        return likeness(a, b)

    monkeypatch.setattr(index_module, "likeness", counted)
    wanted = "".join(chr(97 + int(digit)) * 2 for digit in "1234")
    found = index.alike(taken("// again\n" + written.format(n=wanted)), ENOUGH)
    assert found["1234"] == 1.0
    assert compared <= MAX_COMPARED


def test_what_is_dropped_or_replaced_is_not_found():
    index = Index()
    first, second = taken(REACHING.format(n=1)), taken(PURE.format(n=2))
    index.put("one", (first,))
    assert index.alike(first, ENOUGH) == {"one": 1.0}
    index.put("one", (second,))
    assert index.alike(first, ENOUGH) == {}
    assert index.alike(second, ENOUGH) == {"one": 1.0}
    index.drop("one")
    assert index.alike(second, ENOUGH) == {}
    assert index.sketches("one") == ()
