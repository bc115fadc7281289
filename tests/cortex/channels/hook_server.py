"""An owner's server, and a proposal to tell it of."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from neurons import Metadata, Neuron, Notice, Report, Request, ScenarioResult, Status

SECRET = "a secret of sixteen or more"


@dataclass
class Heard:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class HookServer:
    """Answers with the statuses that it was given, in order, and 200 when none is left. 0 hangs up, None never answers."""

    statuses: list[int | None] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    heard: list[Heard] = field(default_factory=list)
    port: int = 0
    closing: threading.Event = field(default_factory=threading.Event)


@contextmanager
def hook_server(*statuses: int | None, tls: ssl.SSLContext | None = None, **more: Any) -> Iterator[HookServer]:
    state = HookServer(list(statuses), **more)

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            state.heard.append(Heard(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            status = state.statuses.pop(0) if state.statuses else 200
            if status is None:
                state.closing.wait(30)
            if not status:
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in state.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(state.body)))
            self.end_headers()
            self.wfile.write(state.body)

        do_GET = do_POST  # noqa: N815 - as the server wants it

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def proposal(**changes: Any) -> Neuron:
    request = Request(
        nonce="n" * 16, code_hash="ab" * 32, policy_hash="cd" * 32, shown_hash="ef" * 32, asked_at=0, expires_at=1e9
    )
    scenarios = (
        ScenarioResult(name="typical", signals=1, ok=True, emitted={"crypto_price_change": 1}, energy=0.0021),
        ScenarioResult(name="burst", signals=50, ok=True),
    )
    given: dict[str, Any] = {
        "id": "crypto-price",
        "name": "CryptoPrice",
        "code": "const price = 1;\nemit('crypto_price_change', { price });",
        "input_signals": ("tick",),
        "output_signals": ("crypto_price_change",),
        "energy_budget": 0.02,
        "tier": "network",
        "hosts": ("api.example.com",),
        "tools": ("shop.stock",),
        "metadata": Metadata(created_at="now", code_hash="ab" * 32, purpose="Tell when the price changes", habit="h-1"),
        "status": Status.AWAITING_OWNER,
        "report": Report(at=0, code_hash="ab" * 32, policy_hash="cd" * 32, scenarios=scenarios, findings=("all well",)),
        "request": request,
        **changes,
    }
    return Neuron.model_validate(given)


def notice(**changes: Any) -> Notice:
    neuron = proposal(**changes)
    assert neuron.request is not None
    return Notice("Agent wants to learn: CryptoPrice neuron", neuron, neuron.request.shown_hash)
