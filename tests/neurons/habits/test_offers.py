"""A habit stays untold until the model was told, by one process."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from neurons import OFFER_S, DeferredStorage, Habit, MemoryStorage, Offers
from neurons.habits.habits import PREFIX
from tests.neurons.places import InFolder, InMemory, Place

from .test_habits import DAY_S, PRICE, SUM, Watched


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return InFolder(tmp_path / "state") if request.param == "folder" else InMemory()


def offers_of(watched: Watched) -> Offers:
    return Offers(watched.storage, watched.settings, now=lambda: watched.at)


async def habit_in(watched: Watched) -> Habit:
    [*_, habit] = await watched.prices("btc", "eth", "sol")
    assert habit is not None
    return habit


def ids(habits: list[Habit]) -> list[str]:
    return [habit.id for habit in habits]


async def test_a_habit_is_told_by_one_process_and_given_back_by_one_that_could_not(place: Place):
    watched = Watched(place.open())
    habit = await habit_in(watched)
    first, second = offers_of(watched), Offers(place.open(), watched.settings, now=lambda: watched.at)
    assert ids(first.untold(3)) == ids(second.untold(3)) == [habit.id]
    assert (first.claim(habit.id), second.claim(habit.id)) == (True, False)
    assert (first.untold(3), second.untold(3)) == ([], [])
    first.given_back(habit.id)
    assert ids(second.untold(3)) == [habit.id]
    assert (second.claim(habit.id), first.claim(habit.id)) == (True, False)
    second.told(habit.id)
    first.given_back(habit.id)  # too late: it was told
    watched.at += 2 * OFFER_S
    assert (first.claim(habit.id), first.untold(3), second.untold(3)) == (False, [], [])


async def test_a_habit_stays_untold_however_long_no_answer_comes(place: Place):
    watched = Watched(place.open())
    habit = await habit_in(watched)
    watched.at += 60 * DAY_S
    assert ids(offers_of(watched).untold(3)) == [habit.id]
    assert offers_of(watched).claim(habit.id)


async def test_a_claim_of_a_process_that_died_ends_an_hour_later(place: Place):
    watched = Watched(place.open())
    habit = await habit_in(watched)
    offers = offers_of(watched)
    assert offers.claim(habit.id)
    watched.at += OFFER_S - 1
    assert not offers.claim(habit.id)
    watched.at += 1
    assert offers.claim(habit.id)
    watched.at -= 10 * OFFER_S  # a clock that was put right
    assert offers.claim(habit.id)


async def test_the_newest_untold_habits_come_first_and_those_that_became_neurons_do_not():
    watched = Watched()
    habits = []
    for code in (PRICE, SUM, "return tools.a.b({})"):
        [*_, habit] = [await watched.see(code.format(number)) for number in range(3)]
        habits.append(habit.id)
    watched.habits.learned(habits[1], "a-neuron")
    offers = offers_of(watched)
    assert ids(offers.untold(1)) == [habits[2]]
    assert ids(offers.untold(3)) == [habits[2], habits[0]]
    assert not offers.claim(habits[1])
    assert not offers.claim("none-of-this-id")


async def test_nothing_is_told_where_habits_are_switched_off():
    watched = Watched()
    await habit_in(watched)
    settings = watched.settings.model_copy(update={"enabled": False})
    assert Offers(watched.storage, settings).untold(3) == []


async def test_the_stamp_changes_when_another_process_notes_a_run(tmp_path):
    place = InFolder(tmp_path / "state")
    offers = Offers(place.open(), Watched().settings)
    before = offers.stamp()
    await habit_in(Watched(place.open()))
    assert offers.stamp() != before


async def test_of_many_processes_that_claim_at_once_one_tells_the_model(tmp_path):
    place = InFolder(tmp_path / "state")
    watched = Watched(place.open())
    habit = await habit_in(watched)
    claimed: list[bool] = []

    async def claim(storage: DeferredStorage) -> None:
        offers = Offers(storage, watched.settings, now=lambda: watched.at)
        claimed.append(await anyio.to_thread.run_sync(offers.claim, habit.id))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(claim, place.open())
    assert sorted(claimed) == [False] * 7 + [True]


async def test_habits_in_documents_of_the_first_version_count_as_told():
    watched = Watched(MemoryStorage())
    habit = await habit_in(watched)
    document = watched.storage.read(PREFIX + habit.id)
    assert document is not None
    old = {key: value for key, value in document.data.items() if key != "hinted"}
    watched.storage.write_through(PREFIX + habit.id, {**old, "offered": None})
    assert offers_of(watched).untold(3) == []
