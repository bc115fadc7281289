"""Learned functions as tools of MCP clients: `learned_compoundInterest`. Which there are changes while the server runs:
each list that a client asks for has those of that moment.

A module of its own: the server imports it only where the owner wants these tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from cortex.tools import wire_name

from .offered import ANSWER_SCHEMA

if TYPE_CHECKING:
    from sandbox import ToolDeclaration


class FunctionHost(Protocol):
    """A cortex with learned functions."""

    def function_declarations(self) -> Sequence[ToolDeclaration]:
        """Those that may be called now, without those that the owner's policies deny."""
        ...


class FunctionTools:
    def __init__(self, host: FunctionHost) -> None:
        self._host = host

    def listed(self) -> list[dict[str, Any]]:
        return [_tool(declaration) for declaration in self._host.function_declarations()]

    def named(self, name: str) -> str | None:
        """The name of the function that a client means by this name of a tool; None if there is none."""
        known = {wire_name(one.name): one.name for one in self._host.function_declarations()}
        return known.get(name)


def _tool(declaration: ToolDeclaration) -> dict[str, Any]:
    return {
        "name": wire_name(declaration.name),
        "description": declaration.description,
        "inputSchema": {"type": "object", **declaration.input_schema},
        "outputSchema": ANSWER_SCHEMA,
    }
