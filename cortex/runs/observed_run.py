"""Watches one run from the host's side: what its tools, its store and the network answered, when, and how long it took.

In memory only, and nothing is redacted yet. Habits and the details of the run are made of it afterwards.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic_core import from_json

from cortex.contracts import AskedBy, owner_waits, weight_of_value
from neurons import ToolExchange
from sandbox import ReadyJson, Recorder, Tier, ToolError, time_is_up

if TYPE_CHECKING:
    from cortex.contracts import RunCodeIntent
    from cortex.redaction import Redactor
    from sandbox import Exchange, ExecutionOutcome, FetchNote, HostTools, NetworkPolicy, Store, ToolDeclaration

MAX_KEPT_CALLS = 250
# Of calls beyond these only the number is kept.
MAX_SEEN = 1_000
MAX_MESSAGE = 1_000
# An HTTP response of this status or above counts as failed.
FAILED_STATUS = 400
# In the isolated tier fetch fails inside the worker, and the host does not see it.
_FETCH = re.compile(r"\bfetch\s*\(")


@dataclass(slots=True, eq=False)
class SeenCall:
    """A call of a tool or of the store. What it was given and answered is kept only while there is room."""

    kind: str
    name: str
    began: float
    """By `time.perf_counter`."""
    ended: float | None = None
    ok: bool = False
    code: str | None = None
    retryable: bool = False
    asked_ms: float | None = None
    arguments: Any = None
    result: Any = None
    error: str | None = None
    bytes_out: int | None = None
    is_kept: bool = False
    """`arguments` and `result` are what they were."""


@dataclass(slots=True, eq=False)
class ObservedRun:
    """One execution. Keeps at most `max_bytes` of what its tools, its store and servers were given and answered; with 0
    only names, times and failures."""

    intent: RunCodeIntent
    code_hash: str
    max_bytes: int
    redactor: Redactor | None = None
    """That of the turn."""
    conversation: str | None = None
    asked_by: AskedBy = field(default_factory=AskedBy)
    seed: int | None = None
    """What `Math.random` is drawn from."""
    has_workspace: bool = False
    at: float = field(default_factory=time.time)
    began: float = field(default_factory=time.perf_counter)
    handed_over: float | None = None
    """When the sandbox was given the code; by `time.perf_counter`, like `began`."""
    seen: list[SeenCall] = field(default_factory=list)
    unseen: int = 0
    """Number of calls beyond MAX_SEEN."""
    unkept: int = 0
    """Number of calls whose answers had no room."""
    has_failed: bool = False
    level_before: float = 0.0
    discovery_ms: float = 0.0
    _room: int = 0
    _tools: HostTools | None = None
    _recorder: _Requests | None = None

    def __post_init__(self) -> None:
        self._room = self.max_bytes

    def tools(self, lent: HostTools) -> HostTools:
        """The tools for the run, watched. Call it when the sandbox is given the code."""
        self._tools = lent
        self.handed_over = time.perf_counter()
        return _SeenTools(lent, self)

    def network(self, policy: NetworkPolicy) -> NetworkPolicy | None:
        """The policy with a recorder added, for a run of the network tier; None for other tiers."""
        if self.intent.payload.tier is not Tier.NETWORK:
            return None
        self._recorder = _Requests(policy.recorder, self.max_bytes)
        return policy.model_copy(update={"recorder": self._recorder})

    def store(self, store: Store) -> Store:
        return _SeenStore(store, self)

    def begin(self, kind: str, name: str, arguments: Any) -> SeenCall:
        call = SeenCall(kind, name, time.perf_counter(), arguments=arguments)
        if len(self.seen) < MAX_SEEN:
            self.seen.append(call)
        else:
            self.unseen += 1
        return call

    def end(self, call: SeenCall, result: Any = None, error: BaseException | None = None) -> None:
        call.ended = time.perf_counter()
        call.ok = error is None
        if error is not None:
            self.has_failed |= call.kind == "tool"
            if isinstance(error, ToolError):
                call.code = str(error.code)[:100]
            else:
                call.code = "internal" if isinstance(error, Exception) else "timeout" if time_is_up() else "cancelled"
                call.arguments = None
                # The code is told the class alone.
                call.error = type(error).__name__ if isinstance(error, Exception) else None
                return
            call.error, call.retryable = str(error)[:MAX_MESSAGE], bool(error.retryable)
        elif isinstance(result, ReadyJson):
            call.bytes_out = len(result.data)
        # Measured only as far as there is room: to weigh megabytes takes milliseconds of the event loop.
        size = call.bytes_out if call.bytes_out is not None else weight_of_value((result, call.error), self._room)
        size += weight_of_value(call.arguments, self._room)
        if size >= self._room or len(self.seen) > MAX_KEPT_CALLS:
            call.arguments = None
            self.unkept += 1
            return
        self._room -= size
        call.result, call.is_kept = result, True

    def is_clean(self, outcome: ExecutionOutcome) -> bool:
        """Whether the run succeeded and no tool call and no request failed in it, not even one that the code caught: a
        script that met a failure must not be learned."""
        payload = self.intent.payload
        if not outcome.ok or outcome.metrics.failed_calls or self.has_failed:
            return False
        if payload.tier is not Tier.NETWORK and _FETCH.search(payload.code):
            return False
        return all(exchange.status < FAILED_STATUS for exchange in self.exchanges)

    @property
    def exchanges(self) -> Sequence[Exchange]:
        return () if self._recorder is None else self._recorder.exchanges

    @property
    def exchanges_dropped(self) -> int:
        recorder = self._recorder
        return 0 if recorder is None else recorder.dropped

    @property
    def fetched(self) -> Sequence[FetchNote]:
        return () if self._recorder is None else self._recorder.notes

    @property
    def fetches_unseen(self) -> int:
        return 0 if self._recorder is None else self._recorder.unseen

    @property
    def lent(self) -> Sequence[ToolDeclaration]:
        """The tools that were lent."""
        return () if self._tools is None else self._tools.declarations()

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
        return tuple(dict.fromkeys(call.name for call in self.seen if call.kind == "tool"))

    def tool_calls(self) -> list[ToolExchange]:
        """The recorded calls of tools. Their JSON is parsed here, and not while the code waits for its answer."""
        return [
            ToolExchange(call.name, call.arguments, plain(call.result), call.error)
            for call in self.seen
            if call.kind == "tool" and call.is_kept
        ]


def plain(result: Any) -> Any:
    """The result of a tool as a JSON value."""
    return from_json(result.data) if isinstance(result, ReadyJson) else result


class _SeenTools:
    """The tools of one run, a `sandbox.HostTools` that tells of each call."""

    def __init__(self, lent: HostTools, run: ObservedRun) -> None:
        self._lent = lent
        self._run = run

    def declarations(self) -> Sequence[ToolDeclaration]:
        return self._lent.declarations()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        call = self._run.begin("tool", name, arguments)
        waits: list[float] = []
        token = owner_waits.set(waits)
        try:
            result = await self._lent.call(name, arguments)
        except BaseException as error:
            self._run.end(call, error=error)
            raise
        finally:
            owner_waits.reset(token)
            call.asked_ms = sum(waits) if waits else None
        self._run.end(call, result)
        return result


class _SeenStore:
    """The store of one run, a `sandbox.Store` that tells of each call."""

    def __init__(self, store: Store, run: ObservedRun) -> None:
        self._store = store
        self._run = run

    async def get(self, key: str) -> bytes | None:
        call = self._run.begin("store", "get", [key])
        try:
            value = await self._store.get(key)
        except BaseException as error:
            self._run.end(call, error=error)
            raise
        self._run.end(call, None if value is None else ReadyJson(value))
        return value

    async def set(self, key: str, value: bytes) -> None:
        call = self._run.begin("store", "set", [key])
        try:
            await self._store.set(key, value)
        except BaseException as error:
            self._run.end(call, error=error)
            raise
        self._run.end(call)

    async def delete(self, key: str) -> bool:
        call = self._run.begin("store", "delete", [key])
        try:
            was_there = await self._store.delete(key)
        except BaseException as error:
            self._run.end(call, error=error)
            raise
        self._run.end(call, was_there)
        return was_there

    async def keys(self) -> Sequence[str]:
        call = self._run.begin("store", "keys", [])
        try:
            keys = list(await self._store.keys())
        except BaseException as error:
            self._run.end(call, error=error)
            raise
        self._run.end(call, keys)
        return keys


class _Requests(Recorder):
    """A recorder that also keeps notes of all requests, and passes everything to the policy's own recorder."""

    def __init__(self, other: Recorder | None, max_bytes: int) -> None:
        super().__init__(max_total_bytes=max_bytes)
        self._other = other
        self.notes: list[FetchNote] = []
        self.unseen = 0

    def add(self, exchange: Exchange) -> None:
        super().add(exchange)
        if self._other is not None:
            self._other.add(exchange)

    def note(self, note: FetchNote) -> None:
        if len(self.notes) < MAX_SEEN:
            self.notes.append(note)
        else:
            self.unseen += 1
        if self._other is not None:
            self._other.note(note)
