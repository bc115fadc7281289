"""What the pages of one console share: the settings of its home, who is logged in, and what waits for a code."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment

from cortex.audit import Audit
from cortex.views import AuditIndex

from .codes import Codes
from .door import CHECKS, HEADERS, Check, ConsolePlace
from .sessions import OwnerSession, OwnerSessions, is_csrf
from .templating import environment

if TYPE_CHECKING:
    from cortex.settings import Settings


@dataclass(frozen=True, slots=True)
class Guards:
    """The defences of the console, so that tests can show for each one what gets in without it."""

    checks: Mapping[str, Check] = field(default_factory=lambda: CHECKS)
    headers: Mapping[str, str] = field(default_factory=lambda: HEADERS)
    is_csrf: Callable[[OwnerSession, str], bool] = is_csrf
    needs_session: bool = True
    needs_code: bool = True


@dataclass
class Desk:
    settings: Settings
    place: ConsolePlace
    config: Path | None = None
    guards: Guards = field(default_factory=Guards)
    now: Callable[[], float] = time.time
    sessions: OwnerSessions = field(init=False)
    codes: Codes = field(init=False)

    def __post_init__(self) -> None:
        self.sessions = OwnerSessions(self.now)
        self.codes = Codes(self.sessions, self.now)

    @cached_property
    def index(self) -> AuditIndex:
        home = self.settings.home
        return AuditIndex(home / "cache", lambda: Audit(home / "audit", self.settings.audit))

    @cached_property
    def templates(self) -> Environment:
        return environment()

    def link(self) -> str:
        """A new link that lets one browser in. The token is in the fragment: no log, no Referer and no prefetch has
        it."""
        return f"{self.place.origin}/login#{self.sessions.new_link_token()}"
