"""Whether what a candidate did is what the recorded script did, given the same. Pure.

Compared are the value, whether it failed on purpose, and the calls. Tools, and requests that change something, must be
the same ones as often, in any order, because what is asked for at once has none. Plain reads must be among those of the
script: one that is not needed may be left out. A script that breaks by accident (a member of nothing, no number)
promises nothing: that input is not compared.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .same_values import is_other_form, parts, same
from .validation import plain
from .worlds import Calls

_MAX_SHOWN = 300
_ACCIDENT = re.compile(r"\b(?:NaN|undefined|Infinity|Invalid Date)\b|\[object Object\]")
# Errors that mistakes raise. Any other is the script's own word, and so is one of these that it throws by name.
_OF_THE_ENGINE = ("TypeError", "ReferenceError", "RangeError", "SyntaxError", "EvalError", "URIError", "AggregateError")
_ACCIDENTS = frozenset((*_OF_THE_ENGINE, "ToolError", "MCPToolError", "PermissionError", "LimitError"))


@dataclass(frozen=True, slots=True)
class Gave:
    """What one run did."""

    value: Any = None
    failed: str = ""
    """The name and message of its error; empty when it gave a value."""
    error: str = ""
    """The name of that error."""
    is_odd: bool = False
    """The value has something in it that is no number."""
    emitted: tuple[tuple[str, Any], ...] = ()
    """Of a neuron."""
    calls: Calls = field(default_factory=Calls)

    @property
    def shown(self) -> str:
        return plain(f"failed: {self.failed}" if self.failed else _shown(self.value), _MAX_SHOWN)


def promises_nothing(script: Gave, code: str) -> bool:
    """Whether the script broke by accident."""
    if script.failed:
        return script.error in _ACCIDENTS and f"throw new {script.error}" not in code
    return script.is_odd or any(isinstance(part, str) and _ACCIDENT.search(part) for _, part in parts(script.value))


def difference(script: Gave, candidate: Gave) -> tuple[str, str] | None:
    """What each gave where they differ, for the owner; None when they are equal."""
    if bool(script.failed) != bool(candidate.failed):
        return script.shown, candidate.shown
    if not script.failed and not same(script.value, candidate.value):
        return _apart(script.value, candidate.value)
    return difference_of_calls(script.calls, candidate.calls)


def differs_in_form(script: Gave, candidate: Gave) -> bool:
    """Whether the only difference is the form of the value."""
    if script.failed or candidate.failed or difference_of_calls(script.calls, candidate.calls) is not None:
        return False
    return is_other_form(script.value, candidate.value)


def asks_for_others(script: Gave, candidate: Gave) -> bool:
    """Whether both ask the same tools and servers, and the candidate for other things."""
    asks_the_same = script.calls.asked == candidate.calls.asked and bool(script.calls.asked)
    return asks_the_same and not candidate.failed and difference_of_calls(script.calls, candidate.calls) is not None


def difference_of_calls(script: Calls, candidate: Calls) -> tuple[str, str] | None:
    mine, other = Counter(script.effects), Counter(candidate.effects)
    if mine != other:
        return _apart_in_calls(mine, other)
    if more := sorted(candidate.reads - script.reads):
        return _calls("calls", sorted(script.reads)), _calls("calls", more)
    return None


def _apart_in_calls(mine: Counter[str], other: Counter[str]) -> tuple[str, str]:
    """What only one of them called. Where it called all that the other did, the other's calls stand beside it."""
    missing, more = [*(mine - other).elements()], [*(other - mine).elements()]
    if mine and not missing:
        return _calls("calls only", [*mine.elements()]), _calls("also calls", more)
    if other and not more:
        return _calls("also calls", missing), _calls("calls only", [*other.elements()])
    return _calls("calls", missing), _calls("calls", more)


def carried(script: Gave, candidate: Gave) -> bool | None:
    """Whether what a neuron emits has the values of the script's result: members of the same name, or the whole result
    somewhere. None when nothing of the kind is in it, so that nothing can be compared."""
    if script.failed or candidate.failed or not candidate.emitted:
        return None
    data = [part for _, part in candidate.emitted]
    if isinstance(script.value, dict):
        named = [(name, part) for name, part in _named(data) if name in script.value]
        if named:
            return all(same(part, script.value[name]) for name, part in named)
    if any(same(part, script.value) for one in data for _, part in parts(one)):
        return True
    return None


def apart(script: Gave, candidate: Gave) -> tuple[str, str]:
    return plain(_shown(script.value), _MAX_SHOWN), plain(_shown([part for _, part in candidate.emitted]), _MAX_SHOWN)


def _named(data: Sequence[Any]) -> list[tuple[str, Any]]:
    return [(name, part) for one in data if isinstance(one, dict) for name, part in one.items()]


def _apart(one: Any, two: Any) -> tuple[str, str]:
    """The values; of long ones the first place where they differ."""
    a, b = _shown(one), _shown(two)
    if max(len(a), len(b)) > _MAX_SHOWN:
        at = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        start = max(0, at - 40)
        a, b = (f"…{text[start : start + _MAX_SHOWN - 60]}" for text in (a, b))
    return plain(a, _MAX_SHOWN), plain(b, _MAX_SHOWN)


def _calls(verb: str, calls: Sequence[str]) -> str:
    return plain(f"{verb} {'; '.join(calls[:3])}" if calls else "calls nothing", _MAX_SHOWN)


def _shown(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return "a value that cannot be shown"
