"""The file of the MCP servers that `cortex mcp add` adds: mcp.json in the home, in the format of `.mcp.json`.

Nothing is read from the current folder: a cloned repository must not start programs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from cortex.home import Home, HomeError, problem_of
from cortex.settings import ALIKE, McpServerSettings, McpServerTable, SettingsError, alike
from sandbox import FileLock, LockBusy, private_folder, replace_file

if TYPE_CHECKING:
    from cortex.settings import Settings

FILE_NAME = "mcp.json"
TABLE_NAME = "mcpServers"
MAX_FILE_BYTES = 1_048_576

_TABLE: TypeAdapter[dict[str, McpServerSettings]] = TypeAdapter(McpServerTable)


@dataclass(frozen=True, slots=True)
class Named:
    """A server and its source: "settings", or the path of the file."""

    settings: McpServerSettings
    source: str

    @property
    def is_enabled(self) -> bool:
        return not self.settings.disabled


def servers_of(settings: Settings) -> dict[str, Named]:
    """The servers of the settings, which win, and of the home. Raises SettingsError for a file that cannot be read, or
    for a server in it whose name code could not tell from one of the settings."""
    file = McpFile(settings.home)
    known = file.read()
    refuse_alike(settings.mcpServers, known, file.path)
    of_home = {name: Named(server, str(file.path)) for name, server in known.items()}
    return of_home | {name: Named(server, "settings") for name, server in settings.mcpServers.items()}


def refuse_alike(of_settings: Iterable[str], of_home: Iterable[str], path: Path) -> None:
    """Raise SettingsError if two names look alike to code. The same name in both is fine: the settings win."""
    if pair := alike([*of_settings, *of_home]):
        raise SettingsError(f'{ALIKE.format(*pair)} ("{pair[0]}" is in the settings, "{pair[1]}" in "{path}")')


class McpFile:
    """Reads and changes the file. A change reads the file again under a lock, and is on disk when it returns."""

    def __init__(self, home: Path, on_change: Callable[[], None] = lambda: None) -> None:
        """`on_change` is called before each change that is certain to be made. If it raises, nothing is changed."""
        self.path = home / FILE_NAME
        self._on_change = on_change

    def read(self) -> dict[str, McpServerSettings]:
        """The servers; empty if there is no file. Raises SettingsError, also when other users could have written the
        file: it names programs that are started."""
        return checked_servers(self._table(), self.path)

    def add(self, servers: Mapping[str, McpServerSettings]) -> None:
        """Add the servers. Raises SettingsError, and adds none, when a name is taken or invalid."""

        def added(table: dict[str, Any]) -> None:
            for name, server in servers.items():
                if name in table:
                    raise SettingsError(
                        f'there is a server "{name}" already; remove it first: cortex mcp remove {name}'
                    )
                table[name] = server.model_dump(mode="json", exclude_defaults=True)

        self._change(added)

    def remove(self, names: Iterable[str]) -> None:
        """Remove the servers. Raises SettingsError, and removes none, when one of them does not exist."""

        def removed(table: dict[str, Any]) -> None:
            known = ", ".join(table) or "none"
            for name in dict.fromkeys(names):
                if name not in table:
                    raise SettingsError(f'no server "{name[:100]}" was added; there are: {known[:500]}')
                del table[name]

        self._change(removed)

    def _change(self, change: Callable[[dict[str, Any]], None]) -> None:
        try:
            private_folder(self.path.parent)
            lock = FileLock(self.path.with_suffix(".lock"))
            try:
                with lock.held():
                    table = self._table()
                    change(table)
                    checked_servers(table, self.path)
                    data = json.dumps({TABLE_NAME: table}, indent=2, ensure_ascii=False).encode() + b"\n"
                    if len(data) > MAX_FILE_BYTES:
                        raise SettingsError(f'"{self.path}" would be larger than {MAX_FILE_BYTES} bytes')
                    self._on_change()
                    replace_file(self.path, data, durable=True)
            finally:
                lock.close()
        except LockBusy as error:
            raise SettingsError(f'Cannot change "{self.path}": {error}') from error
        except (OSError, ValueError) as error:
            if isinstance(error, SettingsError):
                raise
            raise SettingsError(f'Cannot write "{self.path}": {getattr(error, "strerror", None) or error}') from error

    def _table(self) -> dict[str, Any]:
        """The table as it is written. An unknown key is an error and not ignored: its author made a mistake."""
        # Refuses a home that other users may write to, and with it every file in there.
        _ = Home(self.path.parent).state_to_read
        try:
            with self.path.open("rb") as file:
                if problem := problem_of(self.path, os.fstat(file.fileno())):
                    raise HomeError(f'Cannot use "{self.path}": {problem}')
                data = file.read(MAX_FILE_BYTES + 1)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise SettingsError(f'Cannot read "{self.path}": {error.strerror}') from error
        whole = json_object(data, self.path)
        if strange := sorted(whole.keys() - {TABLE_NAME}):
            names = ", ".join(f'"{name[:40]}"' for name in strange[:5])
            raise SettingsError(f'"{self.path}" has {names} beside "{TABLE_NAME}", which is all that it may have')
        return dict(table_in(whole, TABLE_NAME, self.path))


def json_object(data: bytes | str, source: object) -> dict[str, Any]:
    """Parse a JSON object. Raises SettingsError for data that is too long, not JSON, or not an object."""
    if len(data) > MAX_FILE_BYTES:
        raise SettingsError(f'"{source}" is larger than {MAX_FILE_BYTES} bytes')
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f'"{source}" is not JSON: {str(error)[:200]}') from error
    if not isinstance(whole, dict):
        raise SettingsError(f'"{source}" does not hold an object with "{TABLE_NAME}"')
    return whole


def table_in(whole: Mapping[str, Any], name: str, source: object) -> Mapping[str, Any]:
    table: Any = whole.get(name, {})
    if not isinstance(table, dict):
        raise SettingsError(f'"{name}" in "{source}" is not an object')
    return table


def checked_servers(table: Mapping[str, Any], source: object = None) -> dict[str, McpServerSettings]:
    """Validate the servers. Raises SettingsError, which names the place and the problem but not the value: it may be a
    secret."""
    try:
        return _TABLE.validate_python(table)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        place = ".".join((TABLE_NAME, *(str(part) for part in problem["loc"] if part != "[key]")))
        message = problem["msg"].removeprefix("Value error, ")
        where = "" if source is None else f' (in "{source}")'
        raise SettingsError(f"{place[:200]}: {message}{where}") from error
