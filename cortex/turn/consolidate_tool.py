"""`core.consolidate`: turns the model's arguments into a proposed neuron, which then goes into quarantine.

It only proposes. Its trials and the owner decide about the proposal, elsewhere.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from cortex.audit import AuditError
from cortex.contracts import Denied, reason_of, reason_of_fault
from neurons import NeuronError, Refused
from sandbox import LockBusy, SandboxError

if TYPE_CHECKING:
    from cortex.contracts import Reason
    from neurons import Fingerprint, Neuron, Proposal

log = logging.getLogger("motor_cortex")

MAX_HABIT_ID = 80
_NEEDED = ("name", "purpose", "code", "energyBudget")
READING_S = 2


class Proposals(Protocol):
    """The part of the pipeline that is used here, and the only part that an agent can use."""

    def propose(
        self,
        proposal: Proposal,
        *,
        habit: str | None = None,
        is_habit_named: bool = False,
        found: Fingerprint | None = None,
        max_code_bytes: int,
    ) -> Neuron:
        """Raises Refused and other NeuronErrors, each with what to do."""
        ...


class Learnable(Protocol):
    """The facts of a habit that a proposal is compared with."""

    @property
    def id(self) -> str: ...

    @property
    def hosts(self) -> Sequence[str]: ...

    @property
    def tools(self) -> Sequence[str]: ...

    @property
    def last_at(self) -> float: ...


@dataclass(frozen=True, slots=True)
class ProposalAccepted:
    """The proposal was accepted into quarantine."""

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
    """The proposal was refused, and nothing of it was kept."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class DraftShown:
    """The draft of a habit. Nothing was proposed."""

    text: str


class Drafted(Protocol):
    """A ready proposal."""

    @property
    def arguments(self) -> Mapping[str, Any]: ...


async def _no_draft(habit: str, kind: Any) -> None:
    """Where no drafts are made."""
    del habit, kind


class ConsolidateTool:
    """One for all turns. `draft` makes the ready proposal of a habit, of a kind if one is given; `habits` returns the
    habits that were noticed, `read` takes the fingerprint of code, and `on_proposed` is called with each accepted
    neuron and returns at once."""

    def __init__(
        self,
        pipeline: Proposals,
        *,
        max_code_bytes: int,
        read: Callable[[str], Awaitable[Fingerprint | None]] | None = None,
        habits: Callable[[], Sequence[Learnable]] = lambda: (),
        on_proposed: Callable[[Neuron], None] = lambda _: None,
        draft: Callable[[str, Any], Awaitable[Drafted | None]] = _no_draft,
    ) -> None:
        self._pipeline = pipeline
        self._max_code_bytes = max_code_bytes
        self._read = read
        self._habits = habits
        self._on_proposed = on_proposed
        self._draft = draft

    async def propose(self, arguments: Mapping[str, Any]) -> ProposalAccepted | DraftShown | NotProposed:
        """Propose a neuron, with the draft of the habit for what is not given. Returns quickly and raises nothing but a
        cancellation: the model is told what is wrong."""
        try:
            if arguments.get("show") or any(needed not in arguments for needed in _NEEDED):
                arguments = {**await self._drafted(arguments), **arguments}
            if arguments.get("show"):
                return DraftShown(_shown(arguments))
            proposal = _proposal(arguments)
            found = await self._found(proposal.code)
            # In a thread: it waits for file locks and for the disk.
            neuron = await anyio.to_thread.run_sync(self._propose, proposal, arguments.get("habit"), found)
        except (NeuronError, AuditError, LockBusy) as error:
            return NotProposed(reason_of(Denied(str(error))))
        except OSError as error:
            return NotProposed(reason_of(Denied(f"The home cannot be written: {error.strerror}")))
        except Exception as error:
            log.exception("The host failed to take a proposal")
            return NotProposed(reason_of_fault(error))
        try:
            self._on_proposed(neuron)
        except Exception:
            # The proposal is stored, and the next look for candidates finds it.
            log.exception("The callback for accepted proposals failed")
        return ProposalAccepted(neuron)

    async def _drafted(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The draft of the habit that is named. Raises Refused where there is none."""
        named = str(arguments.get("habit", "")).strip()[:MAX_HABIT_ID]
        try:
            draft = await self._draft(named, arguments.get("kind")) if named else None
        except SandboxError as error:
            raise Refused(f"the draft of this habit cannot be made: {error}") from error
        if draft is None:
            raise Refused(f"there is no draft of this habit: give {', '.join(_NEEDED)} and what the code answers")
        return draft.arguments

    def _propose(self, proposal: Proposal, habit: str | None, found: Fingerprint | None) -> Neuron:
        came_from = self._habit(habit, proposal)
        return self._pipeline.propose(
            proposal,
            habit=came_from,
            is_habit_named=came_from is not None and came_from == (habit or "").strip(),
            found=found,
            max_code_bytes=self._max_code_bytes,
        )

    async def _found(self, code: str) -> Fingerprint | None:
        """The fingerprint by which a proposal is compared with rejected ones; None when no reader can take it. Raises
        Refused for code that cannot be parsed: else rejected code, wrapped in many parentheses, would escape."""
        if self._read is None or len(code.encode()) > self._max_code_bytes:
            return None
        with anyio.move_on_after(READING_S):
            try:
                found = await self._read(code)
            except SandboxError as error:
                log.warning("Cannot compare a proposal with others: %s", error)
                return None
            if found is None:
                raise Refused("code: it is too long or too nested to be read in time; write it in simpler parts")
            return found
        return None

    def _habit(self, named: str | None, proposal: Proposal) -> str | None:
        """The habit that the agent named, if it exists; else the latest habit with a common host or tool."""
        habits = self._habits()
        wanted = (named or "").strip()[:MAX_HABIT_ID]
        if any(habit.id == wanted for habit in habits):
            return wanted
        hosts, tools = set(map(_bare, proposal.hosts)), set(proposal.tools)
        alike = [habit for habit in habits if hosts & set(habit.hosts) or tools & set(habit.tools)]
        return max(alike, key=lambda habit: habit.last_at).id if alike else None


def _shown(arguments: Mapping[str, Any]) -> str:
    """The draft as one would write it: the code apart, because JSON is hard to read."""
    code = arguments.get("code", "")
    apart = {"code", "show"}
    rest = {key: value for key, value in arguments.items() if key not in apart and value not in ([], "", None)}
    return f"{json.dumps(rest, ensure_ascii=False)}\n{code}"


def _proposal(arguments: Mapping[str, Any]) -> Proposal:
    """The proposal in the arguments. Only the fields listed here are passed on: the model cannot set a status, an
    approval or an id. Raises Refused."""
    from neurons import Proposal  # noqa: PLC0415 - few turns propose anything

    hosts = [_entry(host) for host in arguments.get("hosts", ())]
    return Proposal.of(
        {
            "name": arguments["name"].strip(),
            "code": arguments["code"],
            "purpose": " ".join(arguments["purpose"].split()),
            "inputSignals": arguments.get("inputSignals", ()),
            "outputSignals": arguments.get("outputSignals", ()),
            "energyBudget": arguments["energyBudget"],
            # Hosts without a tier can only mean the network tier, and the owner sees it.
            "tier": arguments.get("tier", "network" if hosts else "isolated"),
            "hosts": hosts,
            "tools": arguments.get("tools", ()),
            "kind": arguments.get("kind", "function" if "parameters" in arguments else "neuron"),
            "schedules": arguments.get("schedules", ()),
            "emission": _emission(arguments),
            "parameters": arguments.get("parameters"),
            "returns": arguments.get("returns"),
        }
    )


def _emission(arguments: Mapping[str, Any]) -> dict[str, str]:
    """What an emission does, and the sentence, if there is one: `notify: The price is {usd}`."""
    action, _, text = arguments.get("emission", "notify").partition(":")
    return {"action": action.strip().lower(), "text": " ".join((arguments.get("emissionText") or text).split())}


def _entry(host: str) -> str:
    """The host, also from a whole URL."""
    return host.lower().removeprefix("https://").partition("/")[0] if not host.startswith("http://") else host


def _bare(host: str) -> str:
    return urlsplit(host if "://" in host else f"https://{host}").hostname or host
