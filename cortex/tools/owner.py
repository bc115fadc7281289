"""The interface (port) to the owner: the cortex asks whether a call may be made, and the owner answers yes or no."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

import anyio
from pydantic_core import to_json

from cortex.text import CODE, beyond_ascii, code_lines, visible

from .collected import collected_lines

Origin = Literal["model", "code", "workflow", "host"]
"""The caller: the model itself, code that it wrote, from inside the sandbox, or a task of a workflow."""

COMMIT = "core.commit"
"""The question whether the changes of a run's files are made. No tool has this name: all of `core` are ours."""
DECISION = "core.decision"
"""A question of a workflow, in the words of its author. No tool has this name, either."""
PLAN = "core.plan"
_CALLERS: dict[Origin, str] = {
    "model": "The agent",
    "code": "Code that the agent wrote",
    "workflow": "A workflow",
    "host": "Your program",
}
MAX_SHOWN_WORDS = 500
MAX_SHOWN_ARGUMENT = 20_000
"""Code is an argument, too: an owner who consents to it has to see it."""
MAX_SHOWN_ARGUMENTS = 200
MAX_SHOWN_ALL = 5 * MAX_SHOWN_ARGUMENT
"""Of all arguments of a question together. Whoever calls may have made them many: to show them must not take long."""


@dataclass(frozen=True, slots=True)
class Question:
    """May this tool be called with these arguments? A model wrote everything but the tool's name."""

    tool: str
    arguments: dict[str, Any]
    origin: Origin
    purpose: str = ""
    turn: str = ""
    conversation: str = ""
    run: int | None = None
    """The number of the code within its turn."""
    code: str = ""
    """The code that calls."""
    shown: dict[str, Any] | None = None
    """The arguments without secrets, for what is kept of the question."""
    policy_hash: str = ""
    """Of what decides about the tool; empty where nothing may be granted for longer than one call."""
    others: tuple[Question, ...] = ()
    """Further calls of the tool by the same run that are asked about together with this one."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The owner's answer."""

    allowed: bool
    reason: str = ""
    is_answer: bool = True
    """False where nobody could be asked or said anything: a no to what cannot wait; a workflow waits for an answer."""
    by: str = ""
    """Who decided, and where: `owner (terminal)`."""
    only: frozenset[int] | None = None
    """Of several calls, the numbers of those that are allowed, from 1; None for all of them."""


class Owner(Protocol):
    """Asks the person whose consent is needed."""

    async def decide(self, question: Question) -> Decision:
        """Ask the owner and wait. The caller has a timeout, and takes silence for a no."""
        ...


@runtime_checkable
class PatientOwner(Owner, Protocol):
    """An owner whose questions wait side by side, and who keeps their time."""

    @property
    def most_together(self) -> int:
        """So many calls of one tool by one run, waiting at the same time, count as one question."""
        ...

    async def granted(self, question: Question) -> Decision | None:
        """The yes that the owner has given before and that covers this call; None if the owner is to be asked."""
        ...

    async def decide_within(self, question: Question, seconds: float, asking: anyio.Lock) -> Decision | None:
        """Ask and wait; None when the time is over. `asking` is held while a person sees the question and no other."""
        ...


def can_be_asked(owner: Owner) -> bool:
    """Whether there is anybody. An owner without a word on it is there."""
    return getattr(owner, "is_there", True) is not False


def is_absent(owner: Owner) -> bool:
    """Whether nobody can ever be asked, in no way."""
    return getattr(owner, "is_absent", False) is True


class AbsentOwner:
    """An owner who cannot be asked: everything that needs consent is refused."""

    is_there = False
    is_absent = True

    async def decide(self, question: Question) -> Decision:
        del question
        return Decision(allowed=False, reason="there is no owner to ask", is_answer=False)


class ScriptedOwner:
    """An owner for tests: gives the decisions it was given, in order, and keeps the questions. None never answers; when
    no decision is left, the answer is no."""

    def __init__(self, decisions: Iterable[Decision | bool | None] = ()) -> None:
        self._decisions = list(decisions)
        self.questions: list[Question] = []

    async def decide(self, question: Question) -> Decision:
        self.questions.append(question)
        if not self._decisions:
            return Decision(allowed=False, reason="the script has no decision left")
        match self._decisions.pop(0):
            case None:
                await anyio.sleep(math.inf)
                raise AssertionError("eternity has passed")
            case bool() as allowed:
                return Decision(allowed)
            case decision:
                return decision


def describe(question: Question) -> str:
    """The question as lines for a person. Nothing in it can control a terminal or pass for a line of ours, and omitted
    text is mentioned."""
    if question.others:
        return "\n".join(_together(question))
    if question.tool == COMMIT:
        return "\n".join(_commit(question))
    if question.tool == DECISION:
        return "\n".join(_decision(question))
    if question.tool == PLAN:
        return "\n".join(_plan(question))
    lines = [f"{_CALLERS[question.origin]} wants to call {question.tool}"]
    if question.purpose.strip():
        lines.append(f"  its purpose, in its own words: {_shown(' '.join(question.purpose.split()))}")
    is_code = question.tool in {"core.execute", "core.consolidate"}
    room = MAX_SHOWN_ALL
    for at, (name, value) in enumerate(question.arguments.items()):
        if at == MAX_SHOWN_ARGUMENTS or room <= 0:
            lines.append(f"  … ({len(question.arguments) - at} more arguments are not shown)")
            break
        if is_code and name == "code":
            lines += _code(str(value))
        elif not is_code or name != "purpose":
            lines.append(f"  {_shown(name)} = {_shown(_json(value), min(MAX_SHOWN_ARGUMENT, room))}")
            room -= len(lines[-1])
    if not question.arguments:
        lines.append("  without arguments")
    return "\n".join(lines)


def as_one(questions: Sequence[Question]) -> Question | None:
    """One question about several calls of a tool; None where they are too long to be shown together."""
    first, *others = questions
    if others and collected_lines("", [question.arguments for question in questions]) is None:
        return None
    return replace(first, others=tuple(others))


def _together(question: Question) -> list[str]:
    calls = [question.arguments, *(other.arguments for other in question.others)]
    first, *rest = collected_lines(f"{_CALLERS[question.origin]} wants to call {question.tool}", calls) or [""]
    purpose = _shown(" ".join(question.purpose.split()))
    return [first, *([f"  its purpose, in its own words: {purpose}"] if purpose else []), *rest]


def _commit(question: Question) -> list[str]:
    """The lines of the list and of the diff are made by us, and have nothing in them that could control a terminal."""
    asked = question.arguments
    lines = [f"Code that the agent wrote wants to change files in {_shown(str(asked.get('folder', '')))}"]
    if question.purpose.strip():
        lines.append(f"  its purpose, in its own words: {_shown(' '.join(question.purpose.split()))}")
    lines += [f"  {line}" for line in asked.get("changes", ())]
    diff = asked.get("diff", ())
    return [*lines, "  the differences:", *(f"{CODE}{line}" for line in diff)] if diff else lines


def _decision(question: Question) -> list[str]:
    asked = question.arguments
    about = f"task {_shown(str(asked.get('task', '')))} of run {_shown(str(asked.get('run', '')))}"
    shown = str(asked.get("shown", ""))
    left_out = len(shown) - MAX_SHOWN_ARGUMENT
    lines = [f"A workflow asks you ({about}):", *code_lines(shown[:MAX_SHOWN_ARGUMENT])]
    return [*lines, f"  … ({left_out} more characters are not shown)"] if left_out > 0 else lines


def _plan(question: Question) -> list[str]:
    """The lines of the plan are made by us: see `cortex.workflows.told_plan`. Here they only must not be others."""
    asked = question.arguments
    lines = str(asked.get("shown", "")).split("\n")
    shown = [visible(line) for line in lines]
    who = "A client" if lines[0].startswith("Asked for by an MCP client") else "The agent"
    return [f"{who} proposes a plan (run {_shown(str(asked.get('run', '')))}). May it run?", *shown]


def _json(value: Any) -> str:
    return to_json(value, inf_nan_mode="constants", serialize_unknown=True).decode()


def _code(code: str) -> list[str]:
    left_out = len(code) - MAX_SHOWN_ARGUMENT
    lines = code_lines(code[:MAX_SHOWN_ARGUMENT])
    if strange := beyond_ascii(code):
        lines.insert(0, f"  the code has characters beyond ASCII, in line {strange}")
    return [*lines, f"  … ({left_out} more characters are not shown)"] if left_out > 0 else lines


def _shown(text: str, most: int = MAX_SHOWN_WORDS) -> str:
    left_out = len(text) - most
    short = visible(text[:most]).replace("\n", "\\n")
    return f"{short}… ({left_out} more characters are not shown)" if left_out > 0 else short
