"""HTTP: addresses, the Host of a request and limits for servers on this machine; bodies of answers for clients."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .address import LOOPBACK, Address, BadAddress, address_of, is_loopback, listen
    from .bodies import CONNECTION_FAULTS, Beginning, leave, read_at_most, trust_for
    from .connection import accept, web_server
    from .heads import LOOPBACK_NAMES, Headers, HttpRefusal, RequestHost, headers_of, host_of, welcome
    from .limits import ConnectionLimits
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "address": "Address BadAddress LOOPBACK address_of is_loopback listen",
            "bodies": "Beginning CONNECTION_FAULTS leave read_at_most trust_for",
            "connection": "accept web_server",
            "heads": "Headers HttpRefusal LOOPBACK_NAMES RequestHost headers_of host_of welcome",
            "limits": "ConnectionLimits",
        },
    )
