"""`cortex demo`: ten scripts, each with what the model would read, and what each would change."""

from __future__ import annotations

import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from cortex.replies import reply
from cortex.settings import load_settings
from cortex.terminal import styled, visible
from sandbox import (
    DenoRuntime,
    Exchange,
    ExecutionRequest,
    HostRule,
    NetworkPolicy,
    Replay,
    SandboxSettings,
    SandboxUnavailable,
    Tier,
    ToolDeclaration,
    ToolError,
    Workspace,
)

from .exits import REFUSED, SUCCESS, CommandError

# Recorded once, and replayed here: the demo needs no network, and the policy holds all the same.
NETWORK = NetworkPolicy(
    allow=(HostRule(host="prices.example"),),
    replay=Replay([Exchange(method="GET", url="https://prices.example/tea", status=200, body=b'{"tea": 3}')]),
)
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
    tier: Tier = Tier.ISOLATED
    has_files: bool = False


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
    Scene(
        "The network, through the host, which knows one address and no other",
        "const pages = ['https://prices.example/tea', 'https://elsewhere.example/'];\n"
        "return await Promise.all(pages.map((page) =>\n"
        "  fetch(page).then((answer) => answer.json()).catch((error) => `${error.name}: ${error.message}`)));",
        tier=Tier.NETWORK,
    ),
    Scene(
        "Files, in a folder that the host lends: nothing changes until it says so",
        "const text = await Deno.readTextFile('orders.txt');\n"
        "await Deno.writeTextFile('orders.txt', text + 'tea, 2\\n');\n"
        "await Deno.writeTextFile('total.json', JSON.stringify({ orders: 2 }));\n"
        "return text.trim();",
        has_files=True,
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
    with tempfile.TemporaryDirectory(prefix="motor-cortex-demo-") as folder:
        await anyio.Path(folder, "orders.txt").write_text("coffee, 1\n")
        async with DenoRuntime(settings) as runtime:
            await _play_scenes(runtime, Workspace(folder))
            layers = ", ".join(runtime.wall.held)
            print(
                f"The wall behind Deno's permissions is {runtime.wall.level}: {layers}. cortex doctor tries each layer."
            )


async def _play_scenes(runtime: DenoRuntime, workspace: Workspace) -> None:
    for number, scene in enumerate(SCENES, 1):
        print(styled(f"{number}. {scene.title}", "bold", sys.stdout))
        for line in scene.code.splitlines():
            print("   " + styled(line, "cyan", sys.stdout))
        request = ExecutionRequest(code=scene.code, tier=scene.tier, context=scene.context, timeout_ms=scene.timeout_ms)
        outcome = await runtime.execute(
            request, Shop(), network=NETWORK, workspace=workspace if scene.has_files else None
        )
        answer = visible(reply(outcome))
        print("   → " + styled(_short(answer), "green" if outcome.ok else "yellow", sys.stdout))
        took = f"{outcome.metrics.execution_ms:.1f} ms, {outcome.metrics.peak_memory_mb:.0f} MB"
        calls = f", {outcome.metrics.tool_calls} tool calls" if outcome.metrics.tool_calls else ""
        fetches = f", {outcome.metrics.fetches} requests" if outcome.metrics.fetches else ""
        print(styled(f"     {took}{calls}{fetches}", "dim", sys.stdout))
        for change in outcome.changes:
            print(styled(f"     would be {change}", "dim", sys.stdout))
        print()


def _short(answer: str) -> str:
    first = answer.split("\n", 1)[0]
    return first if len(first) <= 160 else first[:160] + "…"
