"""Counts the steps of a schema check while it runs, and ends it when there are too many. For schemas whose references
are recursive or unfold to very many parts: their cost depends on the value, and may double with each level of it."""

from __future__ import annotations

import threading
from typing import Any

from .schema_parts import REFERENCES, BadSchema, Parts
from .schema_values import size_of

STEP = "motor-cortex-step"
# In draft 7 a reference disables all keywords beside it; in later drafts they stay in force.
_ALONE_IN = "draft-07"
_BESIDE_IN = ("2019-09", "2020-12")
_KEPT_BESIDE = frozenset({"$schema", "$id", "$defs", "definitions"})

_running = threading.local()


class Meter:
    """Counts the steps of one check against a limit. Each step costs the size of the value it is taken on."""

    def __init__(self, sizes: dict[int, int], most: int) -> None:
        self._sizes = sizes
        self._left = most

    @property
    def is_over(self) -> bool:
        return self._left < 0

    def step(self, value: Any) -> None:
        self._left -= size_of(value, self._sizes)
        if self._left < 0:
            raise ValueError("this has gone on for too long")

    def __enter__(self) -> Meter:
        _running.meter = self
        return self

    def __exit__(self, *exception: object) -> None:
        _running.meter = None


class Step:
    """A custom schema keyword: through it the library calls the meter before it follows a reference."""

    def __init__(self, *place: object) -> None:
        pass

    def validate(self, value: Any) -> None:
        meter: Meter | None = getattr(_running, "meter", None)
        if meter is not None:
            meter.step(value)


def meter_references(parts: Parts) -> None:
    """Change the schema so that each reference takes a step of the meter first. Raises BadSchema."""
    draft = parts.root.get("$schema", _BESIDE_IN[-1])
    is_alone = isinstance(draft, str) and _ALONE_IN in draft
    if not is_alone and not (isinstance(draft, str) and any(name in draft for name in _BESIDE_IN)):
        raise BadSchema("references that lead round are used only in schemas of draft 7 and later")
    for part in parts.all:
        for key in REFERENCES:
            if isinstance(part.get(key), str):
                # `then` is always checked after `if`, in whatever order the other keywords are checked.
                asked = {"if": {STEP: True}, "then": {key: part.pop(key)}, "else": False}
                if is_alone:
                    kept = {name: value for name, value in part.items() if name in _KEPT_BESIDE}
                    part.clear()
                    part.update(kept | asked)
                else:
                    others = part.get("allOf")
                    part["allOf"] = [*(others if isinstance(others, list) else ()), asked]
