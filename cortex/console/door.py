"""Decides which requests the console accepts, by their method, path and headers alone. Pure.

Any web page, any program on this machine and any user of it can send requests to the port. Each check here stops some
of them; a table names the checks, and tests show for each what gets in without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cortex.http import Headers, HttpRefusal

LOGIN = "/login"
STATIC = "/static/"
METHODS = ("GET", "HEAD", "POST")
HOW_TO_GET_IN = (
    'Open the console with the link that "cortex console" printed, or ask for another one with "cortex console link". '
    "Links from other pages, mails and chats are refused."
)


class ConsolePlace(NamedTuple):
    """Where this console is: the name that the browser uses, and the port."""

    name: str
    port: int

    @property
    def authority(self) -> str:
        return self.name if self.port == 80 else f"{self.name}:{self.port}"

    @property
    def origin(self) -> str:
        return f"http://{self.authority}"


class AskedPage(NamedTuple):
    """A request, as far as the door reads it."""

    method: str
    path: str
    headers: Headers


Check = Callable[[AskedPage, ConsolePlace], HttpRefusal | None]


def check_host(asked: AskedPage, place: ConsolePlace) -> HttpRefusal | None:
    """A foreign name that resolves to this machine (DNS rebinding) still sends its own name, and another port its own
    port. Compared letter by letter: browsers write our name as we print it."""
    if asked.headers.get("host", []) == [place.authority]:
        return None
    return HttpRefusal(421, f"This console goes by another name and port. {HOW_TO_GET_IN}")


def check_method(asked: AskedPage, _: ConsolePlace) -> HttpRefusal | None:
    if asked.method not in METHODS:
        return HttpRefusal(405, "The console takes GET, HEAD and POST")
    if not asked.path.startswith("/"):
        return HttpRefusal(400, "The console is no proxy")
    return None


def check_fetch_site(asked: AskedPage, _: ConsolePlace) -> HttpRefusal | None:
    """A browser says whether another site made the request. Only the login page may be opened from elsewhere: what
    opens it cannot read it, and it does nothing by itself."""
    sites = asked.headers.get("sec-fetch-site", [])
    if sites in (["same-origin"], ["none"]):
        return None
    is_top = asked.headers.get("sec-fetch-mode") == ["navigate"] and asked.headers.get("sec-fetch-dest") == ["document"]
    if asked.method == "GET" and asked.path == LOGIN and is_top and len(sites) == 1:
        return None
    if not sites:
        return HttpRefusal(
            403, "The browser does not say where the request comes from (Sec-Fetch-Site): use a newer one"
        )
    return HttpRefusal(403, f"Another site made this request. {HOW_TO_GET_IN}")


def check_origin(asked: AskedPage, place: ConsolePlace) -> HttpRefusal | None:
    """A form or a script of another page sends that page's origin, also one on another port of this machine."""
    origins = asked.headers.get("origin", [])
    if origins == [place.origin] or (not origins and asked.method != "POST"):
        return None
    return HttpRefusal(403, f"A page of another origin made this request. {HOW_TO_GET_IN}")


CHECKS: dict[str, Check] = {
    "method": check_method,
    "host": check_host,
    "fetch site": check_fetch_site,
    "origin": check_origin,
}
"""In the order in which they are made."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    # Not no-referrer: with that, browsers send "Origin: null" with our own forms.
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Sent with every answer, also with refusals."""
