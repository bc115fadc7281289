"""Makes each part of a page by itself, so that one that fails leaves the others, and reads numbers in addresses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from .app import NotFound

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """A part of a page, or why it cannot be shown. An error in one part takes no other with it."""

    value: T | None
    error: str = ""


def part(make: Callable[[], T]) -> Part[T]:
    try:
        return Part(make())
    except NotFound:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a file of the home does to its reader
        return Part(None, f"{type(error).__name__}: {error}")


def number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 19 else None
