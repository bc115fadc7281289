"""Checks the address of the owner's webhook: https, or http on this machine. Pure."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

MAX_ADDRESS = 2_048
HTTP, HTTPS = "http", "https"


def webhook_problem(url: str) -> str | None:
    """Why this address cannot be used, as the end of a sentence; None if it can. Does not repeat the address, which may
    be secret."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "is not an address"
    if len(url) > MAX_ADDRESS or not url.isascii() or any(character <= " " or character == "\x7f" for character in url):
        return "is not an address"
    if parts.scheme not in {HTTP, HTTPS} or not host or port == 0 or "\\" in url:
        return "is not an address that begins with https://"
    if "@" in parts.netloc:
        return "has a user or a password in it: requests are signed instead"
    if parts.scheme == HTTP and not is_local_name(host):
        return "begins with http:// and is not on this machine: use https://"
    return None


def is_local_name(host: str) -> bool:
    """Whether the host name means this machine. What the name resolves to must be checked again when connecting."""
    name = host.lower().rstrip(".")
    return name == "localhost" or name.endswith(".localhost") or is_loopback(host)


def is_loopback(address: str) -> bool:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback
