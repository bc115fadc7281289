"""A real console on a real home, in a thread with its own event loop, and a client that sends whatever bytes it likes."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import anyio

from cortex.console import Console, Guards, listen_on_loopback
from cortex.settings import Settings

BOUND_S = 20


@dataclass
class Reply:
    status: int
    headers: dict[str, list[str]]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def header(self, name: str) -> str:
        return ", ".join(self.headers.get(name, []))


@dataclass
class Served:
    """A console that is running."""

    console: Console
    home: Path
    codes: list = field(default_factory=list)

    @property
    def place(self):
        return self.console.desk.place

    def raw(self, data: bytes, *, timeout: float = BOUND_S) -> bytes:
        """All that the server answers to these bytes until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.place.port), timeout) as sock:
            sock.sendall(data)
            answer = b""
            while more := sock.recv(65_536):
                answer += more
            return answer

    def ask(
        self, method: str, path: str, headers: dict[str, str | list[str] | None] | None = None, body: str = ""
    ) -> Reply:
        """One request. The usual headers of a page of the console are there, unless they are given as None."""
        usual = {"host": self.place.authority, "sec-fetch-site": "same-origin", "connection": "close"}
        if method == "POST":
            usual |= {
                "origin": self.place.origin,
                "content-type": "application/x-www-form-urlencoded",
                "content-length": str(len(body.encode())),
            }
        lines = [f"{method} {path} HTTP/1.1"]
        for name, value in {**usual, **(headers or {})}.items():
            lines += [f"{name}: {one}" for one in ([value] if isinstance(value, str) else value or ())]
        return parsed(self.raw("\r\n".join([*lines, "", body]).encode("utf-8", "surrogateescape")))

    def log_in(self) -> Client:
        token = self.console.desk.link().partition("#")[2]
        reply = self.ask("POST", "/login", body=f"token={token}")
        assert reply.status == 303, reply.text
        return Client(self, reply.header("set-cookie").partition(";")[0])


@dataclass
class Client:
    """A browser that is logged in."""

    served: Served
    cookie: str

    @property
    def session(self):
        return self.served.console.desk.sessions.of([self.cookie])

    def get(self, path: str, **headers: str | None) -> Reply:
        return self.served.ask("GET", path, {"cookie": self.cookie, **headers})

    def post(self, path: str, form: str = "", *, csrf: str | None = None, **headers: str | None) -> Reply:
        token = self.session.csrf if csrf is None else csrf
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.served.ask("POST", path, {"cookie": self.cookie, **given}, f"csrf={token}&{form}")

    def decide(self, path: str, form: str = "") -> Reply:
        """A dangerous decision, with the code that the terminal shows."""
        asked = self.post(path, form)
        assert asked.status == 303, asked.text
        return self.post(asked.header("location"), f"code={self.served.codes[-1].code}")


def parsed(answer: bytes) -> Reply:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers: dict[str, list[str]] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers.setdefault(name.strip().lower(), []).append(value.strip())
    if "chunked" in headers.get("transfer-encoding", []):
        body = b"".join(re.findall(rb"[0-9a-f]+\r\n(.*?)\r\n", body, re.S))
    return Reply(int(first.split()[1]), headers, body)


@contextmanager
def served(
    home: Path, guards: Guards | None = None, *, settings: Settings | None = None, name: str | None = None
) -> Iterator[Served]:
    given = settings or Settings(home=home)
    listening = listen_on_loopback(0)
    codes: list = []
    console = Console(given, listening, guards=guards, name=name, tell=codes.append)
    ready, ended = threading.Event(), threading.Event()
    stop: list = []
    failed: list[BaseException] = []

    async def main() -> None:
        until = anyio.Event()
        token = anyio.lowlevel.current_token()
        stop.append(lambda: anyio.from_thread.run_sync(until.set, token=token))
        await console.serve(until, started=ready.set)

    def run() -> None:
        try:
            anyio.run(main)
        except BaseException as error:  # noqa: BLE001 - told to the test
            failed.append(error)
        finally:
            ready.set()
            ended.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(BOUND_S)
    if failed:
        raise failed[0]
    try:
        yield Served(console, home, codes)
    finally:
        if not ended.is_set():
            stop[0]()
        assert ended.wait(BOUND_S), "the console did not end"
        for one in listening:
            one.close()
    assert failed == []


class Forms(HTMLParser):
    """What the forms of a page would send, by their actions."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.actions: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "form":
            self.actions.append(dict(attrs).get("action") or "")


def audit_facts(home: Path) -> list[dict]:
    return [
        json.loads(line) for path in sorted((home / "audit").glob("*.jsonl")) for line in path.read_text().splitlines()
    ]
