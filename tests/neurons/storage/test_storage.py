"""One suite for the storage in files and for its public fake: what one promises, the other does too."""

from __future__ import annotations

import json
import threading
from functools import partial
from pathlib import Path

import pytest

from neurons import Conflict, Damage, StorageError
from sandbox import Flusher
from tests.neurons.places import AnyStorage, InFolder, InMemory, Place, wait_until

KEY = "neurons/crypto-price"


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return InFolder(tmp_path / "state") if request.param == "folder" else InMemory()


def count_up(data: dict | None) -> dict:
    return {"count": (data or {"count": 0})["count"] + 1}


def test_what_is_written_through_is_there_for_others_when_it_returns(place: Place):
    assert place.open().write_through(KEY, {"name": "CryptoPrice", "köln": [1, None, 2.5]}) == 1
    document = place.open().read(KEY)
    assert document is not None
    assert (document.key, document.revision, document.data) == (KEY, 1, {"name": "CryptoPrice", "köln": [1, None, 2.5]})


def test_a_document_is_json_that_a_person_can_read_and_begins_with_its_revision(place: Place):
    storage = place.open()
    storage.write_through(KEY, {"name": "Köln", "hosts": ["a.example"]})
    storage.write_through(KEY, {"name": "Köln", "hosts": ["a.example"]})
    assert place.get(KEY) == '{\n  "revision": 2,\n  "name": "Köln",\n  "hosts": [\n    "a.example"\n  ]\n}\n'.encode()


def test_what_nobody_wrote_is_not_there(place: Place):
    storage = place.open()
    assert storage.read(KEY) is None
    assert storage.read_all("neurons/") == []
    assert storage.stamp("neurons") == storage.stamp("neurons")


def test_what_is_written_behind_is_seen_here_at_once_and_by_others_after_a_flush(place: Place):
    storage, other = place.open(), place.open()
    assert storage.write(KEY, {"a": 1}) == 1
    assert storage.write(KEY, {"a": 2}) == 2
    assert storage.read(KEY).data == {"a": 2}
    assert [document.key for document in storage.read_all("neurons/")] == [KEY]
    assert other.read(KEY) is None
    storage.flush()
    assert other.read(KEY).revision == 2
    assert other.read(KEY).data == {"a": 2}


def test_what_is_written_through_takes_along_what_was_behind(place: Place):
    storage = place.open()
    storage.update(KEY, count_up, through=False)
    storage.update(KEY, count_up, through=False)
    assert storage.update(KEY, count_up).data == {"count": 3}
    assert place.open().read(KEY).data == {"count": 3}
    assert place.open().read(KEY).revision == 3
    storage.flush()
    assert place.open().read(KEY).data == {"count": 3}


@pytest.mark.parametrize("through", [True, False])
def test_a_stale_writer_gets_a_conflict_and_not_a_lost_update(place: Place, through: bool):
    mine, other = place.open(), place.open()
    revision = mine.write_through(KEY, {"status": "trial"})
    other.write_through(KEY, {"status": "disabled"}, revision=revision)
    write = mine.write_through if through else mine.write
    with pytest.raises(Conflict, match=f'Cannot write "{KEY}": its revision is 2 now, not 1'):
        write(KEY, {"status": "active"}, revision=revision)
    mine.flush()
    assert other.read(KEY).data == {"status": "disabled"}


def test_revision_zero_is_for_what_is_not_there_yet(place: Place):
    storage = place.open()
    assert storage.write_through(KEY, {"a": 1}, revision=0) == 1
    with pytest.raises(Conflict):
        storage.write_through(KEY, {"a": 2}, revision=0)
    with pytest.raises(Conflict):
        storage.write("neurons/other", {"a": 2}, revision=3)
    assert storage.read("neurons/other") is None


def test_what_others_overtook_while_it_was_behind_is_told_by_flush_and_loses_nothing_of_theirs(
    place: Place, caplog: pytest.LogCaptureFixture
):
    mine, other = place.open(), place.open()
    revision = mine.write_through(KEY, {"by": "first"})
    mine.write(KEY, {"by": "mine"}, revision=revision)
    mine.write("neurons/else", {"by": "mine"})
    other.write_through(KEY, {"by": "other"}, revision=revision)
    with pytest.raises(Conflict):
        mine.flush()
    assert mine.read(KEY).data == {"by": "other"}
    assert other.read("neurons/else").data == {"by": "mine"}
    assert "is lost, because another process has written since" in caplog.text
    mine.flush()


def test_a_change_behind_is_made_to_what_others_wrote_meanwhile(place: Place):
    mine, other = place.open(), place.open()
    mine.write_through(KEY, {"count": 10, "status": "trial"})
    mine.update(KEY, lambda data: {**data, "count": data["count"] + 1}, through=False)
    other.update(KEY, lambda data: {**data, "status": "disabled"})
    assert mine.read(KEY).data == {"count": 11, "status": "disabled"}
    mine.flush()
    assert other.read(KEY).data == {"count": 11, "status": "disabled"}
    assert other.read(KEY).revision == 3


@pytest.mark.parametrize("through", [True, False])
def test_a_change_that_raises_or_returns_nothing_changes_nothing(place: Place, through: bool):
    storage = place.open()
    storage.write_through(KEY, {"list": [1]})

    def spoil(data: dict | None) -> dict | None:
        data["list"].append(2)
        return None

    def fail(data: dict | None) -> dict | None:
        data["list"].append(3)
        raise RuntimeError("no")

    assert storage.update(KEY, spoil, through=through).data == {"list": [1]}
    with pytest.raises(RuntimeError, match="no"):
        storage.update(KEY, fail, through=through)
    storage.flush()
    assert storage.read(KEY).data == {"list": [1]}
    assert storage.read(KEY).revision == 1


@pytest.mark.parametrize("through", [True, False])
def test_what_a_caller_does_with_its_data_afterwards_changes_no_document(place: Place, through: bool):
    storage = place.open()
    given: dict = {"list": [1]}
    (storage.write_through if through else storage.write)(KEY, given)
    given["list"].append(2)
    storage.read(KEY).data["list"].append(3)
    kept: list[dict] = []
    returned = storage.update(KEY, lambda data: kept.append(data) or {**data, "more": [4]}, through=through)
    returned.data["more"].append(5)
    kept[0]["list"].append(6)
    assert storage.read(KEY).data == {"list": [1], "more": [4]}
    storage.flush()
    assert place.open().read(KEY).data == {"list": [1], "more": [4]}


def test_all_documents_of_a_beginning_are_read_in_order(place: Place):
    storage = place.open()
    for name in ("b", "a-2", "a"):
        storage.write_through(f"neurons/{name}", {"name": name})
    storage.write("neurons/a-1", {"name": "behind"})
    storage.write_through("habits/a", {"name": "habit"})
    assert [document.key for document in storage.read_all("neurons/")] == [
        "neurons/a",
        "neurons/a-1",
        "neurons/a-2",
        "neurons/b",
    ]
    assert [document.key for document in storage.read_all("neurons/a-")] == ["neurons/a-1", "neurons/a-2"]
    assert [document.key for document in storage.read_all("habits/")] == ["habits/a"]


def test_what_is_deleted_is_gone_with_what_was_behind(place: Place):
    storage = place.open()
    storage.write_through(KEY, {"a": 1})
    storage.write(KEY, {"a": 2})
    storage.write("neurons/behind", {"a": 2})
    storage.delete(KEY)
    storage.delete("neurons/behind")
    storage.delete("neurons/never")
    storage.flush()
    assert storage.read_all("neurons/") == []
    assert storage.write_through(KEY, {"a": 3}) == 1


@pytest.mark.parametrize(
    "key",
    [
        "neurons",
        "neurons/",
        "/etc/passwd",
        "neurons/../energy",
        "neurons/..",
        "../neurons/a",
        "neurons/a/b",
        "neurons/A",
        "neurons/a.b",
        "neurons/a\0",
        "neurons/a\n",
        "neurons/ä",
        "Neurons/a",
        "neurons//a",
        ".neurons/a",
        "neurons/" + "a" * 81,
        "",
    ],
)
def test_a_key_that_could_name_another_place_is_none(place: Place, key: str):
    storage = place.open()
    for use in (
        lambda: storage.read(key),
        lambda: storage.write(key, {}),
        lambda: storage.write_through(key, {}),
        lambda: storage.update(key, count_up),
        lambda: storage.update(key, count_up, through=False),
        lambda: storage.delete(key),
        lambda: storage.set_aside(key, "because", revision=1),
    ):
        with pytest.raises(StorageError, match="no key like"):
            use()
    for folder in ("..", "neurons/..", "", "a/b", "A"):
        with pytest.raises(StorageError, match="no key begins with"):
            storage.alone(folder)
        with pytest.raises(StorageError, match="no key begins with"):
            storage.stamp(folder)
        with pytest.raises(StorageError, match="no key begins with"):
            storage.read_all(f"{folder}/")


DAMAGE = {
    "nothing at all": (b"", "not JSON"),
    "a half": (b'{\n  "revision": 3,\n  "name": "Cry', "not JSON"),
    "zeros, as after a power cut": (bytes(4096), "not JSON"),
    "no object": (b"[1, 2]", "not a JSON object"),
    "no revision": (b'{"name": "x"}', "no revision"),
    "a revision that is none": (b'{"revision": true, "name": "x"}', "no revision"),
    "a revision below the first": (b'{"revision": 0}', "no revision"),
    "no UTF-8": (b'{"revision": 1, "name": "\xff\xfe"}', "not JSON"),
    "a number that is none": (b'{"revision": 1, "a": NaN}', "not JSON"),
    "a number beyond all": (b'{"revision": 1, "a": [1e400]}', "a number that is too large"),
    "a long number beyond all": (b'{"revision": 1, "a": ' + b"9" * 400 + b".5}", "a number that is too large"),
    "without a bottom": (b'{"revision": 1, "a": ' + b"[" * 50_000, "not JSON"),
    "too many": (b'{"revision": 1, "a": [' + b"[]," * 100_000 + b"0]}", "more than 100000 objects and arrays"),
    "too much": (b'{"revision": 1, "a": "' + b"a" * (8 * 1024 * 1024) + b'"}', "more than 8388608 bytes"),
}


def test_numbers_that_only_look_large_damage_nothing(place: Place):
    storage = place.open()
    place.put(KEY, b'{"revision": 1, "a": [1e300, "1e400", ' + b"9" * 400 + b"]}")
    document = storage.read(KEY)
    assert document is not None
    assert document.data["a"] == [1e300, "1e400", int("9" * 400)]
    storage.update(KEY, lambda data: {**(data or {}), "b": 1})


@pytest.mark.parametrize("data", DAMAGE)
def test_a_damaged_document_is_set_aside_and_reported_once_and_stops_no_other(place: Place, data: str):
    content, reason = DAMAGE[data]
    damages: list[Damage] = []
    storage = place.open(damages.append)
    for name in ("a", "z"):
        storage.write_through(f"neurons/{name}", {"name": name})
    place.put(KEY, content)
    for _ in range(2):
        assert [document.key for document in storage.read_all("neurons/")] == ["neurons/a", "neurons/z"]
        assert storage.read(KEY) is None
    [damage] = damages
    assert damage.key == KEY
    assert reason in damage.reason
    assert damage.path.name == place.aside()[0].rpartition("/")[2]
    assert str(damage).startswith(f'Cannot read "{KEY}": ')
    assert str(damage).endswith(f'it is kept as "{damage.path}"')
    # The place is free again, and what was set aside is not lost to the next one.
    storage.write_through(KEY, {"name": "new"})
    place.put(KEY, content)
    assert storage.read(KEY) is None
    assert len(place.aside()) == 2


def test_who_is_told_of_damage_cannot_keep_the_rest_from_being_read(place: Place, caplog: pytest.LogCaptureFixture):
    def fail(damage: Damage) -> None:
        raise RuntimeError("the audit is full")

    storage = place.open(fail)
    storage.write_through("neurons/z", {"name": "z"})
    place.put(KEY, b"?")
    assert [document.key for document in storage.read_all("neurons/")] == ["neurons/z"]
    assert "the audit is full" in caplog.text


def test_a_change_of_what_is_damaged_begins_anew(place: Place):
    storage = place.open()
    place.put(KEY, b"?")
    assert storage.update(KEY, count_up).data == {"count": 1}
    assert len(place.aside()) == 1


def test_what_a_reader_cannot_use_is_set_aside_unless_somebody_wrote_since(place: Place):
    damages: list[Damage] = []
    storage = place.open(damages.append)
    revision = storage.write_through(KEY, {"name": "no neuron"})
    storage.write_through(KEY, {"name": "a neuron"})
    storage.set_aside(KEY, "it is not a neuron", revision=revision)
    assert storage.read(KEY).data == {"name": "a neuron"}
    assert damages == []
    storage.set_aside(KEY, "it is not a neuron", revision=2)
    assert storage.read(KEY) is None
    assert [damage.reason for damage in damages] == ["it is not a neuron"]


@pytest.mark.parametrize(
    "data",
    [
        {"revision": 7},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": object()},
        {"a": "x" * (8 * 1024 * 1024)},
    ],
    ids=["the storage's own key", "not a number", "infinite", "no JSON", "too much"],
)
@pytest.mark.parametrize("through", [True, False])
def test_what_could_not_be_read_again_is_not_written(place: Place, data: dict, through: bool):
    storage = place.open()
    storage.write_through(KEY, {"a": 1})
    with pytest.raises(StorageError, match=f'Cannot keep "{KEY}"'):
        (storage.write_through if through else storage.write)(KEY, data)
    with pytest.raises(StorageError, match=f'Cannot keep "{KEY}"'):
        storage.update(KEY, lambda _: data, through=through)
    storage.flush()
    assert storage.read(KEY).data == {"a": 1}


def test_what_is_nested_too_deeply_to_be_read_is_not_written(place: Place):
    deep: dict = {}
    for _ in range(250):
        deep = {"a": deep}
    storage = place.open()
    with pytest.raises(StorageError, match="Cannot keep"):
        storage.write_through(KEY, deep)
    assert storage.read(KEY) is None
    assert place.aside() == []


def test_half_of_a_surrogate_pair_does_not_keep_the_rest_from_the_disk(place: Place):
    storage = place.open()
    storage.write_through(KEY, {"state": {"text": "a\ud800b", "smile": "\ud83d\ude00"}, "count": 1})
    assert place.open().read(KEY).data == {"state": {"text": "a\ufffdb", "smile": "😀"}, "count": 1}


def test_changes_behind_do_not_wait_without_end(place: Place):
    storage = place.open()
    for _ in range(100):
        storage.update(KEY, count_up, through=False)
    assert json.loads(place.get(KEY))["count"] >= 32
    for number in range(300):
        storage.write(f"habits/{number}", {"number": number})
    assert len(place.open().read_all("habits/")) >= 250
    storage.flush()
    assert place.open().read(KEY).data == {"count": 100}
    assert len(place.open().read_all("habits/")) == 300


async def test_a_flusher_brings_to_disk_what_is_behind(place: Place):
    import anyio

    flusher = Flusher(1)
    storage = place.open(flusher=flusher)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(flusher.run)
        storage.write(KEY, {"a": 1})
        with anyio.fail_after(30):
            while place.get(KEY) is None:
                await anyio.sleep(0.001)
        storage.write(KEY, {"a": 2})
        tasks.cancel_scope.cancel()
    assert place.open().read(KEY).data == {"a": 2}


def test_the_stamp_is_another_one_after_each_write(place: Place):
    storage, other = place.open(), place.open()
    storage.write_through(KEY, {"a": 0})
    for number in range(20):
        before = other.stamp("neurons")
        storage.write_through(KEY, {"a": number})
        # In a folder, what was written within one tick of its clock is seen as soon as the folder has settled.
        wait_until(partial(differs, other, before))


def differs(storage: AnyStorage, stamp: object) -> bool:
    return storage.stamp("neurons") != stamp


def test_threads_lose_nothing_to_each_other(place: Place):
    storage, other = place.open(), place.open()
    counts: list[int] = []

    def work(own: Place, through: bool) -> None:
        for _ in range(25):
            own.update(KEY, count_up, through=through)
            counts.append(own.read(KEY).data["count"])

    threads = [
        threading.Thread(target=work, args=(own, through)) for own in (storage, other) for through in (True, False)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    storage.flush()
    other.flush()
    assert place.open().read(KEY).data == {"count": 100}
    assert max(counts) <= 100


def test_what_comes_between_a_look_and_a_change_is_not_lost(place: Place):
    storage = place.open()
    others: list[object] = []

    def late(data: dict | None) -> dict:
        if not others:
            # As another thread would: after this one has looked, and before it is done.
            others.append(storage.update(KEY, count_up, through=False))
        return count_up(data)

    assert storage.update(KEY, late, through=False).data == {"count": 2}
    storage.flush()
    assert place.open().read(KEY).data == {"count": 2}


def test_who_is_alone_is_alone_and_may_enter_again(place: Place):
    storage, other = place.open(), place.open()
    inside: list[str] = []
    entered = threading.Event()

    def second() -> None:
        entered.set()
        with other.alone("neurons"):
            inside.append("second")

    with storage.alone("neurons"), storage.alone("neurons"):
        thread = threading.Thread(target=second)
        thread.start()
        assert entered.wait(30)
        storage.update(KEY, count_up)
        inside.append("first")
    thread.join(30)
    assert inside == ["first", "second"]
