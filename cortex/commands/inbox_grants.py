"""The part of `cortex inbox` about standing grants: what an answer grants for longer, the list, and the end of one."""

from __future__ import annotations

import json
import re
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from cortex.settings import Settings
from cortex.text import fit, local_time, padded, visible

from .exits import REFUSED, CommandError
from .options import number_of
from .rows import LEAST_TEXT, paint, width

if TYPE_CHECKING:
    from cortex.inbox import KeptGrant, KeptQuestion, Scope, StandingGrant

_SHORT_ID = 8
_SPAN = re.compile(r"([1-9][0-9]{0,5})([mhd])")
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400}
_NOTHING = "Nothing is granted"


def add_terms(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--for",
        dest="scope",
        choices=("run", "conversation", "always"),
        help="allow later calls too, within this scope",
    )
    parser.add_argument("--until", metavar="TIME", help="when that ends: a date, or 30m, 8h, 7d; else after a day")
    parser.add_argument("--times", metavar="N", type=number_of("calls", 1), help="at most N later calls")
    parser.add_argument(
        "--matching",
        metavar="NAME=PATTERN",
        action="append",
        help="arguments that may differ, such as title=* or path=docs/*; the others have to be the same; * alone: all",
    )


class GrantTerms:
    """What an answer grants for longer. Raises CommandError for options that make no sense."""

    def __init__(self, options: Namespace) -> None:
        self.scope: Scope | None = options.scope
        self.until = None if options.until is None else _moment(options.until)
        self.times: int | None = options.times
        self.matching = _matching(options.matching or [])
        if self.scope is None and (self.until is not None or self.times is not None or self.matching):
            raise CommandError("--until, --times and --matching go with --for run|conversation|always")
        if self.scope is not None and options.answer == "no":
            raise CommandError("--for goes with yes")

    def told(self) -> str:
        """What a yes allows beside the call itself, for the question to the owner."""
        from cortex.inbox import ANY

        times = "" if self.times is None else f", at most {self.times}"
        until = "for a day" if self.until is None else f"until {local_time(self.until)}"
        patterns = ", ".join(f"{name}={pattern}" for name, pattern in self.matching.items())
        but = f" but {visible(patterns)}" if patterns else ""
        arguments = "any arguments" if ANY in self.matching else f"the same arguments{but}"
        scope = "" if self.scope is None else f" {_scope(self.scope)}"
        return f"later calls{scope}, {until}{times}, with {arguments}"

    def grant(self, kept: KeptQuestion, by: str) -> StandingGrant | None:
        """What is granted with a yes to this question; None if that is for one call. Raises InboxError."""
        from cortex.inbox import grant_of

        if self.scope is None:
            return None
        until, times, matching = self.until, self.times, self.matching
        return grant_of(kept, scope=self.scope, by=by, now=time.time(), until=until, times=times, matching=matching)


def told(grant: StandingGrant) -> str:
    left = "" if grant.times is None else f", {grant.times} more times at most"
    until = local_time(grant.until)
    return f"granted {grant.id[:_SHORT_ID]}: {visible(grant.tool)} {_scope(grant.scope)} until {until}{left}"


def _moment(text: str) -> float:
    if span := _SPAN.fullmatch(text):
        return time.time() + int(span[1]) * _SECONDS[span[2]]
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError):
        raise CommandError(f'--until takes a date such as 2026-12-31, or 30m, 8h, 7d, and not "{text[:40]}"') from None


def _matching(given: list[str]) -> dict[str, str]:
    from cortex.inbox import ANY

    if given == [ANY]:
        return {ANY: ANY}
    found = {}
    for text in given:
        name, equals, pattern = text.partition("=")
        if not name or not equals:
            raise CommandError(f'--matching takes NAME=PATTERN, or * alone, and not "{text[:80]}"')
        found[name] = pattern
    return found


def granted(options: Namespace, settings: Settings) -> Iterator[str]:
    """The list of what is granted."""
    from cortex.home import Home
    from cortex.inbox import GrantBox

    with GrantBox.to_read(Home(settings.home)) as box:
        found = [] if box is None else box.all()
    if options.json:
        yield json.dumps([_facts(kept) for kept in found])
    elif not found:
        yield _NOTHING
    else:
        yield from _table(found)


def revoked(options: Namespace, settings: Settings, by: str) -> Iterator[str]:
    from cortex.audit import Audit
    from cortex.home import Home
    from cortex.inbox import GrantBox

    home = Home(settings.home)
    if not home.state_to_read.exists():
        raise CommandError("nothing is granted here", REFUSED)
    audit = Audit(home.audit, settings.audit)
    try:
        with GrantBox.opened(home) as box:
            grant = box.revoke(options.id, by=by, record=audit.record)
    finally:
        audit.close()
    done = f"{grant.id[:_SHORT_ID]} was revoked: you are asked about {visible(grant.tool)} again"
    yield json.dumps({"revoked": grant.id}) if options.json else done


def _facts(kept: KeptGrant) -> dict[str, Any]:
    # Without the marks: they say nothing to anyone.
    return {**kept.grant.model_dump(mode="json", exclude={"same"}), "same": [*kept.grant.same], "used": kept.used}


def _table(found: list[KeptGrant]) -> Iterator[str]:
    room = max(LEAST_TEXT, width() - 76)
    yield paint(f"{'id':{_SHORT_ID}} {'tool':24} {'for':13} {'until':16} {'used':>9} arguments", "dim")
    for kept in found:
        grant = kept.grant
        used = f"{kept.used}" if grant.times is None else f"{kept.used} of {grant.times}"
        cells = f"{grant.id[:_SHORT_ID]} {padded(fit(grant.tool, 24), 24)} {grant.scope:13} {local_time(grant.until)}"
        yield f"{cells} {used:>9} {fit(_arguments(grant.any_arguments, grant.matching, grant.shown), room)}"


def _arguments(is_any: bool, matching: Mapping[str, str], shown: str) -> str:
    if is_any:
        return "any"
    patterns = ", ".join(f"{name} matches {pattern}" for name, pattern in matching.items())
    return visible(f"{patterns}; else as in: {shown}" if patterns else f"as in: {shown}")


def _scope(scope: Scope) -> str:
    return {"run": "by this run", "conversation": "in this conversation", "always": "in every program"}[scope]
