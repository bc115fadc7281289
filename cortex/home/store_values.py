"""The values of one conversation's store as a run sees them: its limits, its changes, and how they are merged. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox import ToolError

if TYPE_CHECKING:
    from cortex.settings import StoreSettings

MAX_KEY_CHARACTERS = 256

Values = Mapping[str, bytes]
"""JSON text by key."""
StoreChanges = Mapping[str, bytes | None]
"""What one run does to the values. None: the key is deleted."""


class Draft:
    """The values that were there when a run first asked, with the run's own changes on top. Each method raises
    ToolError, and changes nothing, for what is not a key or would pass a limit."""

    def __init__(self, kept: Values, settings: StoreSettings) -> None:
        self._values = dict(kept)
        self._bytes = size_of(kept)
        self._settings = settings
        self.changes: dict[str, bytes | None] = {}

    def get(self, key: str) -> bytes | None:
        return self._values.get(_checked(key))

    def set(self, key: str, value: bytes) -> None:
        before = self._values.get(_checked(key))
        more = size_of({key: value}) - (0 if before is None else size_of({key: before}))
        count = len(self._values) + (before is None)
        _require_room(self._bytes + more, count, self._settings, grows=more > 0, is_new=before is None)
        self._values[key] = self.changes[key] = value
        self._bytes += more

    def delete(self, key: str) -> bool:
        before = self._values.pop(_checked(key), None)
        if before is None:
            return False
        self._bytes -= size_of({key: before})
        self.changes[key] = None
        return True

    def keys(self) -> list[str]:
        return sorted(self._values)


def merged(kept: Values, changes: StoreChanges, settings: StoreSettings) -> dict[str, bytes]:
    """The values after the changes of a run, whatever other runs have kept since it began: of two runs that set the
    same key, the later one wins. Raises ToolError when all together pass a limit: then nothing of the run is kept."""
    after = dict(kept)
    for key, value in changes.items():
        if value is None:
            after.pop(key, None)
        else:
            after[key] = value
    before_bytes, after_bytes = size_of(kept), size_of(after)
    _require_room(after_bytes, len(after), settings, grows=after_bytes > before_bytes, is_new=len(after) > len(kept))
    return after


def size_of(values: Values) -> int:
    """Bytes of the keys and of the JSON texts. What counts towards `store.max_bytes`."""
    return sum(len(key.encode()) + len(value) for key, value in values.items())


def digest_of(changes: StoreChanges) -> str:
    """A hash of the changes for the audit, which holds no contents."""
    digest = hashlib.sha256()
    for key, value in sorted(changes.items()):
        for part in (key.encode(), b"-" if value is None else b"+" + value):
            digest.update(b"%d:%b" % (len(part), part))
    return digest.hexdigest()


def _checked(key: str) -> str:
    try:
        key.encode()
    except UnicodeEncodeError:
        raise ToolError("A key of the store must be valid Unicode", code="invalid_key") from None
    if not 1 <= len(key) <= MAX_KEY_CHARACTERS:
        raise ToolError(f"A key of the store has 1 to {MAX_KEY_CHARACTERS} characters", code="invalid_key")
    return key


def _require_room(total_bytes: int, count: int, settings: StoreSettings, *, grows: bool, is_new: bool) -> None:
    """What makes the store smaller is allowed in any case: an owner may have lowered a limit since."""
    if is_new and count > settings.max_keys:
        raise ToolError(f"The store of a conversation holds at most {settings.max_keys} keys", code="limit")
    if grows and total_bytes > settings.max_bytes:
        message = f"The store would hold {total_bytes} bytes, more than {settings.max_bytes}: delete something first"
        raise ToolError(message, code="limit")
