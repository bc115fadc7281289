"""`cortex run FILE|-`: one script, one answer."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from pydantic import ValidationError

from cortex.replies import blocked, reply
from cortex.settings import load_settings
from cortex.terminal import styled, visible
from sandbox import (
    Changes,
    DenoRuntime,
    ErrorType,
    ExecutionError,
    ExecutionOutcome,
    ExecutionRequest,
    Finding,
    Guard,
    HostRule,
    NetworkPolicy,
    Recorder,
    Replay,
    SandboxError,
    SandboxSettings,
    Tier,
    Workspace,
)

from .exits import CODE_FAILED, REFUSED, SUCCESS, CommandError


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
    parser.add_argument(
        "--json",
        action="store_true",
        help="print {ok, output, result, error, logs, metrics}, and {changes, committed} with a workspace",
    )


def run(options: Namespace) -> int:
    settings = load_settings(options.config)
    request = _request(options)
    network = _network(options, settings.sandbox.network)
    workspace = _workspace(options.workspace)
    # One process for one script: nothing is kept warm for a second one.
    sandbox = settings.sandbox.model_copy(update={"pool_size": 0, "network": network})
    outcome, output = anyio.run(partial(_execute, request, sandbox, workspace, guarded=not options.no_guard))
    trouble = _commit(outcome) if options.commit and outcome.ok else None
    if options.json:
        answer = _as_json(outcome, output)
        if workspace is not None:
            answer["changes"] = [asdict(change) for change in outcome.changes]
            answer["committed"] = options.commit and outcome.ok and trouble is None
        print(json.dumps(answer))
    else:
        _show(outcome, output)
        _show_changes(outcome.changes, is_made=options.commit and trouble is None)
    if network.recorder is not None:
        _save(network.recorder, options.record)
    if trouble is not None:
        raise CommandError(trouble, REFUSED)
    if outcome.ok:
        return SUCCESS
    return REFUSED if outcome.refused else CODE_FAILED


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
    code = _text(options.file)
    if not code.strip():
        raise CommandError(f'"{options.file}" holds no code')
    return ExecutionRequest(
        code=code,
        tier=Tier(tier),
        timeout_ms=options.timeout,
        context=_context(options.context),
    )


def _text(name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f'cannot read "{name}": {error.strerror}') from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CommandError(f'"{name}" is not UTF-8: invalid byte at position {error.start}') from error


def _context(argument: str | None) -> Any:
    if argument is None:
        return {}
    text = _text(argument[1:]) if argument.startswith("@") else argument
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
    try:
        return Workspace(folder)
    except SandboxError as error:
        raise CommandError(str(error)) from error


def _commit(outcome: ExecutionOutcome) -> str | None:
    """Make the changes; why not, if that failed. The code has run all the same, and its result is shown."""
    try:
        anyio.run(outcome.changes.commit)
    except SandboxError as error:
        return str(error)
    return None


def _check_writable(name: str) -> None:
    """Before anything runs: what has happened by then is not lost for a name that was mistyped."""
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


async def _execute(
    request: ExecutionRequest, settings: SandboxSettings, workspace: Workspace | None, *, guarded: bool
) -> tuple[ExecutionOutcome, str]:
    try:
        finding = await _first_finding(request.code) if guarded else None
        if finding is not None:
            return _blocked(finding), blocked(finding)
        async with DenoRuntime(settings) as runtime:
            outcome = await runtime.execute(request, workspace=workspace)
    except SandboxError as error:
        raise CommandError(str(error), REFUSED) from error
    return outcome, reply(outcome)


async def _first_finding(code: str) -> Finding | None:
    async with Guard() as guard:
        return next(iter(await guard.inspect(code)), None)


def _blocked(finding: Finding) -> ExecutionOutcome:
    message = (
        f"{finding.pattern} at line {finding.line}, column {finding.column}: {finding.why} "
        "(--no-guard runs it all the same: the wall holds without the guard)"
    )
    return ExecutionOutcome(ok=False, error=ExecutionError(ErrorType.PERMISSION, message), refused=True)


def _as_json(outcome: ExecutionOutcome, output: str) -> dict[str, Any]:
    return {
        "ok": outcome.ok,
        "output": output,
        "result": outcome.result,
        "error": asdict(outcome.error) if outcome.error else None,
        "logs": [asdict(entry) for entry in outcome.logs],
        "metrics": asdict(outcome.metrics),
    }


def _show(outcome: ExecutionOutcome, output: str) -> None:
    """Logs and errors for the eye on stderr, the result alone on stdout."""
    for entry in outcome.logs:
        print(styled(f"[{entry.level}]", "dim", sys.stderr), visible(entry.text), file=sys.stderr)
    if outcome.ok:
        print(visible(output), flush=True)  # before what follows on stderr, wherever both go
        return
    error = outcome.error
    assert error is not None
    code, _, rest = output.partition(": ")
    print(styled(code, "red", sys.stderr) + f": {visible(rest)}", file=sys.stderr)
    if outcome.refused and not rest.endswith(error.message):
        print(visible(error.message), file=sys.stderr)
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
