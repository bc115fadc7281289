"""All tools of the toolbox and of MCP servers: search them, declare them in TypeScript, and choose the tools that one
run may call. A tool that is not chosen does not exist for that run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import anyio.lowlevel
import anyio.to_thread

from cortex.text import NearNames, beginning
from cortex.tools import is_core, policy_of
from sandbox import ToolDeclaration, ToolError, place_of_tools, typescript_of

from .absent_tool import AbsentTool, not_found
from .built_in import BUILT_IN
from .mentions import NOTHING, Mentions, mentions, words_of

if TYPE_CHECKING:
    from cortex.discovery import Discovery
    from cortex.mcp_client import McpServers
    from cortex.settings import Settings
    from cortex.tools import Toolbox, UsableTool

MAX_NAMED = 50
MAX_LINE_CHARACTERS = 160
MAX_DESCRIBED_BYTES = 24_576
_NEAR = 5

_ByPath: TypeAlias = "dict[tuple[str, ...], list[UsableTool]]"


class _Known(NamedTuple):
    """The tools of one server by each path that leads to them, and an index of their names."""

    version: object
    at: _ByPath
    near: NearNames


class _OfServer(NamedTuple):
    named: Sequence[UsableTool]
    """The tools whose names are words in the code."""
    all: Sequence[UsableTool]


class FoundTool(NamedTuple):
    """A result of a search."""

    name: str
    line: str
    score: float


class Wish(NamedTuple):
    """The inputs for choosing a run's tools: its intent, tools by name, and its code, which mentions tools."""

    code: str
    intent: str = ""
    tools: tuple[str, ...] = ()
    named: Mentions = NOTHING
    """What the code mentions. Scanned once: code may be 50 kilobytes."""
    is_strict: bool = False
    """Lend only what is named or fits the intent, however small the toolbox is."""


class Workbench:
    def __init__(
        self,
        toolbox: Toolbox,
        servers: McpServers | None,
        settings: Settings,
        discovery: Discovery,
        learned: Callable[[], Sequence[UsableTool]] = tuple,
    ) -> None:
        """`learned` returns the learned functions as tools: the same object until one of them has changed."""
        self._learned = learned
        self._toolbox = toolbox
        self._servers = servers
        self._settings = settings
        self._discovery = discovery
        self._known: dict[str, _Known] = {}
        self._near_servers = NearNames(self._server_names)

    @property
    def is_listed(self) -> bool:
        """Whether the toolbox with the learned functions is small enough to be declared to the model and lent whole."""
        return len(self._toolbox) + len(self._learned()) <= self._settings.discovery.max_listed

    @property
    def is_told(self) -> bool:
        """Whether the model is told of the whole toolbox. With MCP servers it has to search anyway."""
        return self.is_listed and self._servers is None

    @property
    def is_searched(self) -> bool:
        """Whether there are tools that the model has to search for."""
        return not self.is_told

    def declarations(self) -> list[ToolDeclaration]:
        """The declarations, for the model, of what its code may call: the toolbox and the learned functions."""
        return [tool.declaration for tool in self._own() if policy_of(tool, self._settings.tools) != "deny"]

    def server_of(self, name: str) -> str | None:
        """The server of a tool name, which may be spelled as in code (`tools.server.tool`); None if there is none."""
        return _server_named(name.removeprefix("tools.").partition(".")[0], self._server_names)

    def wish(self, code: str, intent: str = "", tools: tuple[str, ...] = ()) -> Wish:
        """What a run asks for. Code over the size limit is not scanned, which would be slow: it is refused later
        anyway."""
        is_scanned = self.is_searched and len(code) <= self._settings.sandbox.max_code_bytes
        return Wish(code if is_scanned else "", intent, tools, mentions(code) if is_scanned else NOTHING)

    def may_reach_servers(self, wish: Wish) -> bool:
        """Whether the run may be lent tools of MCP servers, as far as names tell."""
        if self._servers is None:
            return False
        groups = [group for group, _ in wish.named.paths]
        return bool(wish.intent.strip() or wish.tools or wish.named.takes_all) or any(map(self.server_of, groups))

    def may_call_tools(self, wish: Wish, code: str) -> bool:
        """Whether the code may wait for tools of the host, as far as names tell."""
        if self.may_reach_servers(wish):
            return True
        policies = self._settings.tools
        return "tools" in code and any(policy_of(tool, policies) != "deny" for tool in self._own())

    async def search(self, query: str, most: int) -> list[FoundTool]:
        tools = {tool.name: tool for tool in await self._all()}
        return [
            FoundTool(match.name, _line(tools[match.name].declaration.description), match.score)
            for match in await self._ranked(query, list(tools.values()), most)
        ]

    def troubles(self) -> list[str]:
        """A line for each server that has failed or is still starting."""
        statuses = self._servers.statuses() if self._servers is not None else []
        failed = [f"{status.name}: {status.reason}" for status in statuses if status.state == "failed"]
        return [*failed, *(f"{status.name}: it is still starting" for status in statuses if status.state == "starting")]

    async def describe(self, names: Sequence[str]) -> str:
        """The TypeScript declarations of these tools, as code calls them, or of globals like `store`; and a note for
        each name without any."""
        found: dict[str, UsableTool] = {}
        notes: list[str] = []
        for name in dict.fromkeys(names[:MAX_NAMED]):
            for tool in await self.meant(name):
                if isinstance(tool, AbsentTool) and name in BUILT_IN:
                    notes.append(BUILT_IN[name])
                elif isinstance(tool, AbsentTool):
                    notes.append(f"// {name[:100]}: {_line(str(tool.error))}")
                else:
                    found[tool.name] = tool
        if len(names) > MAX_NAMED:
            notes.append(f"// at most {MAX_NAMED} at once; {len(names) - MAX_NAMED} are left out")
        declarations = [tool.declaration for tool in found.values()]
        # In a thread: each declaration takes milliseconds, and a server may have thousands.
        return "\n".join([*await anyio.to_thread.run_sync(_declared, declarations), *notes])

    async def meant(self, name: str) -> Sequence[UsableTool]:
        """The tool of that name, in any spelling that code may use, or all tools of a server. A tool that is not
        available is an AbsentTool, which says why."""
        group, dot, _ = name.removeprefix("tools.").partition(".")
        server = None if dot or self._toolbox.get(name) is not None else self.server_of(group)
        if server is None or self._servers is None:
            return [await self._by_name(name)]
        try:
            return await self._servers.tools_of(server)
        except ToolError as error:
            return [AbsentTool(server, server, "", error)]

    async def grant(self, wish: Wish) -> list[UsableTool]:
        """The tools that one run is lent: a small toolbox as a whole, the tools named in the request or in the code,
        and the best for the intent."""
        if self.is_told and not wish.is_strict:
            return self._own()
        is_whole = self.is_listed and not wish.is_strict
        chosen: dict[str, UsableTool] = {tool.name: tool for tool in self._own()} if is_whole else {}
        for name in wish.tools[:MAX_NAMED]:
            _add(chosen, await self._by_name(name))
        for tool in await self._named_in(wish):
            _add(chosen, tool)
        if wish.intent.strip():
            tools = {tool.name: tool for tool in await self._all()}
            best = await self._ranked(wish.intent, list(tools.values()), self._settings.discovery.tools_per_intent)
            for match in best:
                _add(chosen, tools[match.name])
        return list(chosen.values())

    def _own(self) -> list[UsableTool]:
        """The tools for code of the toolbox, and the learned functions, which take no name from the former."""
        own: dict[str, UsableTool] = {tool.name: tool for tool in self._toolbox if tool.for_code}
        for tool in self._learned():
            own.setdefault(tool.name, tool)
        return list(own.values())

    def _own_version(self) -> object:
        return len(self._toolbox), self._learned()

    async def _all(self) -> list[UsableTool]:
        """All tools but those with the policy `deny`: a search must not find what cannot be used."""
        tools = self._own()
        if self._servers is not None:
            tools += await self._servers.tools()
        return [tool for tool in tools if policy_of(tool, self._settings.tools) != "deny"]

    async def _ranked(self, query: str, tools: Sequence[UsableTool], most: int) -> Sequence[Any]:
        version = (self._own_version(), self._servers.version() if self._servers is not None else 0)
        return await self._discovery.rank(query, [tool.declaration for tool in tools], version, most)

    @property
    def _server_names(self) -> Sequence[str]:
        return self._servers.names if self._servers is not None else ()

    async def _named_in(self, wish: Wish) -> list[UsableTool]:
        code, named = wish.code, wish.named
        found: list[UsableTool] = []
        whole = [group for group, member in named.paths if member is None]
        if named.takes_all:
            whole += [word for word in sorted(words_of(code)) if self.server_of(word) is not None]
        for group, member in named.paths:
            tool = await self._mentioned(group, member)
            if tool is not None:
                found.append(tool)
        for server in dict.fromkeys(filter(None, map(self.server_of, whole))):
            tools = await self._of_whole_server(server, words_of(code))
            # If the code names no tool of this server, lend all of them, unless the run gave an intent or tool names.
            found += tools.named if tools.named or wish.intent or wish.tools else tools.all
        return found

    async def _of_whole_server(self, server: str, words: frozenset[str]) -> _OfServer:
        """The tools for code that assigns a whole server to a variable."""
        assert self._servers is not None
        try:
            tools = await self._servers.tools_of(server)
        except ToolError:
            return _OfServer([], [])  # without the server its tools are unknown
        places = self._known_of(server, tools, self._servers.version()).at
        named = {tool.name: tool for path, at in places.items() if path[-1] in words for tool in at}
        return _OfServer(list(named.values())[:MAX_NAMED], list(tools)[:MAX_NAMED])

    async def _by_name(self, name: str) -> UsableTool:
        """The tool of that name, which may be spelled as in code, with or without `tools.` before it."""
        own = self._toolbox.get(name)
        if own is not None and own.for_code:
            return own
        group, _, rest = name.removeprefix("tools.").partition(".")
        return await self._mentioned(group, rest or None) or not_found(group, rest, f'there is no tool "{name[:100]}"')

    async def _mentioned(self, group: str, name: str | None) -> UsableTool | None:
        """The tool at `tools.<group>.<name>`; None for a whole group, or for a tool that is lent anyway."""
        places = self._known_of("", self._own(), self._own_version()).at
        own = places.get((group, name) if name else (group,))
        if own:
            return own[0]
        server = _server_named(group, self._server_names)
        if name is None:
            return None
        if server is not None:
            return await self._of_server(server, group, name)
        if self._servers is None or any(path[0] == group for path in places):
            return None
        return not_found(group, name, f'there is no server "{group}"; there are {_nearest(group, self._near_servers)}')

    async def _of_server(self, server: str, group: str, name: str) -> UsableTool:
        """The server's tool; if the server does not have it, an AbsentTool that says so."""
        assert self._servers is not None
        try:
            tools = await self._servers.tools_of(server)
        except ToolError as error:
            return AbsentTool(f"{server}.{name}", server, name, error)
        known = self._known_of(server, tools, self._servers.version())
        meant = known.at.get((group, name)) or known.at.get((server, name), [])
        if len(meant) == 1:
            return meant[0]
        # Let other tasks run: to find near names among thousands takes milliseconds, and code may mention fifty unknown
        # names.
        await anyio.lowlevel.checkpoint()
        if meant:
            return not_found(server, name, f"it may be one of {', '.join(tool.name for tool in meant)}: say which")
        return not_found(server, name, f"{server} has no such tool; there are {_nearest(name, known.near)}")

    def _known_of(self, group: str, tools: Sequence[UsableTool], version: object) -> _Known:
        """The index of one server, or of the toolbox (""). Rebuilt when its tools have changed."""
        known = self._known.get(group)
        if known is None or known.version != version:
            known = self._known[group] = _Known(version, _by_path(tools), NearNames(_short_names(tools)))
        return known


def _add(chosen: dict[str, UsableTool], tool: UsableTool) -> None:
    if not is_core(tool.name):
        chosen.setdefault(tool.name, tool)


def _short_names(tools: Sequence[UsableTool]) -> list[str]:
    return [tool.name.partition(".")[2] for tool in tools]


def _by_path(tools: Sequence[UsableTool]) -> _ByPath:
    by_name = {tool.name: tool for tool in tools}
    by_path: _ByPath = {}
    for name, paths in place_of_tools([tool.declaration for tool in tools]).items():
        for path in paths:
            by_path.setdefault(path, []).append(by_name[name])
    return by_path


def _server_named(group: str, names: Sequence[str]) -> str | None:
    if group in names:
        return group
    meant = _servers_by_group(tuple(names)).get(group, ())
    return meant[0] if len(meant) == 1 else None


@lru_cache(maxsize=8)
def _servers_by_group(names: tuple[str, ...]) -> dict[str, list[str]]:
    """The servers by the group name that code may use. Cached: fifty kilobytes of code may have thousands of groups."""
    places = place_of_tools([ToolDeclaration(f"{name}.x", server=name, tool="x") for name in names])
    groups: dict[str, list[str]] = {}
    for name in names:
        for group in {path[0] for path in places.get(f"{name}.x", ())}:
            groups.setdefault(group, []).append(name)
    return groups


def _nearest(name: str, near: NearNames) -> str:
    named = near(name, _NEAR) or near.some(_NEAR)
    more = len(near) - len(named)
    return (", ".join(named) or "none") + (f" and {more} more" if more else "")


def _line(text: str) -> str:
    """The beginning of the text as one line."""
    return beginning(" ".join(text.split()), MAX_LINE_CHARACTERS)


def _declared(declarations: Sequence[ToolDeclaration]) -> list[str]:
    """The declarations that fit. A long one is left out in favour of shorter ones; at most MAX_NAMED are tried."""
    shown: list[ToolDeclaration] = []
    left_out: list[str] = []
    room = MAX_DESCRIBED_BYTES
    for declaration in declarations[:MAX_NAMED]:
        size = len(typescript_of([declaration]).encode())
        if size <= room:
            shown.append(declaration)
            room -= size
        else:
            left_out.append(declaration.name)
    lines = [typescript_of(shown).rstrip()] if shown else []
    if left_out:
        lines.append(f"// no room for {', '.join(left_out)}: ask for them alone")
    if len(declarations) > MAX_NAMED:
        lines.append(f"// and {len(declarations) - MAX_NAMED} more: find those that you need with core_search")
    return lines
