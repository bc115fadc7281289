"""Formats the questions of the inbox: a table of them, and one or several whole. No text in them can control the
terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cortex.channels import set_in
from cortex.text import columns_of, fit, local_time, padded, styled, terminal_columns, visible
from cortex.views import hash_of_all, lines_of_all, together_with

from .exits import CommandError
from .rows import LEAST_TEXT, paint, width

if TYPE_CHECKING:
    from cortex.views import QuestionSeen

SHORT_ID = 8
_HASH_SHOWN = 12
_TOOL_COLUMNS = 24


def table(found: Sequence[QuestionSeen]) -> Iterator[str]:
    """A line for each question; one for all that a run asks about the same tool at the same time."""
    now, told = time.time(), set[str]()
    room = max(LEAST_TEXT, width() - 59)
    yield paint(f"{'id':{SHORT_ID}} {'asked':16} {'left':>6} {'tool':{_TOOL_COLUMNS}} asks", "dim")
    for seen in found:
        if seen.id in told:
            continue
        together = together_with(seen, found)
        told.update(one.id for one in together)
        left = f"{max(0, seen.until - now):.0f} s" if seen.is_open else ""
        tool = f"{len(together)} x {seen.tool}" if len(together) > 1 else seen.tool
        about = _about(seen) if seen.is_open else f"{seen.told}: {_about(seen)}"
        name = padded(fit(tool, _TOOL_COLUMNS), _TOOL_COLUMNS)
        cells = f"{seen.id[:SHORT_ID]} {local_time(seen.asked_at)} {left:>6} {name}"
        yield f"{cells} {fit(about, room - max(0, columns_of(cells) - 57))}"


def _about(seen: QuestionSeen) -> str:
    """The arguments on one line, or what the code is for."""
    if "code" in seen.arguments and seen.purpose:
        return visible(" ".join(seen.purpose.split()))
    return visible(json.dumps(seen.arguments, ensure_ascii=False))


def whole(seen: QuestionSeen, together: Sequence[QuestionSeen]) -> Iterator[str]:
    """Every line of the question, and then how it stands."""
    yield from _fitted(list(seen.lines))
    yield from _facts(seen)
    yield f"{'hash:':13} {seen.shown_hash}"
    if seen.is_open:
        id_ = seen.id[:SHORT_ID]
        yield f"To answer: cortex inbox answer {id_} yes --hash {seen.shown_hash[:_HASH_SHOWN]}, or: no"
        if len(together) > 1:
            yield f"The run asks about {len(together)} such calls: cortex inbox show {id_} --together"


def all_of(together: Sequence[QuestionSeen]) -> Iterator[str]:
    """Several questions as one. Raises CommandError where they are too long for that."""
    lines = lines_of_all(together) if len(together) > 1 else list(together[0].lines)
    if lines is None:
        raise CommandError("these questions are too long to be shown together: show and answer each by itself")
    yield from _fitted(lines)
    yield from _facts(together[0])
    shown = hash_of_all(together)
    yield f"{'hash of all:':13} {shown}"
    if together[0].is_open:
        id_, hashed = together[0].id[:SHORT_ID], shown[:_HASH_SHOWN]
        yield f"To answer all: cortex inbox answer {id_} yes --together --hash {hashed}, or: no --together"
        yield f"To allow some: cortex inbox answer {id_} yes --only 1,3-5 --hash {hashed}"


def _fitted(lines: list[str]) -> Iterator[str]:
    first, *rest = set_in(lines, terminal_columns(sys.stdout) if sys.stdout.isatty() else width())
    yield styled(first, "bold", sys.stdout)
    yield from rest


def _facts(seen: QuestionSeen) -> Iterator[str]:
    facts = {
        "id": seen.id,
        "asked by": f"{seen.asked_by}, in {seen.program} (process {seen.pid})",
        "turn": seen.turn + (f", run {seen.run}" if seen.run is not None else ""),
        "conversation": seen.conversation,
        "code": seen.code_hash or "",
        "asked at": local_time(seen.asked_at, "%Y-%m-%d %H:%M:%S"),
        "until": local_time(seen.until, "%Y-%m-%d %H:%M:%S"),
        "state": seen.told,
    }
    yield from (f"{name + ':':13} {visible(value)}" for name, value in facts.items() if value)
