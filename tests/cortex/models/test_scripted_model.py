from __future__ import annotations

import json

import pytest

from cortex.loop import AssistantMessage, ModelReply, ToolAnswer, ToolRequest, Usage, UserMessage
from cortex.models.scripted_model import ScriptedModel, ScriptedStep, ScriptError

HELLO = [UserMessage("hello")]


async def test_steps_come_one_after_the_other_and_text_comes_in_pieces(tmp_path):
    script = tmp_path / "script.json"
    script.write_text(
        json.dumps(
            [
                {"text": "one  two\nthree", "usage": {"input_tokens": 3}},
                {"calls": [{"name": "add", "arguments": {"a": 1}}, {"name": "add", "arguments": "not JSON"}]},
            ]
        )
    )
    model, pieces = ScriptedModel.load(script), []
    assert model.remaining == 2
    assert await model.reply(HELLO, [], on_text=pieces.append) == ModelReply(
        AssistantMessage("one  two\nthree"), Usage(3, 0), "stop"
    )
    assert pieces == ["one  ", "two\n", "three"]
    reply = await model.reply(HELLO, [])
    assert reply.message.calls == (
        ToolRequest("step00001", "add", '{"a": 1}'),
        ToolRequest("step00002", "add", "not JSON"),
    )
    assert reply.finish == "tools"
    assert model.heard == [tuple(HELLO), tuple(HELLO)]


async def test_pauses_come_between_the_pieces_of_a_text():
    pieces = []
    model = ScriptedModel([{"text": "a b"}], pause_s=0.001)
    await model.reply(HELLO, [], on_text=pieces.append)
    assert pieces == ["a ", "b"]


async def test_an_expectation_that_is_not_met_says_what_came_instead():
    heard = [*HELLO, ToolAnswer("a", "add", "41"), ToolAnswer("b", "add", "EXECUTION_DENIED: no energy")]
    model = ScriptedModel([{"expect": "^EXECUTION_DENIED: no", "text": "ok"}, {"expect": "^42$"}, {"expect": "x"}])
    assert (await model.reply(heard, [])).message.text == "ok"
    with pytest.raises(ScriptError, match=r"Step 2 expects /\^42\$/ .* that was: EXECUTION_DENIED: no energy"):
        await model.reply(heard, [])
    with pytest.raises(ScriptError, match=r"Step 3 .* no answer"):
        await model.reply(HELLO, [])


async def test_a_script_that_has_ended_says_so():
    model = ScriptedModel([ScriptedStep(text="bye")])
    await model.reply(HELLO, [])
    with pytest.raises(ScriptError, match="has 1 steps and was asked for step 2"):
        await model.reply(HELLO, [])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[{"txt": "x"}]', "step 1, txt: Extra inputs are not permitted"),
        ('[{}, {"expect": "("}]', "step 2, expect: .*not a regular expression"),
        ('[{"calls": [{}]}]', "step 1, calls, 0, name: Field required"),
        ("{}", "valid tuple|valid array"),
        ("nonsense", "Invalid JSON"),
    ],
)
def test_an_invalid_script_is_reported_with_its_step(tmp_path, text, complaint):
    script = tmp_path / "script.json"
    script.write_text(text)
    with pytest.raises(ScriptError, match=complaint):
        ScriptedModel.load(script)


def test_a_script_that_is_missing_says_so(tmp_path):
    with pytest.raises(ScriptError, match=r"Cannot read the script .*none.json.*: No such file"):
        ScriptedModel.load(tmp_path / "none.json")
    with pytest.raises(ScriptError, match="step 1"):
        ScriptedModel([{"text": 7}])
