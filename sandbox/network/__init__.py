"""The network of the agent's code: what it may fetch, and who fetches it."""

from typing import TYPE_CHECKING

from ..late import late_names

if TYPE_CHECKING:
    from .broker import FetchBroker
    from .policy import DenyRule, HostRule, NetworkPolicy
    from .recording import Exchange, Recorder, Replay
    from .secrets import NetworkError

__all__ = [
    "DenyRule",
    "Exchange",
    "FetchBroker",
    "HostRule",
    "NetworkError",
    "NetworkPolicy",
    "Recorder",
    "Replay",
]

__getattr__ = late_names(
    __name__,
    {
        "DenyRule": "policy",
        "Exchange": "recording",
        "FetchBroker": "broker",
        "HostRule": "policy",
        "NetworkError": "secrets",
        "NetworkPolicy": "policy",
        "Recorder": "recording",
        "Replay": "recording",
    },
)
