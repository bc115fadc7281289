"""Checks agent code before it runs and reports obvious misuse, parsing it in a process that can be killed.

A smoke detector: nothing depends on it for safety. See `patterns.py` for what it looks for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .code_reader import CodeReader
from .patterns import PATTERNS, Finding, may_match

if TYPE_CHECKING:
    from types import TracebackType

UNPARSABLE = Finding(
    "code that cannot be parsed in time", why="could not be looked at; write it more plainly", line=1, column=1
)

# All ten findings take less than a kilobyte.
MAX_ANSWER_BYTES = 4096

_WHY = {pattern.name: pattern.why for pattern in PATTERNS}


class Guard:
    """The static check. Starts its process for the first code that needs one."""

    def __init__(self) -> None:
        patterns = Path(__file__).with_name("patterns.py")
        self._reader = CodeReader(patterns, "places", name="guard", max_answer_bytes=MAX_ANSWER_BYTES)

    async def __aenter__(self) -> Guard:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def inspect(self, code: str) -> tuple[Finding, ...]:
        """The findings in the code, in the order of their places; none for most code.

        Raises SandboxUnavailable when the process cannot be started: that says nothing about the code.
        """
        if not may_match(code):
            return ()
        answer = await self._reader.read(code)
        try:
            return (UNPARSABLE,) if answer is None else _findings(answer)
        except ValueError:
            return (UNPARSABLE,)

    async def aclose(self) -> None:
        """End the process; an inspection that is under way ends with it. Returns once it is reaped."""
        await self._reader.aclose()


def _findings(answer: bytes) -> tuple[Finding, ...]:
    """Turn the process's answer into findings. Raises ValueError when it is malformed: the process has parsed code
    that may be hostile."""
    try:
        found: Any = json.loads(answer)
        return tuple(Finding(name, _WHY[name], int(line), int(column)) for name, line, column in found)
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError("an answer that is not one") from error
