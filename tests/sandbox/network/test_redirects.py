"""Redirects: each hop is a separate request, checked like the first."""

from __future__ import annotations

import pytest

from tests.sandbox.network.conftest import Names, brokered, fetch, refused
from tests.sandbox.network.servers import Server

pytestmark = pytest.mark.usefixtures("nothing_left")


def at(name: str, server: Server, **more: object) -> dict[str, object]:
    return {"host": name, "http": True, "private": True, "ports": [server.port], **more}


NAMES = {"a_test": ["127.0.0.1"], "b_test": ["127.0.0.1"]}


async def test_a_redirect_is_followed_and_the_final_url_told(server):
    server.routes["/old"] = lambda talk: talk.redirect("new?x#y")
    async with brokered(server.url) as broker:
        answer = await fetch(broker, f"{server.url}/old")
    assert (answer["url"], answer["status"], answer["redirected"]) == (f"{server.url}/new?x", 200, True)
    assert (broker.requests, server.connections) == (2, 1)


async def test_manual_gives_the_redirect_itself(server):
    server.routes["/old"] = lambda talk: talk.redirect("/new")
    async with brokered(server.url) as broker:
        answer = await fetch(broker, f"{server.url}/old", redirect="manual")
    assert (answer["status"], answer["body"], answer["redirected"]) == (302, b"moved", False)
    assert ["location", "/new"] in answer["headers"]
    assert server.paths() == ["/old"]


async def test_error_makes_a_redirect_an_error(server):
    server.routes["/old"] = lambda talk: talk.redirect("/new")
    async with brokered(server.url) as broker:
        assert (await refused(broker, f"{server.url}/old", redirect="error")).code == "network"
        assert (await fetch(broker, f"{server.url}/new", redirect="error"))["status"] == 200
    assert server.paths() == ["/old", "/new"]


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (301, "PUT", "PUT"),
        (302, "DELETE", "DELETE"),
        (307, "POST", "POST"),
        (308, "PATCH", "PATCH"),
    ],
)
async def test_methods_and_bodies_change_as_browsers_change_them(server, status, method, then):
    server.routes["/old"] = lambda talk: talk.redirect("/new", status)
    body = None if method == "HEAD" else b"data"
    async with brokered(server.url) as broker:
        await fetch(broker, f"{server.url}/old", method, [["Content-Type", "text/x"], ["X-A", "1"]], body)
    request = server.heard[1]
    assert request.method == then
    assert request.header("x-a") == "1"
    if then == "GET":
        assert (request.body, request.header("content-type"), request.header("content-length")) == (b"", None, None)
    else:
        assert (request.body, request.header("content-type")) == (body or b"", "text/x")


async def test_a_redirect_to_a_host_that_is_not_allowed_is_denied(server):
    with Server() as other:
        server.routes["/"] = lambda talk: talk.redirect(f"{other.url}/x")
        async with brokered(server.url) as broker:
            error = await refused(broker, server.url)
        assert (error.code, other.connections) == ("denied", 0)
        assert "Allowed hosts: 127.0.0.1" in str(error)


async def test_a_redirect_is_checked_anew_for_method_path_and_port(server):
    server.routes["/api/a"] = lambda talk: talk.redirect("/admin")
    server.routes["/api/b"] = lambda talk: talk.redirect("/api/%2e%2e/admin")
    server.routes["/api/c"] = lambda talk: talk.redirect("http://127.0.0.1:1/api")
    server.routes["/api/d"] = lambda talk: talk.redirect("https://127.0.0.1/api")
    async with brokered({**at("127.0.0.1", server), "paths": ["/api"]}) as broker:
        for path in "abcd":
            assert (await refused(broker, f"{server.url}/api/{path}")).code == "denied"
    assert "/admin" not in server.paths()


async def test_a_redirect_from_https_to_http_needs_an_entry_that_allows_it(server, authority):
    context = authority_context(authority, "a.test")
    with Server(tls=context) as secure:
        secure.routes["/"] = lambda talk: talk.redirect(server.at("a.test"))
        entry = {"host": "a.test", "private": True, "ports": [secure.port, server.port]}
        with authority.cert_pem.tempfile() as ca:
            async with brokered(entry, names=Names(**NAMES), ca_file=ca) as broker:
                error = await refused(broker, secure.at("a.test"))
            assert (error.code, server.connections) == ("denied", 0)
            async with brokered({**entry, "http": True}, names=Names(**NAMES), ca_file=ca) as broker:
                assert (await fetch(broker, secure.at("a.test")))["url"] == f"{server.at('a.test')}/"


def authority_context(authority, *names):
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00:ec2::254"]
)
async def test_a_redirect_to_a_name_of_the_own_network_is_denied(server, address):
    server.routes["/"] = lambda talk: talk.redirect("http://public.test/latest/meta-data")
    names = Names(a_test=["127.0.0.1"], public_test=[address])
    async with brokered(at("a.test", server), "http://public.test", names=names) as broker:
        error = await refused(broker, server.at("a.test"))
    assert error.code == "denied"
    assert f"public.test leads to {address}" in str(error)


async def test_credentials_of_the_code_stay_with_the_origin_it_sent_them_to(server):
    server.routes["/away"] = lambda talk: talk.redirect(f"{server.at('b.test')}/there", 307)
    server.routes["/there"] = lambda talk: talk.redirect(f"{server.at('a.test')}/back", 307)
    mine = [["Authorization", "mine"], ["Cookie", "c=1"], ["X-Other", "kept"]]
    async with brokered(at("a.test", server), at("b.test", server), names=Names(**NAMES)) as broker:
        await fetch(broker, f"{server.at('a.test')}/away", "POST", mine, b"data")
        server.routes["/away"] = lambda talk: talk.redirect("/here")
        await fetch(broker, f"{server.at('a.test')}/away", headers=mine)
    seen = [(request.path, request.header("authorization"), request.header("cookie")) for request in server.heard]
    assert seen == [
        ("/away", "mine", "c=1"),
        ("/there", None, None),
        ("/back", None, None),
        ("/away", "mine", "c=1"),
        ("/here", "mine", "c=1"),
    ]
    assert all(request.header("x-other") == "kept" for request in server.heard)
    assert server.heard[1].body == b"data"


async def test_the_body_of_a_307_never_goes_to_a_host_that_is_not_allowed(server):
    with Server() as other:
        server.routes["/"] = lambda talk: talk.redirect(other.url, 307)
        async with brokered(server.url) as broker:
            assert (await refused(broker, server.url, "POST", body=b"data")).code == "denied"
        assert other.connections == 0


async def test_a_redirect_loop_ends(server):
    server.routes["/"] = lambda talk: talk.redirect("/")
    async with brokered(server.url, max_redirects=3) as broker:
        error = await refused(broker, server.url)
    assert (error.code, len(server.heard)) == ("network", 4)
    assert str(error) == "The server redirects more than 3 times"


async def test_each_redirect_counts_as_a_request(server):
    server.routes["/"] = lambda talk: talk.redirect("/")
    async with brokered(server.url, max_requests=3) as broker:
        error = await refused(broker, server.url)
    assert (error.code, len(server.heard), broker.requests) == ("limit", 3, 3)


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("/\\evil.example", "network"),
        ("//user@127.0.0.1/", "network"),
        ("http://[::1", "network"),
        ("/a b", "network"),
        ("/" + "a" * 9000, "network"),
        ("file:///etc/passwd", "denied"),
        ("javascript:alert(1)", "denied"),
    ],
)
async def test_a_location_that_leads_nowhere_is_an_error(server, location, code):
    server.routes["/"] = lambda talk: talk.redirect(location)
    async with brokered(server.url) as broker:
        assert (await refused(broker, server.url)).code == code
    assert len(server.heard) == 1


async def test_two_locations_are_no_redirect(server):
    server.routes["/"] = lambda talk: talk.send(
        b"HTTP/1.1 302 X\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"
    )
    async with brokered(server.url) as broker:
        assert (await refused(broker, server.url)).code == "network"


async def test_a_redirect_without_a_location_is_an_answer(server):
    server.routes["/"] = lambda talk: talk.reply(b"odd", "302 Found")
    async with brokered(server.url) as broker:
        assert (await fetch(broker, server.url))["body"] == b"odd"


async def test_a_location_in_other_alphabets_is_followed(server):
    server.routes["/u"] = lambda talk: talk.send("HTTP/1.1 302 X\r\nLocation: /é\r\nContent-Length: 0\r\n\r\n".encode())
    server.routes["/l"] = lambda talk: talk.send(b"HTTP/1.1 302 X\r\nLocation: /\xe9\r\nContent-Length: 0\r\n\r\n")
    async with brokered(server.url) as broker:
        await fetch(broker, f"{server.url}/u")
        await fetch(broker, f"{server.url}/l")
    assert server.paths() == ["/u", "/%C3%A9", "/l", "/%C3%A9"]


async def test_the_endless_body_of_a_redirect_is_not_read(server):
    def endless(talk):
        talk.send(b"HTTP/1.1 302 X\r\nLocation: /new\r\n\r\n")
        talk.flood(b"x" * 65536)

    server.routes["/"] = endless
    async with brokered(server.url) as broker:
        assert (await fetch(broker, server.url))["redirected"]
        assert broker.received_bytes == 2
