"""`cortex doctor`: what is installed and what holds here, each proved by trying."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict

import anyio

from cortex.settings import load_settings
from cortex.terminal import styled, visible
from sandbox import Diagnosis, SandboxSettings, examine

from .exits import CODE_FAILED, SUCCESS

_COLOURS = {"ok": "green", "held": "green", "absent": "yellow", "broken": "red"}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print a list of {name, verdict, detail}")


def run(options: Namespace) -> int:
    settings = load_settings(options.config)
    diagnoses = anyio.run(_examine, settings.sandbox, not options.json)
    if options.json:
        print(json.dumps([asdict(diagnosis) for diagnosis in diagnoses]))
    return CODE_FAILED if any(diagnosis.verdict == "broken" for diagnosis in diagnoses) else SUCCESS


async def _examine(settings: SandboxSettings, show: bool) -> list[Diagnosis]:
    diagnoses = []
    async for diagnosis in examine(settings):
        diagnoses.append(diagnosis)
        if show:  # at once: the trials take a second or two
            verdict = styled(f"{diagnosis.verdict:7}", _COLOURS[diagnosis.verdict], sys.stdout)
            print(f"{verdict} {diagnosis.name:13} {visible(diagnosis.detail)}", flush=True)
    return diagnoses
