"""Decides which IP addresses are public. All others are refused unless an allowlist entry says `private = true`.

The ranges are written out: the standard library's `is_global` has changed between versions, and is true for some forms
of a private address.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Range:
    """A range of addresses that are not public, and its kind for messages."""

    network: Network
    kind: str


def _ranges(kind: str, *networks: str) -> tuple[Range, ...]:
    return tuple(Range(ipaddress.ip_network(network), kind) for network in networks)


METADATA = "a cloud metadata"

# The first range that holds an address gives its kind.
REFUSED: tuple[Range, ...] = (
    # These services give the credentials of the whole machine to any program that asks.
    *_ranges(METADATA, "169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "169.254.169.123/32"),
    *_ranges(METADATA, "169.254.42.42/32", "169.254.0.23/32"),
    *_ranges(METADATA, "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32"),
    *_ranges(METADATA, "fd00:ec2::/32", "fd20:ce::254/128", "fe80::a9fe:a9fe/128"),
    *_ranges(METADATA, "fd00:42::42/128", "fd00:a9fe:a9fe::1/128", "fd00:c1::a9fe:a9fe/128"),
    *_ranges("an unspecified", "0.0.0.0/8", "::/128"),
    *_ranges("a loopback", "127.0.0.0/8", "::1/128"),
    *_ranges("a private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
    *_ranges("a link-local", "169.254.0.0/16", "fe80::/10"),
    *_ranges("a site-local", "fec0::/10"),
    *_ranges("a carrier's shared", "100.64.0.0/10"),
    *_ranges("a multicast", "224.0.0.0/4", "ff00::/8"),
    *_ranges("a broadcast", "255.255.255.255/32"),
    *_ranges("a benchmarking", "198.18.0.0/15", "2001:2::/48"),
    *_ranges("a documentation", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
    # IPv6 forms of an IPv4 address: where they lead depends on the network between.
    *_ranges("an IPv4-mapped", "::ffff:0:0/96", "::ffff:0:0:0/96"),
    *_ranges("an IPv4-compatible", "::/96"),
    *_ranges("a NAT64", "64:ff9b::/96", "64:ff9b:1::/48"),
    *_ranges("a 6to4", "2002::/16", "192.88.99.0/24"),
    *_ranges("a Teredo", "2001::/32"),
    *_ranges("a reserved", "192.0.0.0/24", "240.0.0.0/4", "2001::/23"),
)

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_TEREDO = ipaddress.IPv6Network("2001::/32")
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
_ALL_ONES = 0xFFFF_FFFF
# IPv6 ranges that contain an IPv4 address, and how many bits follow it.
_SHELLS: tuple[tuple[ipaddress.IPv6Network, tuple[int, ...]], ...] = (
    (ipaddress.IPv6Network("::/96"), (0,)),
    (ipaddress.IPv6Network("::ffff:0:0/96"), (0,)),
    (ipaddress.IPv6Network("::ffff:0:0:0/96"), (0,)),
    (ipaddress.IPv6Network("64:ff9b::/96"), (0,)),
    (_LOCAL_NAT64, (0,)),
    (ipaddress.IPv6Network("2002::/16"), (80,)),
    (_TEREDO, (64,)),  # the server's address; the client's is stored with inverted bits, see `faces`
)


def parse(text: str) -> Address | None:
    """Parse an address, or return None. None also for an address with a scope (`%eth0`), which names an interface."""
    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def faces(address: Address) -> Iterator[Address]:
    """The address, and every IPv4 address embedded in it: where it leads depends on the network between."""
    yield address
    if isinstance(address, ipaddress.IPv4Address):
        return
    number = int(address)
    for network, shifts in _SHELLS:
        if address in network:
            yield from (ipaddress.IPv4Address(number >> shift & _ALL_ONES) for shift in shifts)
    if address in _TEREDO:
        yield ipaddress.IPv4Address(~number & _ALL_ONES)
    if address in _LOCAL_NAT64:
        # The prefix may be 48 bits long: then an octet of zeros stands between the two halves of the IPv4 address.
        yield ipaddress.IPv4Address((number >> 64 & 0xFFFF) << 16 | (number >> 40 & 0xFFFF))


def kind_of(address: Address) -> str | None:
    """The kind of a non-public address; None for a public one."""
    for refused in REFUSED:
        if address.version == refused.network.version and address in refused.network:
            return refused.kind
    is_public = address.is_global and (address.version == 4 or address in _GLOBAL_UNICAST)
    return None if is_public else "a reserved"


def refusal(text: str, *, private: bool = False, named: bool = False) -> str | None:
    """Why a connection to an address is refused, such as `a private address`; None when it is allowed.

    `named`: the entry spells this very address. A host name with `private = true` may lead to any machine of the own
    network, but not to the metadata service: an attacker who controls the name would control the machine.
    """
    address = parse(text)
    if address is None:
        return "no plain address"
    kinds = [kind for face in faces(address) if (kind := kind_of(face)) is not None]
    if private:
        kinds = [kind for kind in kinds if kind == METADATA and not named]
    return f"{kinds[0]} address" if kinds else None


def same(one: str, other: str) -> bool:
    """Whether two texts spell the same address, even when one is embedded in another form."""
    first, second = parse(one), parse(other)
    return first is not None and second is not None and not {*faces(first)}.isdisjoint(faces(second))
