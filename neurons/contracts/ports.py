"""The interfaces (ports) of neurons: some the host must implement, others have an implementation to use or replace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from sandbox import Changes, Exchange, Work, Workspace

    from .neuron import Neuron
    from .signals import Signal

Json = dict[str, Any]
Change = Callable[[Json | None], Json | None]


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document with its key and revision."""

    key: str
    revision: int
    """Grows by one with each write of the key, by any process."""
    data: Json


class Storage(Protocol):
    """JSON documents by key, like `neurons/crypto-price`. All methods may be called from any thread; they block only
    for a lock and the disk."""

    def read(self, key: str) -> Document | None:
        """Read a document, including changes that are not on disk yet. None when there is none, or when it is damaged
        and was set aside."""
        ...

    def read_all(self, prefix: str) -> list[Document]:
        """Read all documents whose keys begin with the prefix, sorted by key. A damaged one is set aside and reported,
        and does not stop the others."""
        ...

    def write(self, key: str, data: Json, *, revision: int | None = None) -> int:
        """Write soon, and return the revision that the document will have. Raises Conflict unless the document is still
        at the given revision (0: there must be none; None: any)."""
        ...

    def write_through(self, key: str, data: Json, *, revision: int | None = None) -> int:
        """Like `write`, but on disk when it returns."""
        ...

    def update(self, key: str, change: Change, *, through: bool = True) -> Document | None:
        """Read, change and write in one step, atomic among all processes. `change` gets a copy and returns the data to
        write, or None to change nothing; if it raises, nothing is written. With `through=False` the change is applied
        at once for this process, and applied again at the flush to what is then on disk: so it must make sense whatever
        others wrote meanwhile."""
        ...

    def delete(self, key: str) -> None: ...

    def flush(self) -> None:
        """Everything written before the call is on disk when this returns."""
        ...

    def alone(self, folder: str) -> AbstractContextManager[None]:
        """A lock among all processes and threads, for decisions that look at several documents of a folder such as
        `neurons`. The same thread may enter again. Writers that do not take this lock are not kept out."""
        ...

    def set_aside(self, key: str, reason: str, *, revision: int) -> None:
        """Move a document that its reader cannot use out of the way, and report it, unless it was written again since
        `revision`."""
        ...

    def stamp(self, folder: str) -> object:
        """A cheap value that changes once any process has written a document of the folder to disk."""
        ...

    def close(self) -> None:
        """Release files or connections. Pending writes stay in memory; any use opens them again."""
        ...


class Lease(Protocol):
    """Held by one object among all processes of a home; free again when its holder ends, however it ends."""

    def try_take(self) -> bool:
        """Take the lease if it is free. Never waits."""
        ...

    def release(self) -> None:
        """Give the lease back. Only for its holder."""
        ...

    def close(self) -> None: ...


class Energy(Protocol):
    """The energy reserve that also pays for the agent's own runs."""

    def level(self) -> float: ...

    async def spend(self, amount: float, *, reason: str, floor: float, code_hash: str | None = None) -> bool:
        """Take the amount and return True; take nothing and return False when the level is below the floor or the
        amount."""
        ...


class LentFolders(Protocol):
    """The folders that neurons were granted."""

    def workspace(self, neuron: Neuron) -> Workspace | None:
        """The neuron's folder, or None. May wait for the disk. Raises SandboxUnavailable if it cannot be used now."""
        ...

    async def commit(self, neuron: Neuron, changes: Changes) -> str:
        """Make the changes of one signal, if they are still allowed, and record that. Returns why they were not made;
        empty if they were."""
        ...


class Record(Protocol):
    """Writes to the audit. Raises what the audit raises: an owner's decision is recorded first, or not carried out."""

    def __call__(self, kind: str, /, **facts: Any) -> object: ...


StatusRecords: TypeAlias = Callable[[], Mapping[str, Mapping[str, Any]]]
"""Reads the audit: the facts of the last record about a change of status, of each neuron by its id. Nothing for a
neuron without such a record. Raises what the audit raises."""


@dataclass(frozen=True, slots=True)
class ToolExchange:
    """A recorded call of a host's tool."""

    name: str
    arguments: Json
    result: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """The input of one of the agent's own executions: quarantine replays it to a candidate."""

    code_hash: str
    at: float
    context: Any
    exchanges: Sequence[Exchange] = ()
    tool_calls: Sequence[ToolExchange] = ()
    code: str = ""
    """The script, without keys; empty if it did not fit, or was recorded before scripts were kept."""
    returns: dict[str, Any] | None = None
    """The JSON Schema of its result, without a value of it; None where that is not known."""
    work: Work | None = None
    """What it took; None where nothing was measured."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """An emission of a neuron that is to be told, said or read."""

    neuron: str
    """Its id; of a signal that wakes the agent and comes from no neuron: its source."""
    name: str
    action: str
    """"notify", "answer" or "wake"."""
    text: str
    """One line, with the data filled in. The data may be anybody's words."""
    signal: Signal


class Courier(Protocol):
    """Delivers emissions, as far as this program can."""

    @property
    def actions(self) -> frozenset[str]:
        """What this program can do: it is given emissions with these actions only."""
        ...

    def takes(self, emitted: Emitted) -> bool:
        """Whether this program can deliver this one, whose action is among `actions`. Asked before it is taken from
        the home, in any thread, and may be asked again."""
        ...

    async def deliver(self, emitted: Emitted) -> Sequence[str]:
        """Tell, say or start what the emission asks for, once, and return who was told."""
        ...


class Wake(Protocol):
    """Starts a turn of the agent with a signal as its event."""

    async def __call__(self, signal: Signal) -> None: ...


@dataclass(frozen=True, slots=True)
class Wording:
    """One way in which a script was written."""

    code: str
    code_hash: str
    """Of the code that ran: what is kept of it may lack keys."""


class Behaviour(Protocol):
    """Says whether scripts do the same, however they are written."""

    async def same(self, one: Wording, other: Wording) -> bool | None:
        """Whether both give the same on the same inputs; None when that cannot be told. Raises SandboxUnavailable when
        no process can be started."""
        ...


class Skills(Protocol):
    """The agent's memory of what it has learned."""

    def learned(self, neuron: Neuron) -> None: ...
