"""What each way of working puts into the context of the model, counted and compared. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# A rule of thumb for English and JSON. No tokenizer comes with this, and each model has its own.
BYTES_PER_TOKEN = 4
_LABEL, _COLUMN = 22, 16


@dataclass(frozen=True, slots=True)
class Account:
    """Bytes, each counted once, although all of them are sent again in every round."""

    definitions: int
    """Of all tools that the model is told of before it says a word."""
    written: int = 0
    """By the model: names and arguments of its calls."""
    read: int = 0
    """By the model: what the calls came to."""
    rounds: int = 0

    @property
    def total(self) -> int:
        return self.definitions + self.written + self.read

    @property
    def tokens(self) -> int:
        """An estimate, as good as its rule of thumb."""
        return round(self.total / BYTES_PER_TOKEN)

    def and_call(self, name: str, arguments: str, result: str) -> Account:
        written = self.written + len(f"{name}{arguments}".encode())
        return Account(self.definitions, written, self.read + len(result.encode()), self.rounds)

    def in_rounds(self, rounds: int) -> Account:
        return Account(self.definitions, self.written, self.read, rounds)


def table(code: Account, plain: Account, width: int) -> Iterator[str]:
    """One line for each thing that is counted, in both ways; two where a line has no room for it."""
    rows: dict[str, tuple[int, int] | tuple[str, str]] = {
        "": ("code mode", "plain calls"),
        "tool definitions": (code.definitions, plain.definitions),
        "calls, written": (code.written, plain.written),
        "results, read": (code.read, plain.read),
        "bytes in the context": (code.total, plain.total),
        "tokens, estimated": (code.tokens, plain.tokens),
        "rounds of the model": (code.rounds, plain.rounds),
    }
    is_wide = width >= _LABEL + 2 * _COLUMN
    column = _COLUMN if is_wide else min(_COLUMN, width // 2)
    for label, cells in rows.items():
        line = "".join(f"{f'{cell:,}' if isinstance(cell, int) else cell:>{column}}" for cell in cells)
        if is_wide:
            yield f"{label:{_LABEL}}{line}"
        else:
            yield from (label, line) if label else (line,)


def verdict(code: Account, plain: Account) -> str:
    """Who put less into the context, whoever that is, and what it cost in rounds."""
    winner, less, more = ("Code mode", code, plain) if code.total < plain.total else ("A plain call", plain, code)
    if less.total == more.total:
        return "Neither put less into the context."
    share = 100 * (more.total - less.total) / more.total
    text = (
        f"{winner} put {more.total - less.total:,} bytes less into the context, which is {share:.{_digits(share)}f} %"
    )
    extra = code.rounds - plain.rounds
    if extra > 0:
        text += f"; code mode took {extra} more round{'' if extra == 1 else 's'} of the model"
    return f"{text}."


def _digits(share: float) -> int:
    """99.6 % and 99.96 % are not the same saving."""
    return 2 if share > 99 else 0
