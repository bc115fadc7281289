"""Builds the parts that learn: storage of documents, habits, the pipeline of neurons, and the layer that runs them.

`Learning` on a home reads documents and carries out decisions, which is all that a command needs. `alive`, with a
sandbox, also notices habits, tries neurons and runs them, while a cortex is open.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import anyio

from cortex.channels import ConsoleChannel, DesktopChannel, WebhookChannel, around_of, desktop_command
from cortex.turn import ConsolidateTool, HabitWatch, Notes, own_files
from neurons import (
    Around,
    Autonomic,
    Candidates,
    Comparing,
    DraftReader,
    FingerprintReader,
    Functions,
    Habits,
    LiteralReader,
    NeuronStore,
    Nightly,
    NotYet,
    Offers,
    On,
    Pipeline,
    Recordings,
    Refused,
    SideBySide,
    Workplace,
    network_for,
    unreachable_host,
)
from sandbox import SandboxUnavailable

from .delivery import Delivery
from .drafts import Drafts
from .habit_notes import HabitNotes
from .learned_functions import LearnedFunctions
from .neuron_files import NeuronFolders, file_grant
from .notices import Notices
from .outcome_notes import OutcomeNotes
from .owner_outcomes import OwnerOutcomes

if TYPE_CHECKING:
    from cortex.contracts import Tracing
    from cortex.home import HomePorts
    from cortex.settings import Settings
    from cortex.tools import OnCall
    from cortex.turn import Observer
    from neurons import (
        ApprovalKey,
        Energy,
        FileGrant,
        Fingerprint,
        Neuron,
        OwnerChannel,
        Proposal,
        Record,
        Skills,
        StatusRecords,
        Switch,
        Wake,
    )
    from sandbox import Guard, HostTools, NetworkPolicy, ResidentHost

    from .neuron_tools import NeuronTools

    Lent: TypeAlias = Callable[[Neuron], HostTools | None]
    IsKilled: TypeAlias = Callable[[str | None], bool]
    """Whether the kill switch stops a neuron, by its id; None asks whether it stops everything."""

log = logging.getLogger("motor_cortex")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What habits and neurons need from the open cortex."""

    hosts: ResidentHost
    energy: Energy
    tools: NeuronTools
    guard: Guard | None
    is_killed: IsKilled
    skills: Skills
    channels: Sequence[OwnerChannel]
    wake: Wake | None
    answer: Wake | None
    runner: bool
    """This program only runs neurons: another one that does so by chance hands over to it."""
    require: Callable[[], None]
    """Raises ToolError while nothing may act."""
    on_call: Callable[[str], OnCall]
    """Makes the callback for the tool calls of a neuron, by its id."""
    tracing: Tracing | None = None
    """Draws spans of deliveries; None where no SDK of OpenTelemetry is configured."""


@dataclass(frozen=True, slots=True)
class Living:
    """The parts that exist while a cortex is open."""

    autonomic: Autonomic
    functions: LearnedFunctions
    consolidate: ConsolidateTool | None
    observer: Observer | None
    notes: Notes


class Learning:
    def __init__(
        self,
        home: HomePorts,
        settings: Settings,
        *,
        key: ApprovalKey,
        record: Record,
        changes: StatusRecords,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._record = record
        self._key = key
        self._now = now
        self._quarantine_lease = home.lease("quarantine")
        self._nightly_lease = home.lease("nightly")
        self._comparing_lease = home.lease("comparing")
        self._autonomic_lease = home.lease("autonomic")
        self.storage = home.storage()
        self.store = NeuronStore(self.storage)
        self.pipeline = Pipeline(self.store, settings.neurons, key, record=record, changes=changes, now=now)
        self.reader = FingerprintReader()
        self.literals = LiteralReader()
        self.habits = Habits(self.storage, settings.neurons.habits, read=self.reader.read, now=now)
        self.draft_reader = DraftReader()
        self.recordings = Recordings(self.storage, settings.neurons.habits, now=now)
        self.drafts = Drafts(self.habits, self.store, self.draft_reader, self.recordings, settings.neurons)
        offers = Offers(self.storage, settings.neurons.habits, now=now)
        self.habit_notes = HabitNotes(self.habits, offers, self.drafts.of)

    def grant(self, folder: Path | str, *, write: bool = False) -> FileGrant:
        """The folder, to be granted to a neuron with `pipeline.approve(…, files=…)`; read-only by default. Raises
        Refused for one that cannot be used, or that the home of the cortex lies in."""
        return file_grant(folder, self._settings.home, write=write)

    @asynccontextmanager
    async def alive(self, around: Surroundings) -> AsyncIterator[Living]:
        """Notice habits, try neurons and run them, until the block is left."""
        settings = self._settings.neurons
        outcomes = OutcomeNotes(self.store, self.storage, now=self._now)
        notes = Notes([outcomes, self.habit_notes])
        watch = HabitWatch(self.habits, self.recordings, settings.habits, now=self._now, on_habit=notes.news)

        def lent(neuron: Neuron) -> HostTools | None:
            return around.tools.lent(neuron, require=around.require, on_call=around.on_call(neuron.id))

        def lent_in_full(neuron: Neuron) -> HostTools | None:
            # Without its tools or hosts a neuron would do half of what was approved, and pass its trial with that.
            missing = self.unreachable(neuron, around.tools)
            if missing is not None:
                raise SandboxUnavailable(missing)
            if awaited := around.tools.awaited(neuron.tools):
                raise NotYet(awaited)
            return lent(neuron)

        notices = self.notices(around.channels)
        candidates = self.candidates(around.hosts, around.guard, around.is_killed, notices, lent)
        async with (
            self.reader,
            self.literals,
            self.draft_reader,
            self._autonomic(around, lent_in_full) as autonomic,
            self._functions(around, lent_in_full) as functions,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(candidates.run)
            tasks.start_soon(self._nightly(around, lent).run)
            tasks.start_soon(self._comparing(around, notes).run)
            tasks.start_soon(notices.run)
            tasks.start_soon(OwnerOutcomes(self.store, self.storage, around.channels, now=self._now).run)
            await tasks.start(notes.run)
            if settings.habits.enabled:
                tasks.start_soon(watch.run)
            try:
                yield Living(
                    autonomic,
                    LearnedFunctions(functions, self._settings.tools),
                    self._consolidate(around.tools, candidates) if settings.max_awake else None,
                    watch if settings.habits.enabled else None,
                    notes,
                )
            finally:
                tasks.cancel_scope.cancel()

    def candidates(
        self,
        hosts: ResidentHost,
        guard: Guard | None,
        is_killed: IsKilled,
        notices: Notices,
        lent: Lent = lambda _: None,
    ) -> Candidates:
        return Candidates(
            self._workplace(hosts, is_killed, lent),
            lock=self._quarantine_lease,
            guard=guard,
            read=self.reader.read,
            on_asked=notices.news,
        )

    def _nightly(self, around: Surroundings, lent: Lent) -> Nightly:
        workplace = self._workplace(around.hosts, around.is_killed, lent)
        return Nightly(workplace, storage=self.storage, lock=self._nightly_lease)

    def _workplace(self, hosts: ResidentHost, is_killed: IsKilled, lent: Lent) -> Workplace:
        return Workplace(
            pipeline=self.pipeline,
            hosts=hosts,
            settings=self._settings.neurons,
            habits=self.habits,
            recordings=self.recordings,
            literals=self.literals,
            tools=lent,
            network=self._network_of,
            is_killed=is_killed,
            now=self._now,
        )

    def _comparing(self, around: Surroundings, notes: Notes) -> Comparing:
        def is_killed() -> bool:
            return around.is_killed(None)

        settings = self._settings.neurons
        return Comparing(
            self.habits,
            SideBySide(around.hosts, settings, recordings=self.recordings, literals=self.literals, is_killed=is_killed),
            settings.habits,
            self.storage,
            self._comparing_lease,
            is_killed=is_killed,
            now=self._now,
            on_habit=notes.news,
        )

    def notices(self, channels: Sequence[OwnerChannel]) -> Notices:
        return Notices(self.pipeline, self.storage, self.habits, channels, now=self._now, around=self.around)

    def around(self) -> Around:
        """What the owner is told about a neuron besides the neuron. Raises StorageError."""
        return around_of(self.store.load_all(), self._settings, self._key)

    def close(self) -> None:
        """Write deferred changes to disk and close everything. Never raises."""
        try:
            self.storage.flush()
        except Exception as error:  # noqa: BLE001 - after any disk error the rest is still closed
            log.warning("Cannot write the state of habits and neurons: %s", error)
        self.storage.close()
        self._quarantine_lease.close()
        self._nightly_lease.close()
        self._comparing_lease.close()
        self._autonomic_lease.close()

    def _network_of(self, neuron: Neuron) -> NetworkPolicy:
        return network_for(neuron.hosts, self._settings.sandbox.network)

    def _autonomic(self, around: Surroundings, lent: Lent) -> Autonomic:
        return Autonomic(
            self.pipeline,
            around.hosts,
            around.energy,
            self._settings.neurons,
            tools=lent,
            network=self._network_of,
            now=self._now,
            wake=around.wake,
            skills=around.skills,
            is_killed=around.is_killed,
            lock=self._autonomic_lease,
            storage=self.storage,
            courier=Delivery(around.channels, around.wake, around.answer, record=self._record),
            runner=around.runner,
            traced=None if around.tracing is None else around.tracing.delivery,
            folders=NeuronFolders(
                self._settings.home, self.pipeline, around.is_killed, self._record, own_files(self._settings)
            ),
        )

    def _functions(self, around: Surroundings, lent: Lent) -> Functions:
        return Functions(
            self.pipeline,
            around.hosts,
            around.energy,
            self._settings.neurons,
            tools=lent,
            network=self._network_of,
            is_killed=around.is_killed,
            skills=around.skills,
            now=self._now,
        )

    def unreachable(self, wish: Neuron | Proposal, tools: NeuronTools) -> str | None:
        """Why a host or tool that it asks for is not available to neurons here; None if all are."""
        return unreachable_host(wish.hosts, self._settings.sandbox.network) or tools.missing(wish.tools)

    def _consolidate(self, tools: NeuronTools, candidates: Candidates) -> ConsolidateTool:
        return ConsolidateTool(
            _Proposals(self, tools),
            max_code_bytes=self._settings.sandbox.max_code_bytes,
            read=self.reader.read,
            habits=self.habits.all,
            on_proposed=candidates.news,
            draft=self.drafts.of,
        )


class _Proposals:
    """The pipeline as an agent gets it: refuses hosts and tools that no neuron can have here, before any trial."""

    def __init__(self, learning: Learning, tools: NeuronTools) -> None:
        self._learning = learning
        self._tools = tools

    def propose(
        self,
        proposal: Proposal,
        *,
        habit: str | None = None,
        is_habit_named: bool = False,
        found: Fingerprint | None = None,
        max_code_bytes: int,
    ) -> Neuron:
        proposal = proposal.model_copy(update={"tools": self._tools.spelled_out(proposal.tools)})
        problem = self._learning.unreachable(proposal, self._tools)
        if problem is not None:
            raise Refused(problem)
        neuron = self._learning.pipeline.propose(
            proposal, habit=habit, is_habit_named=is_habit_named, found=found, max_code_bytes=max_code_bytes
        )
        if habit is not None:
            self._learning.habits.learned(habit, neuron.id)
        return neuron


def killed_by(switch: Switch, refusal: Callable[[], str | None]) -> IsKilled:
    """Killed while the switch is on, and while the sandbox refuses: the sandbox reads the switch by itself, perhaps a
    moment later. A neuron that wakes up before would get no process, and rest."""
    return lambda neuron_id: isinstance(switch.state(neuron_id), On) or refusal() is not None


def channels_of(settings: Settings) -> list[OwnerChannel]:
    """The owner channels that the settings name."""
    owner = settings.neurons.owner
    channels: list[OwnerChannel] = [ConsoleChannel()] if owner.console else []
    if owner.desktop and (command := desktop_command()) is not None:
        channels.append(DesktopChannel(command))
    return [*channels, WebhookChannel(owner)] if owner.webhook_url is not None else channels
