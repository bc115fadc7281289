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

from cortex.replies import blocked, reply
from cortex.settings import Settings, load_settings
from cortex.terminal import styled, visible
from sandbox import (
    DenoRuntime,
    ErrorType,
    ExecutionError,
    ExecutionOutcome,
    ExecutionRequest,
    Finding,
    Guard,
    SandboxUnavailable,
    Tier,
)

from .exits import CODE_FAILED, REFUSED, SUCCESS, CommandError


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the script, TypeScript or JavaScript; - reads standard input")
    parser.add_argument("--tier", default="isolated", help="what the code may reach: " + ", ".join(Tier))
    parser.add_argument("--timeout", type=int, metavar="MS", help="wall clock in milliseconds")
    parser.add_argument("--context", metavar="JSON", help="what the code finds as context; @FILE reads a file")
    parser.add_argument("--no-guard", action="store_true", help="run even what the static guard would block")
    parser.add_argument("--json", action="store_true", help="print {ok, output, result, error, logs, metrics}")


def run(options: Namespace) -> int:
    settings = load_settings(options.config)
    request = _request(options)
    # One process for one script: nothing is kept warm for a second one.
    settings = settings.model_copy(update={"sandbox": settings.sandbox.model_copy(update={"pool_size": 0})})
    outcome, output = anyio.run(partial(_execute, request, settings, guarded=not options.no_guard))
    if options.json:
        print(json.dumps(_as_json(outcome, output)))
    else:
        _show(outcome, output)
    if outcome.ok:
        return SUCCESS
    return REFUSED if outcome.refused else CODE_FAILED


def _request(options: Namespace) -> ExecutionRequest:
    if options.tier not in list(Tier):
        raise CommandError(f'no tier "{options.tier}": there are {", ".join(Tier)}')
    if options.timeout is not None and options.timeout <= 0:
        raise CommandError(f"--timeout must be a positive number of milliseconds, not {options.timeout}")
    code = _text(options.file)
    if not code.strip():
        raise CommandError(f'"{options.file}" holds no code')
    return ExecutionRequest(
        code=code,
        tier=Tier(options.tier),
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


async def _execute(request: ExecutionRequest, settings: Settings, *, guarded: bool) -> tuple[ExecutionOutcome, str]:
    try:
        finding = await _first_finding(request.code) if guarded else None
        if finding is not None:
            return _blocked(finding), blocked(finding)
        async with DenoRuntime(settings.sandbox) as runtime:
            outcome = await runtime.execute(request)
    except SandboxUnavailable as error:
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
        print(visible(output))
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
