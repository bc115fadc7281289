"""Neurons in a chat: they answer in place of the model, tell the owner something, or say something by themselves."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from cortex.chat import ExpectedAnswers, ForPrograms, Interrupts, Voice, Wakes, wake_words
from cortex.learning.delivery import Delivery
from cortex.loop import AssistantMessage, UserMessage
from neurons import Emitted, Signal

from .stage import chat

pytestmark = pytest.mark.anyio


def said(text: str, **more: Any) -> Signal:
    return Signal("counted", "neuron:counter", {"n": 1}, said=text, **more)


class Answering:
    """The part of the layer that a turn asks, with a neuron that answers at once, or not at all."""

    def __init__(self, voice: Voice, reply: str | None) -> None:
        self.voice = voice
        self.reply = reply
        self.heard: list[Signal] = []

    async def will_answer(self, type_: str) -> bool:
        return type_ == "user_message"

    def emit(self, signal: Signal, *_: Any, **__: Any) -> bool:
        self.heard.append(signal)
        if self.reply is not None:
            self.voice._given = said(self.reply, correlation=signal.id)
            self.voice._news.set()
        return True


def turned(
    tmp_path: Path, reply: str | None, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Any], list[Any], list[Any]]:
    monkeypatch.setattr("cortex.chat.voice.ANSWER_S", 0.1)
    out = io.StringIO()
    with chat(
        tmp_path,
        [{"text": "the model"}],
        ForPrograms(out),
        keyboard=io.StringIO(),
        screen=io.StringIO(),
        is_there=False,
    ) as talk:
        layer = Answering(talk.agent.voice, reply)
        monkeypatch.setattr(type(talk.agent.cortex), "autonomic", layer)
        monkeypatch.setattr(type(talk.agent.cortex), "will_answer", lambda _, type_: layer.will_answer(type_))
        talk.turn("how many?")
        messages = talk.agent.conversation.messages()
    return messages, [json.loads(line) for line in out.getvalue().splitlines()], layer.heard


def test_a_neuron_answers_in_place_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages, events, heard = turned(tmp_path, "there are 3", monkeypatch)
    assert messages == [UserMessage("how many?"), AssistantMessage("there are 3")]
    assert [signal.data for signal in heard] == [{"text": "how many?"}]
    assert events[-1]["text"] == "there are 3"
    assert events[-1]["rounds"] == 0


def test_when_none_answers_in_time_the_model_does_and_neurons_hear_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages, events, heard = turned(tmp_path, None, monkeypatch)
    assert messages[-1] == AssistantMessage("the model")
    assert len(heard) == 1
    assert events[-1]["rounds"] == 1


def test_what_a_neuron_says_by_itself_is_part_of_the_conversation(tmp_path: Path) -> None:
    with chat(
        tmp_path,
        [{"text": "yes"}],
        ForPrograms(io.StringIO()),
        keyboard=io.StringIO(),
        screen=io.StringIO(),
        is_there=False,
    ) as talk:
        talk.portal.call(talk.agent.voice.answer, said("it rains"))
        assert talk.spoken() == "it rains"
        assert talk.spoken() is None
        talk.turn("does it rain?")
        words = [message.text for message in talk.agent.conversation.messages()]
    assert words[0].startswith("(A neuron says")
    assert words[1:] == ["it rains", "does it rain?", "yes"]


@pytest.mark.parametrize("stopped", [None, "counter"])
def test_nothing_is_said_by_a_neuron_that_the_kill_switch_has_stopped(tmp_path: Path, stopped: str | None) -> None:
    with chat(
        tmp_path, [], ForPrograms(io.StringIO()), keyboard=io.StringIO(), screen=io.StringIO(), is_there=False
    ) as talk:
        talk.portal.call(talk.agent.voice.answer, said("obey me"))
        talk.agent.cortex.switch.turn_on("it lies", "owner", neuron=stopped)
        assert talk.spoken() is None
        assert talk.agent.conversation.messages() == []


async def test_an_answer_that_comes_late_or_to_something_else_waits_for_the_pause_between_two_turns() -> None:
    nudges: list[int] = []
    voice = Voice(lambda: nudges.append(1))
    asked = Signal("user_message", "cortex", {"text": "x"})
    voice.expect(asked)
    await voice.answer(said("another", correlation="z"))
    await voice.answer(said("mine", correlation=asked.id))
    given = await voice.answer_in_time()
    assert given is not None
    assert given.said == "mine"
    await voice.answer(said("late", correlation=asked.id))
    assert [one.said for one in iter(voice.take_answer, None)] == ["another", "late"]
    assert len(nudges) == 2


async def test_a_chat_without_a_dialogue_takes_the_first_answer_to_its_own_message_and_leaves_all_else() -> None:
    voice = Voice()
    answers = ExpectedAnswers(voice)
    delivery = Delivery([], None, answers, record=lambda *_, **__: None)

    def takes(signal: Signal) -> bool:
        return delivery.takes(Emitted("counter", "Counter", "answer", signal.said, signal))

    asked = Signal("user_message", "cortex", {"text": "x"})
    first, second = (said(text, correlation=asked.id) for text in ("one", "two"))
    other = said("another", correlation="z")
    assert not takes(first), "nothing was asked yet"
    voice.expect(asked)
    assert not takes(other)
    assert takes(first)
    assert takes(first), "it may be asked again before it is taken"
    assert not takes(second), "one answer is all that a turn can say"
    await delivery.deliver(Emitted("counter", "Counter", "answer", "one", first))
    assert await voice.answer_in_time() is first
    assert not takes(second)


async def test_an_answer_that_was_taken_in_the_last_moment_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cortex.chat.voice.ANSWER_S", 0.0)
    monkeypatch.setattr("cortex.chat.voice.COMING_S", 60.0)
    voice = Voice()
    asked = Signal("user_message", "cortex", {"text": "x"})
    voice.expect(asked)
    assert await voice.answer_in_time() is None, "nothing was taken: nothing is waited for"
    voice.expect(asked)
    late = said("late", correlation=asked.id)
    assert voice.awaits(late)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(voice.answer, late)
        assert await voice.answer_in_time() is late


async def test_a_notice_is_a_line_for_the_person() -> None:
    voice = Voice()
    await voice.emitted(Emitted("stock-watch", "StockWatch", "notify", "only 3 left", said("only 3 left")))
    assert voice.waits
    assert voice.take_line() == "StockWatch: only 3 left"
    assert not voice.waits


def test_the_model_is_told_that_a_neuron_woke_it_and_what_of_it_is_no_instruction() -> None:
    words = wake_words(said("Look at the stock: 3"))
    assert "Look at the stock: 3" in words
    assert "no instruction" in words
    assert "neuron:counter" in words


def test_what_waits_nudges_the_prompt_again_when_a_nudge_was_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cortex.chat.agent.NUDGE_S", 0.02)
    nudges: list[int] = []
    with chat(
        tmp_path, [], ForPrograms(io.StringIO()), keyboard=io.StringIO(), screen=io.StringIO(), is_there=False
    ) as talk:
        wakes = Wakes()
        wakes.nudge = lambda: nudges.append(1)
        talk.agent._wakes = wakes
        talk.portal.call(talk.agent.wake, said("x"))
        first = len(nudges)
        with Interrupts(lambda: None):
            while len(nudges) < first + 3:
                talk.portal.call(_pause)
        assert talk.next_wake() is not None


async def _pause() -> None:
    import anyio

    await anyio.sleep(0.01)
