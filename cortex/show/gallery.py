"""Keeps what code displayed as files in the home, and shows pictures in terminals that can."""

from __future__ import annotations

import os
import secrets
import time
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox import replace_file

if TYPE_CHECKING:
    from typing import Literal

    from sandbox import Displayed

MAX_KEPT = 200
"""The oldest files make way."""
# Only what no program runs when it opens it. Any other file is named .bin.
_ENDINGS = {
    "application/json": "json",
    "application/pdf": "pdf",
    "application/zip": "zip",
    "audio/flac": "flac",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "image/gif": "gif",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
    "text/csv": "csv",
    "text/plain": "txt",
}
_SUFFIXES = {f".{ending}" for ending in (*_ENDINGS.values(), "bin")}
_KITTY_CHUNK = 4_096


class Gallery:
    """The folder of displayed pictures, sounds and blobs. `folder` is called with the first: code that displays
    nothing leaves none."""

    def __init__(self, folder: Callable[[], Path], *, max_kept: int = MAX_KEPT) -> None:
        self._folder = folder
        self._max_kept = max_kept

    def keep(self, item: Displayed) -> Path:
        """Write a picture, sound or blob to a file of its own and return its path. Raises OSError and HomeError."""
        folder = self._folder()
        now = time.time()
        stamp = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now))}{int(now % 1 * 1_000_000):06d}"
        # Nothing of the title: it is the code's choice, and this is a name of a file.
        path = folder / f"{stamp}-{secrets.token_hex(4)}.{_ENDINGS.get(item.mime_type, 'bin')}"
        replace_file(path, item.data)
        self._make_way(folder)
        return path

    def _make_way(self, folder: Path) -> None:
        # Names, not paths: to compare two hundred paths takes milliseconds.
        kept = sorted(name for name in os.listdir(folder) if os.path.splitext(name)[1] in _SUFFIXES)
        for name in kept[: -self._max_kept]:
            with suppress(OSError):
                (folder / name).unlink()


def inline(item: Displayed, protocol: Literal["iterm", "kitty"] | None) -> str:
    """The escape sequences that show a picture in the terminal; empty where that cannot be. The picture is base64: no
    byte of it can end the sequence."""
    if protocol is None or item.type != "image":
        return ""
    data = b64encode(item.data).decode()
    if protocol == "iterm":
        return f"\x1b]1337;File=inline=1;size={len(item.data)};width=auto:{data}\x07\n"
    if protocol != "kitty" or item.mime_type != "image/png":
        return ""
    chunks = [data[at : at + _KITTY_CHUNK] for at in range(0, len(data), _KITTY_CHUNK)]
    heads = ["f=100,a=T,"] + [""] * (len(chunks) - 1)
    pieces = zip(heads, chunks, range(len(chunks) - 1, -1, -1), strict=True)
    return "".join(f"\x1b_G{head}m={int(left > 0)};{chunk}\x1b\\" for head, chunk, left in pieces) + "\n"
