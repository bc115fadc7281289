"""Watches the agent's runs for habits, in the background after each answer: the turn only appends the run to a
queue."""

from __future__ import annotations

import logging
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import anyio.to_thread
from pydantic_core import from_json

from cortex.contracts import weight_of_value
from neurons import Recording, ToolExchange
from sandbox import ReadyJson, Recorder, Tier, ToolError

if TYPE_CHECKING:
    from cortex.contracts import RunCodeIntent
    from neurons import HabitSettings
    from sandbox import Exchange, ExecutionOutcome, HostTools, NetworkPolicy, ToolDeclaration

log = logging.getLogger("motor_cortex")

MAX_QUEUED = 64
LOOKING_S = 5
QUIET_S = 0.2
"""Wait until no run has ended for this long before looking at runs: that takes CPU and disk, which the next run may
need."""
CLOSING_S = 2
# An HTTP response of this status or above counts as failed.
FAILED_STATUS = 400
MAX_TOOL_CALLS = 250
# In the isolated tier fetch fails inside the worker, and the host does not see it.
_FETCH = re.compile(r"\bfetch\s*\(")


class ObservedRun:
    """One execution: records what its tools and servers answered. That tells whether the run was clean, and gives a
    quarantine what it needs to repeat it. Keeps at most `max_bytes` of the answers. With 0 it keeps only the names of
    tools and hosts, and failures."""

    def __init__(self, intent: RunCodeIntent, code_hash: str, max_bytes: int) -> None:
        self.intent = intent
        self.code_hash = code_hash
        self._max_bytes = max_bytes
        self._tools: _SeenTools | None = None
        self._recorder: Recorder | None = None

    def tools(self, lent: HostTools) -> HostTools:
        self._tools = _SeenTools(lent, self._max_bytes)
        return self._tools

    def network(self, policy: NetworkPolicy) -> NetworkPolicy | None:
        """The policy with a recorder added, for a run of the network tier; None for other tiers."""
        if self.intent.payload.tier is not Tier.NETWORK:
            return None
        self._recorder = _Also(policy.recorder, self._max_bytes)
        return policy.model_copy(update={"recorder": self._recorder})

    def is_clean(self, outcome: ExecutionOutcome) -> bool:
        """Whether the run succeeded and no tool call and no request failed in it, not even one that the code caught: a
        script that met a failure must not be learned."""
        payload = self.intent.payload
        if not outcome.ok or outcome.metrics.failed_calls or (self._tools is not None and self._tools.has_failed):
            return False
        if payload.tier is not Tier.NETWORK and _FETCH.search(payload.code):
            return False
        return all(exchange.status < FAILED_STATUS for exchange in self.exchanges)

    @property
    def exchanges(self) -> Sequence[Exchange]:
        return () if self._recorder is None else self._recorder.exchanges

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that answered."""
        return tuple(dict.fromkeys(urlsplit(exchange.url).hostname or "" for exchange in self.exchanges))

    @property
    def requests(self) -> tuple[tuple[str, str], ...]:
        """The method and address of each request that was answered."""
        return tuple(dict.fromkeys((exchange.method, exchange.url) for exchange in self.exchanges))

    @property
    def tool_names(self) -> tuple[str, ...]:
        return () if self._tools is None else tuple(self._tools.names)

    def tool_calls(self) -> list[ToolExchange]:
        """The recorded calls. Their JSON is parsed here, and not while the code waits for its answer."""
        return [] if self._tools is None else self._tools.exchanges()


class _SeenTools:
    """The tools of one run, a `sandbox.HostTools` that records the calls."""

    def __init__(self, lent: HostTools, max_bytes: int) -> None:
        self._lent = lent
        self._room = max_bytes
        self._calls: list[tuple[str, dict[str, Any], Any, str | None]] = []
        self.names: dict[str, None] = {}
        self.has_failed = False

    def declarations(self) -> Sequence[ToolDeclaration]:
        return self._lent.declarations()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        self.names[name] = None
        try:
            result = await self._lent.call(name, arguments)
        except BaseException as error:
            self.has_failed = True
            if isinstance(error, ToolError):
                self._keep(name, arguments, None, str(error)[:1_000])
            raise
        self._keep(name, arguments, result, None)
        return result

    def _keep(self, name: str, arguments: dict[str, Any], result: Any, error: str | None) -> None:
        size = len(result.data) if isinstance(result, ReadyJson) else weight_of_value((result, error), self._room)
        size += weight_of_value(arguments, self._room)
        if size >= self._room or len(self._calls) >= MAX_TOOL_CALLS:
            return
        self._room -= size
        self._calls.append((name, arguments, result, error))

    def exchanges(self) -> list[ToolExchange]:
        return [
            ToolExchange(name, arguments, from_json(result.data) if isinstance(result, ReadyJson) else result, error)
            for name, arguments, result, error in self._calls
        ]


class _Also(Recorder):
    """A recorder that also passes each exchange to the policy's own recorder."""

    def __init__(self, other: Recorder | None, max_bytes: int) -> None:
        super().__init__(max_total_bytes=max_bytes)
        self._other = other

    def add(self, exchange: Exchange) -> None:
        super().add(exchange)
        if self._other is not None:
            self._other.add(exchange)


class Noticing(Protocol):
    """The part of the habits that is used here."""

    async def noticed(
        self,
        code: str,
        *,
        code_hash: str,
        purpose: str,
        tier: str,
        tools: tuple[str, ...],
        hosts: tuple[str, ...],
        requests: tuple[tuple[str, str], ...],
        clean: bool,
    ) -> Any | None:
        """Count the run; return the habit if this run has made it one, only once."""
        ...


class Keeping(Protocol):
    def keep(self, recording: Recording) -> object: ...


class Observer(Protocol):
    """What a turn needs to have its runs observed. No method waits or raises."""

    def begin(self, intent: RunCodeIntent, code_hash: str) -> ObservedRun: ...

    def ended(self, run: ObservedRun, outcome: ExecutionOutcome) -> None: ...


class HabitWatch:
    """An `Observer`. `run` does the work, in a task of its own, while the cortex is open."""

    def __init__(
        self,
        habits: Noticing,
        recordings: Keeping | None,
        settings: HabitSettings,
        *,
        now: Callable[[], float] = time.time,
        max_queued: int = MAX_QUEUED,
        on_habit: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_habit` is called when a script has become a habit, and returns at once."""
        self._habits = habits
        self._recordings = recordings if settings.record else None
        self._max_bytes = settings.max_recording_bytes if self._recordings is not None else 0
        self._now = now
        self._max_queued = max_queued
        self._waiting: deque[tuple[ObservedRun, ExecutionOutcome, float]] = deque()
        self._on_habit = on_habit
        self._more = anyio.Event()
        self._crowd = anyio.Event()
        self._last_at = 0.0
        self.dropped = 0
        """Number of runs that were not looked at, because too many came at once."""

    def begin(self, intent: RunCodeIntent, code_hash: str) -> ObservedRun:
        return ObservedRun(intent, code_hash, self._max_bytes)

    def ended(self, run: ObservedRun, outcome: ExecutionOutcome) -> None:
        if not outcome.ok:
            return
        if len(self._waiting) >= self._max_queued:
            self.dropped += 1
            return
        self._waiting.append((run, outcome, self._now()))
        self._last_at = time.monotonic()
        self._more.set()
        if len(self._waiting) * 2 >= self._max_queued:
            self._crowd.set()

    async def run(self) -> None:
        """Look at runs until cancelled. Queued runs are still looked at then, with a timeout: a user who sends one
        message and leaves has run something, too."""
        try:
            while True:
                await self._more.wait()
                await self._quiet()
                self._more, self._crowd = anyio.Event(), anyio.Event()
                await self._look_at_all()
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
                await self._look_at_all()

    async def _quiet(self) -> None:
        """Wait until no run has ended for QUIET_S, or the queue is too long."""
        while (left_s := self._last_at + QUIET_S - time.monotonic()) > 0 and not self._crowd.is_set():
            with anyio.move_on_after(left_s):
                await self._crowd.wait()

    async def _look_at_all(self) -> None:
        while self._waiting:
            run, outcome, at = self._waiting.popleft()
            try:
                # Shielded: a run that is cancelled half way would be counted half, or twice.
                with anyio.CancelScope(shield=True, deadline=anyio.current_time() + LOOKING_S):
                    await self._look_at(run, outcome, at)
            except Exception:
                log.exception("Cannot look at what the agent ran")
            await anyio.lowlevel.checkpoint_if_cancelled()

    async def _look_at(self, run: ObservedRun, outcome: ExecutionOutcome, at: float) -> None:
        payload, clean = run.intent.payload, run.is_clean(outcome)
        if clean and self._recordings is not None:
            # In a thread: it searches up to a quarter of a megabyte for secrets.
            await anyio.to_thread.run_sync(self._keep, run, at)
        habit = await self._habits.noticed(
            payload.code,
            code_hash=run.code_hash,
            purpose=payload.purpose,
            tier=payload.tier,
            tools=run.tool_names,
            hosts=run.hosts,
            requests=run.requests,
            clean=clean,
        )
        if habit is not None:
            self._on_habit()

    def _keep(self, run: ObservedRun, at: float) -> None:
        assert self._recordings is not None
        given, code = run.intent.payload.context, run.intent.payload.code
        self._recordings.keep(
            Recording(run.code_hash, at, given, exchanges=run.exchanges, tool_calls=run.tool_calls(), code=code)
        )
