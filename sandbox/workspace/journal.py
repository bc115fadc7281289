"""The journal of a commit: its steps, written to the disk before the first step is taken."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .difference import Difference
from .overlay import File
from .paths import MAX_DEPTH, Parts, usable

MAX_BYTES = 64 * 1024 * 1024

Number = Annotated[int, Field(ge=0)]


class Step(BaseModel):
    """One path: the old entry is set aside as `old-N`, then `new-N` takes its place. Either may be missing."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    number: Number
    path: Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_DEPTH)]
    old: bool
    new: bool
    inode: Number = 0
    """The inode of `new-N`, so that undoing removes only what the commit has put there."""

    @property
    def old_name(self) -> str:
        return f"old-{self.number}"

    @property
    def new_name(self) -> str:
        return f"new-{self.number}"


class Journal(BaseModel):
    """All steps of one commit, as written to the disk."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    inode: Number
    """The inode of the staging folder. A journal from a copied folder, or from an archive, has another and is not
    obeyed."""
    steps: tuple[Step, ...]

    def encode(self) -> bytes:
        return self.model_dump_json().encode()


def decode(text: bytes) -> Journal | None:
    """Parse a journal; None for a text that no commit has written."""
    try:
        journal = Journal.model_validate_json(text)
    except ValidationError:
        return None
    return journal if all(_sound(step.path) for step in journal.steps) else None


def _sound(path: Parts) -> bool:
    return all(name not in ("", ".", "..") and "/" not in name and usable(name) for name in path)


def steps_for(found: list[Difference]) -> list[tuple[Step, Difference]]:
    """The steps in an order in which each is possible: first removals, innermost first; then additions, outermost
    first."""
    going: list[tuple[Parts, bool, bool, Difference]] = []
    coming: list[tuple[Parts, bool, bool, Difference]] = []
    for one in sorted(found, key=lambda one: one.parts):
        replaced = one.before is not None and one.before.kind != "folder" and isinstance(one.after, File)
        if one.before is not None and not replaced:
            going.append((one.parts, True, False, one))
        if one.after is not None:
            coming.append((one.parts, replaced, True, one))
    return [
        (Step(number=number, path=parts, old=old, new=new), one)
        for number, (parts, old, new, one) in enumerate([*reversed(going), *coming])
    ]
