"""Learned functions as tools that code may call: `tools.learned.compoundInterest({ p, r, n })`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from cortex.mcp_client import read_arguments
from cortex.tools import LEARNED, learned_policy
from sandbox import ReadyJson, ToolDeclaration, ToolError

if TYPE_CHECKING:
    from cortex.mcp_client import McpArguments
    from cortex.settings import Policy, ToolSettings
    from neurons import Functions, Neuron


@dataclass(frozen=True, slots=True, eq=False)
class FunctionTool:
    """One function, with the interface of the tools of a toolbox."""

    name: str
    """`learned.compoundInterest`."""
    policy: Policy
    declaration: ToolDeclaration = field(repr=False)
    schema_json: bytes = field(repr=False)
    functions: Functions = field(repr=False)

    @property
    def for_code(self) -> bool:
        return True

    @property
    def for_model(self) -> bool:
        """False: the model calls it through code."""
        return False

    def read(self, arguments: Mapping[str, Any] | str | None) -> McpArguments:
        """Read and check the arguments. Raises ToolError (`invalid_arguments`)."""
        return read_arguments(self.name, self.declaration.input_schema, self.schema_json, arguments)

    async def call_json(self, arguments: McpArguments, *, timeout_ms: int | None = None) -> ReadyJson:
        """Call it; it has a time limit of its own. Raises ToolError, and nothing else but a cancellation."""
        del timeout_ms
        result = await self.functions.call(self.name.removeprefix(LEARNED), arguments.shown)
        try:
            return ReadyJson(to_json(result, inf_nan_mode="null"))
        except ValueError as error:  # half of a surrogate pair
            raise ToolError(f'"{self.name}" returned a text that is not Unicode', code="invalid_result") from error


class LearnedFunctions:
    """The functions of a home as tools."""

    def __init__(self, functions: Functions, settings: ToolSettings) -> None:
        self.functions = functions
        self._settings = settings
        self._known: tuple[Neuron, ...] = ()
        self._tools: tuple[FunctionTool, ...] = ()

    def tools(self) -> Sequence[FunctionTool]:
        """Those that may be called now: the same object until one has changed."""
        known = self.functions.known()
        if known is not self._known:
            self._known = known
            first = {one.function_name: one for one in reversed(known)}
            self._tools = tuple(self._tool(one) for one in known if first[one.function_name] is one)
        return self._tools

    def _tool(self, neuron: Neuron) -> FunctionTool:
        name, schema = f"{LEARNED}{neuron.function_name}", _without_examples(neuron.parameters or {})
        declaration = ToolDeclaration(name, neuron.metadata.purpose, schema, neuron.returns)
        return FunctionTool(name, learned_policy(self._settings), declaration, to_json(schema), self.functions)


def _without_examples(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as every conversation may read it: examples are what stood in a script of one of them."""
    properties = schema.get("properties", {})
    plain = {name: {key: one[key] for key in one if key != "examples"} for name, one in properties.items()}
    return {**schema, "properties": plain}
