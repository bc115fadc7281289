"""Server programs for the tests, which answer with the contents of a file. Each prints its port, or uses its pipes.

python -m tests.entry_points.servers stdio FILE      an MCP server; what it answers to a call is in the file
python -m tests.entry_points.servers http FILE HOW   the same over HTTP; HOW is json, events or bytes (one at a time)
python -m tests.entry_points.servers chat FILE HOW   an endpoint of a model; HOW is json, events or bytes
python -m tests.entry_points.servers hook FILE       takes requests, and answers without an end
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from pathlib import Path
from typing import BinaryIO

TOOLS = {"tools": [{"name": "go", "inputSchema": {"type": "object"}}]}
GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "raw", "version": "1"},
}


def answer(message: dict, payload: bytes) -> bytes | None:
    number = message.get("id")
    match message.get("method"):
        case _ if number is None:
            return None
        case "initialize":
            result = json.dumps(GREETING).encode()
        case "tools/list":
            result = json.dumps(TOOLS).encode()
        case "tools/call":
            result = payload
        case _:
            error = {"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no"}}
            return json.dumps(error).encode()
    return b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (number, result)


def stdio(payload: bytes) -> None:
    for line in sys.stdin.buffer:
        said = answer(json.loads(line), payload)
        if said is not None:
            sys.stdout.buffer.write(said + b"\n")
            sys.stdout.buffer.flush()


def served(talk: object) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=talk, args=(connection,), daemon=True).start()  # type: ignore[arg-type]


def request(stream: BinaryIO) -> bytes | None:
    size = 0
    if not stream.readline():
        return None
    while (line := stream.readline()).strip():
        name, _, value = line.partition(b":")
        size = int(value) if name.lower() == b"content-length" else size
    return stream.read(size)


def reply(connection: socket.socket, body: bytes, how: str, more: str = "") -> None:
    kind = "application/json" if how == "json" else "text/event-stream"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{more}"
    body = body if how == "json" else b"data: " + body + b"\n\n"
    if how == "bytes":
        head += "Transfer-Encoding: chunked\r\n\r\n"
        chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body[:100_000])
        rest = body[100_000:]
        chunks += b"%x\r\n%b\r\n" % (len(rest), rest) if rest else b""
        connection.sendall(head.encode() + chunks + b"0\r\n\r\n")
    else:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


def http(payload: bytes, how: str) -> None:
    def talk(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while (body := request(stream)) is not None:
                message = json.loads(body) if body else {}
                said = answer(message, payload)
                if said is None:
                    connection.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
                else:
                    is_call = message["method"] == "tools/call"
                    reply(connection, said, how if is_call else "json", "Mcp-Session-Id: one\r\n")

    served(talk)


def chat(payload: bytes, how: str) -> None:
    def talk(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while request(stream) is not None:
                reply(connection, payload, how)

    served(talk)


def hook(payload: bytes) -> None:
    def talk(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            request(stream)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
            try:
                while True:
                    connection.sendall(payload)
            except OSError:
                pass  # the client stops reading, as it should

    served(talk)


if __name__ == "__main__":
    what, file, *how = sys.argv[1:]
    {"stdio": stdio, "http": http, "chat": chat, "hook": hook}[what](Path(file).read_bytes(), *how)
