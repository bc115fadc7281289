"""What a comparison means for a report, and hashes of what tools take and give, to see changes later. Pure.

A module of its own: the queue and what looks at night use it, and neither imports the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..pipeline import canonical
from .validation import bounded

if TYPE_CHECKING:
    from sandbox import HostTools

    from ..contracts import Equality, Report


def with_equality(report: Report, equality: Equality) -> Report:
    """A difference rejects what the agent said comes of the habit. Where the habit was guessed, the owner is told."""
    changed = {"equality": equality}
    found = equality.first_difference
    if found is None:
        return report.model_copy(update=changed)
    if equality.is_named:
        advice = "Do the same as the scripts of the habit, or propose it without naming the habit"
        lines = {"problems": bounded([*report.problems, f"differs from the recorded scripts {found.line}. {advice}"])}
    else:
        lines = {"findings": bounded([*report.findings, f"differs from scripts that may be its habit {found.line}"])}
    return report.model_copy(update={**changed, **lines})


def schemas_of(tools: HostTools | None, names: Sequence[str]) -> dict[str, str]:
    """A hash of the schemas of each tool that is declared now."""
    if tools is None:
        return {}
    declared = {each.name: each for each in tools.declarations()}
    return {
        name: hashlib.sha256(_facts(declared[name].input_schema, declared[name].output_schema)).hexdigest()[:16]
        for name in names
        if name in declared
    }


def _facts(*schemas: object) -> bytes:
    try:
        return canonical(schemas)
    except (TypeError, ValueError, RecursionError):
        return repr(schemas).encode()
