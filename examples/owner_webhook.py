"""The owner is told by a webhook: what it is sent is signed, and a forged request is not believed. The server is a
stand-in for a bot, a mail gateway or a pager; it can tell a person, and cannot decide.

Prints:

    server: Agent wants to learn: Doubler neuron
    server:   code hash     …
    server:   decide until  …
    server:   hash          …
    server: to decide: cortex neurons approve doubler
    status 204 for what the cortex sent, 401 for the same with another body
    doubler is awaiting_owner
"""

import hashlib
import hmac
import json
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import SimpleQueue
from tempfile import TemporaryDirectory

import anyio
from anyio import to_thread

from cortex import MotorCortex, Settings

SECRET = "sixteen characters at least"  # noqa: S105 - invented; yours is in CORTEX_NEURONS__OWNER__WEBHOOK_SECRET
MAX_BYTES = 1_000_000
MAX_AGE_S = 300
PROPOSAL = {
    "name": "Doubler",
    "purpose": "Double each number",
    "code": 'if (typeof signal.data?.n === "number") emit("doubled", { n: signal.data.n * 2 });',
    "inputSignals": ["number"],
    "outputSignals": ["doubled"],
    "energyBudget": 0.01,
}


def is_signed(headers: dict[str, str], body: bytes) -> bool:
    """Whether the cortex sent this, and lately: an old request that somebody recorded is none."""
    timestamp = headers.get("X-Cortex-Timestamp", "")
    signed = hmac.new(SECRET.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    given = headers.get("X-Cortex-Signature", "")
    is_new = timestamp.isdigit() and abs(time.time() - int(timestamp)) <= MAX_AGE_S
    return is_new and hmac.compare_digest(given.encode(), f"sha256={signed}".encode())


class Hook(BaseHTTPRequestHandler):
    arrived: SimpleQueue[tuple[dict[str, str], bytes, int]] = SimpleQueue()

    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), MAX_BYTES))
        headers = dict(self.headers.items())
        status = 204 if is_signed(headers, body) else 401
        if status == 204:
            told = json.loads(body)
            # `view` is made for eyes: what an agent wrote cannot steer a terminal, hide, or pass for another line.
            print(*(f"server: {line}" for line in (told["title"], *told["view"][-3:])), sep="\n")
            print(f"server: to decide: {told['approve']}")
        self.arrived.put((headers, body, status))
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def forged(url: str, headers: dict[str, str], body: bytes) -> int:
    """The answer to a true request with a false body."""
    request = urllib.request.Request(url, body.replace(b"Doubler", b"Tripler"), headers)  # noqa: S310 - http, on loopback
    try:
        return urllib.request.urlopen(request, timeout=10).status  # noqa: S310
    except urllib.error.HTTPError as error:
        return error.code


async def main(url: str, home: str) -> None:
    owner = {"console": False, "webhook_url": url, "webhook_secret": SECRET}
    async with MotorCortex(Settings(home=home, neurons={"owner": owner})) as cortex:
        async with cortex.turn() as turn:
            await turn.call("core.consolidate", PROPOSAL)
        headers, body, status = await to_thread.run_sync(lambda: Hook.arrived.get(timeout=30))
        refused = await to_thread.run_sync(forged, url, headers, body)
        print(f"status {status} for what the cortex sent, {refused} for the same with another body")
        neuron = cortex.learning.store.get("doubler")
        print(f"{neuron.id} is {neuron.status}")


with HTTPServer(("127.0.0.1", 0), Hook) as server, TemporaryDirectory() as folder:
    threading.Thread(target=server.serve_forever).start()
    try:
        anyio.run(main, f"http://127.0.0.1:{server.server_port}/", folder)
    finally:
        server.shutdown()
