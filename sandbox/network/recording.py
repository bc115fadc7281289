"""Exchanges as they happened, without their secrets; and a network made of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ..contracts import ToolError
from .refusals import failed


class Exchange(BaseModel):
    """One request and its answer. A redirect and what follows it are two."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")

    method: str
    url: str
    request_headers: tuple[tuple[str, str], ...] = ()
    request_body_sha256: str | None = None
    """None when there was no body. The body itself is not kept: requests are compared, not repeated."""
    status: Annotated[int, Field(ge=100, le=999)]
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    truncated: bool = False
    """True when the body was longer than the recorder keeps."""


_Exchanges = TypeAdapter(tuple[Exchange, ...])
_Key = tuple[str, str, str | None]
Unanswered = Callable[[str, str], ToolError]
"""From the method and the URL of a request that no whole answer was recorded for to what the code is told."""


# Every form that is sent has a boundary of its own, made by chance.
_BOUNDARY = re.compile(r'multipart/[^;]+;.*?\bboundary=(?:"([^"]+)"|([^\s;]+))', re.IGNORECASE)


def digest(body: bytes | None, content_type: str = "") -> str | None:
    """What two bodies are compared by; the same form sent twice has the same."""
    if body is None:
        return None
    if found := _BOUNDARY.match(content_type):
        body = body.replace(f"--{found[1] or found[2]}".encode("latin-1"), b"--boundary")
    return hashlib.sha256(body).hexdigest()


class Recorder:
    """Keeps the exchanges of the runs whose policy it is in, and no more than fit."""

    def __init__(
        self,
        *,
        max_exchanges: int = 1_000,
        max_body_bytes: int | None = None,
        max_total_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        """`max_body_bytes`: None keeps every body that the policy lets in, which a replay needs."""
        self._max_exchanges = max_exchanges
        self._max_body_bytes = max_body_bytes
        self._max_total_bytes = max_total_bytes
        self._total_bytes = 0
        self._exchanges: list[Exchange] = []
        self.dropped = 0
        """Exchanges that there was no room for."""

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
    """Answers from recorded exchanges; nothing goes on the network.

    The same request asked again gets the next answer that was recorded for it, and the last one for ever after. A
    policy may be used for many runs: each begins anew.
    """

    def __init__(self, exchanges: Iterable[Exchange], *, unanswered: Unanswered | None = None) -> None:
        """`unanswered`: in a rehearsal the code should not be told that it is one."""
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
        """The scheme, host and port of each recorded request, for a policy that allows what was recorded."""
        return list(dict.fromkeys("/".join(exchange.url.split("/", 3)[:3]) for exchange in self._exchanges))

    def begin(self) -> ReplayedRun:
        return ReplayedRun(self._exchanges, self._unanswered)


class ReplayedRun:
    """How far one run has come in a replay."""

    def __init__(self, exchanges: Iterable[Exchange], unanswered: Unanswered | None = None) -> None:
        self._unanswered = unanswered
        self._left: dict[_Key, list[Exchange]] = {}
        for exchange in exchanges:
            key = (exchange.method, exchange.url, exchange.request_body_sha256)
            self._left.setdefault(key, []).append(exchange)

    def answer(self, method: str, url: str, body_digest: str | None) -> Exchange:
        """The recorded answer. Raises an error of the network when there is none, or only a part of one."""
        left = self._left.get((method, url, body_digest))
        exchange = None if left is None else left.pop(0) if len(left) > 1 else left[0]
        if exchange is not None and not exchange.truncated:
            return exchange
        if self._unanswered is not None:
            raise self._unanswered(method, url)
        if exchange is None:
            raise failed(f"Nothing was recorded for {method} {url[:500]}, and this run has no other network")
        raise failed(f"The recorded answer to {method} {url[:500]} was cut: the recorder had no room for it")
