"""Redaction: personal data and secrets become tokens before a model or a log gets to see them."""

from .redactor import Redactor
from .tokens import Tokens

__all__ = ["Redactor", "Tokens"]
