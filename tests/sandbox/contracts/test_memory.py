"""How the memory of a process is read, on this system and on others."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

import pytest

from sandbox import DenoRuntime, ErrorType, ExecutionRequest
from sandbox.contracts.process_memory import choose_reader, private_bytes
from tests.conftest import small

MIB = 1 << 20


class LikeMacOS:
    """The one function of libproc that is used, answering with what /proc says."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def proc_pidinfo(self, pid, flavor, argument, buffer, size):
        assert (flavor, argument.value, size) == (4, 0, 96)
        self.asked.append(pid)
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            return 0
        ctypes.memmove(buffer, struct.pack("=QQ", 1 << 40, pages * os.sysconf("SC_PAGE_SIZE")), 16)
        return size


def test_memory_of_its_own_grows_with_what_a_process_takes():
    before = private_bytes(os.getpid())
    kept = bytearray(b"x") * (64 * MIB)
    assert 60 * MIB < private_bytes(os.getpid()) - before < 70 * MIB
    del kept


@pytest.mark.parametrize("pid", [None, 0, 2**22 + 1])
def test_of_a_process_that_is_not_there_nothing_is_claimed(pid):
    assert private_bytes(pid) == 0


def test_the_reader_is_chosen_by_what_is_there(tmp_path):
    assert choose_reader(Path("/proc"), LikeMacOS())(os.getpid()) > MIB
    library = LikeMacOS()
    assert choose_reader(tmp_path, library)(os.getpid()) > MIB
    assert library.asked == [os.getpid()]
    assert choose_reader(tmp_path, library)(2**22 + 1) == 0
    assert choose_reader(tmp_path, object())(os.getpid()) == 0


@pytest.mark.deno
async def test_the_watch_works_without_proc_and_without_a_launcher(tmp_path, monkeypatch):
    monkeypatch.setattr("sandbox.wall.wall.can_fork_serve", lambda: False)
    monkeypatch.setattr("sandbox.contracts.process_memory._private_bytes", choose_reader(tmp_path, LikeMacOS()))
    greedy = "const kept = []; for (;;) { kept.push(new Uint8Array(4 << 20).fill(1)); await new Promise((r) => setTimeout(r, 5)) }"
    async with DenoRuntime(small(pool_size=0, max_memory_mb=128)) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=greedy, timeout_ms=20_000))
    assert outcome.error.type == ErrorType.MEMORY
