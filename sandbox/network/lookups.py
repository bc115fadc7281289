"""Names, looked up by the operating system. A lookup cannot be stopped: it keeps its thread until it ends by itself,
which for a name whose server never answers takes ten seconds and more."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future

import anyio

# At the same time, those that nobody waits for any longer included: of one run, of one domain, and of this process.
# Code that asks for names that nobody answers must not keep others from theirs. Some places are for runs that have no
# lookup under way: they are not for who has one already.
MAX_OF_RUN = 4
MAX_OF_DOMAIN = 4
MAX_OF_ALL = 32
KEPT_FOR_FIRST = 8

# Asked for again and again: a thread that outlives its event loop has nobody to wake.
_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02
# In `example.co.uk` the second label is nobody's.
_SHARED_LABELS = frozenset({"ac", "co", "com", "edu", "go", "gov", "mil", "ne", "net", "or", "org"})


class Desk:
    """Who may look up what, in this process. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all = 0
        self._of_domain: Counter[str] = Counter()

    def begin(self, run: Lookups, domain: str) -> bool:
        """Take a place for a run, if there is one."""
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
    """What somebody has registered, as well as that can be told without a list of all registries."""
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
        while not self._desk.begin(self, domain):  # noqa: ASYNC110 - what ends is a thread, which may be of another loop
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
        except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits for an answer
            answer.set_exception(error)
        else:
            answer.set_result(list(dict.fromkeys(str(entry[4][0]) for entry in found)))
        finally:
            # By the thread, and not by who waits: who waits may be gone.
            self._desk.end(self, domain)
