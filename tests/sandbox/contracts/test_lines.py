"""The splitter of lines: its limits, what a subclass may do with a long line, and how much memory a line takes."""

from __future__ import annotations

import tracemalloc

import pytest

from sandbox.contracts.lines import Line, LineSplitter, LineTooLong


class Marked(LineSplitter[Line | None]):
    """Gives None in place of each line that is too long."""

    is_long = False

    def _refuse(self, reason):
        self.is_long = True

    def _ended(self):
        is_long, self.is_long = self.is_long, False
        return None if is_long else super()._ended()


@pytest.mark.parametrize("size", range(1, 14))
def test_a_long_line_is_raised_before_its_end_and_after_the_lines_before_it(size):
    splitter, found = LineSplitter[Line](5), []
    stream = b"one\n\n12345\n123456"

    def feed_all():
        for start in range(0, len(stream), size):
            found.extend(splitter.feed(stream[start : start + size]))

    with pytest.raises(LineTooLong, match="more than 5 bytes"):
        feed_all()
    assert found == [b"one", b"", b"12345"]


@pytest.mark.parametrize("size", range(1, 14))
def test_a_subclass_may_mark_a_long_line_and_go_on(size):
    splitter, found = Marked(5), []
    stream = b"12345\n1234567890\nnext\n123456"
    for start in range(0, len(stream), size):
        found.extend(splitter.feed(stream[start : start + size]))
    assert found == [b"12345", None, b"next"]
    assert splitter.size == 6


def test_a_line_in_parts_of_two_bytes_takes_about_its_own_size_in_memory():
    splitter = LineSplitter[Line](1_000_000)
    tracemalloc.start()
    try:
        for _ in range(250_000):
            list(splitter.feed(bytes(bytearray(b"ab"))))  # a new object each time, as a read gives
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [len(line) for line in splitter.feed(b"\n")] == [500_000]
    assert peak_bytes < 1_500_000
