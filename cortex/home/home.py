"""The home folder: holds everything that outlives a program. Only its owner may write to it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from cortex.settings import SettingsError
from sandbox import FOLDER_MODE, private_folder

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class HomeError(SettingsError):
    """The home cannot be used. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Home:
    """The folders of a home, created on first use with mode 0700. Each property raises HomeError for an unsafe place.

    A user who can write there can give the agent energy, plant memories and rewrite its audit.
    """

    path: Path

    @property
    def state(self) -> Path:
        """Energy and memories."""
        return self._folder("state")

    @property
    def audit(self) -> Path:
        return self._folder("audit")

    @property
    def conversations(self) -> Path:
        return self._folder("conversations")

    @property
    def workflows(self) -> Path:
        """The journal of the runs of workflows."""
        return self._folder("workflows")

    @property
    def displayed(self) -> Path:
        """Pictures that code displayed in a chat."""
        return self._folder("displayed")

    @property
    def runs(self) -> Path:
        """What is kept of each run."""
        return self._folder("runs")

    @property
    def cache(self) -> Path:
        """Data that can be made again: deleting it loses nothing."""
        return self._folder("cache")

    @property
    def state_to_read(self) -> Path:
        """The state folder for readers: it is not created, and need not be writable."""
        folder = self.path / "state"
        for path in (self.path, folder):
            _refuse_to_look(path)
        return folder

    def _folder(self, name: str) -> Path:
        folder = self.path / name
        for path in (self.path, folder):
            _make_or_refuse(path)
        # The home itself may be readable for others; what the agent was told and did may not.
        if stat.S_IMODE(folder.stat().st_mode) != FOLDER_MODE:
            folder.chmod(FOLDER_MODE)
        return folder


def _make_or_refuse(path: Path) -> None:
    try:
        private_folder(path)
        found = path.stat()
        writable = os.access(path, os.R_OK | os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)
    except FileExistsError:
        raise _refusal(path, "it is a file and not a folder") from None
    except (OSError, ValueError) as error:
        raise _refusal(path, getattr(error, "strerror", None) or str(error)) from error
    if problem := problem_of(path, found):
        raise _refusal(path, problem)
    if not writable:
        raise _refusal(path, "it is not writable")


def _refuse_to_look(path: Path) -> None:
    try:
        found = path.stat()
        readable = os.access(path, os.R_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise _refusal(path, getattr(error, "strerror", None) or str(error), "look at") from error
    problem = problem_of(path, found) if stat.S_ISDIR(found.st_mode) else "it is a file and not a folder"
    if problem or not readable:
        raise _refusal(path, problem or "it is not readable", "look at")


def problem_of(path: Path, found: os.stat_result) -> str | None:
    """Why a folder or file is unsafe, because other users could have written it; None if it is safe."""
    if found.st_uid != os.geteuid():
        return f"it belongs to user {found.st_uid}, and this is user {os.geteuid()}"
    if found.st_mode & _OTHERS_WRITE:
        return f'others may write there; if they did not, run: chmod -R go-w "{path}"'
    return None


def _refusal(path: Path, why: str, action: str = "keep state in") -> HomeError:
    return HomeError(f'Cannot {action} "{path}": {why} (--home or CORTEX_HOME names another place)')
