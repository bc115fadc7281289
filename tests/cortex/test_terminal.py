from __future__ import annotations

import io

from cortex.terminal import styled, visible


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colour_is_for_terminals_only(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert styled("x", "red", io.StringIO()) == "x"
    assert styled("x", "red", Terminal()) == "\x1b[31mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("x", "red", Terminal()) == "x"


def test_what_could_steer_a_terminal_is_spelled_out():
    assert visible("a\x1b]0;pwned\x07\x9b2J\u202eb\n\tc") == "a\\u001b]0;pwned\\u0007\\u009b2J\\u202eb\n\tc"
