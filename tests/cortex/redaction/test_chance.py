"""Keys made by chance, in the shapes that services give out: by the thousand, because one in a hundred may look tame."""

from __future__ import annotations

import base64
import random
import string
import uuid

import pytest

from cortex.redaction.scan import Scan
from cortex.settings.sections import RedactionSettings

ALL = RedactionSettings().kinds
MANY = 1_000
LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
HEX = DIGITS + "abcdef"
LETTERS = string.ascii_letters + DIGITS
URL_SAFE = LETTERS + "-_"
BASE64 = LETTERS + "+/"


def some(chance, letters, count):
    return "".join(chance.choices(letters, k=count))


# Texts as they are, and how many of which letters are made by chance. The beginnings are in halves, so that those who
# look for keys in repositories find none here.
SHAPES = {
    "anthropic": ("sk-", "ant-api03-", (93, URL_SAFE), "AA"),
    "anthropic admin": ("sk-", "ant-admin01-", (93, URL_SAFE), "AA"),
    "anthropic login": ("sk-", "ant-oat01-", (93, URL_SAFE), "AA"),
    "openai": ("sk-", (20, LETTERS), "T3BlbkFJ", (20, LETTERS)),
    "openai project": ("sk-", "proj-", (156, URL_SAFE)),
    "openai short project": ("sk-", "proj-", (48, LETTERS)),
    "openai service": ("sk-", "svcacct-", (156, URL_SAFE)),
    "openai admin": ("sk-", "admin-", (156, URL_SAFE)),
    "openrouter": ("sk-", "or-v1-", (64, HEX)),
    "deepseek": ("sk-", (32, HEX)),
    "langfuse": ("sk-", "lf-", (8, HEX), "-", (4, HEX), "-", (4, HEX), "-", (4, HEX), "-", (12, HEX)),
    "slack bot": ("xo", "xb-", (12, DIGITS), "-", (13, DIGITS), "-", (24, LETTERS)),
    "slack user": ("xo", "xp-", (12, DIGITS), "-", (12, DIGITS), "-", (12, DIGITS), "-", (32, HEX)),
    "slack refresh": ("xo", "xe-1-", (140, LETTERS)),
    "slack rotated": ("xo", "xe.xoxp-1-", (160, LETTERS)),
    "slack browser": ("xo", "xc-", (12, DIGITS), "-", (12, DIGITS), "-", (12, DIGITS), "-", (64, HEX)),
    "slack app": ("xa", "pp-1-A", (10, UPPER + DIGITS), "-", (13, DIGITS), "-", (64, HEX)),
    "telegram": ((1, "123456789"), (9, DIGITS), ":A", "A", (33, URL_SAFE)),
    "short telegram": ((1, "123456789"), (7, DIGITS), ":A", "A", (33, URL_SAFE)),
    "github": ("gh", "p_", (36, LETTERS)),
    "github server": ("gh", "s_", (36, LETTERS)),
    "github fine": ("github_", "pat_", (22, LETTERS), "_", (59, LETTERS)),
    "gitlab": ("glp", "at-", (20, URL_SAFE)),
    "gitlab runner": ("glr", "t-", (20, URL_SAFE)),
    "gitlab deploy": ("gld", "t-", (20, URL_SAFE)),
    "google": ("AI", "za", (35, URL_SAFE)),
    "google login": ("ya", "29.a0", (180, URL_SAFE)),
    "google client": ("GOC", "SPX-", (28, URL_SAFE)),
    "aws": ("AK", "IA", (16, UPPER + "234567")),
    "stripe": ("sk_", "live_", (24, LETTERS)),
    "long stripe": ("rk_", "live_", (99, LETTERS)),
    "stripe hook": ("wh", "sec_", (32, BASE64)),
    "sendgrid": ("S", "G.", (22, URL_SAFE), ".", (43, URL_SAFE)),
    "npm": ("np", "m_", (36, LETTERS)),
    "pypi": ("py", "pi-AgEIcHlwaS5vcmc", (150, URL_SAFE)),
    "hugging face": ("h", "f_", (34, string.ascii_letters)),
    "groq": ("gs", "k_", (52, LETTERS)),
    "xai": ("xa", "i-", (80, LETTERS)),
    "perplexity": ("pp", "lx-", (48, LETTERS)),
    "replicate": ("r", "8_", (37, LETTERS)),
    "figma": ("fi", "gd_", (40, URL_SAFE)),
    "docker": ("dckr_", "pat_", (27, URL_SAFE)),
    "digital ocean": ("dop", "_v1_", (64, HEX)),
    "databricks": ("da", "pi", (32, HEX)),
    "shopify": ("shp", "at_", (32, HEX)),
    "linear": ("lin_", "api_", (40, LETTERS)),
    "notion": ("nt", "n_", (46, LETTERS)),
    "supabase": ("sb", "p_", (40, HEX)),
    "grafana": ("gl", "sa_", (32, LETTERS), "_", (8, HEX)),
    "vault": ("hv", "s.", (90, URL_SAFE)),
    "atlassian": ("ATA", "TT3xFfGF0", (170, URL_SAFE), "=", (8, HEX.upper())),
    "mailgun": ("ke", "y-", (32, HEX)),
    "new relic": ("NR", "AK-", (27, UPPER + DIGITS)),
    "rubygems": ("ruby", "gems_", (48, HEX)),
    "age": ("AGE-SECRET-", "KEY-1", (58, UPPER + DIGITS)),
}


def keys(shape):
    chance = random.Random(6)
    return [
        "".join(part if isinstance(part, str) else some(chance, part[1], part[0]) for part in SHAPES[shape])
        for _ in range(MANY)
    ]


def missed(before, values, after):
    """Those that are not taken out of such a text from their first character to their last."""
    places, at = [], 0
    for value in values:
        places.append((at + len(before), at + len(before) + len(value)))
        at = places[-1][1] + len(after)
    spans = iter(Scan(ALL).found("".join(f"{before}{value}{after}" for value in values)))
    gone, span = [], next(spans, None)
    for (start, end), value in zip(places, values, strict=True):
        while span is not None and span.end < end:
            span = next(spans, None)
        if span is None or span.start > start:
            gone.append(value)
    return gone


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("before", "after"), [("see ", " there\n"), ('{"a": "', '"}\n')], ids=["text", "json"])
def test_no_key_of_a_known_shape_is_missed(shape, before, after):
    assert missed(before, keys(shape), after) == []


def test_a_telegram_token_in_an_address_is_one():
    assert missed("https://api.telegram.org/bot", keys("telegram"), "/getMe\n") == []


def of_chance(make):
    chance = random.Random(6)
    return [make(chance) for _ in range(2 * MANY)]


BESIDE_WORDS = {
    "uuid": ("api_key: ", lambda c: str(uuid.UUID(int=c.getrandbits(128), version=4)), "\n"),
    "uuid in json": ('{"apiKey": "', lambda c: str(uuid.UUID(int=c.getrandbits(128), version=4)), '"}\n'),
    "small": ('{"client_secret": "', lambda c: some(c, LOWER + DIGITS, 32), '"}\n'),
    "small, unquoted": ("client_secret=", lambda c: some(c, LOWER + DIGITS, 32), "\n"),
    "aws": ("aws_secret_access_key = ", lambda c: some(c, BASE64, 40), "\n"),
    "aws in json": ('{"SecretAccessKey": "', lambda c: some(c, BASE64, 40), '"}\n'),
    "azure": ("AccountKey=", lambda c: base64.b64encode(c.randbytes(64)).decode(), ";EndpointSuffix=core\n"),
    "hex": ('{"access_token": "', lambda c: some(c, HEX, 32), '"}\n'),
    "long hex": ("token: ", lambda c: some(c, HEX, 64), "\n"),
    "url": ("https://x.example/a?access_token=", lambda c: some(c, URL_SAFE, 32), "&b=1\n"),
    "cookie": ("Set-Cookie: sid=", lambda c: some(c, LETTERS, 32), "; Path=/\n"),
    "bearer": ("Authorization: Bearer ", lambda c: some(c, URL_SAFE, 43), "\n"),
    "short sk-": ("see ", lambda c: "sk-" + some(c, URL_SAFE, 22), "\n"),
    "letters": ("api_key=", lambda c: some(c, LETTERS, 24), "\n"),
}


@pytest.mark.parametrize("kind", BESIDE_WORDS)
def test_at_most_one_of_two_hundred_secrets_after_a_key_word_is_missed(kind):
    before, make, after = BESIDE_WORDS[kind]
    values = of_chance(make)
    gone = missed(before, values, after)
    assert len(gone) * 200 <= len(values), gone[:5]


def test_a_secret_in_a_member_with_a_telling_name_is_found():
    values = of_chance(lambda chance: some(chance, LOWER + DIGITS, 32))[:MANY]
    spans = Scan(ALL).found("".join(f"client_secret\x1f{value}\x1e" for value in values))
    assert len(spans) * 200 >= MANY * 199
    assert {span.kind for span in spans} == {"secret"}
