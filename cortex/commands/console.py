"""`cortex console`: pages in a browser that show what the agents of a home do, and where its owner decides."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from cortex.text import visible

from .exits import INTERRUPTED, REFUSED, SUCCESS, CommandError
from .options import behind_an_action, load_existing

if TYPE_CHECKING:
    import anyio

    from cortex.console import Console
    from cortex.settings import Settings

BY_ADDRESS = (
    "cortex console: with --by-address the browser sends its cookie to every server on 127.0.0.1, whoever runs it: "
    "use it only with a browser that cannot open names below localhost"
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Serves pages for the owner, on this machine only: what runs, what waits for a decision, what happened, and "
        "the kill switch. Prints a link that lets one browser in, once, within two minutes."
    )
    parser.add_argument("--json", action="store_true", help="print {link, address, home} as one line of JSON")
    parser.add_argument("--port", type=int, metavar="N", help="the port (console.port); 0 takes any free one")
    parser.add_argument("--open", action="store_true", help="open the link in the browser")
    parser.add_argument(
        "--by-address", action="store_true", help="use 127.0.0.1 and not a secret name, for a browser that cannot"
    )
    actions = parser.add_subparsers(dest="action", metavar="[link | code | token]")
    common = behind_an_action("print JSON")
    actions.add_parser("link", parents=[common], help="print another link to the console that runs on this home")
    actions.add_parser("code", parents=[common], help="print the codes that decisions in the console wait for")
    actions.add_parser(
        "token",
        parents=[common],
        help="print the token for /metrics, which console.metrics serves; made if there is none",
    )


def run(options: Namespace) -> int:
    settings = load_existing(options)
    if options.action == "token":
        return _token(options, settings)
    if options.action is not None:
        return _ask(options, settings.home / "state")
    import anyio

    from cortex.console import Console, listen_on_loopback

    port = settings.console.port if options.port is None else options.port
    if not 0 <= port <= 65_535:
        raise CommandError("a port is a number up to 65535; 0 takes any free one")
    try:
        listening = listen_on_loopback(port)
    except OSError as error:
        raise CommandError(f"cannot listen on 127.0.0.1:{port}: {error.strerror}{_taken(port)}", REFUSED) from error
    if options.by_address:
        print(BY_ADDRESS, file=sys.stderr)
    console = Console(
        settings,
        listening,
        config=options.config,
        name="127.0.0.1" if options.by_address else None,
        tell=_show_code,
    )
    try:
        return anyio.run(_serve, console, options)
    except OSError as error:
        raise CommandError(str(error), REFUSED) from error
    finally:
        for one in listening:
            one.close()


def _taken(port: int) -> str:
    """By which process a port is taken, where the system says so."""
    from cortex.console import holder_of

    holder = holder_of(port)
    return f" (by process {holder})" if holder else ""


async def _serve(console: Console, options: Namespace) -> int:
    import anyio

    from cortex.settings import SettingsError

    stop, ended_by = anyio.Event(), list[int]()
    failure: Exception | None = None

    def started() -> None:
        _tell(console, options)

    async with anyio.create_task_group() as tasks:
        await tasks.start(_watch_signals, ended_by, stop)
        try:
            await console.serve(stop, started=started)
        except (OSError, SettingsError) as error:
            # Raised below: a task group would wrap it in an ExceptionGroup, and the command would end with a traceback.
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return INTERRUPTED if signal.SIGINT in ended_by else SUCCESS


async def _watch_signals(ended_by: list[int], stop: anyio.Event, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            ended_by.append(number)
            stop.set()


def _tell(console: Console, options: Namespace) -> None:
    link, desk = console.desk.link(), console.desk
    if options.json:
        print(json.dumps({"link": link, "address": desk.place.origin, "home": str(desk.settings.home)}), flush=True)
    else:
        print(f"The console of {visible(str(desk.settings.home))}, on this machine only:\n\n  {link}\n", flush=True)
        print("The link lets one browser in, once, within two minutes. cortex console link prints another one.")
        print("Codes for decisions appear here. Ctrl-C ends the console; agents go on.", flush=True)
    if options.open:
        _open(link)


def _open(link: str) -> None:
    """Open the link in the browser by a file that only this user can read: the command line of a browser can be read by
    every user."""
    import webbrowser
    from html import escape

    handle, path = tempfile.mkstemp(prefix="cortex-console-", suffix=".html")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(link)}"><title>Console</title>')
    webbrowser.open(Path(path).as_uri())


def _show_code(decision: object) -> None:
    """Show the code where only a person sees it: never in a pipe, where logs are kept."""
    from cortex.console import CodedDecision

    if isinstance(decision, CodedDecision) and sys.stderr.isatty():
        print(
            f"\n  {decision.code}  is the code to {visible(decision.what)}  (two minutes)", file=sys.stderr, flush=True
        )


def _token(options: Namespace, settings: Settings) -> int:
    from cortex.console import metrics_token
    from cortex.home import Home

    try:
        token = metrics_token(Home(settings.home).state)
    except OSError as error:
        raise CommandError(f"cannot read or make the token: {error.strerror or error}", REFUSED) from error
    print(json.dumps({"token": token, "served": settings.console.metrics}) if options.json else token)
    if not settings.console.metrics and not options.json:
        print("The settings do not serve it: console.metrics is false", file=sys.stderr)
    return SUCCESS


def _ask(options: Namespace, state: Path) -> int:
    from cortex.console import NoConsole, ask

    try:
        found = ask(state, "link" if options.action == "link" else "codes")
    except NoConsole as error:
        raise CommandError(str(error), REFUSED) from error
    if options.json:
        print(json.dumps(found))
    elif options.action == "link":
        print(found.get("link", ""))
    else:
        codes = found.get("codes", [])
        for one in codes:
            print(f"{one['code']}  {visible(one['what'])}  ({one['seconds']} s left)")
        if not codes:
            print("No decision waits for a code", file=sys.stderr)
    return SUCCESS
