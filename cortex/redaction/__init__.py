"""Redaction: replaces personal data and secrets by tokens before a model or a log sees them."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .redactor import Redactor
    from .spans import MAX_VALUE_CHARACTERS
    from .tokens import Tokens
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "redactor": "Redactor",
            "spans": "MAX_VALUE_CHARACTERS",
            "tokens": "Tokens",
        },
    )
