from __future__ import annotations

from pathlib import Path

import pytest

from cortex.cache import CachedRuntime, ResultCache, cached_runtime as module
from cortex.settings.sections import CacheSettings
from sandbox import ErrorType, ExecutionOutcome, ExecutionRequest, SandboxUnavailable, Tier, Workspace
from sandbox.testing import FunctionTools
from tests.cortex.cache.runtimes import REAL, SAME, VARIED, RepeatableScript, failed

REQUEST = ExecutionRequest(code="return 1 + 1", timeout_ms=1_000)


def cached(folder: Path, script: RepeatableScript) -> CachedRuntime:
    return CachedRuntime(script, ResultCache(folder, CacheSettings()))


async def test_deterministic_code_runs_once(tmp_path: Path):
    script = RepeatableScript(SAME)
    runtime = cached(tmp_path, script)
    first, second = [await runtime.execute(REQUEST) for _ in range(2)]
    assert (first.result, first.metrics.cached) == (2, False)
    assert (second.result, second.metrics.cached) == (2, True)
    assert second.metrics.total_ms > 0
    assert second.metrics.execution_ms == 0
    [asked] = script.requests
    assert asked == REQUEST.model_copy(update={"deterministic": True})


@pytest.mark.parametrize(
    "other",
    [
        REQUEST.model_copy(update={"code": "return 1 + 1 + 0"}),
        REQUEST.model_copy(update={"context": {"a": 1}}),
        REQUEST.model_copy(update={"tier": Tier.NETWORK}),
    ],
    ids=["code", "context", "tier"],
)
async def test_a_different_request_runs(other: ExecutionRequest, tmp_path: Path):
    script = RepeatableScript(SAME, SAME)
    runtime = cached(tmp_path, script)
    assert not (await runtime.execute(REQUEST)).metrics.cached
    assert not (await runtime.execute(other)).metrics.cached


async def test_another_version_of_the_runtime_runs_it_again(tmp_path: Path):
    script = RepeatableScript(SAME, SAME)
    runtime = cached(tmp_path, script)
    await runtime.execute(REQUEST)
    script.version = "2"
    assert not (await runtime.execute(REQUEST)).metrics.cached


@pytest.mark.parametrize(
    ("code", "tier"),
    [
        ("return Math.random()", Tier.ISOLATED),
        ("return Date.now()", Tier.ISOLATED),
        ("return await tools.shop.stock()", Tier.ISOLATED),
        ("return 1 + 1", Tier.NETWORK),
    ],
)
async def test_code_that_may_vary_or_has_the_network_is_never_cached(code: str, tier: Tier, tmp_path: Path):
    request = ExecutionRequest(code=code, tier=tier)
    script = RepeatableScript(SAME, SAME)
    runtime, tools = cached(tmp_path, script), FunctionTools({})
    for _ in range(2):
        assert not (await runtime.execute(request, tools)).metrics.cached
    assert script.requests == [request, request]
    assert script.lent == [tools, tools]


async def test_a_run_with_a_workspace_is_never_cached(tmp_path: Path):
    script = RepeatableScript(SAME, SAME)
    runtime = cached(tmp_path / "cache", script)
    for _ in range(2):
        assert not (await runtime.execute(REQUEST, workspace=Workspace(tmp_path))).metrics.cached
    assert script.requests == [REQUEST, REQUEST]


async def test_code_that_names_no_tools_is_lent_none(tmp_path: Path):
    script = RepeatableScript(SAME)
    await cached(tmp_path, script).execute(REQUEST, FunctionTools({}))
    assert script.lent == [None]


async def test_code_that_read_the_clock_runs_again_for_real_and_is_never_cached(tmp_path: Path):
    script = RepeatableScript(VARIED, REAL, REAL)
    runtime, tools = cached(tmp_path, script), FunctionTools({})
    outcome = await runtime.execute(REQUEST, tools)
    assert outcome.result == 17
    assert [request.deterministic for request in script.requests] == [True, False]
    assert script.requests[1].timeout_ms == 600  # what the first had left of it
    assert script.lent == [None, tools]
    metrics = outcome.metrics
    assert (metrics.total_ms, metrics.cpu_ms, metrics.peak_memory_mb, metrics.execution_ms) == (550, 330, 50, 40)
    # And the next time it is run once, as it was asked for.
    again = await runtime.execute(REQUEST, tools)
    assert not again.metrics.cached
    assert script.requests[2] == REQUEST


async def test_the_second_run_has_the_time_that_the_first_has_left(tmp_path: Path):
    script = RepeatableScript(VARIED, REAL, VARIED, REAL, default_timeout_ms=2_000, max_timeout_ms=3_000)
    runtime = cached(tmp_path, script)
    await runtime.execute(ExecutionRequest(code="return 1"))
    await runtime.execute(ExecutionRequest(code="return 2", timeout_ms=9_000))
    assert [request.timeout_ms for request in script.requests] == [None, 1_600, 9_000, 2_600]


@pytest.mark.parametrize(
    "kind", [ErrorType.SYNTAX, ErrorType.TIMEOUT, ErrorType.MEMORY, ErrorType.LIMIT, ErrorType.CRASH]
)
async def test_a_failure_that_no_clock_changes_is_not_tried_twice(kind: ErrorType, tmp_path: Path):
    script = RepeatableScript(failed(kind))
    assert (await cached(tmp_path, script).execute(REQUEST)).error.type == kind


async def test_a_failure_of_deterministic_code_is_returned_and_not_cached(tmp_path: Path):
    script = RepeatableScript(failed(ErrorType.RUNTIME, deterministic=True), SAME)
    runtime = cached(tmp_path, script)
    assert not (await runtime.execute(REQUEST)).ok
    assert (await runtime.execute(REQUEST)).result == 2


async def test_a_failure_of_code_that_asked_for_the_clock_is_tried_for_real(tmp_path: Path):
    script = RepeatableScript(failed(ErrorType.RUNTIME), REAL)
    assert (await cached(tmp_path, script).execute(REQUEST)).result == 17


async def test_a_refused_run_is_not_repeated_and_its_code_is_not_remembered(tmp_path: Path):
    script = RepeatableScript(failed(ErrorType.LIMIT, refused=True), SAME)
    runtime = cached(tmp_path, script)
    assert (await runtime.execute(REQUEST)).refused
    assert (await runtime.execute(REQUEST)).ok
    assert (await runtime.execute(REQUEST)).metrics.cached


async def test_a_repeated_run_that_is_refused_is_no_refusal_because_the_first_one_ran(tmp_path: Path):
    script = RepeatableScript(VARIED, failed(ErrorType.LIMIT, refused=True))
    outcome = await cached(tmp_path, script).execute(REQUEST)
    assert (outcome.ok, outcome.refused, len(script.requests)) == (False, False, 2)


async def test_while_nothing_may_run_nothing_comes_from_the_cache(tmp_path: Path):
    script = RepeatableScript(SAME)
    runtime = cached(tmp_path, script)
    await runtime.execute(REQUEST)
    script.killed = "Kill switch is on"
    assert (await runtime.execute(REQUEST)).refused
    script.killed = None
    assert (await runtime.execute(REQUEST)).metrics.cached


async def test_the_number_of_remembered_varying_codes_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_REMEMBERED", 2)
    script = RepeatableScript(*[VARIED, REAL] * 10)
    runtime = cached(tmp_path, script)
    for number in range(10):
        await runtime.execute(ExecutionRequest(code=f"return {number}"))
        assert len(runtime._varying) <= 2


@pytest.mark.parametrize(
    "request_",
    [
        ExecutionRequest(code="return '\ud800'"),
        ExecutionRequest(code="return 1", context=object()),
        ExecutionRequest(code="return " + " " * 100_000),
    ],
    ids=["surrogate", "context", "long"],
)
async def test_an_invalid_request_is_left_to_the_runtime(request_: ExecutionRequest, tmp_path: Path):
    script = RepeatableScript(failed(ErrorType.LIMIT, refused=True))
    assert (await cached(tmp_path, script).execute(request_)).refused
    assert script.requests == [request_]


async def test_an_unavailable_runtime_reports_it_itself(tmp_path: Path):
    class Gone(RepeatableScript):
        @property
        def version(self) -> str:
            raise SandboxUnavailable("Cannot start Deno")

        @version.setter
        def version(self, value: str) -> None:
            pass

    script = Gone(failed(ErrorType.CRASH, refused=True))
    outcome: ExecutionOutcome = await cached(tmp_path, script).execute(REQUEST)
    assert outcome.refused
