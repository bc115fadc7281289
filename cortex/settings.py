"""The settings of all folders together. This is the only reader of TOML files and of the environment."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from sandbox import SandboxSettings, data_file

from .sections import (
    AuditSettings,
    EnergySettings,
    ExecuteSettings,
    LoopSettings,
    ModelSettings,
    ToolSettings,
)

PREFIX = "CORTEX_"
CONFIG_VARIABLE = "CORTEX_CONFIG"
HOME_VARIABLE = "CORTEX_HOME"
FOLDER = "motor-cortex"
DEFAULT, OPTION = "default", "option"

Key = tuple[str, ...]

# What other programs that talk to such models read. Ours beat them, and so does a file.
MODEL_VARIABLES = {"api_key": "OPENAI_API_KEY", "base_url": "OPENAI_BASE_URL", "name": "OPENAI_MODEL"}

# Where a person without a home lives. Nothing can be made there, and nothing is asked of it before state is kept.
NOWHERE = Path("/dev/null") / FOLDER


class SettingsError(ValueError):
    """The settings cannot be used. The message names the place and the problem."""


def default_home(environment: Mapping[str, str] | None = None) -> Path:
    """Where state lives when nobody says: CORTEX_HOME, or else the user's data folder of this platform."""
    environment = os.environ if environment is None else environment
    if named := environment.get(HOME_VARIABLE):
        return Path(named)
    shared = Path(environment.get("XDG_DATA_HOME", ""))
    if shared.is_absolute() and sys.platform != "darwin":
        return shared / FOLDER
    try:
        user = Path(environment.get("HOME") or Path.home())
    except RuntimeError:
        return NOWHERE
    below = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    return user / below / FOLDER


def _absolute(value: Any) -> Any:
    """A `~` is the user's folder, and a relative path begins where the program was started."""
    if not isinstance(value, str | os.PathLike):
        return value
    text = os.fspath(value)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValueError("it is not the path of a folder")
    try:
        return Path(os.path.abspath(Path(text).expanduser()))
    except RuntimeError as error:
        raise ValueError(f'"{text}" begins with the folder of a user that does not exist') from error


class Settings(BaseModel):
    """The settings of every folder, each under its name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    home: Annotated[Path, BeforeValidator(_absolute)] = Field(default_factory=default_home, validate_default=True)
    """The folder of everything that is kept: energy, conversations, memories, audit."""
    energy: EnergySettings = Field(default_factory=EnergySettings)
    execute: ExecuteSettings = Field(default_factory=ExecuteSettings)
    tools: ToolSettings = Field(default_factory=ToolSettings)
    loop: LoopSettings = Field(default_factory=LoopSettings)
    model: ModelSettings = Field(default_factory=ModelSettings)
    audit: AuditSettings = Field(default_factory=AuditSettings)


def load_settings(
    config: Path | None = None,
    environment: Mapping[str, str] | None = None,
    home: Path | None = None,
    **overrides: Any,
) -> Settings:
    """The defaults, changed by the file, changed by the environment, changed by what the caller says.

    Raises SettingsError for a file that cannot be read, and for every key that does not exist.
    """
    return _settled(list(_all_said(config, environment, home, overrides)))


class Said(NamedTuple):
    """One value that somebody gave: the file, a variable, the caller. What is said later counts."""

    key: Key
    value: Any
    source: str


def _all_said(
    config: Path | None, environment: Mapping[str, str] | None, home: Path | None, overrides: Mapping[str, Any]
) -> Iterator[Said]:
    environment = os.environ if environment is None else environment
    yield Said(("home",), default_home(environment), DEFAULT)
    yield from _flat(_read(data_file("config", "defaults.toml")), DEFAULT)
    for key, name in MODEL_VARIABLES.items():
        if environment.get(name):
            yield Said(("model", key), environment[name], name)
    if config is not None or environment.get(CONFIG_VARIABLE):
        yield from _from_file(Path(config or environment[CONFIG_VARIABLE]).expanduser())
    yield from _from_environment(environment)
    yield from _flat(overrides if home is None else {**overrides, "home": home}, OPTION)


def _from_file(path: Path) -> Iterator[Said]:
    values = _read(path)
    if isinstance(home := values.get("home"), str) and home:
        # A file means the same wherever the program is started.
        values["home"] = path.absolute().parent / Path(home).expanduser()
    return _flat(values, str(path))


def _from_environment(environment: Mapping[str, str]) -> Iterator[Said]:
    """`CORTEX_SANDBOX__POOL_SIZE=2` is `pool_size = 2` in `[sandbox]`. pydantic makes numbers of the texts."""
    names = sorted(name for name in environment if name.startswith(PREFIX) and name != CONFIG_VARIABLE)
    keys: dict[Key, str] = {}
    for name in names:
        key = tuple(name.removeprefix(PREFIX).lower().split("__"))
        for above in (key[:n] for n in range(1, len(key))):
            if above in keys:
                raise SettingsError(f'"{name}" names a part of "{keys[above]}", which is a single value')
        keys[key] = name
        if name != HOME_VARIABLE or environment[name]:
            yield Said(key, environment[name], name)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f'Cannot read settings from "{path}": {error.strerror}') from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f'Cannot read settings from "{path}": {error}') from error


def _flat(values: Mapping[str, Any], source: str, above: Key = ()) -> Iterator[Said]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, source, (*above, name))
        else:
            yield Said((*above, name), value, source)


def _settled(said: Sequence[Said]) -> Settings:
    merged: dict[str, Any] = {}
    for key, value, _ in said:
        place = merged
        for part in key[:-1]:
            if not isinstance(place.get(part), dict):
                place[part] = {}
            place = place[part]
        # An empty table says nothing about what is in it.
        if value != {} or not isinstance(place.get(key[-1]), dict):
            place[key[-1]] = value
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        raise SettingsError(_explain(error)) from error


def _explain(error: ValidationError) -> str:
    lines = []
    for problem in error.errors():
        key = ".".join(str(part) for part in problem["loc"])
        lines.append(
            f'Unknown setting "{key}"' if problem["type"] == "extra_forbidden" else f'Setting "{key}": {problem["msg"]}'
        )
    return "\n".join(lines)
