"""Texts that were made to take long: the time grows with their length, and with nothing else."""

from __future__ import annotations

import pytest

from cortex.redaction import Redactor
from cortex.settings.sections import RedactionSettings
from tests.cpu_clock import cpu_clock

SIZE = 60_000
# Each takes a few milliseconds of CPU. If the time grew as the square it would be half a minute.
CPU_SECONDS = 4.0

REPEATED = [
    "a@", "a@a.", "a.a.a.a.a@", "@", "%40a", "a" * 63 + "@a.b-", "1", "1-", "4111 ", "4111111111111112 ", "1.2.3.4.",
    "1.2.3.4 ", "1.", "a:", ":", "2001:db8:: ", "::ffff:", "f:", "eyJ", "eyJ.", "eyJa.eyJb.", "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\x1e", "password=", "password\\\"':", "token: ", "pass    ",
    "api_key", "api_key=aB3", "secret is ", "--token ", "://", "://a:", "://a:b", "+1 ", "+", "+1(", "(", "(415) ",
    "DE89 3704 ", "A", "AA11", "AA11 ", "sk-", "sk-a", "xoxb-", "_", "a_", "ghp_", "github_pat_", "…", "a@b…", "1…", "A1…",
    "phone: ", "phone 1234567 ", "tel:1 ", "[EMAIL_", "[EMAIL_1]", "\\u0061", "\\n@x", "\\", "\\u", "bearer ", "ssn: ",
    "ssn 123 45 ", " ", "\n", "x", "\x1e", "\x1f", "password\x1f", "0 ", "01 23 45 67 8 ", "0012 34 ", "-", "\"'\\", "İ", "😀",
]  # fmt: skip


# What a look ahead without a bound, or done once too often, shows at this size only. Each takes up to a second, and
# under coverage on a slow machine three.
LARGE, LARGE_CPU_SECONDS = 1_000_000, 10.0
LARGE_PARTS = {
    "key": "-----BEGIN PRIVATE KEY-----\x1e",
    "jwt": "eyJ",
    "cut": "AAA@a…",
    "values in values": "api_key=a",
    "values of the shortest word": "session=",
    "services": "sk-proj-ant-",
    "bots": "12345678:AA",
}


@pytest.mark.parametrize("part", REPEATED, ids=[repr(part)[1:-1][:30] for part in REPEATED])
def test_the_time_to_redact_grows_linearly_with_the_text(part):
    text = part * (SIZE // len(part))
    with cpu_clock(CPU_SECONDS):
        Redactor(RedactionSettings()).text(text)
        Redactor(RedactionSettings()).text(text + "@x.com")


@pytest.mark.parametrize("part", LARGE_PARTS.values(), ids=LARGE_PARTS)
def test_a_hostile_text_of_a_megabyte_is_redacted_in_time(part):
    text = part * (LARGE // len(part))
    with cpu_clock(LARGE_CPU_SECONDS):
        Redactor(RedactionSettings()).text(text)


@pytest.mark.parametrize(
    "value",
    [
        [{}] * 30_000,
        ["-----BEGIN PRIVATE KEY-----"] * 5_000,
        {f"password{number}": f"hunter{number}" for number in range(5_000)},
        [10**15 + number for number in range(20_000)],
        ["a@b.co"] * 10_000,
        ["\x1e"] * 30_000,
    ],
    ids=["empty", "keys", "passwords", "numbers", "emails", "signs"],
)
def test_the_time_to_redact_a_value_grows_linearly_with_its_size(value):
    with cpu_clock(CPU_SECONDS):
        Redactor(RedactionSettings(restore=True)).restored(Redactor(RedactionSettings()).value(value))
