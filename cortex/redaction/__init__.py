"""Redaction: personal data and secrets become tokens before a model or a log gets to see them."""

from .redactor import Redactor
from .spans import MAX_VALUE_CHARACTERS
from .tokens import Tokens

__all__ = ["MAX_VALUE_CHARACTERS", "Redactor", "Tokens"]
