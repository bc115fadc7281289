"""`cortex chat` as a person or a program finds it: a real process, a real terminal, a real endpoint on loopback."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import stat
import subprocess
import sys
import time

import pytest

from tests.conftest import descendants
from tests.cortex.models.server import ChatServer, begin, call_piece, delta, error, send, stream, words

from .screen import BOUND_S, Chat

pytestmark = pytest.mark.deno

CHAT = [sys.executable, "-c", "from cortex.commands import main; main()", "chat"]
SHOP = """
from cortex import Toolbox
toolbox = Toolbox()

@toolbox.tool(name="shop.order", policy="ask")
def order(item: str) -> str:
    "Order an item."
    return f"{item} is ordered"
"""


def environment(home, server=None, **more: str) -> dict[str, str]:
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CORTEX_", "OPENAI_")) and name not in {"NO_COLOR", "COLUMNS"}
    }
    # One process kept warm: that is all these tests need of the machine.
    ours = {"CORTEX_HOME": str(home), "CORTEX_SANDBOX__POOL_SIZE": "1", "TERM": "xterm-256color", "PYTHONUTF8": "1"}
    # And limits that no machine is too slow for: what a test means to stop must not end before by itself.
    ours |= {"CORTEX_EXECUTE__MAX_TIMEOUT_ISOLATED_MS": "300000"}
    ours |= {"CORTEX_NEURONS__AUTONOMIC__TIMEOUT_ISOLATED_MS": "60000"}
    if server is not None:
        ours |= {"CORTEX_MODEL__NAME": "tiny", "CORTEX_MODEL__BASE_URL": f"http://127.0.0.1:{server.port}/v1"}
    return {**clean, **ours, **more}


def cortex_chat(*arguments: str, env: dict[str, str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CHAT, *arguments], input=stdin, capture_output=True, text=True, timeout=BOUND_S, env=env)


def call(name: str, /, **arguments: object):
    return stream(call_piece(json.dumps(arguments), name=name, index=0, id="call_1"), delta("tool_calls"))


def run_code(code: str, purpose: str = "Six times seven", **more: object):
    return call("core_execute", purpose=purpose, code=code, **more)


def hang(talk):
    """Begins to speak, and says no more until the other side has gone."""
    begin(talk)
    send(talk, delta(content="Let me think about "), delta(content="that "))
    talk.wait_until_gone()


def gone(pids) -> bool:
    deadline = time.monotonic() + BOUND_S
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        if time.monotonic() > deadline:
            return False
        os.sched_yield()
    return True


def test_messages_from_a_pipe_are_answered_one_after_the_other_and_can_be_gone_on_with(tmp_path):
    replies = [run_code("const a: number = 6; return a * 7"), words("It is ", "42."), words("Tea.")]
    with ChatServer(*replies, words("As I said.")) as server:
        env = environment(tmp_path, server)
        done = cortex_chat(env=env, stdin="what is six times seven?\n\nand what to drink?\n")
        assert (done.returncode, done.stdout) == (0, "It is 42.\nTea.\n")
        assert "> Six times seven\n  | const a: number = 6; return a * 7\n" in done.stderr
        assert "= 42\n" in done.stderr
        assert "\x1b" not in done.stdout + done.stderr

        again = cortex_chat("--resume", "--message", "again?", "--json", env=env)
        assert again.returncode == 0
        events = [json.loads(line) for line in again.stdout.splitlines()]
        assert [event["event"] for event in events] == ["turn_started", "text", "round_ended", "turn_ended"]
        assert again.stderr == ""
        asked = [message.get("content") for message in server.asked[-1]["messages"][1:]]
    assert asked[0] == "what is six times seven?"
    assert asked[-2:] == ["Tea.", "again?"]


def test_an_endpoint_that_fails_ends_the_chat_with_exit_code_1(tmp_path):
    with ChatServer(error("401 Unauthorized")) as server:
        done = cortex_chat(env=environment(tmp_path, server), stdin="hi\nare you there?\n")
        assert done.returncode == 1
        assert done.stdout == "", "a script that keeps the answer keeps none"
        assert "(The model gave no answer: " in done.stderr
        assert len(server.heard) == 1, "what follows is not said into the void"


def test_a_reader_of_the_answer_may_close_the_pipe(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    with ChatServer(words("Hello.")) as server:
        env = environment(tmp_path, server)
        done = subprocess.run(
            [*CHAT, "--message", "hi"], stdout=writer, stderr=subprocess.PIPE, timeout=BOUND_S, env=env
        )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_further_attempt_is_told_to_people_and_to_programs(tmp_path):
    busy = error("503 Service Unavailable", "come back", Retry_After="0")
    with ChatServer(busy, words("Hello."), busy, words("Hello.")) as server:
        env = environment(tmp_path, server)
        done = cortex_chat("--message", "hi", env=env)
        assert (done.returncode, done.stdout) == (0, "Hello.\n")
        assert "- Cannot get a reply of" in done.stderr
        assert "trying again in 0.0 s" in " ".join(done.stderr.split())
        told = [json.loads(line) for line in cortex_chat("--message", "hi", "--json", env=env).stdout.splitlines()]
    assert [event["event"] for event in told] == ["turn_started", "waiting", "text", "round_ended", "turn_ended"]
    assert "come back" in told[1]["reason"]
    assert told[1]["again_in_s"] == 0


@pytest.mark.parametrize(
    ("replies", "limits", "said", "told"),
    [
        ([run_code("return 1")], {"CORTEX_LOOP__MAX_ROUNDS": "1"}, "", "the limit of 1 rounds is reached"),
        ([stream(delta(content="Half an"), delta("length"))], {}, "Half an\n", "The reply reached its limit"),
    ],
)
def test_a_missing_or_cut_answer_ends_the_chat_with_exit_code_1(tmp_path, replies, limits, said, told):
    with ChatServer(*replies) as server:
        done = cortex_chat(env=environment(tmp_path, server, **limits), stdin="hi\nare you there?\n")
        assert (done.returncode, done.stdout) == (1, said)
        assert told in done.stderr
        assert len(server.heard) == 1


def test_a_whole_conversation_in_a_terminal(tmp_path):
    """Prompt, answer, execution, commands, Ctrl-C at the prompt, in the middle of text and in the middle of code."""
    replies = [
        run_code("const a: number = 6;\nreturn a * 7"),
        words("It is \x1b]0;pwned\x07", "42."),
        hang,
        run_code("while (true) {}", "run for ever", timeout=300_000),
        words("Here I am."),
    ]
    with ChatServer(*replies) as server, Chat(env=environment(tmp_path, server)) as chat:
        chat.wait_for("you> ")
        chat.type("what is six times seven?\r")
        chat.wait_for("It is \\u001b]0;pwned\\u000742.")
        chat.wait_for("you> ")
        assert "▶ Six times seven\n  │ const a: number = 6;\n  │ return a * 7\n" in chat.text
        assert "energy ▰▰▰▰▰▰▰▰▰▱ 1.00 → 0.9" in chat.text
        assert "\x1b[34mconst\x1b[39;49;00m" in chat.raw
        assert "\x1b]" not in chat.raw

        chat.type("half a line")
        chat.wait_for("half a line")
        chat.interrupt_until("Ctrl-D or /quit leaves\n")
        chat.wait_for("you> ")
        chat.type("/energy\r")
        chat.wait_for("isolated   costs 0.05")
        chat.wait_for("you> ")

        chat.type("think\r")
        chat.wait_for("Let me think about")
        chat.type("\x03")
        chat.wait_for("· stopped\n")
        assert server.gone.wait(BOUND_S), "the endpoint is not kept waiting"
        chat.wait_for("you> ")

        chat.type("run for ever\r")
        chat.wait_for("▶ run for ever")
        chat.wait_for("energy ")
        chat.type("\x03")
        chat.wait_for("· stopped\n")
        chat.wait_for("you> ")

        chat.type("are you there?\r")
        chat.wait_for("Here I am.")
        chat.wait_for("you> ")
        processes = descendants(chat.process.pid)
        assert processes
        chat.type("\x04")
        chat.wait_for("continues this conversation.")
        chat.read_to_end()
        assert chat.process.wait(BOUND_S) == 0
        assert gone(processes)
    heard = [message["content"] for message in server.asked[-1]["messages"] if message["role"] == "user"]
    assert heard == ["what is six times seven?", "think", "run for ever", "are you there?"]
    for path in (tmp_path / "state" / "chat-history.jsonl", *(tmp_path / "conversations").iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "half a line" not in (tmp_path / "state" / "chat-history.jsonl").read_text()
    assert [line for line in chat.lines if len(line) > 80] == []


def test_the_history_is_there_in_the_next_chat(tmp_path):
    with ChatServer(words("Hello."), words("Hello again.")) as server:
        env = environment(tmp_path, server, NO_COLOR="1")
        with Chat(env=env) as chat:
            chat.wait_for("you> ")
            chat.type("hello there\r")
            chat.wait_for("Hello.")
            chat.wait_for("you> ")
            chat.type("/quit\r")
            chat.read_to_end()
            assert chat.process.wait(BOUND_S) == 0
        with Chat("--resume", env=env) as chat:
            chat.wait_for("Continuing after 2 messages; the last:\n· Hello.\n")
            chat.wait_for("you> ")
            chat.type("\x1b[A\x1b[A\r")
            chat.wait_for("Hello again.")
            chat.wait_for("you> ")
            chat.type("\x04")
            chat.read_to_end()
            assert "\x1b[1m" not in chat.raw, "no colour was asked for"
        assert server.asked[-1]["messages"][-1]["content"] == "hello there"


def test_the_owner_is_asked_in_the_terminal_about_a_tool_of_their_own(tmp_path):
    (tmp_path / "shop.py").write_text(SHOP)
    replies = [call("shop_order", item="tea"), words("Tea is coming.")]
    with (
        ChatServer(*replies) as server,
        Chat("--tools", f"{tmp_path}/shop.py:toolbox", env=environment(tmp_path / "home", server)) as chat,
    ):
        chat.wait_for("you> ")
        chat.type("order tea\r")
        chat.wait_for('The agent wants to call shop.order\n  item = "tea"\nAllow it this once? [y/N] ')
        chat.type("y\r")
        chat.wait_for("Tea is coming.")
        chat.wait_for("you> ")
        chat.type("/quit\r")
        chat.read_to_end()
        assert chat.process.wait(BOUND_S) == 0
        answer = server.asked[-1]["messages"][-1]
    assert (answer["role"], answer["content"]) == ("tool", '"tea is ordered"')


def test_what_a_tool_raises_cannot_steer_the_terminal(tmp_path):
    (tmp_path / "shop.py").write_text(
        SHOP.replace(', policy="ask"', "").replace("return ", "raise LookupError(item) #")
    )
    replies = [call("shop_order", item="\x1b]0;pwned\x07\x1b[2J\u2028"), words("I could not.")]
    with ChatServer(*replies) as server:
        env = environment(tmp_path / "home", server)
        done = cortex_chat("--tools", f"{tmp_path}/shop.py:toolbox", "--message", "order it", env=env)
    assert done.stdout.startswith("I could not.\n")
    assert 'cortex chat: Tool "shop.order" failed\n    Traceback' in done.stderr
    assert "    LookupError: \\u001b]0;pwned\\u0007\\u001b[2J\\u2028\n" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


LEARN = {
    "name": "CryptoPrice",
    "purpose": "Tell each minute",
    "code": "state.n = (state.n ?? 0) + 1; emit('minute', { n: state.n });",
    "inputSignals": ["tick"],
    "outputSignals": ["minute"],
    "energyBudget": 0.05,
}


def test_what_the_agent_wants_to_learn_is_approved_at_the_terminal_and_wakes_it_later(tmp_path):
    """From the proposal through a real quarantine to the question, which comes to a prompt where nobody types; then a
    tick of the real layer, a signal of the new neuron, and a turn that it starts."""
    replies = [call("core_consolidate", **LEARN), words("I have proposed it."), words("A minute is over.")]
    with ChatServer(*replies, *[words("Yes, yes.")] * 20) as server:
        env = environment(
            tmp_path, server, CORTEX_NEURONS__AUTONOMIC__TICK_S="0.5", CORTEX_NEURONS__WAKE_ON="minute", NO_COLOR="1"
        )
        with Chat(env=env) as chat:
            chat.wait_for("you> ")
            chat.type("learn to tell the time\r")
            chat.wait_for("wants to learn CryptoPrice: Tell each minute")
            chat.wait_for("I have proposed it.")
            # Nothing is typed any more: the question comes by itself.
            chat.wait_for("Agent wants to learn: CryptoPrice neuron\n")
            chat.wait_for("[a]pprove, [v]iew, [r]eject, [l]ater? ")
            chat.type("a\r")
            text = chat.wait_for("characters of this hash, or nothing: ")
            [shown] = re.findall(r"^  hash +([0-9a-f]{64})$", text, re.M)
            chat.type(f"{shown[:8]}\r")
            chat.wait_for("CryptoPrice is on trial now")
            chat.wait_for("minute woke the agent.")
            chat.wait_for("A minute is over.")
            chat.type("/kill\r")
            chat.wait_for("Everything is stopped")
            chat.type("/neurons\r")
            chat.wait_for("trial           crypto-price")
            chat.type("/quit\r")
            chat.read_to_end()
            assert chat.process.wait(BOUND_S) == 0
        heard = [message["content"] for message in server.asked[2]["messages"] if message["role"] == "user"]
    assert heard[-1].startswith(
        "(A signal woke you; the user has said nothing. Its type is minute, it comes from neuron:"
    )


def test_a_pipe_is_never_taken_for_consent(tmp_path):
    (tmp_path / "shop.py").write_text(SHOP)
    replies = [call("shop_order", item="tea"), words("I may not.")]
    with ChatServer(*replies) as server:
        env = environment(tmp_path / "home", server)
        done = cortex_chat("--tools", f"{tmp_path}/shop.py:toolbox", env=env, stdin="order tea\ny\n")
        assert "there is no terminal" in server.asked[1]["messages"][-1]["content"]
    assert done.stdout.startswith("I may not.\n")


@pytest.mark.parametrize(
    ("number", "code", "last_words"),
    [
        (signal.SIGINT, 130, b"- stopped\n"),
        (signal.SIGTERM, 130, b"- stopped\n"),
        (signal.SIGHUP, 130, b"- stopped\n"),
        (signal.SIGKILL, -signal.SIGKILL, b""),
    ],
)
def test_a_signal_ends_a_chat_through_pipes_and_leaves_nothing(tmp_path, number, code, last_words):
    with ChatServer(run_code("while (true) {}", "run for ever")) as server:
        process = subprocess.Popen(
            [*CHAT, "--message", "run for ever"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(tmp_path, server),
        )
        try:
            for line in process.stderr:
                if b"at most" in line:
                    break
            processes = descendants(process.pid)
            assert processes
            process.send_signal(number)
            _, rest = process.communicate(timeout=BOUND_S)
        finally:
            process.kill()
            process.wait()
    assert (process.returncode, rest) == (code, last_words)
    assert gone(processes)
    records = "".join(path.read_text() for path in (tmp_path / "audit").glob("2*.jsonl"))
    assert ("CANCELLED" in records) == (number != signal.SIGKILL), "a run that was begun has an end"


def test_a_typed_slash_command_never_goes_to_the_model_also_when_answers_go_into_a_file(tmp_path):
    with ChatServer(words("Hello.")) as server:
        ours, theirs = pty.openpty()
        env = environment(tmp_path / "home", server)
        with subprocess.Popen(CHAT, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as chat:
            os.close(theirs)
            os.write(ours, b"/neurons\n/kill\n/energy\n/quit\n")
            output, errors = chat.communicate(timeout=BOUND_S)
            os.close(ours)
    assert (chat.returncode, output) == (0, b""), errors
    assert b"There are no neurons" in errors
    assert errors.count(b"not possible until cortex revive") == 2
    assert (tmp_path / "home" / "state" / "KILLED").exists()
    assert server.heard == []


WRITE = "const text = await Deno.readTextFile('a.txt'); await Deno.writeTextFile('a.txt', text + 'two\\n'); return 1"


def test_the_owner_sees_what_would_change_in_the_terminal_and_agrees_once(tmp_path):
    folder = tmp_path / "granted"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    replies = [run_code(WRITE, purpose="Add a line"), words("It is added.")]
    with (
        ChatServer(*replies) as server,
        Chat("--workspace", str(folder), columns=200, env=environment(tmp_path / "home", server, NO_COLOR="1")) as chat,
    ):
        chat.wait_for("you> ")
        chat.type("add a line\r")
        chat.wait_for(f"Code that the agent wrote wants to change files in {folder}\n")
        chat.wait_for("  changed a.txt (4 to 8 bytes)\n")
        chat.wait_for("  | + two\n")
        chat.wait_for("Allow it this once? [y/N] ")
        assert (folder / "a.txt").read_text() == "one\n"
        chat.type("y\r")
        chat.wait_for("Files written: 1 changed")
        chat.wait_for("It is added.")
        chat.wait_for("you> ")
        chat.type("/quit\r")
        chat.read_to_end()
        assert chat.process.wait(BOUND_S) == 0
        answer = server.asked[-1]["messages"][-1]["content"]
        told = json.dumps(server.asked[0]["tools"])
    assert answer == "1\nFiles written: 1 changed\nchanged a.txt (4 to 8 bytes)"
    assert "/workspace" in told
    assert (folder / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("commit", "said"),
    [(None, "there is no terminal to ask the owner at; --commit"), ("never", "only shown here"), ("auto", None)],
)
def test_without_a_terminal_only_auto_changes_files(tmp_path, commit, said):
    folder = tmp_path / "granted"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    with ChatServer(run_code(WRITE), words("Well.")) as server:
        option = [] if commit is None else ["--commit", commit]
        env = environment(tmp_path / "home", server)
        done = cortex_chat("--workspace", str(folder), *option, "--message", "add a line", env=env, stdin="y\n")
        answer = server.asked[-1]["messages"][-1]["content"]
    assert done.returncode == 0
    assert ("Files written" in answer) == (said is None)
    assert said is None or said in answer
    assert (folder / "a.txt").read_text() == ("one\ntwo\n" if said is None else "one\n")
