"""Makes one attempt to connect to an MCP server of the settings, and explains why it failed."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from pydantic import ValidationError

from cortex.mcp_config import written_secrets
from cortex.settings import MissingVariable, expanded

from .child import Program, Witness, exit_text, inherited, started
from .errors import LinkFault, NoProgram, short, validation_text
from .link import Link, Mode, linked
from .remote import reached
from .watched import Wire

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

    from cortex.settings import McpServerSettings, McpSettings
    from sandbox import Running

log = logging.getLogger("motor_cortex.mcp")

# Added to the size limit of a result, for the rest of its message. A result that is in the message twice, as structure
# and as text, has half the room: a message is held in memory several times while it is read, and one of 17 MB made the
# host grow by 100 MB.
MESSAGE_BYTES = 1_048_576
SAID_CHARACTERS = 300
# Shorter secrets look like everyday words, and hiding those would protect nothing.
MIN_SECRET = 6


class Attempt:
    def __init__(
        self,
        settings: McpServerSettings,
        general: McpSettings,
        environment: Mapping[str, str],
        running: Running,
    ) -> None:
        self._running = running
        self._settings = settings
        self._general = general
        self._environment = environment
        own = (*settings.env.values(), *settings.headers.values(), *written_secrets(settings))
        self._secrets = {value for value in own if len(value) >= MIN_SECRET}
        self._witness = Witness()

    @asynccontextmanager
    async def link(self, mode: Mode) -> AsyncIterator[Link]:
        wire = Wire()
        call_s = self._general.call_timeout_ms / 1000
        async with linked(self._transport(wire), wire, mode, call_s) as link:
            yield link

    def reason(self, error: BaseException) -> str:
        """Why the connection failed or ended."""
        error = _first(error)
        match error:
            case LinkFault() | MissingVariable():
                text = str(error)
            case MCPError() if error.code == CONNECTION_CLOSED:
                text = self.end()
            case MCPError() if error.code == REQUEST_TIMEOUT:
                text = "it does not answer"
            case MCPError():
                text = f"it refuses: {error.message}"
            case ValidationError():
                text = f"it does not speak MCP: {validation_text(error)}"
            case NameError() | TypeError() | AttributeError() | LookupError() | AssertionError() | ImportError():
                log.error("The client of an MCP server failed because of a bug in it", exc_info=error)
                text = f"our client failed with {type(error).__name__}; see the log"
            case _ if self._settings.is_remote:
                text = f"it cannot be reached: {error or type(error).__name__}"
            case _:
                text = f"it does not speak MCP: {error or type(error).__name__}"
        return self.told(text)

    def is_of_settings(self, error: BaseException) -> bool:
        """Whether a retry is useless until the owner changes the settings, the environment or the program."""
        return isinstance(_first(error), NoProgram | MissingVariable)

    def end(self) -> str:
        return "its connection has ended" if self._settings.is_remote else exit_text(self._witness.exit)

    def told(self, text: str) -> str:
        """The text, shortened, without the secrets that the server may have repeated, and with the HTTP status of an
        error."""
        text = self._hidden(text)
        if self._witness.status is not None and self._witness.status >= 400:
            text += f" (HTTP {self._witness.status})"
        return short(text)

    def said(self) -> str:
        """What the server has printed, at any time. For people only: a model would take it for an answer."""
        printed = short(self._hidden(self._witness.printed.decode(errors="replace")))
        said = self._hidden(self._witness.said.decode(errors="replace"))
        tail = short(said[-SAID_CHARACTERS:], SAID_CHARACTERS)
        words = [f"it prints text that is not MCP: {printed}"] if printed else []
        return "; ".join([*words, f"it said: {tail}"] if tail else words)

    def may_be_legacy(self, error: BaseException, was_starting: bool) -> bool:
        """Whether the program exited at the first message, as some servers of the old protocol do."""
        error = _first(error)
        is_closed = isinstance(error, MCPError) and error.code == CONNECTION_CLOSED
        return was_starting and is_closed and not self._settings.is_remote

    def _transport(self, wire: Wire) -> AbstractAsyncContextManager[TransportStreams]:
        max_bytes = self._general.max_result_bytes + MESSAGE_BYTES
        settings = self._settings
        if settings.url is not None:
            headers = {name: self._expanded(value) for name, value in settings.headers.items()}
            answer_s = max(self._general.call_timeout_ms, self._general.start_timeout_ms) / 1000 + 5
            url = self._expanded(settings.url)
            return reached(url, headers, self._witness, max_bytes=max_bytes, answer_s=answer_s, on_gone=wire.end)
        own = {name: self._expanded(value) for name, value in settings.env.items()}
        program = Program(
            self._expanded(settings.command or ""),
            [self._expanded(argument) for argument in settings.args],
            inherited(self._environment) | own,
            # Not the current folder: npx and others look there first, and it may be an untrusted cloned repository.
            os.path.expanduser("~") if settings.cwd is None else self._expanded(settings.cwd),
        )
        return started(program, self._witness, max_bytes, self._running)

    def _expanded(self, text: str) -> str:
        environment = _Noting(self._environment)
        value = expanded(text, environment)
        self._secrets.update(secret for secret in environment.read if len(secret) >= MIN_SECRET)
        return value

    def _hidden(self, text: str) -> str:
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "[hidden]")
        return text


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class _Noting(dict[str, str]):
    """An environment that notes which values were read, so that they can be hidden."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(environment)
        self.read: list[str] = []

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        self.read.append(value)
        return value
