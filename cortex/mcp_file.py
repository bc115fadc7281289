"""The MCP servers of `cortex mcp add`, in the home and in the format of `.mcp.json`. Nothing is read from the current
folder: a repository that somebody has cloned must not start programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from sandbox import FileLock, private_folder, replace_file

from .mcp_servers import McpServerSettings, McpServerTable
from .setting_errors import SettingsError

if TYPE_CHECKING:
    from .settings import Settings

FILE_NAME = "mcp.json"
MAX_FILE_BYTES = 1_048_576
# VS Code has its servers under another name.
_TABLE_NAMES = ("mcpServers", "servers")

_TABLE: TypeAdapter[dict[str, McpServerSettings]] = TypeAdapter(McpServerTable)


@dataclass(frozen=True, slots=True)
class Named:
    """A server, and who has named it: "settings", or the path of the file."""

    settings: McpServerSettings
    source: str

    @property
    def is_enabled(self) -> bool:
        return not self.settings.disabled


def servers_of(settings: Settings) -> dict[str, Named]:
    """Those of the settings, which win, and those of the home. Raises SettingsError for a file that cannot be read."""
    file = McpFile(settings.home)
    of_home = {name: Named(server, str(file.path)) for name, server in file.read().items()}
    return of_home | {name: Named(server, "settings") for name, server in settings.mcpServers.items()}


def servers_in(path: Path) -> dict[str, McpServerSettings]:
    """Of a file in the format of `.mcp.json`, be it this one, Claude's or an editor's. Raises SettingsError."""
    return _checked(_table_of(_loaded(path), path), path)


class McpFile:
    """Changes are made to the file as it is then, under a lock, and are on disk when they are done."""

    def __init__(self, home: Path) -> None:
        self.path = home / FILE_NAME

    def read(self) -> dict[str, McpServerSettings]:
        """Nothing, when there is no file."""
        return servers_in(self.path) if self.path.exists() else {}

    def add(self, servers: Mapping[str, McpServerSettings]) -> None:
        """Raises SettingsError, and adds none, when a name is taken or cannot be one."""

        def added(table: dict[str, Any]) -> None:
            for name, server in servers.items():
                if name in table:
                    raise SettingsError(
                        f'there is a server "{name}" already; remove it first: cortex mcp remove {name}'
                    )
                table[name] = server.model_dump(mode="json", exclude_defaults=True)

        self._change(added)

    def remove(self, names: Iterable[str]) -> None:
        """Raises SettingsError, and removes none, when one of them is not there."""

        def removed(table: dict[str, Any]) -> None:
            for name in names:
                if name not in table:
                    known = ", ".join(table) or "none"
                    raise SettingsError(f'no server "{name[:100]}" was added; there are: {known[:500]}')
                del table[name]

        self._change(removed)

    def _change(self, change: Callable[[dict[str, Any]], None]) -> None:
        private_folder(self.path.parent)
        lock = FileLock(self.path.with_suffix(".lock"))
        try:
            with lock.held():
                whole = _loaded(self.path) if self.path.exists() else {}
                table = dict(_table_of(whole, self.path))
                change(table)
                _checked(table, self.path)
                whole["mcpServers"] = table
                replace_file(self.path, json.dumps(whole, indent=2, ensure_ascii=False).encode() + b"\n", durable=True)
        finally:
            lock.close()


def _loaded(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise SettingsError(f'"{path}" is larger than {MAX_FILE_BYTES} bytes')
        whole = json.loads(data)
    except OSError as error:
        raise SettingsError(f'Cannot read "{path}": {error.strerror}') from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f'"{path}" is not JSON: {str(error)[:200]}') from error
    if not isinstance(whole, dict):
        raise SettingsError(f'"{path}" does not hold an object with "mcpServers"')
    return whole


def _table_of(whole: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    table: Any = next((whole[name] for name in _TABLE_NAMES if name in whole), {})
    if not isinstance(table, dict):
        raise SettingsError(f'"mcpServers" in "{path}" is not an object')
    return table


def _checked(table: Mapping[str, Any], path: Path) -> dict[str, McpServerSettings]:
    try:
        return _TABLE.validate_python(table)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in problem["loc"] if part != "[key]")
        message = problem["msg"].removeprefix("Value error, ")
        raise SettingsError(f'mcpServers.{place[:200]}: {message} (in "{path}")') from error
