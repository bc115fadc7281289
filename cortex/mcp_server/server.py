"""The server itself: which tools there are, and one turn of the cortex for each call of one."""

from __future__ import annotations

import logging
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ..replies import denied, failed
from .calls import PROGRESS_S, STOPPING, Calls, Progress
from .offered import EXECUTE_CODE, INSTRUCTIONS, offered
from .results import answer_result, code_result, error_result

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, PaginatedRequestParams

    from ..settings import Settings
    from .ports import Cortex

log = logging.getLogger("motor_cortex")

NAME = "motor-cortex"


def mcp_server(
    cortex: Cortex, settings: Settings, calls: Calls | None = None, *, progress_s: float = PROGRESS_S
) -> Server[Any]:
    """A server of the SDK for one cortex that is open, which any transport can serve. It asks its clients for nothing:
    no sampling, no elicitation."""
    from mcp.server import Server  # noqa: PLC0415 - it takes a second to load
    from mcp_types import CallToolRequestParams, PaginatedRequestParams  # noqa: PLC0415

    answers = _Answers(cortex, settings, calls or Calls(), progress_s)
    server: Server[Any] = Server(NAME, version=version("motor-cortex"), instructions=INSTRUCTIONS)
    server.add_request_handler("tools/list", PaginatedRequestParams, answers.list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, answers.call_tool)
    return server


class _Answers:
    def __init__(self, cortex: Cortex, settings: Settings, calls: Calls, progress_s: float) -> None:
        self._cortex = cortex
        self._calls = calls
        self._progress_s = progress_s
        # Once: a client, and the model behind it, keep what they were told.
        self._tools = offered(cortex.openai_tools(), settings)
        self._names = {tool["name"] for tool in self._tools}

    async def list_tools(self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams) -> dict[str, Any]:
        del ctx, params
        return {"tools": self._tools}

    async def call_tool(self, ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> dict[str, Any]:
        name = params.name
        if name not in self._names:
            return error_result(denied(f'There is no tool "{name[:100]}"; there are {", ".join(sorted(self._names))}'))
        if (refusal := self._calls.refusal) is not None:
            return error_result(refusal)
        progress = Progress(ctx.session.report_progress, self._progress_s)

        async def answered() -> dict[str, Any]:
            try:
                return await self._answer(name, params.arguments or {}, progress)
            except Exception as error:
                log.exception("The host failed to answer a client")
                return error_result(failed("InternalError", f"the host failed with {type(error).__name__}"))

        async def told() -> dict[str, Any]:
            return await progress.during(answered) if "progress_token" in (ctx.meta or {}) else await answered()

        result = await self._calls.run(told)
        return result if result is not None else error_result(STOPPING)

    async def _answer(self, name: str, arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
        async with self._cortex.turn(progress.watch) as turn:
            if name == EXECUTE_CODE:
                return code_result(await turn.execute_code(arguments))
            return answer_result(await turn.answer(name, arguments))
