"""Looks up host names (DNS) through the operating system, in threads. A lookup cannot be cancelled: it keeps its thread
until it ends by itself, which takes ten seconds and more when the name server never answers."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future

import anyio

# Limits on concurrent lookups, abandoned ones included: of one run, of one domain, and of this process. Code that asks
# for names that no server answers must not block the lookups of other runs. Some places are reserved for runs that have
# no lookup under way.
MAX_OF_RUN = 4
MAX_OF_DOMAIN = 4
MAX_OF_ALL = 32
KEPT_FOR_FIRST = 8

# The result is polled: a thread that outlives its event loop could not wake it.
_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02
# Labels of suffixes that are not registered domains themselves: `co.uk` in `example.co.uk`.
_SHARED_LABELS = frozenset({"ac", "co", "com", "edu", "go", "gov", "mil", "ne", "net", "or", "org"})


class Desk:
    """Enforces the lookup limits of this process. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all = 0
        self._of_domain: Counter[str] = Counter()

    def begin(self, run: Lookups, domain: str) -> bool:
        """Take a place for a run; False if there is none."""
        with self._lock:
            most = MAX_OF_ALL - KEPT_FOR_FIRST if run.under_way else MAX_OF_ALL
            if run.under_way >= MAX_OF_RUN or self._all >= most or self._of_domain[domain] >= MAX_OF_DOMAIN:
                return False
            self._all += 1
            run.under_way += 1
            self._of_domain[domain] += 1
            return True

    def end(self, run: Lookups, domain: str) -> None:
        with self._lock:
            self._all -= 1
            run.under_way -= 1
            self._of_domain[domain] -= 1
            if not self._of_domain[domain]:
                del self._of_domain[domain]


def domain_of(host: str) -> str:
    """The registered domain of a host, as well as it can be told without a list of all registries."""
    labels = host.lower().rstrip(".").split(".")
    is_shared = len(labels) > 2 and labels[-2] in _SHARED_LABELS and len(labels[-1]) == 2
    return ".".join(labels[-3:] if is_shared else labels[-2:])


_desk = Desk()


class Lookups:
    """The lookups of one run."""

    def __init__(self, desk: Desk = _desk) -> None:
        self._desk = desk
        self.under_way = 0
        """Changed by the desk, under its lock."""

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        domain = domain_of(host)
        while not self._desk.begin(self, domain):  # noqa: ASYNC110 - it waits for a thread, maybe of another loop
            await anyio.sleep(_LONGEST_PAUSE_S)
        answer: Future[Sequence[str]] = Future()
        try:
            threading.Thread(target=self._look_up, args=(host, port, domain, answer), daemon=True).start()
        except RuntimeError as error:
            self._desk.end(self, domain)
            raise OSError("the system has no thread left") from error
        pause = _FIRST_PAUSE_S
        while not answer.done():
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        return answer.result()

    def _look_up(self, host: str, port: int, domain: str, answer: Future[Sequence[str]]) -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except Exception as error:  # noqa: BLE001 - the caller waits for an answer, whatever the error
            answer.set_exception(error)
        else:
            answer.set_result(list(dict.fromkeys(str(entry[4][0]) for entry in found)))
        finally:
            # Released by the thread, not by the waiting task, which may be gone.
            self._desk.end(self, domain)
