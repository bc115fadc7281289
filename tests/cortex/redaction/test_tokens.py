"""Tokens across restarts: the numbers stay, and the values are not in the file."""

from __future__ import annotations

import json
import logging
import stat

import pytest

from cortex.redaction import Redactor, Tokens
from cortex.settings.sections import RedactionSettings

SETTINGS = RedactionSettings(restore=True)


def redactor(path):
    return Redactor(SETTINGS, Tokens(path))


def test_after_a_restart_a_value_has_the_token_that_it_had(tmp_path):
    path = tmp_path / "conversations" / "one.tokens"
    assert redactor(path).text("ann@example.com bob@example.com 203.0.113.7") == "[EMAIL_1] [EMAIL_2] [IP_1]"
    again = redactor(path)
    assert again.text("bob@example.com carol@example.com") == "[EMAIL_2] [EMAIL_3]"
    assert again.restored("[EMAIL_1] [EMAIL_2]") == "[EMAIL_1] bob@example.com"
    assert redactor(path).text("ann@example.com carol@example.com") == "[EMAIL_1] [EMAIL_3]"


def test_the_file_holds_no_value_and_belongs_to_its_owner(tmp_path):
    path = tmp_path / "conversations" / "one.tokens"
    redactor(path).text("ann@example.com 4111111111111111 password=hunter2")
    text = path.read_text()
    assert [name for name in ("ann", "example", "4111", "hunter") if name in text] == []
    assert [json.loads(line).get("kind") for line in text.splitlines()] == [None, "email", "card", "secret"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_two_conversations_cannot_be_compared_by_their_hashes(tmp_path):
    hashes = set()
    for name in ("one", "two"):
        redactor(tmp_path / name).text("ann@example.com")
        hashes.add(json.loads((tmp_path / name).read_text().splitlines()[1])["hash"])
    assert len(hashes) == 2


def test_a_conversation_without_anything_to_hide_leaves_no_file(tmp_path):
    assert redactor(tmp_path / "one").text("nothing here") == "nothing here"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [*lines, b'{"kind":"email","num'],
        lambda lines: [lines[0], b"no JSON", *lines[1:]],
        lambda lines: [
            *lines,
            b'{"kind":"email","number":-1,"hash":"x"}',
            b'{"kind":"email","number":true,"hash":1}',
            b"[" * 900,
        ],
    ],
)
def test_damaged_lines_are_passed_over(tmp_path, damage):
    path = tmp_path / "one"
    redactor(path).text("ann@example.com bob@example.com")
    path.write_bytes(b"\n".join(damage(path.read_bytes().splitlines())))
    assert redactor(path).text("carol@example.com bob@example.com") == "[EMAIL_3] [EMAIL_2]"
    assert redactor(path).text("carol@example.com") == "[EMAIL_3]"


def test_without_the_key_of_the_file_no_old_number_is_given_to_another_value(tmp_path):
    path = tmp_path / "one"
    redactor(path).text("ann@example.com bob@example.com")
    path.write_bytes(b"\n".join(path.read_bytes().splitlines()[1:]) + b"\n")
    assert redactor(path).text("carol@example.com ann@example.com") == "[EMAIL_3] [EMAIL_4]"
    assert redactor(path).text("ann@example.com") == "[EMAIL_4]"


def test_a_file_that_cannot_be_written_is_reported_once_and_done_without(tmp_path, caplog):
    (tmp_path / "folder").mkdir()
    all_day = redactor(tmp_path / "folder")
    with caplog.at_level(logging.WARNING, "motor_cortex"):
        assert all_day.text("ann@example.com") == "[EMAIL_1]"
        assert all_day.text("bob@example.com ann@example.com") == "[EMAIL_2] [EMAIL_1]"
    assert len([record for record in caplog.records if "Cannot keep the tokens" in record.message]) == 1
    assert "example.com" not in caplog.text


def test_a_link_in_its_place_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").touch()
    (tmp_path / "one").symlink_to(tmp_path / "elsewhere")
    assert redactor(tmp_path / "one").text("ann@example.com") == "[EMAIL_1]"
    assert (tmp_path / "elsewhere").read_bytes() == b""
