"""`cortex run FILE|-`: run one script in the sandbox and print its result."""

from __future__ import annotations

import gc
from argparse import ArgumentParser, Namespace

from sandbox import HeadStart, Running, Tier

from .options import add_no_cache


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the script, TypeScript or JavaScript; - reads standard input")
    parser.add_argument("--tier", help="what the code may reach: " + ", ".join(Tier))
    parser.add_argument("--timeout", type=int, metavar="MS", help="wall clock in milliseconds")
    parser.add_argument("--context", metavar="JSON", help="what the code finds as context; @FILE reads a file")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="HOST",
        help="a host that the network tier reaches: example.com, *.example.com, http://localhost:8000; may be repeated",
    )
    parser.add_argument("--record", metavar="FILE", help="write what was fetched to a file")
    parser.add_argument("--replay", metavar="FILE", help="answer from such a file instead of the network")
    parser.add_argument("--workspace", metavar="DIR", help="a folder that the code sees and may change")
    parser.add_argument("--commit", action="store_true", help="make the changes; without it they are only shown")
    parser.add_argument("--no-guard", action="store_true", help="run even what the static guard would block")
    add_no_cache(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print {ok, output, result, error, logs, metrics}, and {calls, displayed, changes, committed} if any",
    )


def run(options: Namespace) -> int:
    # Nearly all of the time goes into imports and start-up. So the launcher starts while the settings are imported, and
    # Deno while the event loop is. Imported objects stay to the end, so the garbage collector need not scan them.
    gc.disable()
    with HeadStart() as head_start:
        from cortex.settings import load_settings
        from neurons import KillSwitch

        settings = load_settings(options.config, home=options.home, **options.changed)
        switch = KillSwitch(settings.home / "state")
        # A home that cannot be written to does not stop the run: no kill switch could be turned on there.
        running = Running(switch.running, switch.refusal, required=False)
        head_start.order(settings.sandbox, running)

        from .run_script import run_script

        gc.freeze()
        gc.enable()
        return run_script(options, settings, head_start, running)
