"""The catalogue and the intents that discovery is measured on."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from cortex.discovery import Discovery
from sandbox import ToolDeclaration

_HERE = Path(__file__).parent


def catalogue() -> list[ToolDeclaration]:
    tools: list[dict[str, Any]] = json.loads((_HERE / "catalogue.json").read_text(encoding="utf-8"))
    return [
        ToolDeclaration(f"{tool['server']}.{tool['name']}", tool["description"], tool["inputSchema"]) for tool in tools
    ]


async def recall(discovery: Discovery, part: str) -> dict[str, float]:
    """By style: the share of intents that have one of their tools among those that are lent for an intent."""
    tools = catalogue()
    found = defaultdict(list)
    for intent in json.loads((_HERE / "intents.json").read_text(encoding="utf-8")):
        if intent["part"] == part:
            best = {match.name for match in await discovery.rank(intent["text"], tools, "catalogue")}
            found[intent["style"]].append(bool(best & set(intent["tools"])))
    return {style: sum(hits) / len(hits) for style, hits in found.items()}
