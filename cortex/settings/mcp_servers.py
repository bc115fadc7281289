"""The MCP servers that the owner configures, spelled as in `.mcp.json`. Plain data: nothing here starts a server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from .references import begins_with_reference
from .sections import Policy, Positive

_URL = re.compile(r"https?://[^/\s]+")
NAME = re.compile(r"[A-Za-z0-9_-]{1,40}", re.ASCII)
"""Valid names of servers: `tools.<name>` in code, the first part of a tool's name on the wire."""


SSE = (
    '"sse" is a transport that MCP has given up, and it is not spoken here; most such servers have an address for '
    '"http" (streamable HTTP) too'
)
ALIKE = 'the servers "{}" and "{}" are called the same but for case, - and _: give one of them another name'


class McpServerSettings(BaseModel):
    """One server: a command that is started and talked to through its pipes, or a URL."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    type: Literal["stdio", "http", "streamable-http"] | None = None
    """Not needed; some files have it."""
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = Field(default_factory=dict)
    policy: Policy = "allow"
    """The policy of its tools, unless `tools.policies` names one."""
    max_calls_per_minute: Positive | None = None
    disabled: bool = False

    @field_validator("type", mode="before")
    @classmethod
    def _spoken(cls, given: Any) -> Any:
        if given == "sse":
            raise ValueError(SSE)
        return given

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError('a server has either a "command" or a "url"')
        if self.command is not None and self.headers:
            raise ValueError('"headers" are for a "url"; a command takes "env"')
        if self.url is not None and (self.args or self.env or self.cwd):
            raise ValueError('"args", "env" and "cwd" are for a "command"')
        # An address that begins with a reference is known only when it is used.
        if self.url is not None and not (_URL.match(self.url) or begins_with_reference(self.url)):
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


def likeness(name: str) -> str:
    """A key that is the same for all names that look alike in code: `git-hub`, `git_hub` and `gitHub`."""
    return name.replace("-", "").replace("_", "").casefold()


def alike(names: Iterable[str]) -> tuple[str, str] | None:
    """Two names that differ only in case, `-` and `_`. Which one `tools.<name>` means would depend on the other
    servers."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(likeness(name), name)
        if other != name:
            return other, name
    return None


def _distinct(table: dict[str, McpServerSettings]) -> dict[str, McpServerSettings]:
    if pair := alike(table):
        raise ValueError(ALIKE.format(*pair))
    return table


McpServerTable: TypeAlias = Annotated[
    dict[Annotated[str, AfterValidator(_checked_name)], McpServerSettings], AfterValidator(_distinct)
]
"""The value of `mcpServers`, in the settings and in the file in the home."""
