"""Code as its owner sees it: from what is shown one can tell the code, and nothing in it is hidden or deceives."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, strategies as st

from cortex.channels import owner_view
from cortex.channels.console import set_in
from cortex.text.code_view import CODE, MORE, beyond_ascii, broken, code_lines, visible_code
from cortex.text.terminal import columns_of
from cortex.tools.owner import Question, describe
from tests.cortex.channels.hook_server import notice, proposal

TRICKS = [
    "\\u",
    "{",
    "}",
    "200b",
    "⟨U+",
    "⟨",
    "⟩",
    "·",
    "→",
    "   ",
    " ",
    "\n",
    "\t",
    "\r",
    "a",
    "ж",
    "\u200b",
    "\ufe0f",
    "\u05d0",
]
CODES = st.lists(st.one_of(st.sampled_from(TRICKS), st.characters())).map("".join)


def code_of(shown: str) -> str:
    """What the code is, by what is seen of it."""
    plain = shown.replace("→", "\t").replace("·", " ")
    return re.sub(r"⟨U\+([0-9A-F]+)⟩", lambda found: chr(int(found[1], 16)), plain)


@given(CODES)
def test_no_two_codes_have_the_same_view(code):
    assert code_of(visible_code(code)) == code


@given(CODES, st.integers(6, 90))
def test_a_line_that_is_broken_loses_nothing_however_narrow_the_terminal_is(code, width):
    shown = set_in(code_lines(code), width)
    assert all(columns_of(line) <= width for line in shown)
    whole = "".join("\n" + line[4:] if line.startswith(CODE) else line[4:] for line in shown)[1:]
    assert {line[:4] for line in shown} <= {CODE, MORE}
    assert code_of(whole) == code


def test_a_long_word_does_not_begin_where_lines_of_ours_do():
    told = describe(Question("shop.order", {"The⠀agent⠀wants⠀to⠀call⠀shop.look" + "⠀" * 80: 1}, "code"))
    lines = set_in(told.split("\n"), 60)
    assert lines[0] == "Code that the agent wrote wants to call shop.order"
    assert all(line.startswith("  ") for line in lines[1:])


def test_ordinary_code_stays_as_it_is():
    code = (
        "const price = `${signal.data.usd} €`;\nemit('Grüße', '茶が', \"Цена — 5 °\", 'ελληνικά', '🦊⚠'); // 한국어…\n"
    )
    assert visible_code(code) == code


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("''" + "\ufe00\ufe0f", "''⟨U+FE00⟩⟨U+FE0F⟩"),
        ("'❤\ufe0f'", "'❤⟨U+FE0F⟩'"),
        ("allow\u0336", "allow⟨U+0336⟩"),
        ("'e\u0301'", "'e⟨U+0301⟩'"),
        ("'\u05d0\u0627'", "'⟨U+05D0⟩⟨U+0627⟩'"),
        ("a\u00a0=\u3000b", "a⟨U+00A0⟩=⟨U+3000⟩b"),
        ("a\U0001d159\U00016fe4\U0001107f\U00013441", "a⟨U+1D159⟩⟨U+16FE4⟩⟨U+1107F⟩⟨U+13441⟩"),
        ("\u0430dmin", "⟨U+0430⟩dmin"),
        ("user_\u0430ж", "user_⟨U+0430⟩⟨U+0436⟩"),
        ("'\uf900\u0133'", "'⟨U+F900⟩⟨U+0133⟩'"),
        ("const \u0430 = 1", "const ⟨U+0430⟩ = 1"),
        ("\u0441\u043e\u0440", "⟨U+0441⟩⟨U+043E⟩⟨U+0440⟩"),
        ("ok\u01c3=1", "ok⟨U+01C3⟩=1"),
        ("ｅval \U0001d41a \u212a", "⟨U+FF45⟩val ⟨U+1D41A⟩ ⟨U+212A⟩"),
        ("\u1100\u1161", "⟨U+1100⟩⟨U+1161⟩"),
        ("a\u037e", "a⟨U+037E⟩"),
        ("x\r\n\x1b[2J", "x⟨U+000D⟩\n⟨U+001B⟩[2J"),
        ("\tif (a)  \n   \nb", "→if (a)··\n···\nb"),
        ("'→·⟨U+200B⟩'", "'⟨U+2192⟩⟨U+00B7⟩⟨U+27E8⟩U+200B⟨U+27E9⟩'"),
    ],
)
def test_what_could_hide_or_deceive_is_spelled_out(code, shown):
    assert visible_code(code) == shown


def test_only_characters_that_are_visible_and_run_left_to_right_stay():
    left = visible_code("".join(f"{chr(code)} " for code in range(0x110000) if code != 10))
    for character in set(left) - {"\n"}:
        assert unicodedata.category(character)[0] in "LNPS" or character == " "
        assert unicodedata.bidirectional(character) not in {"R", "AL", "AN"}
        assert not unicodedata.combining(character)


def test_blanks_at_a_line_break_of_the_terminal_are_shown():
    line = f"{CODE}ok();{' ' * 12}steal();"
    assert list(broken(line, 14)) == ["  | ok();·····", "  :        ste", "  : al();"]


def test_lines_with_characters_beyond_ascii_are_named():
    assert beyond_ascii("a\nb") == ""
    assert beyond_ascii("é\nb\nc\u200b") == "1, 3"
    assert beyond_ascii("é\n" * 20) == "1, 2, 3, 4, 5, 6, 7, 8 and 12 more"


def test_the_owner_sees_hidden_characters_in_a_string_of_the_code():
    hidden = "".join(chr(0xFE00 + int(digit, 16)) for digit in b"transfer everything".hex())
    lines = owner_view(proposal(code=f'const a = 1;\nconst unit = "{hidden}";'))
    assert '  | const unit = "⟨U+FE07⟩⟨U+FE04⟩' in "\n".join(lines)
    assert [line.split(maxsplit=2) for line in lines if "ASCII" in line] == [["beyond", "ASCII", "line 2 of the code"]]
    assert not any("ASCII" in line for line in owner_view(proposal()))


def test_names_are_shown_as_strictly_as_code_and_purposes_as_people_write_them():
    neuron = proposal(hosts=("\u0430pi.example.com",))
    metadata = neuron.metadata.model_copy(update={"purpose": "می\u200cخواهم ❤\ufe0f a\ufe0fb"})
    text = "\n".join(owner_view(neuron.model_copy(update={"metadata": metadata})))
    assert "⟨U+0430⟩pi.example.com" in text
    assert "می\u200cخواهم ❤\ufe0f a\\ufe0fb" in text


def test_consent_to_a_run_shows_its_code_likewise():
    text = describe(Question("core.execute", {"code": "return '\ufe01'"}, "model"))
    assert text.split("\n")[1:] == [
        "  the code has characters beyond ASCII, in line 1",
        "  | return '⟨U+FE01⟩'",
    ]


def test_the_webhook_is_sent_the_same_view():
    from cortex.channels.webhook import body_of

    assert "  | return '⟨U+FE01⟩'" in body_of(notice(code="return '\ufe01'"))["view"]
