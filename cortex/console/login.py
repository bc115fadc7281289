"""Logging in and out, and the files that pages load."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response

from .app import Answer, Given, NotFound, See, ShownPage, Visit
from .door import STATIC
from .sessions import cookie_gone, cookie_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from .desk import Desk

_FOLDER = Path(__file__).parent / "static"
FILES = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "login.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The only names: no path of a request ever becomes a path of a file."""


def static_file(_: Desk, request: Request, __: Given) -> Answer:
    name = request.url.path.removeprefix(STATIC)
    if name not in FILES or request.method == "POST":
        raise NotFound("There is no such file.")
    return Response((_FOLDER / name).read_bytes(), media_type=FILES[name])


def login(desk: Desk, request: Request, form: Given) -> Answer:
    """The page that asks for the token, and the answer to the token."""
    if request.method != "POST":
        return ShownPage("login.html", {"is_lost": False})
    session = desk.sessions.log_in(form.get("token", "").strip(), request.headers.get("user-agent", ""))
    if session is None:
        return ShownPage("login.html", {"is_lost": True}, 403)
    answer = RedirectResponse("/", 303)
    answer.headers["set-cookie"] = cookie_of(session)
    return answer


def log_out(visit: Visit) -> Answer:
    visit.desk.codes.drop(visit.session)
    visit.desk.sessions.end(visit.session)
    answer = RedirectResponse("/login", 303)
    answer.headers["set-cookie"] = cookie_gone()
    return answer


def log_out_others(visit: Visit) -> Answer:
    visit.desk.sessions.end_others(visit.session)
    return See("/settings")
