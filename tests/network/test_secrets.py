"""Secrets: added for one host, sent to no other, seen by no code."""

from __future__ import annotations

import base64
import gzip
import html
import json
import logging
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.network import NetworkError, NetworkPolicy, Recorder
from sandbox.network.redaction import MARK, Redactor
from sandbox.network.secrets import MIN_SECRET_LENGTH, read_secrets
from tests.network.conftest import Names, brokered, fetch, header, refused

pytestmark = pytest.mark.usefixtures("nothing_left")

KEY = "s3cr3t/+key=&\"'<x>"
NAMES = {"a_test": ["127.0.0.1"], "b_test": ["127.0.0.1"]}


def entry(server, host="a.test", **more):
    return {"host": host, "http": True, "private": True, "ports": [server.port], **more}


def bearer(server, **more):
    return entry(server, headers={"Authorization": "Bearer ${env:KEY}"}, **more)


async def test_a_header_of_the_entry_is_added_in_place_of_what_the_code_set(server):
    async with brokered(bearer(server), names=Names(**NAMES), environment={"KEY": KEY}) as broker:
        await fetch(broker, server.at("a.test"), headers=[["authorization", "mine"], ["AUTHORIZATION", "mine"]])
    assert server.heard[0].header("authorization") == f"Bearer {KEY}"


async def test_a_query_of_the_entry_is_added_and_not_seen(server):
    server.routes["/q"] = lambda talk: talk.reply(talk.request.path.encode())
    rule = entry(server, query={"key": "${env:KEY}"})
    async with brokered(rule, names=Names(**NAMES), environment={"KEY": KEY}) as broker:
        answer = await fetch(broker, f"{server.at('a.test')}/q?key=mine&x=1")
    assert server.paths() == [f"/q?x=1&key={quote(KEY, safe='')}"]
    assert answer["url"] == f"{server.at('a.test')}/q?key=mine&x=1"
    assert answer["body"] == b"/q?x=1&key=[redacted]"


async def test_a_secret_goes_to_its_own_host_only(server):
    rules = [bearer(server, query={"key": "${env:KEY}"}), entry(server, "b.test")]
    server.routes["/away"] = lambda talk: talk.redirect(f"{server.at('b.test')}/there")
    server.routes["/there"] = lambda talk: talk.redirect(f"{server.at('a.test')}/back")
    async with brokered(*rules, names=Names(**NAMES), environment={"KEY": KEY}) as broker:
        await fetch(broker, f"{server.at('a.test')}/away")
    has_key = [
        (request.path.partition("?")[0], "key=" in request.path, bool(request.header("authorization")))
        for request in server.heard
    ]
    assert has_key == [("/away", True, True), ("/there", False, False), ("/back", True, True)]


async def test_a_secret_goes_only_to_the_paths_of_its_entry(server):
    rules = [bearer(server, paths=["/api"]), entry(server)]
    async with brokered(*rules, names=Names(**NAMES), environment={"KEY": KEY}) as broker:
        await fetch(broker, f"{server.at('a.test')}/api")
        await fetch(broker, f"{server.at('a.test')}/else")
    assert [bool(request.header("authorization")) for request in server.heard] == [True, False]


@pytest.mark.parametrize(
    "spell", [str, lambda key: quote(key, safe=""), lambda key: base64.b64encode(key.encode()).decode()]
)
async def test_a_redirect_that_would_carry_a_secret_elsewhere_is_denied(server, spell):
    server.routes["/"] = lambda talk: talk.redirect(f"{server.at('b.test')}/there?stolen={spell('s3cr3t-key-1')}")
    rules = [bearer(server), entry(server, "b.test")]
    async with brokered(*rules, names=Names(**NAMES), environment={"KEY": "s3cr3t-key-1"}) as broker:
        error = await refused(broker, server.at("a.test"))
    assert (error.code, str(error)) == ("denied", "Cannot follow a redirect: it would carry a secret to another host")
    assert server.paths() == ["/"]


async def test_a_redirect_within_the_host_may_repeat_the_query_and_the_code_does_not_see_it(server):
    server.routes["/old"] = lambda talk: talk.redirect(talk.request.path.replace("/old", "/new"))
    rule = entry(server, query={"key": "${env:KEY}"})
    async with brokered(rule, names=Names(**NAMES), environment={"KEY": "s3cr3t-key-1"}) as broker:
        answer = await fetch(broker, f"{server.at('a.test')}/old?x=1")
        assert answer["url"] == f"{server.at('a.test')}/new?x=1"
        server.routes["/old"] = lambda talk: talk.redirect("/s3cr3t-key-1?other=s3cr3t-key-1")
        answer = await fetch(broker, f"{server.at('a.test')}/old")
        assert answer["url"] == f"{server.at('a.test')}/[redacted]?other=[redacted]"
    assert server.paths()[1] == "/new?x=1&key=s3cr3t-key-1"
    assert server.paths()[3] == "/s3cr3t-key-1?other=s3cr3t-key-1&key=s3cr3t-key-1"


ECHOES = {
    "plain": lambda key: key.encode(),
    "header": lambda key: f"Authorization: Bearer {key}".encode(),
    "percent": lambda key: quote(key, safe="").encode(),
    "percent lower": lambda key: "".join(f"%{ord(char):02x}" if not char.isalnum() else char for char in key).encode(),
    "percent all": lambda key: "".join(f"%{ord(char):02X}" for char in key).encode(),
    "json": lambda key: json.dumps({"key": key}).encode(),
    "json slashes": lambda key: json.dumps({"key": key}).replace("/", "\\/").encode(),
    "html": lambda key: html.escape(key).encode(),
    "hex": lambda key: key.encode().hex().encode(),
    "base64": lambda key: base64.b64encode(key.encode()),
    "base64 of more": lambda key: base64.b64encode(b"user:" + key.encode() + b" and more"),
    "base64 of a little more": lambda key: base64.b64encode(b"u:" + key.encode() + b"."),
    "base64 for urls": lambda key: base64.urlsafe_b64encode(b"?" + key.encode()),
    "utf-16": lambda key: key.encode("utf-16-le"),
    "utf-16 big": lambda key: key.encode("utf-16-be"),
}


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("packed", [False, True])
async def test_an_echo_is_redacted_in_whatever_spelling(server, echo, packed):
    body = b"before " + ECHOES[echo](KEY) + b" after"

    def reply(talk):
        assert talk.request.header("authorization") == f"Bearer {KEY}"
        talk.reply(gzip.compress(body) if packed else body, headers={"Content-Encoding": "gzip"} if packed else {})

    server.routes["/"] = reply
    async with brokered(bearer(server), names=Names(**NAMES), environment={"KEY": KEY}) as broker:
        answer = await fetch(broker, server.at("a.test"))
    marks = (MARK.encode(), MARK.encode("utf-16-le"), MARK.encode("utf-16-be"))
    assert any(mark in answer["body"] for mark in marks)
    assert b"before " in answer["body"]
    assert b"after" in answer["body"]
    rest = answer["body"].replace(b"before ", b"").replace(b" after", b"")
    assert ECHOES[echo](KEY) not in rest
    for form in (KEY.encode(), quote(KEY, safe="").encode(), base64.b64encode(KEY.encode()), KEY.encode("utf-16-le")):
        assert form not in answer["body"]


async def test_an_echo_across_two_packets_is_redacted(server):
    def reply(talk):
        talk.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\ns3cr3t\r\n")
        talk.send(b"6\r\n-key-1\r\n0\r\n\r\n")

    server.routes["/"] = reply
    async with brokered(bearer(server), names=Names(**NAMES), environment={"KEY": "s3cr3t-key-1"}) as broker:
        assert (await fetch(broker, server.at("a.test")))["body"] == b"[redacted]"


async def test_an_echo_in_a_long_body_is_redacted(server):
    server.routes["/"] = lambda talk: talk.reply(b"x" * 1_000_000 + b"s3cr3t-key-1" + b"x")
    async with brokered(bearer(server), names=Names(**NAMES), environment={"KEY": "s3cr3t-key-1"}) as broker:
        assert (await fetch(broker, server.at("a.test")))["body"].endswith(b"xx[redacted]x")


async def test_an_echo_in_headers_and_status_is_redacted_and_none_in_a_log(server, caplog):
    caplog.set_level(logging.DEBUG)
    encoded = base64.b64encode(b"user:s3cr3t-key-1").decode()
    server.routes["/"] = lambda talk: talk.reply(
        b"", "200 s3cr3t-key-1", {"X-Echo": "Bearer s3cr3t-key-1", "s3cr3t-key-1": "x", "Location": f"/?a={encoded}"}
    )
    async with brokered(bearer(server), names=Names(**NAMES), environment={"KEY": "s3cr3t-key-1"}) as broker:
        answer = await fetch(broker, server.at("a.test"))
    assert answer["statusText"] == "[redacted]"
    assert header(answer, "x-echo") == "[redacted]"
    assert "s3cr3t" not in str(answer)
    assert encoded[8:-4] not in str(answer)
    assert "s3cr3t" not in caplog.text


async def test_an_echo_in_an_error_is_redacted_and_so_is_its_cause(server):
    import traceback

    def reply(talk):
        talk.send(b"HTTP/1.1 s3cr3t-key-1\r\n\r\n")
        talk.hang_up()

    server.routes["/"] = reply
    async with brokered(bearer(server), names=Names(**NAMES), environment={"KEY": "s3cr3t-key-1"}) as broker:
        error = await refused(broker, server.at("a.test"))
    assert "[redacted]" in str(error)
    assert "s3cr3t" not in "".join(traceback.format_exception(error))


async def test_the_password_of_basic_credentials_is_redacted_when_a_server_takes_it_out(server):
    encoded = base64.b64encode(b"user:open-sesame-1").decode()
    server.routes["/"] = lambda talk: talk.reply(f"hello open-sesame-1 {encoded}".encode())
    rule = entry(server, headers={"Authorization": "Basic ${env:KEY}"})
    async with brokered(rule, names=Names(**NAMES), environment={"KEY": encoded}) as broker:
        assert (await fetch(broker, server.at("a.test")))["body"] == b"hello [redacted] [redacted]"


async def test_credentials_that_an_owner_wrote_out_are_redacted_too(server):
    server.routes["/"] = lambda talk: talk.reply(b"dTpvcGVuLXNlc2FtZQ== open-sesame Basic nothing application/json")
    rule = entry(server, headers={"Authorization": "Basic dTpvcGVuLXNlc2FtZQ==", "Accept": "application/json"})
    async with brokered(rule, names=Names(**NAMES)) as broker:
        answer = await fetch(broker, server.at("a.test"))
    assert answer["body"] == b"[redacted] [redacted] Basic nothing application/json"
    assert server.heard[0].header("accept") == "application/json"


async def test_a_recording_holds_no_secret(server):
    server.routes["/"] = lambda talk: talk.reply(talk.request.header("authorization").encode(), headers={"X": KEY})
    recorder = Recorder()
    rule = bearer(server, query={"key": "${env:KEY}", "plain": "1"})
    async with brokered(rule, names=Names(**NAMES), environment={"KEY": KEY}, recorder=recorder) as broker:
        await fetch(broker, server.at("a.test"), headers=[["authorization", "mine"], ["x", "y"]])
    (exchange,) = recorder.exchanges
    assert exchange.url == f"{server.at('a.test')}/"
    assert exchange.request_headers == (("x", "y"), ("authorization", "[redacted]"))
    assert exchange.body == b"[redacted]"
    assert b"s3cr3t" not in recorder.to_json()


def broker_error(**policy):
    environment = policy.pop("environment", {})
    from sandbox.network import FetchBroker

    with pytest.raises(NetworkError) as caught:
        FetchBroker(NetworkPolicy.model_validate(policy), environment=environment)
    return str(caught.value)


def test_a_missing_secret_is_named_and_a_present_one_never_shown(tmp_path):
    rule = {"host": "a.test", "headers": {"x": "${env:MISSING}"}}
    assert broker_error(allow=[rule]) == "Cannot use the entry for a.test: the environment variable MISSING is not set"
    rule = {"host": "a.test", "query": {"x": "${secret:MISSING}"}}
    assert "an entry refers to a secrets file" in broker_error(allow=[rule])
    file = tmp_path / "secrets"
    file.write_text("OTHER=hidden-value\n")
    file.chmod(0o600)
    assert "the secret MISSING is not in the secrets file" in broker_error(allow=[rule], secrets_file=file)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("short", f"has fewer than {MIN_SECRET_LENGTH} characters"),
        ("", "has fewer than"),
        ("two-lines\nof-secret", "a character that a header cannot carry"),
        ("schlüssel-lang", "a character that a header cannot carry"),
        ("spaces-around ", "a character that a header cannot carry"),
    ],
)
def test_a_secret_that_cannot_be_sent_or_hidden_is_refused(value, message):
    error = broker_error(allow=[{"host": "a.test", "headers": {"x": "${env:KEY}"}}], environment={"KEY": value})
    assert message in error
    assert not value or value not in error


def test_a_secrets_file_is_lines_or_toml(tmp_path):
    lines = tmp_path / "secrets.env"
    lines.write_text("# comment\n\nexport A = one\nB='two words'\nC=\"x=y\"\nD.e-f='\n")
    assert read_secrets(lines) == {"A": "one", "B": "two words", "C": "x=y", "D.e-f": "'"}
    toml = tmp_path / "secrets.toml"
    toml.write_text('A = "one"\nB = 2\n')
    assert read_secrets(toml) == {"A": "one"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a", b"VALUE ONLY hidden", "line 1"),
        ("a", b"\xff\xfe", "is not text of its kind"),
        ("a.toml", b"hidden", "is not text of its kind"),
        ("a", b"A=" + b"x" * 1_100_000, "is larger than"),
        ("a", None, "cannot be read"),
    ],
)
def test_a_secrets_file_that_cannot_be_read_is_an_error_without_its_content(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(NetworkError, match=message) as caught:
        read_secrets(tmp_path / name)
    assert "hidden" not in str(caught.value)
    assert caught.value.__cause__ is None or isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o644, True)])
def test_a_secrets_file_that_everybody_can_read_is_warned_about(tmp_path, caplog, mode, warned):
    file = tmp_path / "secrets"
    file.write_text("A=hidden-value")
    file.chmod(mode)
    assert read_secrets(file) == {"A": "hidden-value"}
    assert ("chmod 600" in caplog.text) is warned
    assert "hidden" not in caplog.text


async def test_secrets_come_from_the_file_and_from_the_environment(server, tmp_path, monkeypatch):
    file = tmp_path / "secrets"
    file.write_text("FILE_KEY=from-the-file\n")
    file.chmod(0o600)
    monkeypatch.setenv("CORTEX_TEST_KEY", "from-the-environment")
    rule = entry(
        server, headers={"X-File": "${secret:FILE_KEY}", "X-Both": "${env:CORTEX_TEST_KEY}:${secret:FILE_KEY}"}
    )
    from sandbox.network import FetchBroker

    policy = NetworkPolicy.model_validate({"allow": [rule], "secrets_file": file})
    broker = FetchBroker(policy, resolver=Names(**NAMES))
    await fetch(broker, server.at("a.test"))
    await broker.aclose()
    assert server.heard[0].header("x-file") == "from-the-file"
    assert server.heard[0].header("x-both") == "from-the-environment:from-the-file"


@given(
    st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=8, max_size=40),
    st.binary(max_size=7),
    st.binary(max_size=7),
)
def test_no_secret_survives_base64_wherever_it_begins(secret, before, after):
    whole = base64.b64encode(before + secret.encode() + after)
    left = Redactor([secret]).data(whole)
    assert MARK.encode() in left


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=8, max_size=40), st.text(max_size=20))
def test_no_secret_survives_in_a_text(secret, around):
    redactor = Redactor([secret, f"Bearer {secret}"])
    for text in (secret, json.dumps(secret), quote(secret, safe=""), html.escape(secret)):
        assert redactor.holds(around + text)
        assert text not in redactor.text(f"{text} {text}")


@given(st.binary(max_size=300))
def test_nothing_is_redacted_where_no_secret_is(data):
    assert Redactor().data(data) == data
    assert Redactor(["a-secret-that-is-not-there"]).data(data) == data
