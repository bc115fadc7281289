"""Turns as the main thread sees them: questions, interrupts, and where everything is shown."""

from __future__ import annotations

import fcntl
import inspect
import io
import json
import os
import signal
import threading

import anyio
import pytest

from cortex import Toolbox
from cortex.chat import Asked, Dialogue, ForPeople, ForPrograms, LineHistory, OutputLost, Prompt, Slash, Talk
from cortex.chat.agent import PatientModel
from cortex.chat.console_owner import ask
from cortex.loop import (
    AssistantMessage,
    ConversationBusy,
    Conversations,
    ModelError,
    ModelReply,
    Usage,
    UserMessage,
    Waiting,
)
from sandbox import ExecutionOutcome
from tests.conftest import is_readable

from .screen import Screen
from .stage import chat

CODE = {"name": "core_execute", "arguments": {"purpose": "Six times seven", "code": "return 6 * 7"}}
ANSWERED = [{"text": "Let me see. ", "calls": [CODE]}, {"text": "It is 42."}]


@pytest.fixture
def terminal(monkeypatch):
    """A terminal, and our streams to it."""
    monkeypatch.setenv("NO_COLOR", "1")
    with (
        Screen() as screen,
        open(os.dup(screen.theirs), encoding="utf-8") as keyboard,
        open(os.dup(screen.theirs), "w", encoding="utf-8") as out,
    ):
        screen.keyboard, screen.out = keyboard, out
        yield screen


def at(screen):
    return {"keyboard": screen.keyboard, "screen": screen.out}


NOWHERE = {"keyboard": io.StringIO(), "screen": io.StringIO(), "is_there": False}


def test_what_the_agent_says_is_one_stream_and_what_it_does_another_where_there_is_no_terminal(tmp_path):
    out, err = io.StringIO(), io.StringIO()
    with chat(tmp_path, ANSWERED, ForPeople(out, err), **NOWHERE) as talk:
        end = talk.turn("what is six times seven?")
    assert (end.text, end.stopped) == ("It is 42.", "answered")
    assert out.getvalue() == "Let me see. \n\nIt is 42.\n"
    assert err.getvalue().startswith(
        "> Six times seven\n  | return 6 * 7\n  isolated, at most 5000 ms, energy 1.00 -> 0.9"
    )
    assert "= 42\n" in err.getvalue()


def test_in_a_terminal_all_is_in_one_place_and_in_order(tmp_path, terminal):
    with chat(tmp_path, ANSWERED, ForPeople(terminal.out, terminal.out), **at(terminal)) as talk:
        talk.turn("?")
    text = terminal.wait_for("It is 42.\n")
    assert text.startswith("Let me see.\n\n▶ Six times seven\n  │ return 6 * 7\n")
    assert "energy ▰▰▰▰▰▰▰▰▰▱ 1.00 → 0.9" in text


def test_programs_get_one_object_in_each_line(tmp_path):
    out = io.StringIO()
    with chat(tmp_path, [*ANSWERED, {"text": "Bye."}], ForPrograms(out), **NOWHERE) as talk:
        talk.turn("what is six times seven?")
        talk.turn("bye")
        conversation = talk.agent.conversation.id
    events = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [event["event"] for event in events] == [
        *("turn_started", "text", "text", "text", "call_started", "execution_started", "execution_ended"),
        *("call_ended", "round_ended", "text", "text", "text", "round_ended", "turn_ended"),
        *("turn_started", "text", "round_ended", "turn_ended"),
    ]
    first, last = events[0], events[13]
    assert (first["conversation"], first["message"]) == (conversation, "what is six times seven?")
    assert (last["conversation"], last["turn"]) == (conversation, first["turn"])
    assert (last["text"], last["stopped"], last["rounds"], last["calls"]) == ("It is 42.", "answered", 2, 1)
    assert last["usage"].keys() == {"input_tokens", "output_tokens", "estimated"}


def test_programs_can_tell_which_call_an_execution_belongs_to(tmp_path):
    first_has_begun, second_is_done = anyio.Event(), anyio.Event()

    async def second_first(request, tools):
        if "1" in request.code:
            first_has_begun.set()
            await second_is_done.wait()
        else:
            await first_has_begun.wait()
            second_is_done.set()
        return ExecutionOutcome(ok=True, result=request.code)

    calls = [{"name": "core_execute", "arguments": {"purpose": "p", "code": f"return {n}"}} for n in (1, 2)]
    steps = [{"calls": [*calls, {"name": "fly"}]}, {"text": "Done."}]
    out = io.StringIO()
    with chat(tmp_path, steps, ForPrograms(out), run=second_first, **NOWHERE) as talk:
        talk.turn("?")
    events = [json.loads(line) for line in out.getvalue().splitlines()]
    asked = {event["id"]: event["arguments"] for event in events if event["event"] == "call_started"}
    ran = [event for event in events if event["event"] in {"execution_started", "execution_ended"}]
    assert [event["event"] for event in ran] == ["execution_started"] * 2 + ["execution_ended"] * 2
    for event in ran:
        assert json.loads(asked[event["id"]])["code"] == event.get("code", json.loads(event.get("reply", "0")))
    refused = next(event for event in events if event["event"] == "refused")
    assert asked[refused["id"]] == "{}"
    assert all("id" not in event for event in events if event["event"] in {"text", "round_ended", "turn_ended"})


class Silent:
    """A model that says nothing until somebody has been told that it does not. `on_text` first, if it is to."""

    def __init__(self, said="", fault=None):
        self.told = anyio.Event()
        self._said, self._fault = said, fault

    async def reply(self, messages, tools, *, on_text):
        if self._said:
            on_text(self._said)
            return ModelReply(AssistantMessage(self._said), Usage(), "stop")
        with anyio.fail_after(30):
            await self.told.wait()
        if self._fault is not None:
            raise self._fault
        return ModelReply(AssistantMessage("Here I am."), Usage(), "stop")


def test_a_person_is_told_when_the_model_is_silent_for_long(tmp_path):
    class Watched(ForPeople):
        def event(self, event):
            super().event(event)
            if isinstance(event, Waiting):
                model.told.set()

    model, out, err = Silent(), io.StringIO(), io.StringIO()
    with chat(tmp_path, [], Watched(out, err), model=model, silence_s=0, **NOWHERE) as talk:
        assert talk.turn("hi").stopped == "answered"
    assert (out.getvalue(), err.getvalue()) == ("Here I am.\n", "- waiting for the model...\n")


async def test_a_model_that_speaks_is_not_waited_for_and_its_faults_come_out_as_they_are():
    told = []
    patient = PatientModel(Silent("Hello."), told.append, silence_s=600)
    with anyio.fail_after(30):
        assert (await patient.reply([], [])).message.text == "Hello."
    assert told == []
    fault = ModelError("gone")
    silent = Silent(fault=fault)
    with pytest.raises(ModelError) as caught:
        await PatientModel(silent, lambda event: silent.told.set(), silence_s=0).reply([], [])
    assert caught.value is fault


def test_what_was_remembered_is_told_to_the_model_in_the_next_turn(tmp_path):
    remember = {"name": "core_remember", "arguments": {"text": "The user likes tea"}}
    out = io.StringIO()
    steps = [{"calls": [remember]}, {"text": "Noted."}, {"text": "Tea."}]
    with chat(tmp_path, steps, ForPeople(out, out), **NOWHERE) as talk:
        talk.turn("remember that I like tea")
        talk.turn("what do I like?")
        heard = talk.model.heard[-1]
    assert "The user likes tea" in heard[0].text
    assert "- remembered: The user likes tea\n" in out.getvalue()


def test_what_was_said_with_core_say_is_shown_once(tmp_path):
    say = {"name": "core_say", "arguments": {"text": "It is done."}}
    out = io.StringIO()
    with chat(tmp_path, [{"calls": [say]}, {"text": "Anything else?"}], ForPeople(out, out), **NOWHERE) as talk:
        talk.turn("do it")
    assert out.getvalue() == "It is done.\n\nAnything else?\n"


def test_an_interrupt_stops_the_turn_with_what_it_runs_and_the_chat_goes_on(tmp_path):
    out = io.StringIO()
    began = threading.Event()

    async def forever(request, tools):
        began.set()
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep_forever()

    steps = [{"text": "Let me see. ", "calls": [CODE]}, {"text": "Here I am."}]
    with chat(tmp_path, steps, ForPeople(out, out), run=forever, **NOWHERE) as talk:
        assert talk.turn("run for ever") is None
        assert began.is_set()
        assert talk.runtime.ended == ["cancelled"]
        assert out.getvalue().endswith("- stopped\n")
        assert talk.turn("are you there?").text == "Here I am."
        said = talk.agent.conversation.messages()
    assert isinstance(said[-1], AssistantMessage)
    assert [message.text for message in said if isinstance(message, UserMessage)] == ["run for ever", "are you there?"]


def test_an_interrupt_while_a_pipe_is_read_is_an_exception(tmp_path):
    with chat(tmp_path, [], ForPeople(io.StringIO(), io.StringIO()), **NOWHERE) as talk:
        with pytest.raises(KeyboardInterrupt):
            talk.read(lambda: os.kill(os.getpid(), signal.SIGINT))
        assert talk.read(lambda: "a line") == "a line"


def test_an_interrupt_that_comes_between_two_turns_stops_neither(tmp_path):
    with chat(tmp_path, [{"text": "Hello."}], ForPeople(io.StringIO(), io.StringIO()), **NOWHERE) as talk:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            talk.read(lambda: "never read")
        assert talk.read(lambda: "hi") == "hi"
        assert talk.turn("hi").text == "Hello."


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_and_sighup_stop_the_turn_and_end_the_reading(tmp_path, number):
    async def forever(request, tools):
        os.kill(os.getpid(), number)
        await anyio.sleep_forever()

    before = signal.getsignal(number)
    with chat(tmp_path, [{"calls": [CODE]}], ForPeople(io.StringIO(), io.StringIO()), run=forever, **NOWHERE) as talk:
        assert talk.turn("run for ever") is None
        assert talk.runtime.ended == ["cancelled"]
        assert talk.is_ending
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                talk.read(lambda: "never read")
        assert signal.getsignal(number) == signal.SIG_DFL, "whoever asks twice means at once"
    assert signal.getsignal(number) == before


def shop(policy="ask"):
    toolbox, orders = Toolbox(), []

    @toolbox.tool(name="shop.order", policy=policy)
    def order(item: str) -> str:
        """Order an item."""
        orders.append(item)
        return "ordered"

    return toolbox, orders


ORDER = [
    {"text": "I order it. ", "calls": [{"name": "shop_order", "arguments": {"item": "tea"}}]},
    {"text": "Done."},
]


@pytest.mark.parametrize(
    ("typed", "orders"), [("y\n", ["tea"]), ("YES\n", ["tea"]), ("n\n", []), ("\n", []), ("\x04", [])]
)
def test_the_owner_is_asked_at_the_terminal_and_only_a_yes_is_one(tmp_path, terminal, typed, orders):
    toolbox, ordered = shop()

    def person():
        terminal.wait_for("Allow it this once? [y/N] ")
        terminal.type(typed)

    with chat(tmp_path, ORDER, ForPeople(terminal.out, terminal.out), toolbox=toolbox, **at(terminal)) as talk:
        asked = threading.Thread(target=person)
        asked.start()
        talk.turn("order tea")
        asked.join()
    assert ordered == orders
    text = terminal.wait_for("Done.\n")
    told = '· shop.order {"item": "tea"}: ' if orders else "· shop.order: the owner was asked about shop.order and"
    assert [line.startswith(told) for line in text.split("\n") if line.startswith("· ")] == [True], "once"
    assert ('→ "ordered"\n' in text) == bool(orders)
    assert "I order it.\n\nThe agent wants to call shop.order\n" in text
    assert '  item = "tea"\n' in text


def test_what_was_typed_before_the_question_is_no_answer_to_it(tmp_path, terminal):
    toolbox, ordered = shop()
    terminal.type("y\ny\ny\n")
    terminal.wait_for("y\ny\ny\n")

    def person():
        terminal.wait_for("Allow it this once? [y/N] ")
        terminal.type("n\n")

    with chat(tmp_path, ORDER, ForPeople(terminal.out, terminal.out), toolbox=toolbox, **at(terminal)) as talk:
        asked = threading.Thread(target=person)
        asked.start()
        talk.turn("order tea")
        asked.join()
    assert ordered == []


class TypedOver(io.StringIO):
    """A screen before a person who types the next line whenever something is shown, and it has arrived by then."""

    def __init__(self, terminal: Screen, *typed: str) -> None:
        super().__init__()
        self._terminal = terminal
        self._typed = iter(typed)

    def flush(self) -> None:
        self._terminal.type(next(self._typed))
        assert is_readable(self._terminal.keyboard, 30)


def test_an_answer_that_was_typed_while_the_question_appeared_was_meant_for_another(terminal):
    asked = Asked("May it?")
    screen = TypedOver(terminal, "y\n", "n\n")
    assert not ask(asked, terminal.keyboard, screen, reading_s=0).allowed
    assert screen.getvalue() == "\nMay it?\nAllow it this once? [y/N] "
    assert ask(asked, terminal.keyboard, TypedOver(terminal, "n\n", "y\n"), reading_s=0).allowed
    asked.close()


def test_an_agent_with_very_many_open_files_can_be_asked_and_answered(terminal):
    def far_up(end):
        return fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 1_100)  # where `select` does not reach

    asked = Asked("May it?")
    near, asked._ends = asked._ends, tuple(map(far_up, asked._ends))
    for end in near:
        os.close(end)
    with open(far_up(terminal.keyboard), encoding="utf-8") as keyboard:
        assert ask(asked, keyboard, TypedOver(terminal, "n\n", "y\n"), reading_s=0).allowed
        asked.withdraw()
        assert ask(asked, keyboard, io.StringIO(), reading_s=600).reason == "the question was withdrawn"
    asked.close()


def unanswered(home, terminal, **more):
    """What there is to read after a question that had its time. On a machine that stands still for a moment that may be
    over before the question is shown: then it is asked once more, and has longer."""
    for limit_s in (0.2, 5.0):
        toolbox, ordered = shop()
        steps = [ORDER[0], {**ORDER[1], "expect": f"no answer within {limit_s:g} s"}]
        output, limits = ForPeople(terminal.out, terminal.out), {"owner_timeout_s": limit_s}
        with chat(home / f"{limit_s}", steps, output, toolbox=toolbox, tools=limits, **more, **at(terminal)) as talk:
            assert talk.turn("order tea").text == "Done."
        assert ordered == []
        text = terminal.wait_for("Done.\n")
        if "(withdrawn)\n" in text:
            break
    return text


def test_a_question_can_be_withdrawn_before_it_can_be_answered(tmp_path, terminal):
    assert '  item = "tea"\n(withdrawn)\n' in unanswered(tmp_path, terminal, reading_s=600)
    assert inspect.signature(Talk).parameters["reading_s"].default >= 0.5, "that is what people get"


def test_without_a_terminal_the_question_is_refused_and_the_model_is_told_why(tmp_path):
    toolbox, ordered = shop()
    refused = {
        **ORDER[1],
        "expect": "EXECUTION_DENIED: .*shop.order.*there is no terminal to ask the owner at",
    }
    with chat(
        tmp_path, [ORDER[0], refused], ForPeople(io.StringIO(), io.StringIO()), toolbox=toolbox, **NOWHERE
    ) as talk:
        assert talk.turn("order tea").text == "Done."
    assert ordered == []


def test_code_that_calls_a_tool_asks_too(tmp_path, terminal):
    toolbox, ordered = shop()

    async def order(request, tools):
        return ExecutionOutcome(ok=True, result=await tools.call("shop.order", {"item": "tea"}))

    def person():
        terminal.wait_for("Allow it this once? [y/N] ")
        terminal.type("y\n")

    output = ForPeople(terminal.out, terminal.out)
    with chat(tmp_path, ANSWERED, output, run=order, toolbox=toolbox, **at(terminal)) as talk:
        asked = threading.Thread(target=person)
        asked.start()
        talk.turn("order tea")
        asked.join()
    assert ordered == ["tea"]
    text = terminal.wait_for("It is 42.\n")
    assert (
        "Code that the agent wrote wants to call shop.order\n  its purpose, in its own words: Six times seven\n" in text
    )


def test_nothing_is_written_into_an_open_question(tmp_path, terminal):
    toolbox, _ = shop()
    shown, answered = threading.Event(), threading.Event()

    @toolbox.tool(name="shop.stock")
    def stock() -> int:
        """How many are left."""
        assert shown.wait(30), "the question is open"
        answered.set()
        return 3

    calls = [*ORDER[0]["calls"], {"name": "shop_stock"}, CODE]

    def person():
        terminal.wait_for("Allow it this once? [y/N] ")
        shown.set()
        assert answered.wait(30), "the other calls go on meanwhile"
        terminal.type("y\n")

    output = ForPeople(terminal.out, terminal.out)
    with chat(tmp_path, [{"calls": calls}, {"text": "Done."}], output, toolbox=toolbox, **at(terminal)) as talk:
        asked = threading.Thread(target=person)
        asked.start()
        talk.turn("order tea")
        asked.join()
    text = terminal.wait_for("Done.\n")
    _, _, rest = text.partition("[y/N] ")
    assert rest.startswith("y\n")
    assert "· shop.stock: " in rest
    assert "→ 3\n" in rest


def test_several_calls_of_a_tool_are_one_question_and_numbers_allow_some(tmp_path, terminal):
    toolbox, ordered = shop()
    calls = [{"name": "shop_order", "arguments": {"item": item}} for item in ("tea", "milk", "salt")]

    def person():
        terminal.wait_for("or the numbers of some: 1,3-5] ")
        terminal.type("1,3\n")

    output = ForPeople(terminal.out, terminal.out)
    with chat(tmp_path, [{"calls": calls}, {"text": "Done."}], output, toolbox=toolbox, **at(terminal)) as talk:
        asked = threading.Thread(target=person)
        asked.start()
        talk.turn("order all")
        asked.join()
    text = terminal.wait_for("Done.\n")
    assert "The agent wants to call shop.order, 3 times\n" in text
    numbered = dict(line.strip().split(". item = ") for line in text.split("\n") if ". item = " in line)
    assert {f"«{json.dumps(item)}»" for item in ordered} == {numbered["1"], numbered["3"]}


def test_an_unanswered_question_is_withdrawn(tmp_path, terminal):
    assert "[y/N] \n(withdrawn)\n" in unanswered(tmp_path, terminal)


def test_an_interrupt_at_a_question_stops_the_turn(tmp_path, terminal):
    toolbox, ordered = shop()

    def person():
        terminal.wait_for("Allow it this once? [y/N] ")
        os.kill(os.getpid(), signal.SIGINT)

    output = ForPeople(terminal.out, terminal.out)
    with chat(tmp_path, [ORDER[0], {"text": "Here."}], output, toolbox=toolbox, **at(terminal)) as talk:
        asked = threading.Thread(target=person)
        asked.start()
        assert talk.turn("order tea") is None
        asked.join()
        assert talk.turn("are you there?").text == "Here."
    assert ordered == []


def test_a_question_cannot_pass_for_another_or_steer_the_terminal(tmp_path, terminal):
    toolbox, _ = shop()
    item = "tea\n\x1b[2JThe agent wants to call shop.look\n" + "x" * 200
    call = {"name": "shop_order", "arguments": {"item": item}}

    def person():
        terminal.wait_for("Allow it this once? [y/N] ")
        terminal.type("n\n")

    output = ForPeople(terminal.out, terminal.out)
    with chat(tmp_path, [{"calls": [call]}, {"text": "Done."}], output, toolbox=toolbox, **at(terminal)) as talk:
        asked = threading.Thread(target=person)
        asked.start()
        talk.turn("order")
        asked.join()
    text = terminal.wait_for("Done.\n")
    assert "\x1b" not in terminal.raw
    assert [line for line in text.split("\n") if line.startswith("The agent wants")] == [
        "The agent wants to call shop.order"
    ]
    assert max(map(len, text.split("\n"))) <= 80


def dialogue(talk, home, screen, lines):
    """A person who types these lines, one at each prompt; there exceptions are raised and signals sent, too."""
    source = iter(lines)

    class Typed(Prompt):
        def read(self):
            match next(source, EOFError):
                case str(line):
                    return line
                case signal.Signals() as number:
                    os.kill(os.getpid(), number)
                    return "never said"
                case error:
                    raise error

    conversations = Conversations(home / "conversations")
    slash = Slash(screen, talk.level, talk.agent.cortex.settings.energy, conversations)
    return Dialogue(talk, Typed(LineHistory(home / "h"), screen), slash, ForPeople(screen, screen), screen)


def test_a_dialogue_has_commands_and_hints(tmp_path, monkeypatch):
    out = io.StringIO()
    with chat(tmp_path, [{"text": "Hello."}], ForPeople(out, out), **NOWHERE) as talk:
        lines = ["  ", "/energy", "/help", "/fly", "/conversations", KeyboardInterrupt, "/etc/hosts?", "/quit", "never"]
        dialogue(talk, tmp_path, out, lines).run("tiny")
        said = talk.agent.conversation.messages()
    text = out.getvalue()
    assert "Talking to tiny. /help lists the commands" in text
    assert "energy 1.00\n  isolated   costs 0.05   possible, 18 runs in a row\n  network    costs 0.15" in text
    assert "/quit            leaves; Ctrl-D does too\nCtrl-C           stops a turn" in text
    assert "There is no /fly; /help lists what there is\n" in text
    assert "There are no conversations yet\n" in text
    assert "\nCtrl-D or /quit leaves\n" in text
    assert [message.text for message in said] == ["/etc/hosts?", "Hello."], "a path is a message"
    assert f"cortex chat --resume {talk.agent.conversation.id} continues" in text


def test_a_dialogue_ends_when_it_is_told_to(tmp_path):
    out = io.StringIO()
    with chat(tmp_path, [{"text": "Hello."}], ForPeople(out, out), **NOWHERE) as talk:
        dialogue(talk, tmp_path, out, ["hi", signal.SIGTERM, "/help"]).run("tiny")
        assert talk.is_ending
    assert "/help            shows this" not in out.getvalue()
    assert out.getvalue().endswith("continues this conversation.\n")


def test_a_conversation_that_is_taken_up_again_shows_where_it_ended(tmp_path):
    out = io.StringIO()
    with chat(tmp_path, [{"text": "Hello."}], ForPeople(out, out), **NOWHERE) as talk:
        talk.turn("hi")
        dialogue(talk, tmp_path, out, []).run("tiny")
    assert "Continuing after 2 messages; the last:\n- Hello.\n" in out.getvalue()


def test_a_conversation_that_cannot_be_written_is_told_and_the_dialogue_goes_on(tmp_path):
    out = io.StringIO()
    with chat(tmp_path, [{"text": "Hello."}], ForPeople(out, out), **NOWHERE) as talk:
        talk.agent.conversation.close()
        dialogue(talk, tmp_path, out, ["hi", "/help"]).run("tiny")
    assert "it is closed" in out.getvalue()
    assert "/help            shows this" in out.getvalue()


def test_a_conversation_is_in_use_by_one_chat_at_a_time(tmp_path):
    out = io.StringIO()
    with chat(tmp_path, [{"text": "Hello."}], ForPeople(out, out), **NOWHERE) as talk:
        talk.turn("hi")
        with pytest.raises(ConversationBusy):
            Conversations(tmp_path / "conversations").latest()


@pytest.mark.parametrize("lost_at", ["started", "event", "ended"])
def test_the_turn_is_stopped_when_its_output_cannot_be_written(tmp_path, lost_at):
    class Gone(ForPrograms):
        def _write(self, line):
            kinds = {"turn_started": "started", "turn_ended": "ended"}
            if kinds.get(line["event"], "event") == lost_at:
                raise BrokenPipeError
            super()._write(line)

    with chat(tmp_path, ANSWERED, Gone(io.StringIO()), **NOWHERE) as talk:
        with pytest.raises(OutputLost) as caught:
            talk.turn("what is six times seven?")
        assert isinstance(caught.value.__cause__, BrokenPipeError)
        assert talk.runtime.ended == ([] if lost_at != "ended" else ["ok"]), "what nobody would see is not run"
