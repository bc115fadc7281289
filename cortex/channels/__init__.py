"""Channels that notify the owner of a proposal: console and webhook. No answer to a notice counts as a decision."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .around import around_of
    from .console import ConsoleChannel, how_to_decide, set_in
    from .owner_page import HASH_CHARACTERS, HabitSeen, owner_summary, owner_view, title_of
    from .webhook import WebhookChannel
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "around": "around_of",
            "console": "ConsoleChannel how_to_decide set_in",
            "owner_page": "HASH_CHARACTERS HabitSeen owner_summary owner_view title_of",
            "webhook": "WebhookChannel",
        },
    )
