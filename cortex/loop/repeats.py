"""Notices a model that makes the same failing call over and over. Pure.

A module of its own, so that its decision can be tested without a turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cortex.text import beginning

from .messages import ToolRequest
from .ports import Answer
from .requests import call_key

MAX_SAME_FAILURES = 3
MAX_QUOTED_CHARS = 300
WARNING = "(The same call has now failed twice. Change it, or answer the user without it: a third time ends the turn.)"


@dataclass(slots=True)
class Repeats:
    """Counts, in one turn, how often each call has failed without a success in between."""

    failures: dict[tuple[str, str], int] = field(default_factory=dict)
    last_word: str | None = None
    """Why the turn ends; None while it may go on."""

    def judge(self, call: ToolRequest, answer: Answer) -> Answer:
        """Count the answer. Returns the answer for the model: with a warning when one more failure ends the turn."""
        key = call_key(call)
        if answer.ok:
            self.failures.pop(key, None)
            return answer
        self.failures[key] = self.failures.get(key, 0) + 1
        if self.failures[key] >= MAX_SAME_FAILURES:
            self.last_word = _last_word(call, answer)
        if self.failures[key] != MAX_SAME_FAILURES - 1:
            return answer
        return replace(answer, note=WARNING if answer.note is None else f"{answer.note}\n{WARNING}")


def _last_word(call: ToolRequest, answer: Answer) -> str:
    said = beginning(" ".join(answer.text[: 4 * MAX_QUOTED_CHARS].split()), MAX_QUOTED_CHARS)
    return (
        f'(Stopped: the model made the same call of "{call.name}" {MAX_SAME_FAILURES} times, and each failed. The last '
        f"answer was: {said} Say “continue” to go on, or put the question in other words.)"
    )
