"""Options that several commands have, and with the same words."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path


def behind_an_action(json_help: str) -> ArgumentParser:
    """A parent for the parsers of a command's actions. What was said before the action is not undone behind it."""
    common = ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--json", action="store_true", help=json_help)
    common.add_argument("--config", type=Path, help=argparse.SUPPRESS)
    common.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    return common


def add_no_cache(parser: ArgumentParser) -> None:
    """What it changes is in `changed`, for `load_settings`."""
    parser.add_argument(
        "--no-cache",
        dest="changed",
        action="store_const",
        const={"cache": {"enabled": False}},
        default={},
        help="run code again also where its result is known from before",
    )


def number_of(things: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or len(text) > 9:
            raise argparse.ArgumentTypeError(f"a number of {things}, not {text!r:.40}")
        return int(text)

    return read
