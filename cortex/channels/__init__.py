"""The ways in which the owner is told of a proposal. Each only tells: nothing that comes back by one is a decision."""

from .console import ConsoleChannel
from .owner_view import owner_view, title_of
from .webhook import WebhookChannel

__all__ = ["ConsoleChannel", "WebhookChannel", "owner_view", "title_of"]
