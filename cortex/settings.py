"""The settings of all folders together. This is the only reader of TOML files and of the environment."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandbox import SandboxSettings, data_file

PREFIX = "CORTEX_"
CONFIG_VARIABLE = "CORTEX_CONFIG"
NOT_SETTINGS = frozenset({CONFIG_VARIABLE, "CORTEX_HOME"})


class SettingsError(ValueError):
    """The settings cannot be used. The message names the place and the problem."""


class Settings(BaseModel):
    """The settings of every folder, each under its name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)


def load_settings(
    config: Path | None = None, environment: Mapping[str, str] | None = None, **overrides: Any
) -> Settings:
    """The defaults, changed by the file, changed by the environment, changed by what the caller says.

    Raises SettingsError for a file that cannot be read, and for every key that does not exist.
    """
    environment = os.environ if environment is None else environment
    named = config or (Path(environment[CONFIG_VARIABLE]) if environment.get(CONFIG_VARIABLE) else None)
    layers = [_read(data_file("config", "defaults.toml"))]
    if named is not None:
        layers.append(_read(named))
    layers.extend((_from_environment(environment), overrides))
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = _merge(merged, layer)
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        raise SettingsError(_explain(error)) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f'Cannot read settings from "{path}": {error.strerror}') from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f'Cannot read settings from "{path}": {error}') from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """`CORTEX_SANDBOX__POOL_SIZE=2` is `pool_size = 2` in `[sandbox]`. pydantic makes numbers of the texts."""
    found: dict[str, Any] = {}
    for name, value in environment.items():
        path = name.removeprefix(PREFIX).lower().split("__")
        if name.startswith(PREFIX) and name not in NOT_SETTINGS:
            place = found
            for part in path[:-1]:
                place = place.setdefault(part, {})
                if not isinstance(place, dict):
                    raise SettingsError(f'"{name}" names a part of "{part}", which is a single value')
            place[path[-1]] = value
    return found


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        if isinstance(value, Mapping) and isinstance(merged.get(key), dict):
            merged[key] = _merge(merged[key], value)
        else:
            merged[key] = value
    return merged


def _explain(error: ValidationError) -> str:
    lines = []
    for problem in error.errors():
        key = ".".join(str(part) for part in problem["loc"])
        lines.append(
            f'Unknown setting "{key}"' if problem["type"] == "extra_forbidden" else f'Setting "{key}": {problem["msg"]}'
        )
    return "\n".join(lines)
