"""`energy.json`: a copy of the level, for other programs to read, and to continue from if the ledger is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cortex.settings import Share
from sandbox import replace_file

from .ledger import Moment
from .terms import EnergyTerms

FORMAT = 1
_MOST_BYTES = 65_536


class Snapshot(BaseModel):
    """The content of the file. Written by hand, `{"level": 0.5}` is enough."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    level: Share
    at: Moment | None = None
    """The time of the snapshot; None means now."""
    seq: Annotated[int, Field(ge=0)] = 0
    """The number of the newest ledger entry that it includes."""
    terms: EnergyTerms | None = None
    """On what terms the program spends that wrote the newest entry; None if that is not known."""
    format: Annotated[int, Field(ge=1, le=FORMAT)] = FORMAT


class DamagedSnapshot:
    """The file exists, but cannot be used."""


def read_snapshot(path: Path) -> Snapshot | DamagedSnapshot | None:
    try:
        with path.open("rb") as file:
            return Snapshot.model_validate_json(file.read(_MOST_BYTES))
    except FileNotFoundError:
        return None
    except ValidationError:
        return DamagedSnapshot()


def write_snapshot(path: Path, snapshot: Snapshot, *, durable: bool = False) -> None:
    replace_file(path, snapshot.model_dump_json(exclude_none=True).encode() + b"\n", durable=durable)
