"""What neurons need of others, and what others may put in the place of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from sandbox import Exchange

    from .neuron import Neuron
    from .signals import Signal

Json = dict[str, Any]
Change = Callable[[Json | None], Json | None]


@dataclass(frozen=True, slots=True)
class Document:
    key: str
    revision: int
    """Grows by one with each write of the key, whoever writes."""
    data: Json


class Storage(Protocol):
    """JSON documents by key, like `neurons/crypto-price`. All methods may be called from any thread, and block at most
    for a lock and a disk."""

    def read(self, key: str) -> Document | None:
        """With what was written behind, too. None when there is none, or when it is damaged and was set aside."""
        ...

    def read_all(self, prefix: str) -> list[Document]:
        """Of all keys that begin so, by key. One that is damaged is set aside and reported, and stops no other."""
        ...

    def write(self, key: str, data: Json, *, revision: int | None = None) -> int:
        """Write soon, and return the revision that it will have. Raises Conflict when the document is not of the given
        revision any more (0: when there is one at all; None: whatever there is)."""
        ...

    def write_through(self, key: str, data: Json, *, revision: int | None = None) -> int:
        """The same, on disk when it returns."""
        ...

    def update(self, key: str, change: Change, *, through: bool = True) -> Document | None:
        """Read, change and write as one step, which no other process can come between. `change` is given a copy, and
        returns what is to be written, or None to leave everything as it is. What it raises changes nothing. Behind
        (`through=False`) it is applied at once for this process, and to whatever stands on disk by then when it is
        flushed: so it must mean the same whatever others wrote meanwhile."""
        ...

    def delete(self, key: str) -> None: ...

    def flush(self) -> None:
        """What was written before is on disk when this returns."""
        ...

    def alone(self, folder: str) -> AbstractContextManager[None]:
        """One at a time among all processes and threads, for decisions that look at several documents of the folder, as
        `neurons`. The same thread may enter again. Writers who do not enter are not kept out."""
        ...

    def set_aside(self, key: str, reason: str, *, revision: int) -> None:
        """Out of the way with what its reader cannot use, unless it has been written again since, and report it."""
        ...

    def stamp(self, folder: str) -> object:
        """Something cheap that is not equal to what it was, once anybody has brought a document there to disk."""
        ...


class Energy(Protocol):
    """The reserve that the agent's own runs are paid from."""

    def level(self) -> float: ...

    async def spend(self, amount: float, *, reason: str, floor: float, code_hash: str | None = None) -> bool:
        """Take the amount, unless the level is below the floor or too little is left: then nothing and False."""
        ...


class Record(Protocol):
    """The audit. Raises what the audit raises: what an owner decides is recorded first or not done."""

    def __call__(self, kind: str, /, **facts: Any) -> object: ...


@dataclass(frozen=True, slots=True)
class ToolExchange:
    """A call of a host's tool as it was recorded."""

    name: str
    arguments: Json
    result: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """What one of the agent's own executions was given: what a quarantine can give to a candidate again."""

    code_hash: str
    at: float
    context: Any
    exchanges: Sequence[Exchange] = ()
    tool_calls: Sequence[ToolExchange] = ()


class Wake(Protocol):
    """Starts a turn of the agent with a signal as its event."""

    async def __call__(self, signal: Signal) -> None: ...


class Skills(Protocol):
    """The agent's memory."""

    def learned(self, neuron: Neuron) -> None: ...
