"""Formats tools as lines for people and as JSON for programs. Pure; no text in them can control the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cortex.text import columns_of, fit, padded, visible, wrapped
from cortex.tools import policy_of
from sandbox import typescript_of

from .rows import LEAST_TEXT, POLICY_STYLES, Paint

if TYPE_CHECKING:
    from cortex.settings import Settings
    from cortex.tools import UsableTool

    from .tool_source import Seen

_MOST_LINES = 3
_MAX_NAME = 50


def list_lines(seen: Seen, settings: Settings, width: int, paint: Paint) -> Iterator[str]:
    names = min(_MAX_NAME, max(columns_of(text) for text in ("name", *(tool.name for tool in seen.tools))))
    score = 7 if seen.scores else 0
    room = width - names - len("  policy  ") - score
    if room >= LEAST_TEXT:
        yield paint(f"{'name':{names}}  policy  {'score  ' if score else ''}what", "dim")
    for tool in seen.tools:
        policy = policy_of(tool, settings.tools)
        value = seen.score_of(tool)
        scored = "" if value is None else f"{value:5.2f}  "
        what = tool.declaration.description
        if room < LEAST_TEXT:
            yield paint(
                fit(f"{tool.name}: {policy}{f', {scored.strip()}' if scored else ''}", width), POLICY_STYLES[policy]
            )
            yield from (f"  {line}" for line in wrapped(fit(what, _MOST_LINES * (width - 2)), width - 2))
            continue
        name = padded(fit(tool.name, names), names)
        yield f"{name}  {paint(f'{policy:6}', POLICY_STYLES[policy])}  {scored}{fit(what, room)}".rstrip()


def facts_of(tool: UsableTool, settings: Settings, score: float | None) -> dict[str, Any]:
    declaration = tool.declaration
    facts: dict[str, Any] = {
        "name": tool.name,
        "server": declaration.server,
        "tool": declaration.tool,
        "policy": policy_of(tool, settings.tools),
        "description": declaration.description,
    }
    return facts if score is None else {**facts, "score": round(score, 4)}


def declared_facts_of(tool: UsableTool, settings: Settings) -> dict[str, Any]:
    declaration = tool.declaration
    return {
        **facts_of(tool, settings, None),
        "input_schema": declaration.input_schema,
        "output_schema": declaration.output_schema,
        "declaration": typescript_of([declaration]),
    }


def policy_lines(tools: Sequence[UsableTool], settings: Settings) -> Iterator[str]:
    """The policy of each tool that is not simply allowed, as comments: the declaration does not say it."""
    for tool in tools:
        policy = policy_of(tool, settings.tools)
        if policy != "allow":
            says = "the owner is asked before each call" if policy == "ask" else "it is not lent"
            yield f"// {visible(tool.name)}: {policy}, {says}"
