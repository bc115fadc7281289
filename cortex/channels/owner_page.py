"""Formats a neuron for its owner, so that text written by the agent cannot look like our own lines.

Texts of the agent stand behind a label or a bar, on one line each, with hidden characters spelled out. Names and code
are escaped more strictly than prose. All of the code is shown: the owner must see what the consent is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from cortex.text import beyond_ascii, code_lines, local_time, visible, visible_code
from neurons import granted_files

if TYPE_CHECKING:
    from neurons import Neuron, Report, ScenarioResult

_PROPOSED = ("quarantine", "awaiting_owner")
HASH_CHARACTERS = 8
"""Characters of the shown hash that the owner has to repeat."""

_MAX_LINES_OF_A_REPORT = 40
_LABEL = 13
"""Width of the labels: a line with a hash fits into 80 columns."""


class HabitSeen(Protocol):
    """The facts that are shown of the habit that a neuron came from."""

    @property
    def id(self) -> str: ...

    @property
    def occurrences(self) -> int: ...

    @property
    def purpose(self) -> str: ...


def owner_view(neuron: Neuron, habit: HabitSeen | None = None) -> list[str]:
    """All of the neuron, as lines. While a question is open, the last line is the hash to repeat."""
    return [
        title_of(neuron) if neuron.status in _PROPOSED else f"{one_name(neuron.name)} neuron",
        *_about(neuron, habit),
        *_report(neuron.report),
        _line("code", f"{len(neuron.code.encode(errors='replace'))} bytes, by the {neuron.metadata.author}"),
        *([_line("beyond ASCII", f"line {lines} of the code")] if (lines := beyond_ascii(neuron.code)) else []),
        *code_lines(neuron.code),
        *_hashes(neuron),
    ]


def owner_summary(neuron: Neuron, habit: HabitSeen | None = None) -> list[str]:
    """A short view without the code and without the hash: it is not enough to approve."""
    return [title_of(neuron), *_about(neuron, habit), *list(_report(neuron.report))[:1]]


def title_of(neuron: Neuron) -> str:
    """`Agent wants to learn: CryptoPrice neuron`."""
    name = one_name(neuron.name)
    return f"Agent wants to learn: {name}{'' if name.lower().endswith('neuron') else ' neuron'}"


def one_line(text: str) -> str:
    """The agent's text on one line, to be shown inside a line of ours."""
    return visible(text.replace("\r\n", "\n")).replace("\n", "\\n").replace("\t", " ").strip()


def one_name(text: str) -> str:
    """A name that the agent chose, which may look like a host or a tool: shown as strictly as code."""
    return visible_code(text).replace("\n", "\\n")


def _about(neuron: Neuron, habit: HabitSeen | None) -> Iterator[str]:
    yield _line("id", f"{neuron.id}, version {neuron.version}, {neuron.status}")
    if neuron.reason:
        yield _line("reason", one_line(neuron.reason))
    yield _line("purpose", f"{one_line(neuron.metadata.purpose)} (in the agent's words)")
    yield _line("habit", _habit(neuron, habit))
    yield _line("listens to", _names(neuron.input_signals))
    yield _line("may emit", _names(neuron.output_signals))
    yield _line("tier", str(neuron.tier))
    yield _line("hosts", _names(neuron.hosts))
    yield _line("tools", _names(neuron.tools))
    if files := _files(neuron):
        yield _line("files", files)
    yield _line("energy budget", f"{neuron.energy_budget:g} for one signal")


def _files(neuron: Neuron) -> str:
    """The folder that was granted, or what the code wants of one; empty for a neuron without files."""
    grant = granted_files(neuron)
    if grant is not None:
        return f"{one_name(grant.folder)}, {'read and written' if grant.write else 'read-only'}"
    wants = neuron.report.files if neuron.report is not None else ""
    if not wants:
        return ""
    return f"wants to {'read and write' if wants == 'write' else 'read'} a folder; none is granted"


def _habit(neuron: Neuron, habit: HabitSeen | None) -> str:
    if habit is not None:
        return f"{one_line(habit.id)}, seen {habit.occurrences} times: {one_line(habit.purpose)} (in the agent's words)"
    return "none that was noticed" if neuron.metadata.habit is None else one_line(neuron.metadata.habit)


def _report(report: Report | None) -> Iterator[str]:
    if report is None:
        yield _line("quarantine", "not yet")
        return
    passed = sum(scenario.ok for scenario in report.scenarios)
    verdict = "passed" if report.passed else "failed"
    yield _line("quarantine", f"{verdict}, {passed} of {len(report.scenarios)} scenarios")
    yield from _bounded([f"  - {_scenario(scenario)}" for scenario in report.scenarios])
    yield from _bounded([f"  - {one_line(text)}" for text in report.findings])
    yield from _bounded([f"  ! {one_line(text)}" for text in report.problems])


def _scenario(scenario: ScenarioResult) -> str:
    emitted = ", ".join(f"{count} {one_name(name)}" for name, count in scenario.emitted.items()) or "nothing"
    problem = f", {one_line(scenario.problem)}" if scenario.problem else ""
    told = f"{scenario.signals} signals, emitted {emitted}, at most {scenario.energy:.4g} energy for one"
    return f"{one_line(scenario.name)}: {'ok' if scenario.ok else 'FAILED'}, {told}{problem}"


def _hashes(neuron: Neuron) -> Iterator[str]:
    yield _line("code hash", neuron.metadata.code_hash)
    request = neuron.request
    if request is not None:
        yield _line("decide until", local_time(request.expires_at))
        yield _line("hash", request.shown_hash)


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(one_name, names)) or "none"


def _line(label: str, text: str) -> str:
    return f"  {label:{_LABEL}} {text}"


def _bounded(lines: Sequence[str]) -> Iterable[str]:
    more = len(lines) - _MAX_LINES_OF_A_REPORT
    return [*lines[:_MAX_LINES_OF_A_REPORT], f"  … and {more} more"] if more > 0 else lines
