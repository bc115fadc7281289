"""The ports of workflows, as a turn sees them: where the model proposes a plan, and answers the question of a run.

A module of its own because the room of workflows is to the right of turns, and a turn names only these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from cortex.tools import ToolDefinition

WORKFLOW_QUESTION = "core.workflow_question"
"""The type of the signal that brings a question of a run to the agent. Names that begin with "core" are reserved: no
neuron can emit it."""


class Plans(Protocol):
    """Takes the plans that a model proposes."""

    async def propose(self, given: Any, *, turn: str) -> str:
        """Keep the plan as a run that begins when the owner says so, and return what the model is told: which run, and
        what it waits for. `given` is parsed JSON. Raises ToolError."""
        ...


class Answering(Protocol):
    """The answer to one question of one run, and to no other. It lasts as long as the turn that was started for it."""

    @property
    def definition(self) -> ToolDefinition: ...

    async def answer(self, given: dict[str, Any]) -> str:
        """Answer the question, and return what the model is told. Raises ToolError."""
        ...
