from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given, strategies as st

from cortex.show.parts import excerpt
from cortex.text.terminal import Wrap, columns_of, fit, hanging, padded, styled, visible, wrapped
from cortex.tools.owner import Question, describe


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_text_behind_a_head_is_wrapped_between_words_and_set_in():
    assert hanging("ok      limits  ", "stopped: write a file, open 300 files", 36) == [
        "ok      limits  stopped: write a",
        "                file, open 300 files",
    ]
    assert hanging("head ", "short", 80) == ["head short"]
    # However narrow it is, words are not cut into letters.
    assert hanging("a head of thirty columns ......", "several words here", 30)[0].endswith("several words here")


def test_colour_is_for_terminals_only(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert styled("x", "red", io.StringIO()) == "x"
    assert styled("x", "red", Terminal()) == "\x1b[31mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("x", "red", Terminal()) == "x"


def test_characters_that_control_a_terminal_are_spelled_out():
    assert visible("a\x1b]0;pwned\x07\x9b2J\u202eb\n\tc") == "a\\u001b]0;pwned\\u0007\\u009b2J\\u202eb\n\tc"


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85", "\r", "\x0b", "\x0c"])
def test_what_ends_a_line_for_javascript_does_not_hide_code_in_a_comment(end):
    code = f"// the total{end}return 'evil'\nreturn 1"
    spelled = f"// the total\\u{ord(end):04x}return 'evil'"
    shown = describe(Question("core.execute", {"code": code}, "model"))
    assert shown.split("\n")[-2:] == [f"  | // the total⟨U+{ord(end):04X}⟩return 'evil'", "  | return 1"]
    assert excerpt(code, 80, 9).lines == [spelled, "return 1"]


UNSEEN = [
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180E, 0x180F, 0x200B, 0x200D, 0x2060, 0x2800),
    *(0x3164, 0xFEFF, 0xFFA0, 0xE0001, 0xE0041, 0xE0100, 0xE01EF),
    *(0xFE00, 0xFE0D, 0xFE0E, 0xFE0F, 0xFFFC, 0x1107F, 0x13441, 0x16FE4, 0x1D159),
    *(0xD83D, 0xDE00, 0xE000, 0xF8FF, 0x10FFFD, 0x0378, 0xFFFE, 0xE0FFF),
]


@pytest.mark.parametrize("code", UNSEEN, ids=lambda code: f"{code:x}")
def test_invisible_characters_are_spelled_out(code):
    spelled = f"\\u{code:04x}" if code < 0x10000 else f"\\u{{{code:x}}}"
    assert visible(f"a{chr(code)}b") == f"a{spelled}b"


def test_what_people_write_stays_as_it_is():
    for text in (
        "a\tb\nc ~",
        "é e\u0301 ß",
        "ไทย हिन्दी עברית العربية 한국어",
        "茶　の",
        "a\u00a0b",
        "❤\ufe0f 1\ufe0f\u20e3 👍🏽 ☎\ufe0e ℹ\ufe0f",
        "בְּרֵאשִׁ֖ית ཧཱུྃ ế ệ e\u0323\u0302",
        "👩\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 می\u200cخواهم क्\u200dष",
    ):
        assert visible(text) == text


def test_any_text_is_left_with_visible_characters_only():
    """Nothing that is a control, a format, a separator of lines, half a pair, private, or not assigned."""
    left = visible("".join(map(chr, (*range(0x20000), *range(0xE0000, 0xF0100)))))
    categories = {unicodedata.category(character) for character in left if character not in "\n\t"}
    assert not categories & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@pytest.mark.parametrize("joiner", ["\u200c", "\u200d"])
@pytest.mark.parametrize(
    ("before", "after"),
    [("a", "b"), ("a", "é"), ("é", "b"), ("é", " "), ("\u3000", "é"), ("", "é"), ("é", ""), ("é", "\n")],
)
def test_a_joiner_that_joins_nothing_is_spelled_out(joiner, before, after):
    assert visible(f"{before}{joiner}{after}") == f"{before}\\u{ord(joiner):04x}{after}"


def test_joiners_beside_joiners_or_invisible_characters_are_spelled_out():
    assert visible("é\u200d\u200cé") == "é\\u200d\\u200cé"
    assert visible("é\u200d\u202eé\u2800\u200dé") == "é\\u200d\\u202eé\\u2800\\u200dé"


def test_a_selector_that_selects_nothing_is_spelled_out():
    assert visible("❤\ufe0f\ufe0f é\ufe0f \ufe0f") == "❤\ufe0f\\ufe0f é\\ufe0f \\ufe0f"
    assert visible("\u2028\ufe0f\u2063\ufe0f+\ufe0f") == "\\u2028\\ufe0f\\u2063\\ufe0f+\\ufe0f"


def test_stacked_combining_marks_are_limited():
    assert visible("a" + "\u0336" * 6 + "b") == "a" + "\u0336" * 4 + "\\u0336" * 2 + "b"
    assert visible("é\u200d\u0336") == "é\\u200d\u0336"


@given(st.lists(st.text("a8é ❤क\n\u200d\u200c\ufe0f\ufe0e\ufe00\u0336\u0301\u20e3\u202e")))
def test_a_text_is_shown_the_same_in_whatever_pieces_it_comes(pieces):
    wrap = Wrap(10_000)
    shown = "".join(map(wrap.add, pieces)) + wrap.end()
    assert [line.rstrip(" ") for line in shown.split("\n")] == [
        line.rstrip(" ") for line in visible("".join(pieces)).split("\n")
    ]


def test_a_joiner_is_judged_by_its_neighbours_also_when_they_come_in_other_pieces():
    for text in ("👩\u200d👩 می\u200cخواهم", "a\u200db", "é\u200d", "é\u200d\u200dé", "\u200dé"):
        wrap = Wrap(80)
        assert "".join(map(wrap.add, text)) + wrap.end() == visible(text)
    assert wrapped("می\u200cخواهم", 80) == ["می\u200cخواهم"]


def test_text_is_cut_and_padded_by_its_columns():
    assert (columns_of("茶x"), columns_of("e\u0301"), columns_of("👩\u200d👩")) == (3, 1, 4)
    assert (fit("茶茶茶茶", 6), fit("a\n b", 3), fit("\x1b", 9)) == ("茶茶…", "a b", "\\u001b")
    assert padded("茶", 4) == "茶  "
