"""What must not be seen is found in each of its spellings, also inside of JSON and of JSON in JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cortex.redaction import Redactor
from cortex.redaction.scan import Scan
from cortex.settings.sections import RedactionSettings

CORPUS = Path(__file__).parent / "corpus" / "found.txt"
MARKED = re.compile("«(.*?)»")
ALL = RedactionSettings().kinds

# In two halves, so that those who look for keys in repositories find none here.
KEYS = [
    ("sk-", "proj-aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW"),
    ("sk-", "ant-api03-aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW"),
    ("sk-", "aB3dE5fG7hI9jK1lM3nO5pQ7"),
    ("sk_" + "live_", "51H8aB3dE5fG7hI9jK1l"),
    ("rk_" + "test_", "51H8aB3dE5fG7hI9jK1l"),
    ("whsec_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9t"),
    ("ghp" + "_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"),
    ("gho" + "_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"),
    ("github" + "_pat_", "11AB3dE5fG7hI9jK1lM3nO_5pQ7rS9tU1vW3xY5aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1"),
    ("glpat" + "-", "aB3dE5fG7hI9jK1lM3nO"),
    ("xoxb" + "-", "123456789012-1234567890123-aB3dE5fG7hI9jK1lM3nO5pQ7"),
    ("xapp" + "-", "1-A0123-456789-aB3dE5fG7hI9jK1l"),
    ("AKI" + "A", "IOSFODNN7EXAMPLE"),
    ("AIz" + "a", "SyA1bC2dE3fG4hI5jK6lM7nO8pQ9rS0tU1v"),
    ("ya29" + ".", "aB3dE5fG7hI9jK1lM3nO5pQ7"),
    ("npm" + "_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"),
    ("pypi" + "-", "AgEIcHlwaS5vcmcCJDEyMzQ1Njc4LTEyMzQtMTIzNC0xMjM0LTEyMzQ1Njc4OTAxMg"),
    ("SG" + ".", "aB3dE5fG7hI9jK1lM3nO5p.aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5aB3dE5f"),
    ("hf" + "_", "aBcdEfGhIjKlMnOpQrStUvWxYzaBcdEfGh"),
    ("gsk" + "_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5aB3dE5fG7hI9jK1l"),
    ("dop" + "_v1_", "0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d" * 2),
    ("shpat" + "_", "0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d"),
    ("glsa" + "_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW_0a1b2c3d"),
    ("hvs" + ".", "CAESIaB3dE5fG7hI9jK1lM3nO5p"),
    ("lin_" + "api_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5aB3d"),
    ("dckr_" + "pat_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9"),
]
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
ENCRYPTED_JWT = "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.OKOawDo13gRp2ojaHV7LFpZcgV7T6DVZ.48V1_ALb6US04U3b.5eym8TW_c8SuK0ltJ3rp.XFBoMYUZodetZdvTiFvSkQ"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn\nygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F7V\n-----END RSA PRIVATE KEY-----"


def corpus():
    for number, line in enumerate(CORPUS.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("#"):
            kind, _, text = line.partition(" ")
            yield pytest.param(kind, text, id=f"{kind}-{number}")


def redacted(text):
    return Redactor(RedactionSettings()).text(text)


@pytest.mark.parametrize(("kind", "marked"), list(corpus()))
def test_each_value_is_found_from_its_first_character_to_its_last(kind, marked):
    text = MARKED.sub(r"\1", marked)
    found = [(span.kind, text[span.start : span.end]) for span in Scan(ALL).found(text)]
    # A block of addresses is told by its size, which is no secret.
    wanted = [value.removesuffix("/32") for value in MARKED.findall(marked)]
    assert found == [(kind, value) for value in wanted]


@pytest.mark.parametrize(("kind", "marked"), list(corpus()))
def test_values_are_also_found_in_nested_json_and_in_parsed_values(kind, marked):
    text, values = MARKED.sub(r"\1", marked), [value.removesuffix("/32") for value in MARKED.findall(marked)]
    once = json.dumps({"before": "line\n", "text": f"\n{text}\n"}, ensure_ascii=False)
    for form in (once, json.dumps(once, ensure_ascii=False), json.dumps([text]).replace("\\\\", "\\")):
        shown = redacted(form)
        assert not [value for value in values if value in shown and value.isascii()]
    shown = Redactor(RedactionSettings()).value({"list": ["x", {"deep": text}], text: 1})
    assert not [value for value in values if value in json.dumps(shown, ensure_ascii=False)]


@pytest.mark.parametrize(("prefix", "rest"), KEYS, ids=[prefix for prefix, _ in KEYS])
@pytest.mark.parametrize(
    "around", ["{}", "key is {}.", '{{"a":"{}"}}', "https://x.example/?k={}&b=1", "\\n{}\\n", "({})"]
)
def test_keys_of_well_known_services(prefix, rest, around):
    key = prefix + rest
    text = around.format(key)
    spans = Scan(["api_key"]).found(text)
    assert [text[span.start : span.end] for span in spans] == [key]


@pytest.mark.parametrize("token", [JWT, ENCRYPTED_JWT])
@pytest.mark.parametrize("around", ["{}", "Authorization: Bearer {}", '{{"jwt":"{}"}}', "a={};", "{}."])
def test_a_jwt_is_one_token(token, around):
    assert redacted(around.format(token)) == around.format("[JWT_1]")


@pytest.mark.parametrize("label", ["RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED ", "DSA "])
def test_a_private_key_goes_with_all_its_lines(label):
    key = PEM.replace("RSA ", label)
    assert redacted(f"a\n{key}\nb") == "a\n[PRIVATE_KEY_1]\nb"
    assert "MIIE" not in redacted(json.dumps({"key": key}))
    assert json.loads(redacted(json.dumps({"key": key}))) == {"key": "[PRIVATE_KEY_1]"}


def test_a_private_key_as_a_list_of_its_lines():
    shown = Redactor(RedactionSettings()).value({"lines": ["first", *PEM.splitlines(), "last"]})
    assert (shown["lines"][0], shown["lines"][-1]) == ("first", "last")
    assert all(line.startswith("[PRIVATE_KEY_") for line in shown["lines"][1:-1])


def test_a_web_hook_is_a_key():
    text = "post to https://hooks.slack" + ".com/services/T00000000/B00000000/aB3dE5fG7hI9jK1lM3nO5pQ7"
    assert redacted(text) == "post to https://hooks.slack.com/services/[API_KEY_1]"


def test_the_brackets_of_go_around_an_address_stay():
    assert redacted(r'"Ann \u003cann@example.com\u003e"') == r'"Ann \u003c[EMAIL_1]\u003e"'
    assert redacted(r"x\njos\u00e9@example.com") == r"x\n[EMAIL_1]"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://ann:hunter2@example.com/a", "https://ann:[SECRET_1]@example.com/a"),
        ("https://example.com/u/ann@example.com/x", "https://example.com/u/[EMAIL_1]/x"),
        ("password=ann@example.com", "password=[SECRET_1]"),
        (f"token: {JWT}", "token: [JWT_1]"),
        ("token=ghp" + "_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5", "token=[API_KEY_1]"),
        ("phone: 4111111111111111", "phone: [CARD_1]"),
        ("İİİ ann@example.com", "İİİ [EMAIL_1]"),
        ("😀ann@example.com😀", "😀[EMAIL_1]😀"),
        ("\ud83d ann@example.com", "\ud83d [EMAIL_1]"),
        ("ann@example.com,bob@example.com", "[EMAIL_1],[EMAIL_2]"),
    ],
)
def test_values_that_overlap_or_stand_side_by_side(text, shown):
    assert redacted(text) == shown


@pytest.mark.parametrize(
    ("cut", "shown"),
    [
        ("mail ann.smith@exam… [truncated: 9 bytes in all]", "mail [EMAIL_1]… [truncated: 9 bytes in all]"),
        ('["4111 1111 1111 1…', '["[CARD_1]…'),
        ("4111 1111 1111 …", "[CARD_1] …"),
        ("DE89 3704 0044 0532 01…", "[IBAN_1]…"),
        ("ghp" + "_aB3dE5fG7h…", "[API_KEY_1]…"),
        (JWT[:60] + "…", "[JWT_1]…"),
        (PEM[:70] + "… (20 more characters left out)", "[PRIVATE_KEY_1]"),
        ("in the end…", "in the end…"),
        ("1234567890123…", "1234567890123…"),
        ("see DE12…", "see DE12…"),
    ],
)
def test_a_value_cut_in_the_middle_is_found(cut, shown):
    assert redacted(cut) == shown


def test_a_long_secret_goes_to_its_last_character():
    secret = "aB3dE5fG7hI9jK1lM3nO5p" * 100
    for text in ("token={}", 'token: "{}"', "a?token={}&b=1"):
        assert redacted(text.format(secret)) == text.format("[SECRET_1]")


def test_behind_the_name_of_a_service_any_long_word_is_a_key():
    assert redacted("sk-" + "ant-api03-" + "onlywordsandwords" * 3) == "[API_KEY_1]"


def test_values_of_a_json_value_are_known_by_their_names():
    headers = {"Authorization": "Bearer mF9xB5fQ4Jq1MzKp7wRt", "x-pass": "Tr0ub4dor&3,(x)"}
    assert Redactor(RedactionSettings()).value(headers) == {
        "Authorization": "Bearer [SECRET_1]",
        "x-pass": "[SECRET_2]",
    }
    value = {
        "user": "ann",
        "password": "hunter2",
        "list": ["password", "hunter3"],
        "phone": 4155552671,
        "ssn": 123456789,
    }
    assert Redactor(RedactionSettings()).value(value) == {
        "user": "ann",
        "password": "[SECRET_1]",
        "list": ["password", "hunter3"],
        "phone": "[PHONE_1]",
        "ssn": "[SSN_1]",
    }
