"""A small endpoint that speaks like OpenAI's, on loopback, so that the examples need no account and no network. What it
says is a script: one reply for each request, in which {answer} stands for what the last tool answered."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


def tool_call(name: str, **arguments: Any) -> dict[str, Any]:
    """A call of a tool, as the model of the script would make it."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": "call_1", "type": "function", "function": function}


def answered(messages: Sequence[dict[str, Any]]) -> str:
    return next((message["content"] for message in reversed(messages) if message["role"] == "tool"), "")


@contextmanager
def endpoint(*script: str | dict[str, Any]) -> Iterator[str]:
    """The base URL of an endpoint that replies with each part of the script in turn: a text, or a call."""
    replies = iter(script)

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
            reply = next(replies)
            message: dict[str, Any] = {"role": "assistant", "content": None}
            if isinstance(reply, str):
                message["content"] = reply.replace("{answer}", answered(messages))
            else:
                message["tool_calls"] = [reply]
            finish = "tool_calls" if "tool_calls" in message else "stop"
            choice = {"index": 0, "message": message, "finish_reason": finish}
            body = {"id": "1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
