"""Carry large messages around the SDK's HTTP transport: a small stand-in goes through it, and is swapped for the
message where it comes out.

The transport formats each message with `repr` for its debug log, also when that log is off, and copies the message
several times: 16 MB of a text that is slow to print took 700 ms and made the host grow by 110 MB.
"""

from __future__ import annotations

import secrets
from contextvars import ContextVar
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from pydantic_core import to_json

from .watched import Incoming

_MARK = "motor-cortex/aside"


class _Aside:
    def __init__(self, message: JSONRPCMessage) -> None:
        self.token = secrets.token_hex(16)
        self.message: JSONRPCMessage | None = message


# The SDK reads a body and passes its message on in one task, and its streams carry that task's context along. If the
# task is cancelled before it passes the message on, the message is freed with it: in a table it would stay for ever.
_last: ContextVar[_Aside | None] = ContextVar("_last", default=None)


def put_aside(message: JSONRPCMessage) -> bytes:
    """The JSON of a small stand-in, for the SDK to pass on instead of this message."""
    aside = _Aside(message)
    _last.set(aside)
    return to_json({"jsonrpc": "2.0"} | _stand_in(message, aside.token))


def _stand_in(message: JSONRPCMessage, token: str) -> dict[str, Any]:
    match message:
        case JSONRPCRequest():
            return {"id": token, "method": _MARK, "params": {_MARK: token}}
        case JSONRPCNotification():
            return {"method": _MARK, "params": {_MARK: token}}
        case JSONRPCResponse():
            return {"id": token, "result": {_MARK: token}}
        case JSONRPCError():
            return {"id": token, "error": {"code": 0, "message": _MARK, "data": token}}


class Exchanged(Incoming):
    """The stream out of the transport, with stand-ins swapped back for the real messages."""

    async def receive(self) -> SessionMessage | Exception:
        item = await super().receive()
        aside = None if self.last_context is None else self.last_context.get(_last)
        if isinstance(item, SessionMessage) and aside is not None and aside.token == _token_of(item.message):
            item.message = _taken(aside, item.message)
        return item


def _token_of(message: JSONRPCMessage) -> Any:
    match message:
        case JSONRPCError():
            return message.error.data
        case JSONRPCResponse():
            return message.result.get(_MARK)
        case _:
            return (message.params or {}).get(_MARK)


def _taken(aside: _Aside, passed: JSONRPCMessage) -> JSONRPCMessage:
    message, aside.message = aside.message, None  # freed here: the context may live on
    if message is None:
        return passed
    if isinstance(message, JSONRPCResponse | JSONRPCError) and isinstance(passed, JSONRPCResponse | JSONRPCError):
        # The SDK knows which request was answered, and sets that id on the stand-in, whatever id the server wrote.
        message.id = message.id if passed.id == aside.token or passed.id is None else passed.id
    return message
