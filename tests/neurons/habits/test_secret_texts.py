"""What looks like a secret is taken out, what does not stays, and no text takes long."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings, strategies as st

from neurons.habits.secret_texts import MARK, MAX_DEPTH, without_keys, without_secret_values, without_secrets

RANDOM = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fX"

SECRET = [
    "sk-proj-abcdefghij0123456789",
    "sk_live_abcdefghij0123456789",
    "ghp_abcdefghij0123456789abcdefghij012345",
    "github_pat_11ABCDEFG0123456789",
    "glpat-abcdefghij0123456789",
    "xoxb-123456789012-abcdefghijkl",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-def_ghi",
    "Bearer abcdef0123456789",
    "basic dXNlcjpwYXNzd29yZA==",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA",
    RANDOM,
]


@pytest.mark.parametrize("secret", SECRET)
def test_what_looks_like_a_key_is_taken_out_wherever_it_stands(secret):
    for text in (secret, f"before {secret} after", f'"{secret}"', f"https://a.example/?x={secret}&y=1"):
        assert secret not in without_keys(text)
        assert MARK in without_secrets(text)
    assert without_secret_values({"a": [{"b": f"x {secret}"}]}) == {"a": [{"b": without_secrets(f"x {secret}")}]}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("password=hunter2", f"password={MARK}"),
        ("https://a.example/?api_key=short1&q=x", f"https://a.example/?api_key={MARK}&q=x"),
        ('{"access_token": "abc"}', '{"access_token": "abc"}'),
        ('{"access_token": "abcd", "n": 1}', f'{{"access_token": "{MARK}", "n": 1}}'),
        ("{'client_secret':'abcdef'}", f"{{'client_secret':'{MARK}'}}"),
        (r"{\"apiKey\":\"abcdef\"}", rf"{{\"apiKey\":\"{MARK}\"}}"),
        ("X-Api-Key: abcdef", f"X-Api-Key: {MARK}"),
        ("Authorization: token abcdef", f"Authorization: token {MARK}"),
        ("https://user:pass@a.example/", f"https://{MARK}@a.example/"),
        ("session=abc123def456ghi", f"session={MARK}"),
    ],
)
def test_what_stands_behind_a_name_that_says_so_is_taken_out(text, clean):
    assert without_secrets(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the token is ETH, the key is C",
        'token: "BTC", key: "name"',
        "https://a.example/v3/coins/bitcoin?vs_currency=usd&ids=bitcoin,ethereum",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "123e4567-e89b-12d3-a456-426614174000",
        "a-very-long-name-of-something-that-is-not-a-secret-at-all",
        "thisIsAVeryLongCamelCaseNameOfSomethingThatIsNotASecret",
        "2026-03-01T12:00:00.000Z",
        "https://a.example:8080/@user/x",
        "author: Ann Example; passenger: Bob",
    ],
)
def test_what_is_not_secret_stays(text):
    assert without_secrets(text) == text
    assert without_secret_values({"text": [text]}) == {"text": [text]}


def test_values_are_taken_out_by_the_name_that_they_stand_under():
    value = {
        "password": "x",
        "user": {"apiKey": "k", "API-KEY": "k", "name": "Ann", "refresh_token": "r", "Set-Cookie": "a=b"},
        "token": "ETH",
        "session": "abc123def456ghi",
        "keys": ["a", 1, None, True, 2.5],
        "secret": "",
        "credentials": {"user": "Ann"},
        "pin": 1234,
    }
    assert without_secret_values(value) == {
        "password": MARK,
        "user": {"apiKey": MARK, "API-KEY": MARK, "name": "Ann", "refresh_token": MARK, "Set-Cookie": MARK},
        "token": "ETH",
        "session": MARK,
        "keys": ["a", 1, None, True, 2.5],
        "secret": "",
        "credentials": {"user": "Ann"},
        "pin": 1234,
    }


def test_code_keeps_what_its_names_stand_for():
    code = "const password = await ask(); login({ password: user.password, token })"
    assert without_keys(code) == code


def test_what_is_nested_too_deep_is_taken_out():
    value: object = "x"
    for _ in range(10_000):
        value = [value]
    assert MARK in str(without_secret_values(value))
    shallow: object = "x"
    for _ in range(MAX_DEPTH):
        shallow = [shallow]
    assert without_secret_values(shallow) == shallow


@pytest.mark.parametrize(
    "text",
    [
        "a" * 300_000,
        "aB3" * 100_000,
        "a_" * 150_000,
        "a.b-" * 75_000,
        "password=" * 30_000,
        "x=" * 150_000,
        "://" * 100_000,
        "://a:" * 60_000,
        "eyJ" + "a" * 300_000,
        "eyJaaaaaaaa." * 25_000,
        "-----BEGIN PRIVATE KEY-----" * 5_000,
        "bearer " * 40_000,
        '"key":"' * 40_000,
        " " * 300_000,
        "sk-" * 100_000,
    ],
)
def test_any_text_takes_linear_time(text):
    start = time.process_time()
    without_secrets(text)
    assert time.process_time() - start < 2


@settings(deadline=None, max_examples=50)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_was_cleaned_is_clean_and_of_the_same_form(value):
    clean = without_secret_values(value)
    assert without_secret_values(clean) == clean
    assert type(clean) is type(value)
