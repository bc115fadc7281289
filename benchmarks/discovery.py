"""Benchmark of discovery: find the tools for an intent among a thousand, and declare them."""

from __future__ import annotations

import json
import os
import tempfile
from itertools import cycle
from pathlib import Path

from cortex.discovery import Discovery, ToolIndex, discovery_of, text_of_tool
from cortex.settings.settings import load_settings
from sandbox import ToolDeclaration, typescript_of

from .measure import Report, Row, Trial, interleaved, p50

TOOLS = 1_000
INTENTS = (
    "list commits of a repository since a date",
    "find slow queries in the database",
    "send a message to the team's channel",
    "create an invoice for a customer and send it by email, with the discount that was agreed on last week",
)
_CATALOGUE = Path(__file__).parent.parent / "tests" / "cortex" / "discovery" / "catalogue.json"


def tools() -> list[ToolDeclaration]:
    """The tools of the catalogue, repeated: each copy as if from another server of its kind."""
    known = json.loads(_CATALOGUE.read_text(encoding="utf-8"))
    return [
        ToolDeclaration(
            f"{tool['server']}-{number // len(known)}.{tool['name']}", tool["description"], tool["inputSchema"]
        )
        for number, tool in zip(range(TOOLS), cycle(known), strict=False)
    ]


async def discovery(rounds: int, report: Report) -> None:
    """Measured with a finished index, as in all turns but the first. The search by meaning only where DISCOVERY_MODEL
    names the folder of a model."""
    declarations = tools()
    by_name = {declaration.name: declaration for declaration in declarations}
    intents = cycle(INTENTS)

    def lent_by(found: Discovery) -> Trial:
        async def trial() -> None:
            best = await found.rank(next(intents), declarations, 1, 5)
            assert len(best) == 5
            assert typescript_of([by_name[match.name] for match in best])

        return trial

    async def index() -> None:
        ToolIndex([text_of_tool(declaration) for declaration in declarations])

    with tempfile.TemporaryDirectory() as home:
        folder = os.environ.get("DISCOVERY_MODEL")
        wanted = {"semantic": "onnx", "model": folder} if folder else {}
        settings = load_settings(environment={}, home=Path(home), discovery=wanted)
        trials = {"words": lent_by(Discovery(settings.discovery)), "index": index}
        if wanted:
            trials["meaning"] = lent_by(discovery_of(settings))
        for trial in trials.values():
            await trial()
        taken = await interleaved(trials, rounds)
    by_words = p50(taken["words"])
    report(Row(f"5 of {TOOLS} tools, found and declared", by_words, 20, "ms", 1.0, "limit"))
    report(Row(f"indexing {TOOLS} tools", p50(taken["index"]), by_words, "ms", float("inf"), "one search"))
    if "meaning" in taken:
        report(Row(f"5 of {TOOLS} tools by meaning, too", p50(taken["meaning"]), 200, "ms", 1.0, "limit"))
