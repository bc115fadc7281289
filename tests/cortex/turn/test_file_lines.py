"""Changes of files as lines: few for the model, honest for the owner, and without a trick in any of them."""

from __future__ import annotations

import pytest

from cortex.turn.file_lines import MAX_DIFF_LINES, MAX_LISTED, diff_lines, heading, listed, reply_lines
from sandbox import Change, ChangedFile

ADDED = Change("added", "new.txt", size=3)
CHANGED = Change("changed", "a.txt", size=6, old_size=5)
REMOVED = Change("removed", "old/")


def test_the_model_reads_the_kind_the_name_and_the_size():
    head = heading([ADDED, CHANGED, REMOVED], "Files written")
    assert reply_lines([ADDED, CHANGED, REMOVED], head) == [
        "Files written: 1 added, 1 changed, 1 removed",
        "added new.txt (3 bytes)",
        "changed a.txt (5 to 6 bytes)",
        "removed old/",
    ]


@pytest.mark.parametrize("many", [9, 10, 1_000])
def test_the_model_reads_at_most_ten_lines(many):
    changes = [Change("added", f"{number}.txt", size=1) for number in range(many - 1)] + [REMOVED]
    lines = reply_lines(changes, "Files")
    assert len(lines) <= 10
    assert (lines[-1] == "removed old/") == (many == 9)
    if many > 9:
        assert lines[-1] == f"… and {many - 8} more: {many - 9} added, 1 removed"


@pytest.mark.parametrize(
    "name", ["a\x1b[2Jb", "a\nremoved all", "a\rb", "a\u202etxt.exe", "a\u200bb", "a\u2028b", "a\x9bb", "x" * 4_000]
)
def test_no_name_can_steer_a_terminal_end_a_line_or_be_endless(name):
    change = Change("added", name, size=1)
    file = ChangedFile(change, None, b"x\n")
    for line in (*reply_lines([change], "Files"), *listed([change]), *diff_lines([file])):
        assert line.isprintable()
        assert len(line) < 500


def test_a_name_that_could_be_taken_for_more_is_in_quotes():
    [line] = listed([Change("added", "a.txt (3 bytes), all of it safe", size=9)])
    assert line == 'added "a.txt (3 bytes), all of it safe" (9 bytes)'


def test_no_two_names_look_the_same():
    names = ['a"', "a\\", "a\n", "a\\n", "\x1b", "\\u001b", 'a" (1 bytes)']
    changes = [Change("added", name, size=1) for name in names]
    assert len({*listed(changes)}) == len({*reply_lines(changes, "Files")}) - 1 == len(names)
    assert 'added "a\\" (1 bytes)" (1 bytes)' in listed(changes)


def test_a_letter_that_looks_like_another_is_spelled_out_for_the_owner():
    [line] = listed([Change("changed", "\u0441onfig.py", size=9, old_size=9)])
    assert "U+0441" in line


def test_the_owner_sees_first_what_is_lost_and_how_many_are_left_out():
    changes = [*(Change("added", f"{number:04}", size=1) for number in range(MAX_LISTED)), CHANGED, REMOVED]
    lines = listed(changes)
    assert lines[:2] == ["removed old/", "changed a.txt (5 to 6 bytes)"]
    assert lines[-1] == "… and 2 more, which are not shown: 2 added"
    assert len(lines) == MAX_LISTED + 1


def test_the_owner_sees_what_changes_in_a_file():
    assert diff_lines([ChangedFile(CHANGED, b"one\ntwo\n", b"one\n2\n"), ChangedFile(ADDED, None, b"x")]) == [
        "changed a.txt",
        "@@ 1",
        "  one",
        "- two",
        "+ 2",
        "added new.txt",
        "@@ 1",
        "+ x (without a line end)",
    ]


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (ChangedFile(CHANGED, b"a", b"\0\1"), "it is not text"),
        (ChangedFile(CHANGED, b"\xff\xfe", b"a"), "it is not text"),
        (ChangedFile(CHANGED, None, b"a"), "too large, or changed meanwhile"),
        (ChangedFile(ADDED, None, None), "too large, or changed meanwhile"),
        (ChangedFile(Change("removed", "a.txt", old_size=7), b"content", None), "all of its 7 bytes"),
    ],
)
def test_what_cannot_be_shown_is_said(file, said):
    assert said in diff_lines([file])[1]


def test_a_line_of_a_file_can_neither_steer_the_terminal_nor_pass_for_ours():
    [_, _, *lines] = diff_lines([ChangedFile(ADDED, None, b"a\x1b[2J\rb\nchanged innocent.txt\n\xe2\x80\xaeexe\n")])
    assert all(line.isprintable() and line.startswith("+ ") for line in lines)
    assert len(lines) == 3


def test_a_long_difference_ends_and_says_so():
    text = b"".join(b"%d\n" % number for number in range(5_000))
    lines = diff_lines([ChangedFile(ADDED, None, text), ChangedFile(CHANGED, b"a", b"b")])
    assert len(lines) == MAX_DIFF_LINES + 1
    assert lines[-1].startswith("… the rest, and 0 more")
    [_, _, line] = diff_lines([ChangedFile(ADDED, None, b"y" * 60_000 + b"\n")])
    assert len(line) < 300
    assert "more characters are not shown" in line
