"""Decides which regex patterns of an untrusted schema are matched here, and removes the others from the schema: a few
letters of a pattern may take megabytes compiled, and some patterns cannot be matched in linear time."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic_core import to_json

from .schema_parts import BadSchema, Parts

if TYPE_CHECKING:
    import jsonschema_rs

# Limit of memory per compiled pattern, and again when it is used. Matching one character then takes at most 5 µs.
MAX_PATTERN_BYTES = 65_536
MAX_PATTERN_CHARACTERS = 500
MAX_PATTERNS = 32
# Under these keywords, removing a pattern could make the whole schema stricter: then none may be removed.
_NOT_LOOSER = ("not", "if", "oneOf", "contains")


def regex_options() -> jsonschema_rs.RegexOptions:
    import jsonschema_rs  # noqa: PLC0415 - 25 ms that a run without tools need not pay

    return jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN_BYTES, dfa_size_limit=MAX_PATTERN_BYTES)


@lru_cache(maxsize=1_024)
def is_usable(pattern: str) -> bool:
    import jsonschema_rs  # noqa: PLC0415 - as above

    if len(pattern) > MAX_PATTERN_CHARACTERS:
        return False
    try:
        jsonschema_rs.validator_for(to_json({"pattern": pattern}).decode(), pattern_options=regex_options())
    except ValueError:
        return False
    return True


class Patterns:
    """Removes regex patterns from the parts of one schema."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.may_leave_out = not parts.have(*_NOT_LOOSER)

    def leave_out_unusable(self) -> int:
        """Remove unusable patterns from the schema; return how many are left. Raises BadSchema if one must stay."""
        names = {name for part in self._parts.all for name in _names(part)}
        texts = {part["pattern"] for part in self._parts.all if isinstance(part.get("pattern"), str)}
        if len(names) > MAX_PATTERNS or not all(is_usable(name) for name in sorted(names)):
            raise BadSchema("its patternProperties are too many, too large, or of a kind that is not used here")
        room = MAX_PATTERNS - len(names - texts)
        taken = {text for text in sorted(texts)[:room] if is_usable(text)}
        if texts - taken:
            self._leave_out(texts - taken)
        return len(taken | names)

    def leave_out_all(self) -> None:
        """Remove all patterns from the schema. Raises BadSchema if one must stay."""
        if any(True for part in self._parts.all for _ in _names(part)):
            raise BadSchema("its patternProperties take too long for texts of this length")
        self._leave_out({part["pattern"] for part in self._parts.all if isinstance(part.get("pattern"), str)})

    def _leave_out(self, texts: set[str]) -> None:
        if texts and not self.may_leave_out:
            raise BadSchema(f'a pattern is too large or of a kind that is not used here: "{min(texts)[:100]}"')
        for part in self._parts.all:
            if isinstance(part.get("pattern"), str) and part["pattern"] in texts:
                del part["pattern"]


def _names(part: dict[str, object]) -> list[str]:
    named = part.get("patternProperties")
    return list(named) if isinstance(named, dict) else []
