"""A turn that ends with `core.say`."""

from __future__ import annotations

from pathlib import Path

from cortex import MotorCortex, ScriptedModel, Settings, run_turn
from cortex.loop import AssistantMessage, Conversation
from cortex.settings.sections import LoopSettings
from sandbox.testing import ScriptedRuntime


async def test_an_empty_reply_ends_the_turn_after_core_say(tmp_path: Path):
    model = ScriptedModel([{"calls": [{"name": "core_say", "arguments": {"text": "It is 2."}}]}, {"text": ""}])
    conversation = Conversation()
    async with MotorCortex(Settings(home=tmp_path), runtime=ScriptedRuntime([])) as cortex, cortex.turn() as turn:
        end = await run_turn(model, turn, cortex.openai_tools(), conversation, "1 + 1?", LoopSettings())
    assert (end.text, end.stopped, end.rounds) == ("It is 2.", "answered", 2)
    assert conversation.messages()[-1] == AssistantMessage("It is 2.")
