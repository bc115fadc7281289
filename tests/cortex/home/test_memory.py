"""What the agent remembers survives, stays within its bounds, and is never spoiled by a line that was cut off."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from cortex.home import Home, HomeFiles
from cortex.home.memory import MAX_CHARACTERS, MAX_ENTRIES, Memory, Recollection
from sandbox import Flusher, LineFile


def memory_in(folder: Path, *, flusher: Flusher | None = None, **options: Any) -> Memory:
    class Folder:
        def lines(self, name: str, **bounds: int) -> LineFile:
            return LineFile(folder / f"{name}.jsonl", flusher=flusher, **bounds)

    return Memory(Folder(), **options)


def texts(memory: Memory, most: int = MAX_ENTRIES) -> list[str]:
    return [entry.text for entry in memory.recent(most)]


def test_what_was_remembered_is_there_in_order_with_its_time_for_another_process_too(tmp_path):
    clock = iter([10.5, 11.5])
    memory = memory_in(tmp_path / "state", now=lambda: next(clock))
    memory.remember("  likes pears ")
    memory.remember('says "ä\n\u2028"')
    assert memory_in(tmp_path / "state").recent() == [
        Recollection(10.5, "likes pears"),
        Recollection(11.5, 'says "ä\n\u2028"'),
    ]
    assert texts(memory, 1) == ['says "ä\n\u2028"']
    assert texts(memory, 0) == []


def test_a_home_without_memories_has_none(tmp_path):
    assert memory_in(tmp_path / "nowhere").recent() == []
    assert not (tmp_path / "nowhere").exists()


def test_files_are_for_their_owner_alone(tmp_path):
    memory_in(tmp_path / "state").remember("x")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state").iterdir()}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_nothing_is_not_remembered(tmp_path, text):
    with pytest.raises(ValueError, match="nothing to remember"):
        memory_in(tmp_path).remember(text)


def test_long_texts_are_cut_and_half_characters_replaced(tmp_path):
    memory = memory_in(tmp_path)
    memory.remember("😀" * 5000)
    memory.remember("half \ud83d")
    long, half = texts(memory)
    assert len(long) == MAX_CHARACTERS
    assert long.endswith("😀…")
    assert half == "half \ufffd"


def test_the_oldest_make_way_for_the_newest(tmp_path):
    line = json.dumps({"at": 1.0, "text": "😀" * 2000}) + "\n"
    (tmp_path / "memory.jsonl").write_text(line * (MAX_ENTRIES - 1))
    memory = memory_in(tmp_path)
    for number in range(3):
        memory.remember(f"new {number}")
    found = texts(memory)
    assert len(found) == MAX_ENTRIES
    assert found[-4:] == ["😀" * 2000, "new 0", "new 1", "new 2"]


def test_the_oldest_make_way_many_at_a_time(tmp_path):
    """What is left is written anew then, which may be megabytes: not for each entry."""
    path = tmp_path / "memory.jsonl"
    path.write_text('{"at": 1, "text": "old"}\n' * MAX_ENTRIES)
    memories, inodes, most = (memory_in(tmp_path), memory_in(tmp_path)), [path.stat().st_ino], 0
    for number in range(350):
        memories[number % 2].remember(f"new {number}")
        most = max(most, path.read_bytes().count(b"\n"))
        if path.stat().st_ino != inodes[-1]:
            inodes.append(path.stat().st_ino)
    assert (len(inodes), most) == (4, MAX_ENTRIES + 100)
    found = texts(memories[0], 10_000)
    assert len(found) == MAX_ENTRIES
    assert found[-351:] == ["old", *(f"new {number}" for number in range(350))]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="only Linux says how much was read")
def test_one_more_entry_does_not_read_all_the_others(tmp_path):
    def bytes_read() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    (tmp_path / "memory.jsonl").write_text('{"at": 1, "text": "%s"}\n' % ("x" * 2000) * MAX_ENTRIES)
    memory = memory_in(tmp_path)
    memory.remember("the first one counts them")
    before = bytes_read()
    for number in range(20):
        memory.remember(f"new {number}")
    assert bytes_read() - before < 100_000


@pytest.mark.parametrize(
    "damage",
    [b"\xff\xfe", b'{"at": 1, "text": "cut o', b"[1]", b"null", b'{"at": "x", "text": "y"}', b'{"at": 1, "text": 7}', b"[" * 5000,
     b'{"at": 1' + b"0" * 400 + b', "text": "y"}'],
)  # fmt: skip
def test_a_damaged_line_is_passed_over_and_reported_and_spoils_no_other(tmp_path, caplog, damage):
    memory = memory_in(tmp_path)
    memory.remember("before")
    with (tmp_path / "memory.jsonl").open("ab") as file:
        file.write(damage)
    memory.remember("after")
    assert texts(memory) == ["before", "after"]
    assert "Skipped 1 unreadable lines" in caplog.text
    assert texts(memory, 1) == ["after"]


def test_many_damaged_lines_at_the_end_hide_none_of_those_before(tmp_path):
    memory = memory_in(tmp_path)
    for number in range(20):
        memory.remember(f"text {number}")
    with (tmp_path / "memory.jsonl").open("ab") as file:
        file.write(b"damaged\n" * 130)
    assert texts(memory, 20) == [f"text {number}" for number in range(20)]


def test_a_file_that_somebody_made_huge_is_not_read_whole(tmp_path):
    path = tmp_path / "memory.jsonl"
    with path.open("wb") as file:
        file.truncate(10 * 1024**3)
        file.seek(0, os.SEEK_END)
        file.write(b'\n{"at": 1, "text": "end"}\n')
    memory = memory_in(tmp_path)
    assert texts(memory, 3) == ["end"]
    memory.remember("next")
    assert texts(memory) == ["end", "next"]
    assert path.stat().st_size < 1_000


def test_a_process_that_is_killed_while_it_remembers_loses_nothing_that_was_kept(tmp_path):
    program = f"""
from pathlib import Path
from cortex.home import Home, HomeFiles, Memory
memory = Memory(HomeFiles(Home(Path({str(tmp_path)!r}))))
number = 0
while True:
    memory.remember(f"entry {{number}}")
    print(number, flush=True)
    number += 1
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    for _ in range(50):
        last = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().split()
    process.wait(10)
    process.stdout.close()
    last = int(rest[-1]) if rest else last
    memory = Memory(HomeFiles(Home(tmp_path)))
    memory.remember("the next one")
    found = texts(memory)
    assert found[-1] == "the next one"
    assert f"entry {last}" in found[-3:]


FULL_DISK = """
import resource, sys
from pathlib import Path
from cortex.home import Home, HomeFiles, Memory
memory = Memory(HomeFiles(Home(Path(sys.argv[1]))))
memory.remember("before")
size = (Path(sys.argv[1]) / "state/memory.jsonl").stat().st_size
for room in (20, 0):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
    try:
        memory.remember("the important fact")
    except OSError:
        print("refused")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
memory.remember("after")
"""


def test_a_full_disk_is_an_error_and_leaves_no_part_of_a_line(tmp_path, caplog):
    done = subprocess.run([sys.executable, "-c", FULL_DISK, tmp_path], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("refused\nrefused\n", "")
    assert texts(Memory(HomeFiles(Home(tmp_path)))) == ["before", "after"]
    assert caplog.text == ""


def test_two_memories_of_one_home_never_lose_or_mix_a_line_also_when_the_oldest_make_way(tmp_path):
    (tmp_path / "memory.jsonl").write_text('{"at": 1, "text": "old"}\n' * (MAX_ENTRIES - 20))

    def many(name: str) -> None:
        memory = memory_in(tmp_path)
        for number in range(40):
            memory.remember(f"{name}{number}")

    threads = [threading.Thread(target=many, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = texts(memory_in(tmp_path))
    assert sorted(found[-80:]) == sorted(f"{name}{number}" for name in "ab" for number in range(40))


def test_the_disk_is_asked_to_keep_it_in_the_background(tmp_path):
    flusher = Flusher(10)
    memory = memory_in(tmp_path, flusher=flusher)
    memory.remember("x")
    memory.remember("y")
    assert len(flusher._wanted) == 1
    flusher.flush()
    memory.close()
