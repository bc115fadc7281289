"""The MCP server of one cortex: lists the tools, and runs one turn for each call.

A result is a text for the model and the same as data for programs. It is bounded in depth and has no lone surrogates,
which would break the connection.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Protocol, cast

from pydantic_core import to_json

from cortex.contracts import Denied, Reason, asked_as, reason_of, reason_of_fault
from cortex.text import off_loop, whole
from cortex.tools import EXECUTE_CODE, PLAN, CoreTool, policy_of
from cortex.turn import MAX_TEXT_BYTES, answer_without_result
from sandbox import table_text

from .calls import PROGRESS_S, STOPPING, ClientCalls, Progress
from .conversations import ClientConversations
from .offered import CORE, INSTRUCTIONS, offered
from .roots import ClientRoots

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

    from cortex.contracts import Watch
    from cortex.loop import Answer
    from cortex.settings import Settings
    from cortex.turn import CodeAnswer, Commit, Folder
    from sandbox import Displayed

    from .function_tools import FunctionTools
    from .workflow_calls import WorkflowCalls

log = logging.getLogger("motor_cortex")

NAME = "motor-cortex"
_RUNNING = (EXECUTE_CODE, CORE[0])
"""The tools that run code."""


class Hands(Protocol):
    """One turn. Every call gets an answer, and nothing is raised but a cancellation."""

    async def answer(self, name: str, arguments: Any = None) -> Answer: ...

    async def execute_code(self, arguments: Any = None) -> CodeAnswer:
        """Run `code`. Optional: `intent`, `context`, and `sandbox_config`, which narrows limits and never widens."""
        ...


class Cortex(Protocol):
    """The part of a cortex that is served."""

    def turn(
        self, watch: Watch | None = None, *, conversation: str | None = None, workspace: Folder | None = None
    ) -> AbstractAsyncContextManager[Hands]:
        """`workspace` is given only where a client's roots are allowed."""
        ...

    def openai_tools(self) -> list[dict[str, Any]]:
        """The tools that the owner's policies offer, byte for byte the same for the same settings."""
        ...


def mcp_server(
    cortex: Cortex,
    settings: Settings,
    calls: ClientCalls | None = None,
    *,
    progress_s: float = PROGRESS_S,
    commit: Commit = "ask",
) -> Server[Any]:
    """An SDK server for an open cortex, for any transport. It never asks its clients for consent: no sampling, no
    elicitation. `commit` is for the changes in their roots, where `mcp.serve.roots` allows those."""
    from mcp.server import Server  # noqa: PLC0415 - it takes a second to load
    from mcp_types import CallToolResult, ListToolsResult  # noqa: PLC0415

    # Made once: a client, and the model behind it, keep the list that they were given.
    roots = ClientRoots(settings.mcp.serve.roots, settings.home, commit)
    has_files = bool(settings.mcp.serve.roots) or getattr(cortex, "workspace", None) is not None
    listed = offered(cortex.openai_tools(), settings, files=has_files)
    workflows = None
    if settings.mcp.serve.workflows and hasattr(type(cortex), "workflows"):
        from .workflow_calls import WorkflowCalls  # noqa: PLC0415 - only where the owner wants them
        from .workflow_offers import workflow_tools  # noqa: PLC0415

        if policy_of(CoreTool(PLAN, "ask"), settings.tools) != "deny":
            workflows = WorkflowCalls(cast("Any", cortex))
            listed += workflow_tools()
    functions = changes = None
    if settings.mcp.serve.functions and hasattr(type(cortex), "function_declarations"):
        from .function_tools import FunctionTools  # noqa: PLC0415 - only where the owner wants them
        from .list_changes import AnnouncingServer, ListChanges  # noqa: PLC0415 - likewise

        functions = FunctionTools(cast("Any", cortex))
        changes = ListChanges(functions.listed)
    tools = ListToolsResult.model_validate({"tools": listed})
    answers = _Answers(
        cortex, {tool.name for tool in tools.tools}, calls or ClientCalls(), progress_s, roots, workflows, functions
    )

    async def list_tools(ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        del params
        if functions is None or changes is None:
            return tools
        changes.asked(ctx.session)
        return ListToolsResult.model_validate({"tools": [*listed, *functions.listed()]})

    async def call_tool(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        return CallToolResult.model_validate(await answers.call_tool(ctx, params))

    described: dict[str, Any] = {
        "version": version("motor-cortex"),
        "instructions": INSTRUCTIONS,
        "on_list_tools": list_tools,
        "on_call_tool": call_tool,
    }
    if changes is None:
        return Server(NAME, **described)
    return AnnouncingServer(NAME, **described, lifespan=changes.during, on_subscriptions_listen=changes.listen)


MAX_CLIENT_NAME = 100


class _Answers:
    def __init__(
        self,
        cortex: Cortex,
        names: Set[str],
        calls: ClientCalls,
        progress_s: float,
        roots: ClientRoots,
        workflows: WorkflowCalls | None,
        functions: FunctionTools | None,
    ) -> None:
        self._cortex = cortex
        self._names = names
        self._calls = calls
        self._progress_s = progress_s
        self._conversations = ClientConversations()
        self._roots = roots
        self._workflows = workflows
        self._functions = functions

    async def call_tool(self, ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> dict[str, Any]:
        name = params.name
        function = None if self._functions is None or name in self._names else self._functions.named(name)
        if name not in self._names and function is None:
            known = ", ".join(sorted(self._names))
            return refusal_result(reason_of(Denied(f'There is no tool "{name[:100]}"; there are {known}')))
        of_code = name == EXECUTE_CODE
        if (refusal := self._calls.refusal) is not None:
            return refusal_result(refusal, of_code=of_code)
        progress = Progress(ctx.session.report_progress, self._progress_s)
        client = ctx.session.client_params
        called = None if client is None else client.client_info.name

        async def answered() -> dict[str, Any]:
            with asked_as(_client(called)):
                return await given()

        async def given() -> dict[str, Any]:
            try:
                conversation = self._conversations.of(ctx.protocol_version, ctx.request)
                if function is not None:
                    return await self._answer(function, params.arguments or {}, progress, conversation, None)
                if self._workflows is not None and name in self._workflows.names:
                    told = await self._workflows.answer(name, params.arguments or {}, called, conversation, progress)
                    return refusal_result(told) if isinstance(told, Reason) else _result([told["text"]], told, ok=True)
                folder = await self._roots.folder(ctx) if name in _RUNNING else None
                return await self._answer(name, params.arguments or {}, progress, conversation, folder)
            except Exception as error:
                log.exception("The host failed to answer a client")
                return refusal_result(reason_of_fault(error), of_code=of_code)

        # The SDK sends no progress to a client that has not asked for it.
        result = await self._calls.run(lambda: progress.during(answered))
        return result if result is not None else refusal_result(STOPPING, of_code=of_code)

    async def _answer(
        self,
        name: str,
        arguments: dict[str, Any],
        progress: Progress,
        conversation: str | None,
        folder: Folder | None,
    ) -> dict[str, Any]:
        own = {} if folder is None else {"workspace": folder}
        async with self._cortex.turn(progress.watch, conversation=conversation, **own) as turn:
            if name == EXECUTE_CODE:
                code = await turn.execute_code(arguments)
                return await off_loop(_size(code), code_result, code)
            answer = await turn.answer(name, arguments)
            return await off_loop(_size(answer), answer_result, answer)


MAX_DEPTH = 200


def _size(answer: Answer | CodeAnswer) -> int:
    """Of what is displayed. Megabytes become base64, and rows a table: not on the event loop."""
    return sum(len(item.data) for item in getattr(answer, "displayed", ()))


def answer_result(answer: Answer) -> dict[str, Any]:
    text, note = whole(answer.text), whole(answer.note) if answer.note else None
    structured = {"text": text} if note is None else {"text": text, "note": note}
    return _result([text] if note is None else [text, note], structured, ok=answer.ok, displayed=answer.displayed)


def code_result(answer: CodeAnswer) -> dict[str, Any]:
    # Turns of other hosts may answer without displays and notes.
    displayed, note = getattr(answer, "displayed", ()), getattr(answer, "note", None)
    texts = [whole(text) for text in (answer.text, note) if text]
    return _result(texts, answer.structured, ok=answer.ok, displayed=displayed)


def refusal_result(reason: Reason, *, of_code: bool = False) -> dict[str, Any]:
    """What the server itself refuses, in the form that the tool's own answers have."""
    if of_code:
        return code_result(answer_without_result(reason))
    return _result([whole(reason.text)], {"text": reason.text}, ok=False)


def _client(called: object) -> str:
    """Where a client's calls come from, in the words of the client."""
    known = " ".join(called[:MAX_CLIENT_NAME].split()) if isinstance(called, str) else ""
    return f"mcp:{known or 'client'}"


def _result(
    texts: Sequence[str], structured: Mapping[str, Any], *, ok: bool, displayed: Sequence[Displayed] = ()
) -> dict[str, Any]:
    content = [{"type": "text", "text": text} for text in texts]
    content += [block for item in displayed if (block := _block(item)) is not None]
    return {"content": content, "isError": not ok, "structuredContent": _writable(structured)}


def _block(item: Displayed) -> dict[str, Any] | None:
    """A display as a content block: a picture, sound or blob, or a text that is longer than the beginning of it in the
    reply."""
    if item.is_file:
        data = b64encode(item.data).decode()
        if item.type != "blob":
            return {"type": item.type, "mimeType": item.mime_type, "data": data}
        # A name that says nothing but what the bytes are: that of the tool's server leads nowhere for this client.
        uri = f"cortex://displayed/{sha256(item.data).hexdigest()}"
        return {"type": "resource", "resource": {"uri": uri, "mimeType": item.mime_type, "blob": data}}
    text = whole(table_text(item.rows) if item.type == "table" else item.text)
    return {"type": "text", "text": text} if len(text.encode()) > MAX_TEXT_BYTES else None


def _writable(value: Any) -> Any:
    try:
        to_json(value)
    except (ValueError, RecursionError):
        return _whole_within(value, MAX_DEPTH)
    return value


def _whole_within(value: Any, depth: int) -> Any:
    match value:
        case str():
            return whole(value)
        case Mapping() if depth:
            return {whole(str(name)): _whole_within(part, depth - 1) for name, part in value.items()}
        case list() | tuple() if depth:
            return [_whole_within(part, depth - 1) for part in value]
        case bool() | int() | float() | None:
            return value
    return "(nested too deeply)"
