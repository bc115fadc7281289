"""Runtimes that run nothing, and outcomes for them."""

from __future__ import annotations

from sandbox import ErrorType, ExecutionError, ExecutionOutcome, ExecutionRequest, Metrics, SandboxSettings
from sandbox.testing import ScriptedRuntime

SAME = ExecutionOutcome(ok=True, result=2, metrics=Metrics(execution_ms=1, total_ms=2), deterministic=True)
VARIED = ExecutionOutcome(
    ok=True, result=0, metrics=Metrics(execution_ms=400, total_ms=500, cpu_ms=300, peak_memory_mb=50)
)
REAL = ExecutionOutcome(ok=True, result=17, metrics=Metrics(execution_ms=40, total_ms=50, cpu_ms=30, peak_memory_mb=40))


def failed(kind: ErrorType, **more: object) -> ExecutionOutcome:
    return ExecutionOutcome(ok=False, error=ExecutionError(kind, "it failed"), **more)


class RepeatableScript(ScriptedRuntime):
    """A `RepeatableRuntime` that hands out what it was given, and keeps which tools it was lent."""

    def __init__(self, *outcomes: ExecutionOutcome, **settings: object) -> None:
        super().__init__(outcomes)
        self.version = "1"
        self.settings = SandboxSettings.model_validate(settings)
        self.lent: list[object] = []
        self.killed: str | None = None

    def refusal(self) -> str | None:
        return self.killed

    async def execute(self, request: ExecutionRequest, tools=None, *, network=None, workspace=None):
        self.lent.append(tools)
        if self.killed is not None:
            return failed(ErrorType.PERMISSION, refused=True)
        return await super().execute(request, tools, network=network, workspace=workspace)
