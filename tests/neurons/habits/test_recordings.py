"""What executions were given is kept for a while: without secrets, and no more than the settings allow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neurons import HabitSettings, MemoryStorage, Recording, Recordings, StorageError, ToolExchange
from neurons.habits.recordings import INDEX, PREFIX
from neurons.habits.secret_texts import MARK
from sandbox import Exchange, Replay
from tests.neurons.places import InFolder, InMemory, Place

DAY_S = 86_400.0
START = 1_000_000.0


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return InFolder(tmp_path / "state") if request.param == "folder" else InMemory()


class Kept(Recordings):
    """With a clock that stands still until it is moved."""

    def __init__(self, storage: object = None, **settings: object) -> None:
        self.at = START
        self.storage = storage if storage is not None else MemoryStorage()
        super().__init__(self.storage, HabitSettings.model_validate(settings), now=lambda: self.at)

    def of_run(self, script: str, **given: object) -> None:
        self.at += 1
        self.keep(Recording(**{"code_hash": sha(script), "at": self.at, "context": None, **given}))

    def keys(self) -> list[str]:
        return [document.key for document in self.storage.read_all(PREFIX) if document.key != INDEX]


def sha(text: str) -> str:
    return text.encode().hex().ljust(64, "0")


def exchange(url: str = "https://a.example/p", body: bytes = b'{"usd": 1}', **more: object) -> Exchange:
    return Exchange(method="GET", url=url, status=200, body=body, **more)


def test_what_a_run_was_given_is_given_again(place: Place):
    kept = Kept(place.open())
    calls = [
        ToolExchange("github.list", {"owner": "acme", "n": 1}, [{"id": 1}], None),
        ToolExchange("github.get", {}, None, "not there"),
    ]
    exchanges = [exchange(), exchange(body=bytes(range(256)), headers=(("content-type", "image/png"),))]
    kept.of_run("a", context={"coin": "btc"}, exchanges=exchanges, tool_calls=calls)
    kept.storage.flush()
    again = Kept(place.open())
    again.at = kept.at
    [recording] = again.of([sha("a")], 5)
    assert recording == Recording(sha("a"), START + 1, {"coin": "btc"}, tuple(exchanges), tuple(calls))
    assert Replay(recording.exchanges).begin().answer("GET", "https://a.example/p", None).body == b'{"usd": 1}'


def test_the_latest_of_the_scripts_that_are_asked_for_come_first():
    kept = Kept()
    for number, code in enumerate("abacab"):
        kept.of_run(code, context=number)
    assert [recording.context for recording in kept.of([sha("a"), sha("c")], 3)] == [4, 3, 2]
    assert [recording.context for recording in kept.of([sha("b")], 10)] == [5, 1]
    assert kept.of([], 10) == []
    assert kept.of([sha("z")], 10) == []


def test_nothing_is_kept_when_that_is_switched_off(place: Place):
    for settings in ({"record": False}, {"enabled": False}):
        kept = Kept(place.open(), **settings)
        kept.of_run("a", context=1)
        kept.storage.flush()
        assert kept.of([sha("a")], 5) == []
        assert place.get(INDEX) is None


def test_at_most_max_recordings_are_kept(place: Place):
    kept = Kept(place.open(), max_recordings=3)
    for number in range(8):
        kept.of_run("a", context=number)
    assert [recording.context for recording in kept.of([sha("a")], 99)] == [7, 6, 5]
    assert len(kept.keys()) == 3
    kept.storage.flush()
    assert len(Kept(place.open()).keys()) == 3


def test_recordings_are_kept_for_the_days_of_the_settings():
    kept = Kept(recording_days=2)
    kept.of_run("a", context="old")
    kept.at += 1.5 * DAY_S
    kept.of_run("a", context="new")
    assert [recording.context for recording in kept.of([sha("a")], 9)] == ["new", "old"]
    kept.at += DAY_S
    assert [recording.context for recording in kept.of([sha("a")], 9)] == ["new"]
    kept.of_run("b")
    assert len(kept.keys()) == 2


def test_what_does_not_fit_is_left_out(place: Place):
    kept = Kept(place.open(), max_recording_bytes=4_000)
    calls = [ToolExchange("a.b", {"n": n}, "x" * size) for n, size in enumerate([1_000, 5_000, 100])]
    exchanges = [exchange(body=b"y" * 9_000), exchange(body=b"z" * 300)]
    kept.of_run("a", context={"small": True}, tool_calls=calls, exchanges=exchanges)
    kept.storage.flush()
    [recording] = kept.of([sha("a")], 1)
    assert recording.context == {"small": True}
    assert [call.arguments["n"] for call in recording.tool_calls] == [0, 2]
    assert [one.body for one in recording.exchanges] == [b"z" * 300]
    [key] = kept.keys()
    document = json.loads(place.get(key))
    assert document["leftOut"] == 2
    del document["revision"]
    assert len(json.dumps(document)) <= 4_000 * 1.1
    kept.of_run("b", context="x" * 100_000)
    assert kept.of([sha("b")], 1)[0].context is None


@pytest.mark.parametrize("context", [object(), {"a": {1, 2}}, {"a": float("nan")}, "\ud800", b"\xff"])
def test_what_is_no_json_is_left_out_and_does_no_harm(context):
    kept = Kept()
    kept.of_run("a", context=context, tool_calls=[ToolExchange("a.b", {"n": 1}, "fine")])
    [recording] = kept.of([sha("a")], 1)
    assert [call.result for call in recording.tool_calls] == ["fine"]


def test_a_context_that_is_nested_without_end_does_no_harm():
    loop: list[object] = []
    loop.append(loop)
    kept = Kept()
    kept.of_run("a", context=loop)
    assert len(kept.of([sha("a")], 1)) == 1


def test_secrets_are_removed_from_everything_that_is_kept(place: Place):
    secret, password = "sk-a1B2c3D4e5F6g7H8i9J0", "hunter2hunter2"
    kept = Kept(place.open())
    kept.of_run(
        "a",
        context={"apiKey": password, "note": f"use {secret}", "deep": [{"password": password}]},
        tool_calls=[
            ToolExchange("a.b", {"token": password, "q": secret}, {"access_token": password, "text": secret}),
            ToolExchange("a.c", {}, None, f"denied for {secret}"),
        ],
        exchanges=[
            exchange(
                url=f"https://user:{password}@a.example/?key={secret}&api_key={password}",
                body=f'{{"access_token": "{password}", "x": "{secret}", "price": 7}}'.encode(),
                request_headers=(("authorization", f"Bearer {password}"), ("accept", "*/*")),
                headers=(("set-cookie", f"sid={password}"), ("x-note", secret)),
            )
        ],
    )
    kept.storage.flush()
    [key] = kept.keys()
    document = json.loads(place.get(key))
    [recording] = kept.of([sha("a")], 1)
    for text in (json.dumps(document), repr(recording)):
        assert secret not in text
        assert password not in text
    assert recording.exchanges[0].body.count(MARK.encode()) == 2
    assert json.loads(recording.exchanges[0].body)["price"] == 7
    assert recording.exchanges[0].request_headers == (("authorization", MARK), ("accept", "*/*"))


def test_a_lost_index_of_recordings_is_rebuilt(place: Place):
    kept = Kept(place.open(), max_recordings=3)
    for number in range(3):
        kept.of_run("a", context=number)
    kept.storage.flush()
    place.put(INDEX, b"not JSON")
    again = Kept(place.open(on_damage=lambda _: None), max_recordings=3)
    again.at = kept.at
    again.of_run("a", context=3)
    assert [recording.context for recording in again.of([sha("a")], 9)] == [3, 2, 1]
    assert len(again.keys()) == 3


def test_an_invalid_recording_is_skipped(place: Place):
    kept = Kept(place.open())
    for number in range(4):
        kept.of_run("a", context=number)
    kept.storage.flush()
    entries = json.loads(place.get(INDEX))["recordings"]
    place.put(PREFIX + entries[3]["id"], b"{")
    place.put(PREFIX + entries[2]["id"], b'{"revision": 1, "format": 1}')
    kept.storage.delete(PREFIX + entries[1]["id"])
    again = Kept(place.open(on_damage=lambda _: None))
    assert [recording.context for recording in again.of([sha("a")], 2)] == [0]


@pytest.mark.parametrize("entries", [7, [7], [{}], {"a": 1}, [{"id": 1, "codeHash": 2, "at": "x"}]])
def test_an_invalid_index_of_recordings_is_rebuilt(place: Place, entries):
    place.put(INDEX, json.dumps({"revision": 1, "recordings": entries}).encode())
    kept = Kept(place.open())
    assert kept.of([sha("a")], 1) == []
    kept.of_run("a", context=1)
    assert [recording.context for recording in kept.of([sha("a")], 1)] == [1]


def test_a_truncated_answer_is_kept_and_marked_as_truncated():
    kept = Kept()
    kept.of_run("a", exchanges=[exchange(body=b"{" * 100, truncated=True)])
    [recording] = kept.of([sha("a")], 1)
    assert recording.exchanges == (exchange(body=b"", truncated=True),)


def test_an_invalid_hash_cannot_lead_to_another_path():
    kept = Kept()
    kept.of_run("x", code_hash="../../etc/passwd")
    assert [recording.code_hash for recording in kept.of(["../../etc/passwd"], 1)] == ["../../etc/passwd"]


def test_a_disk_that_fails_is_reported():
    storage = MemoryStorage()
    kept = Kept(storage)
    storage.refuses = "no space left"
    with pytest.raises(StorageError):
        kept.of_run("a", context=1)


def test_the_script_is_kept_with_its_run_and_without_keys():
    kept = Kept()
    kept.of_run("a", code=f'fetch("https://a.example/p?key={"sk-" + "a1B2" * 8}")')
    [recording] = kept.of([sha("a")], 5)
    assert recording.code == f'fetch("https://a.example/p?key={MARK}")'


def test_a_script_that_does_not_fit_is_left_out_and_one_from_before_has_none():
    kept = Kept(max_recording_bytes=300)
    kept.of_run("a", code="x" * 400, context={"coin": "btc"})
    [recording] = kept.of([sha("a")], 5)
    assert (recording.code, recording.context) == ("", {"coin": "btc"})
    [key] = kept.keys()
    document = kept.storage.read(key)
    assert document.data["leftOut"] == 1
    del document.data["code"]
    kept.storage.write(key, document.data)
    assert [one.code for one in kept.of([sha("a")], 5)] == [""]
