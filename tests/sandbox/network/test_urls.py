"""URLs in one normal spelling, and the tricks that would give them two."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from sandbox.network.urls import BadUrl, ForeignScheme, join, parse, readings

SAME = {
    "https://Example.COM": "https://example.com/",
    "HTTPS://example.com.:443/a": "https://example.com/a",
    "http://example.com:80/a#b": "http://example.com/a",
    "https://example.com:/x": "https://example.com/x",
    "https://example.com:8443?q": "https://example.com:8443/?q",
    "https://bücher.example/ä?ö=ü": "https://xn--bcher-kva.example/%C3%A4?%C3%B6=%C3%BC",
    "https://ｅxample。com/": "https://example.com/",
    "https://[::1]:8080/": "https://[::1]:8080/",
    "https://[0:0::1]/": "https://[::1]/",
    "https://[::ffff:7f00:1]/": "https://[::ffff:7f00:1]/",
    "https://example.com/a/./b/../c/": "https://example.com/a/c/",
    "https://example.com/a/%2e%2E/b": "https://example.com/b",
    "https://example.com/../../b": "https://example.com/b",
    "https://example.com/a/..": "https://example.com/",
    "https://example.com/%61%7e%2f%3F": "https://example.com/a~%2f%3F",
    "https://example.com/a%20b?x=%20'": "https://example.com/a%20b?x=%20'",
    'https://example.com/"<>?"\\<>': "https://example.com/%22%3C%3E?%22%5C%3C%3E",
    "https://1.2.3.4/": "https://1.2.3.4/",
    "https://a_b.example.com/": "https://a_b.example.com/",
}
BAD = [
    "example.com",
    "//example.com/",
    "/x",
    "",
    "https:example.com",
    "https:/example.com",
    "https:///example.com",
    "https:\\\\example.com",
    "https://example.com\\@evil.com/",
    "https://example.com/\\evil.com",
    "https://user@example.com/",
    "https://user:pw@example.com/",
    "https://example.com@evil.com/",
    "https://exa mple.com/",
    "https://example.com/a b",
    " https://example.com/",
    "https://example.com/\r\nHost: evil",
    "https://example.com/\0",
    "https://exam\tple.com/",
    "https://example.com:0/",
    "https://example.com:65536/",
    "https://example.com:+80/",
    "https://example.com:8 0/",
    "https://example.com:٨٠/",
    "https://a:b:c/",
    "https://::1/",
    "https://[::1/",
    "https://[fe80::1%25eth0]/",
    "https://[fe80::1%eth0]/",
    "https://[example.com]/",
    "https://[1.2.3.4]/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f.0.0.1/",
    "https://0x7f000001/",
    "https://0177.0.0.1/",
    "https://127.0.0.1.5/",
    "https://１２７.1/",
    "https://exa%6dple.com/",
    "https://example..com/",
    "https://.example.com/",
    "https://-a.example.com/",
    "https://*.example.com/",
    "https://" + "a" * 64 + ".com/",
    "https://" + "a." * 130 + "com/",
    "https://" + "ü" * 300 + "/",
    "https://\ud800.example/",
    "https://example.com/" + "a" * 9000,
    "https://example.com/" + "ü" * 3000,
]


@pytest.mark.parametrize(("text", "normal"), SAME.items())
def test_a_url_has_one_spelling(text, normal):
    assert str(parse(text)) == normal
    assert str(parse(normal)) == normal


@pytest.mark.parametrize("text", BAD)
def test_what_two_parsers_might_read_in_two_ways_is_no_url(text):
    with pytest.raises(BadUrl):
        parse(text)


@pytest.mark.parametrize(
    "text", ["file:///etc/passwd", "data:text/plain,x", "ftp://example.com/", "javascript:1", "ws://a/"]
)
def test_other_schemes_are_told_apart(text):
    with pytest.raises(ForeignScheme):
        parse(text)


@given(st.text())
@example("https://a%")
@example("https://[")
@example("http://[::1]x:1/")
def test_no_text_crashes_the_parser(text):
    for url in (text, f"https://{text}", f"https://a.example/{text}"):
        try:
            target = parse(url)
        except BadUrl:
            continue
        assert parse(str(target)) == target
        assert str(target).isascii()
        assert ".." not in target.path.split("/")


@given(st.text())
@example("//[")
def test_no_location_crashes_a_redirect(location):
    base = parse("https://example.com/a/b?c")
    try:
        target = join(base, location)
    except BadUrl:
        return
    assert parse(str(target)) == target


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("c", "https://example.com/a/c"),
        ("/c", "https://example.com/c"),
        ("?c", "https://example.com/a/b?c"),
        ("//other.example/c", "https://other.example/c"),
        ("http://other.example", "http://other.example/"),
        ("../../../c", "https://example.com/c"),
        (" /c ", "https://example.com/c"),
        ("#c", "https://example.com/a/b?q"),
    ],
)
def test_a_redirect_leads_where_browsers_would_go(location, target):
    assert str(join(parse("https://example.com/a/b?q"), location)) == target


@pytest.mark.parametrize(
    "location", ["/\\evil.example", "\\\\evil.example", "/a\r\nb", "https://u@evil.example/", "//[", "/" + "a" * 9000]
)
def test_a_redirect_that_two_parsers_might_read_in_two_ways_is_refused(location):
    with pytest.raises(BadUrl):
        join(parse("https://example.com/a/b"), location)


@pytest.mark.parametrize("text", ["https://user@example.com/", "https://user:pw@example.com/", "https://:@[::1]/"])
def test_credentials_in_a_url_are_refused_with_the_way_to_send_them(text):
    with pytest.raises(BadUrl, match="send them in a header"):
        parse(text)


def test_values_are_put_into_a_query_in_place_of_those_of_the_same_name():
    target = parse("https://example.com/?key=mine&k%65y=again&other=1")
    assert str(target.with_query({"key": "a b&c"})) == "https://example.com/?other=1&key=a%20b%26c"
    assert str(target.without_query(frozenset({"key"}))) == "https://example.com/?other=1"
    assert target.with_query({}) == target.without_query(frozenset()) == target
    assert str(parse("https://example.com/").with_query({"key": "x"})) == "https://example.com/?key=x"
    assert str(parse("https://example.com/?key=x").without_query(frozenset({"key"}))) == "https://example.com/"


def test_a_path_that_is_encoded_again_and_again_has_no_readings():
    with pytest.raises(BadUrl):
        list(readings("/%252525252e"))
