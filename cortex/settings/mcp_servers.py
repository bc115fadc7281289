"""The MCP servers that the owner configures, spelled as in `.mcp.json`, and references to the environment in them.

Plain data: nothing here starts a server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from .sections import Policy, Positive

_URL = re.compile(r"https?://[^/\s]+")
SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}", re.ASCII)
"""Valid names of servers: `tools.<name>` in code, the first part of a tool's name on the wire."""


SSE = (
    '"sse" is a transport that MCP has given up, and it is not spoken here; most such servers have an address for '
    '"http" (streamable HTTP) too'
)
ALIKE = 'the servers "{}" and "{}" are called the same but for case, - and _: give one of them another name'

# References: `${env:NAME}` and `${env:NAME:-default}`, and the forms of other programs.
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_OURS = re.compile(rf"\$\{{env:({_NAME})(?::-([^${{}}]*))?\}}", re.ASCII)
_ANY = re.compile(r"\$\{([^${}]{1,1000})\}")
_OPEN = re.compile(rf"\$\{{(?:env:)?{_NAME}:-", re.ASCII)
_VARIABLE = re.compile(rf"(?:env:)?({_NAME})(:-.*)?", re.ASCII | re.DOTALL)
_ASKED = re.compile(r"input:([\w-]+)", re.ASCII)
# Variables that only an editor knows.
_OF_EDITORS = re.compile(r"(?:workspace\w*|file\w*|relativeFile\w*|cwd|pathSeparator|execPath)(?::.*)?", re.ASCII)

Warn = Callable[[str], None]


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
    if not SERVER_NAME.fullmatch(name) or name.casefold() == "core":
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


class MissingVariable(ValueError):
    """The environment lacks a referenced variable. The message says which."""


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """The text with each reference replaced; as in a shell, a default also replaces an empty variable. Raises
    MissingVariable."""

    def value(reference: re.Match[str]) -> str:
        name, default = reference.groups()
        if name in environment and (environment[name] or default is None):
            return environment[name]
        if default is None:
            raise MissingVariable(f'the environment has no variable "{name}"')
        return str(default)

    return _OURS.sub(value, text)


def has_reference(text: str) -> bool:
    return _OURS.search(text) is not None


def begins_with_reference(text: str) -> bool:
    return _OURS.match(text) is not None


def defaults_in(text: str) -> list[str]:
    """The default values in the references of the text."""
    return [found[2] for found in _OURS.finditer(text) if found[2]]


def as_our_references(value: Any, server: str, warn: Warn) -> Any:
    """A text, or a list or table of texts, with `${NAME}`, `${NAME:-default}`, `${input:id}` and `${userHome}`
    converted to our form."""
    match value:
        case str():
            text = _ANY.sub(lambda found: _ours(found[0], found[1], server, warn), value)
            if _OPEN.search(_OURS.sub("", text)):
                warn(f'"{server}": a default that has a reference in it means nothing here; it stays as it is')
            return text
        case list():
            return [as_our_references(part, server, warn) for part in value]
        case dict():
            return {name: as_our_references(part, server, warn) for name, part in value.items()}
    return value


def _ours(whole: str, inside: str, server: str, warn: Warn) -> str:
    if inside == "userHome":
        return "${env:HOME}"
    if _OF_EDITORS.fullmatch(inside):
        warn(f'"{server}": {whole} is a place that only an editor knows; it stays as it is')
        return whole
    if asked := _ASKED.fullmatch(inside):
        variable = re.sub(r"\W", "_", asked[1], flags=re.ASCII).upper()
        if not variable[0].isdecimal():
            warn(f'"{server}": what the editor would ask for is taken from the variable {variable}; set it')
            return f"${{env:{variable}}}"
    if found := _VARIABLE.fullmatch(inside):
        return f"${{env:{found[1]}{found[2] or ''}}}"
    warn(f'"{server}": {whole} means nothing here; it stays as it is')
    return whole
