"""No entry point blocks the event loop for more than 200 ms, or lets the host grow by 64 MB, at its largest accepted
input."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from .drives import DRIVES, Drive, turn
from .measure import judged, watched
from .places import PLACES, places

FEW, MANY = 3, 80


@pytest.mark.parametrize("name", DRIVES)
def test_nothing_that_a_stranger_sends_stops_the_event_loop(name):
    holds_for(DRIVES[name], FEW)


@pytest.mark.soak
@pytest.mark.parametrize("name", DRIVES)
def test_nor_does_anything_else(name):
    holds_for(DRIVES[name], MANY)


def holds_for(drive: Drive, examples: int) -> None:
    values = st.tuples(*drive.values) if isinstance(drive.values, tuple) else drive.values

    _warm_up(drive, values)

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(values)
    def holds(value):
        judged(lambda: _driven(drive, value), value)

    holds()


def _warm_up(drive: Drive, values: st.SearchStrategy) -> None:
    """Run the drive once before: imports at the first use must not count."""

    @settings(
        max_examples=1, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    @given(values)
    def once(value):
        watched(lambda: _driven(drive, value))

    once()


async def _driven(drive: Drive, value: object) -> None:
    done = drive.work(value)
    if inspect.isawaitable(done):
        await done
    elif inspect.isgenerator(done):
        for _ in done:
            await turn()


# Driven through real connections in test_wires.py.
WIRES = {"MCP client over stdio"}


def test_every_place_that_reads_something_is_driven_or_says_why_not():
    """The author of a new place that parses something adds it to the table, with a drive or with a reason."""
    found = places()
    assert sorted(found.keys() - PLACES.keys()) == [], "places that are not in tests/entry_points/places.py"
    assert sorted(PLACES.keys() - found.keys()) == [], "places that are gone"
    undriven = {place: what for place, what in PLACES.items() if not what.startswith("own: ")}
    assert {what for what in undriven.values() if what not in DRIVES} <= WIRES
    assert DRIVES.keys() >= {
        *("frame", "arguments from code", "result of a tool", "MCP message over stdio", "MCP message over HTTP"),
        *("arguments of a model", "schema: checking", "redaction", "schema: declaring", "discovery", "audit"),
        *("habits: fingerprint", "model: reply"),
    }
