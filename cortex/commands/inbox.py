"""`cortex inbox`: list what agents ask their owner, show a question whole, and answer it from any shell."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from cortex.settings import Settings

from .exits import REFUSED, SUCCESS, CommandError
from .inbox_grants import GrantTerms, add_terms, granted, revoked, told
from .options import behind_an_action, load_existing, said_again
from .rows import paint

if TYPE_CHECKING:
    from cortex.views import QuestionSeen

BY = "owner (inbox)"
_NOTHING = "No question waits for you"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also the questions of the last day that are closed")
    parser.add_argument("--json", action="store_true", help="print what there is as JSON, for programs")
    actions = parser.add_subparsers(dest="action", metavar="[show ID | answer ID yes|no | grants | revoke ID]")
    common = behind_an_action("print JSON, for programs")
    which = "the id of a question, or 4 or more characters of its beginning"
    show = actions.add_parser("show", parents=[common], help="one question, whole, and its hash")
    show.add_argument("id", metavar="ID", help=which)
    show.add_argument("--together", action="store_true", help="with all that the run asks about the same tool")
    answer = actions.add_parser("answer", parents=[common], help="answer a question; the program that asked goes on")
    answer.add_argument("id", metavar="ID", help=which)
    answer.add_argument("answer", choices=("yes", "no"), help="allow the call this once, or not")
    answer.add_argument("--hash", metavar="PREFIX", help="8 or more characters of the hash that show prints")
    answer.add_argument("--reason", metavar="TEXT", default="", help="what the agent is told beside a no")
    answer.add_argument("--together", action="store_true", help="answer all that show --together shows")
    answer.add_argument("--only", metavar="NUMBERS", help="yes to some of all these, such as 1,3-5, else no")
    add_terms(answer)
    actions.add_parser("grants", parents=[common], help="what you have allowed for more than one call")
    revoke = actions.add_parser("revoke", parents=[common], help="end such a grant; you are asked again")
    revoke.add_argument("id", metavar="ID", help="the id of a grant, or 4 or more characters of its beginning")


def run(options: Namespace) -> int:
    # Imported here: `--help` must not wait for it.
    from cortex.audit import AuditError
    from cortex.inbox import InboxError
    from neurons import StorageError
    from sandbox import LockBusy

    settings = load_existing(options)
    try:
        for line in _lines(options, settings):
            print(line)
    except AuditError as error:
        raise CommandError(f"nothing was done, because it could not be recorded: {error}", REFUSED) from error
    except (InboxError, StorageError, LockBusy) as error:
        raise CommandError(str(error), REFUSED) from error
    return SUCCESS


def _lines(options: Namespace, settings: Settings) -> Iterator[str]:
    match options.action:
        case "answer":
            return _answered(options, settings)
        case "grants":
            return granted(options, settings)
        case "revoke":
            return revoked(options, settings, BY)
    return _seen(options, settings)


def _seen(options: Namespace, settings: Settings) -> Iterator[str]:
    from cortex.views import questions_of, together_with

    from .inbox_rows import all_of, table, whole

    found = questions_of(settings, time.time)
    if options.action == "show":
        chosen = _chosen(options.id, found)
        together = together_with(chosen, found) if options.together else [chosen]
        if options.json:
            yield json.dumps([asdict(seen) for seen in together]) if options.together else json.dumps(asdict(chosen))
        else:
            yield from all_of(together) if options.together else whole(chosen, together_with(chosen, found))
        return
    listed = found if options.all else [seen for seen in found if seen.state in {"open", "ended", "late"}]
    if options.json:
        yield json.dumps([asdict(seen) for seen in listed])
    elif not listed:
        yield _NOTHING
    else:
        yield from table(listed)
        if any(seen.is_open for seen in listed):
            again = said_again(options)
            yield paint(
                f"To answer: cortex inbox show ID{again}, and then: cortex inbox answer ID yes|no{again}", "dim"
            )


def _chosen(name: str, found: list[QuestionSeen]) -> QuestionSeen:
    from cortex.inbox import only_one

    return only_one(name, found, [seen.id for seen in found])


def _answered(options: Namespace, settings: Settings) -> Iterator[str]:
    from cortex.audit import Audit
    from cortex.home import Home
    from cortex.inbox import GrantBox, QuestionBox
    from cortex.views import question_seen, questions_of, together_with

    terms = GrantTerms(options)
    if options.only is not None and options.answer == "no":
        raise CommandError("--only says which calls are allowed: it goes with yes")
    found = questions_of(settings, time.time)
    chosen = _chosen(options.id, found)
    is_one = not options.together and options.only is None
    asked = [chosen] if is_one else together_with(chosen, found)
    allowed = _allowed(options, len(asked))
    if terms.scope is not None and asked.index(chosen) + 1 not in allowed:
        raise CommandError("--for goes with a call that --only allows: name its question by the id")
    shown = _shown_hash(options, asked, is_one, terms)
    home = Home(settings.home)
    audit = Audit(home.audit, settings.audit)
    try:
        with QuestionBox.opened(home) as box, GrantBox.opened(home) as grants:
            # First: terms that make no sense must not leave half an answer.
            grant = terms.grant(box.find(chosen.id), BY)
            said = {"by": BY, "reason": options.reason, "record": audit.record}
            for number, seen in enumerate(asked, 1):
                is_meant = number in allowed
                kept = box.answer(seen.id, shown if is_one else seen.shown_hash, allowed=is_meant, **said)
                done = question_seen(kept)
                yield json.dumps(asdict(done)) if options.json else _told(done, is_meant)
            if grant is not None:
                grants.give(grant, audit.record)
                yield json.dumps({"granted": grant.id}) if options.json else told(grant)
    finally:
        audit.close()


def _allowed(options: Namespace, count: int) -> frozenset[int]:
    """The numbers of the calls that are allowed. Raises CommandError."""
    from cortex.tools import numbers_in

    if options.answer == "no":
        return frozenset()
    if options.only is None:
        return frozenset(range(1, count + 1))
    found = numbers_in(options.only, count)
    if found is None:
        raise CommandError(f'--only takes numbers from 1 to {count}, such as 1,3-5, and not "{options.only[:40]}"')
    return found


def _told(seen: QuestionSeen, allowed: bool) -> str:
    from cortex.text import visible

    from .inbox_rows import SHORT_ID

    said = "yes" if allowed else "no"
    then = "may be called, this once" if allowed else "is not called"
    return f"{seen.id[:SHORT_ID]}: {said}; {visible(seen.tool)} {then}"


def _shown_hash(options: Namespace, asked: list[QuestionSeen], is_one: bool, terms: GrantTerms) -> str:
    """The hash of what the owner has seen. Raises CommandError where that is not these questions."""
    from cortex.inbox import LEAST_HASH
    from cortex.views import hash_of_all

    whole = asked[0].shown_hash if is_one else hash_of_all(asked)
    if options.hash is None:
        return _confirmed(options, asked, is_one, whole, terms)
    if not is_one and (len(options.hash) < LEAST_HASH or not whole.startswith(options.hash.lower())):
        raise CommandError(
            f"the hash is not that of the {len(asked)} questions that wait together now: look at them again, and then "
            "answer",
            REFUSED,
        )
    return str(options.hash)


def _confirmed(options: Namespace, asked: list[QuestionSeen], is_one: bool, whole_hash: str, terms: GrantTerms) -> str:
    """The hash of what the person at this terminal has seen. Raises CommandError without a clear yes."""
    import sys

    from cortex.text import is_person_there, typed

    from .inbox_rows import SHORT_ID, all_of, whole

    if options.answer == "no" or not asked[0].is_open:
        return whole_hash
    id_ = asked[0].id[:SHORT_ID]
    how = "" if is_one else " --together"
    if not is_person_there(sys.stdin, sys.stderr):
        raise CommandError(
            f'there is no terminal to show the question at; look at it with "cortex inbox show {id_}{how}", and repeat '
            f"its hash: cortex inbox answer {id_} yes{how} --hash HASH",
            REFUSED,
        )
    print("\n".join(whole(asked[0], asked) if is_one else all_of(asked)), file=sys.stderr)
    which = options.only or ("it" if len(asked) == 1 else f"all {len(asked)}")
    words = "this once" if terms.scope is None else f"and {terms.told()}"
    if (typed(f"Allow {which} {words}? [y/N] ", sys.stdin, sys.stderr) or "").lower() not in {"y", "yes"}:
        raise CommandError("nothing was answered; the question still waits", REFUSED)
    return whole_hash
