"""Real servers on loopback, in threads: any event loop can talk to them, and they can be as hostile as they like."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Heard:
    """One request as it came over the wire."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        found = [value for key, value in self.headers if key.lower() == name]
        assert len(found) <= 1, f"{name} came {len(found)} times"
        return found[0] if found else None


@dataclass
class Talk:
    """One connection while its route has the word."""

    socket: socket.socket
    request: Heard
    server: Server

    def send(self, data: bytes) -> bool:
        """Whether the other side still took it."""
        try:
            self.socket.sendall(data)
        except OSError:
            return False
        self.server.sent_bytes += len(data)
        return True

    def reply(self, body: bytes = b"", status: str = "200 OK", headers: dict[str, str] | None = None) -> None:
        lines = {"Content-Length": str(len(body)), **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.send(
            f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + (b"" if self.request.method == "HEAD" else body)
        )

    def redirect(self, location: str, status: int = 302) -> None:
        self.reply(b"moved", f"{status} Moved", {"Location": location})

    def flood(self, data: bytes, max_bytes: int = 300 * 1024 * 1024) -> None:
        """Send the same until the other side has enough; a client that never has fails the test by the count."""
        while self.server.sent_bytes < max_bytes and self.send(data):
            pass

    def hang_up(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.hang_up()

    def wait_until_gone(self) -> None:
        """Say nothing until the other side closes, or the test ends."""
        with contextlib.suppress(OSError):
            while self.socket.recv(1024):
                pass
        self.server.gone.set()


Route = Callable[[Talk], None]


@dataclass
class Server:
    routes: dict[str, Route] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    family: socket.AddressFamily = socket.AF_INET

    def __post_init__(self) -> None:
        self.heard: list[Heard] = []
        self.connections = 0
        self.sent_bytes = 0
        self.gone = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.socket(self.family)
        self._listener.bind(("::1" if self.family == socket.AF_INET6 else "127.0.0.1", 0))
        self._listener.listen(64)
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exc: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def at(self, name: str) -> str:
        return f"{'https' if self.tls else 'http'}://{name}:{self.port}"

    def paths(self) -> list[str]:
        return [request.path for request in self.heard]

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(connection)
            self._start(self._serve, connection)

    def _serve(self, raw: socket.socket) -> None:
        connection = raw
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                connection = self.tls.wrap_socket(raw, server_side=True)
                self._open.add(connection)
            with connection.makefile("rb") as stream:
                while (request := self._read(stream)) is not None:
                    self.heard.append(request)
                    route = self.routes.get(request.path.partition("?")[0], lambda talk: talk.reply(b"ok"))
                    route(Talk(connection, request, self))
        except (OSError, ValueError):
            pass
        finally:
            for each in (connection, raw):
                self._open.discard(each)
                each.close()

    def _read(self, stream) -> Heard | None:
        first = stream.readline()
        if not first:
            return None
        method, path, _ = first.decode("latin-1").split(" ", 2)
        headers: list[tuple[str, str]] = []
        while (line := stream.readline().decode("latin-1").rstrip("\r\n")) != "":
            name, _, value = line.partition(":")
            headers.append((name, value.strip()))
        length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
        return Heard(method, path, headers, stream.read(length))


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
