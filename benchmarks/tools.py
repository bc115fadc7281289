"""A tool for benchmarks that returns its arguments, for our runtime and for the naive executor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbox import ToolDeclaration


class Echo:
    def declarations(self) -> Sequence[ToolDeclaration]:
        return (ToolDeclaration("echo", input_schema={"type": "object"}),)

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:  # noqa: ARG002 - there is one tool
        return arguments


async def echo(params: dict[str, Any]) -> Any:
    return params
