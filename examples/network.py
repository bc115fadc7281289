"""Fetch through the host: a secret that the code never sees, a record of what was fetched, and a replay without a
network.

Prints:

    18 degrees, for the owner of [redacted]
    recorded: GET /v1/today 200 with Authorization [redacted]
    replayed: 18 degrees, for the owner of [redacted]
    the service was asked 1 time
"""

import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import anyio

from cortex import reply
from sandbox import DenoRuntime, ExecutionRequest, HostRule, NetworkPolicy, Recorder, Replay, Tier

CODE = 'return await (await fetch(context.at + "/v1/today")).text()'
asked: list[str] = []


class Weather(BaseHTTPRequestHandler):
    """Stands for a service on the internet, which needs neither `http` nor `private` below."""

    def do_GET(self) -> None:
        asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"18 degrees, for the owner of {self.headers['Authorization']}".encode())

    def log_message(self, *_: object) -> None:
        pass


async def main(port: int) -> None:
    rule = HostRule(
        host="127.0.0.1",
        ports=(port,),
        methods=("GET",),
        paths=("/v1",),
        http=True,
        private=True,
        headers={"Authorization": "Bearer ${env:WEATHER_TOKEN}"},
    )
    recorder = Recorder()
    request = ExecutionRequest(code=CODE, tier=Tier.NETWORK, context={"at": f"http://127.0.0.1:{port}"})
    async with DenoRuntime() as runtime:
        outcome = await runtime.execute(request, network=NetworkPolicy(allow=(rule,), recorder=recorder))
        print(outcome.result)
        for exchange in recorder.exchanges:
            sent = dict(exchange.request_headers)["authorization"]
            path = exchange.url.removeprefix(f"http://127.0.0.1:{port}")
            print(f"recorded: {exchange.method} {path} {exchange.status} with Authorization {sent}")
        replay = Replay.from_json(recorder.to_json())
        outcome = await runtime.execute(request, network=NetworkPolicy(allow=(rule,), replay=replay))
        print("replayed:", outcome.result if outcome.ok else reply(outcome))
    print("the service was asked", len(asked), "time")


os.environ["WEATHER_TOKEN"] = "correct-horse-battery"  # noqa: S105 - invented
with HTTPServer(("127.0.0.1", 0), Weather) as server:
    threading.Thread(target=server.serve_forever).start()
    try:
        anyio.run(main, server.server_port)
    finally:
        server.shutdown()
