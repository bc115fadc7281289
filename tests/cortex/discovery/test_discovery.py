from __future__ import annotations

from collections.abc import Sequence

import anyio

from cortex.discovery import Discovery
from cortex.settings.sections import DiscoverySettings
from sandbox import ToolDeclaration

STOCK = ToolDeclaration("shop.stock", "How many are in stock")
ORDER = ToolDeclaration("shop.order", "Order more of it")


class Counted(Sequence[ToolDeclaration]):
    """Tools that know how often they were read."""

    def __init__(self, *tools: ToolDeclaration) -> None:
        self.tools = tools
        self.reads = 0

    def __len__(self) -> int:
        return len(self.tools)

    def __getitem__(self, place):
        self.reads += place == 0
        return self.tools[place]


async def names(discovery: Discovery, query: str, tools: Sequence[ToolDeclaration], version: object, k: int = 5):
    return [match.name for match in await discovery.rank(query, tools, version, k)]


async def test_the_best_tools_for_an_intent_are_found():
    discovery = Discovery(DiscoverySettings())
    assert await names(discovery, "how many in stock", [STOCK, ORDER], 1) == ["shop.stock"]


async def test_the_index_is_built_once_for_a_version_and_again_for_the_next():
    discovery = Discovery(DiscoverySettings())
    tools = Counted(STOCK)
    for _ in range(3):
        assert await names(discovery, "stock", tools, "first") == ["shop.stock"]
    assert tools.reads == 1
    assert await names(discovery, "stock", [ORDER], "second") == []
    assert await names(discovery, "order", [ORDER], "second") == ["shop.order"]


async def test_many_who_ask_at_once_wait_for_one_index():
    discovery = Discovery(DiscoverySettings())
    tools = Counted(*(ToolDeclaration(f"shop.tool{n}", "Parcel") for n in range(300)))
    found: list[int] = []

    async def ask() -> None:
        found.append(len(await discovery.rank("parcel", tools, 1, 7)))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(ask)
    assert found == [7] * 10
    assert tools.reads == 1
