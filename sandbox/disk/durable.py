"""A file lock between processes, and a flusher that writes to disk (fsync) in the background.

A person's decisions are flushed at once instead: `whole_files.py`.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakSet

import anyio
import anyio.to_thread

from .whole_files import FILE_MODE

log = logging.getLogger("motor_cortex")

LOCK_TIMEOUT_S = 5.0
_FIRST_RETRY_S = 0.000_05
_LOCK_RETRY_S = 0.001


class LockBusy(Exception):
    """Another process has held the lock for too long."""


class FileLock:
    """A lock with one holder among all processes and threads. The kernel releases it when the holder dies.

    Hold it only for work that takes microseconds: a waiter in an event loop polls, and lets other tasks run meanwhile.
    Closed when garbage-collected.
    """

    _handle = -1

    def __init__(self, path: Path) -> None:
        self._path = path
        self._process = os.getpid()
        # flock belongs to the file handle, not to the thread: a second thread with the same handle would get it too.
        self._own = threading.Lock()

    def try_take(self) -> bool:
        if self._process != os.getpid():
            self._start_anew()
        if not self._own.acquire(blocking=False):
            return False
        try:
            while True:
                if self._handle < 0:
                    self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(self._handle).st_nlink:
                    return True
                # The file was deleted meanwhile: the next process would create another file and lock that one.
                self.close()
        except BlockingIOError:
            self._own.release()
            return False
        except BaseException:
            self._own.release()
            raise

    def release(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_UN)
        finally:
            self._own.release()

    @contextmanager
    def held(self, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
        """Hold the lock in a block. Blocks the thread: for code outside an event loop, and for very short work inside
        one. Raises LockBusy."""
        give_up = time.monotonic() + timeout_s
        pause_s = _FIRST_RETRY_S
        while not self.try_take():
            if time.monotonic() > give_up:
                raise LockBusy(self._complaint(timeout_s))
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LOCK_RETRY_S)
        try:
            yield
        finally:
            self.release()

    async def take(self, timeout_s: float = LOCK_TIMEOUT_S) -> None:
        """Take the lock; the caller must release it. Raises LockBusy."""
        give_up = anyio.current_time() + timeout_s
        while not self.try_take():
            if anyio.current_time() > give_up:
                raise LockBusy(self._complaint(timeout_s))
            await anyio.sleep(_LOCK_RETRY_S)

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        self.close()

    def _start_anew(self) -> None:
        """Reset after a fork: the child shares the parent's handle, and both would hold a lock on it."""
        self.close()
        self._own = threading.Lock()
        self._process = os.getpid()

    def _complaint(self, timeout_s: float) -> str:
        return f'another process has held "{self._path}" for {timeout_s:g} s; if it is stopped, continue or end it'


_flushers: WeakSet[Flusher] = WeakSet()


def _after_fork() -> None:
    for flusher in _flushers:
        flusher._start_anew()


os.register_at_fork(after_in_child=_after_fork)


class Flusher:
    """Does requested work in the background, once for all requests with the same key within the interval.

    Any thread may call `want`. Without a running task (`run`) nothing is done before `flush`: a program for one command
    calls that at its end.
    """

    def __init__(self, interval_ms: int) -> None:
        self._interval_s = interval_ms / 1000
        self._start_anew()
        _flushers.add(self)

    def _start_anew(self) -> None:
        """Make new locks, also in a forked child: there, a lock held by the parent's thread would stay locked for ever
        (deadlock). That thread's work remains the parent's."""
        self._wanted: dict[object, Callable[[], None]] = {}
        self._table = threading.Lock()
        # Held while work is done: `flush` must not return before the thread has finished what it began.
        self._doing = threading.Lock()
        self._news = threading.Event()

    def want(self, key: object, work: Callable[[], None]) -> None:
        """Have the work done soon, in a thread. Only the last work given for a key is done."""
        with self._table:
            self._wanted[key] = work
        if not self._news.is_set():
            self._news.set()

    async def run(self) -> None:
        """Run until cancelled; then finish everything that was wanted before returning."""
        ended = threading.Event()
        # A thread and not a task: `want` may be called in any thread, and cannot wake the event loop from there.
        thread = threading.Thread(target=self._work, args=(ended,), name="motor-cortex-flusher", daemon=True)
        thread.start()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
            self._news.set()
            # Wait as long as the disk takes: otherwise the caller would report "closed" for data not yet written.
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(thread.join, limiter=anyio.CapacityLimiter(1))

    def flush(self) -> None:
        """Do all wanted work now. Never raises: the operating system still holds data that could not be flushed."""
        with self._doing:
            for work in self._take():
                try:
                    work()
                except Exception as error:  # noqa: BLE001 - one failure must not keep the others from the disk
                    log.warning("Cannot flush state to disk: %s", error)

    def _work(self, ended: threading.Event) -> None:
        while not ended.is_set():
            self._news.wait()
            ended.wait(self._interval_s)
            self._news.clear()
            self.flush()
        # Flush again: more may have been wanted while the last flush was running.
        self.flush()

    def _take(self) -> list[Callable[[], None]]:
        with self._table:
            wanted, self._wanted = self._wanted, {}
        return list(wanted.values())
