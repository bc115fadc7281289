"""The owner is told of each question once, by whoever can, and nobody waits for that."""

from __future__ import annotations

import anyio
import pytest

from cortex.learning.notices import AGAIN_S, KEY, Notices
from neurons import Habits, HabitSettings, Notice
from tests.neurons.governance import Governed, report_of


class Channel:
    def __init__(self, *, hangs: bool = False, breaks: bool = False) -> None:
        self.titles: list[str] = []
        self.asked = anyio.Event()
        self.hangs = hangs
        self.breaks = breaks

    async def notify(self, notice: Notice) -> None:
        self.asked.set()
        if self.hangs:
            await anyio.sleep_forever()
        if self.breaks:
            raise RuntimeError("no line")
        self.titles.append(notice.neuron.name)


def notices(governed: Governed, *channels: Channel) -> Notices:
    async def nothing(_: str) -> None:
        return None

    habits = Habits(governed.storage, HabitSettings(), read=nothing)
    return Notices(governed, governed.storage, habits, channels, now=governed.clock)


async def test_each_question_is_told_once_also_by_the_next_process():
    governed, channel = Governed(), Channel()
    governed.waiting(name="One")
    await notices(governed, channel).tell_all()
    governed.waiting(name="Two")
    await notices(governed, channel).tell_all()
    await notices(governed, channel).tell_all()
    assert channel.titles == ["One", "Two"]


async def test_what_is_asked_again_is_told_again():
    governed, channel = Governed(), Channel()
    neuron = governed.waiting(name="One")
    await notices(governed, channel).tell_all()
    modified = governed.modify(neuron.id, "emit('mine')")
    governed.judged(modified.id, report_of(modified))
    await notices(governed, channel).tell_all()
    assert channel.titles == ["One", "One"]
    assert len(governed.storage.read(KEY).data["told"]) == 1


async def test_a_channel_that_hangs_holds_up_neither_another_channel_nor_another_question():
    governed, hanging, good = Governed(), Channel(hangs=True), Channel()
    telling = notices(governed, hanging, good)
    governed.waiting(name="One")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(telling.run)
        with anyio.fail_after(60):
            await hanging.asked.wait()
            governed.waiting(name="Two")
            telling.news()
            while good.titles != ["One", "Two"]:
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    following = Channel()
    await notices(governed, following).tell_all()
    assert sorted(following.titles) == ["One", "Two"]  # what was not told is given back


async def test_a_failed_notice_is_retried_by_the_channel_that_failed_only():
    governed, broken, good = Governed(), Channel(breaks=True), Channel()
    governed.waiting(name="One")
    telling = notices(governed, broken, good)
    await telling.tell_all()
    broken.breaks = False
    await telling.tell_all()
    assert (broken.titles, good.titles) == ([], ["One"])
    governed.clock.forward(seconds=AGAIN_S)
    await telling.tell_all()
    assert (broken.titles, good.titles) == (["One"], ["One"])


async def test_only_one_of_two_processes_notifies_the_owner():
    governed, channel = Governed(), Channel()
    governed.waiting(name="One")
    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(notices(governed, channel).tell_all)
    assert channel.titles == ["One"]


@pytest.mark.parametrize("edited", [{"told": 3}, {"told": {"x": 3}}, {}])
async def test_the_owner_is_notified_also_when_the_document_of_notices_was_edited(edited):
    governed, channel = Governed(), Channel()
    governed.waiting(name="One")
    governed.storage.write_through(KEY, edited)
    await notices(governed, channel).tell_all()
    assert channel.titles == ["One"]


async def test_without_a_channel_nothing_counts_as_told():
    governed, channel = Governed(), Channel()
    governed.waiting(name="One")
    await notices(governed).tell_all()
    await notices(governed).run()
    await notices(governed, channel).tell_all()
    assert channel.titles == ["One"]
