"""Loads the settings of all three packages. Only this module reads TOML settings files and the environment for them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError

from neurons import NeuronSettings
from sandbox import SandboxSettings, data_file

from .home_path import CONFIG_VARIABLE, HOME_VARIABLE, absolute, default_home, home_in_file
from .mcp_servers import McpServerTable
from .sections import (
    AuditSettings,
    CacheSettings,
    ConsoleSettings,
    DiscoverySettings,
    EnergySettings,
    ExecuteSettings,
    InboxSettings,
    LoopSettings,
    McpSettings,
    ModelSettings,
    RedactionSettings,
    RunsSettings,
    StoreSettings,
    TelemetrySettings,
    ToolSettings,
    WorkflowSettings,
)
from .setting_errors import SettingsError
from .setting_keys import (
    PREFIX,
    Explained,
    Key,
    SettingValue,
    known_beside,
    leaves,
    nearest,
    shown,
    sources_of,
    variable_of,
)

DEFAULT, OPTION = "default", "option"

# Variables that other programs use for such models. Our own override them, and so does a file.
MODEL_VARIABLES = {"api_key": "OPENAI_API_KEY", "base_url": "OPENAI_BASE_URL", "name": "OPENAI_MODEL"}


class Settings(BaseModel):  # noqa: PLW1641 - pydantic makes the hash of a frozen model
    """The settings of all packages, one section for each subject."""

    # Errors do not show the value: it may be a key in the wrong place.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    home: Annotated[Path, BeforeValidator(absolute)] = Field(default_factory=default_home, validate_default=True)
    """The folder of all stored data: energy, conversations, memories, audit."""
    energy: EnergySettings = Field(default_factory=EnergySettings)
    execute: ExecuteSettings = Field(default_factory=ExecuteSettings)
    tools: ToolSettings = Field(default_factory=ToolSettings)
    inbox: InboxSettings = Field(default_factory=InboxSettings)
    loop: LoopSettings = Field(default_factory=LoopSettings)
    model: ModelSettings = Field(default_factory=ModelSettings)
    audit: AuditSettings = Field(default_factory=AuditSettings)
    neurons: NeuronSettings = Field(default_factory=NeuronSettings)
    mcpServers: McpServerTable = Field(default_factory=dict)  # noqa: N815 - spelled as in .mcp.json
    """By name, as in `.mcp.json`. Servers added with `cortex mcp add` are in the home, not here."""
    mcp: McpSettings = Field(default_factory=McpSettings)
    discovery: DiscoverySettings = Field(default_factory=DiscoverySettings)
    redaction: RedactionSettings = Field(default_factory=RedactionSettings)
    cache: CacheSettings = Field(default_factory=CacheSettings)
    store: StoreSettings = Field(default_factory=StoreSettings)
    runs: RunsSettings = Field(default_factory=RunsSettings)
    workflows: WorkflowSettings = Field(default_factory=WorkflowSettings)
    console: ConsoleSettings = Field(default_factory=ConsoleSettings)
    telemetry: TelemetrySettings = Field(default_factory=TelemetrySettings)
    _read_from: tuple[Path, ...] = PrivateAttr(default=())

    @property
    def read_from(self) -> tuple[Path, ...]:
        """The settings files that `load_settings` has read; those of the package are not among them."""
        return self._read_from

    def __eq__(self, other: object) -> bool:
        # Settings from two files are the same settings, if both say the same.
        return isinstance(other, Settings) and self.model_dump() == other.model_dump()


def load_settings(
    config: Path | None = None,
    environment: Mapping[str, str] | None = None,
    home: Path | None = None,
    **overrides: Any,
) -> Settings:
    """The defaults, overridden by the file, then the environment, then the caller.

    Raises SettingsError for a file that cannot be read, and for every key that does not exist.
    """
    settings = _settled(list(_all_said(config, environment, home, overrides)))
    file = _config_file(config, os.environ if environment is None else environment)
    if file is not None:
        settings._read_from = (file.absolute(),)
    return settings


def explain_settings(
    config: Path | None = None,
    environment: Mapping[str, str] | None = None,
    home: Path | None = None,
    **overrides: Any,
) -> list[Explained]:
    """Each setting that `load_settings` would return, and its source: "default", the path of a file, the name of a
    variable, "option". Secrets are hidden."""
    said = list(_all_said(config, environment, home, overrides))
    settings = _settled(said)
    explained = []
    for key in leaves(Settings):
        value: Any = settings
        for part in key:
            value = getattr(value, part)
        explained.append(Explained(".".join(key), shown(value), ", ".join(sources_of(key, said)) or DEFAULT))
    return explained


def _all_said(
    config: Path | None, environment: Mapping[str, str] | None, home: Path | None, overrides: Mapping[str, Any]
) -> Iterator[SettingValue]:
    environment = os.environ if environment is None else environment
    yield SettingValue(("home",), default_home(environment), DEFAULT)
    yield from _flat(_read(data_file("config", "defaults.toml")), DEFAULT)
    for key, name in MODEL_VARIABLES.items():
        if environment.get(name):
            yield SettingValue(("model", key), environment[name], name)
    file = _config_file(config, environment)
    if file is not None:
        yield from _from_file(file)
    yield from _from_environment(environment)
    yield from _flat(overrides if home is None else {**overrides, "home": home}, OPTION)


def _config_file(config: Path | None, environment: Mapping[str, str]) -> Path | None:
    if config is None and not environment.get(CONFIG_VARIABLE):
        return None
    return Path(os.path.expanduser(config or environment[CONFIG_VARIABLE]))


def _from_file(path: Path) -> Iterator[SettingValue]:
    values = _read(path)
    if "home" in values:
        values["home"] = home_in_file(values["home"], path)
    return _flat(values, str(path.absolute()))


def _from_environment(environment: Mapping[str, str]) -> Iterator[SettingValue]:
    """`CORTEX_SANDBOX__POOL_SIZE=2` is `pool_size = 2` in `[sandbox]`. pydantic converts the texts to numbers."""
    names = sorted(name for name in environment if name.startswith(PREFIX) and name != CONFIG_VARIABLE)
    keys: dict[Key, str] = {}
    for name in names:
        key = tuple(name.removeprefix(PREFIX).lower().split("__"))
        for above in (key[:n] for n in range(1, len(key))):
            if above in keys:
                raise SettingsError(f'"{name}" names a part of "{keys[above]}", which is a single value')
        keys[key] = name
        if name != HOME_VARIABLE or environment[name]:
            yield SettingValue(key, environment[name], name)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f'Cannot read settings from "{path}": {error.strerror}') from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f'Cannot read settings from "{path}": {error}') from error


def _flat(values: Mapping[str, Any], source: str, above: Key = ()) -> Iterator[SettingValue]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, source, (*above, name))
        else:
            yield SettingValue((*above, name), value, source)


def _settled(said: Sequence[SettingValue]) -> Settings:
    merged: dict[str, Any] = {}
    for key, value, _ in said:
        place = merged
        for part in key[:-1]:
            if not isinstance(place.get(part), dict):
                place[part] = {}
            place = place[part]
        # An empty table does not remove what is in it. A new dict, because more is put into it later.
        if value == {}:
            place.setdefault(key[-1], {})
        else:
            place[key[-1]] = value
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        complaints = [_complaint(problem["loc"], problem["type"], problem["msg"], said) for problem in error.errors()]
        raise SettingsError("\n".join(complaints)) from error


def _complaint(place: tuple[int | str, ...], kind: str, message: str, said: Sequence[SettingValue]) -> str:
    # Parts of an entry in a list are named as if the list were a section.
    key = tuple(part for part in place if isinstance(part, str))
    entry = next((entry for entry in reversed(said) if entry.key[: len(key)] == key[: len(entry.key)]), None)
    source = OPTION if entry is None else entry.source
    if kind == "extra_forbidden":
        if entry is not None and source.upper() == variable_of(entry.key):
            meant = nearest(".".join(entry.key), [*map(".".join, leaves(Settings)), "config"])
            return _unknown(source, meant and variable_of(tuple(meant.split("."))))
        return _unknown(".".join(key), nearest(".".join(key), known_beside(key, Settings))) + _where(source)
    if kind == "model_type":
        message = "it is a section, and not a single value"
    name = ".".join(str(part) for part in place)
    return f'Setting "{name}": {message.removeprefix("Value error, ")}{_where(source)}'


def _unknown(name: str, meant: str | None) -> str:
    return f'Unknown setting "{name}": ' + (f'did you mean "{meant}"?' if meant else "see cortex config --defaults")


def _where(source: str) -> str:
    if source in {DEFAULT, OPTION}:
        return ""
    return f' (in "{source}")' if os.path.isabs(source) else f" (from {source})"
