"""Where a server listens, as people write it."""

from __future__ import annotations

import pytest

from cortex.http import Address, BadAddress, address_of, is_loopback


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8765", Address("127.0.0.1", 8765)),
        (":0", Address("127.0.0.1", 0)),
        ("localhost:80", Address("localhost", 80)),
        ("0.0.0.0:65535", Address("0.0.0.0", 65535)),
        (" [::1]:8765 ", Address("::1", 8765)),
    ],
)
def test_an_address_is_read_as_people_write_it(text, address):
    assert address_of(text) == address


@pytest.mark.parametrize(
    "text", ["", "host", "host:", "host:x", "host:99999", "::1:8765", "http://host:80", "host:-1", "host:8 0"]
)
def test_what_is_no_address_is_told_with_what_to_write(text):
    with pytest.raises(BadAddress, match="HOST:PORT"):
        address_of(text)


def test_addresses_of_this_machine_alone():
    assert [
        host for host in ("127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "192.168.1.1", "x") if is_loopback(host)
    ] == [
        "127.0.0.1",
        "127.9.9.9",
        "::1",
    ]
    assert Address("::1", 1).shown == "[::1]:1"
