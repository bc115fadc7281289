"""The scripts of `corpus/`: one file for each, with rewrites of it by hand, and scripts that look alike and are not it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .rewrites import REWRITES

FOLDER = Path(__file__).parent / "corpus"
_SECTION = re.compile(r"^//// (rewrite|different): (.+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Script:
    name: str
    code: str
    by_hand: tuple[tuple[str, str], ...]
    different: tuple[tuple[str, str], ...]

    def rewrites(self) -> Iterator[tuple[str, str]]:
        """What was done, and the code. Those that a rule has nothing to do for are left out."""
        yield from self.by_hand
        for rewrite in REWRITES:
            code = rewrite(self.code)
            if code != self.code:
                yield rewrite.__name__, code


@lru_cache(maxsize=1)
def scripts() -> tuple[Script, ...]:
    return tuple(_script(path) for path in sorted(FOLDER.glob("*.txt")))


def _script(path: Path) -> Script:
    first, *rest = _SECTION.split(path.read_text(encoding="utf-8"))
    sections = list(zip(rest[::3], rest[1::3], rest[2::3], strict=True))
    _, _, code = first.partition("\n")
    return Script(
        path.stem,
        code.strip(),
        tuple((what, text.strip()) for kind, what, text in sections if kind == "rewrite"),
        tuple((what, text.strip()) for kind, what, text in sections if kind == "different"),
    )
