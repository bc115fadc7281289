"""`/metrics` of the console: the metrics of the home for Prometheus. For programs: no session opens it, and its token
opens no page.

A monitoring system cannot know the secret name of the console, so it comes by an address. Then a token stands between
the numbers and every other program and page on this machine.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from cortex.home import Home
from cortex.http import LOOPBACK_NAMES, HttpRefusal, headers_of, welcome
from cortex.telemetry import CONTENT_TYPE, METRICS, HomeMetrics, exposition
from sandbox import FileLock, LockBusy, read_private, replace_file

from .door import ConsolePlace

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from cortex.http import Headers
    from cortex.settings import Settings

log = logging.getLogger("motor_cortex")

METRICS_PATH = "/metrics"
TOKEN_FILE = "metrics.token"  # noqa: S105 - the name of the file
FOLD_S = 5.0
"""Prometheus waits ten seconds by default. What is not summed up by then goes on with the next scrape."""
_TOKEN_BYTES = 32
_MOST_BYTES = 200

Check = Callable[["Headers", ConsolePlace, bytes], HttpRefusal | None]


def metrics_token(state: Path) -> str:
    """The token of the home, made when it is first asked for. Only this user can read it. Raises OSError."""
    path = state / TOKEN_FILE
    lock = FileLock(state / f"{TOKEN_FILE}.lock")
    try:
        with lock.held():
            found = (read_private(path, _MOST_BYTES, close=True) or b"").strip()
            if not found:
                found = secrets.token_urlsafe(_TOKEN_BYTES).encode()
                replace_file(path, found + b"\n", durable=True)
            return found.decode("ascii", "replace")
    except LockBusy as error:
        raise OSError(str(error)) from error
    finally:
        lock.close()


def check_host(headers: Headers, place: ConsolePlace, _: bytes) -> HttpRefusal | None:
    """A foreign name that resolves to this machine (DNS rebinding) still sends its own name, and another port its own
    port."""
    own = {place.authority, *(f"{name}:{place.port}" for name in LOOPBACK_NAMES)}
    hosts = headers.get("host", [])
    return None if len(hosts) == 1 and hosts[0] in own else HttpRefusal(421, f"Ask for 127.0.0.1:{place.port}")


def check_browser(headers: Headers, *_: object) -> HttpRefusal | None:
    """No page of any site needs the metrics, and a browser says of which site a page is."""
    is_page = "origin" in headers or headers.get("sec-fetch-site", ["none"]) != ["none"]
    return HttpRefusal(403, "The metrics are for monitoring systems, not for pages") if is_page else None


def check_token(headers: Headers, _: ConsolePlace, token: bytes) -> HttpRefusal | None:
    given = headers.get("authorization", [])
    scheme, _space, shown = (given[0] if len(given) == 1 else "").partition(" ")
    # Always compared, in constant time: the duration tells nothing about the token.
    is_token = hmac.compare_digest(shown.strip().encode(errors="replace"), token)
    if is_token and token and scheme.lower() == "bearer":
        return None
    return HttpRefusal(401, 'Send the token that "cortex console token" prints: Authorization: Bearer TOKEN')


METRICS_CHECKS: dict[str, Check] = {"host": check_host, "browser": check_browser, "token": check_token}
"""In the order in which they are made."""


class MetricsPage:
    """An ASGI app. It answers one scrape after the other; more wait for their turn as long as the monitoring system
    does."""

    def __init__(self, settings: Settings, place: ConsolePlace, checks: dict[str, Check] | None = None) -> None:
        self._place = place
        self._checks = METRICS_CHECKS if checks is None else checks
        self._state = Home(settings.home).state
        self._metrics = HomeMetrics(settings)
        self._one = anyio.CapacityLimiter(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.responses import Response  # noqa: PLC0415 - only the console needs it

        refusal = await self._refusal(scope)
        if refusal is None:
            welcome(scope)
            status, text = await self._answer()
        else:
            status, text = refusal.status, f"{refusal.text}\n"
        headers = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
        if refusal is not None:
            headers["connection"] = "close"
        if status == 401:
            headers["www-authenticate"] = 'Bearer realm="cortex metrics"'
        if status == 503:
            headers["retry-after"] = "5"
        kind = CONTENT_TYPE if status == 200 else "text/plain; charset=utf-8"
        body = b"" if scope["method"] == "HEAD" else text.encode(errors="replace")
        await Response(body, status, {**headers, "content-type": kind})(scope, receive, send)

    async def _refusal(self, scope: Scope) -> HttpRefusal | None:
        if scope["method"] not in {"GET", "HEAD"}:
            return HttpRefusal(405, "The metrics can only be read")
        headers = headers_of(scope)
        try:
            # Read each time: a new token counts at once.
            token = await anyio.to_thread.run_sync(metrics_token, self._state)
        except OSError as error:
            return HttpRefusal(503, f"The token of the home cannot be read: {error.strerror or error}")
        found = (check(headers, self._place, token.encode()) for check in self._checks.values())
        return next((refusal for refusal in found if refusal is not None), None)

    async def _answer(self) -> tuple[int, str]:
        """The status and the text. A year of records is summed up over several scrapes."""
        give_up = anyio.current_time() + FOLD_S
        async with self._one:
            while await anyio.to_thread.run_sync(self._metrics.go_on):
                if anyio.current_time() > give_up:
                    await anyio.to_thread.run_sync(self._metrics.keep)
                    return 503, "The audit is being summed up for the first time. Ask again.\n"
            samples = await anyio.to_thread.run_sync(self._metrics.gather)
        return 200, exposition(samples, METRICS)
