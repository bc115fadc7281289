"""An MCP server over HTTP in a thread: of the old kind, with sessions, and as bad as it is told to be."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], bytes]


class Web(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.url = f"http://127.0.0.1:{self.server_port}/mcp"
        self.heard: list[tuple[str, str, dict[str, str], dict[str, Any]]] = []
        """Method, path, headers, message."""
        self.sessions: set[str] = set()
        self.misbehave: Callable[[dict[str, Any]], Answer | None] = lambda _: None
        """May answer a message in place of what is right."""

    def answer(self, message: dict[str, Any], session: str | None) -> Answer:
        method = message.get("method")
        if "id" not in message:
            return 202, {}, b""
        if method == "initialize":
            name = f"session-{len(self.heard)}"
            self.sessions.add(name)
            result: Any = {
                "protocolVersion": "2025-06-18",
                "serverInfo": {"name": "web", "version": "1"},
                "capabilities": {"tools": {}},
            }
            return 200, {"Mcp-Session-Id": name}, _reply(message, result)
        if session not in self.sessions:
            return 404, {}, b"no such session"
        if method == "tools/list":
            return 200, {}, _reply(message, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})
        arguments = message["params"].get("arguments", {})
        return 200, {}, _reply(message, {"content": [], "structuredContent": arguments})


def _reply(message: dict[str, Any], result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()


def packed(message: dict[str, Any], size: int) -> Answer:
    body = _reply(message, {"content": [{"type": "text", "text": "x" * size}]})
    return 200, {"Content-Encoding": "gzip"}, gzip.compress(body)


def large(message: dict[str, Any], size: int) -> Answer:
    return 200, {}, _reply(message, {"content": [{"type": "text", "text": "x" * size}]})


class _Request(BaseHTTPRequestHandler):
    server: Web
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.heard.append(("POST", self.path, dict(self.headers), message))
        if message.get("method") == "server/discover":
            return self._send(400, {}, b"what?")
        answer = self.server.misbehave(message) or self.server.answer(message, self.headers.get("Mcp-Session-Id"))
        return self._send(*answer)

    def do_GET(self) -> None:
        self._send(405, {}, b"")

    def do_DELETE(self) -> None:
        self.server.heard.append(("DELETE", self.path, dict(self.headers), {}))
        self._send(204, {}, b"")

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def web() -> Iterator[Web]:
    server = Web()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
