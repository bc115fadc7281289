from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import anyio
import pytest

from cortex.cache import ResultCache, open_cache, result_cache as module
from cortex.cache.result_cache import BLOCK_BYTES
from cortex.home.home import Home
from cortex.settings.sections import CacheSettings
from sandbox import ErrorType, ExecutionOutcome, Flusher
from tests.cortex.cache.runtimes import SAME, VARIED, failed

KEY = sha256(b"first").hexdigest()


def keys(count: int) -> list[str]:
    return [sha256(str(number).encode()).hexdigest() for number in range(count)]


def cache(folder: Path, *, now=lambda: 1_000.0, flusher: Flusher | None = None, **settings: object) -> ResultCache:
    return ResultCache(folder, CacheSettings.model_validate(settings), now=now, flusher=flusher)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def written(folder: Path, **settings: object) -> ResultCache:
    place = cache(folder, **settings)
    place.put(KEY, SAME)
    place.write_out()
    return place


def test_a_result_is_found_right_after_put(tmp_path: Path):
    place = cache(tmp_path)
    assert place.get(KEY) is None
    place.put(KEY, SAME)
    found = place.get(KEY)
    assert found is not None
    assert (found.result, found.metrics.cached) == (2, True)
    assert files(tmp_path) == []  # the caller did not wait for the disk


def test_another_process_finds_it_once_it_is_written(tmp_path: Path):
    written(tmp_path)
    code = (
        "import sys; from pathlib import Path; from cortex.cache import ResultCache;"
        "from cortex.settings.sections import CacheSettings;"
        "print(ResultCache(Path(sys.argv[1]), CacheSettings(), now=lambda: 1000.0).get(sys.argv[2]).result)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path, KEY], capture_output=True, timeout=120, check=True)
    assert done.stdout == b"2\n"


async def test_a_flusher_writes_it(tmp_path: Path):
    flusher = Flusher(1)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(flusher.run)
        cache(tmp_path, flusher=flusher).put(KEY, SAME)
        with anyio.fail_after(60):
            while not files(tmp_path):
                await anyio.sleep(0.001)
        tasks.cancel_scope.cancel()
    assert cache(tmp_path).get(KEY) is not None


def test_files_of_the_cache_are_for_the_owner_only(tmp_path: Path):
    written(tmp_path / "cache")
    [path] = files(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in list(path.parents)[:2]} == {0o700}


def test_each_caller_gets_a_copy_of_a_cached_result(tmp_path: Path):
    place = cache(tmp_path)
    result = {"list": [1]}
    place.put(KEY, replace(SAME, result=result))
    result["list"].append(2)
    place.get(KEY).result["list"].append(3)
    assert place.get(KEY).result == {"list": [1]}


@pytest.mark.parametrize(
    "outcome",
    [
        VARIED,
        failed(ErrorType.RUNTIME, deterministic=True),
        replace(SAME, result_bytes=100_000),
        replace(SAME, result="x" * 300_000),
    ],
    ids=["varied", "failed", "truncated", "large"],
)
def test_failed_cut_large_or_varying_results_are_not_cached(outcome: ExecutionOutcome, tmp_path: Path):
    place = cache(tmp_path)
    place.put(KEY, outcome)
    place.write_out()
    assert place.get(KEY) is None
    assert files(tmp_path) == []


@pytest.mark.parametrize("later", [True, False], ids=["memory", "disk"])
def test_a_result_that_is_too_old_is_not_found_and_is_deleted(tmp_path: Path, later: bool):
    times = [1_000.0]
    place = written(tmp_path, now=lambda: times[0], max_age_s=60)
    if later:
        place = cache(tmp_path, now=lambda: times[0], max_age_s=60)
    times[0] = 1_060.0
    assert place.get(KEY) is not None
    times[0] = 1_060.5
    assert place.get(KEY) is None
    assert files(tmp_path) == []


def test_a_sweep_deletes_what_is_too_old(tmp_path: Path):
    written(tmp_path)
    cache(tmp_path, now=lambda: 1_000.0 + 59, max_age_s=60).sweep()
    assert len(files(tmp_path)) == 1
    cache(tmp_path, now=lambda: 1_000.0 + 61, max_age_s=60).sweep()
    assert files(tmp_path) == []


def test_the_disk_is_never_fuller_than_the_limit_and_the_newest_stay(tmp_path: Path):
    limit = 16 * 4 * BLOCK_BYTES
    times = [1_000.0]
    place = cache(tmp_path, now=lambda: times[0], max_bytes=limit)
    for key in keys(300):
        times[0] += 1
        place.put(key, SAME)
        place.write_out()
        assert place.size <= limit
    assert place.size > limit / 2
    assert cache(tmp_path, now=lambda: times[0]).get(keys(300)[-1]) is not None
    assert cache(tmp_path, now=lambda: times[0]).get(keys(300)[0]) is None


def test_memory_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_MEMORY_BYTES", 10_000)
    place = cache(tmp_path)
    for key in keys(50):
        place.put(key, replace(SAME, result="x" * 1_000))
        assert place._memory_bytes == sum(len(stored.body) for stored in place._memory.values()) <= 10_000
    assert place.get(keys(50)[-1]) is not None
    assert place.get(keys(50)[0]) is None  # not written yet, either
    place.write_out()
    assert place.get(keys(50)[0]) is not None


def test_results_that_were_used_last_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_MEMORY_BYTES", 3_500)
    place = cache(tmp_path)
    first, second, third, fourth = keys(4)
    for key in (first, second, third):
        place.put(key, replace(SAME, result="x" * 1_000))
    place.get(first)
    place.put(fourth, replace(SAME, result="x" * 1_000))
    assert [place.get(key) is not None for key in (first, second, third, fourth)] == [True, False, True, True]


@pytest.mark.parametrize("data", [b"", b"{}", b"x" * 400_000, None], ids=["empty", "other", "huge", "cut"])
def test_a_damaged_file_is_a_miss_and_is_deleted(data: bytes | None, tmp_path: Path):
    written(tmp_path)
    [path] = files(tmp_path)
    path.write_bytes(path.read_bytes()[:-1] if data is None else data)
    place = cache(tmp_path)
    assert place.get(KEY) is None
    assert files(tmp_path) == []
    place.put(KEY, SAME)
    place.write_out()
    assert cache(tmp_path).get(KEY) is not None


def test_a_file_under_the_key_of_another_is_a_miss(tmp_path: Path):
    written(tmp_path)
    other = KEY[:-1] + ("0" if KEY[-1] != "0" else "1")
    [path] = files(tmp_path)
    path.rename(path.with_name(other))
    assert cache(tmp_path).get(other) is None


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path):
    (tmp_path / KEY[0]).mkdir()
    os.mkfifo(tmp_path / KEY[0] / KEY)
    assert cache(tmp_path).get(KEY) is None


def test_a_disk_that_cannot_be_written_is_logged_once_and_raises_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "cache").write_text("in the way")
    place = cache(tmp_path / "cache")
    with caplog.at_level(logging.WARNING):
        for key in keys(3):
            place.put(key, SAME)
            place.write_out()
            assert place.get(key) is not None
    assert [record.getMessage() for record in caplog.records] == [
        f'Cannot keep results in "{tmp_path / "cache"}": Not a directory'
    ]
    place.sweep()
    assert place.size == 0


WRITER = """
import sys
from hashlib import sha256
from pathlib import Path
from cortex.cache import ResultCache
from cortex.settings.sections import CacheSettings
from sandbox import ExecutionOutcome

folder, start = Path(sys.argv[1]), int(sys.argv[2])
for round in range(3):
    place = ResultCache(folder, CacheSettings(max_bytes=16 * 4 * 4096), now=lambda: 1000.0)
    for number in range(start, start + 60):
        key = sha256(str(number).encode()).hexdigest()
        found = place.get(key)
        assert found is None or found.result == [number], found
        place.put(key, ExecutionOutcome(ok=True, result=[number], deterministic=True))
        place.write_out()
"""


def test_several_processes_share_a_folder(tmp_path: Path):
    starts = (0, 30, 60)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, tmp_path, str(start)], stderr=subprocess.PIPE)
        for start in starts
    ]
    for writer in writers:
        _, complaint = writer.communicate(timeout=120)
        assert writer.returncode == 0, complaint.decode()
    place = cache(tmp_path)
    assert place.size <= 16 * 4 * BLOCK_BYTES
    found = [place.get(sha256(str(number).encode()).hexdigest()) for number in range(120)]
    assert any(found)
    assert all(outcome is None or outcome.result == [number] for number, outcome in enumerate(found))


def test_it_can_be_switched_off(tmp_path: Path):
    assert open_cache(Home(tmp_path), CacheSettings(enabled=False)) is None
    assert not (tmp_path / "cache").exists()
    place = open_cache(Home(tmp_path), CacheSettings())
    assert place is not None
    place.put(KEY, SAME)
    place.write_out()
    assert files(tmp_path / "cache")


def test_a_home_that_other_users_may_write_to_has_no_cache(tmp_path: Path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    assert open_cache(Home(tmp_path), CacheSettings()) is None
