"""The owner's console: pages on this machine that show what happens and carry out what the owner decides."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .codes import CodedDecision
    from .control import NoConsole, ask
    from .desk import Desk, Guards
    from .metrics_page import METRICS_CHECKS, METRICS_PATH, MetricsPage, metrics_token
    from .serving import Console, holder_of, listen_on_loopback
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "codes": "CodedDecision",
            "control": "NoConsole ask",
            "desk": "Desk Guards",
            "metrics_page": "METRICS_CHECKS METRICS_PATH MetricsPage metrics_token",
            "serving": "Console holder_of listen_on_loopback",
        },
    )
