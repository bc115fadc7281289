"""Programs as different models and people write them, to tune the recognition of habits on and to measure it.

`learning_scripts/families` has one file per habit, written again in very different styles; `learning_scripts/mild` the
same as one model writes it on other days; `learning_scripts/pairs` two programs each that look alike and must stay two
habits. What lies in `held_out` is only measured: who tunes on it measures nothing. What lies in `fresh` and
in `blind` was written by authors who had not seen the rule, and is measured by itself: it is asked for by its name. Nobody who wrote the rule has read `unread`.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parent / "learning_scripts"
START = datetime(2026, 3, 2, tzinfo=UTC)

Kind = Literal["effectful", "pure"]
Split = Literal["tuned", "held_out", "fresh", "blind", "unread"]


@dataclass(frozen=True)
class Script:
    style: str
    purpose: str
    code: str


@dataclass(frozen=True)
class Family:
    """One habit. `context` is an input on which all its scripts give the same answer, if they all read it."""

    name: str
    kind: Kind
    split: Split
    scripts: tuple[Script, ...]
    context: Any = None


@dataclass(frozen=True)
class Pair:
    """Two scripts that look alike and must not become one habit."""

    name: str
    kind: Kind
    split: Split
    first: Script
    second: Script


@dataclass(frozen=True)
class Run:
    """One run of the user of `month`."""

    at: datetime
    family: Family
    script: Script


def families(split: Split | None = None) -> list[Family]:
    return list(read("families", split))


def mild_families(split: Split | None = None) -> list[Family]:
    return list(read("mild", split))


def pairs(split: Split | None = None) -> list[Pair]:
    return [Pair(one.name, one.kind, one.split, *one.scripts) for one in read("pairs", split)]


def read(folder: str, split: Split | None) -> Iterator[Family]:
    splits: tuple[Split, ...] = ("tuned", "held_out") if split is None else (split,)
    for each in splits:
        for path in sorted((FOLDER / folder / each).glob("*.txt")):
            yield family_of(path.stem, each, path.read_text(encoding="utf-8"))


def family_of(name: str, split: Split, text: str) -> Family:
    """Lines `key: value`, then for each script a line `--- style | purpose` and its code."""
    head, *parts = re.split(r"^--- ", text, flags=re.MULTILINE)
    keys = dict(line.split(": ", 1) for line in head.splitlines())
    context = json.loads(keys.pop("context", "null"))
    kind: Any = keys.pop("kind")
    assert not keys, f"unknown lines in {name}: {sorted(keys)}"
    return Family(name, kind, split, tuple(script_of(part) for part in parts), context)


def script_of(part: str) -> Script:
    title, _, code = part.partition("\n")
    style, _, purpose = title.partition(" | ")
    return Script(style, purpose, code)


def month(seed: int = 1, runs: int = 250, days: int = 30, habits: int = 20) -> list[Run]:
    """What one user ran: a few habits often and most seldom, each time as one of its scripts, by day and in order."""
    chance = random.Random(seed)
    by_name = sorted([*families(), *mild_families()], key=lambda family: family.name)
    chosen = chance.sample(by_name, min(habits, len(by_name)))
    often = [1 / (1 + rank / 4) for rank in range(len(chosen))]
    drawn = [*chosen, *chance.choices(chosen, often, k=runs - len(chosen))]
    times = sorted(
        START + timedelta(days=chance.randrange(days), seconds=chance.randrange(8 * 3600, 19 * 3600)) for _ in drawn
    )
    chance.shuffle(drawn)
    return [Run(at, family, chance.choice(family.scripts)) for at, family in zip(times, drawn, strict=True)]
