"""Makes one call of a tool: read the arguments, get consent, call, report.

There is no other way to call a tool for a model or for its code in the sandbox, so that no caller can leave out a step.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import anyio
import anyio.to_thread

from cortex.contracts import ToolCalled, owner_waits
from cortex.redaction import MAX_VALUE_CHARACTERS
from cortex.text import beginning, whole
from sandbox import ToolError, time_is_up

from .consent import NotAllowed
from .policy import policy_of, shows_messages

if TYPE_CHECKING:
    from cortex.contracts import TracedCall
    from cortex.settings import Policy, ToolSettings
    from sandbox import ReadyJson, ToolDeclaration

    from .consent import Consent
    from .owner import Origin

MAX_MESSAGE_CHARACTERS = 500
_MAX_REDACTED_CHARACTERS = MAX_MESSAGE_CHARACTERS + MAX_VALUE_CHARACTERS
_MAX_READ_CHARACTERS = 4 * 1024 * 1024
_BLANKS = re.compile(r"\s{2,}+|[^\S\n ]")

OnCall: TypeAlias = Callable[["ToolCalled"], None]
"""Told of each call; the turn is for the receiver to fill in."""


class ReadArguments(Protocol):
    """Arguments, read and checked once, so that what is shown is what the tool gets."""

    @property
    def shown(self) -> dict[str, Any]:
        """As JSON."""
        ...


class UsableTool(Protocol):
    """A tool that can be called through `Calls`: a function of the toolbox, or a tool of an MCP server."""

    @property
    def name(self) -> str:
        """The name with dots: `shop.stock`, `github.list_commits`."""
        ...

    @property
    def policy(self) -> Policy: ...

    @property
    def for_code(self) -> bool: ...

    @property
    def declaration(self) -> ToolDeclaration: ...

    def read(self, arguments: Mapping[str, Any] | str | None) -> ReadArguments:
        """Read and check the arguments. Raises ToolError (`invalid_arguments`)."""
        ...

    async def call_json(self, arguments: Any, *, timeout_ms: int | None = None) -> ReadyJson:
        """Call the tool with what `read` returned. Raises ToolError, and nothing else but a cancellation."""
        ...


class Calls:
    """The calls of one turn, by the model and by its code. `require` raises ToolError while nothing may be done;
    `restored` puts back the values for which the model was shown tokens. `settings` say whose exceptions are told with
    their message, which `redacted` makes fit to be seen, in a thread; without settings none are."""

    def __init__(
        self,
        consent: Consent,
        *,
        require: Callable[[], None] = lambda: None,
        on_call: OnCall = lambda _: None,
        restored: Callable[[Any, str | None], Any] = lambda arguments, _: arguments,
        settings: ToolSettings | None = None,
        redacted: Callable[[str], str] = lambda text: text,
        traced: TracedCall | None = None,
    ) -> None:
        self._consent = consent
        self._require = require
        self._on_call = on_call
        self._restored = restored
        self._settings = settings
        self._redacted = redacted
        self._traced = traced
        self._telling = anyio.CapacityLimiter(1)

    async def make(
        self,
        tool: UsableTool,
        arguments: Mapping[str, Any] | str | None,
        *,
        origin: Origin,
        purpose: str = "",
        timeout_ms: int | None = None,
        written: str | None = None,
        run: int | None = None,
    ) -> ReadyJson:
        """Call the tool; the result is JSON text for the model or its code. Raises ToolError: `invalid_arguments`
        before the owner is asked, `denied` before anything is done, or the tool's own error. The owner is asked about
        exactly what the tool then gets. For a call from code, only tokens that the model has `written` into that code
        are restored: other tokens may come from text of strangers. `run` is the number of that code within its turn."""
        if self._traced is None:
            return await self._make(tool, arguments, origin, purpose, timeout_ms, written, run)
        policy = tool.policy if self._settings is None else policy_of(tool, self._settings)
        with self._traced(tool.name, origin, policy, run):
            return await self._make(tool, arguments, origin, purpose, timeout_ms, written, run)

    async def _make(
        self,
        tool: UsableTool,
        arguments: Mapping[str, Any] | str | None,
        origin: Origin,
        purpose: str,
        timeout_ms: int | None,
        written: str | None,
        run: int | None,
    ) -> ReadyJson:
        given: Any = arguments
        error_code: str | None = None
        began: float | None = None
        asked_ms: float | None = None
        try:
            self._require()
            read = tool.read(self._restored(arguments, written))
            given = read.shown
            code = written if origin == "code" and written else ""
            permission = await self._consent.of(tool, given, origin=origin, purpose=purpose, run=run, code=code)
            asked_ms = permission.asked_ms
            waits = owner_waits.get()
            if asked_ms is not None and waits is not None:
                waits.append(asked_ms)
            if isinstance(permission, NotAllowed):
                raise ToolError(permission.reason, code="denied")
            self._require()  # the owner took time to answer, and may have turned on the kill switch meanwhile
            began = time.perf_counter()
            result = await tool.call_json(read, timeout_ms=timeout_ms)
        except ToolError as error:
            error_code = str(error.code)
            told = await self._told(tool.name, error)
            if told is not None:
                raise told from error
            raise
        except Exception:
            error_code = "internal"
            raise
        except BaseException:
            error_code = "timeout" if time_is_up() else "cancelled"
            raise
        finally:
            duration_ms = 0.0 if began is None else (time.perf_counter() - began) * 1000
            called = ToolCalled(
                tool.name,
                origin,
                error_code is None,
                duration_ms,
                arguments=given,
                error_code=error_code,
                call=run,
                asked_ms=asked_ms,
            )
            self._on_call(called)
        return result

    async def _told(self, tool: str, error: ToolError) -> ToolError | None:
        """The error with the message of the tool's exception, where the owner lets it be shown; else None."""
        cause = error.__cause__
        if error.code != "internal" or cause is None or self._settings is None:
            return None
        if not shows_messages(tool, self._settings):
            return None
        # In a thread, one after the other: code makes many calls at once, and a long message takes 25 ms to redact.
        said = await anyio.to_thread.run_sync(
            _message_of, cause, self._redacted, abandon_on_cancel=True, limiter=self._telling
        )
        return ToolError(f"{error}: {said}", code="internal", retryable=error.retryable) if said else None


def _message_of(error: BaseException, redacted: Callable[[str], str]) -> str:
    """The beginning of the message, redacted, on one line; empty if it has none."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the exception is of the tool's author, and so is its `__str__`
        return ""
    # Blanks first: if they were removed later, half a secret from the end of a long text could move into what is shown.
    # Lines stay lines until all is redacted: some secrets have several.
    text = _BLANKS.sub(lambda found: "\n" if "\n" in found[0] else " ", text[:_MAX_READ_CHARACTERS].strip())
    if len(text) > _MAX_REDACTED_CHARACTERS:
        # Cut between two words: half a secret is not recognized, and what is redacted before it makes room for it.
        text = text[:_MAX_REDACTED_CHARACTERS]
        text = text[: max(text.rfind(" "), text.rfind("\n"), 0)]
    return beginning(" ".join(whole(redacted(text)).split()), MAX_MESSAGE_CHARACTERS)


class LentTools:
    """The tools that code may call in one run, a `sandbox.HostTools`. A call that needs the owner's consent outside
    needs it here, too. A denied tool is listed, and refuses when called; core tools are never lent."""

    def __init__(
        self,
        tools: Iterable[UsableTool],
        calls: Calls,
        *,
        purpose: str = "",
        code: str = "",
        run: int | None = None,
    ) -> None:
        """`run` is the number of the run within its turn."""
        self._calls = calls
        self._purpose = purpose
        self._code = code
        self._run = run
        self._tools: dict[str, UsableTool] = {tool.name: tool for tool in tools if tool.for_code}

    @property
    def count(self) -> int:
        return len(self._tools)

    def declarations(self) -> Sequence[ToolDeclaration]:
        return [tool.declaration for tool in self._tools.values()]

    async def call(self, name: str, arguments: dict[str, Any]) -> ReadyJson:
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(f'No tool "{name[:100]}" was lent to this run', code="not_lent")
        return await self._calls.make(
            tool, arguments, origin="code", purpose=self._purpose, written=self._code, run=self._run
        )
