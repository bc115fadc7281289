"""Pictures for models that take them: parts of a message in the round after the call, and never in the stored one."""

from __future__ import annotations

import base64
import time

from cortex.loop import Answer, Conversation, ModelReply, PicturesMessage, Usage, run_turn
from cortex.loop.messages import AssistantMessage, ToolRequest
from cortex.loop.turn import MAX_PICTURES, MAX_PICTURES_BYTES
from cortex.models.chat_format import chat_request, estimated_tokens
from cortex.settings.sections import LoopSettings, ModelSettings
from sandbox import Displayed
from tests.cortex.loop.turns import TableTurn
from tests.sandbox.contracts.test_displays import png

PICTURE = Displayed("image", "image/png", png())
URL = f"data:image/png;base64,{base64.b64encode(png()).decode()}"


class Showing(TableTurn):
    async def answer(self, name, arguments):
        return Answer("1", displayed=(PICTURE,) * 5)


class Looking:
    """A model that calls twice and keeps what it was sent."""

    def __init__(self):
        self.sent = []

    async def reply(self, messages, tools, *, on_text=lambda _: None):
        self.sent.append(list(messages))
        number = len(self.sent)
        calls = (ToolRequest(str(number), "draw", "{}"),) if number < 3 else ()
        return ModelReply(AssistantMessage("" if calls else "done", calls), Usage(), "tools" if calls else "stop")


async def test_the_newest_pictures_of_a_turn_follow_the_answers_and_are_not_kept():
    model, conversation = Looking(), Conversation()
    await run_turn(model, Showing({}), [], conversation, "draw", LoopSettings())
    last = [[type(message) for message in sent][-1] is PicturesMessage for sent in model.sent]
    assert last == [False, True, True]
    assert [len(sent[-1].pictures) for sent in model.sent[1:]] == [5, MAX_PICTURES]
    assert not any(isinstance(message, PicturesMessage) for message in conversation.messages())


def test_a_model_that_takes_pictures_is_sent_them_and_another_is_not():
    message = PicturesMessage("(pictures)", (PICTURE,))
    body = chat_request([message], [], ModelSettings(name="m", images=True), with_usage=False)
    assert body["messages"] == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "(pictures)"}, {"type": "image_url", "image_url": {"url": URL}}],
        }
    ]
    assert chat_request([message], [], ModelSettings(name="m"), with_usage=False)["messages"] == []


def test_a_picture_is_not_counted_as_the_text_of_its_base64():
    large = Displayed("image", "image/png", png() + bytes(1_000_000))
    settings = ModelSettings(name="m", images=True)
    body = chat_request([PicturesMessage("(pictures)", (large,))], [], settings, with_usage=False)
    assert 1_000 < estimated_tokens([body["messages"], None]) < 3_000


async def test_the_pictures_of_a_round_are_bounded_by_their_bytes():
    class ShowingMuch(TableTurn):
        async def answer(self, name, arguments):
            return Answer("1", displayed=(too_large, *large))

    large = [Displayed("image", "image/png", png() + bytes([n]) * 1_500_000) for n in range(5)]
    too_large = Displayed("image", "image/png", png() + bytes(MAX_PICTURES_BYTES))
    model = Looking()
    await run_turn(model, ShowingMuch({}), [], Conversation(), "draw", LoopSettings(), pictures=[PICTURE, too_large])
    assert [list(sent[-1].pictures) for sent in model.sent] == [[PICTURE], large[-2:], large[-2:]]


def test_an_estimate_of_tokens_does_not_read_the_pictures():
    large = Displayed("image", "image/png", png() + bytes(8_000_000))
    settings = ModelSettings(name="m", images=True)
    body = chat_request([PicturesMessage("(pictures)", (large, large))], [], settings, with_usage=False)
    began = time.thread_time()
    assert 3_000 <= estimated_tokens([body["messages"], None]) < 3_200
    assert time.thread_time() - began < 0.02
