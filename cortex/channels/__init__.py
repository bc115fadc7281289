"""Channels that tell the owner of proposals and emissions: console, webhook, desktop."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .around import around_of
    from .console import ConsoleChannel, how_to_decide, line_of, set_in
    from .desktop import DesktopChannel, desktop_command
    from .owner_change import OwnerChange, change_of
    from .owner_facts import cost_sentence, energy_a_day, sentence
    from .owner_page import HASH_CHARACTERS, HabitSeen, outcome_line, owner_summary, owner_view, title_of
    from .webhook import SIGNATURE, WebhookChannel, WebhookReply
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "around": "around_of",
            "console": "ConsoleChannel how_to_decide line_of set_in",
            "desktop": "DesktopChannel desktop_command",
            "owner_change": "OwnerChange change_of",
            "owner_facts": "cost_sentence energy_a_day sentence",
            "owner_page": "HASH_CHARACTERS HabitSeen outcome_line owner_summary owner_view title_of",
            "webhook": "SIGNATURE WebhookChannel WebhookReply",
        },
    )
