"""`cortex replay`: run the code of a run again on what is on record, and say whether the same comes of it."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .exits import CODE_FAILED, SUCCESS, USAGE, CommandError
from .options import load_existing, refuse_if_killed
from .rows import paint, width

if TYPE_CHECKING:
    from cortex.replay import Replayable, ReplayResult, WhatIf
    from cortex.settings import Settings

_WORDS = {"deny": "the policies refuse it", "ask": "you would have been asked"}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run of this home, or a file that cortex runs export wrote")
    parser.add_argument(
        "--tool",
        metavar="NAME=error",
        action="append",
        type=_failing,
        default=[],
        help="what if this function had failed; may be repeated",
    )
    parser.add_argument("--level", metavar="N", type=_level, help="what if the energy had been N, from 0 to 1")
    parser.add_argument("--policy", metavar="FILE", help="what if the policies of this settings file had been in force")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, for programs")


def run(options: Namespace) -> int:
    # Imported here: `--help` must not wait for it.
    import anyio

    from cortex.replay import ReplayRefused, replayed
    from neurons import KillSwitch
    from sandbox import Running, SandboxError

    settings = load_existing(options)
    kept = _kept(options.run, settings)
    what_if = _what_if(options, kept)
    refuse_if_killed(settings)
    switch = KillSwitch(settings.home / "state")
    running = Running(switch.running, switch.refusal, required=False)

    async def replay() -> ReplayResult:
        return await replayed(kept, settings, what_if=what_if, running=running)

    try:
        result = anyio.run(replay)
    except ReplayRefused as error:
        raise CommandError(f'"{options.run[:200]}" cannot be replayed: {error}') from error
    except SandboxError as error:
        raise CommandError(str(error), USAGE) from error
    if options.json:
        print(json.dumps(result.as_json()))
    else:
        for line in _lines(result, kept, is_what_if=bool(what_if)):
            print(line)
    return SUCCESS if result.is_same else CODE_FAILED


def _kept(name: str, settings: Settings) -> Replayable:
    """The run that is meant. Raises CommandError."""
    from cortex.audit import AuditError
    from cortex.replay import ReplayRefused, replayable_of
    from cortex.views import HomeRuns

    from .runs import chosen

    try:
        if Path(name).is_file():
            return _in_file(Path(name))
        with HomeRuns.opened(settings) as runs:
            return replayable_of(runs, chosen(runs, name))
    except ReplayRefused as error:
        raise CommandError(f'"{name[:200]}" cannot be replayed: {error}') from error
    except (AuditError, OSError, ValueError) as error:
        raise CommandError(f"the run cannot be read: {error}") from error


def _in_file(path: Path) -> Replayable:
    from cortex.replay import replayable_in
    from cortex.runs import MAX_BUNDLE_BYTES, BundleRefused, read_bundle

    with path.open("rb") as file:
        data = file.read(MAX_BUNDLE_BYTES + 1)
    try:
        return replayable_in(read_bundle(data))
    except BundleRefused as error:
        raise CommandError(f'"{path}" is refused: {error}') from error


def _what_if(options: Namespace, kept: Replayable) -> WhatIf:
    from cortex.replay import WhatIf
    from cortex.settings import load_settings

    known = {call.name for call in kept.details.calls} | {*kept.details.tools_lent}
    for name in options.tool:
        if name not in known:
            lent = ", ".join(sorted(known)[:20]) or "none"
            raise CommandError(f"--tool {name}: the run was not lent that function; it was lent: {lent}")
    policies = None if options.policy is None else load_settings(Path(options.policy), {}).tools
    return WhatIf(frozenset(options.tool), options.level, policies)


def _lines(result: ReplayResult, kept: Replayable, *, is_what_if: bool) -> Iterator[str]:
    from cortex.text import CODE, fit, wrapped

    details = kept.details
    style = "green" if result.is_same else "yellow"
    verdict = "same" if result.is_same else "differs"
    what = "compared by its facts alone" if details.keep != "texts" else "outcome, calls, requests, console and reply"
    name = fit(result.run, width())  # on one line, whoever wrote it
    head = f"run {name}: {what}" if result.ran else f"run {name} would not have run"
    yield f"{paint(verdict, style)}  {head}"
    for judged, count in Counter(result.judged).items():
        times = "" if count == 1 else f", {count} times"
        yield fit(f"{judged.name}: {_WORDS[judged.policy]}{times}", width())
    for found in result.differences:
        yield ""
        if found.what == "not on record":
            yield from wrapped(f"not on record: {found.replayed}", width())
            continue
        yield from wrapped(f"{found.what}: on record {found.recorded}; now {found.replayed}", width())
        for line in found.lines:
            style = {"-": "red", "+": "green"}.get(line[:1], "dim")
            yield from (paint(CODE + part, style) for part in wrapped(line, width() - len(CODE)))
    if is_what_if:
        yield ""
        yield paint("what the model would have read", "bold")
        yield from (CODE + line for line in wrapped(result.reply, width() - len(CODE)))
    if result.missing or result.note:
        yield ""
        yield from (line for text in (*result.missing, result.note) if text for line in wrapped(text, width()))
    sys.stdout.flush()


def _failing(text: str) -> str:
    name, _, what = text.rpartition("=")
    if what != "error" or not name:
        raise ArgumentTypeError(f"NAME=error, not {text!r:.60}")
    return name


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = -1.0
    if not 0 <= level <= 1:
        raise ArgumentTypeError(f"a level from 0 to 1, not {text!r:.40}")
    return level
