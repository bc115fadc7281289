"""Read messages from a pipe, one in each line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

# A turn takes no longer message. A longer line is an error: its rest must not become a message of its own.
MAX_LINE_BYTES = 1_048_576


class InputError(Exception):
    """A line that cannot be a message. The error says which line."""


def lines_of(stream: BinaryIO) -> Iterator[str]:
    """The lines that are not blank. Raises InputError."""
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise InputError(f"line {number} is longer than {MAX_LINE_BYTES} bytes")
        try:
            text = line.decode().strip()
        except UnicodeDecodeError as error:
            raise InputError(f"line {number} is not UTF-8: invalid byte at position {error.start}") from error
        if text:
            yield text
