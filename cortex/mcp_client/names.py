"""Give the tools of an MCP server their names here: `server.tool`, in characters that every API accepts. Pure."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

from cortex.tools import MAX_NAME_LENGTH

_ODD = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)


def tool_names(server: str, originals: Iterable[str]) -> dict[str, str]:
    """A unique name for each original name. The order does not matter: a tool keeps its name when others come and go,
    unless a tool comes whose name would be the same."""
    wanted = {original: f"{server}.{_ODD.sub('_', original)}" for original in originals}
    claims = Counter(wanted.values())
    names: dict[str, str] = {}
    for original, name in wanted.items():
        is_own = name == f"{server}.{original}"
        fits = bool(original) and len(name) <= MAX_NAME_LENGTH
        names[original] = name if fits and (is_own or claims[name] == 1) else _marked(name, original)
    return names


def _marked(name: str, original: str) -> str:
    mark = "_" + hashlib.sha256(original.encode(errors="replace")).hexdigest()[:8]
    return name[: MAX_NAME_LENGTH - len(mark)] + mark
