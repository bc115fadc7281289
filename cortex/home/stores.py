"""The stores of a home: JSON values that the code of one conversation keeps from run to run. One document for each
conversation; what a run changes is written at once, and only after the run has succeeded."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from neurons import StorageError
from sandbox import JsonLimits, ToolError, bounded_json

from .store_values import Draft, StoreChanges, Values, digest_of, merged, size_of

if TYPE_CHECKING:
    from cortex.settings import StoreSettings
    from neurons import Document, Storage

log = logging.getLogger("motor_cortex")

FOLDER = "store"
MAX_CONVERSATION_CHARACTERS = 200
# More than what one frame of a run may hold: every value that was kept can be read again.
_LIMITS = JsonLimits(containers=100_000, values=200_000)


@dataclass(frozen=True, slots=True)
class KeptStore:
    """The store of one conversation, as it is on disk."""

    id: str
    """A hash of the conversation's name; the name of its document."""
    conversation: str
    changed_at: float
    values: Values

    @property
    def size_bytes(self) -> int:
        return size_of(self.values)


class Stores:
    """All stores of a home, shared by its processes. The methods block for a lock and the disk: call them in a
    thread. They raise StorageError."""

    def __init__(self, storage: Storage, settings: StoreSettings, *, now: Callable[[], float] = time.time) -> None:
        self._storage = storage
        self._settings = settings
        self._now = now
        self._made = 0
        """Documents that this process has made so far."""

    def of(self, conversation: str) -> ConversationStore:
        """The store as one run of the conversation uses it. Reads nothing yet."""
        return ConversationStore(self, conversation, self._settings)

    def find(self, conversation: str) -> KeptStore | None:
        """What is kept for the conversation; None when that is nothing, or too old."""
        found = self._stored(self._storage.read(_key_of(conversation)))
        return found if found is not None and found.values and not self._is_old(found) else None

    def list(self) -> list[KeptStore]:
        """All that are not empty or too old, the one that changed last first."""
        everything = map(self._stored, self._storage.read_all(f"{FOLDER}/"))
        found = [stored for stored in everything if stored is not None and stored.values and not self._is_old(stored)]
        return sorted(found, key=lambda stored: (-stored.changed_at, stored.id))

    def apply(self, conversation: str, changes: StoreChanges) -> None:
        """Make all changes in one step, on top of what other runs have kept meanwhile. Raises ToolError, and changes
        nothing, when that would pass a limit."""
        key = _key_of(conversation)

        def change(data: dict[str, Any] | None) -> dict[str, Any]:
            found = None if data is None else _parsed(key, data)
            kept = {} if found is None or self._is_old(found) else found.values
            after = merged(kept, changes, self._settings)
            return {
                "conversation": conversation,
                "changed_at": self._now(),
                "values": {name: value.decode() for name, value in sorted(after.items())},
            }

        with self._storage.alone(FOLDER):
            document = self._storage.update(key, change)
        if document is not None and document.revision == 1:
            self._make_room()

    def clear(self, conversation: str) -> bool:
        """Delete all that is kept for the conversation. Returns whether there was anything."""
        with self._storage.alone(FOLDER):
            found = self._storage.read(_key_of(conversation))
            if found is not None:
                self._storage.delete(found.key)
        return found is not None

    def close(self) -> None:
        self._storage.close()

    def _make_room(self) -> None:
        """Delete the stores that are too old, and the oldest of too many. Looked for when a process makes its first
        store, and then with every tenth part of what is allowed: to look means to read all of them."""
        most = self._settings.max_conversations
        made, self._made = self._made, self._made + 1
        if made % max(1, most // 10):
            return
        kept = 0
        everything = [stored for stored in map(self._stored, self._storage.read_all(f"{FOLDER}/")) if stored]
        for stored in sorted(everything, key=lambda stored: -stored.changed_at):
            is_wanted = bool(stored.values) and not self._is_old(stored) and kept < most
            kept += is_wanted
            if not is_wanted:
                self._drop(stored)

    def _drop(self, stored: KeptStore) -> None:
        key = f"{FOLDER}/{stored.id}"
        with self._storage.alone(FOLDER):
            # A run of another process may have written it since.
            now = self._stored(self._storage.read(key))
            if now is not None and now.changed_at == stored.changed_at:
                self._storage.delete(key)

    def _is_old(self, stored: KeptStore) -> bool:
        return self._now() - stored.changed_at > self._settings.max_age_s

    def _stored(self, document: Document | None) -> KeptStore | None:
        if document is None:
            return None
        found = _parsed(document.key, document.data)
        if found is None:
            self._storage.set_aside(document.key, "it is not a store", revision=document.revision)
        return found


class ConversationStore:
    """A `sandbox.Store` for one run. It sees what was kept when it first asked, and what it has changed itself; others
    see its changes after `commit`, which the host calls when the run has succeeded."""

    def __init__(self, stores: Stores, conversation: str, settings: StoreSettings) -> None:
        self._stores = stores
        self._conversation = conversation
        self._settings = settings
        self._draft: Draft | None = None

    async def get(self, key: str) -> bytes | None:
        return (await self._opened()).get(key)

    async def set(self, key: str, value: bytes) -> None:
        (await self._opened()).set(key, value)

    async def delete(self, key: str) -> bool:
        return (await self._opened()).delete(key)

    async def keys(self) -> Sequence[str]:
        return (await self._opened()).keys()

    @property
    def has_changes(self) -> bool:
        return self._draft is not None and bool(self._draft.changes)

    async def commit(self) -> StoreFacts | None:
        """Keep what the run has changed; None when that is nothing. Raises ToolError when nothing of it can be kept."""
        changes = self._draft.changes if self._draft is not None else {}
        if not changes:
            return None
        try:
            await anyio.to_thread.run_sync(self._stores.apply, self._conversation, changes)
        except StorageError as error:
            log.warning("Cannot keep the store of a conversation: %s", error)
            raise ToolError("The store could not be written", code="internal") from error
        return StoreFacts(id_of(self._conversation), len(changes), digest_of(changes))

    async def _opened(self) -> Draft:
        if self._draft is None:
            try:
                found = await anyio.to_thread.run_sync(self._stores.find, self._conversation, abandon_on_cancel=True)
            except StorageError as error:
                log.warning("Cannot read the store of a conversation: %s", error)
                raise ToolError("The store could not be read", code="internal") from error
            self._draft = Draft({} if found is None else found.values, self._settings)
        return self._draft


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """What the audit says of the changes of one run."""

    id: str
    keys: int
    hash: str


def id_of(conversation: str) -> str:
    """The name of a conversation's document. Raises ValueError for what is no name of a conversation."""
    if not isinstance(conversation, str) or not 1 <= len(conversation) <= MAX_CONVERSATION_CHARACTERS:
        raise ValueError(f"a conversation is named by a text of 1 to {MAX_CONVERSATION_CHARACTERS} characters")
    return hashlib.sha256(conversation.encode()).hexdigest()  # half a surrogate pair is a ValueError, too


def _key_of(conversation: str) -> str:
    # A hash: a name may hold anything, and must lead nowhere else.
    return f"{FOLDER}/{id_of(conversation)}"


def _parsed(key: str, data: Mapping[str, Any]) -> KeptStore | None:
    """The store in a document; None when the document is anything else."""
    match data:
        case {"conversation": str(conversation), "changed_at": float() | int() as changed_at, "values": dict(values)}:
            pass
        case _:
            return None
    texts: dict[str, bytes] = {}
    for name, text in values.items():
        if not isinstance(text, str):
            return None
        try:
            # A text that is no JSON, or is two lines, would end the run that it is given to.
            bounded_json(text, _LIMITS)
            texts[name] = text.replace("\n", " ").encode()
        except (ValueError, RecursionError):
            return None
    return KeptStore(key.partition("/")[2], conversation, float(changed_at), texts)
