"""A lock between processes, and flushing off the hot path: in the background, many at a time.

What a person decided is flushed at once instead: `whole_files.py`.
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
    """One holder among all processes and threads. The kernel lets go of it when a holder dies.

    Held only for work that takes microseconds: whoever waits in an event loop tries again and lets others run
    meanwhile. One that nobody has any more is closed, and not held.
    """

    _handle = -1

    def __init__(self, path: Path) -> None:
        self._path = path
        self._process = os.getpid()
        # flock is the file's, not the thread's: a second taker through the same handle would walk in.
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
                # Deleted under our hands: who comes next would make another file and hold that one.
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
        """For code outside an event loop, and for work that is done before anybody could notice. Raises LockBusy."""
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
        """The caller releases it. Raises LockBusy."""
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
        """After a fork: the handle is the parent's too, and a lock on it would be held by both."""
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
    """Does what was asked for in the background, once for all who ask within the interval.

    Any thread may ask. Without a running task (`run`) nothing is done before `flush`: a program for one command calls
    that at its end.
    """

    def __init__(self, interval_ms: int) -> None:
        self._interval_s = interval_ms / 1000
        self._wanted: dict[object, Callable[[], None]] = {}
        self._start_anew()
        _flushers.add(self)

    def _start_anew(self) -> None:
        """Also in a fork: what a thread held that is not there would be held for ever. Its work is the parent's."""
        self._table = threading.Lock()
        # Held while work is done: `flush` does not return before what the thread has begun is finished.
        self._doing = threading.Lock()
        self._news = threading.Event()

    def want(self, key: object, work: Callable[[], None]) -> None:
        """Have the work done soon, in a thread. The last one that was given for a key is the one that counts."""
        with self._table:
            self._wanted[key] = work
        if not self._news.is_set():
            self._news.set()

    async def run(self) -> None:
        """Until it is cancelled; then it returns once everything that was wanted is done."""
        ended = threading.Event()
        # A thread of its own, and not a task: those who ask may be in any thread, and cannot wake a loop from there.
        thread = threading.Thread(target=self._work, args=(ended,), name="motor-cortex-flusher", daemon=True)
        thread.start()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
            self._news.set()
            # As long as the disk takes. Who cut it short would say "closed" of what is not yet written.
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(thread.join, limiter=anyio.CapacityLimiter(1))

    def flush(self) -> None:
        """Do all that is wanted, now. Never raises: what cannot be flushed is still in the system's hands."""
        with self._doing:
            for work in self._take():
                try:
                    work()
                except Exception as error:  # noqa: BLE001 - one that fails must not keep the others from the disk
                    log.warning("Cannot flush state to disk: %s", error)

    def _work(self, ended: threading.Event) -> None:
        while not ended.is_set():
            self._news.wait()
            ended.wait(self._interval_s)
            self._news.clear()
            self.flush()
        # Once more: it may have ended while something was being done, and more was wanted meanwhile.
        self.flush()

    def _take(self) -> list[Callable[[], None]]:
        with self._table:
            wanted, self._wanted = self._wanted, {}
        return list(wanted.values())
