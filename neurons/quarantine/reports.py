"""The report of a quarantine, made from what was found. A module of its own: neurons and functions are tried by two
modules, and reported alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..contracts import FileNeed, Report, ScenarioResult
from ..pipeline import code_hash, policy_hash
from .validation import bounded

if TYPE_CHECKING:
    from ..contracts import Neuron


def report_of(
    neuron: Neuron,
    at: float,
    scenarios: Sequence[ScenarioResult] = (),
    findings: Sequence[str] = (),
    problems: Sequence[str] = (),
    files: FileNeed = "",
) -> Report:
    return Report(
        at=at,
        code_hash=code_hash(neuron.code),
        policy_hash=policy_hash(neuron.policy),
        scenarios=tuple(scenarios),
        findings=bounded(findings),
        problems=bounded(problems),
        files=files,
    )
