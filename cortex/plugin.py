"""Puts the cortex together, and is all that a program needs to hold: energy, sandbox, tools, audit, memory."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import anyio

from neurons import KillSwitch
from sandbox import DenoRuntime, Flusher, Guard, HostRule

from .audit import Audit
from .energy import EnergyReserve
from .execute_tool import ExecuteTool
from .home import Home
from .journal import Journal
from .memory import Memory
from .owner import AbsentOwner
from .settings import Settings
from .tools import CORE_TOOLS, CoreTool, Toolbox, core_definitions, openai_tools, policies_for_nobody, policy_of
from .turn import Parts, Turn

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from sandbox import CodeRuntime

    from .events import Watch
    from .owner import Owner
    from .tools.openai import Api

log = logging.getLogger("motor_cortex")


class MotorCortex:
    """The hands of an agent. Use it as an async context manager; any number of turns may run at the same time.

    Without an owner, whatever needs consent is refused. A runtime that is given is used as it is and stays open; `now`
    is the clock by which energy comes back.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        toolbox: Toolbox | None = None,
        owner: Owner | None = None,
        runtime: CodeRuntime | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings if settings is not None else Settings()
        self.toolbox = toolbox if toolbox is not None else Toolbox()
        home = Home(self.settings.home)
        self._flusher = Flusher(self.settings.audit.flush_ms)
        self.audit = Audit(home.audit, self.settings.audit, now=now, flusher=self._flusher)
        self._journal = Journal(self.audit)
        self.switch = KillSwitch(home.state, record=self.audit.record, now=now)
        self.energy = EnergyReserve(
            home.state, self.settings.energy, now=now, flusher=self._flusher, on_change=self._journal.energy
        )
        self.memory = Memory(home.state, now=now, flusher=self._flusher)
        self._owner = owner if owner is not None else AbsentOwner()
        self._runtime = runtime
        self._stack = AsyncExitStack()
        self._parts: Parts | None = None

    async def __aenter__(self) -> Self:
        """Raises SandboxUnavailable, with what to do, when this machine cannot run Deno."""
        if self._parts is not None:
            raise RuntimeError("the cortex is open already: open another one, or share this one between tasks")
        for name in policies_for_nobody((*CORE_TOOLS, *self.toolbox.names()), self.settings.tools):
            log.warning('The settings have a policy for "%s", and no tool is called that', name)
        stack = AsyncExitStack()
        try:
            self._parts = await self._open(stack)
        except BaseException:
            # Closed by hand: a task group that sees the exception would wrap it.
            await stack.aclose()
            raise
        self._stack = stack
        return self

    async def _open(self, stack: AsyncExitStack) -> Parts:
        stack.callback(self._close_files)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        tasks.start_soon(self._flusher.run)
        runtime = self._runtime
        if runtime is None:
            runtime = await stack.enter_async_context(DenoRuntime(self.settings.sandbox))
        guard = await stack.enter_async_context(Guard()) if self.settings.execute.guard else None
        return Parts(
            self.settings,
            self.toolbox,
            ExecuteTool(runtime, self.energy, self.settings.energy, guard),
            self.energy,
            self._journal,
            self.memory,
            self._owner,
            anyio.Lock(),
            self.switch,
        )

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._parts = None
        await self._stack.aclose()  # without the exception, as above

    def turn(self, watch: Watch | None = None) -> Turn:
        """One turn of the agent: `async with cortex.turn() as turn`. `watch` is told what happens in it."""
        if self._parts is None:
            raise RuntimeError("the cortex is not open: use it as `async with MotorCortex() as cortex`")
        return Turn(self._parts, watch)

    def openai_tools(self, api: Api = "chat") -> list[dict[str, Any]]:
        """The tools that the model may call, for `tools=` of chat.completions, or of the Responses API."""
        hosts = list(dict.fromkeys(map(_address, self.settings.sandbox.network.allow)))
        tools = self.settings.tools
        core = core_definitions(self.settings.execute, hosts, self.toolbox.declarations(tools))
        offered = (tool for tool in core if policy_of(CoreTool(tool.name), tools) != "deny")
        return openai_tools((*offered, *self.toolbox.definitions(tools)), api)

    def _close_files(self) -> None:
        self._journal.close()
        self._flusher.flush()
        self.energy.close()
        self.audit.close()
        self.memory.close()


def _address(rule: HostRule) -> str:
    """A host as code would write it: with what the allowed address has beside the usual https."""
    port = f":{rule.ports[0]}" if rule.ports and not {80, 443} & {*rule.ports} else ""
    return f"{'http://' if rule.http else ''}{rule.host}{port}"
