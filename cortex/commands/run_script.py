"""The second half of `cortex run`: read the script, run it and print the answer. Imported while Deno starts."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import anyio
from pydantic import ValidationError

from cortex.cache import CachedRuntime, open_cache, with_cache
from cortex.contracts import blocked, calls_told, headline, where_told
from cortex.home import Home
from cortex.settings import SettingsError
from cortex.text import styled, visible
from sandbox import (
    DenoRuntime,
    ErrorType,
    ExecutionError,
    ExecutionOutcome,
    ExecutionRequest,
    Guard,
    HostRule,
    Recorder,
    Replay,
    SandboxError,
    Tier,
    table_text,
)

from .exits import CODE_FAILED, REFUSED, SUCCESS, CommandError
from .options import text_in

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

    from cortex.cache import ResultCache
    from cortex.settings import Settings
    from sandbox import Changes, Displayed, Finding, HeadStart, NetworkPolicy, Running, SandboxSettings, Workspace

# What only fails differently without the guard.
_NEVER_WORKS = frozenset({"Python", "require"})


def run_script(options: Namespace, settings: Settings, head_start: HeadStart, running: Running) -> int:
    request = _request(options)
    network = _network(options, settings.sandbox.network)
    workspace = _workspace(options.workspace)
    cache = None if workspace is not None else open_cache(Home(settings.home), settings.cache)
    # One process for one script: no worker is kept warm for a second one.
    sandbox = settings.sandbox.model_copy(update={"pool_size": 0, "network": network})
    return anyio.run(_run, options, request, settings.home, sandbox, workspace, head_start, running, cache)


async def _run(
    options: Namespace,
    request: ExecutionRequest,
    home: Path,
    settings: SandboxSettings,
    workspace: Workspace | None,
    head_start: HeadStart,
    running: Running,
    cache: ResultCache | None,
) -> int:
    try:
        finding = None if options.no_guard else await _first_finding(request.code)
        if finding is not None:
            return await _answer(options, home, settings.network, _blocked(finding), blocked(finding))
        deno = DenoRuntime(settings, head_start=head_start, running=running)
        if cache is not None and (known := CachedRuntime(deno, cache).known(request)) is not None:
            return await _answer(options, home, settings.network, known, headline(known))
        async with deno:
            outcome = await with_cache(deno, cache).execute(request, workspace=workspace)
            # Print before the runtime closes, which takes longer than most scripts: the person need not wait for it.
            code = await _answer(options, home, settings.network, outcome, headline(outcome))
            if cache is not None:
                cache.write_out()
            return code
    except SandboxError as error:
        raise CommandError(str(error), REFUSED) from error


async def _answer(
    options: Namespace, home: Path, network: NetworkPolicy, outcome: ExecutionOutcome, output: str
) -> int:
    """Print what happened, save the recording, and with --commit make the changes. Returns the exit code."""
    trouble = await _commit(outcome) if options.commit and outcome.ok else None
    displayed = await _displayed(outcome, home) if outcome.displayed else []
    if options.json:
        answer = _as_json(outcome, output)
        if outcome.calls:
            answer["calls"] = [asdict(call) for call in outcome.calls]
        if displayed:
            answer["displayed"] = displayed
        if options.workspace is not None:
            answer["changes"] = [asdict(change) for change in outcome.changes]
            answer["committed"] = options.commit and outcome.ok and trouble is None
        print(json.dumps(answer), flush=True)
    else:
        _show(outcome, output)
        for item in displayed:
            title = f"{item['title']}: " if item["title"] else ""
            shown = item.get("path") or "\n" + item["text"]
            print(styled("[display]", "dim", sys.stderr), visible(f"{title}{shown}"), file=sys.stderr)
        _show_changes(outcome.changes, is_made=options.commit and trouble is None)
    if network.recorder is not None:
        _save(network.recorder, options.record)
    if trouble is not None:
        raise CommandError(trouble, REFUSED)
    if outcome.ok:
        return SUCCESS
    return REFUSED if outcome.refused else CODE_FAILED


async def _displayed(outcome: ExecutionOutcome, home: Path) -> list[dict[str, str]]:
    """What the code displayed: pictures as paths of files in the home, and texts."""
    from cortex.show import Gallery
    from cortex.turn import shown_displays

    async def unchanged(text: str) -> str:
        return text  # The person's own script: nothing is hidden from that person.

    def shown(item: Displayed) -> dict[str, str]:
        if item.type == "table":
            return {"text": table_text(item.rows)}
        if not item.is_file:
            return {"text": item.text}
        try:
            return {"path": str(gallery.keep(item))}
        except (OSError, SettingsError) as error:
            return {"text": f"It could not be kept: {error}"}

    gallery = Gallery(lambda: Home(home).displayed)
    return [{**item.label, **shown(item)} for item in await shown_displays(outcome.displayed, unchanged)]


def _request(options: Namespace) -> ExecutionRequest:
    is_network = bool(options.allow_host or options.replay or options.record)
    tier = options.tier or (Tier.NETWORK if is_network else Tier.ISOLATED)
    if tier not in list(Tier):
        raise CommandError(f'no tier "{tier}": there are {", ".join(Tier)}')
    if is_network and tier != Tier.NETWORK:
        raise CommandError("--allow-host, --record and --replay: the code needs the network tier for that")
    if options.commit and options.workspace is None:
        raise CommandError("--commit needs a --workspace to change")
    if options.timeout is not None and options.timeout <= 0:
        raise CommandError(f"--timeout must be a positive number of milliseconds, not {options.timeout}")
    code = text_in(options.file)
    if not code.strip():
        raise CommandError(f'"{options.file}" holds no code')
    return ExecutionRequest(
        code=code,
        tier=Tier(tier),
        timeout_ms=options.timeout,
        context=_context(options.context),
    )


def _context(argument: str | None) -> Any:
    if argument is None:
        return {}
    text = text_in(argument[1:]) if argument.startswith("@") else argument
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"--context is not JSON: {error}") from error


def _network(options: Namespace, policy: NetworkPolicy) -> NetworkPolicy:
    try:
        replay = Replay.load(options.replay) if options.replay else None
    except OSError as error:
        raise CommandError(f'cannot read "{options.replay}": {error.strerror}') from error
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise CommandError(f'"{options.replay}" is not a recording: {reason}') from error
    if options.record:
        _check_writable(options.record)
    recorded = replay.origins if replay is not None else ()
    try:
        hosts = tuple(HostRule.model_validate(host) for host in (*options.allow_host, *recorded))
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise CommandError(f"--allow-host: {reason}") from error
    recorder = Recorder() if options.record else None
    return policy.model_copy(update={"allow": policy.allow + hosts, "replay": replay, "recorder": recorder})


def _workspace(folder: str | None) -> Workspace | None:
    if folder is None:
        return None
    from sandbox import Workspace

    try:
        return Workspace(folder)
    except SandboxError as error:
        raise CommandError(str(error)) from error


async def _commit(outcome: ExecutionOutcome) -> str | None:
    """Make the changes on disk; return why that failed, or None. The code has run, so its result is shown anyway."""
    try:
        await outcome.changes.commit()
    except SandboxError as error:
        return str(error)
    return None


def _check_writable(name: str) -> None:
    """Raise CommandError if the file cannot be written. Called before the run, so that a wrong file name does not lose
    its results."""
    try:
        with open(name, "ab"):
            pass
    except OSError as error:
        raise CommandError(f'cannot write "{name}": {error.strerror}') from error


def _save(recorder: Recorder, name: str) -> None:
    try:
        recorder.save(name)
    except OSError as error:
        raise CommandError(f'cannot write "{name}": {error.strerror}') from error


async def _first_finding(code: str) -> Finding | None:
    async with Guard() as guard:
        return next(iter(await guard.inspect(code)), None)


def _blocked(finding: Finding) -> ExecutionOutcome:
    message = f"{finding.pattern} at line {finding.line}, column {finding.column}: {finding.why}"
    if finding.pattern not in _NEVER_WORKS:
        message += " (--no-guard runs it anyway: the sandbox protects you even without the guard)"
    return ExecutionOutcome(ok=False, error=ExecutionError(ErrorType.PERMISSION, message), refused=True)


def _as_json(outcome: ExecutionOutcome, output: str) -> dict[str, Any]:
    return {
        "ok": outcome.ok,
        "output": output,
        "result": outcome.result,
        "error": asdict(outcome.error) if outcome.error else None,
        "logs": [{"level": entry.level, "text": entry.text} for entry in outcome.logs],
        "metrics": asdict(outcome.metrics),
    }


def _show(outcome: ExecutionOutcome, output: str) -> None:
    """Print logs and errors on stderr, and only the result on stdout."""
    for entry in outcome.logs:
        print(styled(f"[{entry.level}]", "dim", sys.stderr), visible(entry.text), file=sys.stderr)
    if outcome.ok:
        print(visible(output), flush=True)  # flushed before the lines on stderr follow: both may go to one terminal
        return
    error = outcome.error
    assert error is not None
    code, _, rest = output.partition(": ")
    print(styled(code, "red", sys.stderr) + f": {visible(rest)}", file=sys.stderr)
    if outcome.refused and not rest.endswith(error.message):
        print(visible(error.message), file=sys.stderr)
    if error.where is not None:
        print(f"  {visible(where_told(error.where))}", file=sys.stderr)
    for line in calls_told(outcome):
        print(visible(line), file=sys.stderr)
    if error.stack:
        for line in error.stack.splitlines()[1:]:
            print(styled(visible(line), "dim", sys.stderr), file=sys.stderr)


def _show_changes(changes: Changes, *, is_made: bool) -> None:
    colours = {"added": "green", "changed": "yellow", "removed": "red"}
    for change in changes:
        kind, _, rest = str(change).partition(" ")
        print(styled(f"{kind:7}", colours[kind], sys.stderr), visible(rest), file=sys.stderr)
    if changes and not is_made:
        print(styled("nothing was changed on disk: --commit makes these changes", "dim", sys.stderr), file=sys.stderr)
