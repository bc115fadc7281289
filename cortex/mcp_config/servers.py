"""The MCP servers that the owner names, spelled as in `.mcp.json`. Plain data: nothing here starts anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ..sections import Policy, Positive

_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}", re.ASCII)
_URL = re.compile(r"https?://[^/\s]+")
NAME = re.compile(r"[A-Za-z0-9_-]{1,40}", re.ASCII)
"""What a server may be called: `tools.<name>` in code, the first part of a name on every wire."""


class MissingVariable(ValueError):
    """A reference to a variable that the environment does not have. The message says which."""


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """The text with each `${env:NAME}` replaced. Raises MissingVariable."""

    def value(reference: re.Match[str]) -> str:
        name = reference[1]
        if name not in environment:
            raise MissingVariable(f'the environment has no variable "{name}"')
        return environment[name]

    return _REFERENCE.sub(value, text)


class McpServerSettings(BaseModel):
    """One server: a command that is started and spoken to through its pipes, or a URL."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    type: Literal["stdio", "http", "streamable-http"] | None = None
    """Needed by none; some write it."""
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = Field(default_factory=dict)
    policy: Policy = "allow"
    """Of its tools, unless `tools.policies` names one."""
    max_calls_per_minute: Positive | None = None
    disabled: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError('a server has either a "command" or a "url"')
        if self.command is not None and self.headers:
            raise ValueError('"headers" are for a "url"; a command takes "env"')
        if self.url is not None and (self.args or self.env or self.cwd):
            raise ValueError('"args", "env" and "cwd" are for a "command"')
        if self.url is not None and not _URL.match(self.url):
            raise ValueError('"url" does not begin with http:// or https://')
        return self

    @property
    def is_remote(self) -> bool:
        return self.url is not None


def _checked_name(name: str) -> str:
    if not NAME.fullmatch(name) or name.casefold() == "core":
        raise ValueError(
            f"{name[:60]!r} cannot be the name of a server: letters, digits, _ and -, at most 40, and not core"
        )
    return name


McpServerTable: TypeAlias = dict[Annotated[str, AfterValidator(_checked_name)], McpServerSettings]
"""The value of `mcpServers`, in the settings and in the file of the home."""
