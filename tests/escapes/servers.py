"""Loopback servers for the attack programs, in a process of their own so that they take no time of the host.

The first line on stdout is their ports as JSON; each further line is a request that reached them: `allowed GET /ok`,
`forbidden …`, `udp …`. They end when stdin closes.
"""

from __future__ import annotations

import gzip
import json
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

BOMB = gzip.compress(b"\0" * (64 << 20), 9)


def tell(*words: str) -> None:
    sys.stdout.write(" ".join(words).replace("\n", " ") + "\n")
    sys.stdout.flush()


class Allowed(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do(self) -> None:  # noqa: PLR0912 - one branch for each place
        where = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        tell("allowed", self.command, self.path[:200])
        match where.path:
            case "/redirect":
                query = parse_qs(where.query)
                self.reply(int(query.get("code", ["302"])[0]), b"", Location=query["to"][0])
            case "/circle":
                self.reply(302, b"", Location="/circle")
            case "/echo":
                seen = {"method": self.command, "path": self.path, "headers": self.headers.items()}
                self.reply(200, json.dumps({**seen, "body": body.decode(errors="replace")}).encode())
            case "/endless":
                self.send_response(200)
                self.end_headers()
                while True:
                    self.wfile.write(b"x" * 65536)
            case "/bomb":
                self.reply(200, BOMB, Content_Encoding="gzip")
            case "/bytes":
                query = parse_qs(where.query)
                pattern = query["of"][0].encode()
                self.reply(200, (pattern * (int(query["size"][0]) // len(pattern) + 1))[: int(query["size"][0])])
            case "/bombs":
                self.reply(200, gzip.compress(BOMB), Content_Encoding="gzip, gzip")
            case "/slow":
                self.send_response(200)
                self.send_header("Content-Length", "1000000")
                self.end_headers()
                for _ in range(600):
                    self.wfile.write(b"x")
                    time.sleep(0.1)
            case "/silent":
                time.sleep(60)
            case "/headers":
                self.reply(200, b"many", **{f"X_{n}": "y" * 8000 for n in range(2000)})
            case "/short":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"not a thousand")
                self.close_connection = True
            case "/garbage":
                self.wfile.write(b"\x00\xff this is no HTTP\r\n\r\n" * 100)
                self.close_connection = True
            case _:
                self.reply(200, b"allowed says hello")

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = do  # noqa: N815 - the names it must have


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        pass  # clients that disconnect are expected


def forbidden(server: socket.socket) -> None:
    """Report every connection to this port: no program may connect to it."""
    while True:
        peer, _ = server.accept()
        with peer:
            peer.settimeout(0.3)
            try:
                said = peer.recv(500)
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\nFORBIDDEN-BODY")
            except OSError:
                said = b""
        tell("forbidden", repr(said[:120]))


def datagrams(server: socket.socket) -> None:
    while True:
        tell("udp", repr(server.recv(500)[:120]))


def main() -> None:
    allowed = Quiet(("127.0.0.1", 0), Allowed)
    refused = socket.create_server(("127.0.0.1", 0), backlog=100)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    tell(json.dumps([allowed.server_port, refused.getsockname()[1], udp.getsockname()[1]]))
    for target, server in ((forbidden, refused), (datagrams, udp)):
        threading.Thread(target=target, args=(server,), daemon=True).start()
    threading.Thread(target=allowed.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
