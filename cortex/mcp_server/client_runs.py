"""Which runs of workflows belong to which client, and how many there may be.

A run belongs to whoever has its key, which only its starter was told. The owner sees the run under another name, from
which nobody learns the key. What a client chooses, its `id`, counts only within its own session.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cortex.workflows import CLIENT

from .workflow_offers import KEY, BadCall

MAX_OPEN_RUNS = 32
"""Of all clients of one server, that have not ended."""
MAX_OPEN_OF_ONE = 8
MAX_STARTS_PER_HOUR = 120
"""Also those that are refused: the owner may be asked about each."""
NO_SESSION = "without a session"
"""All clients of that era count as one."""
_HOUR_S = 3_600.0
_STRANGE = re.compile(r"[^A-Za-z0-9._ -]")
MAX_NAME_CHARACTERS = 60


def run_of(key: str) -> str:
    """The id of the run, for the journal and the owner."""
    return f"mcp-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def starter(name: object) -> str:
    """By whom a run is started: by a client, whatever it calls itself. Never the owner or the agent."""
    known = " ".join(_STRANGE.sub(" ", name[:1_000]).split()) if isinstance(name, str) else ""
    return f"{CLIENT}{known[:MAX_NAME_CHARACTERS] or 'client'}"


@dataclass(slots=True)
class OpenRun:
    client: str
    seen: int = 0
    """The last event of it that was looked at."""


class ClientRuns:
    """The runs that clients of one server have started, as far as they have not ended."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self.open: dict[str, OpenRun] = {}
        self._starting: list[str] = []
        self._starts: deque[float] = deque()

    def key(self, session: str | None, id_: str | None) -> str:
        """The key for a start. A key in place of an id means the run that has it. Raises BadCall."""
        if id_ is None:
            return f"w{secrets.token_hex(16)}"
        if KEY.fullmatch(id_):
            return id_
        if session is None:
            raise BadCall("an `id` holds for a session, and this client has none: leave it out, or give a key as id")
        # Sessions have no space in their names.
        digest = hmac.digest(self._secret, f"{session} {id_}".encode(), "sha256")
        return f"w{digest.hex()[:32]}"

    @contextmanager
    def starting(self, session: str | None, now: float) -> Iterator[str]:
        """A place for one more run of this client. Raises BadCall, with what to do."""
        client = session or NO_SESSION
        while self._starts and now - self._starts[0] >= _HOUR_S:
            self._starts.popleft()
        of_all = [run.client for run in self.open.values()] + self._starting
        if len(self._starts) >= MAX_STARTS_PER_HOUR:
            raise BadCall(f"clients may ask for {MAX_STARTS_PER_HOUR} runs in an hour; try again later")
        if of_all.count(client) >= MAX_OPEN_OF_ONE:
            raise BadCall(f"{MAX_OPEN_OF_ONE} runs of this client have not ended; wait for one, or abort one")
        if len(of_all) >= MAX_OPEN_RUNS:
            raise BadCall(f"{MAX_OPEN_RUNS} runs of clients have not ended; wait for one")
        self._starts.append(now)
        self._starting.append(client)
        try:
            yield client
        finally:
            self._starting.remove(client)
