"""The base class of the models of which the document of a neuron is made: immutable, keys in camelCase."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Part(BaseModel):
    """The base of all parts of the document: immutable, keys in camelCase."""

    # Deferred: a command that reads neurons must not build what it does not use.
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, defer_build=True
    )
