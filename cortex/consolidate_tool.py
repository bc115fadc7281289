"""`core.consolidate`: from the model's arguments to a proposal that is in quarantine when the answer comes.

It proposes and no more. What becomes of a proposal is decided by its trials and by the owner, elsewhere.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from neurons import NeuronError

from .replies import denied

if TYPE_CHECKING:
    from neurons import Neuron, Proposal

log = logging.getLogger("motor_cortex")

MAX_HABIT_ID = 80


class Proposals(Protocol):
    """What is needed of the pipeline: the one thing that an agent can do with it."""

    def propose(self, proposal: Proposal, *, habit: str | None = None, max_code_bytes: int) -> Neuron:
        """Raises Refused and other NeuronErrors, each with what to do."""
        ...


class Learnable(Protocol):
    """A habit, as far as a proposal is compared with it."""

    @property
    def id(self) -> str: ...

    @property
    def hosts(self) -> Sequence[str]: ...

    @property
    def tools(self) -> Sequence[str]: ...

    @property
    def last_at(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Proposed:
    """The proposal was taken."""

    neuron: Neuron

    @property
    def text(self) -> str:
        neuron = self.neuron
        return (
            f'Proposed: "{neuron.name}" (id {neuron.id}) is in quarantine, the first of four stages: it is now tried '
            "on invented and recorded signals, with no real network. If it passes, the owner is asked, who sees the "
            "code and what it may do; only the owner can approve it, and nothing said here counts as that. Then comes "
            "a trial on real signals, and then it is active. You need not wait and cannot hurry it: go on."
        )


@dataclass(frozen=True, slots=True)
class NotProposed:
    """Nothing was kept."""

    text: str


class ConsolidateTool:
    """One for all turns. `habits` are those that were noticed, `on_proposed` is told of what was taken and returns at
    once."""

    def __init__(
        self,
        pipeline: Proposals,
        *,
        max_code_bytes: int,
        habits: Callable[[], Sequence[Learnable]] = lambda: (),
        on_proposed: Callable[[Neuron], None] = lambda _: None,
    ) -> None:
        self._pipeline = pipeline
        self._max_code_bytes = max_code_bytes
        self._habits = habits
        self._on_proposed = on_proposed

    def propose(self, arguments: Mapping[str, Any]) -> Proposed | NotProposed:
        """Returns at once and never raises: whatever is wrong with a proposal is told to the model."""
        try:
            proposal = _proposal(arguments)
            habit = self._habit(arguments.get("habit"), proposal)
            neuron = self._pipeline.propose(proposal, habit=habit, max_code_bytes=self._max_code_bytes)
        except NeuronError as error:
            return NotProposed(denied(str(error)))
        except OSError as error:
            return NotProposed(denied(f"The home cannot be written: {error.strerror}"))
        try:
            self._on_proposed(neuron)
        except Exception:
            # It is kept, and whoever looks for candidates finds it.
            log.exception("Whoever is told of proposals failed")
        return Proposed(neuron)

    def _habit(self, named: str | None, proposal: Proposal) -> str | None:
        """The habit that the agent named, if there is one; else the latest that reaches for the same things."""
        habits = self._habits()
        wanted = (named or "").strip()[:MAX_HABIT_ID]
        if any(habit.id == wanted for habit in habits):
            return wanted
        hosts, tools = set(map(_bare, proposal.hosts)), set(proposal.tools)
        alike = [habit for habit in habits if hosts & set(habit.hosts) or tools & set(habit.tools)]
        return max(alike, key=lambda habit: habit.last_at).id if alike else None


def _proposal(arguments: Mapping[str, Any]) -> Proposal:
    """Nothing is passed on but what is listed here: no argument is a status, an approval or an id. Raises Refused."""
    from neurons import Proposal  # noqa: PLC0415 - few turns propose anything

    hosts = [_entry(host) for host in arguments.get("hosts", ())]
    return Proposal.of(
        {
            "name": arguments["name"].strip(),
            "code": arguments["code"],
            "purpose": " ".join(arguments["purpose"].split()),
            "input_signals": arguments["inputSignals"],
            "output_signals": arguments.get("outputSignals", ()),
            "energy_budget": arguments["energyBudget"],
            # Who names hosts and no tier can only have meant this one, and the owner sees it.
            "tier": arguments.get("tier", "network" if hosts else "isolated"),
            "hosts": hosts,
            "tools": arguments.get("tools", ()),
        }
    )


def _entry(host: str) -> str:
    """A host, also where the agent wrote a whole address."""
    return host.lower().removeprefix("https://").partition("/")[0] if not host.startswith("http://") else host


def _bare(host: str) -> str:
    return urlsplit(host if "://" in host else f"https://{host}").hostname or host
