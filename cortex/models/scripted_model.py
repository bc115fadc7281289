"""A model that replies from a script: for tests, for the demo, and for programs that test their own loop."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import anyio
import anyio.lowlevel
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from cortex.loop import AssistantMessage, Finish, Message, ModelReply, ToolAnswer, ToolRequest, Usage, ignore

_PIECE = re.compile(r"\S+\s*|\s+")


class ScriptError(Exception):
    """The script does not fit what happened. It is not a ModelError: the turn ends with this exception."""


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScriptedCall(_Part):
    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    """A string is sent unchanged, and need not be JSON."""


class ScriptedUsage(_Part):
    input_tokens: Annotated[int, Field(ge=0)] = 0
    output_tokens: Annotated[int, Field(ge=0)] = 0


class ScriptedStep(_Part):
    """One reply of the script."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    usage: ScriptedUsage = Field(default_factory=ScriptedUsage)
    expect: Annotated[str, AfterValidator(_pattern)] | None = None
    """A regular expression that must match the last answer of a tool; otherwise `reply` raises ScriptError."""
    finish: Finish | None = None
    """None means "tools" when there are calls, and "stop" otherwise."""


_STEPS = TypeAdapter(tuple[ScriptedStep, ...])


class ScriptedModel:
    """Replies with one step after the other, in pieces. `heard` has the messages of each request."""

    def __init__(self, steps: Sequence[ScriptedStep | Mapping[str, Any]], *, pause_s: float = 0) -> None:
        """`pause_s` is the time between two pieces, for a spectator. Raises ScriptError for an invalid step."""
        try:
            self._steps = _STEPS.validate_python(tuple(steps))
        except ValidationError as error:
            raise ScriptError(f"Cannot use the script: {_first(error)}") from error
        self._pause_s = pause_s
        self._calls = 0
        self.heard: list[tuple[Message, ...]] = []

    @classmethod
    def load(cls, path: Path, *, pause_s: float = 0) -> ScriptedModel:
        """Load a JSON file with a list of steps. Raises ScriptError."""
        try:
            return cls(_STEPS.validate_json(path.read_bytes()), pause_s=pause_s)
        except ValidationError as error:
            raise ScriptError(f'Cannot use the script "{path}": {_first(error)}') from error
        except OSError as error:
            raise ScriptError(f'Cannot read the script "{path}": {error.strerror}') from error

    @property
    def remaining(self) -> int:
        """The number of steps that are still to come."""
        return len(self._steps) - len(self.heard)

    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],  # noqa: ARG002 - a script knows what it will call
        *,
        on_text: Callable[[str], None] = ignore,
    ) -> ModelReply:
        """The next step. Raises ScriptError when there is none, or when its expectation is not met."""
        number = len(self.heard) + 1
        if not self.remaining:
            raise ScriptError(f"The script has {len(self._steps)} steps and was asked for step {number}")
        step = self._steps[number - 1]
        self.heard.append(tuple(messages))
        _check(step, number, messages)
        for piece in _PIECE.findall(step.text):
            await anyio.sleep(self._pause_s)
            on_text(piece)
        await anyio.lowlevel.checkpoint()
        calls = tuple(map(self._request, step.calls))
        usage = Usage(step.usage.input_tokens, step.usage.output_tokens)
        return ModelReply(AssistantMessage(step.text, calls), usage, step.finish or ("tools" if calls else "stop"))

    def _request(self, call: ScriptedCall) -> ToolRequest:
        self._calls += 1
        arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        return ToolRequest(f"step{self._calls:05d}", call.name, arguments)


def _check(step: ScriptedStep, number: int, messages: Sequence[Message]) -> None:
    if step.expect is None:
        return
    answer = next((message.text for message in reversed(messages) if isinstance(message, ToolAnswer)), None)
    if answer is None:
        raise ScriptError(f"Step {number} expects /{step.expect}/ in the last answer of a tool, and there is no answer")
    if not re.search(step.expect, answer):
        raise ScriptError(
            f"Step {number} expects /{step.expect}/ in the last answer of a tool, and that was: {answer[:500]}"
        )


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    match problem["loc"]:
        case (int(place), *inside):
            return f"step {place + 1}{''.join(f', {name}' for name in inside)}: {problem['msg']}"
        case _:
            return problem["msg"]
