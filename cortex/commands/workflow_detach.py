"""`--detach`: go on with a run in a process of its own, which outlives the terminal.

It leads a session of its own, reads nothing, and writes to a log in the home. It notes itself among the running
processes of the home, so that `cortex kill` ends it, too, and it ends with the run, or when it has waited long enough.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cortex.home import Home
from sandbox import FILE_MODE, Running, SandboxUnavailable, private_folder

from .exits import CODE_FAILED, REFUSED, CommandError

if TYPE_CHECKING:
    from cortex.settings import Settings

WAIT_S = 3_600
_START = "from cortex.commands import main; main()"


def log_path(folder: Path, run: str) -> Path:
    """Where a detached process writes. Ids of runs may hold anything that can be printed, names of files may not."""
    name = run if run.isascii() and run.isalnum() else hashlib.sha256(run.encode(errors="replace")).hexdigest()[:32]
    return folder / "logs" / f"{name}.log"


def detached(run: str, options: Namespace, settings: Settings) -> tuple[int, Path]:
    """Start the process. Returns its pid and its log. Raises CommandError."""
    path = log_path(Home(settings.home).workflows, run)
    try:
        private_folder(path.parent)
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
    except OSError as error:
        raise CommandError(f'cannot write the log "{path}": {error.strerror}', CODE_FAILED) from error
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, *_words(run, options, settings)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    except OSError as error:
        raise CommandError(f"cannot start a process for the run: {error.strerror}", CODE_FAILED) from error
    finally:
        os.close(log)
    process.returncode = 0  # it is not ours to wait for: it outlives us
    return process.pid, path


def _words(run: str, options: Namespace, settings: Settings) -> list[str]:
    """The command that goes on with the run, with the options that were given here."""
    words = ["workflow", "resume", "--background", f"--wait={WAIT_S if options.wait is None else options.wait}"]
    words.append(f"--home={settings.home.absolute()}")
    given = {"config": options.config, "tools": options.tools, "workspace": options.workspace, "commit": options.commit}
    words += [f"--{name}={value}" for name, value in given.items() if value is not None]
    words += ["--no-cache"] if options.changed else []
    return [*words, "--", run]


@contextmanager
def noted(settings: Settings) -> Iterator[None]:
    """While this is open, `cortex kill` kills this process. Raises CommandError when nothing may run."""
    from neurons import KillSwitch

    switch = KillSwitch(Home(settings.home).state)
    running = Running(switch.running, switch.refusal)
    try:
        running.note(os.getpid())
    except SandboxUnavailable as error:
        raise CommandError(str(error), REFUSED) from error
    try:
        yield
    finally:
        running.forget(os.getpid())
