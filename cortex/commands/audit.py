"""`cortex audit`: list the audit log. `verify` checks that it was not changed; `show N` prints one record in full."""

from __future__ import annotations

import json
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from dataclasses import asdict

from cortex.audit import Audit, AuditError, Record, Verdict, code_hash
from cortex.text import styled, visible
from cortex.views import without_finished

from .audit_rows import MIN_WIDTH, heading, line
from .exits import CODE_FAILED, INTERRUPTED, SUCCESS, CommandError
from .options import behind_an_action, load_existing, number_of

DEFAULT_LAST = 20


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--last", type=number_of("records"), metavar="N", help=f"show at most N records, by default {DEFAULT_LAST}"
    )
    parser.add_argument("--follow", action="store_true", help="then print each new record, until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="print each record as one line of JSON")
    actions = parser.add_subparsers(dest="action", metavar="verify | show N")
    common = behind_an_action("print JSON")
    actions.add_parser("verify", parents=[common], help="check the log; exits with 1 if it was changed")
    show = actions.add_parser("show", parents=[common], help="print one record in full, and its code")
    show.add_argument("seq", type=int, metavar="N", help="the number of the record")


def run(options: Namespace) -> int:
    if options.action and (options.follow or options.last is not None):
        raise CommandError(f"--follow and --last do not go with {options.action}")
    settings = load_existing(options)
    audit = Audit(settings.home / "audit", settings.audit)
    try:
        if options.action == "verify":
            return _verify(audit, options)
        if options.action == "show":
            return _show(audit, options)
        return _list(audit, options)
    except AuditError as error:
        raise CommandError(str(error)) from error
    finally:
        audit.close()


def _list(audit: Audit, options: Namespace) -> int:
    last = DEFAULT_LAST if options.last is None else options.last
    try:
        count = _print(_records(audit, last, options), options.json)
    except KeyboardInterrupt:
        return INTERRUPTED
    if not count and last:
        print("Nothing has been recorded yet", file=sys.stderr)
    return SUCCESS


def _records(audit: Audit, last: int, options: Namespace) -> Iterable[Record]:
    if options.follow:
        return audit.follow(last=last)
    if options.json:
        return audit.records(last=last)
    # Each run has at most two records, and is shown as one line.
    shown = without_finished(list(audit.records(last=2 * last)))
    return shown[len(shown) - last :] if len(shown) > last else shown


def _print(records: Iterable[Record], as_json: bool) -> int:
    count, day = 0, None
    width = shutil.get_terminal_size((MIN_WIDTH, 24)).columns if sys.stdout.isatty() else MIN_WIDTH
    for count, record in enumerate(records, 1):
        if as_json:
            print(json.dumps(record.as_json()), flush=True)
            continue
        if count == 1:
            print(styled(heading(width), "dim", sys.stdout))
        if day != (day := f"{record.at.astimezone():%Y-%m-%d}"):
            print(styled(day, "bold", sys.stdout))
        print(line(record, width, lambda text, style: styled(text, style, sys.stdout)), flush=True)
    return count


def _verify(audit: Audit, options: Namespace) -> int:
    verdict = audit.verify()
    if options.json:
        print(json.dumps(_as_json(verdict)))
    else:
        _show_verdict(verdict)
    return SUCCESS if verdict.ok else CODE_FAILED


def _as_json(verdict: Verdict) -> dict[str, object]:
    end = {"seq": verdict.end.seq, "hash": verdict.end.hash}
    return {"ok": verdict.ok, **asdict(verdict), "end": end}


def _show_verdict(verdict: Verdict) -> None:
    for damage in verdict.damages:
        print(styled("damaged", "red", sys.stdout), visible(str(damage)))
    if more := verdict.damages_found - len(verdict.damages):
        print(f"and {more} more")
    if verdict.unfinished_bytes:
        print(f"The last line is unfinished ({verdict.unfinished_bytes} bytes): the next record cuts it off")
    if verdict.recoveries:
        print(f"{_counted(verdict.recoveries, 'record')} of repairs: a writer had been killed, or found damage")
    what = f"{_counted(verdict.records, 'record')} in {_counted(verdict.files, 'file')}"
    if not verdict.ok:
        print(f"{what}, {_counted(verdict.damages_found, 'damaged place')}")
        return
    print(styled("ok", "green", sys.stdout), f"{what}, as they were written")
    if verdict.records:
        print(f"The last is {verdict.end.seq}, {verdict.end.hash}")


def _show(audit: Audit, options: Namespace) -> int:
    record = audit.find(options.seq)
    if record is None:
        raise CommandError(f"there is no record {options.seq} that can be read")
    own_hash = record.facts.get("code_hash")
    code = audit.code(own_hash)
    is_changed = code is not None and code_hash(code) != own_hash
    if options.json:
        print(json.dumps({**record.as_json(), "code": None if is_changed else code}))
        return SUCCESS
    for name, value in record.as_json().items():
        text = value if isinstance(value, str) else json.dumps(value)
        # Indented: a text of several lines must not look like the next facts.
        print(f"{visible(name):16} {visible(text)}".replace("\n", f"\n{'':17}"))
    if is_changed:
        print("\nThe file of its code holds something else now")
    elif code is not None:
        print("\n" + styled(visible(code), "cyan", sys.stdout))
    elif own_hash is not None:
        print("\nIts code was not kept")
    return SUCCESS


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
