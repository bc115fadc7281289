"""The network of the agent's code: what it may fetch, and who fetches it."""

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
