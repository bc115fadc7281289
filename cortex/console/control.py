"""A socket in the home over which commands of the same user ask a running console for a login link or its open codes.

The socket is a file with mode 0600 in a folder with mode 0700, and the system says who has connected: another user gets
nothing, and neither does a web page, which cannot open such a socket at all.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

FILE = "console.sock"
ANSWER_S = 5
_MAX_BYTES = 65_536
_PEER = struct.Struct("3i")


class NoConsole(Exception):
    """No console answers on this home. The message says what to do."""


Answer = Callable[[str], dict[str, Any]]
"""The answer to one word: "link" or "codes"."""


def path_of(state: Path) -> Path:
    return state / FILE


@asynccontextmanager
async def control_socket(state: Path, answer: Answer) -> AsyncIterator[None]:
    """Answer commands while the block runs. Raises OSError."""
    path = path_of(state)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if peer_of(writer.get_extra_info("socket")) == os.geteuid():
                word = await asyncio.wait_for(reader.readline(), ANSWER_S)
                writer.write(json.dumps(answer(word.decode("ascii", "replace").strip())).encode() + b"\n")
                await asyncio.wait_for(writer.drain(), ANSWER_S)
        except (OSError, TimeoutError, ValueError):
            pass  # the command has gone, or it is none
        finally:
            writer.close()

    listening = _bound(path)
    server = await asyncio.start_unix_server(serve, sock=listening, limit=100)
    try:
        yield
    finally:
        server.close()
        with suppress(OSError):
            path.unlink()


def _bound(path: Path) -> socket.socket:
    """A socket at the path, in place of one that a killed console left there. Raises OSError while another one runs."""
    with suppress(NoConsole):
        ask(path.parent, "codes")
        raise OSError("a console of this home runs already: cortex console link prints a link to it")
    with suppress(FileNotFoundError):
        path.unlink()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # The folder is private, so that nobody else connects before the mode is set.
        listening.bind(short_path(path))
        path.chmod(0o600)
        listening.listen(4)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def short_path(path: Path) -> str:
    """The path in at most 107 bytes, which is all that the system takes: through the descriptor of its folder if
    necessary."""
    text = str(path)
    if len(os.fsencode(text)) <= 107:
        return text
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return f"/proc/self/fd/{folder}/{path.name}"


def peer_of(connected: Any) -> int | None:
    """The user id of the process at the other end; None where the system does not say."""
    if not hasattr(socket, "SO_PEERCRED"):
        return os.geteuid()  # there, the mode of the file decides alone
    try:
        found = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    except OSError:
        return None
    return int(_PEER.unpack(found)[1])


def ask(state: Path, word: str) -> dict[str, Any]:
    """What the console of the home says. Raises NoConsole."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connected:
            connected.settimeout(ANSWER_S)
            connected.connect(short_path(path_of(state)))
            connected.sendall(f"{word}\n".encode())
            data = b""
            while not data.endswith(b"\n") and len(data) < _MAX_BYTES:
                more = connected.recv(4096)
                if not more:
                    break
                data += more
        found = json.loads(data)
    except (OSError, ValueError) as error:
        raise NoConsole("no console runs on this home: start one with cortex console") from error
    return found if isinstance(found, dict) else {}
