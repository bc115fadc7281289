"""Whether this process runs the neurons of the home: it leads, stands by, or the kill switch is on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .autonomic_view import LayerState

if TYPE_CHECKING:
    from ..contracts import Neuron
    from .awake import Awake


class Standing:
    def __init__(self, is_killed: Callable[[str | None], bool]) -> None:
        self.is_killed = is_killed
        self.state = LayerState.OFF
        self._killed_ones: frozenset[str] = frozenset()

    @property
    def leads(self) -> bool:
        return self.state is LayerState.LEADING

    @property
    def runs(self) -> bool:
        """Whether the neurons are this process's to run, killed or not."""
        return self.state in {LayerState.LEADING, LayerState.KILLED}

    def is_on(self, neuron_id: str | None) -> bool:
        """Whether the kill switch is on for one neuron, or (None) for everything."""
        try:
            return self.is_killed(neuron_id)
        except Exception:  # noqa: BLE001 - a switch that cannot be asked counts as on
            return True

    def not_killed(self, neurons: Sequence[Neuron]) -> list[Neuron]:
        self._killed_ones = frozenset(one.id for one in neurons if self.is_on(one.id))
        return [one for one in neurons if one.id not in self._killed_ones]

    def look(self, awake: Awake) -> bool:
        """Ask the kill switch, and end what it is on for. Returns whether a neuron may wake up again."""
        if not self.runs:
            return False
        if self.is_on(None):
            self.state = LayerState.KILLED
            awake.end()
            return False
        is_revived = self.state is LayerState.KILLED
        self.state = LayerState.LEADING
        killed = frozenset(one for one in awake.ids | self._killed_ones if self.is_on(one))
        for neuron_id in killed & awake.ids:
            awake.end(neuron_id)
        is_revived |= bool(self._killed_ones - killed)
        self._killed_ones = killed
        return is_revived
