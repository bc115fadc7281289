"""One execution as it is looked at while it runs: what its tools and servers answered. So it is known whether it was a
clean one, and what a quarantine would need to do it again."""

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

# A request that was answered with one of these has failed, as `response.ok` says too.
FAILED_STATUS = 400
MAX_TOOL_CALLS = 250
# In the isolated tier fetch fails inside of the process, and the host does not hear of it.
_FETCH = re.compile(r"\bfetch\s*\(")


class ObservedRun:
    """`max_bytes` bounds what is kept of the answers. With 0 only facts are: who was asked, and whether it failed."""

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
        """The same policy with a recorder in it, for a run that has a network."""
        if self.intent.payload.tier is not Tier.NETWORK:
            return None
        self._recorder = _Also(policy.recorder, self._max_bytes)
        return policy.model_copy(update={"recorder": self._recorder})

    def is_clean(self, outcome: ExecutionOutcome) -> bool:
        """It succeeded, and no tool and no request failed in it, also none whose failure the code has caught: a script
        that met a fault is not one to be learned."""
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
        """That answered."""
        return tuple(dict.fromkeys(urlsplit(exchange.url).hostname or "" for exchange in self.exchanges))

    @property
    def tool_names(self) -> tuple[str, ...]:
        return () if self._tools is None else tuple(self._tools.names)

    def tool_calls(self) -> list[ToolExchange]:
        """Read from JSON here and not while the code waits for its answer."""
        return [] if self._tools is None else self._tools.exchanges()


class _SeenTools:
    """The tools of one run, a `sandbox.HostTools`, with an eye on them."""

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
    """Records for us, and also for whoever else the policy records for."""

    def __init__(self, other: Recorder | None, max_bytes: int) -> None:
        super().__init__(max_total_bytes=max_bytes)
        self._other = other

    def add(self, exchange: Exchange) -> None:
        super().add(exchange)
        if self._other is not None:
            self._other.add(exchange)
