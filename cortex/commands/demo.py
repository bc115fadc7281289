"""`cortex demo`: a handful of scripts, each with what the model would read."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from cortex.replies import reply
from cortex.settings import load_settings
from cortex.terminal import styled, visible
from sandbox import DenoRuntime, ExecutionRequest, SandboxSettings, SandboxUnavailable, ToolDeclaration, ToolError

from .exits import REFUSED, SUCCESS, CommandError

STOCK = {"tea": 12, "coffee": 0, "biscuits": 40}


class Shop:
    """A host's tools: the code can call them, and nothing else of the host."""

    def declarations(self) -> Sequence[ToolDeclaration]:
        schema = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
        return (ToolDeclaration("shop.stock", "How many of an item are left.", schema),)

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:  # noqa: ARG002 - there is one tool
        if arguments["item"] not in STOCK:
            raise ToolError(f"the shop has no {arguments['item']}", code="unknown_item")
        return STOCK[arguments["item"]]


@dataclass(frozen=True, slots=True)
class Scene:
    title: str
    code: str
    context: Any = None
    timeout_ms: int = 5000


SCENES = (
    Scene("Compound interest", "const p = 10000, r = 0.05, n = 10; return p * Math.pow(1 + r, n);"),
    Scene(
        "TypeScript as written",
        "interface Sale { item: string; price: number }\n"
        "const sales = context as Sale[];\n"
        "const total = sales.reduce((sum: number, { price }) => sum + price, 0);\n"
        "return { total, dearest: sales.toSorted((a, b) => b.price - a.price)[0].item };",
        [{"item": "tea", "price": 3}, {"item": "biscuits", "price": 5}],
    ),
    Scene(
        "Tools of the host, in parallel, with an error that is caught",
        "const items = ['tea', 'coffee', 'biscuits', 'caviar'];\n"
        "return await Promise.all(items.map((item) =>\n"
        "  tools.shop.stock({ item }).catch((error) => `${error.code}: ${error.message}`)));",
    ),
    Scene("A mistake", "const totals = [1, 2, 3];\nreturn total.length;"),
    Scene("Reading the host's files", 'return Deno.readTextFileSync("/etc/passwd");'),
    Scene("Leaving the sandbox", 'return new Deno.Command("/usr/bin/id").outputSync();'),
    Scene("An endless loop", "while (true) {}", timeout_ms=500),
    Scene("All the memory", "const all = []; for (;;) all.push(new Uint8Array(32 << 20).fill(1));"),
)


def add_arguments(parser: ArgumentParser) -> None:
    pass


def run(options: Namespace) -> int:
    try:
        anyio.run(_play, load_settings(options.config).sandbox)
    except SandboxUnavailable as error:
        raise CommandError(str(error), REFUSED) from error
    return SUCCESS


async def _play(settings: SandboxSettings) -> None:
    async with DenoRuntime(settings) as runtime:
        for number, scene in enumerate(SCENES, 1):
            print(styled(f"{number}. {scene.title}", "bold", sys.stdout))
            for line in scene.code.splitlines():
                print("   " + styled(line, "cyan", sys.stdout))
            request = ExecutionRequest(code=scene.code, context=scene.context, timeout_ms=scene.timeout_ms)
            outcome = await runtime.execute(request, Shop())
            answer = visible(reply(outcome))
            print("   → " + styled(_short(answer), "green" if outcome.ok else "yellow", sys.stdout))
            took = f"{outcome.metrics.execution_ms:.1f} ms, {outcome.metrics.peak_memory_mb:.0f} MB"
            calls = f", {outcome.metrics.tool_calls} tool calls" if outcome.metrics.tool_calls else ""
            print(styled(f"     {took}{calls}\n", "dim", sys.stdout))


def _short(answer: str) -> str:
    first = answer.split("\n", 1)[0]
    return first if len(first) <= 160 else first[:160] + "…"
