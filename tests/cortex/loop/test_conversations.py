"""Conversations on disk: what survives, what is repaired, and who may write."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from cortex.loop import (
    AssistantMessage,
    Conversation,
    ConversationBusy,
    ConversationError,
    Conversations,
    ToolAnswer,
    ToolRequest,
    UserMessage,
)
from cortex.loop.conversation import recent, repaired
from cortex.loop.conversations import MAX_READ_BYTES
from cortex.loop.records import DamagedLine, from_line, to_line
from sandbox import HeldLines

from .turns import assert_valid

TALK = [
    UserMessage("sum of 1 and 1?\n\ud83d"),
    AssistantMessage("let me see", (ToolRequest("a", "add", '{"x": 1}'), ToolRequest("b", "add", "not JSON"))),
    ToolAnswer("a", "add", "2"),
    ToolAnswer("b", "add", "EXECUTION_ERROR: no"),
    AssistantMessage("2 😀"),
]


def written(folder, messages=TALK, now=1_800_000_000.0):
    with Conversations(folder, now=lambda: now).new() as conversation:
        for message in messages:
            conversation.append(message)
    return conversation.id, folder / f"{conversation.id}.jsonl"


def test_a_conversation_is_taken_up_where_it_ended(tmp_path):
    conversation_id, path = written(tmp_path / "conversations")
    conversations = Conversations(tmp_path / "conversations")
    with conversations.open(conversation_id) as conversation:
        assert conversation.messages() == TALK
        conversation.append(UserMessage("and 3?"))
        conversation.append(AssistantMessage("5"))
    with conversations.open(conversation_id) as conversation:
        assert conversation.messages() == [*TALK, UserMessage("and 3?"), AssistantMessage("5")]
    first, second = path.read_text().splitlines()[:2]
    assert json.loads(first) == {"role": "conversation", "format": 1, "id": conversation_id, "at": 1_800_000_000.0}
    assert json.loads(second)["at"] == 1_800_000_000.0


def test_the_file_of_a_conversation_is_for_its_owner_only(tmp_path):
    _, path = written(tmp_path / "conversations")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_conversation_without_a_message_leaves_no_file(tmp_path):
    Conversations(tmp_path / "conversations").new().close()
    assert list(tmp_path.iterdir()) == []
    assert Conversations(tmp_path / "conversations").list() == []
    assert Conversations(tmp_path / "conversations").latest() is None


def test_the_list_has_titles_and_the_last_one_first(tmp_path):
    ids = [written(tmp_path, [UserMessage(text)])[0] for text in ("first\n  question", "x" * 200, "third")]
    (tmp_path / "damaged.jsonl").write_bytes(b"\xff\xfe\n[]\n")
    (tmp_path / "notes.txt").write_text("not one")
    for place, name in enumerate(["damaged", *ids]):
        os.utime(tmp_path / f"{name}.jsonl", (place, place))
    found = Conversations(tmp_path).list()
    assert [summary.id for summary in found] == [*reversed(ids), "damaged"]
    assert [summary.title for summary in found] == ["third", "x" * 79 + "…", "first question", "(untitled)"]
    assert found[0].changed_at == 3
    assert found[0].size_bytes == (tmp_path / f"{ids[2]}.jsonl").stat().st_size
    latest = Conversations(tmp_path).latest()
    assert latest is not None
    with latest:
        assert latest.id == ids[2]


def test_conversations_can_be_listed_while_one_is_in_use(tmp_path):
    with Conversations(tmp_path).new() as conversation:
        conversation.append(UserMessage("now"))
        assert [summary.title for summary in Conversations(tmp_path).list()] == ["now"]


def test_only_one_program_talks_in_a_conversation(tmp_path):
    conversation_id, _ = written(tmp_path)
    conversations = Conversations(tmp_path)
    with conversations.open(conversation_id), pytest.raises(ConversationBusy, match="another program"):
        conversations.open(conversation_id)
    conversations.open(conversation_id).close()


def test_invalid_names_of_conversations_do_not_leave_the_folder(tmp_path):
    (tmp_path / "secret.jsonl").write_text("")
    for name in ("../secret", "/etc/passwd", "", "a/b", ".", "x\0", "x" * 100):
        with pytest.raises(ConversationError, match="not the id of a conversation"):
            Conversations(tmp_path / "conversations").open(name)
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    with pytest.raises(ConversationError, match="Cannot open"):
        Conversations(tmp_path).open("link")
    with pytest.raises(ConversationError, match="there is no such conversation"):
        Conversations(tmp_path).open("none")


def test_a_conversation_of_a_later_version_is_left_alone(tmp_path):
    (tmp_path / "new.jsonl").write_text('{"role":"conversation","format":2}\n')
    with pytest.raises(ConversationError, match="format 2"):
        Conversations(tmp_path).open("new")
    assert (tmp_path / "new.jsonl").read_text() == '{"role":"conversation","format":2}\n'


def test_a_closed_conversation_takes_nothing_more(tmp_path):
    conversation = Conversations(tmp_path).new()
    conversation.close()
    with pytest.raises(ConversationError, match="closed"):
        conversation.append(UserMessage("hello?"))


def test_cut_at_any_byte_the_rest_is_valid_and_can_be_gone_on_with(tmp_path, caplog):
    conversation_id, path = written(tmp_path)
    data = path.read_bytes()
    conversations = Conversations(tmp_path)
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with conversations.open(conversation_id) as conversation:
            messages = conversation.messages()
            assert_valid(messages)
            conversation.append(UserMessage("go on"))
            conversation.append(AssistantMessage("gladly"))
        with conversations.open(conversation_id) as conversation:
            assert conversation.messages() == [*messages, UserMessage("go on"), AssistantMessage("gladly")]
    assert "unfinished line" in caplog.text


def test_a_program_that_is_killed_leaves_all_that_was_said(tmp_path):
    program = """
import os, signal, sys
from pathlib import Path
from cortex.loop import *
conversation = Conversations(Path(sys.argv[1])).new()
conversation.append(UserMessage("compute"))
conversation.append(AssistantMessage("", (ToolRequest("a", "add", "{}"), ToolRequest("b", "add", "[]"))))
conversation.append(ToolAnswer("a", "add", "2"))
print(conversation.id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL
    with Conversations(tmp_path).open(done.stdout.strip()) as conversation:
        messages = conversation.messages()
    assert_valid(messages)
    assert messages[:3] == [
        UserMessage("compute"),
        AssistantMessage("", (ToolRequest("a", "add", "{}"), ToolRequest("b", "add", "[]"))),
        ToolAnswer("a", "add", "2"),
    ]
    assert "interrupted" in messages[3].text
    assert "interrupted" in messages[4].text


def test_damaged_lines_are_left_out_and_logged(tmp_path, caplog):
    conversation_id, path = written(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    rubbish = [b"\xff\n", b"[" * 100_000 + b"\n", b'{"role":"king"}\n', b'{"role":"user","text":7}\n', b"\n"]
    rubbish.append(b'{"role":"assistant","text":"","calls":[3]}\n')
    path.write_bytes(lines[0] + b"".join(rubbish) + b"".join(lines[1:]))
    with Conversations(tmp_path).open(conversation_id) as conversation:
        assert conversation.messages() == TALK
    assert caplog.text.count("Left out line") == len(rubbish)


def test_of_a_huge_file_only_the_end_is_read_and_that_in_whole_lines(tmp_path):
    path = tmp_path / "huge.jsonl"
    lines = [b'{"n":%d}' % number for number in range(1_000)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    for limit in range(9, 60):
        file = HeldLines(path, create=False, max_read_bytes=limit)
        assert file.lines == lines[1_000 - limit // 10 :]
        file.close()


def test_a_conversation_that_is_larger_than_is_read_is_valid(tmp_path):
    turns = [UserMessage("q" * 100_000), AssistantMessage("a" * 100_000)] * 100
    conversation_id, path = written(tmp_path, turns)
    assert path.stat().st_size > MAX_READ_BYTES
    with Conversations(tmp_path).open(conversation_id) as conversation:
        messages = conversation.messages()
    assert_valid(messages)
    assert 150 < len(messages) < 200
    assert messages == turns[: len(messages)]


def test_a_full_disk_leaves_whole_lines(tmp_path):
    conversation_id, path = written(tmp_path)
    before = path.read_bytes()
    program = """
import resource, signal, sys
from pathlib import Path
from cortex.loop import *
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
conversation = Conversations(Path(sys.argv[1])).open(sys.argv[2])
try:
    conversation.append(UserMessage("x" * 1000))
except ConversationError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), conversation_id, str(len(before) + 100)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "File too large" in done.stdout
    assert path.read_bytes() == before


# The pure middle

ids = st.sampled_from(["a", "b", "c"])
requests = st.builds(ToolRequest, ids, st.just("add"), st.text(max_size=3))
said = st.one_of(
    st.builds(UserMessage, st.text(max_size=5)),
    st.builds(AssistantMessage, st.text(min_size=1, max_size=5), st.just(())),
    st.builds(
        AssistantMessage, st.just(""), st.lists(requests, min_size=1, max_size=3, unique_by=lambda r: r.id).map(tuple)
    ),
    st.builds(ToolAnswer, ids, st.just("add"), st.text(min_size=1, max_size=5)),
)


def answered_in_place(messages):
    """Every call is answered before anything else is said, and every turn begins with the user and has an end."""
    waiting: set[str] = set()
    for message in messages:
        match message:
            case ToolAnswer(call_id):
                waiting.remove(call_id)
            case AssistantMessage(_, calls):
                assert not waiting
                waiting = {call.id for call in calls}
            case _:
                assert not waiting
    assert not waiting


@given(st.lists(said, max_size=12))
def test_whatever_a_file_holds_a_repaired_conversation_is_valid_and_repaired_once(messages):
    fixed = repaired(messages)
    answered_in_place(fixed)
    assert repaired(fixed) == fixed
    assert not fixed or isinstance(fixed[0], UserMessage)
    assert not fixed or (isinstance(fixed[-1], AssistantMessage) and not fixed[-1].calls)
    assert [message for message in fixed if isinstance(message, UserMessage)] == [
        message for message in messages if isinstance(message, UserMessage)
    ]


@given(st.lists(said, max_size=12), st.integers(0, 2_000))
def test_recent_messages_are_the_end_of_the_conversation_cut_between_turns(messages, max_bytes):
    fixed = repaired(messages)
    sizes = [len(to_line(message, 0)) for message in fixed]
    shown = recent(fixed, sizes, max_bytes)
    assert shown == fixed[len(fixed) - len(shown) :]
    assert not shown or isinstance(shown[0], UserMessage)
    assert bool(shown) == bool(fixed)
    earlier = [place for place, message in enumerate(shown) if isinstance(message, UserMessage)][-1:]
    assert not shown or sum(sizes[len(fixed) - len(shown) :][: earlier[0]]) <= max_bytes


@given(said)
def test_a_message_is_the_same_after_writing_and_reading_it(message):
    line = to_line(message, 1.5)
    assert line.count(b"\n") == 1
    assert from_line(line) == message


@given(
    st.binary(max_size=40)
    | st.recursive(
        st.none() | st.text(), lambda inner: st.dictionaries(st.sampled_from(["role", "text", "calls", "id"]), inner)
    ).map(lambda value: json.dumps(value).encode())
)
def test_a_line_is_a_message_or_damaged(line):
    with contextlib.suppress(DamagedLine):
        assert isinstance(from_line(line), UserMessage | AssistantMessage | ToolAnswer)


def test_a_conversation_without_a_file_is_kept_in_memory():
    conversation = Conversation()
    conversation.append(UserMessage("x"))
    conversation.close()
    assert conversation.messages(0) == [UserMessage("x")]
