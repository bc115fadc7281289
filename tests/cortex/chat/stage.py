"""A chat in this process: the real cortex, loop and threads, a scripted model, and a runtime that does as it is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TextIO

import anyio
from anyio.from_thread import start_blocking_portal

from cortex import MotorCortex, ScriptedModel, Toolbox, load_settings
from cortex.chat import Agent, ConsoleOwner, Inbox, Interrupts, Output, Talk, Wakes
from cortex.loop import Conversations, LanguageModel
from cortex.settings.settings import Settings
from sandbox import ExecutionOutcome, ExecutionRequest, HostTools

Run = Callable[[ExecutionRequest, HostTools | None], Awaitable[ExecutionOutcome]]


class ToldRuntime:
    """`ended` has what came of each execution, cancellations too."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.ended: list[str] = []

    async def execute(self, request: ExecutionRequest, tools: HostTools | None = None, **_: Any) -> ExecutionOutcome:
        try:
            outcome = await self._run(request, tools)
        except anyio.get_cancelled_exc_class():
            self.ended.append("cancelled")
            raise
        self.ended.append("ok" if outcome.ok else "failed")
        return outcome


async def answers_42(request: ExecutionRequest, tools: HostTools | None) -> ExecutionOutcome:
    return ExecutionOutcome(ok=True, result=42)


def settings_in(home: Path, **changes: Any) -> Settings:
    return load_settings(environment={}, home=home, execute={"guard": False}, **changes)


@contextmanager
def chat(
    home: Path,
    steps: list[dict[str, Any]],
    output: Output,
    *,
    keyboard: TextIO,
    screen: TextIO,
    run: Run = answers_42,
    toolbox: Toolbox | None = None,
    is_there: bool = True,
    reading_s: float = 0,
    model: LanguageModel | None = None,
    silence_s: float = 600,
    **changes: Any,
) -> Iterator[Talk]:
    settings = settings_in(home, **changes)
    inbox = Inbox()
    owner = ConsoleOwner(inbox.ask, output.held, is_there=is_there)
    runtime = ToldRuntime(run)
    model = model or ScriptedModel(steps)
    cortex = MotorCortex(settings, toolbox=toolbox, owner=owner, runtime=runtime)
    with (
        Conversations(home / "conversations").new() as conversation,
        Interrupts(inbox.interrupt) as interrupts,
        start_blocking_portal() as portal,
    ):
        wakes = Wakes(interrupts.nudge)
        agent = Agent(cortex, nullcontext(model), conversation, output, silence_s, wakes)
        with portal.wrap_async_context_manager(agent):
            talk = Talk(portal, agent, inbox, interrupts, keyboard=keyboard, screen=screen, reading_s=reading_s)
            talk.runtime, talk.model, talk.portal = runtime, model, portal
            yield talk
