"""A cortex that runs nothing: it answers as a test wants, and keeps what it was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from cortex import Answer, Settings
from cortex.contracts.events import ToolCalled
from cortex.settings.sections import ExecuteSettings
from cortex.tools import core_definitions, openai_tools

# Only what hangs takes so long, on a slow machine too.
BOUND_S = 120
STRUCTURED = {
    "result": {"total": 42},
    "logs": ["one", "two"],
    "metrics": {"executionTimeMs": 1.5, "startupTimeMs": 0.1, "memoryUsedMB": 40.0},
}


@dataclass(frozen=True)
class CodeSaid:
    text: str = '{"total":42}'
    ok: bool = True
    structured: Mapping[str, Any] = field(default_factory=lambda: STRUCTURED)


class ScriptedCortex:
    """`work` is what a call does before it is answered; `waiting` those that do it now."""

    def __init__(
        self,
        answer: Answer | None = None,
        code: CodeSaid | None = None,
        work: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._answer = answer or Answer("2", "Energy 0.95")
        self._code = code or CodeSaid()
        self._work = work
        self.asked: list[tuple[str, Any]] = []
        self.conversations: list[str | None] = []
        self.waiting = 0
        self.most_waiting = 0
        self.cancelled = 0
        self.began = anyio.Event()

    def openai_tools(self) -> list[dict[str, Any]]:
        return openai_tools(core_definitions(ExecuteSettings(), learns=True, searches=True))

    @asynccontextmanager
    async def turn(self, watch=None, *, conversation=None) -> AsyncIterator[ScriptedTurn]:
        self.conversations.append(conversation)
        yield ScriptedTurn(self, watch)

    async def take(self, name: str, arguments: Any, watch) -> None:
        self.asked.append((name, arguments))
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        self.began.set()
        watch(ToolCalled("github.list_commits", "code", True, 1.0))
        try:
            if self._work is not None:
                await self._work()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        finally:
            self.waiting -= 1


class ScriptedTurn:
    def __init__(self, cortex: ScriptedCortex, watch) -> None:
        self._cortex = cortex
        self._watch = watch

    async def answer(self, name: str, arguments: Any = None) -> Answer:
        await self._cortex.take(name, arguments, self._watch)
        return self._cortex._answer

    async def execute_code(self, arguments: Any = None) -> CodeSaid:
        await self._cortex.take("execute_code", arguments, self._watch)
        return self._cortex._code


def settings(tmp_path, **sections: Any) -> Settings:
    return Settings(home=tmp_path, **sections)
