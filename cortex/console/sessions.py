"""Who is logged in: login tokens that work once, and sessions with their CSRF tokens. In memory only, so that a restart
of the console logs out. Pure, except for the clock and the random numbers that are passed in.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

COOKIE = "__Host-cortex"
TOKEN_BYTES = 32
LOGIN_S = 120
SESSION_S = 12 * 3600
IDLE_S = 3600
MAX_SESSIONS = 3
MAX_LOGINS = 8
MAX_WRONG_TOKENS = 100
"""Wrong login tokens in the time of one: after so many, all links are void, and the owner asks for another."""
MAX_BROWSER = 120


@dataclass(slots=True)
class OwnerSession:
    token: str
    """The cookie."""
    csrf: str
    id: str
    """A short name for the audit and the list of sessions. It opens nothing."""
    browser: str
    began: float
    seen: float
    wrong_codes: int = 0


@dataclass(slots=True)
class OwnerSessions:
    now: Callable[[], float]
    token: Callable[[], str] = field(default=lambda: secrets.token_urlsafe(TOKEN_BYTES))
    _logins: dict[str, float] = field(default_factory=dict)
    _sessions: dict[str, OwnerSession] = field(default_factory=dict)
    _wrong: int = 0

    def new_link_token(self) -> str:
        """A token that lets one browser in, once, within two minutes."""
        self._forget_old()
        while len(self._logins) >= MAX_LOGINS:
            del self._logins[next(iter(self._logins))]
        token = self.token()
        self._logins[token] = self.now() + LOGIN_S
        self._wrong = 0
        return token

    def log_in(self, given: str, browser: str) -> OwnerSession | None:
        """A new session for a valid token, which is then used up. What the browser sent as a cookie does not matter:
        nobody can choose a session for another."""
        self._forget_old()
        found = [token for token in self._logins if hmac.compare_digest(token.encode(), given.encode(errors="replace"))]
        if not found:
            self._wrong += 1
            if self._wrong >= MAX_WRONG_TOKENS:
                self._logins.clear()
            return None
        del self._logins[found[0]]
        while len(self._sessions) >= MAX_SESSIONS:
            oldest = min(self._sessions.values(), key=lambda session: session.seen)
            del self._sessions[oldest.token]
        now = self.now()
        session = OwnerSession(self.token(), self.token(), secrets.token_hex(4), browser[:MAX_BROWSER], now, now)
        self._sessions[session.token] = session
        return session

    def of(self, cookies: list[str]) -> OwnerSession | None:
        """The session of the Cookie headers; None unless they name exactly one that is still open."""
        self._forget_old()
        given = [
            value.strip()
            for header in cookies
            for pair in header.split(";")
            for name, _, value in [pair.partition("=")]
            if name.strip() == COOKIE
        ]
        if len(given) != 1:
            return None
        session = self._sessions.get(given[0])
        if session is not None:
            session.seen = self.now()
        return session

    def all(self) -> list[OwnerSession]:
        self._forget_old()
        return sorted(self._sessions.values(), key=lambda session: session.began)

    def end(self, session: OwnerSession) -> None:
        self._sessions.pop(session.token, None)

    def end_others(self, session: OwnerSession) -> None:
        self._sessions = {session.token: session}

    def is_open(self, session: OwnerSession) -> bool:
        self._forget_old()
        return self._sessions.get(session.token) is session

    def _forget_old(self) -> None:
        now = self.now()
        self._logins = {token: until for token, until in self._logins.items() if now < until}
        self._sessions = {
            token: one
            for token, one in self._sessions.items()
            if now < one.began + SESSION_S and now < one.seen + IDLE_S
        }


def cookie_of(session: OwnerSession) -> str:
    """The Set-Cookie header. Browsers accept Secure for names below localhost, also over plain HTTP."""
    return f"{COOKIE}={session.token}; Secure; HttpOnly; SameSite=Strict; Path=/"


def cookie_gone() -> str:
    return f"{COOKIE}=; Secure; HttpOnly; SameSite=Strict; Path=/; Max-Age=0"


def is_csrf(session: OwnerSession, given: str) -> bool:
    return hmac.compare_digest(session.csrf.encode(), given.encode(errors="replace"))
