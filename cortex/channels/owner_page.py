"""Formats a neuron for its owner, so that text written by the agent cannot look like our own lines.

First a sentence made from facts, and what it costs; then everything else. Texts of the agent stand behind a label or a
bar, on one line each, with hidden characters spelled out. Names and code are escaped more strictly than prose. All of
the code is shown: the owner must see what the consent is for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from cortex.text import beyond_ascii, code_lines, local_time
from neurons import Around, code_hash, granted_files, policy_hash

from .agent_text import labelled, names, one_line, one_name
from .owner_change import change_lines
from .owner_facts import cost_sentence, sentence
from .owner_reach import reach_lines

if TYPE_CHECKING:
    from neurons import Approval, Neuron, Outcome, Report, ScenarioResult

_PROPOSED = ("quarantine", "awaiting_owner")
HASH_CHARACTERS = 8
"""Characters of the shown hash that the owner has to repeat."""

_MAX_LINES_OF_A_REPORT = 40
_MAX_ONE_LINE = 300
_NOWHERE = Around()


class HabitSeen(Protocol):
    """The facts that are shown of the habit that a neuron came from."""

    @property
    def id(self) -> str: ...

    @property
    def occurrences(self) -> int: ...

    @property
    def purpose(self) -> str: ...


def owner_view(neuron: Neuron, habit: HabitSeen | None = None, around: Around = _NOWHERE) -> list[str]:
    """All of the neuron, as lines. While a question is open, the last line is the hash to repeat."""
    return [
        title_of(neuron) if neuron.status in _PROPOSED else f"{one_name(neuron.name)}{_kind(neuron)}",
        *_about(neuron, habit, around),
        *_compared(neuron.report),
        *_quarantine(neuron),
        *change_lines(neuron, around),
        labelled("code", f"{len(neuron.code.encode(errors='replace'))} bytes, {_author(neuron)}"),
        *([labelled("beyond ASCII", f"line {lines} of the code")] if (lines := beyond_ascii(neuron.code)) else []),
        *code_lines(neuron.code),
        *_hashes(neuron),
    ]


def owner_summary(neuron: Neuron, habit: HabitSeen | None = None, around: Around = _NOWHERE) -> list[str]:
    """A short view without the code and without the hash: it is not enough to approve."""
    return [
        title_of(neuron),
        *_about(neuron, habit, around),
        *_compared(neuron.report),
        *list(_quarantine(neuron))[:1],
    ]


def title_of(neuron: Neuron) -> str:
    """`Agent wants to learn: CryptoPrice neuron`."""
    return f"Agent wants to learn: {one_name(neuron.name)}{_kind(neuron)}"


def outcome_line(outcome: Outcome) -> str:
    """`CryptoPrice neuron was stopped: 6 errors within an hour`."""
    neuron = outcome.neuron
    name = f"{one_name(neuron.name)}{_kind(neuron)}"
    why = f": {one_line(outcome.reason)}" if outcome.reason else ""
    match outcome.event:
        case "neuron_stopped":
            return f"{name} was stopped{why}; to look at it: cortex neurons show {neuron.id}"
        case "neuron_active":
            return f"{name} has passed its trial and is active"
        case "neuron_expires":
            until = local_time(neuron.request.expires_at) if neuron.request is not None else "soon"
            return f"{name} waits for you until {until}, and then expires: cortex neurons show {neuron.id}"
        case _:
            return f"{name} has expired{why}"


def _kind(neuron: Neuron) -> str:
    word = "function" if neuron.is_function else "neuron"
    return "" if neuron.name.lower().endswith(word) else f" {word}"


def _about(neuron: Neuron, habit: HabitSeen | None, around: Around) -> Iterator[str]:
    yield sentence(neuron, around)
    yield cost_sentence(neuron, around)
    yield labelled("id", f"{neuron.id}, version {neuron.version}, {neuron.status}")
    if neuron.reason:
        yield labelled("reason", one_line(neuron.reason))
    whose = "the folder's" if neuron.metadata.source else "the agent's"
    yield labelled("purpose", f"{one_line(neuron.metadata.purpose)} (in {whose} words)")
    if neuron.metadata.source:
        yield labelled("imported", f"from folder {one_name(neuron.metadata.source)}: other people may have written it")
    yield labelled("habit", _habit(neuron, habit))
    yield from _called(neuron) if neuron.is_function else _heard(neuron, around)
    yield from reach_lines(neuron, around.neurons)
    yield labelled("tier", str(neuron.tier))
    yield labelled("hosts", names(neuron.hosts))
    yield labelled("tools", names(neuron.tools))
    if files := _files(neuron):
        yield labelled("files", files)
    yield labelled("energy budget", f"{neuron.energy_budget:g} for one {'call' if neuron.is_function else 'signal'}")


def _heard(neuron: Neuron, around: Around) -> Iterator[str]:
    """What it answers and emits, and what an emission does."""
    heard = [
        f"{one_name(name)} (hears every word you write)" if name == "user_message" else one_name(name)
        for name in neuron.input_signals
    ]
    yield labelled("listens to", ", ".join(heard) or "none")
    if neuron.schedules:
        yield labelled("runs", "; ".join(one_name(str(schedule)) for schedule in neuron.schedules))
    yield labelled("may emit", names(neuron.output_signals))
    if neuron.output_signals:
        more = f", at most {around.answers_a_day} times a day" if neuron.emission.action == "answer" else ""
        yield labelled("which then", f"{_ACTIONS[neuron.emission.action]}{more}")
    if neuron.emission.text:
        yield labelled("in words", f"{one_line(neuron.emission.text)} (in the agent's words)")


_ACTIONS = {
    "notify": "notify: you are told",
    "answer": "answer: it is said in your chat, without a model",
    "wake": "wake: it starts a turn of the agent, with a model",
    "none": "none: only neurons and programs hear it",
}


def _called(neuron: Neuron) -> Iterator[str]:
    for label, schema in (("parameters", neuron.parameters), ("returns", neuron.returns)):
        yield labelled(label, "nothing is said" if schema is None else "as this JSON Schema")
        yield from _schema(schema)


def _schema(schema: dict[str, Any] | None) -> Iterable[str]:
    if schema is None:
        return ()
    text = json.dumps(schema, ensure_ascii=False)
    return code_lines(text if len(text) <= _MAX_ONE_LINE else json.dumps(schema, indent=1, ensure_ascii=False))


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


def _quarantine(neuron: Neuron) -> Iterator[str]:
    if neuron.report is not None:
        yield from _report(neuron.report, is_function=neuron.is_function)
    elif neuron.status in _PROPOSED:
        yield labelled("quarantine", "not yet")
    elif (approval := _approval_of(neuron)) is not None:
        # A report is about one version: a rollback keeps none.
        when = local_time(approval.at)
        yield labelled("quarantine", f"passed before you approved this version at {when}; the report was not kept")
    else:
        yield labelled("quarantine", "was not run for this version")


def _approval_of(neuron: Neuron) -> Approval | None:
    code, policy = code_hash(neuron.code), policy_hash(neuron.policy)
    fitting = (one for one in reversed(neuron.approvals) if (one.code_hash, one.policy_hash) == (code, policy))
    return next(fitting, None)


def _report(report: Report, *, is_function: bool) -> Iterator[str]:
    passed = sum(scenario.ok for scenario in report.scenarios)
    verdict = "passed" if report.passed else "failed"
    yield labelled("quarantine", f"{verdict}, {passed} of {len(report.scenarios)} scenarios")
    yield from _bounded([f"  - {_scenario(scenario, is_function=is_function)}" for scenario in report.scenarios])
    yield from _bounded([f"  - {one_line(text)}" for text in report.findings])
    yield from _bounded([f"  ! {one_line(text)}" for text in report.problems])


def _author(neuron: Neuron) -> str:
    is_imported = neuron.metadata.source and neuron.metadata.author == "agent"
    return "from the folder" if is_imported else f"by the {neuron.metadata.author}"


def _compared(report: Report | None) -> Iterator[str]:
    """What became of running it and the recorded scripts on the same inputs."""
    if report is None or report.equality is None:
        return
    yield labelled("record", one_line(report.equality.line))
    if (found := report.equality.first_difference) is not None:
        yield f"  ! given: {one_line(found.input)}"
        yield f"  ! the script: {one_line(found.script)}"
        yield f"  ! this code: {one_line(found.candidate)}"


def _scenario(scenario: ScenarioResult, *, is_function: bool) -> str:
    emitted = ", ".join(f"{count} {one_name(name)}" for name, count in scenario.emitted.items()) or "nothing"
    problem = f", {one_line(scenario.problem)}" if scenario.problem else ""
    what = "call" if is_function else "signal"
    told = f"{scenario.signals} {what}{'' if scenario.signals == 1 else 's'}"
    told += f"{'' if is_function else f', emitted {emitted}'}, at most {scenario.energy:.4g} energy for one"
    return f"{one_line(scenario.name)}: {'ok' if scenario.ok else 'FAILED'}, {told}{problem}"


def _hashes(neuron: Neuron) -> Iterator[str]:
    yield labelled("code hash", neuron.metadata.code_hash)
    request = neuron.request
    if request is not None:
        yield labelled("decide until", local_time(request.expires_at))
        yield labelled("hash", request.shown_hash)


def _bounded(lines: Sequence[str]) -> Iterable[str]:
    more = len(lines) - _MAX_LINES_OF_A_REPORT
    return [*lines[:_MAX_LINES_OF_A_REPORT], f"  … and {more} more"] if more > 0 else lines
