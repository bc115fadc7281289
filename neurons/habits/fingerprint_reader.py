"""Takes fingerprints in a process that can be killed. A module of its own: a look at habits needs no process."""

from __future__ import annotations

import json
from pathlib import Path

from sandbox import CodeReader

from .effects import MAX_EFFECT_CHARS, MAX_EFFECTS
from .fingerprint import Fingerprint
from .fingerprint_limits import (
    MAX_LITERAL_CHARS,
    MAX_LITERALS,
    MAX_MARK_CHARS,
    MAX_MARKS,
    MAX_NAME_CHARS,
    MAX_PARTS,
)

# JSON escapes take up to six characters each; the rest is room for the names around the literals.
MAX_ANSWER_BYTES = 6 * MAX_LITERALS * (MAX_LITERAL_CHARS + 2 * MAX_NAME_CHARS) + 32 * MAX_PARTS + 18 * 1024 * 6
MAX_ANSWER_BYTES += 6 * (MAX_EFFECTS * MAX_EFFECT_CHARS + MAX_MARKS * MAX_MARK_CHARS) + 16 * 1024


class FingerprintReader(CodeReader):
    """Takes fingerprints in a separate process that can be killed."""

    def __init__(self) -> None:
        module = Path(__file__).with_name("fingerprint_shape.py")
        super().__init__(module, "read", name="reader of fingerprints", max_answer_bytes=MAX_ANSWER_BYTES)

    async def read(self, code: str) -> Fingerprint | None:
        """The fingerprint; None for code that is too large, or could not be read in time. Raises SandboxUnavailable
        when no process can be started."""
        answer = await self.answer(code)
        try:
            found = None if answer is None else json.loads(answer)
            return None if found is None else Fingerprint.of_json(found)
        except (ValueError, RecursionError):
            return None
