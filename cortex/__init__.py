"""Energy, tools and the agent. What is here now: the settings, and the words that a model reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .replies import blocked, reply
    from .settings import Settings, SettingsError, load_settings

__all__ = ["Settings", "SettingsError", "blocked", "load_settings", "reply"]


def __getattr__(name: str) -> Any:
    # Late, because the command line comes through this door too and must answer `--help` at once.
    if name in {"blocked", "reply"}:
        from . import replies  # noqa: PLC0415 - late, as said above

        return getattr(replies, name)
    if name in __all__:
        from . import settings  # noqa: PLC0415 - late, as said above

        return getattr(settings, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
