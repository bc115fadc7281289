"""Secrets: added for one host, sent to no other, seen by no code."""

from __future__ import annotations

import base64
import gzip
import html
import json
import logging
import quopri
from urllib.parse import quote, unquote

import pytest
from hypothesis import assume, given, strategies as st

from sandbox.network import NetworkError, NetworkPolicy, Recorder
from sandbox.network.secret_echoes import MARK, Redactor
from sandbox.network.secrets import MIN_SECRET_LENGTH, read_secrets
from tests.sandbox.network.conftest import Names, brokered, fetch, header, refused

pytestmark = pytest.mark.usefixtures("nothing_left")

KEY = "s3cr3t/+key=&\"'<x>"
HEAD = b"HTTP/1.1 200 OK\r\n"
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


def each(key, form):
    return "".join(char if char.isalnum() else form % ord(char) for char in key)


def lines_of_64(data):
    return b"\r\n".join(data[at : at + 64] for at in range(0, len(data), 64))


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
    "base64 in lines": lambda key: base64.encodebytes(b"x" * 50 + key.encode() + b"x" * 50),
    "base64 in lines of 64": lambda key: lines_of_64(base64.b64encode(b"x" * 40 + key.encode() + b"x" * 50)),
    "base64 in a URL": lambda key: quote(base64.b64encode(b"?" + key.encode()), safe="").encode(),
    "percent twice": lambda key: quote(quote(key, safe=""), safe="").encode(),
    "percent of some": lambda key: quote(key, safe="/:@&=+$,").encode(),
    "json in json": lambda key: json.dumps(json.dumps(json.dumps(key))).encode(),
    "json numbers": lambda key: each(key, "\\u%04X").encode(),
    "script": lambda key: each(key, "\\x%02x").encode(),
    "html numbers": lambda key: each(key, "&#%d;").encode(),
    "html hex": lambda key: each(key, "&#x%X;").encode(),
    "html of some": lambda key: html.escape(key).replace("/", "&sol;").replace("=", "&#x3D;").encode(),
    "html twice": lambda key: html.escape(html.escape(key)).encode(),
    "html in json": lambda key: json.dumps(html.escape(key)).replace("&", "\\u0026").encode(),
    "quoted-printable": lambda key: quopri.encodestring(b"x" * 66 + key.encode()),
    "hex dump": lambda key: key.encode().hex(" ").encode(),
    "numbers": lambda key: json.dumps(list(key.encode())).encode(),
    "utf-32": lambda key: key.encode("utf-32-le"),
    "utf-32 big": lambda key: key.encode("utf-32-be"),
    "utf-16": lambda key: key.encode("utf-16-le"),
    "utf-16 big": lambda key: key.encode("utf-16-be"),
}


@pytest.mark.parametrize(("echo", "packed"), [*((echo, False) for echo in ECHOES), ("plain", True), ("html", True)])
async def test_an_echo_is_redacted_in_whatever_spelling(server, echo, packed):
    body = b"before " + ECHOES[echo](KEY) + b" after"

    def reply(talk):
        assert talk.request.header("authorization") == f"Bearer {KEY}"
        talk.reply(gzip.compress(body) if packed else body, headers={"Content-Encoding": "gzip"} if packed else {})

    server.routes["/"] = reply
    async with brokered(bearer(server), names=Names(**NAMES), environment={"KEY": KEY}) as broker:
        answer = await fetch(broker, server.at("a.test"))
    assert b"before " in answer["body"]
    assert b"after" in answer["body"]
    rest = answer["body"].replace(b"before ", b"").replace(b" after", b"")
    assert ECHOES[echo](KEY) not in rest
    assert MARK.encode() in rest.replace(b"\0", b"")
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
    assert str(error) == "a.test does not speak HTTP as it should"
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


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=8, max_size=40), st.data())
def test_no_secret_survives_a_mixture_of_escapes(secret, data):
    assume("\\\\" not in secret)  # a row of backslashes is spelled in one way
    ways = ["%{:02x}", "%25{:02X}", "\\u{:04x}", "\\x{:02X}", "&#{:d};", "&#x{:x};", "&amp;#{:d};", "={:02X}"]
    mixed = "".join(
        char if char.isalnum() else data.draw(st.sampled_from([char, *(way.format(ord(char)) for way in ways)]))
        for char in secret
    )
    assert MARK in Redactor([secret]).text(f"before {mixed} after")


async def test_a_login_that_carries_the_query_on_takes_no_secret_to_another_host(server):
    """What ordinary frameworks do: each login puts the URL that it was asked for into its own."""
    there = server.at("b.test")
    server.routes["/api"] = lambda talk: talk.redirect("/login?next=" + quote(talk.request.path, safe=""))
    server.routes["/login"] = lambda talk: talk.redirect(f"{there}/sso?back=" + quote(talk.request.path, safe=""))
    rules = [entry(server, query={"key": "${env:KEY}"}), entry(server, "b.test")]
    async with brokered(*rules, names=Names(**NAMES), environment={"KEY": KEY}) as broker:
        error = await refused(broker, f"{server.at('a.test')}/api")
        assert (error.code, "carry a secret" in str(error)) == ("denied", True)
        server.routes["/login"] = lambda talk: talk.reply(b"who are you?")
        seen = [(await fetch(broker, f"{server.at('a.test')}/api"))["url"]]
        manual = await fetch(broker, f"{server.at('a.test')}/api", redirect="manual")
        seen.append(header(manual, "location"))
    for text in seen:
        assert "[redacted]" in text
        assert KEY not in unquote(unquote(unquote(text)))
        assert "s3cr3t" not in text
    assert {request.path.partition("?")[0] for request in server.heard} == {"/api", "/login"}


@pytest.mark.parametrize("layers", [1, 2, 3, 7, 20])
async def test_no_number_of_layers_takes_a_secret_to_another_host(server, layers):
    hidden = "".join(f"%{ord(char):02x}" for char in KEY)
    for _ in range(layers - 1):
        hidden = hidden.replace("%", "%25")
    server.routes["/"] = lambda talk: talk.redirect(f"{server.at('b.test')}/?{hidden}")
    async with brokered(
        bearer(server), entry(server, "b.test"), names=Names(**NAMES), environment={"KEY": KEY}
    ) as broker:
        assert (await refused(broker, server.at("a.test"))).code == "denied"
        answer = await fetch(broker, server.at("a.test"), redirect="manual")
    assert header(answer, "location").endswith("[redacted]")
    assert server.paths() == ["/", "/"]


@pytest.mark.parametrize("row", ["=" * 20, "\\" * 20, "%" * 20, "&" * 20, "=3D" * 10, "\\=" * 15])
def test_a_search_comes_to_an_end_whatever_the_secret_is_made_of(row):
    redactor = Redactor([f"a{row}b"])
    for text in (row, row * 2, "=" * 200, "\\" * 200, "=3D" * 60, "%25" * 60, "&amp;" * 60):
        assert redactor.text(f"a{text}x") == f"a{text}x"
    assert redactor.text(f"a{row}b") == MARK


def test_a_text_with_percent_signs_and_no_secret_is_left_as_it_is():
    for text in ("/a%20b?x=%2541%zz&100%", "%25252525252525", "50% off"):
        assert Redactor([KEY]).text(text) == text


async def test_a_redirect_whose_host_is_a_secret_is_denied_though_hosts_have_no_capitals(server):
    server.routes["/"] = lambda talk: talk.redirect(f"http://S3cr3tKey1.b.test:{server.port}/")
    names = Names(**NAMES)
    async with brokered(
        bearer(server), entry(server, "*.b.test"), names=names, environment={"KEY": "S3cr3tKey1"}
    ) as broker:
        assert "carry a secret" in str(await refused(broker, server.at("a.test")))
    assert names.asked == ["a.test"]


async def test_an_echo_is_found_wherever_the_search_of_a_long_body_takes_a_step():
    turns = 0

    async def turn():
        nonlocal turns
        turns += 1

    redactor = Redactor([KEY])
    for echo in ("plain", "html", "base64"):
        spelled = ECHOES[echo](KEY)
        for at in (65536 - len(spelled), 65536 - 3, 65536, 2 * 65536 - 1):
            left = await redactor.body(b"\0" * at + spelled + b"\0" * 4 * 65536, turn)
            assert left.startswith(b"\0" * at + b"[redacted]")
    turns = 0
    await redactor.body(bytes(1024 * 1024), turn)
    assert turns > 16 * 4  # the four patterns, step by step


async def test_half_of_a_secret_in_an_error_is_not_shown(server, monkeypatch):
    import httpcore2

    from sandbox.network.connections import CheckedBackend

    async with brokered(bearer(server), names=Names(**NAMES), environment={"KEY": "s3cr3t-key-1"}) as broker:
        for before in (10, 180, 190, 195):
            server.routes["/"] = lambda talk: talk.send(HEAD + b"A" * before + b"s3cr3t-key-1\r\n\r\n")  # noqa: B023
            assert "s3cr3t" not in str(await refused(broker, server.at("a.test")))

        async def breaks(*_, **__):
            raise httpcore2.ConnectError("A" * 190 + "s3cr3t-key-1")

        monkeypatch.setattr(CheckedBackend, "connect_tcp", breaks)
        assert "s3cr3t" not in str(await refused(broker, server.at("a.test")))


async def test_a_scheme_that_a_server_made_up_is_not_repeated(server):
    server.routes["/"] = lambda talk: talk.redirect("s3cr3tkey1:x")
    async with brokered(bearer(server), names=Names(**NAMES), environment={"KEY": "S3cr3tKey1"}) as broker:
        error = await refused(broker, server.at("a.test"))
    assert (error.code, "s3cr3t" in str(error)) == ("denied", False)


async def test_no_part_of_an_answer_can_be_asked_for_where_a_secret_goes(server):
    asked = [["Range", "bytes=0-3"], ["If_Range", "x"], ["X-A", "1"]]
    rules = [bearer(server, paths=["/h"]), entry(server, paths=["/q"], query={"k": "${env:KEY}"}), entry(server)]
    async with brokered(*rules, names=Names(**NAMES), environment={"KEY": KEY}) as broker:
        for path in ("/h", "/q", "/other"):
            await fetch(broker, server.at("a.test") + path, headers=asked)
    assert [(heard.header("range"), heard.header("if_range")) for heard in server.heard] == [
        (None, None),
        (None, None),
        ("bytes=0-3", "x"),
    ]
    assert all(heard.header("x-a") == "1" for heard in server.heard)


async def test_no_other_spelling_of_a_header_stands_beside_that_of_the_entry(server):
    rules = [entry(server, headers={"X-Tenant": "mine", "X_Other_Name": "mine"})]
    recorder = Recorder()
    tricks = [["x_tenant", "theirs"], ["X-Tenant", "theirs"], ["x-other_name", "theirs"], ["content_length", "9"]]
    async with brokered(*rules, names=Names(**NAMES), recorder=recorder) as broker:
        await fetch(broker, server.at("a.test"), headers=tricks)
    assert "theirs" not in str(server.heard[0].headers)
    assert "content_length" not in str(server.heard[0].headers)
    assert recorder.exchanges[0].request_headers == (("x-tenant", "mine"), ("x_other_name", "mine"))
