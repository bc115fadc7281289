"""The MCP server of one cortex: lists the tools, and runs one turn for each call."""

from __future__ import annotations

import logging
from collections.abc import Set
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from cortex.contracts import Denied, reason_of, reason_of_fault
from cortex.tools import EXECUTE_CODE

from .calls import PROGRESS_S, STOPPING, Calls, Progress
from .offered import INSTRUCTIONS, offered
from .results import answer_result, code_result, refusal_result

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

    from cortex.settings import Settings

    from .ports import Cortex

log = logging.getLogger("motor_cortex")

NAME = "motor-cortex"


def mcp_server(
    cortex: Cortex, settings: Settings, calls: Calls | None = None, *, progress_s: float = PROGRESS_S
) -> Server[Any]:
    """An SDK server for an open cortex, for any transport. It never asks its clients: no sampling, no elicitation."""
    from mcp.server import Server  # noqa: PLC0415 - it takes a second to load
    from mcp_types import CallToolResult, ListToolsResult  # noqa: PLC0415

    # Made once: a client, and the model behind it, keep the list that they were given.
    tools = ListToolsResult.model_validate({"tools": offered(cortex.openai_tools(), settings)})
    answers = _Answers(cortex, {tool.name for tool in tools.tools}, calls or Calls(), progress_s)

    async def list_tools(ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        del ctx, params
        return tools

    async def call_tool(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        return CallToolResult.model_validate(await answers.call_tool(ctx, params))

    return Server(
        NAME,
        version=version("motor-cortex"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


class _Answers:
    def __init__(self, cortex: Cortex, names: Set[str], calls: Calls, progress_s: float) -> None:
        self._cortex = cortex
        self._names = names
        self._calls = calls
        self._progress_s = progress_s

    async def call_tool(self, ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> dict[str, Any]:
        name = params.name
        if name not in self._names:
            known = ", ".join(sorted(self._names))
            return refusal_result(reason_of(Denied(f'There is no tool "{name[:100]}"; there are {known}')))
        of_code = name == EXECUTE_CODE
        if (refusal := self._calls.refusal) is not None:
            return refusal_result(refusal, of_code=of_code)
        progress = Progress(ctx.session.report_progress, self._progress_s)

        async def answered() -> dict[str, Any]:
            try:
                return await self._answer(name, params.arguments or {}, progress)
            except Exception as error:
                log.exception("The host failed to answer a client")
                return refusal_result(reason_of_fault(error), of_code=of_code)

        # The SDK sends no progress to a client that has not asked for it.
        result = await self._calls.run(lambda: progress.during(answered))
        return result if result is not None else refusal_result(STOPPING, of_code=of_code)

    async def _answer(self, name: str, arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
        async with self._cortex.turn(progress.watch) as turn:
            if name == EXECUTE_CODE:
                return code_result(await turn.execute_code(arguments))
            return answer_result(await turn.answer(name, arguments))
