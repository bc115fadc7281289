"""Makes one call of a function in a process that is open. The same for quarantine and for code that calls it later.

`hosts.resident(program_of(neuron, settings), tools, network=…)` opens the process, with real or replayed tools and
network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from sandbox import RESULT, BadSchema, ErrorType, ExecutionError, TooMuchToCheck, Work, schema_problem

if TYPE_CHECKING:
    from sandbox import Resident

    from ..contracts import Neuron

_STATELESS: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class FunctionAnswer:
    """What one call came to: a result, or an error, and the work that it took."""

    result: Any
    """JSON; None also when there is an error."""
    error: ExecutionError | None
    work: Work

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def is_fault(self) -> bool:
        """Whether the process had to be replaced, or the code cannot be loaded: no arguments excuse that. An error that
        the code throws is an answer to its arguments."""
        return self.error is not None and (self.work.restarted or self.error.type in _FAULTS)


# All others are errors that code throws, or meets, for the arguments that it was given.
_FAULTS = frozenset({ErrorType.SYNTAX, ErrorType.TIMEOUT, ErrorType.MEMORY, ErrorType.CRASH})


async def call_function(resident: Resident, arguments: Mapping[str, Any], *, at: float | None = None) -> FunctionAnswer:
    """Call the function with arguments that fit its schema; `at` is the time that a deterministic program is given.
    Never raises for anything that its code does.

    Raises SandboxUnavailable when no process is available, or while the kill switch is on.
    """
    call = {"args": arguments} if at is None else {"args": arguments, "at": at}
    batch = await resident.handle([call], _STATELESS)
    [answer] = batch.answers
    match answer.emitted:
        case _ if not answer.ok:
            error = answer.error or ExecutionError(ErrorType.CRASH, "It gave no answer")
            return FunctionAnswer(None, error, batch.work)
        case ((type_, result),) if type_ == RESULT:
            return FunctionAnswer(result, None, batch.work)
        case _:
            # A process that forges its answers.
            error = ExecutionError(ErrorType.CRASH, "It answered with something that is no result")
            return FunctionAnswer(None, error, batch.work)


def result_problem(neuron: Neuron, result: Any) -> str | None:
    """Why the result is not what the function promised to return; None if it is, or if nothing was promised."""
    if neuron.returns is None:
        return None
    try:
        return schema_problem(to_json(neuron.returns), result, "result")
    except TooMuchToCheck as error:
        return str(error)
    except BadSchema as error:
        return f"its schema of the result cannot be used: {error}"
