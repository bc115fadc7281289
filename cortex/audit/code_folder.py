"""Keeps the code that was run, each script once, in a file named by its hash."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from sandbox import FILE_MODE, private_folder, replace_file

from .lines import is_hash

MAX_REMEMBERED = 1_000
MAX_CODE_BYTES = 1_048_576
"""More than the sandbox accepts: longer code was refused, and is not kept."""


def code_hash(code: str) -> str:
    return sha256(_bytes(code)).hexdigest()


class CodeFolder:
    """The folder of kept code."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._text = str(folder)
        # Known hashes: a repeated script is not looked up on disk each time.
        self._kept: set[str] = set()

    def keep(self, code: str, own_hash: str) -> Path | None:
        """Write the code, and return the file if it is new. A file that a killed process left incomplete is written
        again."""
        if own_hash in self._kept:
            return None
        data = _bytes(code)
        # Joined as strings, because every run passes here, and a Path is a hundred times slower.
        name = f"{self._text}/{own_hash[:2]}/{own_hash}.ts"
        if len(data) > MAX_CODE_BYTES:
            return None
        try:
            _write_new(name, data)
        except FileExistsError:
            if os.stat(name).st_size == len(data):
                self._remember(own_hash)
                return None
            replace_file(Path(name), data)
        except FileNotFoundError:
            private_folder(Path(name).parent)
            _write_new(name, data)
        self._remember(own_hash)
        return Path(name)

    def _remember(self, own_hash: str) -> None:
        if len(self._kept) >= MAX_REMEMBERED:
            self._kept.clear()
        self._kept.add(own_hash)

    def read(self, own_hash: object) -> str | None:
        """The code with this hash; None if it was not kept. Compare with `code_hash`: the file may have been
        changed."""
        # The hash comes from a line that anyone may have written: only a valid hash becomes a path.
        if not isinstance(own_hash, str) or not is_hash(own_hash):
            return None
        try:
            with self._path(own_hash).open("rb") as file:
                data = file.read(MAX_CODE_BYTES + 1)
        except FileNotFoundError:
            return None
        try:
            return data.decode(errors="surrogatepass")
        except UnicodeDecodeError:
            return data.decode(errors="replace")

    def changed(self) -> Iterator[str]:
        """The files whose content does not match the hash in their name, as paths below the folder of the log."""
        for path in sorted(self._folder.glob("??/*.ts")):
            with path.open("rb") as file:
                data = file.read(MAX_CODE_BYTES + 1)
            if sha256(data).hexdigest() != path.stem:
                yield str(path.relative_to(self._folder.parent))

    def _path(self, own_hash: str) -> Path:
        return self._folder / own_hash[:2] / f"{own_hash}.ts"


def _write_new(name: str, data: bytes) -> None:
    """Write a new file. Raises FileExistsError if it exists, and OSError, leaving nothing, if the disk does not take
    all of it."""
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    try:
        if os.write(handle, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except BaseException:
        os.unlink(name)
        raise
    finally:
        os.close(handle)


def _bytes(code: str) -> bytes:
    # For lone surrogates: the sandbox refuses them, but refused code has a hash, too.
    return code.encode(errors="surrogatepass")
