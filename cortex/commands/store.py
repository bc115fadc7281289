"""`cortex store`: show what the code of conversations keeps from run to run, and clear it."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cortex.settings import Settings
from cortex.text import fit, local_time, padded, visible

from .exits import REFUSED, SUCCESS, CommandError
from .options import behind_an_action, load_existing
from .rows import paint, width

if TYPE_CHECKING:
    from cortex.home import KeptStore, Stores

_LEAST_ID = 6
_MAX_KEYS_TOLD = 300
_NAME_COLUMNS = 36
_WHAT = "say what to clear: the NAME of a conversation, or --all"
_NOTHING = "No conversation keeps anything"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print what there is as JSON, for programs")
    actions = parser.add_subparsers(dest="action", metavar="[show NAME | clear NAME]")
    common = behind_an_action("print JSON, for programs")
    name = "the conversation, or 6 or more characters of its id"
    show = actions.add_parser("show", parents=[common], help="the values of one conversation, secrets hidden")
    show.add_argument("name", metavar="NAME", help=name)
    show.add_argument("key", metavar="KEY", nargs="?", help="only this value, whole")
    clear = actions.add_parser("clear", parents=[common], help="delete what a conversation keeps")
    clear.add_argument("name", metavar="NAME", nargs="?", help=name)
    clear.add_argument("--all", action="store_true", help="of every conversation")


def run(options: Namespace) -> int:
    # Imported here: `--help` must not wait for it.
    from cortex.audit import AuditError
    from neurons import StorageError

    settings = load_existing(options)
    if options.action == "clear" and (options.name is None) is not options.all:
        raise CommandError("NAME or --all, not both" if options.all else _WHAT)
    try:
        for line in _cleared(options, settings) if options.action == "clear" else _seen(options, settings):
            print(line)
    except AuditError as error:
        raise CommandError(f"nothing was cleared, because it could not be recorded: {error}", REFUSED) from error
    except StorageError as error:
        raise CommandError(str(error), REFUSED) from error
    return SUCCESS


def _seen(options: Namespace, settings: Settings) -> Iterator[str]:
    """Looking creates no folder: the home may be a mistyped path."""
    from cortex.home import Home, Stores
    from neurons import DeferredStorage

    stores = Stores(DeferredStorage(Home(settings.home).state_to_read), settings.store)
    try:
        yield from _show(options, settings, stores) if options.action == "show" else _list(options, settings, stores)
    finally:
        stores.close()


def _cleared(options: Namespace, settings: Settings) -> Iterator[str]:
    from cortex.audit import Audit
    from cortex.home import Home, HomeFiles, Stores

    home = Home(settings.home)
    if not home.state_to_read.exists():
        raise CommandError("no conversation keeps anything here")
    audit = Audit(home.audit, settings.audit)
    stores = Stores(HomeFiles(home).storage(), settings.store)
    try:
        chosen = stores.list() if options.all else [_chosen(options.name, stores)]
        for stored in chosen:
            # Recorded first: an owner's decision that cannot be recorded is not carried out.
            audit.record("owner_decision", what="store clear", by="owner", store=stored.id)
            stores.clear(stored.conversation)
        if options.json:
            yield json.dumps({"cleared": [stored.conversation for stored in chosen]})
        else:
            yield from (f"The store of {visible(stored.conversation)} was cleared" for stored in chosen)
            if not chosen:
                yield _NOTHING
    finally:
        stores.close()
        audit.close()


def _chosen(name: str, stores: Stores) -> KeptStore:
    everything = stores.list()
    found = [stored for stored in everything if stored.conversation == name]
    if not found and len(name) >= _LEAST_ID:
        found = [stored for stored in everything if stored.id.startswith(name)]
    if len(found) != 1:
        problem = "several conversations have ids that begin so" if found else "no such conversation keeps anything"
        raise CommandError(f'"{name[:80]}": {problem}; cortex store lists those that do, with the ids to name them by')
    return found[0]


def _list(options: Namespace, settings: Settings, stores: Stores) -> Iterator[str]:
    found = stores.list()
    if options.json:
        yield json.dumps([_facts(stored, settings) for stored in found])
        return
    if not found:
        yield _NOTHING
        return
    head = f"{'conversation':{_NAME_COLUMNS}} {'id':8} {'keys':>5} {'bytes':>8}  {'changed':16} expires"
    yield paint(head, "dim")
    for stored in found:
        name = padded(fit(stored.conversation, _NAME_COLUMNS), _NAME_COLUMNS)
        times = f"{local_time(stored.changed_at)} {local_time(_expires_at(stored, settings), '%Y-%m-%d')}"
        yield f"{name} {stored.id[:8]} {len(stored.values):>5} {stored.size_bytes:>8}  {times}"


def _show(options: Namespace, settings: Settings, stores: Stores) -> Iterator[str]:
    from cortex.redaction import Redactor

    stored = _chosen(options.name, stores)
    kept = {key: json.loads(text) for key, text in stored.values.items()}
    if options.key is not None:
        if options.key not in kept:
            keys = fit(", ".join(Redactor(settings.redaction).value(kept)), _MAX_KEYS_TOLD)
            raise CommandError(f'"{options.key[:80]}": this conversation keeps no such value; its keys: {keys}')
        kept = {options.key: kept[options.key]}
    # With their keys: a value under "password" is one.
    values = Redactor(settings.redaction).value(kept)
    if options.json:
        yield json.dumps({**_facts(stored, settings), "values": values})
    elif options.key is not None:
        for value in values.values():
            yield from map(visible, json.dumps(value, indent=2, ensure_ascii=False).splitlines())
    else:
        for key, value in values.items():
            yield fit(f"{key}: {json.dumps(value, ensure_ascii=False)}", width())


def _facts(stored: KeptStore, settings: Settings) -> dict[str, Any]:
    return {
        "conversation": stored.conversation,
        "id": stored.id,
        "keys": len(stored.values),
        "bytes": stored.size_bytes,
        "changed_at": stored.changed_at,
        "expires_at": _expires_at(stored, settings),
    }


def _expires_at(stored: KeptStore, settings: Settings) -> float:
    return stored.changed_at + settings.store.max_age_s
