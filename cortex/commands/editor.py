"""Open a text in the owner's VISUAL or EDITOR, in a temporary file that no other user can read."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from cortex.audit import AuditError
from neurons import NeuronError
from sandbox import FILE_MODE

from .exits import REFUSED, CommandError

T = TypeVar("T")


def edit(
    text: str, name: str, max_bytes: int, use: Callable[[str], T], environment: Mapping[str, str] | None = None
) -> T:
    """Let the owner edit the text and return what `use` makes of it. If `use` fails, keep the file and say where it is.

    Raises CommandError when there is no editor, when it fails, and for a text that is not UTF-8 or too long.
    """
    command = _command(os.environ if environment is None else environment)
    folder = Path(tempfile.mkdtemp(prefix="motor-cortex-"))
    path = folder / name
    keeps = False
    try:
        _write(path, text)
        _run([*command, str(path)])
        keeps = path.exists()
        edited = _read(path, max_bytes)
        # Most editors add a newline at the end, even if the text had none.
        edited = edited if text.endswith("\n") else edited.removesuffix("\n")
        keeps = edited != text
        result = use(edited)
        keeps = False
        return result
    except (CommandError, NeuronError, AuditError) as error:
        if not keeps:
            raise
        code = error.exit_code if isinstance(error, CommandError) else REFUSED
        raise CommandError(f'{error}; what you wrote is kept in "{path}"', code) from error
    finally:
        if not keeps:
            shutil.rmtree(folder, ignore_errors=True)


def _write(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode(errors="backslashreplace"))


def _command(environment: Mapping[str, str]) -> list[str]:
    said = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        command = shlex.split(said)
    except ValueError as error:
        raise CommandError(f'cannot use the editor "{said[:100]}": {error}') from error
    if not command:
        raise CommandError("no editor is named: set VISUAL or EDITOR, or give a file with --from FILE")
    return command


def _run(command: list[str]) -> None:
    try:
        with _interrupts_left_to_it():
            code = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise CommandError(f'cannot start the editor "{command[0]}": {error.strerror or error}') from error
    if code != 0:
        raise CommandError(f'the editor "{command[0]}" ended with {code}; nothing was changed', REFUSED)


@contextmanager
def _interrupts_left_to_it() -> Iterator[None]:
    """Ignore Ctrl-C while the editor runs: it reaches every process of the terminal, and is meant for the editor."""
    before = signal.getsignal(signal.SIGINT)
    with suppress(ValueError):  # not the main thread: SIGINT does not reach it
        signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        with suppress(ValueError):
            signal.signal(signal.SIGINT, before)


def _read(path: Path, max_bytes: int) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 2)
    except OSError as error:
        raise CommandError(f"the editor has left no file: {error.strerror}", REFUSED) from error
    if len(data) > max_bytes + 1:
        raise CommandError(f"the code is longer than {max_bytes} bytes", REFUSED)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CommandError(f"the code is not UTF-8: invalid byte at position {error.start}") from error
