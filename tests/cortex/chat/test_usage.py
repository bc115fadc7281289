"""What `cortex chat` says and returns when it does not get to talk, and what it lists."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from cortex.commands import run_command as run
from cortex.loop import AssistantMessage, Conversations, UserMessage

SOMEWHERE = ["--model", "x", "--base-url", "http://127.0.0.1:9/v1"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in ("CORTEX_CONFIG", "CORTEX_MODEL__NAME", "CORTEX_MODEL__BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CORTEX_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "http://localhost:11434/v1"),
        (["--model", "x"], "OpenAI wants a key"),
        (["--model", "x", "--base-url", "localhost"], "not an address that begins with http"),
        ([*SOMEWHERE, "--message", " "], "--message has no text"),
        ([*SOMEWHERE, "--resume"], "there is no conversation to continue yet"),
        ([*SOMEWHERE, "--resume", "x"], '"x": there is no such conversation; --list lists'),
        ([*SOMEWHERE, "--resume", "../x"], "that is not the id of a conversation; --list lists"),
        ([*SOMEWHERE, "--tools", "x"], "--tools: "),
        ([*SOMEWHERE, "--commit", "auto"], "--commit needs a --workspace to change"),
        ([*SOMEWHERE, "--workspace", "/nowhere"], '--workspace: Cannot use "/nowhere" as a workspace: No such file'),
        ([*SOMEWHERE, "--workspace", "/"], '--workspace: Cannot use "/" as a workspace: it holds the home'),
        (["--list", "--resume"], "--list does not go with"),
        (["--list", "--message", "x"], "--list does not go with"),
    ],
)
def test_wrong_usage_has_a_clear_error(capsys, arguments, message):
    assert run(["chat", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith("cortex chat: ")


def test_a_machine_without_deno_is_refused_with_what_to_do(capsys, monkeypatch):
    monkeypatch.setenv("CORTEX_SANDBOX__DENO_PATH", "/nowhere/deno")
    assert run(["chat", *SOMEWHERE, "--message", "hi"]) == 3
    assert 'Cannot start Deno: no executable at "/nowhere/deno"' in capsys.readouterr().err


def test_a_conversation_of_another_program_is_refused(capsys, home):
    with Conversations(home / "conversations").new() as busy:
        busy.append(UserMessage("hi"))
        assert run(["chat", *SOMEWHERE, "--resume", busy.id]) == 3
    assert "another program is talking in it" in capsys.readouterr().err


def test_a_reader_of_the_list_may_close_the_pipe(home):
    with Conversations(home / "conversations").new() as conversation:
        conversation.append(UserMessage("hi"))
    reader, writer = os.pipe()
    os.close(reader)
    code = "from cortex.commands import main; main(['chat', '--list'])"
    done = subprocess.run([sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_conversations_are_listed_for_people_and_for_programs(capsys, home):
    assert run(["chat", "--list"]) == 0
    assert capsys.readouterr().out == "There are no conversations yet\n"
    assert run(["chat", "--list", "--json"]) == 0
    assert capsys.readouterr().out == ""
    with Conversations(home / "conversations").new() as conversation:
        conversation.append(UserMessage("what is six times seven?"))
        conversation.append(AssistantMessage("42"))
    assert run(["chat", "--list"]) == 0
    line = capsys.readouterr().out
    assert line.startswith(f"{conversation.id}  ")
    assert line.endswith("  what is six times seven?\n")
    assert run(["chat", "--list", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary.keys() == {"id", "title", "changed_at", "size_bytes"}
    assert summary["id"] == conversation.id
