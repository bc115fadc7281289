"""A server of an attacker on this machine: empty pages on any name, in which tests run the attacker's scripts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Stranger:
    port: int
    cookies: list[str] = field(default_factory=list)
    """What browsers sent as cookies."""

    def page(self, name: str = "127.0.0.1") -> str:
        return f"http://{name}:{self.port}/"


@contextmanager
def stranger() -> Iterator[Stranger]:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.cookies += self.headers.get_all("cookie") or []
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>nice</title><body></body>")

        do_POST = do_GET  # noqa: N815 - the server's name for it

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        server.daemon_threads = True
        found = Stranger(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join(10)


# Each is a script that a page of the attacker runs; it gets the origin of the console and says what it got.
ATTACKS = {
    "form": """async (to) => {
        document.body.innerHTML = `<form method=post action="${to}/kill"><input name=reason value=attack></form>`;
        document.forms[0].submit();
        return "";
    }""",
    "blind request": """async (to) => {
        const body = new URLSearchParams({ reason: "attack" });
        await fetch(to + "/kill", { method: "POST", mode: "no-cors", credentials: "include", body }).catch(() => 0);
        return "";
    }""",
    "read": """async (to) => {
        const reply = await fetch(to + "/", { credentials: "include" }).catch(() => null);
        return reply ? await reply.text() : "";
    }""",
    "events": """(to) => new Promise((done) => {
        const source = new EventSource(to + "/events", { withCredentials: true });
        source.onopen = () => done("open");
        source.onerror = () => { source.close(); done(""); };
    })""",
    "script": """(to) => new Promise((done) => {
        const script = document.createElement("script");
        script.src = to + "/static/login.js";
        script.onload = () => done("ran");
        script.onerror = () => done("");
        document.head.append(script);
    })""",
    "web socket": """(to) => new Promise((done) => {
        const socket = new WebSocket(to.replace("http", "ws") + "/events");
        socket.onopen = () => done("open");
        socket.onerror = () => done("");
    })""",
}
