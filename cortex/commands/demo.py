"""`cortex demo`: shows every feature offline. The model is scripted; everything else is real."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from .exits import CODE_FAILED, REFUSED, SUCCESS, CommandError


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "An agent with a scripted model; all else is real. No network, no account, nothing left behind."
    )
    parser.add_argument(
        "--yes", action="store_true", help="agree to what the agent wants to learn, without a terminal to ask at"
    )
    parser.add_argument("--mcp", action="store_true", help="no longer here: in a checkout, make demo-mcp")


def run(options: Namespace) -> int:
    if options.mcp:
        raise CommandError(
            'the story of MCP servers as functions is an example now; in a checkout of Motor Cortex, "make demo-mcp" '
            'or "python -m examples.mcp_story" tells it'
        )
    # Imported here because it is slow; Ctrl-C meanwhile is reported as an interruption.
    import anyio

    from cortex.demo import Asker, tell
    from cortex.models import ScriptError
    from cortex.settings import load_settings
    from sandbox import SandboxUnavailable

    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    asker = Asker(sys.stdin if is_terminal else None, says_yes=options.yes)
    try:
        is_whole = anyio.run(tell, load_settings(options.config).sandbox, sys.stdout, asker)
    except SandboxUnavailable as error:
        raise CommandError(str(error), REFUSED) from error
    except ScriptError as error:
        raise CommandError(f"the demo did not go as its script expects. {error}", CODE_FAILED) from error
    return SUCCESS if is_whole else CODE_FAILED
