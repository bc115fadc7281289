"""`cortex demo`: the whole story, offline. What the model says is scripted, and what happens is real."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from .exits import CODE_FAILED, REFUSED, SUCCESS, CommandError


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = "An agent with a scripted model and real hands: no network, no account, nothing left behind."


def run(options: Namespace) -> int:
    # Imported here: it takes a while, in which a person may think better of it, and that is no fault.
    import anyio

    from cortex.demo import tell
    from cortex.scripted_model import ScriptError
    from cortex.settings import load_settings
    from sandbox import SandboxUnavailable

    try:
        is_whole = anyio.run(tell, load_settings(options.config).sandbox, sys.stdout)
    except SandboxUnavailable as error:
        raise CommandError(str(error), REFUSED) from error
    except ScriptError as error:
        raise CommandError(f"the story does not fit what happened. {error}", CODE_FAILED) from error
    return SUCCESS if is_whole else CODE_FAILED
