"""Takes fingerprints in a process that can be killed. A module of its own: a look at habits needs no process."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
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

MAX_REMEMBERED = 64


class FingerprintReader(CodeReader):
    """Takes fingerprints in a separate process that can be killed. It remembers the last ones: a habit is code that
    comes again."""

    def __init__(self) -> None:
        self._remembered: OrderedDict[bytes, Fingerprint] = OrderedDict()
        module = Path(__file__).with_name("fingerprint_shape.py")
        super().__init__(module, "read", name="reader of fingerprints", max_answer_bytes=MAX_ANSWER_BYTES)

    async def read(self, code: str) -> Fingerprint | None:
        """The fingerprint; None for code that is too large, or could not be read in time. Raises SandboxUnavailable
        when no process can be started."""
        key = hashlib.sha256(code.encode(errors="surrogatepass")).digest()
        found = self._remembered.get(key)
        if found is None:
            found = _parsed(await self.answer(code))
        if found is not None:
            # Not what has no fingerprint: perhaps the machine was busy.
            self._remembered[key] = found
            self._remembered.move_to_end(key)
            if len(self._remembered) > MAX_REMEMBERED:
                self._remembered.popitem(last=False)
        return found

    async def aclose(self) -> None:
        self._remembered.clear()
        await super().aclose()


def _parsed(answer: bytes | bytearray | None) -> Fingerprint | None:
    try:
        found = None if answer is None else json.loads(answer)
        return None if found is None else Fingerprint.of_json(found)
    except (ValueError, RecursionError):
        return None
