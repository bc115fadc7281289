"""What is kept of a wording of a script to recognise it again, and how much two wordings are alike. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

from .effects import MAX_EFFECT_CHARS, MAX_EFFECTS, UNKNOWN, key_of, same_effects
from .fingerprint_limits import MAX_MARK_CHARS, MAX_MARKS, MAX_PARTS, MAX_TRAITS, MAX_WORDS
from .fingerprint_vocabulary import STOP_WORDS
from .token_line import MAX_LINE, line_of

MAX_COUNT = 1_000_000
MAX_WEIGHT = 100
HASH_CHARS = 8
# An effect in common is worth as much as some traits in common.
_OF_EFFECTS = 8
# Scripts of which little is known are less alike for it.
_SMALL = 4
# What words in common count, beside traits in common; half of the words are as good as all.
_OF_WORDS = 0.3
_FEW_WORDS = 4
_NOTHING_SAID = 0.5
_WORTH_A_LOOK = 0.5
_BUILT_ALIKE = 0.8
_BUILT_TO_THE_LETTER = 0.85
# A tie-breaker: never enough to make two scripts one that are not alike.
_OF_PURPOSE = 0.1
_MAX_PURPOSE = 200
_PURPOSE_WORD = re.compile(r"[^\W\d_]{3,30}")
_QUESTIONS = """
    what how much many which from for and our your with this are is there have does give tell list show two few the
"""
_ASKING = STOP_WORDS | frozenset(_QUESTIONS.split())
_NONE: frozenset[str] = frozenset()
_NEVER = frozenset({"has"})
_ROLES = frozenset({"by", "on", "order", "sum", "gives"})
_ALIKE_REGEXES = 0.65


@dataclass(frozen=True, slots=True)
class Sketch:
    """One wording of a script."""

    shape: str
    """A hash. Wordings of the same shape are the same, down to their marks."""
    effects: tuple[str, ...] = ()
    """What it reaches for. Scripts with other effects are never the same."""
    traits: Mapping[str, int] = field(default_factory=dict)
    """What it does, hashed, each with its weight."""
    marks: tuple[str, ...] = ()
    """What tells it from scripts that look alike, such as `sort desc`."""
    words: frozenset[str] = frozenset()
    """Words of the author's names, hashed."""
    purpose: frozenset[str] = frozenset()
    """Words of the purpose that the agent stated, hashed."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """How it is built: see `fingerprint_shape`. Wordings that are built alike are the same whatever they are about."""
    grouped: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False, repr=False)
    weight: int = field(default=0, compare=False, repr=False)
    line: str = ""
    """Its tokens: see `token_line`."""

    @classmethod
    def of(cls, shape: str, data: Mapping[str, Any]) -> Sketch:
        """Parse and check a sketch. Raises ValueError if invalid or too large: it comes from a process that parsed
        hostile code, or from a file."""
        try:
            effects = _texts(data["effects"], MAX_EFFECTS, MAX_EFFECT_CHARS)
            marks = _texts(data["marks"], MAX_MARKS, MAX_MARK_CHARS)
            words = _texts(data["words"], MAX_WORDS, HASH_CHARS)
            purpose = _texts(data.get("purpose", ()), MAX_WORDS, HASH_CHARS)
            traits = data["traits"]
            if type(traits) is not dict or len(traits) > MAX_TRAITS:
                raise ValueError(f"expected an object of at most {MAX_TRAITS} traits")
            if not all(type(trait) is str and len(trait) == HASH_CHARS for trait in traits):
                raise ValueError(f"expected traits of {HASH_CHARS} characters")
            if not all(type(weight) is int and 0 < weight <= MAX_WEIGHT for weight in traits.values()):
                raise ValueError(f"expected weights from 1 to {MAX_WEIGHT}")
        except (TypeError, KeyError) as error:
            raise ValueError("not a sketch") from error
        parts, weight = parts_of(data["parts"]), sum(traits.values())
        said = frozenset(words), frozenset(purpose)
        line = data.get("line", "")
        if not isinstance(line, str) or len(line) > MAX_LINE:
            raise ValueError(f"expected a line of at most {MAX_LINE} characters")
        return cls(shape, effects, traits, marks, *said, parts, _grouped(marks), weight, line)

    def to_json(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "effects": list(self.effects),
            "traits": dict(self.traits),
            "marks": list(self.marks),
            "words": sorted(self.words),
            "purpose": sorted(self.purpose),
            "parts": dict(self.parts),
            "line": self.line,
        }

    @classmethod
    def of_json(cls, data: Any) -> Sketch:
        shape = data["shape"]
        if not isinstance(shape, str) or len(shape) != 64:
            raise ValueError("expected a shape of 64 characters")
        return cls.of(shape, data)

    def reaching(self, effects: Iterable[str]) -> Sketch:
        """The sketch with these effects, and the shape that belongs to them."""
        reached = tuple(sorted(set(effects)))[:MAX_EFFECTS]
        return self if reached == self.effects else replace(self, effects=reached).shaped(self.shape)

    def shaped(self, shape: str) -> Sketch:
        said = json.dumps([shape, self.effects, self.marks])
        return replace(self, shape=hashlib.sha256(said.encode("utf-8", "replace")).hexdigest())

    def saying(self, purpose: str) -> Sketch:
        words = (part.lower().removesuffix("s") for part in _PURPOSE_WORD.findall(purpose[:_MAX_PURPOSE]))
        hashed = {f"{crc32(word.encode()):08x}" for word in words if len(word) > 2 and word not in _ASKING}
        return replace(self, purpose=frozenset(sorted(hashed)[:MAX_WORDS]))

    def worded(self, code: str) -> Sketch:
        return replace(self, line=line_of(code))

    @property
    def bucket(self) -> str | None:
        return key_of(self.effects)


def likeness(a: Sketch, b: Sketch) -> float:
    """1 for the same, 0 for nothing in common or for scripts that must not be taken for each other."""
    if a.shape == b.shape:
        return 1.0
    return 0.0 if differ(a, b) else resemblance(a, b)


def resemblance(a: Sketch, b: Sketch) -> float:
    """How much they are alike, whatever marks tell them apart."""
    if not same_effects(a.effects, b.effects):
        return 0.0
    done = _done_alike(a, b)
    alike = (1 - _OF_WORDS) * done + _OF_WORDS * _said_alike(a.words, b.words)
    if done >= _WORTH_A_LOOK and alike < 1:
        built = in_common(a.parts, b.parts)
        # With no word in common where much was said, only what is built almost to the letter.
        few = min(len(a.words), len(b.words))
        enough = _BUILT_TO_THE_LETTER if few >= _FEW_WORDS and not a.words & b.words else _BUILT_ALIKE
        alike = max(alike, built) if built >= enough else alike
    if alike >= _WORTH_A_LOOK and alike < 1 and a.purpose & b.purpose:
        alike = min(1.0, alike + _OF_PURPOSE * _purposes_alike(a.purpose, b.purpose))
    return alike


def _purposes_alike(a: frozenset[str], b: frozenset[str]) -> float:
    return min(1.0, 2 * len(a & b) / max(3, min(len(a), len(b))))


def purposes_alike(a: str, b: str) -> float:
    """The share of words that two purposes have in common."""
    of_a, of_b = (set(re.findall(r"[^\W_]{3,30}", text.lower())) for text in (a, b))
    return len(of_a & of_b) / len(of_a | of_b) if of_a and of_b else 0.0


def is_pure(sketch: Sketch) -> bool:
    """Whether it is known to reach for nothing. What a script reaches for at an unknown host says as little."""
    return all(effect.partition(" ")[2].startswith(UNKNOWN) for effect in sketch.effects)


def _done_alike(a: Sketch, b: Sketch) -> float:
    # Equal lines say something even where the host is not known.
    already = _OF_EFFECTS if a.effects and (a.effects == b.effects or not (is_pure(a) or is_pure(b))) else 0
    others = b.traits
    common = sum(min(weight, others[trait]) for trait, weight in a.traits.items() if trait in others)
    both = a.weight + b.weight + 2 * already + _SMALL
    return 2 * (common + already) / both


def _said_alike(a: frozenset[str], b: frozenset[str]) -> float:
    few = min(len(a), len(b))
    if few < _FEW_WORDS // 2:
        # Names such as `x` say nothing, neither for nor against.
        return _NOTHING_SAID
    return min(1.0, 2 * len(a & b) / max(few, _FEW_WORDS))


def differ(a: Sketch, b: Sketch) -> bool:
    """Whether each has a mark of one group that the other lacks, such as `sort asc` and `sort desc`."""
    mine, others = a.grouped, b.grouped
    # Other members play the roles of data that is other data: then a name is a parameter.
    ignored = _NEVER if mine.get("has", _NONE) & others.get("has", _NONE) else _NEVER | _ROLES
    return any(
        group in others and group not in ignored and _clash(group, marks, others[group])
        for group, marks in mine.items()
    )


def _grouped(marks: Iterable[str]) -> dict[str, frozenset[str]]:
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for mark in marks:
        group, _, value = mark.partition(" ")
        if group == "if":
            name, _, value = value.rpartition(" ")
            group = f"if {name}"
        groups[group].add(value)
    return {group: frozenset(values) for group, values in groups.items()}


def _clash(group: str, a: frozenset[str], b: frozenset[str]) -> bool:
    match group:
        case "member":
            return not a & b
        case "regex":
            return _has_other_regex(a - b, b) and _has_other_regex(b - a, a)
        case _:
            return bool(a - b) and bool(b - a)


def _has_other_regex(some: frozenset[str], others: frozenset[str]) -> bool:
    return any(all(_overlap(one.split(), other.split()) < _ALIKE_REGEXES for other in others) for one in some)


def _overlap(a: list[str], b: list[str]) -> float:
    """The mean of the share of both that is common, and of the share of the smaller one."""
    common = _weight({*a} & {*b})
    return (common / max(1, _weight({*a, *b})) + common / max(1, min(_weight(a), _weight(b)))) / 2


def _weight(tokens: Iterable[str]) -> int:
    """Classes such as `\\w` say less than characters."""
    return sum(1 if token.startswith("\\") else 2 for token in tokens)


def in_common(a: Mapping[str, int], b: Mapping[str, int]) -> float:
    """1 for the same parts, 0 for no part in common."""
    common = sum(min(count, b[part]) for part, count in a.items() if part in b)
    both = sum(a.values()) + sum(b.values())
    return 2 * common / both if both else 0.0


def parts_of(data: Any) -> dict[str, int]:
    """Check the parts of a script. Raises ValueError if they are none."""
    if type(data) is not dict or len(data) > MAX_PARTS:
        raise ValueError(f"expected an object of at most {MAX_PARTS} parts")
    if not all(type(part) is str and len(part) == HASH_CHARS for part in data):
        raise ValueError(f"expected parts of {HASH_CHARS} characters")
    if not all(type(count) is int and 0 < count <= MAX_COUNT for count in data.values()):
        raise ValueError(f"expected counts from 1 to {MAX_COUNT}")
    return data


def _texts(values: Any, most: int, chars: int) -> tuple[str, ...]:
    if not isinstance(values, list | tuple) or len(values) > most:
        raise ValueError(f"expected a list of at most {most} texts")
    if not all(type(value) is str and len(value) <= chars for value in values):
        raise ValueError(f"expected texts of at most {chars} characters")
    return tuple(values)
