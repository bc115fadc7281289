"""What HTTP servers on this machine share: addresses, the Host of a request, and limits of connections."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .address import LOOPBACK, Address, BadAddress, address_of, is_loopback, listen
    from .connection import accept, web_server
    from .heads import LOOPBACK_NAMES, Headers, HttpRefusal, RequestHost, headers_of, host_of, welcome
    from .limits import ConnectionLimits
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "address": "Address BadAddress LOOPBACK address_of is_loopback listen",
            "connection": "accept web_server",
            "heads": "Headers HttpRefusal LOOPBACK_NAMES RequestHost headers_of host_of welcome",
            "limits": "ConnectionLimits",
        },
    )
