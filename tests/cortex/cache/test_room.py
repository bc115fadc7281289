from __future__ import annotations

from hypothesis import given, strategies as st

from cortex.cache.result_cache import BLOCK_BYTES, File, is_fresh, surplus, taken

FILES = st.lists(
    st.builds(File, st.text("ab", min_size=1), st.integers(0, 20_000), st.integers(0, 200).map(float)),
    unique_by=lambda file: file.name,
)


def test_the_oldest_results_are_deleted_first():
    files = [File("old", 5_000, 1.0), File("new", 5_000, 3.0), File("middle", 5_000, 2.0)]
    assert surplus(files, 3.0, 10_000, 100) == ["old"]


def test_results_that_are_too_old_are_deleted_though_there_is_room():
    assert surplus([File("old", 1, 0.0), File("new", 1, 50.0)], 100.0, 10**9, 60) == ["old"]


def test_results_dated_into_the_future_by_a_wrong_clock_are_deleted():
    assert surplus([File("later", 1, 1_000.0)], 100.0, 10**9, 60) == ["later"]
    assert not is_fresh(float("nan"), 100.0, 60)


def test_small_files_count_as_one_block_each():
    files = [File(f"{number:03}", 1, 1.0) for number in range(100)]
    assert len(surplus(files, 1.0, 10 * BLOCK_BYTES, 60)) == 90


@given(FILES, st.integers(0, 100_000))
def test_what_stays_is_within_the_limits_and_newer_than_what_went(files: list[File], max_bytes: int):
    gone = set(surplus(files, 100.0, max_bytes, 60))
    kept = [file for file in files if file.name not in gone]
    assert sum(taken(file.size) for file in kept) <= max_bytes
    assert all(is_fresh(file.at, 100.0, 60) for file in kept)
    fresh = [file for file in files if file.name in gone and is_fresh(file.at, 100.0, 60)]
    assert all(left.at >= file.at for left in kept for file in fresh)
