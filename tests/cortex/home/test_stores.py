"""The stores of a home: kept whole or not at all, for all its processes, until they are too old or too many."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading

import anyio
import pytest

from cortex.home import Home, HomeFiles
from cortex.home.stores import FOLDER, Stores, id_of
from cortex.settings import StoreSettings
from neurons import MemoryStorage, StorageError
from sandbox import ToolError

DAY_S = 86_400.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def stores(storage=None, clock=None, **settings) -> Stores:
    return Stores(storage or MemoryStorage(), StoreSettings(**settings), now=clock or Clock())


def values(kept: Stores, conversation: str) -> dict[str, bytes]:
    found = kept.find(conversation)
    return {} if found is None else dict(found.values)


async def test_what_a_run_sets_is_seen_by_others_only_after_it_is_committed():
    kept = stores()
    run = kept.of("a")
    await run.set("n", b"1")
    assert (await run.get("n"), values(kept, "a")) == (b"1", {})
    facts = await run.commit()
    assert values(kept, "a") == {"n": b"1"}
    assert (facts.id, facts.keys, len(facts.hash)) == (id_of("a"), 1, 64)
    assert (await kept.of("a").get("n"), await kept.of("b").keys()) == (b"1", [])


async def test_a_run_that_only_reads_writes_nothing():
    storage = MemoryStorage()
    run = stores(storage).of("a")
    assert (await run.get("n"), await run.keys(), await run.delete("n")) == (None, [], False)
    assert (await run.commit(), storage.files) == (None, {})


async def test_two_runs_at_once_do_not_undo_each_others_writes_and_the_later_wins_for_one_key():
    storage = MemoryStorage()
    one, two = stores(storage).of("a"), stores(MemoryStorage(storage)).of("a")  # of two processes
    await one.set("of one", b"1")
    await two.set("of two", b"2")
    await one.set("both", b"1")
    await two.set("both", b"2")
    await one.commit()
    assert await two.get("of one") is None  # it goes on seeing what it first saw
    await two.commit()
    assert values(stores(storage), "a") == {"of one": b"1", "of two": b"2", "both": b"2"}


async def test_a_commit_that_no_longer_fits_keeps_nothing_of_its_run():
    kept = stores(max_keys=1)
    one, two = kept.of("a"), kept.of("a")
    await one.set("x", b"1")
    await two.set("y", b"2")
    await one.commit()
    with pytest.raises(ToolError, match="at most 1 keys"):
        await two.commit()
    assert values(kept, "a") == {"x": b"1"}


async def test_a_disk_that_refuses_is_an_error_without_its_words():
    storage = MemoryStorage()
    run = stores(storage).of("a")
    await run.set("x", b"1")
    storage.refuses = "no space left on /home/owner"
    with pytest.raises(ToolError) as caught:
        await run.commit()
    assert (str(caught.value), caught.value.code) == ("The store could not be written", "internal")


async def test_a_disk_that_cannot_be_read_is_an_error_without_its_words():
    class Broken(MemoryStorage):
        def read(self, key):
            raise StorageError("cannot read /home/owner")

    with pytest.raises(ToolError, match=r"^The store could not be read$"):
        await stores(Broken()).of("a").get("x")


def test_a_store_is_kept_for_its_age_after_the_last_change():
    clock = Clock()
    kept = stores(clock=clock, max_age_s=DAY_S)
    kept.apply("a", {"x": b"1"})
    clock.now += DAY_S
    kept.apply("a", {"y": b"2"})
    clock.now += DAY_S
    assert values(kept, "a") == {"x": b"1", "y": b"2"}
    clock.now += 1
    assert (values(kept, "a"), kept.list()) == ({}, [])
    kept.apply("a", {"z": b"3"})
    assert values(kept, "a") == {"z": b"3"}  # what was too old does not come back


def test_what_is_too_old_is_deleted_when_another_store_is_made():
    clock, storage = Clock(), MemoryStorage()
    kept = stores(storage, clock, max_age_s=DAY_S, max_conversations=5)
    kept.apply("old", {"x": b"1"})
    clock.now += DAY_S + 1
    kept.apply("new", {"x": b"1"})
    assert list(storage.files) == [f"{FOLDER}/{id_of('new')}"]


def test_of_too_many_conversations_those_that_changed_longest_ago_make_way():
    clock, storage = Clock(), MemoryStorage()
    kept = stores(storage, clock, max_conversations=2)
    for name in ("a", "b", "a", "c"):
        clock.now += 1
        kept.apply(name, {"x": b"1"})
    assert [stored.conversation for stored in kept.list()] == ["c", "a"]


def test_there_are_never_many_more_conversations_than_allowed():
    clock, storage = Clock(), MemoryStorage()
    kept = stores(storage, clock, max_conversations=30)
    for number in range(100):
        clock.now += 1
        kept.apply(str(number), {"x": b"1"})
        assert len(storage.files) <= 33


def test_a_store_that_was_emptied_is_not_listed():
    kept = stores()
    kept.apply("a", {"x": b"1"})
    kept.apply("a", {"x": None})
    assert (kept.list(), kept.find("a")) == ([], None)


def test_clearing_deletes_one_conversation_and_no_other():
    kept = stores()
    kept.apply("a", {"x": b"1"})
    kept.apply("b", {"x": b"2"})
    assert (kept.clear("a"), kept.clear("a")) == (True, False)
    assert (values(kept, "a"), values(kept, "b")) == ({}, {"x": b"2"})


@pytest.mark.parametrize(
    "data",
    [
        {"conversation": "a"},
        {"conversation": "a", "changed_at": 1e6, "values": {"x": 1}},
        {"conversation": "a", "changed_at": 1e6, "values": {"x": "not json"}},
        {"conversation": "a", "changed_at": 1e6, "values": {"x": "[" * 100_000}},
        {"conversation": 1, "changed_at": 1e6, "values": {}},
    ],
    ids=["fields", "a number", "not json", "depth", "name"],
)
async def test_a_document_that_is_no_store_is_set_aside(data):
    storage = MemoryStorage()
    kept = stores(storage)
    storage.write_through(f"{FOLDER}/{id_of('a')}", data)
    assert await kept.of("a").keys() == []
    assert [name for name in storage.files if ".damaged-" not in name] == []


async def test_a_text_of_two_lines_in_a_document_is_given_as_one_line():
    storage = MemoryStorage()
    storage.write_through(
        f"{FOLDER}/{id_of('a')}", {"conversation": "a", "changed_at": 1e6, "values": {"x": "[1,\n2]"}}
    )
    assert await stores(storage).of("a").get("x") == b"[1, 2]"


@pytest.mark.parametrize("name", ["", "x" * 201, None, 5, "\ud800"])
def test_what_is_no_name_of_a_conversation_is_refused(name):
    with pytest.raises(ValueError, match=r"a conversation is named by a text of 1 to 200 characters|surrogates"):
        id_of(name)


@pytest.mark.parametrize("name", ["../../energy", "a/b", "store/x", "\0", "é" * 200])
def test_a_name_of_a_conversation_leads_nowhere_else(tmp_path, name):
    home = Home(tmp_path)
    kept = Stores(HomeFiles(home).storage(), StoreSettings())
    kept.apply(name, {"x": b"1"})
    [file] = (tmp_path / "state" / FOLDER).glob("*.json")
    assert file.stem == id_of(name)
    assert file.stat().st_mode & 0o077 == 0
    kept.close()


def test_writers_of_many_threads_lose_nothing(tmp_path):
    def write(number: int) -> None:
        mine = Stores(HomeFiles(Home(tmp_path)).storage(), StoreSettings())
        for step in range(5):
            mine.apply("a", {f"{number}-{step}": b"1"})
        mine.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    kept = Stores(HomeFiles(Home(tmp_path)).storage(), StoreSettings())
    assert len(values(kept, "a")) == 40
    kept.close()


WRITER = """
import sys
from pathlib import Path
from cortex.home import Home, HomeFiles, Stores
from cortex.settings import StoreSettings
stores = Stores(HomeFiles(Home(Path(sys.argv[1]))).storage(), StoreSettings())
for number in range(1_000_000):
    stores.apply("a", {"one": str(number).encode(), "two": str(number).encode()})
    print(number, flush=True)
"""


def test_what_was_kept_survives_kill_9_and_is_never_half_of_a_run(tmp_path):
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as process:
        told = [int(process.stdout.readline()) for _ in range(20)]
        process.send_signal(signal.SIGKILL)
        told += [int(line) for line in process.stdout.read().split()]
    kept = Stores(HomeFiles(Home(tmp_path)).storage(), StoreSettings())
    found = values(kept, "a")
    kept.close()
    assert found["one"] == found["two"]
    assert json.loads(found["one"]) >= told[-1]


async def test_reading_and_committing_leave_the_event_loop_to_others():
    """The disk is slow, and the event loop goes on."""
    slow = threading.Event()

    class Slow(MemoryStorage):
        def read(self, key):
            slow.wait(60)
            return super().read(key)

    run = stores(Slow()).of("a")
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run.get, "x")
            for _ in range(10):
                await anyio.sleep(0)
            slow.set()


RACER = """
import sys
from pathlib import Path
from cortex.home import Home, HomeFiles, Stores
from cortex.settings import StoreSettings
stores = Stores(HomeFiles(Home(Path(sys.argv[1]))).storage(), StoreSettings())
print("ready", flush=True)
sys.stdin.readline()
for number in range(45):
    stores.apply("a", {f"{sys.argv[2]}-{number}": b"1", "last": sys.argv[2].encode()})
"""


def test_two_processes_that_write_many_keys_at_the_same_time_lose_none(tmp_path):
    """Each reads what the other has just written: without one step for reading and writing, keys would be lost."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(tmp_path), str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for number in (1, 2)
    ]
    for racer in racers:
        racer.stdout.readline()
    for racer in racers:
        racer.stdin.write(b"go\n")
        racer.stdin.flush()
    for racer in racers:
        racer.communicate(timeout=60)
        assert racer.returncode == 0
    kept = Stores(HomeFiles(Home(tmp_path)).storage(), StoreSettings())
    found = values(kept, "a")
    kept.close()
    assert {*found} == {f"{racer}-{number}" for racer in (1, 2) for number in range(45)} | {"last"}


@pytest.mark.parametrize("way", ["makes room", "clears"])
def test_what_a_run_keeps_while_its_old_store_is_deleted_is_not_lost(way):
    """The run commits after the store was looked at, and before it is deleted."""
    clock, disk, threads = Clock(), MemoryStorage(), []

    class Slow(MemoryStorage):
        def delete(self, key: str) -> None:
            def commit() -> None:
                stores(MemoryStorage(disk), clock, max_age_s=DAY_S).apply("old", {"new": b"1"})

            threads.append(threading.Thread(target=commit))
            threads[0].start()
            threads[0].join(0.3)
            super().delete(key)

    kept = stores(Slow(disk), clock, max_age_s=DAY_S)
    kept.apply("old", {"x": b"1"})
    clock.now += DAY_S + 1
    if way == "makes room":
        stores(Slow(disk), clock, max_age_s=DAY_S).apply("other", {"y": b"1"})
    else:
        kept.clear("old")
    threads[0].join(60)
    assert values(kept, "old") == {"new": b"1"}


def test_a_process_killed_at_any_line_of_a_commit_leaves_the_old_state_or_the_new_one(tmp_path):
    line = [sys.executable, "-m", "tests.cortex.home.dying_writer", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=True)
    seen = [json.loads(each) for each in done.stdout.splitlines()]
    assert len(seen) > 50
    before: list[int] = []
    for number, found, count in seen:
        assert found in (before, [number])  # all keys have the value of one run
        assert count in (0, 50)
        before = found
    assert before == [seen[-1][0]]  # the last one was not killed: what was left behind is not in its way
