"""The constants of a script are found with their places, and other values can be put there."""

from __future__ import annotations

import json

import pytest

from neurons.habits import LiteralReader, with_holes
from neurons.habits.literal_places import MAX_BYTES, places
from neurons.habits.literals import places_of

CODE = """const coin = "bitcoin", days = -7; // "no"
const rows = [{ a: 1, "b": "ü" }];
const r = await fetch("https://api.example/v1/price?ids=bitcoin&vs=usd");
const s = await fetch(`https://api.example/${coin}/chart?day=2026-01-01`);
return (await r.json())[coin] > 3.5;"""


def found(code: str):
    is_expression, all_places = places(code)
    return is_expression, places_of(json.loads(json.dumps(all_places)), code)


def test_each_constant_has_its_value_its_label_and_its_place():
    _, all_places = found(CODE)
    values = [(place.form, place.label, place.value) for place in all_places]
    for expected in (
        ("value", "coin", "bitcoin"),
        ("value", "days", -7),
        ("value", "rows", [{"a": 1, "b": "ü"}]),
        ("text", "ids", "bitcoin"),
        ("template", "day", "2026-01-01"),
    ):
        assert expected in values
    assert "no" not in [place.value for place in all_places]
    assert "b" not in [place.value for place in all_places]
    [coin] = [place for place in all_places if place.label == "ids"]
    assert CODE[coin.start : coin.end] == "bitcoin"


def test_an_expression_can_stand_in_each_place():
    _, all_places = found(CODE)
    wanted = {place: "X" for place in all_places if place.value in ("bitcoin", "usd", -7, "2026-01-01")}
    code = with_holes(CODE, wanted)
    assert "const coin = (X), days = (X);" in code
    assert 'fetch(("https://api.example/v1/price?ids="+(X)+"&vs="+(X)+""))' in code
    assert "chart?day=${X}`" in code
    outer_only = with_holes(CODE, {place: "X" for place in all_places if place.label in ("rows", "a")})
    assert "const rows = (X);" in outer_only


def test_a_script_that_is_one_expression_is_told_from_a_list_of_statements():
    assert found("await tools.a.b({ n: 1 }) // yes")[0]
    assert not found("return 1")[0]
    assert not found("const a = 1; a")[0]


def test_what_the_reading_process_says_is_checked():
    for start, end, form in ((5, 2, "value"), (0, 99, "value"), (0, 1, "other")):
        with pytest.raises(ValueError, match="not a place"):
            places_of([[start, end, form, "", "1", 0, 0]], "const a")
    assert places("x" * (MAX_BYTES + 1)) is None


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_it_is_read_in_a_process_of_its_own(anyio_backend):
    async with LiteralReader() as reader:
        script = await reader.read(CODE)
    assert script.places == found(CODE)[1]
    assert not script.is_expression
