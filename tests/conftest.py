"""Fixtures for all tests: both event loops, own folders, and checks for leaked processes and file descriptors."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import resource
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import coverage
import pytest
from hypothesis import HealthCheck, settings as hypothesis_settings

from sandbox import DenoRuntime, ExecutionOutcome, ExecutionRequest, HostTools, SandboxSettings

# By default hypothesis fails an example that takes 200 ms, and data that takes a second to generate. On a busy machine
# any example may take that long once: such a test fails by chance, and says nothing about the code.
hypothesis_settings.register_profile(
    "no clock", hypothesis_settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("no clock")

# The process that runs the tests is measured by now. The programs that tests start are not: each would take twice as long
# to start.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.pop("COVERAGE_PROCESS_CONFIG", None)

# A shell that starts the tests in the background makes them ignore SIGINT. Every program that they start, also to
# interrupt it, inherits that. So restore the default here.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the tests a cache folder and a home of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        # COVERAGE: measure the tests, and not the hundreds of programs that they start, which would take half as long
        # again.
        for name in [name for name in os.environ if name.startswith(("CORTEX_", "OPENAI_", "COVERAGE"))]:
            patch.delenv(name)
        # With it, each program that a test starts would compile our packages again: 0.4 s of computing.
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Do not measure the process that only hands out the tests to others."""
    measuring = coverage.Coverage.current()
    if measuring is not None and getattr(config.option, "numprocesses", None):
        measuring.stop()


@pytest.fixture(autouse=True, scope="module")
def measured_in_tests_of_the_sandbox_only(request: pytest.FixtureRequest) -> Iterator[None]:
    """Measure coverage where it is judged: in tests/sandbox, and while test files are imported. A program that is
    measured computes half as long again, also in code that nobody asked about."""
    measuring = coverage.Coverage.current()
    if measuring is None or Path(__file__).parent / "sandbox" in request.path.parents:
        yield
        return
    measuring.stop()
    yield
    measuring.start()
    os.environ.pop(
        "COVERAGE_PROCESS_CONFIG", None
    )  # `start` has set it, and each program of a later test would be measured


# A test file may leave a few descriptors open, for what is made once and kept; all files together have 1024.
MOST_LEFT, MOST_OPEN = 8, 200


@pytest.fixture(autouse=True, scope="module")
def no_open_files_left() -> Iterator[None]:
    """A test file closes all files that it has opened, also those whose objects are only garbage."""
    before = open_files()
    yield
    if len(open_files()) <= len(before):
        return
    gc.collect()
    left = open_files()
    new = sorted(name for number, name in left.items() if before.get(number) != name)
    assert len(left) <= min(len(before) + MOST_LEFT, MOST_OPEN), f"{len(left)} open files, new among them: {new}"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


# These tests do not depend on the host's event loop: asyncio is enough for every change, and trio runs in the soak.
ONE_LOOP = {
    "test_autonomic_deno.py",
    "test_code.py",
    "test_code_mode.py",
    "test_cpu_time.py",
    "test_doctor.py",
    "test_in_a_turn.py",
    "test_jail.py",
    "test_kept_state.py",
    "test_limits.py",
    "test_http.py",
    "test_network_tier.py",
    "test_neuron_tools.py",
    "test_nothing_approves.py",
    "test_person.py",
    "test_learning_alive.py",
    "test_quarantine_real.py",
    "test_stdio.py",
    "test_tools_command.py",
    "test_repeatable.py",
    "test_workspace_tier.py",
    "jobs/test_attacks.py",
    "sandbox/test_answers.py",
    "sandbox/test_display.py",
    "sandbox/test_hostile.py",
    "sandbox/test_store.py",
    "sandbox/test_tools.py",
    "turn/test_files.py",
}
# In these files, one test for each thing that the host does on its event loop meanwhile: these run on trio every time.
BOTH_LOOPS = {
    "test_a_call_behind_something_else_is_not_held_up_by_a_slow_one",
    "test_a_call_that_is_under_way_when_the_time_is_over_is_told",
    "test_a_conflict_is_told_and_nothing_of_it_is_written",
    "test_a_fault_of_the_host_is_an_error_without_its_text",
    "test_a_flood_of_jobs_is_bounded_by_their_number_and_costs_nothing_beyond",
    "test_a_guest_that_does_not_read_blocks_neither_the_clock_nor_the_memory",
    "test_a_job_that_never_yields_does_not_outlive_the_kill_switch",
    "test_a_process_that_keeps_talking_is_watched_all_the_same",
    "test_a_slow_tool_blocks_neither_output_nor_other_tools_nor_timers",
    "test_a_tool_does_not_start_after_the_run_has_ended",
    "test_a_tool_that_never_answers_times_out",
    "test_a_tool_that_raises_shows_its_text_to_the_log_and_not_to_the_code",
    "test_a_turn_that_is_cancelled_during_the_question_changes_nothing_and_is_written_down",
    "test_answers_that_the_code_does_not_read_have_a_limit_together",
    "test_calls_run_in_parallel",
    "test_code_sets_gets_deletes_and_lists_json",
    "test_honest_code_may_ask_for_more_at_once_than_the_host_keeps",
    "test_large_calls_that_wait_for_an_answer_are_limited_together",
    "test_no_more_tools_work_at_once_than_the_settings_allow_and_the_others_come_in_order",
    "test_runs_at_the_same_time_have_their_own_tools",
    "test_the_kill_switch_that_is_turned_during_the_question_wins",
    "test_the_time_of_a_call_begins_with_its_turn",
    "test_tools_that_are_still_running_end_with_the_run",
    "test_two_runs_at_once_that_change_the_same_file_do_not_both_win",
    "test_what_code_displays_arrives_in_order_and_is_no_part_of_the_result",
    "test_what_is_set_without_await_is_set_in_order_before_the_run_ends",
    "test_without_a_yes_nothing_changes_and_the_model_is_told",
}


@functools.cache
def is_on_one_loop(file: Path) -> bool:
    return any(file.match(name) for name in ONE_LOOP)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        call = getattr(item, "callspec", None)
        if call is None or call.params.get("anyio_backend") != "trio" or item.originalname in BOTH_LOOPS:
            continue
        if is_on_one_loop(item.path):
            item.add_marker(pytest.mark.soak)


def small(**changes: object) -> SandboxSettings:
    """Settings for a test: one process kept warm, everything else as users have it."""
    return SandboxSettings.model_validate({"pool_size": 1, **changes})


async def execute(
    code: str, tools: HostTools | None = None, timeout_ms: int = 20_000, context: object = None, **limits: object
) -> ExecutionOutcome:
    """Run one piece of code in a runtime of its own."""
    async with DenoRuntime(small(**{"pool_size": 0, **limits})) as runtime:
        return await runtime.execute(ExecutionRequest(code=code, timeout_ms=timeout_ms, context=context), tools)


def descendants(root: int | None = None) -> dict[int, str]:
    """All descendant processes, with the beginnings of their command lines. Paths are cut to file names, so that the
    result does not depend on where the tests are."""
    parents: dict[int, int] = {}
    commands: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
            words = (entry / "cmdline").read_text().split("\0")
            commands[int(entry.name)] = " ".join(word.rpartition("/")[2] for word in words)[:80]
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
    found: dict[int, str] = {}
    ours = {root or os.getpid()}
    while fresh := {pid for pid, parent in parents.items() if parent in ours} - found.keys():
        found.update({pid: commands.get(pid, "") for pid in fresh})
        ours = fresh
    return found


@contextlib.contextmanager
def without_descriptors() -> Iterator[None]:
    """Use up the file descriptors: this process can open no more files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.open("/dev/null", os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 3, hard))
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def without_coverage() -> dict[str, str]:
    """The environment without COVERAGE*, for a process that has no disk space for coverage data."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}


def is_readable(end: int | IO[Any], within_s: float) -> bool:
    """Whether there is something to read, or all writers have closed. Works for descriptors above 1023, too."""
    poll = select.poll()
    poll.register(end, select.POLLIN)
    return bool(poll.poll(within_s * 1000))


def open_files() -> dict[int, str]:
    """The open files of this process by descriptor; empty where the system has no /proc."""
    found: dict[int, str] = {}
    with contextlib.suppress(FileNotFoundError):
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):  # the descriptor of the listing itself
                found[int(number)] = os.readlink(f"/proc/self/fd/{number}")
    return found


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """The test leaves no process and no descriptor behind."""
    processes, before = set(descendants()), open_files()
    yield
    assert {pid: name for pid, name in descendants().items() if pid not in processes} == {}
    # An abandoned thread may hold a descriptor for a moment. A leak stays.
    give_up = time.monotonic() + 5
    while len(after := open_files()) > len(before) and time.monotonic() < give_up:
        time.sleep(0.02)
    assert len(after) <= len(before), f"new: {[name for number, name in after.items() if before.get(number) != name]}"
