"""Computes what a run has changed, from what it saw on the disk and what it wrote. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..contracts import Change
from .folder import Fact
from .overlay import Dir, File, Node, Overlay, same_content
from .paths import Parts


@dataclass(frozen=True, slots=True)
class Difference:
    """One changed path: what was on the disk when the run first looked, and what should be there."""

    parts: Parts
    before: Fact | None
    after: Node | None


def differences(overlay: Overlay) -> list[Difference]:
    """All differences, sorted by path. A change that the run itself reverted is not included."""
    return [
        Difference(parts, before, after)
        for parts, before in sorted(overlay.seen.items())
        for after in _after(overlay.root, parts)
        if _differs(before, after, overlay.digests.get(parts))
    ]


def listing(found: list[Difference]) -> list[Change]:
    """The differences as `Change`s, for people: a folder that became a file is one removed and one added."""
    return sorted((change for one in found for change in _changes(one)), key=lambda change: change.path)


def _after(root: Dir, parts: Parts) -> Iterator[Node | None]:
    """Yield what the run left at the path (None: removed); yield nothing when it did not touch the path."""
    node: Node | None = root
    for name in parts:
        if isinstance(node, Dir) and node.through and name not in node.children:
            return
        node = node.children.get(name) if isinstance(node, Dir) else None
    yield node


def _differs(before: Fact | None, after: Node | None, old: bytes | None) -> bool:
    match before, after:
        case None, None:
            return False
        case Fact(kind="folder"), Dir():
            return False
        case Fact(kind="file") as fact, File() as file:
            return not same_content(file, fact, old)
        case _:
            return True


def _changes(one: Difference) -> Iterator[Change]:
    path = "/".join(one.parts)
    before, after = one.before, one.after
    if before is not None and before.kind != "folder" and isinstance(after, File):
        yield Change("changed", path, size=len(after.data), old_size=before.size)
        return
    match before:
        case Fact(kind="folder"):
            yield Change("removed", f"{path}/")
        case Fact():
            yield Change("removed", path, old_size=before.size)
    match after:
        case Dir():
            yield Change("added", f"{path}/")
        case File():
            yield Change("added", path, size=len(after.data))
