"""The parts of a chat that need nobody else."""

from __future__ import annotations

import io
import stat
import sys

import pytest

from cortex.chat import InputError, LineHistory, ToolsError, endpoint_problem, lines_of, load_toolbox
from cortex.chat.line_history import MAX_LINES
from cortex.chat.slash import HELP, KEYS, Slash, conversation_lines
from cortex.chat.talk import MAX_LINE_BYTES
from cortex.loop import Conversations, ConversationSummary
from cortex.settings.sections import EnergySettings, ModelSettings
from cortex.text.terminal import columns_of


def test_messages_are_the_lines_that_say_something():
    assert list(lines_of(io.BytesIO("one\n\n  two \r\nthree é".encode()))) == ["one", "two", "three é"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"ok\n\xff\n", "line 2 is not UTF-8: invalid byte at position 0"),
        (b"ok\n" + b"x" * (MAX_LINE_BYTES + 1), f"line 2 is longer than {MAX_LINE_BYTES} bytes"),
    ],
)
def test_a_line_that_cannot_be_a_message_is_named(data, words):
    lines = lines_of(io.BytesIO(data))
    assert next(lines) == "ok"
    with pytest.raises(InputError, match=words):
        next(lines)


def test_the_history_of_lines_is_private_and_survives(tmp_path):
    path = tmp_path / "history"
    history = LineHistory(path)
    assert history.lines() == []
    history.add("one")
    history.add("two\nlines \x1b \ud83d")
    assert LineHistory(path).lines() == ["one", "two\nlines \x1b \ud83d"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_history_that_has_grown_is_cut_and_damage_is_passed_over(tmp_path):
    path = tmp_path / "history"
    path.write_bytes(b'"torn\n{}\n' + b"".join(b'"%d"\n' % number for number in range(2 * MAX_LINES)))
    lines = LineHistory(path).lines()
    assert (lines[0], lines[-1], len(lines)) == (str(MAX_LINES), str(2 * MAX_LINES - 1), MAX_LINES)
    LineHistory(path).add("next")
    assert LineHistory(path).lines() == [*lines[1:], "next"]
    assert path.read_bytes().count(b"\n") == MAX_LINES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_history_that_cannot_be_kept_is_no_trouble(tmp_path):
    (tmp_path / "file").touch()
    history = LineHistory(tmp_path / "file" / "history")
    history.add("x")
    assert history.lines() == []


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with the owner's own files, and nothing of it left afterwards."""
    (tmp_path / "shop_words.py").write_text("ORDERED = 'ordered'\n")
    (tmp_path / "shop_tools.py").write_text(
        "from cortex import Toolbox\nfrom shop_words import ORDERED\n"
        "toolbox = Toolbox()\nnumber = 3\n"
        "@toolbox.tool(name='shop.order')\ndef order(item: str) -> str:\n    'Order it.'\n    return ORDERED\n"
    )
    (tmp_path / "shop_broken.py").write_text("raise RuntimeError('no shop')\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    forget_modules_of_the_shop()
    yield tmp_path
    forget_modules_of_the_shop()


def forget_modules_of_the_shop():
    """Tests in other files have modules of the same names, and run in the same process."""
    for name in ("shop_tools", "shop_words", "shop_broken"):
        sys.modules.pop(name, None)


def test_a_toolbox_comes_from_a_module_in_the_present_folder(shop, monkeypatch):
    monkeypatch.chdir(shop)
    assert load_toolbox("shop_tools:toolbox").names() == ["shop.order"]


def test_a_toolbox_comes_from_a_file_anywhere(shop):
    assert load_toolbox(f"{shop}/shop_tools.py:toolbox").names() == ["shop.order"]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("shop_tools", "is not of the form MODULE:NAME"),
        ("shop_tools:", "is not of the form MODULE:NAME"),
        ("nowhere_at_all:toolbox", 'cannot import "nowhere_at_all": ModuleNotFoundError'),
        ("nowhere.py:toolbox", 'cannot import "nowhere.py": FileNotFoundError'),
        ("shop_broken:toolbox", 'cannot import "shop_broken": RuntimeError: no shop'),
        ("shop_tools:tools", '"shop_tools" has no "tools"'),
        ("shop_tools:number", '"shop_tools:number" is a int and not a Toolbox'),
    ],
)
def test_a_toolbox_that_is_not_there_is_told(shop, monkeypatch, place, words):
    monkeypatch.chdir(shop)
    with pytest.raises(ToolsError) as caught:
        load_toolbox(place)
    assert words in str(caught.value)


@pytest.mark.parametrize("settings", [{}, {"name": "x"}, {"base_url": "http://localhost:11434/v1"}])
def test_without_an_endpoint_the_error_says_how_to_configure_one(settings):
    told = endpoint_problem(ModelSettings.model_validate(settings))
    for words in ("OPENAI_API_KEY", ":11434/v1", ":8000/v1", ":8080/v1", "[model]", "--base-url", "cortex demo"):
        assert words in told
    assert max(map(len, told.split("\n")[1:])) <= 80


def test_an_invalid_api_key_is_reported_without_the_key_and_without_the_instructions():
    told = endpoint_problem(ModelSettings.model_validate({"name": "x", "api_key": "SECRET\nKEY"}))
    assert "model.api_key holds a character" in told
    assert "SECRET" not in told
    assert "Ollama" not in told


def test_an_endpoint_without_a_key_is_enough():
    assert endpoint_problem(ModelSettings(name="x", base_url="http://localhost:11434/v1")) is None


def test_help_breaks_between_words_and_fits_the_terminal(tmp_path):
    screen = io.StringIO()
    slash = Slash(screen, lambda: 1.0, EnergySettings(), Conversations(tmp_path))
    slash.run("help")
    lines = screen.getvalue().splitlines()
    assert max(map(columns_of, lines)) <= 80
    texts = {**HELP, **KEYS}
    assert " ".join(screen.getvalue().split()) == " ".join(f"{name} {what}" for name, what in texts.items())
    assert {line[:17].strip() for line in lines} == {*texts, ""}


def test_a_list_of_conversations_fits_the_terminal_and_cannot_steer_it():
    titles = ["hi", "\x1b[2J" * 20, "漢字" * 40, "word " * 15]
    known = [ConversationSummary(f"20261116-12060{n}-389161", title, 1e9, 10) for n, title in enumerate(titles)]
    lines = conversation_lines(known, 80)
    assert len(lines) == 4
    assert lines[0].endswith("  hi")
    assert max(map(columns_of, lines)) <= 80
    assert "\x1b" not in "".join(lines)
    assert conversation_lines(known * 6, 80)[-1] == "and 4 more; cortex chat --list --json has all"
