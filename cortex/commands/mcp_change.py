"""`cortex mcp add` and `remove`: change the list of MCP servers, after recording the change in the audit log."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from cortex.audit import Audit, AuditError
from cortex.home import Home
from cortex.mcp_config import (
    MAX_FILE_BYTES,
    McpFile,
    checked_servers,
    imported,
    literal_secrets,
    refuse_alike,
    shown_arguments,
)
from cortex.settings import McpServerSettings, Settings, shown
from cortex.text import fit, visible

from .exits import REFUSED, SUCCESS, CommandError
from .options import said_again

# Folders in which editors keep an MCP file that is meant for the folder above.
_OF_EDITORS = frozenset({".vscode", ".cursor", ".claude"})


def change(options: Namespace, settings: Settings) -> int:
    if options.action == "remove":
        return _remove(options, settings)
    warnings: list[str] = []
    servers = _imported(options, warnings) if options.source is not None else _named(options)
    if options.policy is not None:
        servers = {name: server.model_copy(update={"policy": options.policy}) for name, server in servers.items()}
    base = _folder_of(options.source)
    for name, server in servers.items():
        if base is not None and (place := _in_folder(server, base)):
            servers[name] = server.model_copy(update={"cwd": str(base)})
            warnings.append(f'"{name}" is always started in "{base}", because {place} is there')
        warnings += [
            f'"{name}": {place} looks like a secret and will be in the file as it is; better is ${{env:VARIABLE}}'
            for place in literal_secrets(server)
        ]
    for name in servers.keys() & settings.mcpServers.keys():
        raise CommandError(f'the settings have a server "{name}" already, and they would win')
    refuse_alike(settings.mcpServers, servers, McpFile(settings.home).path)
    _written(settings, "add", list(servers), lambda file: file.add(servers))
    for warning in warnings:
        print(f"cortex mcp: {visible(warning)}", file=sys.stderr)
    if options.json:
        print(json.dumps({"added": list(servers), "file": str(McpFile(settings.home).path), "warnings": warnings}))
        return SUCCESS
    for name, server in servers.items():
        print(f"{name} was added: {fit(line_of(server), 200)}", flush=True)
    print(f"To try: cortex mcp test{said_again(options)} {' '.join(servers)}", file=sys.stderr)
    return SUCCESS


def line_of(server: McpServerSettings) -> str:
    """The command line as a shell would take it, or the URL. Secrets are hidden."""
    if server.command is None:
        return str(shown(server.url))
    return " ".join([shlex.quote(server.command), *map(_quoted, shown_arguments(server.args))])


def _quoted(text: str) -> str:
    return text if "•" in text else shlex.quote(text)


def _remove(options: Namespace, settings: Settings) -> int:
    for name in options.names:
        if name in settings.mcpServers and name not in McpFile(settings.home).read():
            raise CommandError(
                f'the settings have the server "{name}": take it out there (see cortex config mcpServers)'
            )
    _written(settings, "remove", options.names, lambda file: file.remove(options.names))
    if options.json:
        print(json.dumps({"removed": list(options.names)}))
    else:
        print("\n".join(f"{name} was removed" for name in options.names))
    return SUCCESS


def _written(settings: Settings, what: str, names: Sequence[str], make: Any) -> None:
    home = Home(settings.home)
    audit = Audit(home.audit, settings.audit)

    def record() -> None:
        for name in names:
            audit.record("owner_decision", what=f"mcp {what} {name}", by="owner")

    try:
        make(McpFile(settings.home, record))
    except AuditError as error:
        raise CommandError(f"nothing was changed, because it could not be recorded: {error}", REFUSED) from error
    finally:
        audit.close()


def _imported(options: Namespace, warnings: list[str]) -> dict[str, McpServerSettings]:
    if options.url is not None or options.behind_dashes is not None or options.header or options.env:
        raise CommandError(
            "--from takes servers as they are in the file: no command, --url, --header or --env beside it"
        )
    try:
        if options.source == "-":
            data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with open(options.source, "rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise CommandError(f'cannot read "{options.source}": {problem}') from error
    found = imported(data, options.source, options.names)
    warnings += found.warnings
    return found.servers


def _named(options: Namespace) -> dict[str, McpServerSettings]:
    if len(options.names) != 1:
        raise CommandError("one NAME, and behind it -- COMMAND ARG…, or --url URL; or --from FILE")
    [name] = options.names
    if options.url is not None and options.behind_dashes is not None:
        raise CommandError("either --url or a command behind --, not both")
    if options.url is None and not options.behind_dashes:
        raise CommandError(f"what is {name!r:.60}? A command, as in: cortex mcp add NAME -- COMMAND ARG…; or --url URL")
    server: dict[str, Any] = {
        "env": dict(_variable(text) for text in options.env),
        "headers": dict(_header(text) for text in options.header),
    }
    if options.url is not None:
        server["url"] = options.url
    else:
        server["command"], *server["args"] = options.behind_dashes
    return checked_servers({name: server})


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name:
        raise CommandError(f"--env is K=V or K, and not {text!r:.40}")
    return name, value if equals else f"${{env:{name}}}"


def _header(text: str) -> tuple[str, str]:
    """Read a header as `K=V`, or as `K: V` like on the wire."""
    ends = [at for at in (text.find("="), text.find(":")) if at > 0]
    if not ends:
        # The text is not repeated: it may be a secret.
        raise CommandError("--header is K=V or 'K: V'")
    return text[: min(ends)].strip(), text[min(ends) + 1 :].strip()


def _folder_of(source: str | None) -> Path | None:
    """The folder that relative paths start from: the current one, or the one that the imported file is for."""
    if source is None or source == "-":
        return Path.cwd()
    folder = Path(source).absolute().parent
    return folder.parent if folder.name in _OF_EDITORS else folder


def _in_folder(server: McpServerSettings, folder: Path) -> str | None:
    """A part of the command line that is a relative path in the folder. It must be refused: started from another
    folder later, it would run what is found there."""
    if server.command is None or server.cwd is not None:
        return None
    parts = [*([server.command] if "/" in server.command else []), *server.args]
    paths = {part: [part] for part in parts if part and not part.startswith(("-", "/"))}
    for module in _modules(server.args):
        place = module.replace(".", "/")
        paths[module] = [f"{place}.py", place]
    for part, places in paths.items():
        # An argument that cannot be a path raises, and then does not exist.
        with suppress(OSError, ValueError):
            if any((folder / place).exists() for place in places):
                return f'"{part[:100]}"'
    return None


def _modules(arguments: Sequence[str]) -> Iterator[str]:
    """The module names after `-m`: Python looks for them in the current folder first."""
    for before, argument in pairwise(("", *arguments)):
        name = argument if before == "-m" else argument.removeprefix("-m") if argument.startswith("-m") else ""
        if name and all(part.isidentifier() for part in name.split(".")):
            yield name
