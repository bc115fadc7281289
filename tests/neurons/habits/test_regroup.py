"""Documents of older rules and fragments of one script become one habit, and lose nothing that was decided."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from neurons import Document, Habit, Habits, HabitSettings, MemoryStorage
from neurons.habits.fingerprint import Fingerprint, fingerprint
from neurons.habits.habit import FORMAT, MAX_ABSORBED, MAX_CODES, MAX_SKETCHES, RULE
from neurons.habits.habits import MAX_REGROUPED, PREFIX
from tests.neurons.places import AnyStorage, InFolder, InMemory, Place

# One script in three styles; the first and the last are alike only through the one between them.
FIRST = """
const rows = await tools.shop.orders({ state: "open" });
return rows.filter((row) => row.late).map((row) => row.customer.trim().toUpperCase()).sort().join("; ");
"""
BRIDGE = """
const rows = await tools.shop.orders({ state: "open" });
const late = [];
for (const row of rows) if (row.late) late.push(row.customer);
return late;
"""
PURE = "const cells = context.text.split(';'); return cells.map((cell) => Number(cell) * 3).sort((a, b) => a - b)"


async def pure(code: str) -> Fingerprint | None:
    """The tests' own code may be parsed here."""
    return fingerprint(code)


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return InFolder(tmp_path / "state") if request.param == "folder" else InMemory()


class Watched:
    def __init__(self, storage: AnyStorage, **settings: object) -> None:
        self.at = 1_000_000.0
        self.storage = storage
        self.habits = Habits(storage, HabitSettings.model_validate(settings), read=pure, now=lambda: self.at)

    async def see(self, *codes: str, **facts: Any) -> list[Habit | None]:
        found = []
        for code in codes:
            self.at += 1
            code_hash = hashlib.sha256(code.encode()).hexdigest()
            found.append(await self.habits.noticed(code, code_hash=code_hash, **facts))
        return found

    def documents(self) -> Sequence[Document]:
        return self.storage.read_all(PREFIX)


def of_first_format(habit_id: str, code: str, *, count: int = 3, **marks: object) -> dict[str, Any]:
    """A document as the first format had it."""
    found = fingerprint(code)
    assert found is not None
    code_hash = hashlib.sha256(code.encode()).hexdigest()
    return {
        "format": 1,
        "purpose": "",
        "count": count,
        "firstAt": 999_000.0,
        "lastAt": 999_900.0,
        "told": None,
        "offered": None,
        "hinted": None,
        "neuron": None,
        "tier": "isolated",
        "tools": list(found.tools),
        "hosts": list(found.hosts),
        "code": code,
        "recent": [{"at": 999_900.0 + number, "codeHash": code_hash, "literals": []} for number in range(count)],
        "fingerprint": {"parts": dict(found.parts), "literals": [], "globals": [], "tools": [], "hosts": []},
        **marks,
    }


async def test_documents_of_the_first_format_are_regrouped_and_keep_what_was_decided(place: Place):
    storage = place.open()
    storage.write_through(f"{PREFIX}one", of_first_format("one", PURE, told=999_900.0, hinted=999_901.0))
    storage.write_through(
        f"{PREFIX}two", of_first_format("two", PURE.replace("cell", "x"), neuron="sorted-1a2b", told=1.0)
    )
    watched = Watched(storage)
    assert await watched.see(PURE.replace("cells", "parts")) == [None]
    [document] = watched.documents()
    assert (document.data["format"], document.data["rule"]) == (FORMAT, RULE)
    [habit] = watched.habits.all()
    assert (habit.neuron, habit.occurrences) == ("sorted-1a2b", 7)
    assert document.data["hinted"] == 999_901.0
    other = {"one", "two"} - {habit.id}
    found = watched.habits.get(other.pop())
    assert found is not None
    assert found.id == habit.id


async def test_many_old_documents_are_regrouped_a_few_at_a_time():
    watched = Watched(MemoryStorage())
    for number in range(MAX_REGROUPED + 3):
        code = f"return tools.a.t{number}({{ n: {number} }})"
        watched.storage.write_through(f"{PREFIX}{number}", of_first_format(str(number), code))
    await watched.see(PURE)
    assert sum(document.data["format"] == 1 for document in watched.documents()) == 3
    await watched.see(PURE)
    assert all(document.data["format"] == FORMAT for document in watched.documents())


async def test_a_sketch_of_another_rule_is_taken_again_from_the_wordings():
    watched = Watched(MemoryStorage())
    await watched.see(PURE, PURE.replace("3", "4"))
    [document] = watched.documents()
    watched.storage.write_through(document.key, {**document.data, "rule": RULE + 7, "sketches": ["other"]})
    again = Watched(watched.storage)
    again.at = watched.at
    [habit] = await again.see(PURE)
    assert habit is not None
    assert habit.occurrences == 3


@pytest.mark.parametrize("seed", range(4))
async def test_two_fragments_that_an_occurrence_joins_are_merged(place: Place, seed: int):
    watched = Watched(place.open(), similarity_effects=0.01)
    codes = [FIRST, BRIDGE, FIRST.replace("row", "order"), BRIDGE.replace("row", "one")]
    random.Random(seed).shuffle(codes)
    found = await watched.see(*codes)
    assert len(watched.documents()) == 1
    assert [habit is not None for habit in found].index(True) == 2


async def test_a_merged_habit_keeps_the_id_that_was_told_and_the_other_ids_lead_to_it(place: Place):
    storage = place.open()
    narrow = Watched(storage, similarity_effects=0.99)
    await narrow.see(FIRST, FIRST)
    [*_, told] = await narrow.see(BRIDGE, BRIDGE, BRIDGE)
    assert told is not None
    first = next(document for document in narrow.documents() if not document.key.endswith(told.id))
    wide = Watched(place.open(), similarity_effects=0.05)
    wide.at = narrow.at
    await wide.see(BRIDGE.replace("return late", "return late.sort()"))
    [habit] = wide.habits.all()
    assert (habit.id, habit.occurrences) == (told.id, 6)
    assert wide.habits.get(first.key.removeprefix(PREFIX)) == habit
    wide.habits.learned(first.key.removeprefix(PREFIX), "late-orders-1a2b")
    assert [one.neuron for one in wide.habits.all()] == ["late-orders-1a2b"]


async def test_two_habits_with_a_neuron_each_stay_two(place: Place):
    storage = place.open()
    narrow = Watched(storage, similarity_effects=0.99, min_occurrences=2)
    for code, neuron in ((FIRST, "one-1a2b"), (BRIDGE, "two-1a2b")):
        [_, habit] = await narrow.see(code, code)
        assert habit is not None
        narrow.habits.learned(habit.id, neuron)
    wide = Watched(place.open(), similarity_effects=0.05)
    wide.at = narrow.at
    await wide.see(BRIDGE.replace("return late", "return late.sort()"))
    assert {habit.neuron for habit in wide.habits.all()} == {"one-1a2b", "two-1a2b"}


async def test_what_is_kept_of_a_script_is_bounded():
    watched = Watched(MemoryStorage(), similarity_effects=0.05)
    for number in range(3 * MAX_SKETCHES):
        await watched.see(BRIDGE.replace("return late", f"return late{'.slice(1)' * number}"))
    [document] = watched.documents()
    assert len(document.data["sketches"]) == MAX_SKETCHES
    assert len(watched.habits.all()[0].codes) == MAX_CODES
    assert len(document.data["absorbed"]) <= MAX_ABSORBED


async def test_scripts_with_other_effects_never_meet():
    address = 'const r = await fetch("https://a.example/{}"{}); return (await r.json()).value'
    others = [
        address.format("price", ""),
        address.format("forecast", ""),
        address.format("price", ', { method: "POST" }'),
        "return (await tools.a.price({})).value",
        "return (await tools.a.forecast({})).value",
    ]
    watched = Watched(MemoryStorage(), similarity_effects=0.01, similarity_pure=0.01)
    await watched.see(*others * 3)
    assert len(watched.documents()) == len(others)


async def test_the_requests_of_a_run_say_what_the_code_leaves_open():
    code = "const r = await fetch(context.address); return (await r.json()).value"
    watched = Watched(MemoryStorage(), min_occurrences=2)
    for path in ("users/17", "prices", "users/4e1f90ab"):
        await watched.see(code, requests=[("GET", f"https://a.example/{path}")], hosts=["a.example"])
    assert sorted(document.data["count"] for document in watched.documents()) == [1, 2]


async def test_of_scripts_that_are_nearly_alike_the_purpose_decides():
    watched = Watched(MemoryStorage(), similarity_effects=0.95)
    await watched.see(FIRST, purpose="customers who wait")
    await watched.see(BRIDGE, purpose="late orders of the shop")
    assert len(watched.documents()) == 2
    # Never alone: the same words do not join scripts that reach for other things.
    await watched.see("return tools.b.c({})", purpose="late orders of the shop")
    assert len(watched.documents()) == 3
