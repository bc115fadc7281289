"""The protocols that the sandbox implements (runtimes, residents), and the one that its caller implements (tools)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from ..contracts import BatchAnswer, ExecutionOutcome, ExecutionRequest, ResidentProgram
    from ..jail import Wall
    from ..network import NetworkPolicy
    from ..workspace import Workspace


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool as its author describes it. Schemas are JSON Schema; an empty one accepts any object."""

    name: str
    """`group.name` becomes `tools.group.name`, a plain name `tools.name`."""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    server: str | None = None
    """The MCP server that the tool belongs to, if any: its errors are `MCPToolError` with this name. The sandbox does
    not check its arguments: the MCP client that lends it does."""
    tool: str | None = None
    """The server's own name for the tool."""
    places: tuple[tuple[str, ...], ...] = ()
    """The tool's places below `tools`, its own place first, if they were settled among more tools than are lent: the
    same expression must not mean one tool in one run and another in the next."""


Places: TypeAlias = "tuple[tuple[str | int, ...], ...]"
"""Paths into a JSON value: names of members and places in arrays."""


@dataclass(frozen=True, slots=True)
class ReadyJson:
    """A tool's result that is JSON text already, in UTF-8. It is sent unchecked, because the host's own code made it.
    If it is not JSON, the run ends."""

    data: bytes
    bytes_at: Places = ()
    """The places whose text is base64 and which reach code as a Uint8Array."""

    def __post_init__(self) -> None:
        if not isinstance(self.data, bytes):
            raise TypeError(f"JSON text as bytes is needed, not {type(self.data).__name__}")


class HostTools(Protocol):
    """The tools that one run may use. A tool that is not declared here does not exist for that run."""

    def declarations(self) -> Sequence[ToolDeclaration]: ...

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Run a declared tool and return a JSON value, or `ReadyJson`. Raise `ToolError` with a message that the code
        may see."""
        ...


class Store(Protocol):
    """JSON values by key that one run may read and change, as the global `store`. The caller who lends it decides when
    changes last. Each method may raise `ToolError` with a message that the code may see; with the code "limit" it is a
    LimitError there. Only one method is called at a time."""

    async def get(self, key: str) -> bytes | None:
        """The JSON text of the value; None if there is none."""
        ...

    async def set(self, key: str, value: bytes) -> None:
        """Keep the JSON text."""
        ...

    async def delete(self, key: str) -> bool:
        """Whether there was such a value."""
        ...

    async def keys(self) -> Sequence[str]: ...


class CodeRuntime(Protocol):
    """Runs code and returns an outcome, whatever happens."""

    async def execute(
        self,
        request: ExecutionRequest,
        tools: HostTools | None = None,
        *,
        network: NetworkPolicy | None = None,
        workspace: Workspace | None = None,
        store: Store | None = None,
    ) -> ExecutionOutcome: ...


@runtime_checkable
class StoppableRuntime(Protocol):
    """A runtime that the kill switch can stop, with everything that it started."""

    def stop(self, reason: str) -> None:
        """Kill everything that runs, now, and refuse every new request with this reason, until `allow`."""
        ...

    def allow(self) -> None:
        """Undo `stop`."""
        ...


@runtime_checkable
class RefusingRuntime(Protocol):
    """A runtime that knows whether it may run anything."""

    def refusal(self) -> str | None:
        """Why nothing may run; None while it may."""
        ...


@runtime_checkable
class WalledRuntime(Protocol):
    """A runtime that knows which layers of the operating system stand around its processes."""

    @property
    def wall(self) -> Wall: ...


class Resident(Protocol):
    """A resident program: it stays in its process and answers signals."""

    async def handle(self, signals: Sequence[Mapping[str, Any]], state: Mapping[str, Any]) -> BatchAnswer:
        """Give it the signals, one after the other. Never raises for anything that its code does, and answers each
        signal. Concurrent batches wait for each other. Raises SandboxUnavailable when no process is available."""
        ...


@runtime_checkable
class ResidentHost(Protocol):
    """Runs resident programs, each in a process of its own."""

    def resident(
        self,
        program: ResidentProgram,
        tools: HostTools | None = None,
        *,
        network: NetworkPolicy | None = None,
        workspace: Workspace | None = None,
    ) -> AbstractAsyncContextManager[Resident]:
        """Open a resident program. Entering raises SandboxUnavailable when no process is available, or a secret of the
        policy is missing; mistakes in the code are reported by its answers. Leaving ends the process.
        With a workspace, `handle` takes one signal at a time, and its answer has the changes that it would make."""
        ...
