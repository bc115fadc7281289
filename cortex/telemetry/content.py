"""Texts of code, models and tools as attributes of spans: only if the owner wants them, without secrets, and short. A
module of its own because it loads the search for secrets, which few need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from cortex.redaction import Redactor
from cortex.text import bounded, whole

if TYPE_CHECKING:
    from cortex.settings import RedactionSettings

MAX_BYTES = 4_096
MAX_READ = 16_384
"""A longer text is left out: it would have to be searched for secrets as a whole, because half a secret is not
recognized, and that takes too long."""


class Content:
    def __init__(self, settings: RedactionSettings) -> None:
        # One of its own: what is named here gets no token that a model could name.
        self._redactor = Redactor(settings)

    def text(self, text: str) -> str:
        if len(text) > MAX_READ:
            return f"({len(text)} characters, too long to be shown)"
        shown = whole(self._redactor.text(text)).encode(errors="replace")
        return shown[:MAX_BYTES].decode(errors="ignore")

    def json(self, value: Any) -> str:
        try:
            return self.text(to_json(value, inf_nan_mode="strings", serialize_unknown=True).decode())
        except (PydanticSerializationError, ValueError):
            return bounded(f"({type(value).__name__}, no JSON)", 100)
