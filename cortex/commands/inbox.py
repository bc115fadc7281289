"""`cortex inbox`: list what agents ask their owner, show a question whole, and answer it from any shell."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from cortex.settings import Settings
from cortex.text import columns_of, fit, is_person_there, local_time, padded, styled, terminal_columns, typed, visible

from .exits import REFUSED, SUCCESS, CommandError
from .options import behind_an_action, load_existing, said_again
from .rows import LEAST_TEXT, paint, width

if TYPE_CHECKING:
    from cortex.views import QuestionSeen

BY = "owner (inbox)"
SHORT_ID = 8
_HASH_SHOWN = 12
_NOTHING = "No question waits for you"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also the questions of the last day that are closed")
    parser.add_argument("--json", action="store_true", help="print what there is as JSON, for programs")
    actions = parser.add_subparsers(dest="action", metavar="[show ID | answer ID yes|no]")
    common = behind_an_action("print JSON, for programs")
    which = "the id of a question, or 4 or more characters of its beginning"
    show = actions.add_parser("show", parents=[common], help="one question, whole, and its hash")
    show.add_argument("id", metavar="ID", help=which)
    answer = actions.add_parser("answer", parents=[common], help="answer a question; the program that asked goes on")
    answer.add_argument("id", metavar="ID", help=which)
    answer.add_argument("answer", choices=("yes", "no"), help="allow the call this once, or not")
    answer.add_argument("--hash", metavar="PREFIX", help="8 or more characters of the hash that show prints")
    answer.add_argument("--reason", metavar="TEXT", default="", help="what the agent is told beside a no")


def run(options: Namespace) -> int:
    # Imported here: `--help` must not wait for it.
    from cortex.audit import AuditError
    from cortex.inbox import InboxError
    from neurons import StorageError
    from sandbox import LockBusy

    settings = load_existing(options)
    try:
        for line in _answered(options, settings) if options.action == "answer" else _seen(options, settings):
            print(line)
    except AuditError as error:
        raise CommandError(f"nothing was answered, because it could not be recorded: {error}", REFUSED) from error
    except (InboxError, StorageError, LockBusy) as error:
        raise CommandError(str(error), REFUSED) from error
    return SUCCESS


def _seen(options: Namespace, settings: Settings) -> Iterator[str]:
    from cortex.views import questions_of

    found = questions_of(settings, time.time)
    if options.action == "show":
        chosen = _chosen(options.id, found)
        yield from [_json(chosen)] if options.json else _whole(chosen)
        return
    listed = found if options.all else [seen for seen in found if seen.state in {"open", "ended", "late"}]
    if options.json:
        yield json.dumps([asdict(seen) for seen in listed])
    elif not listed:
        yield _NOTHING
    else:
        yield from _table(listed)
        if any(seen.is_open for seen in listed):
            again = said_again(options)
            yield paint(
                f"To answer: cortex inbox show ID{again}, and then: cortex inbox answer ID yes|no{again}", "dim"
            )


def _chosen(name: str, found: list[QuestionSeen]) -> QuestionSeen:
    from cortex.inbox import only_one

    return only_one(name, found, [seen.id for seen in found])


def _table(found: list[QuestionSeen]) -> Iterator[str]:
    now = time.time()
    room = max(LEAST_TEXT, width() - 45)
    yield paint(f"{'id':{SHORT_ID}} {'asked':16} {'left':>6} {'tool':24} asks", "dim")
    for seen in found:
        left = f"{max(0, seen.until - now):.0f} s" if seen.is_open else ""
        about = _about(seen) if seen.is_open else f"{seen.told}: {_about(seen)}"
        cells = f"{seen.id[:SHORT_ID]} {local_time(seen.asked_at)} {left:>6} {padded(fit(seen.tool, 24), 24)}"
        yield f"{cells} {fit(about, room - max(0, columns_of(cells) - 57))}"


def _about(seen: QuestionSeen) -> str:
    """The arguments on one line, or what the code is for."""
    if "code" in seen.arguments and seen.purpose:
        return visible(" ".join(seen.purpose.split()))
    return visible(json.dumps(seen.arguments, ensure_ascii=False))


def _whole(seen: QuestionSeen) -> Iterator[str]:
    """Every line of the question, and then how it stands."""
    from cortex.channels import set_in

    columns = terminal_columns(sys.stdout) if sys.stdout.isatty() else width()
    first, *rest = set_in(list(seen.lines), columns)
    yield styled(first, "bold", sys.stdout)
    yield from rest
    facts = {
        "id": seen.id,
        "asked by": f"{seen.asked_by}, in {seen.program} (process {seen.pid})",
        "turn": seen.turn + (f", run {seen.run}" if seen.run is not None else ""),
        "conversation": seen.conversation,
        "code": seen.code_hash or "",
        "asked at": local_time(seen.asked_at, "%Y-%m-%d %H:%M:%S"),
        "until": local_time(seen.until, "%Y-%m-%d %H:%M:%S"),
        "state": seen.told,
        "hash": seen.shown_hash,
    }
    yield from (f"{name + ':':13} {visible(value)}" for name, value in facts.items() if value)
    if seen.is_open:
        yield f"To answer: cortex inbox answer {seen.id[:SHORT_ID]} yes --hash {seen.shown_hash[:_HASH_SHOWN]}, or: no"


def _answered(options: Namespace, settings: Settings) -> Iterator[str]:
    from cortex.audit import Audit
    from cortex.home import Home
    from cortex.inbox import QuestionBox
    from cortex.views import question_seen, questions_of

    allowed = options.answer == "yes"
    seen = _chosen(options.id, questions_of(settings, time.time))
    shown = options.hash if options.hash is not None else _confirmed(seen, allowed)
    home = Home(settings.home)
    audit = Audit(home.audit, settings.audit)
    try:
        with QuestionBox.opened(home) as box:
            kept = box.answer(seen.id, shown, allowed=allowed, by=BY, reason=options.reason, record=audit.record)
    finally:
        audit.close()
    done = question_seen(kept)
    yield (
        _json(done)
        if options.json
        else f"{seen.id[:SHORT_ID]}: {options.answer}; {visible(seen.tool)} {_said(allowed)}"
    )


def _said(allowed: bool) -> str:
    return "may be called, this once" if allowed else "is not called"


def _confirmed(seen: QuestionSeen, allowed: bool) -> str:
    """The hash of what the person at this terminal has seen. Raises CommandError without a clear yes."""
    if not allowed or not seen.is_open:
        return seen.shown_hash
    if not is_person_there(sys.stdin, sys.stderr):
        raise CommandError(
            f"there is no terminal to show the question at; look at it with "
            f'"cortex inbox show {seen.id[:SHORT_ID]}", and repeat its hash: '
            f"cortex inbox answer {seen.id[:SHORT_ID]} yes --hash HASH",
            REFUSED,
        )
    print("\n".join(_whole(seen)), file=sys.stderr)
    if (typed("Allow it this once? [y/N] ", sys.stdin, sys.stderr) or "").lower() not in {"y", "yes"}:
        raise CommandError("nothing was answered; the question still waits", REFUSED)
    return seen.shown_hash


def _json(seen: QuestionSeen) -> str:
    return json.dumps(asdict(seen))
