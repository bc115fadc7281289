"""Which addresses are public, and all the forms in which a private address can be disguised."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, strategies as st

from sandbox.network.addresses import METADATA, REFUSED, faces, kind_of, parse, refusal, same

NOT_PUBLIC = {
    "127.0.0.1": "a loopback address",
    "127.255.255.254": "a loopback address",
    "::1": "a loopback address",
    "0.0.0.0": "an unspecified address",
    "0.1.2.3": "an unspecified address",
    "::": "an unspecified address",
    "10.0.0.1": "a private address",
    "172.16.0.1": "a private address",
    "172.31.255.255": "a private address",
    "192.168.1.1": "a private address",
    "fd12:3456::1": "a private address",
    "fc00::1": "a private address",
    "169.254.1.1": "a link-local address",
    "fe80::1": "a link-local address",
    "fec0::1": "a site-local address",
    "100.64.0.1": "a carrier's shared address",
    "100.127.255.255": "a carrier's shared address",
    "224.0.0.1": "a multicast address",
    "239.255.255.255": "a multicast address",
    "ff02::1": "a multicast address",
    "255.255.255.255": "a broadcast address",
    "240.0.0.1": "a reserved address",
    "192.0.0.8": "a reserved address",
    "198.18.0.1": "a benchmarking address",
    "198.19.255.255": "a benchmarking address",
    "192.0.2.1": "a documentation address",
    "198.51.100.1": "a documentation address",
    "203.0.113.1": "a documentation address",
    "2001:db8::1": "a documentation address",
    "3fff::1": "a documentation address",
    "169.254.169.254": "a cloud metadata address",
    "169.254.170.2": "a cloud metadata address",
    "100.100.100.200": "a cloud metadata address",
    "168.63.129.16": "a cloud metadata address",
    "192.0.0.192": "a cloud metadata address",
    "fd00:ec2::254": "a cloud metadata address",
    "fd20:ce::254": "a cloud metadata address",
    "fe80::a9fe:a9fe": "a cloud metadata address",
    "169.254.42.42": "a cloud metadata address",
    "169.254.0.23": "a cloud metadata address",
    "fd00:42::42": "a cloud metadata address",
    "fd00:a9fe:a9fe::1": "a cloud metadata address",
    "fd00:c1::a9fe:a9fe": "a cloud metadata address",
    "::ffff:127.0.0.1": "an IPv4-mapped address",
    "::ffff:8.8.8.8": "an IPv4-mapped address",
    "::ffff:169.254.169.254": "an IPv4-mapped address",
    "::ffff:0:10.0.0.1": "an IPv4-mapped address",
    "::127.0.0.1": "an IPv4-compatible address",
    "64:ff9b::7f00:1": "a NAT64 address",
    "64:ff9b::808:808": "a NAT64 address",
    "64:ff9b:1::1": "a NAT64 address",
    "2002:7f00:1::": "a 6to4 address",
    "192.88.99.1": "a 6to4 address",
    "2001::1": "a Teredo address",
    "2001:10::1": "a reserved address",
    "2001:2::1": "a benchmarking address",
    "100::1": "a reserved address",
    "5f00::1": "a reserved address",
    "4000::1": "a reserved address",
    "fe80::1%eth0": "no plain address",
    "2606:4700::1111%1": "no plain address",
    "127.1": "no plain address",
    "0x7f000001": "no plain address",
    "localhost": "no plain address",
    "": "no plain address",
}
PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "11.0.0.1"]
PUBLIC += ["2606:4700:4700::1111", "2a00:1450:4001:80b::200e", "2001:4860:4860::8888", "2620:fe::fe"]


@pytest.mark.parametrize(("address", "kind"), NOT_PUBLIC.items())
def test_an_address_that_is_not_public_is_refused_and_its_kind_told(address, kind):
    assert refusal(address) == kind


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_not_refused(address):
    assert refusal(address) is None


def test_private_allows_the_own_network_but_no_name_may_lead_to_metadata():
    assert refusal("10.0.0.1", private=True) is None
    assert refusal("::1", private=True) is None
    assert refusal("169.254.169.254", private=True) == "a cloud metadata address"
    assert refusal("169.254.169.254", private=True, named=True) is None
    assert refusal("169.254.169.254", named=True) == "a cloud metadata address"


@given(st.sampled_from(REFUSED), st.data())
def test_every_address_of_a_refused_range_is_refused(refused, data):
    network = refused.network
    offset = data.draw(st.integers(0, network.num_addresses - 1))
    assert refusal(str(network[offset])) is not None
    is_metadata = METADATA in {kind_of(face) for face in faces(network[offset])}
    assert (refusal(str(network[offset]), private=True) is None) is not is_metadata


def clothes(text: str) -> list[str]:
    number = int(ipaddress.IPv4Address(text))
    clothed = (
        (0xFFFF << 32) | number,
        (0xFFFF << 48) | number,
        number,
        (0x64FF9B << 96) | number,
        (0x64FF9B0001 << 80) | number,
        (0x64FF9B0001 << 80) | (number >> 16 << 64) | ((number & 0xFFFF) << 40),
        (0x2002 << 112) | (number << 80) | 1,
        (0x20010000 << 96) | (number ^ 0xFFFFFFFF),
        (0x20010000 << 96) | (number << 64),
    )
    return [str(ipaddress.IPv6Address(each)) for each in clothed]


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_refused_in_all_its_ipv6_clothes(address):
    for clothed in clothes(str(address)):
        assert refusal(clothed) is not None
        assert same(clothed, str(address))
        assert same(str(address), clothed)


@pytest.mark.parametrize("address", ["169.254.169.254", "100.100.100.200", "169.254.42.42"])
def test_private_does_not_mean_metadata_in_other_clothes(address):
    for clothed in clothes(address):
        assert refusal(clothed, private=True) == "a cloud metadata address"
        assert refusal(clothed, private=True, named=True) is None
    for clothed in clothes("10.1.2.3"):
        assert refusal(clothed, private=True) is None


def test_an_address_is_the_same_however_it_is_spelled():
    assert same("fd00::1", "fd00:0:0:0:0:0:0:1")
    assert not same("fd00::1", "fd00::2")
    assert not same("example.com", "example.com")


@given(st.ip_addresses())
def test_what_the_standard_library_holds_for_private_is_never_public(address):
    odd = address.is_private or address.is_loopback or address.is_link_local or address.is_multicast
    if odd or address.is_reserved or address.is_unspecified:
        assert refusal(str(address)) is not None


@given(st.ip_addresses(v=6))
def test_ipv6_outside_the_global_unicast_range_is_never_public(address):
    if int(address) >> 125 != 1:
        assert refusal(str(address)) is not None


@given(st.text())
def test_no_text_crashes_the_check(text):
    if parse(text) is None:
        assert refusal(text) == "no plain address"
