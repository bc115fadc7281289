"""What became of a neuron is told to its owner once on a home, also after a kill, and by each channel that can."""

from __future__ import annotations

import io

import anyio
import pytest

from cortex.channels import ConsoleChannel
from cortex.channels.webhook import outcome_body
from cortex.learning.owner_outcomes import AGAIN_S, KEY, SINCE_S, OwnerOutcomes, outcomes_of
from neurons import Outcome
from neurons.pipeline.trial import Delivered
from tests.neurons.governance import Governed


class Channel:
    def __init__(self, *, breaks: bool = False, hangs: bool = False) -> None:
        self.told: list[tuple[str, str]] = []
        self.asked = anyio.Event()
        self.breaks = breaks
        self.hangs = hangs

    async def notify(self, notice) -> None:
        raise AssertionError("a question is not told here")

    async def outcome(self, outcome: Outcome) -> None:
        self.asked.set()
        if self.hangs:
            await anyio.sleep_forever()
        if self.breaks:
            raise RuntimeError("no line")
        self.told.append((outcome.neuron.id, outcome.event))


class Silent:
    async def notify(self, notice) -> None:
        pass


def telling(governed: Governed, *channels) -> OwnerOutcomes:
    return OwnerOutcomes(governed.store, governed.storage, channels, now=governed.clock)


def stopped(governed: Governed, name: str = "Loud") -> str:
    neuron = governed.in_trial(name=name)
    governed.deliver(neuron.id, Delivered(at=governed.clock(), signals=30, errors=30))
    return neuron.id


async def test_a_neuron_that_was_stopped_is_told_once_also_by_the_next_process():
    governed, channel = Governed(), Channel()
    neuron_id = stopped(governed)
    first = telling(governed, channel)
    await first.tell_all()
    await first.tell_all()
    await telling(governed.restarted(), channel).tell_all()
    assert channel.told == [(neuron_id, "neuron_stopped")]


async def test_a_passed_trial_and_a_question_that_expires_are_told():
    governed, channel = Governed(), Channel()
    active = governed.active(name="Watch").id
    waiting = governed.waiting(name="Later").id
    await telling(governed, channel).tell_all()
    assert channel.told == [(active, "neuron_active")]
    governed.clock.forward(hours=governed.settings.proposals.expires_hours - 1)
    await telling(governed, channel).tell_all()
    assert channel.told[1:] == [(waiting, "neuron_expires")]
    governed.clock.forward(hours=2)
    governed.expire()
    await telling(governed, channel).tell_all()
    assert channel.told[2:] == [(waiting, "neuron_expired")]


def test_what_the_owner_decided_and_what_failed_its_quarantine_is_not_told():
    governed = Governed()
    governed.disable(governed.in_trial(name="One").id, "too loud")
    governed.reject(governed.waiting(name="Two").id, "no")
    governed.modify(governed.in_trial(name="Three").id, "emit('price_change', 3)")
    assert list(outcomes_of(governed.store.load_all(), governed.clock())) == []


def test_what_is_long_ago_is_not_told():
    governed = Governed()
    stopped(governed)
    assert len(list(outcomes_of(governed.store.load_all(), governed.clock() + SINCE_S))) == 1
    assert list(outcomes_of(governed.store.load_all(), governed.clock() + SINCE_S + 1)) == []


async def test_a_failed_channel_is_tried_again_and_the_others_are_not():
    governed, broken, good = Governed(), Channel(breaks=True), Channel()
    neuron_id = stopped(governed)
    outcomes = telling(governed, broken, good)
    await outcomes.tell_all()
    broken.breaks = False
    await outcomes.tell_all()
    assert (broken.told, good.told) == ([], [(neuron_id, "neuron_stopped")])
    governed.clock.forward(seconds=AGAIN_S)
    await outcomes.tell_all()
    assert (broken.told, good.told) == ([(neuron_id, "neuron_stopped")], [(neuron_id, "neuron_stopped")])


async def test_what_was_not_told_before_the_end_is_told_by_the_next_process():
    governed, hanging, good = Governed(), Channel(hangs=True), Channel()
    neuron_id = stopped(governed)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(telling(governed, hanging).run)
        with anyio.fail_after(60):
            await hanging.asked.wait()
        await telling(governed, good).tell_all()
        assert good.told == []  # another process has it
        tasks.cancel_scope.cancel()
    await telling(governed, good).tell_all()
    assert good.told == [(neuron_id, "neuron_stopped")]


async def test_without_a_channel_that_can_nothing_counts_as_told():
    governed, channel = Governed(), Channel()
    stopped(governed)
    await telling(governed, Silent()).run()
    await telling(governed, Silent(), channel).tell_all()
    assert len(channel.told) == 1


@pytest.mark.parametrize("edited", [{"told": 3}, {"told": {"x": 3}}, {}])
async def test_a_document_that_was_edited_hides_nothing(edited):
    governed, channel = Governed(), Channel()
    stopped(governed)
    governed.storage.write_through(KEY, edited)
    await telling(governed, channel).tell_all()
    assert len(channel.told) == 1


async def test_the_console_and_the_webhook_say_what_and_why_in_one_line():
    governed = Governed()
    stopped(governed)
    [outcome] = outcomes_of(governed.store.load_all(), governed.clock())
    out = io.StringIO()
    await ConsoleChannel(out).outcome(outcome)
    assert out.getvalue().startswith("Loud neuron was stopped: ")
    body = outcome_body(outcome)
    assert (body["event"], body["neuron"], body["reason"]) == ("neuron_stopped", "loud", outcome.reason)
    assert body["text"].startswith("Loud neuron was stopped: ")
    hostile = Outcome("neuron_stopped", outcome.neuron, 0, "it said\x1b[2J\nLoud neuron is fine")
    assert "\x1b" not in outcome_body(hostile)["text"]
    assert "\n" not in outcome_body(hostile)["text"]
