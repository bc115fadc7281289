"""A CodeRuntime that answers from a cache: code that always gives the same result runs only once.

Only isolated code is cached, only without tools, and only if neither its text nor a run under a fixed clock and seed
shows that it reads the time or random numbers.
"""

from __future__ import annotations

import hashlib
import inspect
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import anyio.lowlevel
from pydantic_core import to_json

from sandbox import ErrorType, ExecutionRequest, SandboxUnavailable, Tier, may_vary

if TYPE_CHECKING:
    from sandbox import (
        CodeRuntime,
        ExecutionOutcome,
        HostTools,
        NetworkPolicy,
        SandboxSettings,
        Store,
        Workspace,
    )

    from .result_cache import ResultCache

MAX_REMEMBERED = 1_000
# Failures that would be the same under a real clock, or that have used up the time. They are not run again.
_FINAL = frozenset({ErrorType.SYNTAX, ErrorType.TIMEOUT, ErrorType.MEMORY, ErrorType.LIMIT, ErrorType.CRASH})

FORMAT = 1
# Left out of the key: a cached result is right for a shorter timeout too, and every cached run was deterministic and
# has drawn nothing.
_LEFT_OUT = frozenset({"timeout_ms", "deterministic", "seed", "clock_ms"})
# All other fields of the request, also fields that are added later.
_ASKED = tuple(name for name in ExecutionRequest.model_fields if name not in _LEFT_OUT)
# Limits that can change a result: code can catch that memory runs out, and a result that is refused or cut under the
# limits of today must not come from a run under others.
_LIMITS = (
    "max_heap_mb",
    "max_memory_mb",
    "max_code_bytes",
    "max_context_bytes",
    "max_result_bytes",
    "max_output_bytes",
    "max_frame_bytes",
)


class RepeatableRuntime(Protocol):
    """A `CodeRuntime` with a version that changes when code could run differently."""

    @property
    def settings(self) -> SandboxSettings: ...

    @property
    def version(self) -> str:
        """Changes whenever code could run differently. Raises SandboxUnavailable."""
        ...

    def refusal(self) -> str | None:
        """Why no code may run now; None if it may."""
        ...

    async def execute(
        self,
        request: ExecutionRequest,
        tools: HostTools | None = None,
        *,
        network: NetworkPolicy | None = None,
        workspace: Workspace | None = None,
        store: Store | None = None,
    ) -> ExecutionOutcome: ...


def with_cache(runtime: CodeRuntime, cache: ResultCache | None) -> CodeRuntime:
    """The runtime with the cache in front of it, if there is a cache and the runtime says its version."""
    return CachedRuntime(runtime, cache) if cache is not None and _is_repeatable(runtime) else runtime


def _is_repeatable(runtime: CodeRuntime) -> TypeGuard[RepeatableRuntime]:
    """Whether the runtime has what a `RepeatableRuntime` has. Looks without asking: to ask Deno for its version starts
    a process."""
    return all(inspect.getattr_static(runtime, name, None) is not None for name in ("settings", "version", "refusal"))


class CachedRuntime:
    """A `CodeRuntime`. A refusal, as by the kill switch, also holds for cached results."""

    def __init__(
        self, runtime: RepeatableRuntime, cache: ResultCache, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._runtime = runtime
        self._cache = cache
        self._clock = clock
        self._limits = limits_of(runtime.settings)
        self._varying: OrderedDict[bytes, None] = OrderedDict()

    async def execute(
        self,
        request: ExecutionRequest,
        tools: HostTools | None = None,
        *,
        network: NetworkPolicy | None = None,
        workspace: Workspace | None = None,
        store: Store | None = None,
    ) -> ExecutionOutcome:
        began = self._clock()
        key = self._key(request) if workspace is None else None
        if key is None:
            return await self._runtime.execute(request, tools, network=network, workspace=workspace, **_lent(store))
        found = self._found(key, began)
        if found is not None:
            await anyio.lowlevel.checkpoint()
            return found
        # Run without tools and without a store: the code names none, and so its run can be repeated.
        outcome = await self._runtime.execute(request.model_copy(update={"deterministic": True}))
        if outcome.deterministic:
            self._cache.put(key, outcome)
            return outcome
        if outcome.refused:
            return outcome
        self._remember_varying(request.code)
        if outcome.error is not None and outcome.error.type in _FINAL:
            return outcome
        return await self._again(request, outcome, tools, network, store)

    def known(self, request: ExecutionRequest) -> ExecutionOutcome | None:
        """The cached result for the request, or None. Runs nothing, and works also while the runtime is not open."""
        began = self._clock()
        key = self._key(request)
        return None if key is None else self._found(key, began)

    def _found(self, key: str, began: float) -> ExecutionOutcome | None:
        # While no code may run, do not answer from the cache: the runtime refuses and says why.
        found = self._cache.get(key) if self._runtime.refusal() is None else None
        if found is None:
            return None
        return replace(found, metrics=replace(found.metrics, total_ms=(self._clock() - began) * 1000))

    async def _again(
        self,
        request: ExecutionRequest,
        first: ExecutionOutcome,
        tools: HostTools | None,
        network: NetworkPolicy | None,
        store: Store | None,
    ) -> ExecutionOutcome:
        """Run the request as asked, in the time that the first run has left; the metrics count both runs."""
        settings = self._runtime.settings
        allowed_ms = min(request.timeout_ms or settings.default_timeout_ms, settings.max_timeout_ms)
        left_ms = max(1, int(allowed_ms - first.metrics.execution_ms))
        outcome = await self._runtime.execute(
            request.model_copy(update={"timeout_ms": left_ms}), tools, network=network, **_lent(store)
        )
        took, earlier = outcome.metrics, first.metrics
        metrics = replace(
            took,
            total_ms=earlier.total_ms + took.total_ms,
            cpu_ms=earlier.cpu_ms + took.cpu_ms,
            peak_memory_mb=max(earlier.peak_memory_mb, took.peak_memory_mb),
        )
        # Not refused, even if the second run was: the first one ran, and has to be paid for.
        return replace(outcome, metrics=metrics, refused=False)

    def _key(self, request: ExecutionRequest) -> str | None:
        """The cache key; None for a request that is never cached."""
        code = request.code
        if request.tier is not Tier.ISOLATED or len(code) > self._runtime.settings.max_code_bytes:
            return None
        if may_vary(code) is not None or self._is_varying(code):
            return None
        try:
            return cache_key(request, runtime_version=self._runtime.version, limits=self._limits)
        except (ValueError, SandboxUnavailable):
            return None  # the runtime's own run will say what is wrong

    def _is_varying(self, code: str) -> bool:
        digest = _digest(code)
        if digest not in self._varying:
            return False
        self._varying.move_to_end(digest)
        return True

    def _remember_varying(self, code: str) -> None:
        """Remember code that is not deterministic, so that it runs once the next time, and not twice."""
        self._varying[_digest(code)] = None
        if len(self._varying) > MAX_REMEMBERED:
            self._varying.popitem(last=False)


def _lent(store: Store | None) -> dict[str, Any]:
    """Named only if there is one: a runtime of the host's may know of none."""
    return {} if store is None else {"store": store}


def _digest(code: str) -> bytes:
    return hashlib.sha256(code.encode(errors="surrogatepass")).digest()


def limits_of(settings: SandboxSettings) -> tuple[int, ...]:
    return tuple(getattr(settings, name) for name in _LIMITS)


def cache_key(
    request: ExecutionRequest, *, runtime_version: str, limits: tuple[int, ...], tools_version: str = ""
) -> str:
    """The key of a result, 64 hexadecimal digits: a hash of everything that the result depends on, and of nothing else.
    Raises ValueError for a request that cannot be written as JSON.

    The keys of objects are not sorted: code sees their order.
    """
    asked = [getattr(request, name) for name in _ASKED]
    try:
        text = to_json([FORMAT, runtime_version, tools_version, limits, asked], inf_nan_mode="null")
    except RecursionError as error:
        raise ValueError(str(error)) from error
    return hashlib.sha256(text).hexdigest()
