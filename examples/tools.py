"""Lend tools to the code. It calls them in parallel and catches the error of one of them.

Prints:

    {'tea': 12, 'coffee': 0, 'caviar': 'unknown_item: the shop has no caviar'}
    4 calls
    invalid_arguments: tools.shop.stock: arguments: "item" is a required property
"""

from collections.abc import Sequence
from typing import Any

import anyio

from sandbox import DenoRuntime, ExecutionRequest, ToolDeclaration, ToolError

STOCK = {"tea": 12, "coffee": 0}

CODE = """
const items = ["tea", "coffee", "caviar"];
const counts = await Promise.all(items.map((item) =>
  tools.shop.stock({ item }).catch((error) => `${error.code}: ${error.message}`)));
const mistake = await tools.shop.stock({}).catch((error) => `${error.code}: ${error.message}`);
return { counts: Object.fromEntries(items.map((item, n) => [item, counts[n]])), mistake };
"""


class Shop:
    """Any object with these two methods is a HostTools."""

    def declarations(self) -> Sequence[ToolDeclaration]:
        schema = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
        return (ToolDeclaration("shop.stock", "How many of an item are left.", schema),)

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:  # noqa: ARG002 - there is one tool
        item = arguments["item"]
        if item not in STOCK:
            raise ToolError(f"the shop has no {item}", code="unknown_item")
        return STOCK[item]


async def main() -> None:
    async with DenoRuntime() as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=CODE), Shop())
        print(outcome.result["counts"])
        print(outcome.metrics.tool_calls, "calls")
        print(outcome.result["mistake"])


anyio.run(main)
