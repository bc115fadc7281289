"""Network access for the agent's code: the policy of what it may fetch, and the broker that fetches for it."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .broker import FetchBroker
    from .policy import DenyRule, HostRule, NetworkPolicy
    from .recording import Exchange, FetchNote, Recorder, Replay
    from .secrets import NetworkError
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "broker": "FetchBroker",
            "policy": "DenyRule HostRule NetworkPolicy",
            "recording": "Exchange FetchNote Recorder Replay",
            "secrets": "NetworkError",
        },
    )
