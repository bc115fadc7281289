"""Observe one execution: record what its tools and servers answered. That tells whether the run was clean, and gives a
quarantine what it needs to repeat it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic_core import from_json

from neurons import ToolExchange
from sandbox import ReadyJson, Recorder, Tier, ToolError

if TYPE_CHECKING:
    from cortex.contracts import RunCodeIntent
    from sandbox import Exchange, ExecutionOutcome, HostTools, NetworkPolicy, ToolDeclaration

# An HTTP response of this status or above counts as failed.
FAILED_STATUS = 400
MAX_TOOL_CALLS = 250
# In the isolated tier fetch fails inside the worker, and the host does not see it.
_FETCH = re.compile(r"\bfetch\s*\(")


class ObservedRun:
    """Keeps at most `max_bytes` of the answers. With 0 it keeps only the names of tools and hosts, and failures."""

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
        size = len(result.data) if isinstance(result, ReadyJson) else len(error or "")
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
