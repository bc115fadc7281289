"""One turn: model and tools by turns, every bound, and a conversation that can be gone on with however it ends."""

from __future__ import annotations

import json

import anyio
import pytest

from cortex.loop import (
    Answer,
    AssistantMessage,
    CallEnded,
    CallStarted,
    Conversation,
    ConversationBusy,
    ConversationError,
    Conversations,
    ModelError,
    ModelReply,
    Notice,
    RoundEnded,
    SystemMessage,
    TextArrived,
    ToolAnswer,
    ToolRequest,
    Usage,
    UserMessage,
    run_turn,
)
from cortex.loop.repeats import WARNING, Repeats
from cortex.models.openai_model import OpenAIModel
from cortex.models.scripted_model import ScriptedModel, ScriptError
from cortex.settings.sections import LoopSettings
from sandbox import Displayed
from tests.cortex.models.server import ChatServer, begin, call_piece, delta, error, send, stream, usage, words

from .turns import TableTurn, assert_valid


def call(name="add", arguments='{"a": 1}'):
    return {"name": name, "arguments": arguments}


def says(text, **rest):
    return {"text": text, **rest}


def calls(*wanted, **rest):
    return {"calls": list(wanted), **rest}


async def talk(steps, tools=None, text="hello", conversation=None, watch=None, memories=(), **limits):
    """One turn; gives its end and the conversation, which is valid."""
    conversation = Conversation() if conversation is None else conversation
    model = steps if hasattr(steps, "reply") else ScriptedModel(steps)
    turn = tools if isinstance(tools, TableTurn) else TableTurn(tools or {"add": "2"})
    with anyio.fail_after(120):
        end = await run_turn(
            model,
            turn,
            [],
            conversation,
            text,
            LoopSettings(**limits),
            watch=watch or (lambda event: None),
            memories=memories,
        )
    assert_valid(conversation.messages())
    last = conversation.messages()[-1].text
    if end.stopped == "model_error":
        # What was said stays, and of the fault nothing that another endpoint need not know.
        assert last.endswith("(no answer)")
        assert end.text.startswith(last.removesuffix("(no answer)"))
    else:
        assert last == end.text
    return end, conversation.messages()


async def test_the_model_calls_a_tool_reads_its_answer_and_ends_in_words():
    events = []
    model = ScriptedModel(
        [
            says("Let me see. ", calls=[call()], usage={"input_tokens": 10, "output_tokens": 2}),
            says("It is 2.", expect="^2$", usage={"input_tokens": 20, "output_tokens": 3}),
        ]
    )
    end, messages = await talk(model, watch=events.append)
    request = ToolRequest("step00001", "add", '{"a": 1}')
    assert (end.text, end.stopped, end.rounds, end.calls) == ("It is 2.", "answered", 2, 1)
    assert end.usage == Usage(30, 5)
    assert messages == [
        UserMessage("hello"),
        AssistantMessage("Let me see. ", (request,)),
        ToolAnswer("step00001", "add", "2"),
        AssistantMessage("It is 2."),
    ]
    assert [event for event in events if not isinstance(event, TextArrived)] == [
        CallStarted(request),
        CallEnded(request, Answer("2")),
        RoundEnded(1, Usage(10, 2)),
        RoundEnded(2, Usage(30, 5)),
    ]
    assert "".join(event.text for event in events if isinstance(event, TextArrived)) == "Let me see. It is 2."


async def test_the_model_sees_instructions_memories_history_and_the_tools_note():
    conversation = Conversation()
    await talk([says("hi")], conversation=conversation)
    model = ScriptedModel([calls(call()), says("done")])

    async def noted(arguments):
        return Answer("2", note="Energy: 0.20")

    await talk(
        model,
        {"add": noted},
        "again",
        conversation,
        memories=["old", "likes\ntea", "new"],
        instructions="Be kind.",
        max_memories=2,
    )
    first, *rest = model.heard[1]
    assert isinstance(first, SystemMessage)
    assert first.text.startswith("Be kind.\n")
    assert first.text.endswith("- likes tea\n- new")
    assert "old" not in first.text.split()
    assert rest == [
        UserMessage("hello"),
        AssistantMessage("hi"),
        UserMessage("again"),
        AssistantMessage("", (ToolRequest("step00001", "add", '{"a": 1}'),)),
        ToolAnswer("step00001", "add", "2\nEnergy: 0.20"),
    ]


async def test_no_instructions_are_no_message_and_no_memories_are_no_notes():
    model = ScriptedModel([says("hi"), says("hi")])
    await talk(model, instructions="")
    await talk(model, memories=["x"], max_memories=0)
    assert not isinstance(model.heard[0][0], SystemMessage)
    assert "notes" not in model.heard[1][0].text


async def test_the_model_sees_only_whole_recent_turns_and_the_present_one_always():
    conversation = Conversation()
    for number in range(6):
        await talk(
            [calls(call()), says(f"answer {number} " + "x" * 300)], text=f"question {number}", conversation=conversation
        )
    model = ScriptedModel([calls(call()), says("ok")])
    await talk(model, text="now " + "y" * 5_000, conversation=conversation, max_history_bytes=1_800)
    for heard in model.heard:
        asked = [message.text[:10] for message in heard if isinstance(message, UserMessage)]
        assert asked[-1].startswith("now")
        assert 1 < len(asked) < 6
        assert asked[0] == f"question {7 - len(asked)}"
        assert_valid(heard[1:], is_ended=False)


# Calls


async def test_calls_of_one_message_run_at_once_and_are_answered_in_their_order():
    both_run = {"a": anyio.Event(), "b": anyio.Event()}
    ended = []

    def tool(mine, other):
        async def run(arguments):
            both_run[mine].set()
            with anyio.fail_after(60):
                await both_run[other].wait()
            if mine == "a":
                await anyio.sleep(0.01)  # Not the order in which they end.
            ended.append(mine)
            return Answer(mine)

        return run

    _, messages = await talk(
        [calls(call("a"), call("b"), call("c")), says("ok")], {"a": tool("a", "b"), "b": tool("b", "a"), "c": "c"}
    )
    assert ended == ["b", "a"]
    assert [message.text for message in messages if isinstance(message, ToolAnswer)] == ["a", "b", "c"]


async def test_identical_calls_in_one_message_run_once_and_both_get_the_answer():
    turn = TableTurn({"add": "2"})
    end, messages = await talk(
        [
            calls(call("add", '{"a": 1, "b": 2}'), call("add", '{"b":2,"a":1}'), call("add", '{"a": 9}')),
            calls(call("add", '{"a": 9}')),
            says("ok"),
        ],
        turn,
    )
    assert turn.asked == [("add", '{"a": 1, "b": 2}'), ("add", '{"a": 9}'), ("add", '{"a": 9}')]
    assert [message.text for message in messages if isinstance(message, ToolAnswer)] == ["2"] * 4
    assert end.calls == 3


async def test_malformed_arguments_and_unknown_tools_reach_the_turn_as_they_are():
    turn = TableTurn()
    _, messages = await talk([calls(call("core_execute", '{"code": "ret'), call("none such", "")), says("ok")], turn)
    assert turn.asked == [("core_execute", '{"code": "ret'), ("none such", "")]
    assert 'no tool "none such"' in messages[3].text


class OneReply:
    """A model that is not kind: it gives these replies as they are, without showing them."""

    def __init__(self, *replies):
        self._replies = list(replies)
        self.heard = []

    async def reply(self, messages, tools, *, on_text):
        self.heard.append(list(messages))
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


def raw(text="", *requests, finish="stop"):
    return ModelReply(AssistantMessage(text, tuple(requests)), Usage(), finish)


async def test_missing_repeated_and_odd_ids_are_made_unique():
    conversation = Conversation()
    request = [
        ToolRequest(id_, "add", json.dumps({"n": n})) for n, id_ in enumerate(["", "x", "x", "", "bad id\n", "y" * 65])
    ]
    for _ in range(2):
        await talk(OneReply(raw("", *request), raw("ok")), conversation=conversation)
    answers = [message for message in conversation.messages() if isinstance(message, ToolAnswer)]
    assert len({answer.call_id for answer in answers}) == 12
    assert answers[1].call_id == "x"


async def test_what_the_model_writes_is_bounded():
    turn = TableTurn({"add": "2"})
    end, messages = await talk(
        OneReply(
            raw("t" * 300_000, ToolRequest("a", "n" * 500, "{}"), ToolRequest("b", "add", '"' + "x" * 300_000 + '"')),
            raw("", *(ToolRequest(f"c{n}", "add", f"{n}") for n in range(500))),
            raw("y" * 300_000),
        ),
        turn,
        max_tool_calls=1_000,
    )
    assert len(messages[1].text) < 200_100
    assert len(messages[1].calls[0].name) == 128
    assert len(messages[1].calls[1].arguments_json) < 100
    assert messages[3].text.startswith("EXECUTION_DENIED: The arguments have 300002 characters")
    assert len(messages[4].calls) == 128
    assert end.stopped == "length"
    assert len(end.text) < 200_200
    assert max(len(json.dumps(str(message))) for message in messages) < 300_000


async def test_text_of_a_model_that_does_not_stream_is_shown_too():
    events = []
    end, _ = await talk(OneReply(raw("whole \ud83d")), watch=events.append, text="\udcff")
    assert events[0] == TextArrived("whole \ufffd")
    assert end.text == "whole \ufffd"


async def test_arguments_that_were_cut_off_are_not_run():
    turn = TableTurn({"add": "2"})
    _, messages = await talk(
        OneReply(
            raw("", ToolRequest("a", "add", '{"a": 1}'), ToolRequest("b", "add", '{"a": 1, "b'), finish="length"),
            raw("ok"),
        ),
        turn,
    )
    assert turn.asked == [("add", '{"a": 1}')]
    assert messages[3].text.startswith("EXECUTION_DENIED: Your reply reached its limit")


async def test_an_empty_answer_of_a_tool_reads_no_output():
    async def silent(arguments):
        return Answer("")

    _, messages = await talk([calls(call()), says("ok")], {"add": silent})
    assert messages[2].text == "(no output)"


# Bounds


def shown(events):
    """The text since the last call or round but one."""
    text = ""
    for event in events:
        match event:
            case CallStarted():
                text = ""
            case TextArrived(piece):
                text += piece
            case Notice(words_):
                text += f"\n\n{words_}" if text else words_
    return text


async def test_rounds_are_bounded_and_calls_of_the_last_round_are_not_run():
    turn, events = TableTurn({"add": "2"}), []
    end, messages = await talk([calls(call())] * 9, turn, max_rounds=3, watch=events.append)
    assert (end.stopped, end.rounds, end.calls) == ("rounds", 3, 2)
    assert len(turn.asked) == 2
    assert "limit of 3 rounds" in end.text
    assert shown(events) == end.text
    assert messages[-2].text.startswith("EXECUTION_DENIED: Not run")


async def test_calls_are_bounded_and_the_model_is_told_before_the_turn_ends():
    turn = TableTurn({"add": "2"})
    five = [call("add", json.dumps({"n": n})) for n in range(5)]
    model = ScriptedModel([calls(*five), says("enough", expect="EXECUTION_DENIED: The limit of 3 tool calls")])
    end, _ = await talk(model, turn, max_tool_calls=3)
    assert (end.stopped, end.calls, len(turn.asked)) == ("answered", 3, 3)

    turn, events = TableTurn({"add": "2"}), []
    end, _ = await talk([calls(*five), calls(call()), says("never")], turn, max_tool_calls=3, watch=events.append)
    assert (end.stopped, end.rounds, end.calls, len(turn.asked)) == ("calls", 2, 3, 3)
    assert "limit of 3 tool calls" in end.text
    assert shown(events) == end.text


async def test_the_same_impossible_call_ends_the_turn_after_the_third_with_a_clear_word():
    turn, events = TableTurn({}), []
    nowhere = calls(call("nowhere", '{"a": 1, "b": 2}'))
    spelled_otherwise = calls(call("nowhere", '{ "b": 2, "a": 1 }'))
    model = ScriptedModel([nowhere, spelled_otherwise, {**nowhere, "expect": "a third time ends the turn"}, says("no")])
    end, messages = await talk(model, turn, max_rounds=20, watch=events.append)
    assert (end.stopped, end.rounds, len(turn.asked)) == ("repeats", 3, 3)
    assert 'the same call of "nowhere" 3 times, and each failed' in end.text
    assert 'EXECUTION_DENIED: There is no tool "nowhere".' in end.text
    assert shown(events) == end.text
    warned = [WARNING in message.text for message in messages if isinstance(message, ToolAnswer)]
    assert warned == [False, True, False]


def test_a_warning_about_a_repeated_call_keeps_what_was_displayed():
    shown_again = Displayed("markdown", "text/markdown", b"chart")
    repeats, request = Repeats(), ToolRequest("1", "core_execute", "{}")
    failed = Answer("EXECUTION_ERROR: x", "energy 0.5", ok=False, displayed=(shown_again,))
    assert repeats.judge(request, failed) == failed
    warned = repeats.judge(request, failed)
    assert (warned.displayed, warned.ok, warned.note) == ((shown_again,), False, f"energy 0.5\n{WARNING}")


async def test_calls_that_differ_or_succeed_in_between_are_not_the_same_impossible_call():
    others = [calls(call("nowhere", json.dumps({"n": n}))) for n in range(5)]
    end, _ = await talk([*others, says("done")])
    assert end.stopped == "answered"

    answers = iter([False, False, True, False, False, True])

    async def now_and_then(arguments):
        return Answer("EXECUTION_ERROR: ToolError: not yet", ok=next(answers))

    end, _ = await talk([calls(call("poll"))] * 6 + [says("done")], {"poll": now_and_then})
    assert (end.stopped, end.calls) == ("answered", 6)


async def test_identical_calls_in_one_reply_count_once_as_the_same_impossible_call():
    end, _ = await talk([calls(*[call("nowhere")] * 5), says("done")])
    assert end.stopped == "answered"


async def test_a_long_answer_to_an_impossible_call_is_quoted_in_part_only():
    async def verbose(arguments):
        return Answer("EXECUTION_ERROR: " + "long words " * 50_000, ok=False)

    end, _ = await talk([calls(call("verbose"))] * 4, {"verbose": verbose})
    assert end.stopped == "repeats"
    assert len(end.text) < 600


async def test_tokens_are_bounded():
    turn = TableTurn({"add": "2"})
    costly = {"input_tokens": 300, "output_tokens": 200}
    end, messages = await talk(
        [calls(call(), usage=costly), calls(call(), usage=costly), says("never")], turn, max_turn_tokens=1_000
    )
    assert (end.stopped, end.rounds, len(turn.asked)) == ("tokens", 2, 1)
    assert "limit of 1000 tokens is reached (1000 were used)" in end.text
    assert messages[-2].text.startswith("EXECUTION_DENIED: Not run")


async def test_a_last_word_counts_even_when_it_uses_up_the_tokens():
    end, _ = await talk([says("done", usage={"input_tokens": 10_000})], max_turn_tokens=1)
    assert (end.stopped, end.text) == ("answered", "done")


@pytest.mark.parametrize("where", ["tool", "model"])
async def test_the_time_of_a_turn_is_bounded_in_models_and_in_tools(where):
    events, begun = [], []

    async def hangs(arguments):
        begun.append(1)
        await anyio.sleep_forever()

    class Slow:
        async def reply(self, messages, tools, *, on_text):
            on_text("I think")
            begun.append(1)
            await anyio.sleep_forever()

    quick = calls(call("fast"), call("add"))
    # On a machine that stands still for a moment the first limit may be over before anything has begun.
    for limit_s in (0.4, 5):
        events.clear()
        begun.clear()
        model = Slow() if where == "model" else [quick]
        tools = {"add": hangs, "fast": "done"}
        end, messages = await talk(model, tools, max_turn_s=limit_s, watch=events.append)
        if begun:
            break
    assert end.stopped == "time"
    assert f"limit of {limit_s} seconds" in end.text
    assert shown(events) == end.text
    if where == "model":
        assert end.text.startswith("I think\n\n(Stopped")
    else:
        assert [message.text for message in messages[2:4]] == [
            "done",
            "EXECUTION_ERROR: ToolError: The call was interrupted before it had ended; what it had begun may have happened.",
        ]


async def test_a_reply_that_reached_its_limit_ends_the_turn_and_says_so():
    events = []
    end, _ = await talk([says("half a", finish="length")], watch=events.append)
    assert end.stopped == "length"
    assert end.text.startswith("half a\n\n(The reply reached its limit")
    assert shown(events) == end.text


async def test_a_reply_that_was_filtered_is_no_answer():
    end, _ = await talk([says("", finish="filter")])
    assert (end.stopped, "content filter" in end.text) == ("model_error", True)


async def test_an_empty_reply_is_nudged_once_and_the_nudge_is_not_kept():
    model = ScriptedModel([says(" \n"), says("sorry")])
    end, messages = await talk(model)
    assert (end.text, end.stopped, end.rounds) == ("sorry", "answered", 2)
    assert "empty" in model.heard[1][-1].text
    assert messages == [UserMessage("hello"), AssistantMessage("sorry")]


async def test_two_empty_replies_end_the_turn():
    end, _ = await talk([says(""), says("")])
    assert (end.stopped, end.rounds) == ("model_error", 2)
    assert "nothing, twice" in end.text


async def test_a_nudge_counts_as_a_round():
    end, _ = await talk([says("")], max_rounds=1)
    assert end.stopped == "rounds"


# Faults


async def test_a_fault_of_the_model_ends_the_turn_and_what_the_user_said_stays():
    conversation = Conversation()
    end, messages = await talk(OneReply(ModelError("no such model; check model.name")), conversation=conversation)
    assert end.stopped == "model_error"
    assert "no such model; check model.name" in end.text
    assert messages[0] == UserMessage("hello")
    model = ScriptedModel([says("hi")])
    await talk(model, text="again", conversation=conversation)
    assert model.heard[0][1:] == (UserMessage("hello"), AssistantMessage("(no answer)"), UserMessage("again"))


async def test_what_the_loop_says_of_the_end_is_not_told_as_words_of_the_model():
    events = []
    end, _ = await talk([says("half a", finish="length")], watch=events.append)
    said = "".join(event.text for event in events if isinstance(event, TextArrived))
    assert (said, events[-2]) == ("half a", Notice(end.text.removeprefix("half a\n\n")))


async def test_a_fault_after_calls_keeps_their_answers():
    end, messages = await talk(OneReply(raw("", ToolRequest("a", "add", "{}")), ModelError("gone")))
    assert (end.stopped, end.calls) == ("model_error", 1)
    assert messages[2] == ToolAnswer("a", "add", "2")


async def test_a_script_that_does_not_fit_is_not_a_fault_of_the_model():
    conversation = Conversation()
    with pytest.raises(ScriptError):
        await talk([], conversation=conversation)
    assert_valid(conversation.messages())


@pytest.mark.parametrize("where", ["tool", "model"])
async def test_cancelling_goes_through_and_leaves_a_valid_conversation_on_disk(tmp_path, where):
    conversations = Conversations(tmp_path)
    conversation = conversations.new()
    stopped = []

    async def hangs(arguments):
        try:
            scope.cancel()
            await anyio.sleep_forever()
        finally:
            stopped.append("tool")

    class Slow:
        async def reply(self, messages, tools, *, on_text):
            on_text("I was about")
            scope.cancel()
            await anyio.sleep_forever()

    with anyio.CancelScope() as scope:
        await talk(
            Slow() if where == "model" else [says("Let me see. ", calls=[call("quick"), call("add")])],
            {"add": hangs, "quick": "done"},
            conversation=conversation,
        )
    assert scope.cancelled_caught
    messages = conversation.messages()
    assert_valid(messages)
    assert messages[0] == UserMessage("hello")
    assert messages[-1].text.endswith("(This turn was interrupted before it had ended.)")
    if where == "model":
        assert messages[-1].text.startswith("I was about\n\n")
    else:
        assert stopped == ["tool"]
        assert messages[-1].text == "(This turn was interrupted before it had ended.)"
        assert [message.text.partition(":")[0] for message in messages[2:4]] == ["done", "EXECUTION_ERROR"]
    conversation.close()
    with conversations.open(conversation.id) as again:
        assert again.messages() == messages
        end, _ = await talk([says("on we go")], conversation=again)
        assert end.stopped == "answered"


@pytest.mark.parametrize("kind", [TextArrived, CallStarted, CallEnded, RoundEnded])
async def test_what_a_watcher_raises_comes_out_as_it_is_and_leaves_a_valid_conversation(kind):
    conversation = Conversation()

    def watch(event):
        if isinstance(event, kind):
            raise LookupError("watcher")

    with pytest.raises(LookupError, match="watcher"):
        await talk([says("a", calls=[call(), call("sub")]), says("b")], conversation=conversation, watch=watch)
    assert_valid(conversation.messages())


async def test_a_tool_that_raises_leaves_a_valid_conversation():
    async def bug(arguments):
        raise LookupError("bug")

    conversation = Conversation()
    with pytest.raises(LookupError, match="bug"):
        await talk([calls(call("fine"), call())], {"add": bug, "fine": "1"}, conversation=conversation)
    assert_valid(conversation.messages())


async def test_a_conversation_that_cannot_be_written_fails_and_stays_valid_in_memory(tmp_path):
    conversation = Conversations(tmp_path / "gone").new()

    async def unplug(arguments):
        conversation.close()
        return Answer("1")

    with pytest.raises(ConversationError, match="closed"):
        await talk([calls(call(), call("add", "{}"))], {"add": unplug}, conversation=conversation)
    assert_valid(conversation.messages())

    (tmp_path / "file").write_text("")
    blocked = Conversations(tmp_path / "file").new()
    with pytest.raises(ConversationError, match="Cannot write"):
        await talk([says("hi")], conversation=blocked)
    assert_valid(blocked.messages())


async def test_two_turns_at_once_in_one_conversation_are_refused():
    conversation = Conversation()

    async def again(arguments):
        with pytest.raises(ConversationBusy):
            await run_turn(ScriptedModel([says("x")]), TableTurn(), [], conversation, "me too", LoopSettings())
        return Answer("refused")

    _, messages = await talk([calls(call()), says("ok")], {"add": again}, conversation=conversation)
    assert messages[2].text == "refused"


# With the real client


async def test_a_turn_with_the_real_client_from_a_split_call_to_the_last_word():
    with ChatServer(
        error("429 Slow Down", Retry_After="0"),
        stream(
            delta(content="Let me compute. "),
            call_piece('{"purpose": "su', name="core_execute", index=0, id="c0"),
            call_piece('m", "code": "return 1 +', index=0),
            call_piece(' 1"}', index=0),
            delta("tool_calls"),
            usage(100, 20),
        ),
        words("It ", "is 2."),
    ) as server:
        async with OpenAIModel(server.settings()) as model:
            turn = TableTurn({"core_execute": "2"})
            end, _ = await talk(model, turn)
    assert (end.text, end.stopped, end.usage) == ("It is 2.", "answered", Usage(107, 22))
    assert json.loads(turn.asked[0][1]) == {"purpose": "sum", "code": "return 1 + 1"}
    assert server.asked[2]["messages"][-1] == {"role": "tool", "tool_call_id": "c0", "content": "2"}


async def test_a_connection_lost_in_the_middle_of_the_words_keeps_what_was_shown():
    def broken(talk):
        begin(talk)
        send(talk, delta(content="The answer is"))
        talk.reset()

    with ChatServer(broken) as server:
        async with OpenAIModel(server.settings()) as model:
            end, _ = await talk(model)
    assert end.stopped == "model_error"
    assert end.text.startswith("The answer is\n\n(The model gave no answer: Cannot get a reply")


async def test_cancelling_a_turn_with_the_real_client_closes_the_connection():
    def stalls(talk):
        begin(talk)
        send(talk, delta(content="The answer is"))
        talk.wait_until_gone()

    conversation = Conversation()
    with ChatServer(stalls) as server:
        async with OpenAIModel(server.settings()) as model:
            with anyio.CancelScope() as scope:
                await talk(model, conversation=conversation, watch=lambda event: scope.cancel())
            assert server.gone.wait(60)
    assert_valid(conversation.messages())
