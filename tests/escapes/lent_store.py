"""The store that a program of the tier `store` is lent: that of one conversation, in a home where another has one, too."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from cortex.home import ConversationStore, Home, HomeFiles, Stores
from cortex.settings import StoreSettings
from sandbox import ExecutionOutcome, ToolError

OWN, OTHER = "own", "other"


class LentStores:
    """The stores of a home in files. What the other conversation keeps is a secret."""

    def __init__(self, home: Path, secret: str) -> None:
        self._stores = Stores(HomeFiles(Home(home)).storage(), StoreSettings())
        self._kept_by_other = {"kept": json.dumps(secret).encode()}
        self._stores.apply(OTHER, self._kept_by_other)

    @contextlib.asynccontextmanager
    async def lent(self, outcomes: list[ExecutionOutcome]) -> AsyncIterator[ConversationStore]:
        """For one run, whose outcome is added to the list meanwhile: kept only if that is a success, as in a turn."""
        store = self._stores.of(OWN)
        yield store
        if outcomes and outcomes[-1].ok:
            with contextlib.suppress(ToolError):
                await store.commit()

    def seen(self) -> dict[str, Any]:
        own, other = self._stores.find(OWN), self._stores.find(OTHER)
        self._stores.close()
        return {
            "kept": {} if own is None else {key: json.loads(value) for key, value in own.values.items()},
            "kept_bytes": 0 if own is None else own.size_bytes,
            "other_intact": other is not None and other.values == self._kept_by_other,
        }
