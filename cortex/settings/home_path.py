"""Finds the home folder. Imports almost nothing, so that the kill switch is fast and works with broken settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

CONFIG_VARIABLE = "CORTEX_CONFIG"
HOME_VARIABLE = "CORTEX_HOME"
FOLDER = "motor-cortex"

# For a user without a home directory. Nothing can be created there, and it is not used until state is kept.
NOWHERE = Path("/dev/null") / FOLDER


class Located(NamedTuple):
    """A home folder, and a doubt about it."""

    path: Path
    doubt: str | None = None
    """Why another place may be meant."""


def default_home(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """The default home: CORTEX_HOME, or else the user's data folder on this platform."""
    environment = os.environ if environment is None else environment
    if named := environment.get(HOME_VARIABLE):
        return Path(named)
    shared = Path(environment.get("XDG_DATA_HOME", ""))
    if shared.is_absolute() and platform != "darwin":
        return shared / FOLDER
    try:
        user = Path(environment.get("HOME") or Path.home())
    except RuntimeError:
        return NOWHERE
    below = "Library/Application Support" if platform == "darwin" else ".local/share"
    return user / below / FOLDER


def absolute(value: Any) -> Any:
    """An absolute path: `~` is the user's folder, and a relative path starts in the current folder."""
    if not isinstance(value, str | os.PathLike):
        return value
    text = os.fspath(value)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValueError("it is not the path of a folder")
    try:
        return Path(os.path.abspath(Path(text).expanduser()))
    except RuntimeError as error:
        raise ValueError(f'"{text}" begins with the folder of a user that does not exist') from error


def home_in_file(home: Any, file: Path) -> Any:
    """The home as a settings file names it, relative to that file: it means the same wherever the program is
    started."""
    if isinstance(home, str) and home and not home.startswith("~"):
        return file.absolute().parent / home
    return home


def find_home(
    option: Path | None = None, config: Path | None = None, environment: Mapping[str, str] | None = None
) -> Located:
    """The home that `load_settings` would return, or the likeliest one when that would fail. Never raises."""
    environment = os.environ if environment is None else environment
    if option is not None or environment.get(HOME_VARIABLE):
        return _located(option or environment[HOME_VARIABLE], environment)
    named = config or environment.get(CONFIG_VARIABLE)
    if not named:
        return _located(default_home(environment), environment)
    file = Path(os.path.expanduser(named))
    try:
        text, doubt = file.read_text(encoding="utf-8", errors="replace"), None
    except (OSError, ValueError) as error:
        text, doubt = "", f'Cannot read settings from "{file}": {getattr(error, "strerror", None) or error}'
    home, damage = _home_of(text)
    found = _located(default_home(environment) if home is None else home_in_file(home, file), environment)
    doubt = doubt or (f'Cannot read settings from "{file}": {damage}' if damage else None)
    return Located(found.path, found.doubt or doubt)


def _located(home: Any, environment: Mapping[str, str]) -> Located:
    try:
        path = absolute(home)
    except ValueError as error:
        return Located(absolute(default_home({**environment, HOME_VARIABLE: ""})), f'Setting "home": {error}')
    if isinstance(path, Path):
        return Located(path)
    return Located(absolute(default_home({**environment, HOME_VARIABLE: ""})), 'Setting "home": it is not a path')


def _home_of(text: str) -> tuple[Any, str | None]:
    """What a settings file says about the home. A damaged file is read line by line, up to its first section."""
    import tomllib  # noqa: PLC0415 - used only here

    try:
        return tomllib.loads(text).get("home"), None
    except tomllib.TOMLDecodeError as error:
        damage = str(error)
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            break
        try:
            said = tomllib.loads(line)
        except tomllib.TOMLDecodeError:
            continue
        if "home" in said:
            return said["home"], damage
    return None, damage
