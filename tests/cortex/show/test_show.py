"""A turn as people see it: in a terminal, without one, and whatever a model or its code put in."""

from __future__ import annotations

import io
import re
import time

import pytest
from hypothesis import given, strategies as st

from cortex.contracts.events import ExecutionEnded, ExecutionStarted, Proposed, Refused, Remembered, Said, ToolCalled
from cortex.contracts.intents import RunCode, RunCodeIntent, Trace
from cortex.loop import Answer, CallEnded, CallStarted, Notice, RoundEnded, TextArrived, ToolRequest, Usage, Waiting
from cortex.show import Show, as_json, highlighted
from cortex.text.terminal import Wrap, columns_of, visible, wrapped
from sandbox import ExecutionOutcome, Metrics, Tier

STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def usual_terminal(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")


def intent(code="return 6 * 7;", purpose="Six times seven", call=1, tier=Tier.ISOLATED):
    payload = RunCode(purpose=purpose, code=code, tier=tier, timeout=5000)
    return RunCodeIntent(payload=payload, trace=Trace(turn="t", call=call))


def run(what, reply="42", *, ok=True, before=0.7, level=0.65, settled=None, **metrics):
    outcome = ExecutionOutcome(ok=ok, metrics=Metrics(execution_ms=3.14, **metrics))
    return [
        ExecutionStarted(what, before, level),
        ExecutionEnded(what, outcome, reply, level if settled is None else settled),
    ]


def shown(*events, stream=None, width=None):
    stream = io.StringIO() if stream is None else stream
    show = Show(stream, width)
    for event in events:
        show.event(event)
    show.end()
    return stream.getvalue()


def in_terminal(*events, width=None):
    """What the terminal shows, without its colours."""
    return STYLE.sub("", shown(*events, stream=Terminal(), width=width))


def test_an_execution_without_a_terminal_is_plain_text():
    assert (
        shown(*run(intent(), tool_calls=2, fetches=1, fetched_bytes=12_000))
        == """\
> Six times seven
  | return 6 * 7;
  isolated, at most 5000 ms, energy 0.70 -> 0.65
= 42
  3.1 ms, 2 tool calls, 1 fetch (12,000 bytes)
"""
    )


def test_an_execution_in_a_terminal_has_a_gauge_and_colours():
    stream = Terminal()
    text = shown(*run(intent()), stream=stream)
    assert "energy ▰▰▰▰▰▰▰▱▱▱ 0.70 → 0.65" in text
    assert "\x1b[34mreturn\x1b[39;49;00m" in text, "code is highlighted"
    assert "\x1b[32m42\x1b[0m" in text


def test_colours_stay_with_their_words_whatever_is_spelled_out_before_them():
    text = shown(*run(intent("/* \x1b\x07 */\treturn 'a  b'")), stream=Terminal())
    assert "\x1b[34mreturn\x1b[39;49;00m" in text
    assert "\x1b[33m'a\x1b[39;49;00m  \x1b[33mb'\x1b[39;49;00m" in text


def test_what_the_highlighter_does_not_know_is_not_shown_as_wrong():
    text = shown(*run(intent("return (seen.at(-1)! / seen[0] - 1) * 100")), stream=Terminal())
    assert not re.search(r"\x1b\[0?4m|\x1b\[91m", text), "neither underlined nor red"
    assert "\x1b[34mreturn\x1b[39;49;00m" in text


@pytest.mark.parametrize("piece", ["'\\\\", "`${", "/[", "<!--", "(/[a"])
def test_code_made_to_take_minutes_to_colour_is_shown_plain_from_some_place_on(piece):
    code = piece * (50_000 // len(piece))
    highlighted(["return 1"], "return 1")  # the first one builds the lexer
    began = time.thread_time()
    lines = highlighted([code], code)
    assert time.thread_time() - began < 1
    assert STYLE.sub("", "\n".join(lines)) == code


def test_it_is_shown_as_it_happens_and_not_when_it_is_over():
    stream = io.StringIO()
    show = Show(stream)
    started, ended = run(intent())
    show.event(started)
    assert stream.getvalue().endswith("isolated, at most 5000 ms, energy 0.70 -> 0.65\n")
    show.event(ended)
    assert stream.getvalue().endswith("= 42\n  3.1 ms\n")


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_color_and_a_dumb_terminal_turn_colours_off(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    assert "\x1b" not in shown(*run(intent()), TextArrived("x"), stream=Terminal())


def test_a_terminal_without_utf8_gets_no_symbols():
    class Latin(Terminal):
        encoding = "iso-8859-1"

    stream = Latin()
    text = STYLE.sub("", shown(*run(intent(), "x" * 2000), *tool_call("x" * 2000), Waiting(), stream=stream))
    assert text.isascii()
    assert "energy 0.70 -> 0.65" in text


def test_a_measured_cost_shows_the_level_after_it():
    assert "3.1 ms, energy 0.63" in shown(*run(intent(), settled=0.631))


def test_long_code_is_cut_and_says_how_much_is_missing():
    text = shown(*run(intent("let x = 0;\n" + "x++;\n" * 44)))
    assert text.count("  | ") == 15
    assert "  ... 30 more lines\n" in text


def test_one_endless_line_is_cut_and_says_its_length():
    text = shown(*run(intent("x" * 50_000), "y" * 30_000))
    assert "  ... 50000 characters in all\n" in text
    assert "  ... 30000 characters in all\n" in text
    assert len(text.splitlines()) == 1 + 15 + 1 + 1 + 8 + 1 + 1


def test_refusals_show_what_was_asked_and_the_code():
    reply = "EXECUTION_DENIED: Insufficient energy for code execution. The network tier needs 0.30"
    text = shown(Refused("core.execute", reply, intent(tier=Tier.NETWORK)), stream=Terminal())
    assert "\x1b[33mEXECUTION_DENIED: " in text
    assert "▶ Six times seven\n  │ return 6 * 7;\n  network, at most 5000 ms\n✗ EXECUTION_DENIED:" in STYLE.sub(
        "", text
    )


def test_failures_of_the_code_are_red():
    text = shown(*run(intent(), "EXECUTION_TIMEOUT: Code exceeded 300ms limit.", ok=False), stream=Terminal())
    assert "\x1b[31mEXECUTION_TIMEOUT: Code exceeded 300ms limit.\x1b[0m" in text


def test_a_refusal_is_shown_once_although_both_the_turn_and_the_loop_tell_of_it():
    reply = 'EXECUTION_DENIED: There is no tool "fly"'
    call = ToolRequest("1", "fly", "{}")
    events = [CallStarted(call), Refused("fly", reply), CallEnded(call, Answer(reply, ok=False))]
    assert shown(*events) == f"> fly\n! {reply}\n"


def test_what_the_loop_itself_refuses_is_shown():
    call = ToolRequest("1", "core_execute", "{")
    text = shown(CallStarted(call), CallEnded(call, Answer("EXECUTION_DENIED: The arguments are not JSON", ok=False)))
    assert text == "- core_execute: EXECUTION_DENIED: The arguments are not JSON\n"


def test_notes_memories_and_tool_calls_are_one_line_each():
    energy = ToolRequest("1", "core_energy", "{}")
    assert (
        shown(
            ToolCalled("shop.stock", "model", ok=True, duration_ms=1.25),
            ToolCalled("shop.order", "code", ok=False, duration_ms=2500),
            Remembered("The user\nlikes tea"),
            CallEnded(energy, Answer("{}")),
            Waiting(),
            Waiting("it failed (status 503)", 1.55),
        )
        == """\
- shop.stock: 1.2 ms
- shop.order (from the code): 2.5 s, failed
- remembered: The user likes tea
- looked at its energy
- waiting for the model...
- it failed (status 503); trying again in 1.6 s
"""
    )


def tool_call(answer, arguments='{"item": "tea"}', *, ok=True, name="shop_order"):
    call = ToolRequest("1", name, arguments)
    called = ToolCalled("shop.order", "model", ok=ok, duration_ms=1.25)
    return [CallStarted(call), called, CallEnded(call, Answer(answer, ok=ok))]


def test_a_tool_that_the_model_calls_shows_what_it_was_given_and_what_it_gave():
    assert shown(*tool_call('"ordered"')) == '- shop.order {"item": "tea"}: 1.2 ms\n= "ordered"\n'
    assert shown(*tool_call('"ordered"', "{}")) == '- shop.order: 1.2 ms\n= "ordered"\n'
    failed = "EXECUTION_ERROR: ToolError: shop.order failed"
    assert shown(*tool_call(failed, ok=False)) == f'- shop.order {{"item": "tea"}}: 1.2 ms\n! {failed}\n'


def test_what_a_tool_was_given_and_gave_is_one_line_each_however_long_it_is():
    long = "漢" * 50_000
    lines = shown(*tool_call(f'"a\n{long}"', f'{{"item": "{long}"}}'), stream=Terminal()).split("\n")
    first, second, rest = [STYLE.sub("", line) for line in lines]
    assert re.fullmatch(r'· shop.order {"item": "漢+…: 1.2 ms', first)
    assert re.fullmatch(r'→ "a 漢+…', second)
    assert rest == ""
    assert 75 <= columns_of(first) <= 80
    assert 75 <= columns_of(second) <= 80


def test_a_denied_tool_call_is_one_line():
    no = "the owner was asked about shop.order and said no"
    assert shown(*tool_call(f"EXECUTION_DENIED: {no}", ok=False)) == f"- shop.order: {no}\n"


def test_a_tool_call_without_an_event_of_its_result_is_still_shown():
    _, called, _ = tool_call("1")
    assert shown(called, RoundEnded(1, Usage())) == "- shop.order: 1.2 ms\n"
    stream = io.StringIO()
    show = Show(stream)
    show.event(called)
    show.note("stopped")
    assert stream.getvalue() == "- shop.order: 1.2 ms\n- stopped\n"
    assert shown(called, TextArrived("x")).startswith("- shop.order: 1.2 ms\n")
    assert shown(called, *tool_call("1", name="fly")[2:]) == "- shop.order: 1.2 ms\n"


def test_a_result_after_that_of_a_tool_has_its_heading_once_more():
    started, ended = run(intent(purpose="first"), "1")
    assert shown(started, *tool_call("2"), ended).endswith("= 2\n> first\n= 1\n  3.1 ms\n")


def test_a_flood_of_tool_calls_from_code_is_counted_and_not_shown():
    started, ended = run(intent(), tool_calls=1000)
    calls = [ToolCalled("shop.stock", "code", ok=True, duration_ms=0.1)] * 1000
    text = shown(started, *calls, ended)
    assert text.count("shop.stock") == 5
    assert "1000 tool calls" in text


def test_results_of_two_that_run_at_once_are_told_apart():
    first, second = run(intent(purpose="first"), "1"), run(intent(purpose="second", call=2), "2")
    text = shown(first[0], second[0], first[1], second[1])
    assert text.endswith("> first\n= 1\n  3.1 ms\n> second\n= 2\n  3.1 ms\n")
    text = shown(first[0], second[0], second[1], first[1])
    assert text.endswith("0.65\n= 2\n  3.1 ms\n> first\n= 1\n  3.1 ms\n"), "its own heading is right above it"


def test_a_result_after_something_else_has_its_heading_once_more():
    first, second = run(intent(purpose="first"), "1"), intent(purpose="second", call=2)
    for between in (
        Refused("core.execute", "EXECUTION_DENIED: no", second),
        Refused("fly", "EXECUTION_DENIED: no"),
        Said("Wait."),
    ):
        assert shown(first[0], between, first[1]).endswith("\n> first\n= 1\n  3.1 ms\n")
    ended_early = Refused("core.execute", "EXECUTION_DENIED: no", first[0].intent)
    assert shown(first[0], Said("Wait."), ended_early).endswith("Wait.\n\n> first\n! EXECUTION_DENIED: no\n")


def test_text_streams_in_paragraphs_between_the_executions():
    text = shown(
        TextArrived("\n\nLet me"),
        TextArrived(" compute."),
        *run(intent()),
        TextArrived("It is "),
        TextArrived("42."),
        Said("Bye."),
        RoundEnded(1, Usage()),
    )
    assert text.startswith("Let me compute.\n\n> Six")
    assert text.endswith("  3.1 ms\n\nIt is 42.\n\nBye.\n")


def test_a_notice_about_the_end_is_shown_whole_below_the_agents_words():
    text = shown(TextArrived("Half an"), Notice("(" + "why " * 100 + "and what to do)"), stream=Terminal())
    assert STYLE.sub("", text).startswith("Half an\n\n· (why why")
    assert "and what to do)" in text
    assert "\x1b[33m" in text


def test_text_without_a_terminal_is_not_wrapped_unless_a_width_is_given():
    said = "word " * 40
    assert shown(TextArrived(said)).count("\n") == 1
    assert max(map(len, shown(TextArrived(said), width=60).split("\n"))) <= 60


@pytest.mark.parametrize("width", [40, 80, 200])
def test_nothing_is_wider_than_the_terminal(width):
    hostile = "a" * 300 + " 漢字" * 100 + " word" * 50 + "\x1b[2J" * 40 + "\t\t\tx\r\n\r"
    what = intent(hostile, hostile)
    events = [TextArrived(hostile), *run(what, hostile), Refused(hostile, hostile), Remembered(hostile), Said(hostile)]
    events += [Proposed(hostile, hostile, hostile)]
    lines = in_terminal(*events, width=width).split("\n")
    assert max(map(columns_of, lines)) <= width


@given(st.text(st.sampled_from("\x1b\x07\x9b\r\b\x7f\u202e\u2066[2J;ab \n\t漢`'\"/*\\"), max_size=60))
def test_nothing_of_a_model_or_its_code_steers_the_terminal(text):
    events = [TextArrived(text), Said(text), *run(intent(text, text), text), Refused(text, text), Remembered(text)]
    events += [ToolCalled(text, "code", ok=True, duration_ms=1.0), Notice(text), Waiting(text, 1.0)]
    events += [Proposed(text, text, text)]
    events += [CallEnded(ToolRequest("1", text, text), Answer(text, ok=False))]
    events += [
        ToolCalled(text, "model", ok=True, duration_ms=1.0),
        CallEnded(ToolRequest("2", text, text), Answer(text)),
    ]
    for stream in (io.StringIO(), Terminal()):
        out = STYLE.sub("", shown(*events, stream=stream)) if stream.isatty() else shown(*events, stream=stream)
        assert not set(out) & set("\x1b\x07\x9b\r\b\x7f\u202e\u2066")


def test_a_text_of_an_execution_cannot_pass_for_a_line_of_ours():
    text = shown(*run(intent("1\n= 2", "p\n= 3"), "4\n= 5"))
    assert [line for line in text.split("\n") if line.startswith("= ")] == ["= 4"]


@given(st.text(st.sampled_from("ab 漢\n\té\u0301"), max_size=80), st.integers(4, 20))
def test_wrapping_keeps_every_word_and_the_width(text, width):
    lines = wrapped(text, width)
    # More marks above each other than a script has are spelled out.
    assert "".join("".join(lines).split()) == "".join(visible(text).split())
    assert max(map(columns_of, lines)) <= width
    pieces = Wrap(width)
    assert "".join(map(pieces.add, text)) + pieces.end() == "\n".join(lines)


def test_events_for_programs_have_stable_names():
    what = intent()
    started, ended = run(what)
    call = ToolRequest("1", "core_execute", '{"code": "1"}')
    about = {
        "call": 1,
        "purpose": "Six times seven",
        "code": "return 6 * 7;",
        "language": "typescript",
        "tier": "isolated",
        "timeout_ms": 5000,
    }
    assert as_json(started) == {"event": "execution_started", **about, "level_before": 0.7, "level": 0.65}
    ran = as_json(ended)
    assert ran.pop("metrics")["execution_ms"] == 3.14
    assert ran.pop("wall") == Metrics().level
    assert ran == {"event": "execution_ended", "call": 1, "ok": True, "reply": "42", "level": 0.65}
    assert as_json(Refused("fly", "EXECUTION_DENIED: x")) == {
        "event": "refused",
        "tool": "fly",
        "reply": "EXECUTION_DENIED: x",
    }
    assert as_json(Refused("core.execute", "x", what)) == {
        "event": "refused",
        "tool": "core.execute",
        "reply": "x",
        **about,
    }
    assert as_json(TextArrived("x")) == {"event": "text", "text": "x"}
    assert as_json(Notice("x")) == {"event": "notice", "text": "x"}
    assert as_json(Waiting()) == {"event": "waiting", "reason": None, "again_in_s": None}
    assert as_json(Waiting("x", 1.5)) == {"event": "waiting", "reason": "x", "again_in_s": 1.5}
    assert as_json(Said("x")) == {"event": "said", "text": "x"}
    proposed = {"event": "proposed", "neuron": "a-b", "name": "A b", "purpose": "c"}
    assert as_json(Proposed("a-b", "A b", "c")) == proposed
    assert as_json(Remembered("x")) == {"event": "remembered", "text": "x"}
    called = {"tool": "a.b", "origin": "code", "ok": True, "duration_ms": 1.5}
    assert as_json(ToolCalled("a.b", "code", ok=True, duration_ms=1.5)) == {"event": "tool_called", **called}
    names = {"id": "1", "name": "core_execute"}
    assert as_json(CallStarted(call)) == {"event": "call_started", **names, "arguments": '{"code": "1"}'}
    answered = {"ok": True, "text": "1", "note": "low"}
    assert as_json(CallEnded(call, Answer("1", "low"))) == {"event": "call_ended", **names, **answered}
    usage = {"input_tokens": 1, "output_tokens": 2, "estimated": False}
    assert as_json(RoundEnded(1, Usage(1, 2))) == {"event": "round_ended", "rounds": 1, "usage": usage}
