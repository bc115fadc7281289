"""Checks a request of the code, and rewrites it for each redirect. Pure: nothing here touches the network."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from . import headers
from .recording import digest
from .refusals import denied, failed, invalid, over_limit
from .urls import BadUrl, ForeignScheme, Target, join, parse

if TYPE_CHECKING:
    from ..contracts import Fetch
    from .headers import Headers
    from .policy import NetworkPolicy

_BODYLESS_METHODS = frozenset({"GET", "HEAD"})
REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Request:
    """What the code asked for, as changed by redirects so far. Contains no secret."""

    method: str
    target: Target
    headers: Headers
    body: bytes | None

    @property
    def digest(self) -> str | None:
        """The digest by which a replay recognizes the body."""
        return digest(self.body, dict(self.headers).get("content-type", ""))


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """The server's response, decompressed."""

    status: int
    reason: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes = b""
    location: str | None = None
    """Where it redirects to, as the server wrote it. It may contain a secret, unlike the redacted `headers`."""


def checked(call: Fetch, policy: NetworkPolicy) -> Request:
    """The request in a frame. The code wrote all of it: raises for anything that is not plainly valid."""
    method = call.method.upper()
    if len(method) > 32 or not headers.is_token(method):
        raise invalid("The method of a request is one word, like GET")
    try:
        target = parse(call.url, policy.max_url_bytes)
    except ForeignScheme as error:
        raise denied(f"Cannot fetch this URL: {error}") from error
    except BadUrl as error:
        raise invalid(f"Cannot fetch this URL: {error}") from error
    return Request(
        method,
        target,
        headers.checked(call.headers, policy.max_headers, policy.max_header_bytes),
        _body(call, method, policy.max_request_bytes),
    )


def redirected(request: Request, status: int, location: str, max_url_bytes: int) -> Request:
    """The request that follows a redirect. The code's credentials go only to the origin that the code sent them to."""
    try:
        target = join(request.target, location, max_url_bytes)
    except ForeignScheme as error:
        # Do not quote the server: the scheme it names may be part of a secret.
        raise denied("Cannot follow a redirect: only https: and http: can be fetched") from error
    except BadUrl as error:
        raise failed(f"Cannot follow a redirect: {error}") from error
    after = replace(request, target=target)
    if (status == 303 and request.method not in _BODYLESS_METHODS) or (
        status in {301, 302} and request.method == "POST"
    ):
        after = replace(after, method="GET", body=None, headers=headers.for_no_body(after.headers))
    if target.origin != request.target.origin:
        after = replace(after, headers=headers.for_another_origin(after.headers))
    return after


def location_of(status: int, lines: Sequence[tuple[bytes, bytes]]) -> str | None:
    """Where a response redirects to; None when it does not."""
    if status not in REDIRECTS:
        return None
    found = [value for name, value in lines if name.lower() == b"location"]
    if not found:
        return None
    if len(set(found)) > 1:
        raise failed("Cannot follow a redirect: it names more than one place")
    try:
        return found[0].decode()
    except UnicodeDecodeError:
        return found[0].decode("latin-1")


def _body(call: Fetch, method: str, max_bytes: int) -> bytes | None:
    if call.body is None:
        return None
    if method in _BODYLESS_METHODS:
        raise invalid(f"A request with the method {method} has no body")
    too_long = f"The body of a request takes at most {max_bytes} bytes"
    if len(call.body) > (max_bytes + 2) // 3 * 4:
        raise over_limit(too_long)
    try:
        body = base64.b64decode(call.body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid("The body of a request is not base64") from error
    if len(body) > max_bytes:  # the check above is exact only to three bytes
        raise over_limit(too_long)
    return body
