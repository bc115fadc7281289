"""Uses a root of the client as the workspace of its calls, if the owner allows it.

Every client counts as hostile, and a root is only a name that it gives. So the owner names folders, and a root is used
that lies in one of them, after all links are followed. A client of the protocol without a handshake is not asked: there
a server asks nothing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread

from cortex.turn import Folder
from sandbox import SandboxError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from cortex.turn import Commit

log = logging.getLogger("motor_cortex")

ASKING_S = 5.0
MAX_ROOTS = 20
MAX_URI_CHARACTERS = 8_192


class ClientRoots:
    """`allowed` are the folders in which roots may lie, `home` is where none may. Without `allowed` none is used."""

    def __init__(self, allowed: Sequence[str], home: Path, commit: Commit, *, asking_s: float = ASKING_S) -> None:
        self._allowed = tuple(Path(name).expanduser() for name in allowed)
        self._home = home
        self._commit = commit
        self._asking_s = asking_s

    async def folder(self, ctx: ServerRequestContext[Any]) -> Folder | None:
        """The first root of the client that may be used; None if there is none, or the client does not say in time."""
        if not self._allowed:
            return None
        roots = await self._asked(ctx)
        # In a thread: a name may lead to a disk that takes its time.
        return await anyio.to_thread.run_sync(self._first, roots, abandon_on_cancel=True) if roots else None

    async def _asked(self, ctx: ServerRequestContext[Any]) -> list[str]:
        from mcp.shared.message import ServerMessageMetadata  # noqa: PLC0415 - it takes a second to load
        from mcp_types import ListRootsRequest, ListRootsResult  # noqa: PLC0415

        has = ctx.session.client_capabilities
        if has is None or has.roots is None or not ctx.session.can_send_request:
            return []
        related = ServerMessageMetadata(related_request_id=ctx.request_id)
        try:
            with anyio.fail_after(self._asking_s):
                told = await ctx.session.send_request(ListRootsRequest(), ListRootsResult, metadata=related)
        except Exception as error:  # noqa: BLE001 - whatever a client answers, its call goes on without files
            log.warning("A client does not tell its roots: %s", type(error).__name__)
            return []
        return [str(root.uri)[: MAX_URI_CHARACTERS + 1] for root in told.roots[:MAX_ROOTS]]

    def _first(self, uris: Sequence[str]) -> Folder | None:
        for uri in uris:
            path = local_path(uri)
            found = None if path is None else within(path, self._allowed)
            if found is None:
                continue
            try:
                folder = Folder(found, self._commit)
                folder.require_apart(self._home)
            except SandboxError as error:
                log.warning("A root of a client is not used: %s", error)
                continue
            return folder
        return None


def local_path(uri: str) -> Path | None:
    """The path of a `file:` address of this machine; None for anything else. Pure."""
    if len(uri) > MAX_URI_CHARACTERS:
        return None
    try:
        parts = urlsplit(uri)
        host = parts.hostname
    except ValueError:
        return None
    if parts.scheme != "file" or host not in (None, "", "localhost") or parts.query or parts.fragment:
        return None
    path = unquote(parts.path, errors="surrogateescape")
    return Path(path) if path.startswith("/") and "\0" not in path else None


def within(path: Path, allowed: Sequence[Path]) -> Path | None:
    """The real path of the folder, if it is one of the allowed ones or lies in one; links are followed first."""
    real = Path(os.path.realpath(path))
    tops = (Path(os.path.realpath(top)) for top in allowed)
    return real if any(real == top or top in real.parents for top in tops) else None
