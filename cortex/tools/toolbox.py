"""The toolbox: registers Python functions as tools, for the model, for its code in the sandbox, or both."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, overload

from cortex.settings import Policy
from cortex.text import beginning

from .definitions import MAX_DESCRIPTION_CHARACTERS, ToolDefinition
from .names import WireNames, check_name, is_core
from .policy import policy_of
from .signature import signature_of
from .tool import Tool

if TYPE_CHECKING:
    from cortex.settings import ToolSettings
    from sandbox import ToolDeclaration

Function = TypeVar("Function", bound=Callable[..., Any])


class Toolbox:
    """A registry of tools. Name, description and JSON Schema come from a function's name, docstring and signature."""

    def __init__(self) -> None:
        self._names = WireNames()
        self._tools: dict[str, Tool] = {}

    @overload
    def tool(self, function: Function, /) -> Function: ...

    @overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        policy: Policy = "allow",
        for_model: bool = True,
        for_code: bool = True,
    ) -> Callable[[Function], Function]: ...

    def tool(
        self,
        function: Function | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        policy: Policy = "allow",
        for_model: bool = True,
        for_code: bool = True,
    ) -> Function | Callable[[Function], Function]:
        """Decorator that adds the function and returns it unchanged: `@toolbox.tool`, or with the options of `add`."""

        def decorate(function: Function) -> Function:
            self.add(
                function, name=name, description=description, policy=policy, for_model=for_model, for_code=for_code
            )
            return function

        return decorate if function is None else decorate(function)

    def add(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        policy: Policy = "allow",
        for_model: bool = True,
        for_code: bool = True,
    ) -> Tool:
        """Add a function under its own name or another one ("shop.stock"). The policy "ask" asks the owner before each
        call. Raises ValueError, with what to do, for a function that cannot be a tool."""
        name = getattr(function, "__name__", type(function).__name__) if name is None else name
        check_name(name)
        if is_core(name):
            raise ValueError(f'Cannot add tool "{name}": names that begin with core are those of the cortex itself')
        if policy not in get_args(Policy):
            raise ValueError(f'Cannot add tool "{name}": no policy {policy!r}; there are {", ".join(get_args(Policy))}')
        if not for_model and not for_code:
            raise ValueError(f'Cannot add tool "{name}": it is neither for the model nor for code')
        signature = signature_of(function, name, _types_beside(function))
        text = _short(signature.description if description is None else description)
        tool = Tool(name, text, policy, for_model, for_code, function, signature)
        self._names.add(name)
        self._tools[name] = tool
        return tool

    def get(self, name: str) -> Tool | None:
        """Find a tool by either name: `shop.stock`, or `shop_stock` as on the wire."""
        known = self._names.name_of(name)
        return None if known is None else self._tools[known]

    def names(self) -> list[str]:
        return list(self._tools)

    def names_for_model(self, settings: ToolSettings | None = None) -> list[str]:
        return [tool.name for tool in self if tool.for_model and not _is_denied(tool, settings)]

    def definitions(self, settings: ToolSettings | None = None, *, unlent_only: bool = False) -> list[ToolDefinition]:
        """The definitions for the model, without denied tools; with `unlent_only`, also without those that its code may
        call."""
        told = [tool for tool in self if tool.for_model and not (unlent_only and tool.for_code)]
        return [tool.definition for tool in told if not _is_denied(tool, settings)]

    def declarations(self, settings: ToolSettings | None = None) -> list[ToolDeclaration]:
        """The declarations, for the model, of the tools that its code may call."""
        return [tool.declaration for tool in self if tool.for_code and not _is_denied(tool, settings)]

    def source_files(self) -> set[Path]:
        """The files that its functions are written in, as far as that is known."""
        codes = (getattr(inspect.unwrap(tool.function), "__code__", None) for tool in self)
        return {Path(code.co_filename) for code in codes if code is not None and not code.co_filename.startswith("<")}

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)


def _is_denied(tool: Tool, settings: ToolSettings | None) -> bool:
    return (tool.policy if settings is None else policy_of(tool, settings)) == "deny"


def _short(text: str) -> str:
    return beginning(" ".join(text.split()), MAX_DESCRIPTION_CHARACTERS)


def _types_beside(function: Callable[..., Any]) -> dict[str, Any]:
    """Names defined in the enclosing functions that are still running. Annotations may use them, and they are found
    only in these frames."""
    around, _, _ = getattr(function, "__qualname__", "").rpartition(".<locals>.")
    found: dict[str, Any] = {}
    frame = inspect.currentframe() if around else None
    while frame is not None:
        name = frame.f_code.co_qualname
        if frame.f_globals is getattr(function, "__globals__", None) and f"{around}.".startswith(f"{name}."):
            found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found
