"""The ways in which a turn can end, and what the loop says when the model gives no final answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cortex.contracts import denied, failed

from .messages import Usage

if TYPE_CHECKING:
    from cortex.settings import LoopSettings

Stopped = Literal["answered", "rounds", "calls", "time", "tokens", "repeats", "model_error", "length"]

NUDGE = "(Your reply was empty. Answer the user in words, or call a tool.)"
NO_ANSWER = "(no answer)"
"""What the model reads about a turn that ended with a fault: the details are for the user, not for a model that may be
at another endpoint."""
INTERRUPTED = "(This turn was interrupted before it had ended.)"
CALL_INTERRUPTED = failed(
    "ToolError", "The call was interrupted before it had ended; what it had begun may have happened."
)
CUT_OFF = "(The reply reached its limit and is cut off here. Say “continue” to go on.)"
FILTERED = "(The endpoint stopped this reply with its content filter. Put the question in other words.)"
EMPTY = "(The model replied with nothing, twice. Put the question in other words, or try another model.)"


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The end of a turn: the agent's last word on a message of the user."""

    text: str
    """What the model said, followed by our notice about the end, if any."""
    stopped: Stopped
    usage: Usage
    rounds: int
    calls: int
    """Calls that were run. Refused and repeated ones do not count."""


def last_words(stopped: Stopped, settings: LoopSettings, usage: Usage) -> str:
    """The notice that a limit of the turn was reached."""
    return f"(Stopped: {_reached(stopped, settings, usage)}. Say “continue” to go on.)"


def too_many_calls(settings: LoopSettings) -> str:
    return denied(
        f"The limit of {settings.max_tool_calls} tool calls in this turn is reached. Answer with what you have."
    )


def not_run(stopped: Stopped, settings: LoopSettings, usage: Usage) -> str:
    """The refusal of calls that are not run because the turn ends."""
    return denied(f"Not run, because the turn ended: {_reached(stopped, settings, usage)}.")


def _reached(stopped: Stopped, settings: LoopSettings, usage: Usage) -> str:
    match stopped:
        case "rounds":
            return f"the limit of {settings.max_rounds} rounds is reached"
        case "calls":
            return f"the limit of {settings.max_tool_calls} tool calls is reached"
        case "time":
            return f"the limit of {settings.max_turn_s:g} seconds is reached"
        case "tokens":
            return f"the limit of {settings.max_turn_tokens} tokens is reached ({usage.total} were used)"
        case _:
            raise ValueError(f'"{stopped}" is not a bound')
