"""The network, for the model's code: it reaches what the settings allow, with a token that it never sees, whatever the
model asks for. It costs three times as much energy.

Prints:

    {"today":"18 degrees, for the owner of [redacted]"}
    EXECUTION_ERROR: PermissionError: PermissionDenied: Fetching GET https://elsewhere.example is denied: the host …
    energy: 1.00 before, 0.70 after
"""

import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from tempfile import TemporaryDirectory

import anyio

from cortex import MotorCortex, Settings


class Weather(BaseHTTPRequestHandler):
    """Stands for a service on the internet, which needs neither `http` nor `private` below."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"18 degrees, for the owner of {self.headers['Authorization']}".encode())

    def log_message(self, *_: object) -> None:
        pass


async def main(port: int, home: str) -> None:
    weather = {
        "host": "127.0.0.1",
        "ports": [port],
        "paths": ["/v1"],
        "http": True,
        "private": True,
        "headers": {"Authorization": "Bearer ${env:WEATHER_TOKEN}"},
    }
    settings = Settings(home=home, sandbox={"network": {"allow": [weather]}}, energy={"recharge_per_minute": 0})
    async with MotorCortex(settings) as cortex, cortex.turn() as turn:
        before = cortex.energy.level()
        for url in (f"http://127.0.0.1:{port}/v1/today", "https://elsewhere.example/"):
            code = f'return {{ today: await (await fetch("{url}")).text() }}'
            print(await turn.call("core.execute", {"purpose": "weather", "tier": "network", "code": code}))
        print(f"energy: {before:.2f} before, {cortex.energy.level():.2f} after")


os.environ["WEATHER_TOKEN"] = "correct-horse-battery"  # noqa: S105 - invented
with HTTPServer(("127.0.0.1", 0), Weather) as server, TemporaryDirectory() as home:
    threading.Thread(target=server.serve_forever).start()
    try:
        anyio.run(main, server.server_port, home)
    finally:
        server.shutdown()
