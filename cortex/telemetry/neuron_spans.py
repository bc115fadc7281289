"""Spans of deliveries to neurons: each is a trace of its own, and of many only a few are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

from . import span_names as names

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from cortex.contracts import Came
    from neurons import Neuron


class Deliveries:
    """Draws the first of the deliveries, and then one in `every`; none with 0."""

    def __init__(self, tracer: Tracer, every: int) -> None:
        self._tracer = tracer
        self._every = every
        self._number = count()

    @contextmanager
    def delivery(self, neuron: Neuron, signals: int) -> Iterator[Came]:
        if not self._every or next(self._number) % self._every:
            yield _undrawn
            return
        from opentelemetry.context import Context  # noqa: PLC0415 - here and below: only where there are spans
        from opentelemetry.trace import SpanKind  # noqa: PLC0415

        from .open_spans import OpenSpan  # noqa: PLC0415

        attributes: dict[str, str | int] = {names.NEURON_ID: neuron.id, names.SIGNALS: signals}
        # A root: the layer runs for days inside of whatever was the current span when it was opened.
        span = self._tracer.start_span(
            f"{names.NEURON} {neuron.id}", context=Context(), kind=SpanKind.CONSUMER, attributes=attributes
        )

        def came(emitted: int, errors: int, energy: float) -> None:
            span.set_attributes({names.EMITTED: emitted, names.ERRORS: errors, names.ENERGY_COST: round(energy, 9)})
            if errors:
                opened.fail("neuron_error")

        with OpenSpan(span) as opened:
            yield came


def _undrawn(emitted: int, errors: int, energy: float) -> None:
    """Nothing is drawn of this delivery."""
