"""A model that says what a script tells it to: for tests, for the demo, and for programs that want to try theirs."""

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
    """The script does not fit what happened. Not a fault of a model: it ends the turn with this exception."""


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
    """As text they go out as they are, which need not be JSON."""


class ScriptedUsage(_Part):
    input_tokens: Annotated[int, Field(ge=0)] = 0
    output_tokens: Annotated[int, Field(ge=0)] = 0


class ScriptedStep(_Part):
    """One reply."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    usage: ScriptedUsage = Field(default_factory=ScriptedUsage)
    expect: Annotated[str, AfterValidator(_pattern)] | None = None
    """A regular expression that is found in the last answer of a tool, or else the script is wrong here."""
    finish: Finish | None = None
    """None: "tools" when there are calls, and "stop" when there are none."""


_STEPS = TypeAdapter(tuple[ScriptedStep, ...])


class ScriptedModel:
    """Replies with one step after the other, in pieces. `heard` has what it was given each time."""

    def __init__(self, steps: Sequence[ScriptedStep | Mapping[str, Any]], *, pause_s: float = 0) -> None:
        """`pause_s` between two pieces, for whoever looks on. Raises ScriptError for a step that is none."""
        try:
            self._steps = _STEPS.validate_python(tuple(steps))
        except ValidationError as error:
            raise ScriptError(f"Cannot use the script: {_first(error)}") from error
        self._pause_s = pause_s
        self._calls = 0
        self.heard: list[tuple[Message, ...]] = []

    @classmethod
    def load(cls, path: Path, *, pause_s: float = 0) -> ScriptedModel:
        """From a JSON file: a list of steps. Raises ScriptError."""
        try:
            return cls(_STEPS.validate_json(path.read_bytes()), pause_s=pause_s)
        except ValidationError as error:
            raise ScriptError(f'Cannot use the script "{path}": {_first(error)}') from error
        except OSError as error:
            raise ScriptError(f'Cannot read the script "{path}": {error.strerror}') from error

    @property
    def remaining(self) -> int:
        """Steps that are still to come."""
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
