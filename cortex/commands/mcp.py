"""`cortex mcp`: add, list, test and remove the MCP servers whose tools code may call; `serve` runs an MCP server."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any, get_args

from cortex.settings import Policy

from .exits import CommandError
from .mcp_serve import add_serve_arguments, serve
from .options import behind_an_action, load_existing
from .rows import paint, width


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser_class: type[ArgumentParser] = _BeforeDashes
    actions = parser.add_subparsers(dest="action", metavar="ACTION", parser_class=parser_class)
    common = behind_an_action("print JSON, for programs")

    def action(name: str, what: str) -> ArgumentParser:
        return actions.add_parser(name, parents=[common], help=what, description=what)

    add = action("add", "add a server: NAME -- COMMAND ARG…, or NAME --url URL, or --from FILE [NAME…]")
    add.usage = (
        "cortex mcp add NAME [--env K=V] [--policy POLICY] -- COMMAND ARG…\n"
        "       cortex mcp add NAME --url URL [--header K=V] [--policy POLICY]\n"
        "       cortex mcp add --from FILE [NAME…] [--policy POLICY]"
    )
    add.add_argument("names", metavar="NAME", nargs="*", help="tools.NAME in code; with --from, only these of the file")
    add.add_argument("--url", metavar="URL", help="the address of a server that is already running")
    add.add_argument(
        "--header", action="append", default=[], metavar="K=V", help="sent to the URL; V may have ${env:VARIABLE}"
    )
    add.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="K=V",
        help="in the environment of the command; K alone takes it from ours, each time it is started",
    )
    add.add_argument(
        "--policy", choices=get_args(Policy), help="the policy of all its tools: allow (the default), ask, deny"
    )
    add.add_argument(
        "--from", dest="source", metavar="FILE", help="take servers from a file like .mcp.json; - is standard input"
    )
    action("list", "the servers, where each is configured, and what it is; also without an action")
    remove = action("remove", "remove servers that were added")
    remove.add_argument("names", metavar="NAME", nargs="+", help="its name")
    test = action("test", "start all servers, or the named ones, and ask for their tools; exits with 1 if one fails")
    test.add_argument("names", metavar="NAME", nargs="*", help="its name")
    add_serve_arguments(action("serve", "run as an MCP server, for Claude Desktop, Cursor and other clients"))


def run(options: Namespace) -> int:
    from cortex.settings import load_settings

    if getattr(options, "behind_dashes", None) is not None and options.action != "add":
        raise CommandError(f"{options.action} takes no command behind --")
    match options.action:
        case "serve":
            return serve(options)
        case "add" | "remove":
            from .mcp_change import change

            adds = options.action == "add"
            return change(options, load_settings(options.config, home=options.home) if adds else load_existing(options))
        case "test":
            from .mcp_trial import try_servers

            return try_servers(options, load_existing(options), paint)
    from .mcp_rows import print_list

    return print_list(options, load_existing(options), width(), paint)


class _BeforeDashes(ArgumentParser):
    """A parser that leaves everything after `--` alone: it is the command line of the MCP server."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        given: Sequence[str] = sys.argv[1:] if args is None else args
        at = given.index("--") if "--" in given else len(given)
        found, rest = super().parse_known_args(given[:at], namespace)
        found.behind_dashes = list(given[at + 1 :]) if at < len(given) else None
        return found, rest
