"""What the demo's agent works with: a tool that returns a shop's orders, and a local HTTP server with prices."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

from pydantic_core import to_json

from cortex.tools import Toolbox

ORDERS = 8_300
_ITEMS = {"tea": 3, "coffee": 4, "biscuits": 5, "kettles": 30, "honey": 7, "cups": 9}
_COUNTRIES = ("Chile", "Finland", "Ghana", "India", "Japan", "Kenya", "Norway", "Peru")


@dataclass(frozen=True, slots=True)
class Order:
    id: int
    day: str
    customer: str
    country: str
    item: str
    quantity: int
    price: int
    status: str


class Shop:
    """A tool of the host, and how many bytes it has returned."""

    def __init__(self) -> None:
        self.given_bytes = 0
        self.toolbox = Toolbox()
        # Only for code, not for the model: the result is longer than a model should read.
        self.toolbox.add(self.orders, name="shop.orders", for_model=False)

    def orders(self, year: int) -> list[Order]:
        """All orders of a year. Prices are in whole dollars."""
        found = [_order(year, number) for number in range(ORDERS)]
        self.given_bytes += len(to_json(found))
        return found


def _order(year: int, number: int) -> Order:
    # Pseudo-random, but the same orders each time, so that the scripted words of the model fit them.
    scattered = number * 2_654_435_761 % 2**32
    item = list(_ITEMS)[scattered // 7 % len(_ITEMS)]
    return Order(
        id=100_000 + number,
        day=f"{year}-{scattered // 11 % 12 + 1:02}-{scattered // 13 % 28 + 1:02}",
        customer=f"customer-{scattered // 17 % 1_000:04}@shop.example",
        country=_COUNTRIES[scattered // 19 % len(_COUNTRIES)],
        item=item,
        quantity=scattered // 23 % 5 + 1,
        price=_ITEMS[item],
        status="cancelled" if scattered // 29 % 20 == 0 else "paid",
    )


@contextmanager
def price_server() -> Iterator[str]:
    """The address of a server on this machine, with prices that rise each time they are asked for: tea by ten cents,
    and Bitcoin by 400 dollars."""
    tea, bitcoin = count(305, 10), count(97_500, 400)

    class Prices(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            price = next(bitcoin) if self.path == "/bitcoin" else next(tea) / 100
            body = json.dumps({"item": self.path.strip("/"), "price": price}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing: the demo shows each fetch itself."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Prices) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
