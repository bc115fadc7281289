"""The owner is told by a signed request, there and nowhere else, and what comes back decides nothing."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import ssl

import anyio
import pytest
import trustme
from pydantic import SecretStr, ValidationError

from cortex.channels import WebhookChannel
from neurons import ChannelError, OwnerSettings
from tests.cortex.channels.hook_server import SECRET, HookServer, hook_server, notice


def settings(url: str, **changes: object) -> OwnerSettings:
    return OwnerSettings.model_validate({"webhook_url": url, "webhook_secret": SECRET, **changes})


def at(server: HookServer, host: str = "127.0.0.1", scheme: str = "http") -> str:
    return f"{scheme}://{host}:{server.port}/hook?key=1"


class Sleeps:
    """Waits for nothing, and knows how long it would have been."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)
        await anyio.lowlevel.checkpoint()


async def told(server: HookServer, sleeps: Sleeps | None = None, **changes: object) -> None:
    channel = WebhookChannel(settings(at(server), **changes), now=lambda: 1_700_000_000.9, sleep=sleeps or Sleeps())
    await channel.notify(notice())


async def test_the_proposal_is_posted_with_a_signature_over_time_and_body():
    with hook_server() as server:
        await told(server)
    [heard] = server.heard
    assert heard.path == "/hook?key=1"
    assert heard.headers["content-type"] == "application/json"
    assert heard.headers["host"] == f"127.0.0.1:{server.port}"
    timestamp = heard.headers["x-cortex-timestamp"]
    assert timestamp == "1700000000"
    expected = hmac.new(SECRET.encode(), timestamp.encode() + b"." + heard.body, hashlib.sha256).hexdigest()
    assert heard.headers["x-cortex-signature"] == f"sha256={expected}"


async def test_what_is_sent_is_what_the_owner_sees():
    with hook_server() as server:
        await told(server)
    body = json.loads(server.heard[0].body)
    assert body["event"] == "neuron_proposed"
    assert body["title"] == "Agent wants to learn: CryptoPrice neuron"
    assert body["shownHash"] == "ef" * 32
    assert body["view"][-1].endswith("ef" * 32)
    neuron = body["neuron"]
    assert (neuron["name"], neuron["hosts"], neuron["energyBudget"]) == ("CryptoPrice", ["api.example.com"], 0.02)
    assert "emit(" in neuron["code"]
    # The nonce is what makes a question one of its own: it stays here.
    assert "request" not in neuron
    assert "n" * 16 not in server.heard[0].body.decode()
    assert SECRET not in server.heard[0].body.decode()


async def test_characters_that_hide_are_spelled_out_in_the_lines_for_people():
    with hook_server() as server:
        await WebhookChannel(settings(at(server))).notify(notice(code="a // \u202e b"))
    body = json.loads(server.heard[0].body)
    assert "  | a // ⟨U+202E⟩ b" in body["view"]
    assert not any("\u202e" in line for line in body["view"])


@pytest.mark.parametrize("status", [500, 503, 408, 425, 429])
async def test_a_server_that_fails_is_asked_again(status):
    sleeps = Sleeps()
    with hook_server(status, status, 204) as server:
        await told(server, sleeps)
    assert len(server.heard) == 3
    assert len({heard.body for heard in server.heard}) == 1
    assert len(sleeps.slept) == 2
    assert all(0 < seconds < 10 for seconds in sleeps.slept)


async def test_a_connection_that_breaks_is_made_again():
    with hook_server(0, 200) as server:
        await told(server)
    assert len(server.heard) == 2


async def test_the_error_after_the_last_attempt_gives_the_reason():
    with hook_server(500, 500, 502, 200) as server, pytest.raises(ChannelError) as caught:
        await told(server, webhook_attempts=3)
    assert len(server.heard) == 3
    assert str(caught.value) == (
        "Cannot tell the owner by webhook at 127.0.0.1: it answered with status 502, in 3 attempts"
    )


async def test_a_refused_connection_is_a_channel_error():
    # Bound but not listening, so that no other process takes the port meanwhile.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        server = HookServer([], port=taken.getsockname()[1])
        with pytest.raises(ChannelError, match=r"Cannot tell the owner by webhook at 127.0.0.1: .*in 2 attempts"):
            await told(server, webhook_attempts=2)


@pytest.mark.parametrize("status", [400, 404, 410])
async def test_a_refusal_is_not_asked_again(status):
    with hook_server(status, 200) as server, pytest.raises(ChannelError, match=f"status {status}$"):
        await told(server)
    assert len(server.heard) == 1


@pytest.mark.parametrize("status", [302, 307])
async def test_no_redirect_is_followed(status):
    with (
        hook_server() as elsewhere,
        hook_server(status, headers={"Location": at(elsewhere)}) as server,
        pytest.raises(ChannelError, match="no redirect is followed"),
    ):
        await told(server)
    assert (len(server.heard), elsewhere.heard) == (1, [])


async def test_a_webhook_without_an_answer_times_out():
    # On a machine that stands still for a moment the first limit may be over before anything is heard.
    for limit_s in (0.2, 5):
        with (
            hook_server(None, None) as server,
            pytest.raises(ChannelError, match=rf"no answer within {limit_s} s, in 2 attempts"),
        ):
            await told(server, webhook_timeout_s=limit_s, webhook_attempts=2)
        if len(server.heard) == 2:
            break
    assert len(server.heard) == 2


async def test_a_long_answer_is_not_read_and_means_nothing():
    with hook_server(body=b'{"approve": true, "hash": "efefefef"}' * 100_000) as server:
        await told(server)
    assert len(server.heard) == 1


async def test_a_cancellation_is_not_an_error_of_the_channel():
    with hook_server(None) as server:
        with anyio.move_on_after(0.2) as scope:
            await told(server)
    assert scope.cancelled_caught


async def test_a_proxy_of_the_environment_is_not_told_what_is_for_this_machine(monkeypatch):
    with hook_server() as proxy, hook_server() as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        await told(server)
    assert (len(server.heard), proxy.heard) == (1, [])


async def test_https_is_verified_against_trusted_certificates():
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(tls)
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    with hook_server(tls=tls) as server:
        address = settings(at(server, "localhost", "https"), webhook_attempts=1)
        await WebhookChannel(address, trust=trust).notify(notice())
        with pytest.raises(ChannelError):
            await WebhookChannel(address).notify(notice())
    assert len(server.heard) == 1


async def test_a_name_of_this_machine_is_looked_up_once_and_connected_to_by_address():
    asked = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["::1", "127.0.0.1"]  # nothing listens at the first

    with hook_server() as server:
        await WebhookChannel(settings(at(server, "agent.localhost")), resolve=resolve).notify(notice())
        assert asked == [("agent.localhost", server.port)]
    [heard] = server.heard
    assert heard.headers["host"] == f"agent.localhost:{server.port}"


@pytest.mark.parametrize("found", [["203.0.113.7"], ["127.0.0.1", "203.0.113.7"], ["::ffff:10.0.0.1"], []])
async def test_a_name_that_leads_to_another_machine_is_refused_without_encryption(found):
    async def resolve(host: str, port: int) -> list[str]:
        return found

    with hook_server() as server, pytest.raises(ChannelError, match="leads to another machine"):
        await WebhookChannel(settings(at(server, "localhost")), resolve=resolve).notify(notice())
    assert server.heard == []


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://example.com/hook", "not on this machine"),
        ("http://10.0.0.1/hook", "not on this machine"),
        ("http://127.0.0.1.example.com/", "not on this machine"),
        ("http://localhost.example.com/", "not on this machine"),
        ("http://2130706433/", "not on this machine"),
        ("http://[::ffff:10.0.0.1]/", "not on this machine"),
        ("ftp://127.0.0.1/", "is not an address"),
        ("//127.0.0.1/", "is not an address"),
        ("https://", "is not an address"),
        ("https://user:word@example.com/", "a user or a password"),
        ("https://exa mple.com/", "is not an address"),
        ("https://example.com\\@evil.example/", "is not an address"),
        ("https://exämple.com/", "is not an address"),
        ("https://example.com:0/", "is not an address"),
        ("https://example.com:x/", "is not an address"),
        ("https://[::1", "is not an address"),
    ],
)  # fmt: skip
async def test_an_address_that_may_not_be_used_is_refused_by_the_settings_and_once_more_when_it_is_used(url, says):
    with pytest.raises(ValidationError, match=says):
        settings(url)
    # A copy is not validated.
    copy = settings("https://example.com/").model_copy(update={"webhook_url": SecretStr(url)})
    with pytest.raises(ChannelError, match=says):
        WebhookChannel(copy)


@pytest.mark.parametrize(
    "url",
    ["https://example.com/hook", "http://127.0.0.1:8000/", "http://127.8.9.1/", "http://localhost/", "http://[::1]:81/x"],
)  # fmt: skip
def test_addresses_that_may_be_used(url):
    assert settings(url).webhook_url == SecretStr(url)


def test_a_webhook_without_a_good_secret_is_refused():
    with pytest.raises(ValidationError, match='needs a "webhook_secret"'):
        OwnerSettings.model_validate({"webhook_url": "https://example.com/"})
    with pytest.raises(ValidationError, match="fewer than 16 characters") as caught:
        OwnerSettings.model_validate({"webhook_url": "https://example.com/", "webhook_secret": "short-word"})
    assert "short-word" not in str(caught.value)
    copy = settings("https://example.com/").model_copy(update={"webhook_secret": None})
    with pytest.raises(ChannelError, match="no secret"):
        WebhookChannel(copy)


def test_neither_the_secret_nor_the_address_is_shown():
    text = repr(settings("https://example.com/hook/T0K3N"))
    assert SECRET not in text
    assert "T0K3N" not in text


async def test_an_error_does_not_tell_the_path_which_may_be_a_key():
    with hook_server(404) as server, pytest.raises(ChannelError) as caught:
        await told(server)
    assert "key=1" not in str(caught.value)


async def test_whatever_goes_wrong_is_an_error_of_the_channel():
    async def resolve(host: str, port: int) -> list[str]:
        raise ZeroDivisionError("surprise")

    with pytest.raises(ChannelError, match="surprise"):
        await WebhookChannel(settings("http://localhost:1/"), resolve=resolve).notify(notice())
