"""A small OpenAI-compatible server on loopback, in threads. Each request gets the next of the given replies."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterable
from typing import Any

from cortex.settings.sections import ModelSettings
from tests.sandbox.network.servers import Server, Talk, chunked

Reply = Callable[[Talk], None]


class ChatServer(Server):
    """`asked` has the bodies of the requests, decoded."""

    def __init__(self, *replies: Reply, tls: ssl.SSLContext | None = None) -> None:
        self._replies = iter(replies)
        super().__init__(routes={"/v1/chat/completions": self._reply}, tls=tls)

    def _reply(self, talk: Talk) -> None:
        reply = next(self._replies, None)
        if reply is None:
            talk.reply(b"the test has no more replies", "410 Gone")
        else:
            reply(talk)

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(request.body) for request in self.heard]

    def settings(self, **changes: Any) -> ModelSettings:
        """Settings that point here and wait as little as possible."""
        scheme = "https" if self.tls else "http"
        values = {"name": "tiny", "base_url": f"{scheme}://127.0.0.1:{self.port}/v1", "max_wait_s": 0.001}
        return ModelSettings.model_validate({**values, **changes})


def status(line: str, body: Any = b"", **headers: str) -> Reply:
    """An answer that is not a stream. Headers are written with underscores."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    kind = {"Content-Type": "application/json"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda talk: talk.reply(data, line, {**kind, **named})


def error(line: str, message: str = "no", **headers: str) -> Reply:
    return status(line, {"error": {"message": message, "type": "test", "code": None}}, **headers)


def begin(talk: Talk, kind: str = "text/event-stream") -> None:
    talk.send(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())


def send(talk: Talk, *chunks: Any) -> None:
    """Each as an event of its own, in an HTTP chunk of its own. Bytes go out as they are."""
    for chunk in chunks:
        talk.send(chunked(chunk if isinstance(chunk, bytes) else b"data: " + json.dumps(chunk).encode() + b"\n\n"))


def end(talk: Talk) -> None:
    send(talk, b"data: [DONE]\n\n")
    talk.send(b"0\r\n\r\n")


def stream(*chunks: Any) -> Reply:
    def reply(talk: Talk) -> None:
        begin(talk)
        send(talk, *chunks)
        end(talk)

    return reply


def delta(finish: str | None = None, **content: Any) -> dict[str, Any]:
    return {
        "id": "x",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": content, "finish_reason": finish}],
    }


def call_piece(arguments: Any = None, *, name: str | None = None, **rest: Any) -> dict[str, Any]:
    """A piece of a tool call; `rest` may have an index and an id."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return delta(tool_calls=[{**rest, "function": function}])


def usage(prompt: int, completion: int) -> dict[str, Any]:
    return {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": 0}}


def words(*pieces: str) -> Reply:
    """A whole streamed reply in words."""
    return stream(*(delta(content=piece) for piece in pieces), delta("stop"), usage(7, len(pieces)))


def completion(text: str | None, finish: str = "stop", calls: Iterable[dict[str, Any]] = ()) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "tool_calls": list(calls)}
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 5},
    }
