"""`cortex tools`: list and search the tools that code may call; `show` prints the TypeScript declaration of a tool."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cortex.settings import Settings
from cortex.text import has_colour, visible, wrapped

from .exits import CODE_FAILED, SUCCESS, CommandError
from .options import load_existing, number_of
from .rows import paint, width

if TYPE_CHECKING:
    from .tool_source import Seen

SHOW = "show"


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = "Lists the tools that code may call, or those for QUERY, the best first."
    parser.epilog = "cortex tools show NAME… prints their declarations in TypeScript."
    parser.add_argument("words", metavar="QUERY", nargs="*", help="what a tool is to do, in a few words")
    parser.add_argument(
        "--server", metavar="NAME", action="append", default=[], help="only tools of this server; may be repeated"
    )
    parser.add_argument(
        "--limit",
        metavar="N",
        type=number_of("tools", least=1),
        help="list at most N tools; for a search the default is discovery.max_results",
    )
    parser.add_argument("--tools", metavar="MODULE:NAME", help="also the tools of your own Toolbox, as in cortex chat")
    parser.add_argument("--json", action="store_true", help="print a list of {name, server, tool, policy, …}")


def run(options: Namespace) -> int:
    from .tool_source import all_tools, tools_named

    settings = load_existing(options)
    if options.words[:1] == [SHOW]:
        if len(options.words) == 1:
            raise CommandError(f"{SHOW} needs a NAME: of a tool, or of a server for all of its tools")
        if options.limit is not None:
            raise CommandError(f"--limit does not go with {SHOW}")
        return _show(tools_named(options.words[1:], options, settings), options, settings)
    query = " ".join(options.words).strip()
    seen = all_tools(query, options, settings)
    _tell(seen)
    if options.json:
        from .tool_rows import facts_of

        print(json.dumps([facts_of(tool, settings, seen.score_of(tool)) for tool in seen.tools]))
    elif seen.tools:
        from .tool_rows import list_lines

        print("\n".join(list_lines(seen, settings, width(), paint)))
    elif not seen.troubles:
        print(_nothing(seen, query), file=sys.stderr)
    return CODE_FAILED if seen.troubles and not seen.answered else SUCCESS


def _nothing(seen: Seen, query: str) -> str:
    if not seen.count:
        return "There are no tools yet: cortex mcp add NAME -- COMMAND"
    return f"None of {seen.count} tools matches {query!r:.100}, or those that match have the policy deny"


def _tell(seen: Seen) -> None:
    for name, error in seen.troubles.items():
        print(f"cortex tools: {name} cannot be used: {visible(error)}", file=sys.stderr)


def _show(seen: Seen, options: Namespace, settings: Settings) -> int:
    from sandbox import typescript_of

    from .tool_rows import declared_facts_of, policy_lines

    _tell(seen)
    if options.json:
        print(json.dumps([declared_facts_of(tool, settings) for tool in seen.tools]))
    elif seen.tools:
        comments = policy_lines(seen.tools, settings)
        _print_code("\n".join([*comments, typescript_of([tool.declaration for tool in seen.tools]).rstrip("\n")]))
    return CODE_FAILED if seen.troubles else SUCCESS


def _print_code(code: str) -> None:
    lines: Sequence[str] = visible(code).split("\n")
    if sys.stdout.isatty():
        lines = wrapped(code, width())
        if has_colour(sys.stdout):
            from cortex.show import highlighted

            lines = highlighted(list(lines), code)
    print("\n".join(lines))
