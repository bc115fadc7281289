"""`cortex store` as the owner finds it."""

from __future__ import annotations

import json

import pytest

from cortex import MotorCortex, Settings
from cortex.commands import run_command
from cortex.home import Home, HomeFiles, Stores, id_of
from cortex.settings import StoreSettings
from sandbox.testing import ScriptedRuntime

MAIL = "ada@corp.example"


@pytest.fixture
def home(tmp_path):
    """Two conversations that keep something, and one that keeps nothing any more."""
    stores = Stores(HomeFiles(Home(tmp_path)).storage(), StoreSettings())
    stores.apply("support", {"user": json.dumps({"mail": MAIL, "password": "hunter2secret"}).encode(), "n": b"[1,2]"})
    stores.apply("chat:\x1b[31m", {"esc\x1b[2J": b'"\\u001b[2J\\u202e"'})
    stores.apply("empty", {"x": b"1"})
    stores.apply("empty", {"x": None})
    stores.close()
    return tmp_path


@pytest.fixture
def cortex(home, capsys):
    def run(*arguments: str, code: int = 0) -> str:
        assert run_command(["store", *arguments, "--home", str(home)]) == code
        told = capsys.readouterr()
        return told.err if code else told.out

    return run


def test_the_list_names_conversations_with_keys_bytes_and_when_they_expire(cortex):
    head, *rows = cortex().splitlines()
    assert head.split() == ["conversation", "id", "keys", "bytes", "changed", "expires"]
    assert len(rows) == 2
    assert rows[1].split()[:4] == ["support", id_of("support")[:8], "2", "67"]
    assert all("\x1b" not in row for row in rows)


def test_programs_get_the_list_as_json(cortex):
    first, second = json.loads(cortex("--json"))
    assert {first["conversation"], second["conversation"]} == {"support", "chat:\x1b[31m"}
    assert second["keys"] == 2
    assert second["expires_at"] - second["changed_at"] == StoreSettings().max_age_s


def test_values_are_shown_redacted_and_without_control_of_the_terminal(cortex):
    shown = cortex("show", "support")
    assert shown.splitlines() == ["n: [1, 2]", 'user: {"mail": "[EMAIL_1]", "password": "[SECRET_1]"}']
    for words in (("show", "support", "user"), ("show", "support", "--json"), ("show", "support", "user", "--json")):
        assert MAIL not in cortex(*words)
        assert "hunter2" not in cortex(*words)
    shown = cortex("show", id_of("chat:\x1b[31m")[:8])
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\x1b" not in cortex("show", id_of("chat:\x1b[31m"), "esc\x1b[2J")


def test_one_value_is_shown_whole(cortex):
    assert cortex("show", "support", "n") == "[\n  1,\n  2\n]\n"
    told = 'cortex store: "m": this conversation keeps no such value; its keys: n, user\n'
    assert cortex("show", "support", "m", code=2) == told
    assert "\x1b" not in cortex("show", id_of("chat:\x1b[31m"), "m", code=2)


def test_many_long_keys_are_not_all_told(cortex, home):
    stores = Stores(HomeFiles(Home(home)).storage(), StoreSettings())
    stores.apply("many", {f"{n:03}" + "k" * 200: b"1" for n in range(100)})
    stores.close()
    assert len(cortex("show", "many", "m", code=2)) < 400


def test_a_name_that_the_list_shows_on_one_line_is_found_by_its_id(cortex, home):
    stores = Stores(HomeFiles(Home(home)).storage(), StoreSettings())
    stores.apply("a\nb", {"x": b"1"})
    stores.close()
    assert "cortex store lists those that do, with the ids to name them by" in cortex("show", "a b", code=2)
    assert cortex("show", id_of("a\nb")[:8]) == "x: 1\n"


def test_redaction_that_is_off_shows_the_values(cortex, monkeypatch):
    monkeypatch.setenv("CORTEX_REDACTION__ENABLED", "false")
    assert MAIL in cortex("show", "support")


def test_clearing_one_conversation_leaves_the_others_and_is_recorded_without_contents(cortex, home):
    assert cortex("clear", "support") == "The store of support was cleared\n"
    assert [entry["conversation"] for entry in json.loads(cortex("--json"))] == ["chat:\x1b[31m"]
    audit = b"".join(path.read_bytes() for path in (home / "audit").glob("*.jsonl"))
    assert b'"what":"store clear","by":"owner"' in audit
    assert id_of("support").encode() in audit
    assert MAIL.encode() not in audit


def test_clearing_all_leaves_nothing(cortex):
    assert len(json.loads(cortex("clear", "--all", "--json"))["cleared"]) == 2
    assert cortex() == "No conversation keeps anything\n"
    assert cortex("clear", "--all") == "No conversation keeps anything\n"
    assert json.loads(cortex("clear", "--all", "--json")) == {"cleared": []}


@pytest.mark.parametrize("words", [("clear",), ("clear", "support", "--all"), ("clear", "nobody"), ("show", "nobody")])
def test_what_names_no_store_is_a_mistake_and_clears_nothing(cortex, words):
    assert cortex(*words, code=2).startswith("cortex store: ")
    assert len(json.loads(cortex("--json"))) == 2


def test_a_name_and_all_exclude_each_other(cortex):
    assert cortex("clear", "support", "--all", code=2) == "cortex store: NAME or --all, not both\n"
    assert "say what to clear: the NAME of a conversation, or --all" in cortex("clear", code=2)


def test_what_cannot_be_recorded_is_not_cleared(cortex, home, monkeypatch):
    from cortex.audit import Audit, AuditError

    def refuse(*_: object, **__: object) -> None:
        raise AuditError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Audit, "record", refuse)
        assert "nothing was cleared, because it could not be recorded" in cortex("clear", "support", code=3)
    assert len(json.loads(cortex("--json"))) == 2


def test_looking_makes_no_folder(tmp_path, capsys):
    assert run_command(["store", "--home", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "No conversation keeps anything\n"
    assert run_command(["store", "clear", "--all", "--home", str(tmp_path)]) == 2
    assert list(tmp_path.iterdir()) == []


async def test_a_cleared_store_is_empty_for_a_cortex_that_is_open(home, cortex):
    async with MotorCortex(Settings(home=home), runtime=ScriptedRuntime([])) as agent:
        assert await agent._stores.of("support").keys() == ["n", "user"]
        cortex("clear", "support")
        assert await agent._stores.of("support").keys() == []
