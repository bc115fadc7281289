"""How the document of a script grows: by an occurrence, or by another document that turned out to be the same. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from .fingerprint import Fingerprint
from .habit import (
    MAX_ABSORBED,
    MAX_CODES,
    MAX_CODES_CHARS,
    MAX_KEPT_LITERALS,
    MAX_NAMES,
    MAX_PURPOSE,
    MAX_SKETCHES,
    MAX_VALUE_CHARS,
    Occurrence,
    Script,
)
from .secret_texts import without_keys, without_secrets
from .sketch import Sketch

ID_CHARS = 16


def new_id(sketch: Sketch, known: Container[str]) -> str:
    """The id of a script that is like no known one. Scripts that differ in a value or in the order of names have one
    shape, and may be two all the same."""
    found = sketch.shape[:ID_CHARS]
    return found if found not in known else hashlib.sha256(sketch.line.encode()).hexdigest()[:ID_CHARS]


def noted(
    script: Script | None, script_id: str, found: Fingerprint, occurrence: Occurrence, *, since: float, most: int
) -> Script:
    """The script with one more occurrence, and without occurrences older than `since`."""
    if script is None:
        # Without the code: as it is here, it may contain keys.
        blank = replace(occurrence, code="")
        script = Script(id=script_id, sketches=(), first_at=occurrence.at, latest=blank)
    literals = tuple(
        replace(literal, text=without_secrets(literal.text)[:MAX_VALUE_CHARS])
        for literal in occurrence.literals[:MAX_KEPT_LITERALS]
    )
    recent = (
        *(one for one in script.recent if one.at >= since),
        Occurrence(occurrence.at, occurrence.code_hash, literals),
    )
    code = without_keys(occurrence.code)
    return replace(
        script,
        codes=_wordings(code, (script.latest.code, *script.codes)),
        sketches=_different((found.sketch, *script.sketches)),
        latest=replace(
            occurrence,
            code=code,
            purpose=" ".join(without_secrets(occurrence.purpose).split())[:MAX_PURPOSE],
        ),
        recent=recent[-most:],
        count=script.count + 1,
        tools=_union(script.tools, found.tools, occurrence.tools),
        hosts=_union(script.hosts, found.hosts, occurrence.hosts),
    )


def _wordings(newest: str, before: Iterable[str]) -> tuple[str, ...]:
    """The wordings before the newest one, as many as there is room for."""
    kept: list[str] = []
    room = MAX_CODES_CHARS
    for code in dict.fromkeys(before):
        room -= len(code)
        if room < 0 or len(kept) >= MAX_CODES - 1:
            break
        if code and code != newest:
            kept.append(code)
    return tuple(kept)


def _different(sketches: Iterable[Sketch]) -> tuple[Sketch, ...]:
    return tuple({sketch.shape: sketch for sketch in sketches}.values())[:MAX_SKETCHES]


def _union(*names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted({name for some in names for name in some}))[:MAX_NAMES]


def merged(script: Script, other: Script, most: int) -> Script:
    """Both as one script, with the id of the first: nothing is told again that was told, and a neuron stays known."""
    newer, older = (script, other) if script.last_at >= other.last_at else (other, script)
    recent = {(one.at, one.code_hash): one for one in sorted((*script.recent, *other.recent), key=lambda one: one.at)}
    return replace(
        script,
        sketches=_different((*newer.sketches, *older.sketches)),
        first_at=min(script.first_at, other.first_at),
        latest=newer.latest,
        recent=tuple(recent.values())[-most:],
        codes=_wordings(newer.latest.code, (*newer.codes[:2], older.latest.code, *newer.codes[2:], *older.codes)),
        count=script.count + other.count,
        tools=_union(script.tools, other.tools),
        hosts=_union(script.hosts, other.hosts),
        told=_earlier(script.told, other.told),
        offered=max((at for at in (script.offered, other.offered) if at is not None), default=None),
        hinted=_earlier(script.hinted, other.hinted),
        neuron=script.neuron or other.neuron,
        absorbed=tuple(dict.fromkeys((*script.absorbed, other.id, *other.absorbed)))[:MAX_ABSORBED],
    )


def _earlier(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else min(a, b)


def rank(script: Script) -> tuple[bool, bool, bool, float]:
    """Of scripts to merge, the one of the highest rank keeps its id: others may have been told of it."""
    return script.neuron is not None, script.hinted is not None, script.told is not None, -script.first_at
