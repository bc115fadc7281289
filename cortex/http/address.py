"""Addresses to listen on: parse them, tell which are of this machine only, and open a socket on one."""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import NamedTuple

LOOPBACK = "127.0.0.1"
BACKLOG = 128
_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)


class BadAddress(ValueError):
    """The address cannot be parsed. The message says what to write instead."""


class Address(NamedTuple):
    """An address to listen on, `HOST:PORT` as people write it."""

    host: str
    port: int
    """0 takes any free port."""

    @property
    def shown(self) -> str:
        """The address as it stands in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_of(text: str) -> Address:
    """Parse `HOST:PORT`, `[::1]:PORT`, `:PORT` or `PORT`; without a host it is the loopback. Raises BadAddress."""
    host, _, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    bare = host[1:-1] if bracketed else host
    if not _PORT.fullmatch(port) or int(port) > 65_535 or (":" in bare and not bracketed) or "/" in bare:
        raise BadAddress(f'"{text[:100]}" is not of the form HOST:PORT, like 127.0.0.1:8765 or [::1]:8765')
    return Address(bare or LOOPBACK, int(port))


def is_loopback(host: str) -> bool:
    """Whether an IP address, as a socket reports it, can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def listen(address: Address) -> socket.socket:
    """Open a socket that listens at the address. Raises OSError."""
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, place = found[0]
    # The protocol is passed explicitly: asyncio sets TCP_NODELAY only then. Without it each small answer waits 40 ms
    # for the one before.
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening
