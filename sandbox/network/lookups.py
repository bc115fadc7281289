"""Names, looked up by the operating system. A lookup cannot be stopped: it keeps its thread until it ends by itself."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future

import anyio

# At the same time, those that nobody waits for any longer included: of one run, and of this process. Code that asks
# for names that nobody answers must not keep others from theirs.
MAX_LOOKUPS = 4
MAX_LOOKUPS_OF_ALL = 32

# Asked for again and again: a thread that outlives its event loop has nobody to wake.
_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02

_of_all = threading.BoundedSemaphore(MAX_LOOKUPS_OF_ALL)


class Lookups:
    """The lookups of one run."""

    def __init__(self) -> None:
        self._of_run = threading.BoundedSemaphore(MAX_LOOKUPS)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        while not self._begin():  # noqa: ASYNC110 - what ends is a thread, which may belong to another event loop
            await anyio.sleep(_LONGEST_PAUSE_S)
        answer: Future[Sequence[str]] = Future()
        try:
            threading.Thread(target=self._look_up, args=(host, port, answer), daemon=True).start()
        except RuntimeError as error:
            self._end()
            raise OSError("the system has no thread left") from error
        pause = _FIRST_PAUSE_S
        while not answer.done():
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        return answer.result()

    def _begin(self) -> bool:
        if not self._of_run.acquire(blocking=False):
            return False
        if _of_all.acquire(blocking=False):
            return True
        self._of_run.release()
        return False

    def _end(self) -> None:
        _of_all.release()
        self._of_run.release()

    def _look_up(self, host: str, port: int, answer: Future[Sequence[str]]) -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            answer.set_exception(error)
        else:
            answer.set_result(list(dict.fromkeys(str(entry[4][0]) for entry in found)))
        finally:
            # By the thread, and not by who waits: who waits may be gone.
            self._end()
