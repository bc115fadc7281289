"""Which scripts are run side by side, that each pair is run once, and what comes of a verdict. Nothing is run here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import anyio
import pytest

from neurons import Comparing, Habits, HabitSettings, MemoryStorage, Wording
from neurons.habits.comparing import KEY, MAX_REMEMBERED
from neurons.habits.fingerprint import Fingerprint, fingerprint
from sandbox import SandboxUnavailable

# The same twice over, each in a style in which the other is not recognised.
LOOP = (
    "const all = context.n.slice().sort((a, b) => a - b); const middle = Math.floor(all.length / 2); return all[middle]"
)
SHIFT = """
const all = context.n.toSorted((a, b) => a - b);
while (all.length > 2) { all.shift(); all.pop(); }
return Math.floor(all[all.length - 1]);
"""
OTHER = "return context.rows.filter((r) => r.open).map((r) => r.name.toUpperCase()).join('; ')"
EFFECT = "const d = await tools.a.b({}); const xs = d.n.sort((a, b) => a - b); return xs[xs.length >> 1]"


async def read(code: str) -> Fingerprint | None:
    return fingerprint(code)


class Said:
    """Says of each pair what a test wants, and counts."""

    def __init__(self, verdict: bool | None) -> None:
        self.verdict = verdict
        self.asked: list[tuple[str, str]] = []
        self.on_asked: Callable[[], None] = lambda: None

    async def same(self, one: Wording, other: Wording) -> bool | None:
        self.asked.append((one.code, other.code))
        self.on_asked()
        return self.verdict


class Lock:
    def __init__(self) -> None:
        self.is_free = True

    def try_take(self) -> bool:
        taken, self.is_free = self.is_free, False
        return taken

    def release(self) -> None:
        self.is_free = True

    def close(self) -> None: ...


class Home:
    """Habits and what compares them, on one storage."""

    def __init__(self, said: Said, storage: MemoryStorage | None = None, **settings: object) -> None:
        self.at = 1_000_000.0
        self.said = said
        self.storage = storage or MemoryStorage()
        self.settings = HabitSettings.model_validate(settings)
        self.habits = Habits(self.storage, self.settings, read=read, now=lambda: self.at)
        self.lock = Lock()
        self.is_killed = False
        self.news = 0
        self.comparing = Comparing(
            self.habits,
            said,
            self.settings,
            self.storage,
            self.lock,
            is_killed=lambda: self.is_killed,
            now=lambda: self.at,
            on_habit=self.told,
        )

    def told(self) -> None:
        self.news += 1

    async def see(self, *codes: str) -> None:
        for code in codes:
            self.at += 1
            await self.habits.noticed(code, code_hash=hashlib.sha256(code.encode()).hexdigest())


async def test_scripts_that_give_the_same_become_one_habit_and_it_is_told():
    home = Home(Said(True))
    await home.see(LOOP, SHIFT, SHIFT)
    assert home.habits.all() == []
    [habit] = await home.comparing.compare()
    assert (habit.occurrences, home.news) == (3, 1)
    assert [one.id for one in home.habits.all()] == [habit.id]
    await home.see(LOOP, SHIFT)
    assert [one.occurrences for one in home.habits.all()] == [5]


@pytest.mark.parametrize("verdict", [False, None])
async def test_scripts_that_do_not_give_the_same_stay_two(verdict: bool | None):
    home = Home(Said(verdict))
    await home.see(*3 * [LOOP, SHIFT])
    assert await home.comparing.compare() == []
    assert [one.occurrences for one in home.habits.all()] == [3, 3]


async def test_no_pair_is_run_twice_also_after_a_restart():
    home = Home(Said(False))
    await home.see(LOOP, SHIFT)
    await home.comparing.compare()
    assert len(home.said.asked) == 1
    await home.see(SHIFT, LOOP)
    await home.comparing.compare()
    again = Home(Said(False), home.storage)
    await again.see(LOOP, SHIFT)
    await again.comparing.compare()
    assert len(home.said.asked) == 1
    assert again.said.asked == []


async def test_only_pure_scripts_that_are_somewhat_alike_are_run():
    home = Home(Said(True))
    await home.see(LOOP, EFFECT, OTHER)
    await home.comparing.compare()
    assert home.said.asked == []
    near = Home(Said(True), similarity_compared=0.01)
    await near.see(LOOP, EFFECT, OTHER)
    await near.comparing.compare()
    assert [{one, other} for one, other in near.said.asked] == [{LOOP, OTHER}]


async def test_an_hour_has_room_for_some_pairs_and_the_others_come_later():
    home = Home(Said(False), similarity_compared=0.01, compared_per_hour=2)
    await home.see(LOOP, SHIFT, OTHER)
    for asked in (2, 2):
        await home.comparing.compare()
        assert len(home.said.asked) == asked
    home.at += 3_600
    await home.comparing.compare()
    assert len(home.said.asked) == 3


async def test_nothing_is_run_while_the_kill_switch_is_on_or_another_process_compares():
    home = Home(Said(True))
    await home.see(*3 * [LOOP, SHIFT])
    home.is_killed = True
    assert await home.comparing.compare() == []
    home.is_killed, home.lock.is_free = False, False
    assert await home.comparing.compare() == []
    assert home.said.asked == []
    home.lock.is_free = True
    await home.comparing.compare()
    assert len(home.said.asked) == 1
    assert home.lock.is_free


async def test_a_switch_that_is_turned_on_meanwhile_leaves_the_pair_for_later():
    home = Home(Said(True))
    await home.see(LOOP, SHIFT, SHIFT)
    home.said.on_asked = lambda: setattr(home, "is_killed", True)
    assert await home.comparing.compare() == []
    assert home.habits.all() == []
    home.is_killed, home.said.on_asked = False, lambda: None
    assert len(await home.comparing.compare()) == 1


async def test_two_scripts_with_a_neuron_each_stay_two():
    home = Home(Said(True))
    await home.see(*3 * [LOOP, SHIFT])
    for number, habit in enumerate(home.habits.all()):
        home.habits.learned(habit.id, f"neuron-{number}")
    await home.see(LOOP)
    await home.comparing.compare()
    assert len(home.habits.all()) == 2


async def test_a_pair_waits_when_no_process_can_be_started():
    home = Home(Said(True))
    await home.see(LOOP, SHIFT, SHIFT)

    def fail() -> None:
        raise SandboxUnavailable("no Deno")

    home.said.on_asked = fail
    with pytest.raises(SandboxUnavailable):
        await home.comparing.compare()
    assert home.lock.is_free
    home.said.on_asked = lambda: None
    assert len(await home.comparing.compare()) == 1


async def test_comparing_can_be_switched_off():
    for settings in ({"compare": False}, {"enabled": False}):
        home = Home(Said(True), **settings)
        with anyio.fail_after(5):
            await home.comparing.run()


@pytest.mark.parametrize("data", [{}, {"pairs": 3, "hour": "x", "count": None}, {"pairs": {"a": 5}, "hour": True}])
async def test_a_document_of_verdicts_that_was_edited_does_no_harm(data: dict[str, object]):
    home = Home(Said(True))
    home.storage.write(KEY, data)
    await home.see(LOOP, SHIFT, SHIFT)
    assert len(await home.comparing.compare()) == 1


async def test_a_bounded_number_of_verdicts_is_kept():
    home = Home(Said(False))
    pairs = {str(number): "other" for number in range(MAX_REMEMBERED)}
    home.storage.write(KEY, {"format": 1, "pairs": pairs, "hour": 0, "count": 0})
    await home.see(LOOP, SHIFT)
    await home.comparing.compare()
    document = home.storage.read(KEY)
    assert document is not None
    assert len(document.data["pairs"]) == MAX_REMEMBERED
    assert "0" not in document.data["pairs"]
