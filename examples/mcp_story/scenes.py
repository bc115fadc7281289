"""The scenes of the story as data. `scenes.json` has every word of the user and of the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from cortex.models import ScriptedStep


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlainCall(_Part):
    """What a model without code mode would call."""

    server: str
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Scene(_Part):
    title: Annotated[str, Field(min_length=1, max_length=70)]
    about: str
    user: Annotated[str, Field(min_length=1)]
    steps: Annotated[tuple[ScriptedStep, ...], Field(min_length=1)]
    refused: ScriptedStep | None = None
    """What the model says in place of its last step, where the owner was asked and said no."""
    plain: tuple[PlainCall, ...] = ()
    """Empty where there is nothing to compare."""
    plain_about: str = ""


_SCENES = TypeAdapter(tuple[Scene, ...])


def load_scenes() -> tuple[Scene, ...]:
    return _SCENES.validate_json(Path(__file__).with_name("scenes.json").read_bytes())
