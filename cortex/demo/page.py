"""The layout of the demo's output: at most 80 columns, colour and symbols only if the terminal can show them."""

from __future__ import annotations

from typing import TextIO

from cortex.text import has_symbols, styled, terminal_columns, wrapped

_WIDEST = 80
_LABEL = 10


class Page:
    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.width = min(terminal_columns(stream), _WIDEST)
        self._rule = "─" if has_symbols(stream) else "-"
        self._scenes = 0

    def scene(self, title: str, about: str) -> None:
        """Print the heading of the next scene, with its number, and what to look out for."""
        self._scenes += 1
        self.heading(f"{self._scenes}. {title}")
        self.paragraph(about, "dim")

    def heading(self, text: str) -> None:
        """Print a heading below a rule as wide as the page."""
        self.line()
        self.line(self._rule * self.width, "dim")
        self.paragraph(text, "bold")

    def paragraph(self, text: str, style: str | None = None) -> None:
        for line in wrapped(text, self.width):
            self.line(line, style)

    def row(self, label: str, text: str) -> None:
        """Print a label, and the text beside it in a column."""
        for number, line in enumerate(wrapped(text, self.width - _LABEL)):
            lead = styled(label, "bold", self.stream) if number == 0 else ""
            self.line(lead + " " * (_LABEL - (len(label) if lead else 0)) + line)

    def line(self, text: str = "", style: str | None = None) -> None:
        self.stream.write((styled(text, style, self.stream) if style and text else text) + "\n")
        self.stream.flush()
