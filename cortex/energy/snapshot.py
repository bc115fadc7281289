"""`energy.json`: the level at one moment, for whoever looks, and to go on from if the ledger is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cortex.settings import Share
from sandbox import replace_file

from .ledger import Moment

FORMAT = 1
_MOST_BYTES = 65_536


class Snapshot(BaseModel):
    """Written by hand it may be no more than `{"level": 0.5}`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    level: Share
    at: Moment | None = None
    """None counts as now."""
    seq: Annotated[int, Field(ge=0)] = 0
    """Of the newest entry that it knows of."""
    format: Annotated[int, Field(ge=1, le=FORMAT)] = FORMAT


class DamagedSnapshot:
    """There is a file, and it says nothing that can be used."""


def read_snapshot(path: Path) -> Snapshot | DamagedSnapshot | None:
    try:
        with path.open("rb") as file:
            return Snapshot.model_validate_json(file.read(_MOST_BYTES))
    except FileNotFoundError:
        return None
    except ValidationError:
        return DamagedSnapshot()


def write_snapshot(path: Path, snapshot: Snapshot, *, durable: bool = False) -> None:
    replace_file(path, snapshot.model_dump_json().encode() + b"\n", durable=durable)
