"""One MCP server: started when first needed, kept running, and restarted after a crash with a backoff."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import anyio
import anyio.to_thread

from sandbox import ToolError

from .errors import McpUnavailable, short
from .listing import Listing
from .unwrap import unwrapped

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from cortex.settings import McpServerSettings, McpSettings
    from sandbox import ReadyJson, Running

    from .link import Link, Mode
    from .tool import McpTool

log = logging.getLogger("motor_cortex.mcp")

State = Literal["idle", "starting", "ready", "failed"]

# A server that keeps announcing changes of its tools is asked for them at most once in this time.
LIST_AGAIN_S = 1.0
# Time to kill a program that does not start.
ENDING_S = 8.0


WINDOW_S = 60.0


@dataclass(slots=True)
class Restarts:
    """Backoff: when a failed server may be started again. Pure: the caller passes the time."""

    first_s: float
    most_s: float
    failures: int = 0
    """Failures since the server last stayed up longer than `most_s`."""
    not_before: float = float("-inf")

    def failed(self, now: float, up_s: float = 0.0) -> None:
        """Note a failure after `up_s` seconds of uptime. If that was longer than `most_s`, the count starts again."""
        self.failures = 1 if up_s > self.most_s else self.failures + 1
        # The exponent is bounded: a server may fail for months.
        self.not_before = now + min(self.most_s, self.first_s * 2.0 ** min(self.failures - 1, 40))

    def wait_s(self, now: float) -> float:
        return max(0.0, self.not_before - now)


class Rate:
    """Rate limit: at most N calls a minute. Pure: the caller passes the time."""

    def __init__(self, max_per_minute: int) -> None:
        self.most = max_per_minute
        self._times: deque[float] = deque(maxlen=max_per_minute)

    def take(self, now: float) -> float | None:
        """Count one call and return None, or return the seconds to wait before the call."""
        times = self._times
        if len(times) == times.maxlen and now - times[0] < WINDOW_S:
            return WINDOW_S - (now - times[0])
        times.append(now)
        return None


@dataclass(frozen=True, slots=True)
class ServerStatus:
    name: str
    state: State
    tools: int
    protocol: str | None
    error: str | None
    """The reason with the server's own words. For people only: they may be from any time, and mislead a model."""
    reason: str | None
    """The reason without the server's own words."""
    restarts: int
    """How often it was restarted."""
    next_try_in_s: float
    """Seconds before which no caller can start it."""


class _Ended(NamedTuple):
    reason: str
    said: str = ""
    up_s: float | None = None
    """None when it was never up."""
    may_be_legacy: bool = False
    is_of_settings: bool = False


class Server:
    def __init__(
        self,
        name: str,
        settings: McpServerSettings,
        general: McpSettings,
        environment: Mapping[str, str],
        on_change: Callable[[], None],
        now: Callable[[], float],
        running: Running,
    ) -> None:
        self.name = name
        self._running = running
        self.tools: tuple[McpTool, ...] = ()
        """Kept after a crash, because the server will be restarted; emptied when a start fails."""
        self._settings = settings
        self._general = general
        self._environment = environment
        self._on_change = on_change
        self._now = now
        self._rate = Rate(settings.max_calls_per_minute or general.max_calls_per_minute)
        self._restarts = Restarts(general.restart_s, general.max_restart_s)
        self._tasks: TaskGroup | None = None
        self._link: Link | None = None
        self._settled: anyio.Event | None = None
        """Set when the running start has succeeded or failed; None while no start is running."""
        self._start: anyio.CancelScope | None = None
        self._mode: Mode = "auto"
        self._error: str | None = None
        self._said = ""
        self._is_of_settings = False
        self._protocol: str | None = None
        self._starts = 0

    @property
    def state(self) -> State:
        if self._settled is not None:
            return "starting"
        if self._link is not None and not self._link.wire.has_ended:
            return "ready"
        return "idle" if self._error is None and self._link is None else "failed"

    @property
    def has_failed(self) -> bool:
        """Whether the last connection failed or ended. The next attempt may succeed."""
        return self._error is not None

    def start(self) -> None:
        """Start the server in the background, so that a later caller finds it ready. Returns at once."""
        if self._settled is None:
            with suppress(McpUnavailable):
                self._begin()

    def status(self) -> ServerStatus:
        return ServerStatus(
            name=self.name,
            state=self.state,
            tools=len(self.tools),
            protocol=self._protocol,
            error="; ".join(filter(None, (self._error, self._said))) or None,
            reason=self._error,
            restarts=max(0, self._starts - 1),
            next_try_in_s=self._restarts.wait_s(self._now()),
        )

    def open(self, tasks: TaskGroup) -> None:
        self._tasks = tasks

    def close(self) -> None:
        """Ask the connection to end in good order, and refuse new starts. Returns at once."""
        self._tasks = None
        if self._link is not None:
            self._link.wire.end()
        elif self._start is not None:
            self._start.cancel()

    async def ready(self) -> Link:
        """The connection, started if necessary. The start goes on when the caller is cancelled: other callers may wait
        for it. Raises McpUnavailable."""
        if self._settled is None:
            if self._link is not None and not self._link.wire.has_ended:
                return self._link
            self._begin()
        settled = self._settled
        with anyio.move_on_after(2 * self._general.start_timeout_ms / 1000 + ENDING_S):
            if settled is not None:
                await settled.wait()
        if self._link is None:
            reason = f'MCP server "{self.name}" cannot be used: {self._error or "it does not start"}'
            raise McpUnavailable(reason, retryable=not self._is_of_settings)
        return self._link

    async def call(self, tool: McpTool, arguments: Mapping[str, Any], timeout_ms: int | None) -> ReadyJson:
        """Call the tool and return the unwrapped result within `timeout_ms`, a start included. Raises ToolError. Never
        retries: what the server did before it failed is unknown."""
        self._take_turn()
        with anyio.CancelScope(deadline=_deadline(timeout_ms)):
            link = await self.ready()
            return await self._made(link, tool, arguments)
        raise _no_answer(tool, timeout_ms)

    async def _made(self, link: Link, tool: McpTool, arguments: Mapping[str, Any]) -> ReadyJson:
        from .link import answered, check_result  # noqa: PLC0415 - the SDK takes a second, and is there by now

        with anyio.CancelScope(deadline=_deadline(self._general.call_timeout_ms)):
            answer = await answered(link, tool, arguments)
            result = unwrapped(answer, tool.name, self._general.max_result_bytes)
            check_result(tool, answer)
            return result
        raise _no_answer(tool, self._general.call_timeout_ms)

    def _take_turn(self) -> None:
        wait_s = self._rate.take(self._now())
        if wait_s is not None:
            message = f'MCP server "{self.name}" takes {self._rate.most} calls a minute; the next one in {wait_s:.0f} s'
            raise ToolError(message, code="rate_limited", retryable=True)

    def _begin(self) -> None:
        if self._tasks is None:
            raise McpUnavailable(f'MCP server "{self.name}" is closed')
        wait_s = self._restarts.wait_s(self._now())
        if self._link is not None or wait_s > 0:
            when = f"in {wait_s:.1f} s" if self._link is None else "when it has ended"
            reason = f'MCP server "{self.name}" is not there: {self._error or "its connection has ended"}'
            if self._is_of_settings:
                raise McpUnavailable(reason, retryable=False)
            raise McpUnavailable(f"{reason}. It can be started again {when}")
        self._settled = anyio.Event()
        self._starts += 1
        self._tasks.start_soon(self._live)

    async def _live(self) -> None:
        """Open one connection and hold it to its end, all of it in this task. Never raises."""
        ended = _Ended("it was closed")
        try:
            ended = await self._connection(self._mode)
            is_killed = self._running.refusal() is not None
            if ended.may_be_legacy and self._mode == "auto" and self._tasks is not None and not is_killed:
                # Some servers of the old protocol exit when the first message asks for the new one.
                ended = await self._connection("legacy")
        finally:
            self._link = None
            self._error, self._said, self._is_of_settings = ended.reason, ended.said, ended.is_of_settings
            self._restarts.failed(self._now(), ended.up_s or 0.0)
            log.log(
                logging.DEBUG if self._tasks is None else logging.INFO,
                'MCP server "%s": %s %s',
                self.name,
                ended.reason,
                ended.said,
            )
            if ended.up_s is None:
                self._take(())
            self._settle()

    async def _connection(self, mode: Mode) -> _Ended:
        # In a thread: the SDK takes a second to import, and must not block the event loop.
        await anyio.to_thread.run_sync(_load_sdk)
        from .connecting import Attempt  # noqa: PLC0415

        attempt = Attempt(self._settings, self._general, self._environment, self._running)
        began: float | None = None
        with anyio.CancelScope(deadline=_deadline(self._general.start_timeout_ms)) as clock:
            self._start = clock
            try:
                async with attempt.link(mode) as link:
                    await self._list(link)
                    clock.deadline = math.inf
                    began, self._mode = self._now(), mode
                    self._link, self._protocol, self._error, self._said = link, link.protocol, None, ""
                    self._settle()
                    await self._stay(link)
            except Exception as error:  # noqa: BLE001 - any error in the SDK ends this connection, not the host
                return _Ended(
                    attempt.reason(error),
                    attempt.said(),
                    self._up_s(began),
                    attempt.may_be_legacy(error, began is None),
                    attempt.is_of_settings(error),
                )
        if clock.cancelled_caught:
            return _Ended(f"it did not start within {self._general.start_timeout_ms} ms", attempt.said())
        return _Ended(attempt.told(attempt.end()), attempt.said(), self._up_s(began))

    async def _stay(self, link: Link) -> None:
        """Keep the list of tools up to date until the connection ends."""
        while await link.wire.next_change():
            with anyio.CancelScope(deadline=_deadline(self._general.start_timeout_ms)):
                await self._list_again(link)
            await link.wire.pause(LIST_AGAIN_S)

    async def _list_again(self, link: Link) -> None:
        from .link import Faults  # noqa: PLC0415 - the SDK takes a second, and is there by now

        try:
            await self._list(link)
        except Faults as error:
            said = short(error)
            log.warning('MCP server "%s" no longer lists its tools; the old list stays: %s', self.name, said)

    async def _list(self, link: Link) -> None:
        listing = Listing(self.name, self._general.max_tools)
        await link.tools(listing)
        self._take(await anyio.to_thread.run_sync(listing.tools, self._settings.policy, self))

    def _take(self, tools: tuple[McpTool, ...]) -> None:
        if tools != self.tools:
            self.tools = tools
            self._on_change()

    def _settle(self) -> None:
        if self._settled is not None:
            self._settled.set()
            self._settled = None

    def _up_s(self, began: float | None) -> float | None:
        return None if began is None else self._now() - began


def _load_sdk() -> None:
    from . import connecting  # noqa: F401, PLC0415


def _deadline(timeout_ms: int | None) -> float:
    return math.inf if timeout_ms is None else anyio.current_time() + timeout_ms / 1000


def _no_answer(tool: McpTool, timeout_ms: int | None) -> ToolError:
    message = f'Tool "{tool.name}" gave no answer within {timeout_ms} ms; whether it did anything is not known'
    return ToolError(message, code="timeout", retryable=True)
