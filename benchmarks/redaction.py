"""Benchmark of redaction: what it costs to find personal data and secrets in texts for the model."""

from __future__ import annotations

import json
import random
from typing import Any

from cortex.redaction import Redactor
from cortex.settings.sections import RedactionSettings

from .measure import Report, Row, cpu_ms_of_self, p50

MEGABYTE = 1_000_000
SMALL = '{"total": 1000, "since": "2026-01-01", "top": [{"author": "author-1", "commits": 25}], "note": "%s"}' % (
    "x " * 45
)


async def redaction(rounds: int, report: Report) -> None:
    """Measure a megabyte of commits as text and as a value, the slowest text that we know of, and a short answer."""
    chance = random.Random(6)
    commits = [commit(number, chance) for number in range(1_250)]
    text = json.dumps(commits)
    assert len(text) > MEGABYTE
    redactor = Redactor(RedactionSettings())

    def small() -> None:
        for _ in range(1_000):
            redactor.text(SMALL)

    # CPU time, not wall clock: nothing here waits, and other work on the machine must not count.
    trials = {
        "text": lambda: redactor.text(text),
        "value": lambda: redactor.value(commits),
        "worst": lambda: redactor.text("1.2.3.4 " * (MEGABYTE // 8)),
        "small": small,
    }
    taken: dict[str, list[float]] = {name: [] for name in trials}
    for _ in range(max(5, rounds // 6)):
        for name, trial in trials.items():
            before = cpu_ms_of_self()
            trial()
            taken[name].append(cpu_ms_of_self() - before)
    report(Row("1 MB of JSON redacted, CPU", p50(taken["text"]), 100, "ms", 1.0, "limit"))
    report(Row("the same as a value", p50(taken["value"]), 100, "ms", 1.0, "limit"))
    report(Row("1 MB of IP addresses only", p50(taken["worst"]), 100, "ms", float("inf"), "ordinary limit"))
    report(Row("200 bytes, a thousand times", p50(taken["small"]), 50, "ms", 1.0, "limit"))


def commit(number: int, chance: random.Random) -> dict[str, Any]:
    return {
        "sha": f"{chance.getrandbits(160):040x}",
        "author": {"name": f"Author {number % 40}", "email": f"author{number % 40}@example.com"},
        "date": "2026-01-15T10:30:00Z",
        "at": 1_700_000_000_000 + number,
        "message": "Rework the part that nobody had looked at; tokens and keys (see #12) are passed on. " * 7,
        "url": f"https://api.example.com/repos/acme/app/commits/{number}",
    }
