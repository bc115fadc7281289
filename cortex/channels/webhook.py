"""Notifies the owner with a signed HTTP request to the owner's webhook. Of the response only the status is read, unless
the request asks for an answer."""

from __future__ import annotations

import hashlib
import hmac
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import anyio
from pydantic_core import to_json

from cortex.text import PLAIN_COLUMNS
from neurons import ChannelError, is_local_name, is_loopback, webhook_problem

from .console import set_in
from .owner_page import outcome_line, owner_view

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from tenacity import RetryCallState

    from neurons import Emitted, Notice, Outcome, OwnerSettings

    Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

TIMESTAMP, SIGNATURE = "X-Cortex-Timestamp", "X-Cortex-Signature"
USER_AGENT = "motor-cortex"
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 30
_MAX_REASON = 200
_BUSY = (408, 425, 429)
"""Statuses of a server that may accept the request later: retried."""


class _Passing(Exception):
    """A failure that is retried, because the next attempt may succeed."""


class WebhookReply(NamedTuple):
    """What came back for a request that asks for an answer. Anything may stand in it."""

    status: int
    signature: str
    content: bytes


class WebhookChannel:
    """Sends over https. Plain http is allowed only to loopback addresses, also after DNS; redirects are not followed.
    Signs each request with the secret: `sha256=` and the HMAC of the timestamp, a dot and the body, in hexadecimal."""

    def __init__(
        self,
        settings: OwnerSettings,
        *,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        resolve: Resolve | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        """Raises ChannelError when the settings have no address that may be used, or no secret."""
        self._settings = settings
        self._now = now
        self._sleep = sleep
        self._resolve = _resolved if resolve is None else resolve
        self._trust = trust
        self._url = settings.webhook_url.get_secret_value() if settings.webhook_url else ""
        self._secret = settings.webhook_secret.get_secret_value().encode() if settings.webhook_secret else b""
        # Checked again, although the settings were validated: pydantic does not validate a copy of a model.
        if problem := webhook_problem(self._url):
            raise ChannelError(f"Cannot tell the owner by webhook: the address {problem}")
        if not self._secret:
            raise ChannelError("Cannot tell the owner by webhook: there is no secret to sign with")

    name = "webhook"

    async def notify(self, notice: Notice) -> None:
        """Send the notice, with retries. Raises ChannelError and nothing else but a cancellation: after the last
        attempt with its reason, or at once for a failure that a retry would not change."""
        await self._send(body_of(notice))

    async def emitted(self, emitted: Emitted) -> None:
        """Send what a neuron says. Like `notify`."""
        await self._send(emission_body(emitted))

    async def outcome(self, outcome: Outcome) -> None:
        """Send what became of a neuron. Like `notify`."""
        await self._send(outcome_body(outcome))

    async def ask(self, body: dict[str, Any], most: int) -> WebhookReply:
        """Send once, and return what comes back, at most so many bytes of it. Raises ChannelError."""
        sent = to_json(body, inf_nan_mode="null", serialize_unknown=True)
        try:
            with anyio.fail_after(self._settings.webhook_timeout_s):
                return await self._sent(sent, urlsplit(self._url), most)
        except ChannelError:
            raise
        except Exception as error:
            raise self._failed(_reason(error)) from error

    async def _send(self, body: dict[str, Any]) -> None:
        try:
            await self._notify(to_json(body, inf_nan_mode="null", serialize_unknown=True))
        except ChannelError:
            raise
        except Exception as error:
            raise self._failed(_reason(error)) from error

    async def _notify(self, body: bytes) -> None:
        # Imported late: without a webhook it is not needed.
        from tenacity import (  # noqa: PLC0415
            AsyncRetrying,
            retry_if_exception_type,
            stop_after_attempt,
            wait_exponential_jitter,
        )

        attempts = AsyncRetrying(
            sleep=self._sleep,
            stop=stop_after_attempt(self._settings.webhook_attempts),
            wait=wait_exponential_jitter(multiplier=_FIRST_WAIT_S, max=_LONGEST_WAIT_S, jitter=_FIRST_WAIT_S),
            retry=retry_if_exception_type(_Passing),
            retry_error_callback=self._given_up,
        )
        await attempts(self._attempt, body)

    def _given_up(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        many = "" if state.attempt_number == 1 else f", in {state.attempt_number} attempts"
        raise self._failed(f"{error}{many}") from error

    async def _attempt(self, body: bytes) -> None:
        import httpx2  # noqa: PLC0415 - late: it takes a while to load

        with anyio.move_on_after(self._settings.webhook_timeout_s):
            try:
                reply = await self._sent(body, urlsplit(self._url))
            except (httpx2.TransportError, OSError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
                raise _Passing(_reason(error)) from error
            self._judge(reply.status)
            return
        raise _Passing(f"there was no answer within {self._settings.webhook_timeout_s:g} s")

    def _judge(self, status: int) -> None:
        match status // 100:
            case 2:
                return
            case 3:
                raise self._failed(f"it redirects (status {status}), and no redirect is followed")
            case _ if status // 100 == 5 or status in _BUSY:
                raise _Passing(f"it answered with status {status}")
        raise self._failed(f"it answered with status {status}")

    async def _sent(self, body: bytes, parts: SplitResult, most: int = 0) -> WebhookReply:
        import httpx2  # noqa: PLC0415

        if parts.scheme == "https":
            return await self._post(self._url, parts, body, most)
        # Connect to the address that was checked: resolved a second time, the name could lead elsewhere.
        *others, last = await self._local_addresses(parts)
        for address in others:
            with suppress(httpx2.ConnectError):
                return await self._post(_at(address, parts), parts, body, most)
        return await self._post(_at(last, parts), parts, body, most)

    async def _local_addresses(self, parts: SplitResult) -> Sequence[str]:
        host = parts.hostname or ""
        if not is_local_name(host):
            raise self._failed("it is not on this machine, and not encrypted")
        found = [host] if is_loopback(host) else await self._resolve(host, parts.port or 80)
        if not found or not all(map(is_loopback, found)):
            raise self._failed(f'"{host[:100]}" leads to another machine, and the connection is not encrypted')
        return found

    async def _post(self, url: str, parts: SplitResult, body: bytes, most: int) -> WebhookReply:
        import httpx2  # noqa: PLC0415

        from cortex.http import read_at_most  # noqa: PLC0415 - late, as above

        is_sealed = parts.scheme == "https"
        # Plain http needs no trusted certificates. It also uses no proxy of the environment: the proxy would see what
        # is for this machine alone.
        verify = (self._trust or True) if is_sealed else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        timeout = httpx2.Timeout(self._settings.webhook_timeout_s)
        async with httpx2.AsyncClient(
            verify=verify, trust_env=is_sealed, timeout=timeout, follow_redirects=False
        ) as client:
            headers = {"Host": parts.netloc, **self._headers(body)}
            async with client.stream("POST", url, content=body, headers=headers) as response:
                # Where no answer is asked for, the body is not read: no reply of the server is a decision then.
                content = await read_at_most(response, most) if most else b""
                if content is None:
                    raise self._failed(f"it answered with more than {most} bytes")
                return WebhookReply(response.status_code, response.headers.get(SIGNATURE, ""), content)

    def _headers(self, body: bytes) -> dict[str, str]:
        timestamp = str(int(self._now()))
        return {
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
            "Accept-Encoding": "identity",
            TIMESTAMP: timestamp,
            SIGNATURE: signature_of(self._secret, timestamp, body),
        }

    def _failed(self, reason: str) -> ChannelError:
        return ChannelError(f"Cannot tell the owner by webhook at {urlsplit(self._url).hostname}: {reason}")


def _at(address: str, parts: SplitResult) -> str:
    place = f"[{address}]" if ":" in address else address
    return parts._replace(netloc=f"{place}:{parts.port or 80}").geturl()


def signature_of(secret: bytes, timestamp: str, body: bytes) -> str:
    return f"sha256={hmac.new(secret, timestamp.encode() + b'.' + body, hashlib.sha256).hexdigest()}"


def body_of(notice: Notice) -> dict[str, Any]:
    """The JSON body. A proposal keeps its `shownHash`, however often it is sent."""
    neuron = notice.neuron
    request = neuron.request
    return {
        "event": "neuron_proposed",
        "title": notice.title,
        "shownHash": notice.shown_hash,
        "expiresAt": request.expires_at if request else None,
        "approve": f"cortex neurons approve {neuron.id}",
        # Safe to display: no text in these lines can control a terminal, hide, or pass for another line.
        "view": set_in(owner_view(neuron, notice.habit, notice.around), PLAIN_COLUMNS),
        "neuron": neuron.model_dump(
            mode="json", by_alias=True, exclude={"state", "outbox", "request", "approvals", "versions"}
        ),
    }


def emission_body(emitted: Emitted) -> dict[str, Any]:
    """The JSON body of what a neuron says. A receiver that is sent it twice knows it by its id."""
    signal = emitted.signal
    return {
        "event": "neuron_emitted",
        "id": signal.id,
        "neuron": emitted.neuron,
        "name": emitted.name,
        "type": signal.type,
        "text": emitted.text,
        "data": signal.data,
        "at": signal.at,
    }


def outcome_body(outcome: Outcome) -> dict[str, Any]:
    """The JSON body of what became of a neuron. A receiver that is sent it twice knows it by neuron, event and time."""
    return {
        "event": outcome.event,
        "neuron": outcome.neuron.id,
        "name": outcome.neuron.name,
        "text": outcome_line(outcome),
        "reason": outcome.reason,
        "at": outcome.at,
    }


async def _resolved(host: str, port: int) -> Sequence[str]:
    found = await anyio.getaddrinfo(host, port)
    return list(dict.fromkeys(str(place[4][0]) for place in found))


def _reason(error: BaseException) -> str:
    # Our own words or the system's: no text of the server gets here.
    return (str(error) or type(error).__name__)[:_MAX_REASON]
