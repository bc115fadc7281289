"""Who is let in over HTTP, and where a server listens: decided on plain data."""

from __future__ import annotations

import pytest

from cortex.mcp_server import HttpDoor

TOKEN = "t" * 32
DOOR = HttpDoor(TOKEN, ["Cortex.example", "other.example:8443"], ["https://inspector.example/"])


def status(**headers: str | list[str]) -> int | None:
    given = {"host": "127.0.0.1:8765", "authorization": f"Bearer {TOKEN}", **headers}
    found = {name: [value] if isinstance(value, str) else value for name, value in given.items()}
    refusal = DOOR.refusal(found)
    assert refusal is None or refusal.text
    return None if refusal is None else refusal.status


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:1", "localhost:8765", "LOCALHOST", "[::1]:8765", "cortex.example:9", "other.example:8443"],
)
def test_a_host_name_of_this_server_is_accepted(host):
    assert status(host=host) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8765",
        "127.0.0.1:8765@evil.example",
        "evil.example:127.0.0.1",
        "localhost:x",
        "other.example",
        "other.example:1",
        "127.0.0.1:1:1",
        [],
        ["127.0.0.1", "evil.example"],
    ],
)
def test_another_host_name_is_refused(host):
    assert status(host=host) == 421


@pytest.mark.parametrize("origin", ["https://inspector.example", "HTTPS://Inspector.example"])
def test_an_origin_in_the_settings_is_accepted(origin):
    assert status(origin=origin) is None


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://127.0.0.1:8765",
        "http://localhost",
        "http://inspector.example",
        "https://inspector.example.evil",
        ["https://inspector.example", "https://evil.example"],
        ["https://inspector.example", "https://inspector.example"],
    ],
)
def test_another_origin_is_refused(origin):
    assert status(origin=origin) == 403


@pytest.mark.parametrize("given", [f"bearer {TOKEN}", f"BEARER {TOKEN}", f"Bearer  {TOKEN} "])
def test_the_right_token_is_accepted(given):
    assert status(authorization=given) is None


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        "Bearer ",
        TOKEN,
        f"Basic {TOKEN}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        "Bearer \xff\xfe",
        "Bearer \ud800",
        [],
        [f"Bearer {TOKEN}", f"Bearer {TOKEN}"],
    ],
)
def test_any_other_authorization_is_refused(given):
    assert status(authorization=given) == 401


def test_only_a_cors_preflight_needs_no_token():
    asking = {"host": ["localhost"], "origin": ["https://inspector.example"]}
    assert DOOR.refusal(asking, is_preflight=True) is None
    assert DOOR.refusal({**asking, "origin": ["https://evil.example"]}, is_preflight=True).status == 403
    assert DOOR.refusal({**asking, "host": ["evil.example"]}, is_preflight=True).status == 421
    assert DOOR.refusal({"host": ["localhost"]}, is_preflight=True).status == 401


def test_no_origin_is_accepted_unless_the_settings_name_it():
    refusal = HttpDoor(TOKEN).refusal(
        {"host": ["localhost"], "origin": ["http://localhost"], "authorization": [f"Bearer {TOKEN}"]}
    )
    assert refusal.status == 403
