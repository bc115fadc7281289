"""`python -m examples.mcp_story`, in the folder of the checkout. What the model says is scripted, the rest is real."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

import anyio

from cortex import SettingsError, load_settings
from cortex.models import ScriptError
from sandbox import SandboxUnavailable

from .story import tell


def main() -> int:
    parser = ArgumentParser(prog="python -m examples.mcp_story", description="MCP servers as functions, and by calls.")
    parser.add_argument("--yes", action="store_true", help="agree to what the agent wants to do with a ticket")
    says_yes = parser.parse_args().yes
    keyboard = sys.stdin if sys.stdin.isatty() and sys.stdout.isatty() else None
    try:
        return 0 if anyio.run(tell, load_settings().sandbox, sys.stdout, keyboard, says_yes) else 1
    except (SandboxUnavailable, ScriptError, SettingsError) as error:
        print(f"The story cannot go on: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader has left. What Python still holds back must not complain of it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("Interrupted", file=sys.stderr)
        return 130


sys.exit(main())
