"""Counts what the calls of a run led to, by tool and by request that is not a plain read, so that a caller who is told
of a failure also learns what has already happened."""

from __future__ import annotations

from ..contracts import CallCount

MAX_NAMES = 50
_OTHERS = "other calls"
_READS = frozenset({"GET", "HEAD"})


class CallsMade:
    """The calls of one run that have begun. The number of names is bounded: further ones count together."""

    def __init__(self) -> None:
        self._begun: dict[str, int] = {}
        self._done: dict[str, int] = {}
        self._failed: dict[str, int] = {}

    def begin(self, name: str) -> str:
        """Count a call that begins; return the name under which it counts."""
        if name not in self._begun and len(self._begun) >= MAX_NAMES:
            name = _OTHERS
        self._begun[name] = self._begun.get(name, 0) + 1
        return name

    def done(self, name: str) -> None:
        self._done[name] = self._done.get(name, 0) + 1

    def failed(self, name: str) -> None:
        self._failed[name] = self._failed.get(name, 0) + 1

    def counts(self) -> tuple[CallCount, ...]:
        """The counts in the order in which the names first began."""
        return tuple(
            CallCount(
                name,
                done := self._done.get(name, 0),
                failed := self._failed.get(name, 0),
                begun - done - failed,
            )
            for name, begun in self._begun.items()
        )


def request_name(method: str, url: str) -> str | None:
    """The name of a request that may have changed something; None for a plain read."""
    if method.upper() in _READS:
        return None
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    name = f"fetch {method.upper()[:10]} {host[:100]}"
    # The code wrote both: a line break would look like a line of the host's own list.
    return "".join(character if character.isprintable() else "?" for character in name)
