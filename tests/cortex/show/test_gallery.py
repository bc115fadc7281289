"""What a chat shows of what code displayed: pictures as files and in terminals that can, texts without control."""

from __future__ import annotations

import base64
import io
import json
import stat

import pytest

from cortex.chat.outputs import ForPeople, ForPrograms
from cortex.home import Home
from cortex.loop import Answer, CallEnded, ToolRequest
from cortex.show.gallery import Gallery, inline
from cortex.text import picture_protocol
from sandbox import Displayed
from tests.sandbox.contracts.test_displays import png

PICTURE = Displayed("image", "image/png", png(), "A\x1b]0;evil\x07")
CALL = ToolRequest("1", "core_execute", "{}")


def ended(*displayed):
    return CallEnded(CALL, Answer("1", displayed=displayed))


def test_a_picture_is_a_private_file_in_the_home_and_its_path_is_told(tmp_path):
    out, err = io.StringIO(), io.StringIO()
    output = ForPeople(out, err, Gallery(lambda: Home(tmp_path / "home").displayed))
    output.started("c", "t", "hello")
    output.event(ended(PICTURE))
    [path] = (tmp_path / "home" / "displayed").iterdir()
    assert path.read_bytes() == png()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.name in err.getvalue().replace("\n", "").replace(" ", "")
    assert "\x1b]" not in err.getvalue()


def test_a_table_and_markdown_cannot_control_the_terminal():
    out = io.StringIO()
    output = ForPeople(out, out)
    output.started("c", "t", "hello")
    rows = Displayed("table", "application/json", json.dumps([{"a\x1b[2J": "b\x1b]8;;http://x\x07"}]).encode())
    words = Displayed("markdown", "text/markdown", b"# hi\x1b[31m\r\n\x9b2J\xe2\x80\xae", "t\x1b[2J")
    output.event(ended(rows, words))
    shown = out.getvalue()
    assert "# hi" in shown
    assert "| b" in shown
    assert not any(character in shown for character in ("\x1b", "\x07", "\x9b", "\u202e", "\r"))


def test_a_program_is_told_the_path_in_json(tmp_path):
    out = io.StringIO()
    ForPrograms(out, Gallery(lambda: tmp_path)).event(ended(PICTURE, Displayed("markdown", "text/markdown", b"# a")))
    picture, words = [json.loads(line) for line in out.getvalue().splitlines()][1:]
    assert (picture["event"], picture["path"]) == ("displayed", str(next(tmp_path.iterdir())))
    assert words["text"] == "# a"


def test_a_home_that_cannot_be_written_is_told_and_stops_nothing(tmp_path):
    err = io.StringIO()
    (tmp_path / "home").write_text("a file")
    output = ForPeople(io.StringIO(), err, Gallery(lambda: Home(tmp_path / "home").displayed))
    output.started("c", "t", "hello")
    output.event(ended(PICTURE))
    assert "not kept" in err.getvalue()


def test_the_oldest_files_make_way(tmp_path):
    gallery = Gallery(lambda: tmp_path, max_kept=3)
    paths = [gallery.keep(PICTURE) for _ in range(5)]
    assert sorted(tmp_path.iterdir()) == paths[2:]


@pytest.mark.parametrize(
    ("environment", "protocol"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM_PROGRAM": "iTerm.app", "TMUX": "1"}, None),
        ({"TERM": "xterm"}, None),
    ],
)
def test_a_terminal_that_can_shows_pictures_inline(monkeypatch, environment, protocol):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for name in ("TERM", "TERM_PROGRAM", "KITTY_WINDOW_ID", "TMUX"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    out = Terminal()
    assert picture_protocol(out) == protocol
    assert picture_protocol(io.StringIO()) is None
    output = ForPeople(out, out)
    output.started("c", "t", "hello")
    output.event(ended(PICTURE))
    assert (base64.b64encode(png()).decode() in out.getvalue()) == (protocol is not None)


def test_the_sequences_hold_the_whole_picture_in_pieces():
    large = Displayed("image", "image/png", png() + bytes(10_000))
    pieces = [piece.partition(";") for piece in inline(large, "kitty").strip().removesuffix("\x1b\\").split("\x1b\\")]
    assert base64.b64decode("".join(data for _, _, data in pieces)) == large.data
    assert [head.endswith("m=1") for head, _, _ in pieces] == [True] * (len(pieces) - 1) + [False]
    assert inline(Displayed("image", "image/jpeg", b""), "kitty") == ""


def test_sounds_and_blobs_are_files_with_an_ending_that_nothing_runs(tmp_path):
    out = io.StringIO()
    output = ForPeople(out, out, Gallery(lambda: tmp_path))
    output.started("c", "t", "hello")
    output.event(ended(Displayed("audio", "audio/wav", b"RIFF"), Displayed("blob", "text/html", b"<script>")))
    assert {path.suffix: path.read_bytes() for path in tmp_path.iterdir()} == {".wav": b"RIFF", ".bin": b"<script>"}
    told = io.StringIO()
    ForPrograms(told, Gallery(lambda: tmp_path)).event(ended(Displayed("audio", "audio/wav", b"RIFF")))
    assert json.loads(told.getvalue().splitlines()[-1])["path"].endswith(".wav")


def test_files_of_every_type_make_way(tmp_path):
    gallery = Gallery(lambda: tmp_path, max_kept=2)
    for _ in range(3):
        gallery.keep(Displayed("blob", "a/b", b"x"))
    assert len(list(tmp_path.iterdir())) == 2


def test_only_pictures_are_shown_inside_the_terminal():
    assert inline(Displayed("blob", "image/gif", b"GIF89a"), "iterm") == ""
