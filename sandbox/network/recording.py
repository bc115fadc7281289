"""Records HTTP requests and responses without their secrets, and replays them in place of the network."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ..contracts import ToolError
from .refusals import failed


class Exchange(BaseModel):
    """One request and its answer. A redirect and the request that follows it are two exchanges."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")

    method: str
    url: str
    request_headers: tuple[tuple[str, str], ...] = ()
    request_body_sha256: str | None = None
    """None when there was no body. The body itself is not kept: requests are only compared, never sent again."""
    status: Annotated[int, Field(ge=100, le=999)]
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    truncated: bool = False
    """True when the body was longer than the recorder keeps."""


@dataclass(frozen=True, slots=True)
class FetchNote:
    """One request and how it went, also one that was refused. Holds no secret of the policy. A redirect and the request
    that follows it are two notes."""

    method: str
    url: str
    began: float
    """By `time.perf_counter`."""
    ms: float
    status: int | None = None
    """None when there was no answer."""
    bytes: int = 0
    """Of the body, decompressed."""
    redirected_from: str | None = None
    refused: str | None = None
    """The code of the error that the code found in place of an answer, and its message."""


_Exchanges = TypeAdapter(tuple[Exchange, ...])
_Key = tuple[str, str, str | None]
Unanswered = Callable[[str, str], ToolError]
"""Makes the error for a request without a whole recorded answer, from its method and URL."""


# Every multipart form has a random boundary of its own.
_BOUNDARY = re.compile(r'multipart/[^;]+;.*?\bboundary=(?:"([^"]+)"|([^\s;]+))', re.IGNORECASE)


def digest(body: bytes | None, content_type: str = "") -> str | None:
    """A digest to compare two request bodies by. The same multipart form sent twice has the same digest."""
    if body is None:
        return None
    if found := _BOUNDARY.match(content_type):
        body = body.replace(f"--{found[1] or found[2]}".encode("latin-1"), b"--boundary")
    return hashlib.sha256(body).hexdigest()


class Recorder:
    """Keeps the exchanges of all runs whose policy names this recorder, up to its limits."""

    def __init__(
        self,
        *,
        max_exchanges: int = 1_000,
        max_body_bytes: int | None = None,
        max_total_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        """`max_body_bytes`: None keeps every body whole that the policy lets in, as a replay needs."""
        self._max_exchanges = max_exchanges
        self._max_body_bytes = max_body_bytes
        self._max_total_bytes = max_total_bytes
        self._total_bytes = 0
        self._exchanges: list[Exchange] = []
        self.dropped = 0
        """Number of exchanges dropped for lack of room."""

    def note(self, note: FetchNote) -> None:
        """Called once for each request that has ended, answered or not. Keeps nothing; a subclass may."""

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        return tuple(self._exchanges)

    def add(self, exchange: Exchange) -> None:
        if len(self._exchanges) >= self._max_exchanges:
            self.dropped += 1
            return
        room = self._max_total_bytes - self._total_bytes
        if self._max_body_bytes is not None:
            room = min(room, self._max_body_bytes)
        if len(exchange.body) > room:
            exchange = exchange.model_copy(update={"body": exchange.body[: max(0, room)], "truncated": True})
        self._total_bytes += len(exchange.body)
        self._exchanges.append(exchange)

    def to_json(self) -> bytes:
        return _Exchanges.dump_json(self.exchanges, indent=2)

    def save(self, path: Path | str) -> None:
        Path(path).write_bytes(self.to_json())


class Replay:
    """Answers requests from recorded exchanges; nothing goes to the network.

    A repeated request gets the next answer that was recorded for it, and the last one from then on. A policy may be
    used for many runs: each begins anew.
    """

    def __init__(self, exchanges: Iterable[Exchange], *, unanswered: Unanswered | None = None) -> None:
        """`unanswered` makes the error for a request without a recording: in a rehearsal it must not give that away."""
        self._exchanges = tuple(exchanges)
        self._unanswered = unanswered

    @classmethod
    def from_json(cls, data: bytes | str) -> Replay:
        return cls(_Exchanges.validate_json(data))

    @classmethod
    def load(cls, path: Path | str) -> Replay:
        return cls.from_json(Path(path).read_bytes())

    @property
    def origins(self) -> list[str]:
        """The scheme, host and port of each recorded request, for a policy that allows exactly these."""
        return list(dict.fromkeys("/".join(exchange.url.split("/", 3)[:3]) for exchange in self._exchanges))

    def begin(self) -> ReplayedRun:
        return ReplayedRun(self._exchanges, self._unanswered)


class ReplayedRun:
    """The state of a replay in one run: which answers are left."""

    def __init__(self, exchanges: Iterable[Exchange], unanswered: Unanswered | None = None) -> None:
        self._unanswered = unanswered
        self._left: dict[_Key, list[Exchange]] = {}
        for exchange in exchanges:
            key = (exchange.method, exchange.url, exchange.request_body_sha256)
            self._left.setdefault(key, []).append(exchange)

    def answer(self, method: str, url: str, body_digest: str | None) -> Exchange:
        """The recorded answer. Raises a network ToolError when there is none, or when it was truncated."""
        left = self._left.get((method, url, body_digest))
        exchange = None if left is None else left.pop(0) if len(left) > 1 else left[0]
        if exchange is not None and not exchange.truncated:
            return exchange
        if self._unanswered is not None:
            raise self._unanswered(method, url)
        if exchange is None:
            raise failed(f"Nothing was recorded for {method} {url[:500]}, and this run has no other network")
        raise failed(f"The recorded answer to {method} {url[:500]} was cut: the recorder had no room for it")
