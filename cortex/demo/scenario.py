"""The scenes of the demo as data. `config/demo.json` has every word of the user and of the model."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from cortex.models import ScriptedStep
from sandbox import data_file

# In the file this stands for the server that the demo starts: only then is its port known.
SERVER = "http://shop.server"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SceneTurn(_Part):
    """A message of the user, and the model's part until its last word on it."""

    minutes_later: Annotated[float, Field(ge=0)] = 0
    user: Annotated[str, Field(min_length=1)]
    steps: Annotated[tuple[ScriptedStep, ...], Field(min_length=1)]


class Scene(_Part):
    name: Annotated[str, Field(pattern="^[a-z]+$")]
    title: Annotated[str, Field(min_length=1, max_length=70)]
    about: str
    """What to look out for, for whoever watches."""
    turns: Annotated[tuple[SceneTurn, ...], Field(min_length=1)]


_SCENES = TypeAdapter(tuple[Scene, ...])


def load_scenes(server_url: str) -> tuple[Scene, ...]:
    text = data_file("config", "demo.json").read_text(encoding="utf-8")
    return _SCENES.validate_json(text.replace(SERVER, server_url))
