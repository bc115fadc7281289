"""A habit as a ready proposal: its latest wording as a neuron, or as a function with the parameters that varied.

The model confirms or improves it. Nothing here is trusted: a draft takes the same way as any proposal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sandbox import CodeReader

from .draft_literals import LiteralPlace, Replaced, only_here, places_of, replaced, varying
from .draft_reading import MAX_LITERALS, MAX_NAME, MAX_NAMES, MAX_TEXT
from .draft_schemas import RecordedRuns, fitting, named_members, schema_of_seen
from .draft_times import suggested
from .habit import Habit

Shape = Literal["neuron", "function"]

DEFAULT_SCHEDULE = "every 1h"
BUDGET_ISOLATED = 0.02
BUDGET_REACHING = 0.05
BUDGETS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
MAX_ANSWER_BYTES = 6 * MAX_LITERALS * (MAX_TEXT + MAX_NAME + 40) + 6 * MAX_NAMES * MAX_NAME + 500_000
_NOTHING = RecordedRuns()
# What the code of a run has, and that of a neuron or a function has not. Its own `args` would hide those of a function.
_ELSEWHERE = frozenset({"store", "display", "Deno", "args"})
_OF_CONTEXT = re.compile(r"\bcontext\s*\??\.\s*([A-Za-z_]\w{0,40})|\{([^{}]{0,400})\}\s*=\s*context\b")
MAX_INPUTS = 8
_WRITES = re.compile(r"""\bmethod["']?\s*:\s*["'`](?!GET|HEAD)""", re.IGNORECASE)
_WRITING_TOOL = re.compile(
    r"(?:^|[._-])(?:add|book|cancel|close|create|delete|edit|insert|move|patch|post|put|remove|reply|save|send|set|update|"
    r"upload|write)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\b(https?)://([A-Za-z0-9.-]{1,253}(?::\d{1,5})?)", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][a-z]*|[A-Z]+", re.ASCII)
_SMALL = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "can",
        "do",
        "for",
        "from",
        "get",
        "give",
        "has",
        "have",
        "how",
        "i",
        "in",
        "into",
        "is",
        "it",
        "its",
        "look",
        "make",
        "many",
        "me",
        "much",
        "my",
        "of",
        "on",
        "or",
        "our",
        "please",
        "show",
        "tell",
        "the",
        "there",
        "this",
        "to",
        "up",
        "what",
        "when",
        "which",
        "with",
        "you",
        "your",
        "http",
        "https",
        "www",
        "api",
        "com",
        "org",
        "net",
        "io",
        "dev",
        "example",
        "core",
    ]
)
MAX_WORDS = 4

_NEURON = """\
let seen: any;
try {{
  seen = await (async () => {{
{code}
  }})();
}} catch {{
  return; // the next time asks again
}}
if (seen === undefined || seen === null) return;
const text = JSON.stringify(seen) ?? "null";
if (text.length > 20000 || text === state.emitted) return;
const before = state.emitted === undefined ? null : JSON.parse(state.emitted);
state.emitted = text;
emit("{signal}", {{ value: seen, before }});
"""


@dataclass(frozen=True, slots=True)
class WordingRead:
    """What the reading process has found in one wording."""

    code: str
    places: Sequence[LiteralPlace] = ()
    names: frozenset[str] = frozenset()
    returns: bool = True
    last: int | None = None
    """Where its last expression begins, in bytes."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Arguments of `core.consolidate`, without a name that is certainly free."""

    kind: Shape
    arguments: dict[str, Any]
    name: str = ""
    places: dict[str, list[list[int]]] = field(default_factory=dict)
    """Where each parameter stood in the latest wording: start and end, in bytes."""

    def named(self, name: str) -> Draft:
        return replace(self, name=name, arguments={"name": name, **self.arguments})

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.arguments.get("parameters", {}).get("properties", ()))


class DraftReader(CodeReader):
    """Reads wordings in a separate process that can be killed."""

    def __init__(self) -> None:
        module = Path(__file__).with_name("draft_reading.py")
        super().__init__(module, "read", name="reader of drafts", max_answer_bytes=MAX_ANSWER_BYTES)

    async def read(self, code: str) -> WordingRead | None:
        """None for code that is too large or could not be read in time. Raises SandboxUnavailable when no process can
        be started."""
        answer = await self.answer(code)
        try:
            found = None if answer is None else json.loads(answer)
            return None if found is None else wording_of(found, code)
        except (ValueError, TypeError, KeyError, RecursionError):
            return None


def wording_of(found: Any, code: str) -> WordingRead:
    """Raises ValueError, TypeError or KeyError for what is no answer of the reading process."""
    names, last, returns = found["names"], found["last"], found["returns"]
    if not all(isinstance(name, str) for name in names) or not (last is None or 0 <= last < len(code.encode())):
        raise ValueError("not what was read")
    return WordingRead(code, places_of(found["literals"], code), frozenset(names), bool(returns), last)


def drafted(
    habit: Habit, wordings: Sequence[WordingRead], kind: Shape | None = None, runs: RecordedRuns = _NOTHING
) -> Draft | None:
    """The draft of a habit. `wordings` are its latest ones as they were read, the newest first. None where its code
    cannot be one: it needs what only a run has."""
    if not wordings or wordings[0].names & _ELSEWHERE:
        return None
    latest = wordings[0]
    inputs = _inputs(latest, runs)
    if inputs is None:
        return None
    others = [one.places for one in wordings[1:]]
    found = varying(latest.places, others, habit.parameters, latest.code)
    if not (habit.tools or habit.hosts):
        found = {**only_here(latest.places, others), **found}
    # Where the code takes its values from the context, those are what it is called with.
    change = replaced(latest.code, latest.places, found) if found and not inputs else Replaced(latest.code, {}, {})
    shape = "function" if inputs else kind or _shape(habit, latest, change)
    reach = reached(habit, latest.code)
    shared = {
        "purpose": habit.purpose or "Do again what was done before",
        "habit": habit.id,
        "kind": shape,
        "hosts": reach,
        "tools": list(habit.tools),
        "tier": "network" if reach else "isolated",
        "energyBudget": _budget(runs, is_reaching=bool(reach or habit.tools)),
    }
    if shape == "function":
        properties = {**inputs, **{name: one for name, one in change.parameters.items() if name not in inputs}}
        given = [name for name in inputs if runs.contexts and all(name in context for context in runs.contexts)]
        required = [*given, *(name for name in change.parameters if name not in inputs)]
        schema = {"type": "object", "properties": fitting(properties), "required": required}
        code = _returning(change.code, latest)
        code = f"const context = args;\n{code}" if inputs else code
        returns = runs.returns if reach or habit.tools else named_members(runs.returns, latest.code)
        promised = {"returns": returns} if returns else {}
        return Draft(shape, {**shared, "code": code, "parameters": schema, **promised}, places=change.places)
    signal = "_".join(word.lower() for word in name_words(habit)[:MAX_WORDS])[:50].strip("_") or "habit"
    signal = signal if signal[0].isalpha() else f"habit_{signal}"
    return Draft(
        shape,
        {
            **shared,
            "code": _NEURON.format(code=_returning(latest.code, latest), signal=f"{signal}_changed"),
            "schedules": [suggested(habit.times) or DEFAULT_SCHEDULE],
            "outputSignals": [f"{signal}_changed"],
            "emission": "notify",
        },
    )


def _budget(runs: RecordedRuns, *, is_reaching: bool) -> float:
    """Twice what the dearest recorded run would cost, rounded up: quarantine tries inputs that cost more."""
    if runs.energy is None:
        return BUDGET_REACHING if is_reaching else BUDGET_ISOLATED
    return next((step for step in BUDGETS if step >= 2 * runs.energy), BUDGETS[-1])


def _inputs(latest: WordingRead, runs: RecordedRuns) -> dict[str, dict[str, Any]] | None:
    """The fields of the context that the code reads, as they were seen. None where they cannot be told."""
    if "context" not in latest.names:
        return {}
    names = [
        one or two.partition(":")[0].partition("=")[0]
        for one, group in _OF_CONTEXT.findall(latest.code)
        for two in ([""] if one else group.split(","))
    ]
    known = [name.strip() for name in dict.fromkeys(names) if name.strip().isidentifier()][:MAX_INPUTS]
    seen = {name: [context[name] for context in runs.contexts if name in context] for name in known}
    return {name: schema_of_seen(name, values) for name, values in seen.items()} or None


def _shape(habit: Habit, latest: WordingRead, change: Replaced) -> Shape:
    """A look at the world that repeats is a neuron. What has parameters, only computes or changes something is called
    when it is needed."""
    looks = bool(habit.tools or habit.hosts)
    writes = _WRITES.search(latest.code) is not None or any(map(_WRITING_TOOL.search, habit.tools))
    return "neuron" if looks and not writes and not change.parameters else "function"


def _returning(code: str, read: WordingRead) -> str:
    """The code with a `return` before its last expression, whose value it gave."""
    if read.returns or read.last is None or read.names & {"return"}:
        return code
    data = code.encode() if code == read.code else None
    if data is None:
        return _before_last_line(code)
    return f"{data[: read.last].decode(errors='replace')}return {data[read.last :].decode(errors='replace')}"


def _before_last_line(code: str) -> str:
    head, _, tail = code.rstrip().rpartition("\n")
    return f"{head}\nreturn {tail.lstrip()}" if head else f"return {tail.lstrip()}"


def reached(habit: Habit, code: str) -> list[str]:
    """The hosts as a proposal names them: with `http://` or a port where the code has it."""
    written: dict[str, str] = {}
    for scheme, address in _ADDRESS.findall(code):
        host = address.lower().partition(":")[0]
        written.setdefault(host, f"http://{address.lower()}" if scheme.lower() == "http" else address.lower())
    return [written.get(host, host) for host in habit.hosts]


def name_words(habit: Habit) -> list[str]:
    """Words for a name: of the tools and hosts; of the purpose only where there are none, because a name is said in
    other conversations, too."""
    reach = [*habit.tools, *(host.rpartition(".")[0] for host in habit.hosts)]
    words = [word for text in reach[:2] for word in _WORD.findall(text) if word.lower() not in _SMALL]
    words = words or [word for word in _WORD.findall(habit.purpose) if word.lower() not in _SMALL]
    return list(dict.fromkeys(words))[:MAX_WORDS]


def name_of(habit: Habit) -> str:
    """A name by NAME_PATTERN; another one may have it."""
    joined = "".join(word[0].upper() + word[1:] for word in name_words(habit))[:40]
    return joined if len(joined) > 2 and joined[0].isalpha() else "LearnedHabit"
