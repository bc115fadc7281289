"""The web application: lets requests in, finds their session, and calls the pages in threads, because they read files.

A page that fails takes nothing else with it: the kill switch works while every page is broken.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import anyio
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Match, Route

from cortex.http import headers_of, welcome

from .door import LOGIN, STATIC, AskedPage
from .sessions import OwnerSession

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from .desk import Desk

log = logging.getLogger("motor_cortex")

MAX_BODY_BYTES = 65_536
BODY_S = 10.0
PAGE_S = 20.0
THREADS = 6
MAX_FIELDS = 40
_FORM = "application/x-www-form-urlencoded"
NOBODY = OwnerSession("", "", "nobody", "", 0, 0)


class NotFound(Exception):
    """There is no such thing. The message says what was looked for."""


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A page: the name of its template and what it shows."""

    template: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class See:
    """Go to another page, which is then asked for with GET."""

    path: str


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text as a download: never shown by the browser itself."""

    name: str
    text: str


Given = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a logged-in owner, as the pages see it."""

    desk: Desk
    session: OwnerSession
    path: Given
    """The variable parts of the path."""
    query: Given
    form: Given


Answer = ShownPage | See | TextFile | Response
Endpoint = Callable[[Visit], Answer]


class ConsoleApp:
    """The ASGI app. `pages` and `actions` are endpoints by their paths, for GET and for POST; `streams` are ASGI apps
    for GET that answer for as long as they like; `open_pages` need no session; `machines` are apps for programs, at
    paths of their own, which let in whom they like. `around` is what every page shows besides its own facts."""

    def __init__(
        self,
        desk: Desk,
        *,
        pages: Mapping[str, Endpoint],
        actions: Mapping[str, Endpoint],
        open_pages: Mapping[str, Callable[[Desk, Request, Given], Answer]],
        streams: Mapping[str, Callable[[Scope, Receive, Send, OwnerSession], Any]] | None = None,
        machines: Mapping[str, ASGIApp] | None = None,
        around: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self._desk = desk
        self._pages = [(Route(path, _nothing), endpoint) for path, endpoint in pages.items()]
        self._actions = [(Route(path, _nothing), endpoint) for path, endpoint in actions.items()]
        self._open = open_pages
        self._streams = streams or {}
        self._machines = machines or {}
        self._around = around
        self._threads = anyio.CapacityLimiter(THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        machine = self._machines.get(scope["path"])
        if machine is not None:
            await machine(scope, receive, send)
            return
        answer = await self._answer(scope, receive, send)
        if answer is not None:
            for name, value in self._desk.guards.headers.items():
                answer.headers.setdefault(name, value)
            await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """The response; None once a stream has answered by itself."""
        from starlette.requests import Request  # noqa: PLC0415 - only the console needs it

        request = Request(scope, receive)
        asked = AskedPage(scope["method"], scope["path"], headers_of(scope))
        for check in self._desk.guards.checks.values():
            if (refusal := check(asked, self._desk.place)) is not None:
                # Said before the body is read: whoever sends it is to stop.
                return PlainTextResponse(refusal.text + "\n", refusal.status, {"connection": "close"})
        session = self._desk.sessions.of(asked.headers.get("cookie", []))
        if session is not None:
            welcome(scope)
        try:
            form = await self._form(request, asked)
            if asked.path == LOGIN or asked.path.startswith(STATIC):
                return await self._in_thread(lambda: self._open_page(request, form), session)
            refused = self._refused(asked, session, form)
            if refused is not None:
                return self._render(refused, session)
            session = session or NOBODY
            stream = self._streams.get(asked.path)
            if stream is not None and asked.method == "GET":
                await stream(scope, receive, send, session)
                return None
            return await self._page(request, asked, session, form)
        except HTTPException as error:
            return PlainTextResponse(f"{error.detail}\n", error.status_code, {"connection": "close"})

    def _refused(self, asked: AskedPage, session: OwnerSession | None, form: dict[str, str]) -> ShownPage | None:
        guards = self._desk.guards
        if session is None and guards.needs_session:
            return ShownPage("login.html", {"is_lost": True}, 401)
        if asked.method == "POST" and not guards.is_csrf(session or NOBODY, form.pop("csrf", "")):
            return _told(403, "This form is out of date. Go back, reload the page and try again.")
        return None

    def _open_page(self, request: Request, form: Given) -> Answer:
        path = LOGIN if request.url.path == LOGIN else STATIC
        return self._open[path](self._desk, request, form)

    async def _page(self, request: Request, asked: AskedPage, session: OwnerSession, form: dict[str, str]) -> Response:
        routes = self._actions if asked.method == "POST" else self._pages
        for route, endpoint in routes:
            # The method was checked already, and these routes have none of their own.
            match, found = route.matches({**request.scope, "method": "GET"})
            if match is Match.FULL:
                query = dict(parse_qsl(request.url.query, max_num_fields=MAX_FIELDS))
                visit = Visit(self._desk, session, found.get("path_params", {}), query, form)
                return await self._in_thread(partial(endpoint, visit), session)
        return self._render(_told(404, "There is no such page."), session)

    async def _in_thread(self, make: Callable[[], Answer], session: OwnerSession | None) -> Response:
        """The response, made in a thread and in bounded time, without what is around it when that takes too long."""

        def made() -> Response:
            try:
                return self._response(make(), session)
            except NotFound as error:
                return self._render(_told(404, str(error)), session)
            except HTTPException:
                raise
            except Exception as error:
                log.exception("A page of the console failed")
                return self._render(_told(500, f"This page cannot be shown: {type(error).__name__}: {error}"), session)

        try:
            with anyio.fail_after(PAGE_S):
                return await anyio.to_thread.run_sync(made, limiter=self._threads, abandon_on_cancel=True)
        except TimeoutError:
            return self._render(_told(503, "This page takes too long. The kill switch works all the same."), session)

    def _response(self, answer: Answer, session: OwnerSession | None) -> Response:
        match answer:
            case ShownPage():
                return self._render(answer, session)
            case See():
                return RedirectResponse(answer.path, 303)
            case TextFile():
                # Our own name for the file: one of an agent could be anything.
                headers = {"content-disposition": f'attachment; filename="{answer.name}"'}
                return PlainTextResponse(answer.text.encode(errors="replace"), headers=headers)
            case _:
                return answer

    def _render(self, page: ShownPage, session: OwnerSession | None) -> Response:
        template = self._desk.templates.get_template(page.template)
        around = self._around() if session is not None else {}
        known = {"session": session, "csrf": session.csrf if session else "", "now": self._desk.now()}
        html = template.render({**known, **around, **page.facts})
        return Response(html.encode(errors="replace"), page.status, media_type="text/html; charset=utf-8")

    async def _form(self, request: Request, asked: AskedPage) -> dict[str, str]:
        """The fields of a form. All of it comes in bounded time, however slowly the client sends."""
        if asked.method != "POST":
            return {}
        if asked.headers.get("content-type", [""])[0].partition(";")[0].strip() != _FORM:
            raise HTTPException(415, "The console takes forms")
        body = bytearray()
        try:
            with anyio.fail_after(BODY_S):
                async for piece in request.stream():
                    body += piece
                    if len(body) > MAX_BODY_BYTES:
                        raise HTTPException(413, f"A form has at most {MAX_BODY_BYTES} bytes")
        except TimeoutError:
            raise HTTPException(408, "The form took too long") from None
        try:
            return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS))
        except ValueError:
            raise HTTPException(400, "The form cannot be read") from None


def _told(status: int, text: str) -> ShownPage:
    return ShownPage("told.html", {"text": text, "title": "Not done" if status < 500 else "Trouble"}, status)


def _nothing() -> None:
    """Routes only match here."""
