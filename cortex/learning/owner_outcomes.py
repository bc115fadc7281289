"""Tell the owner what became of what was approved or asked: a neuron was stopped, has passed its trial, or a question
is about to expire. Each is told once on a home, by each channel that can tell it.

What happened stands in the documents; a document of its own keeps what was told, so that it survives a restart.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import anyio
import anyio.to_thread

from neurons import Outcome, Status

if TYPE_CHECKING:
    from neurons import Neuron, NeuronStore, OwnerChannel, StatusChange, Storage

log = logging.getLogger("motor_cortex")

KEY = "outcomes/owner"
LOOK_S = 5.0
TELLING_S = 120.0
"""Timeout of one channel."""
AGAIN_S = 600.0
"""A process that claims an outcome owns it for this long: it may die before it tells."""
CLOSING_S = 2.0
SINCE_S = 7 * 86_400
"""What is older is history, and not told any more."""
SOON_S = 86_400
"""A question that expires within this time is told once more."""
_BY_CORTEX = "cortex"


@runtime_checkable
class OutcomeChannel(Protocol):
    """An owner channel that also tells what became of a neuron."""

    async def outcome(self, outcome: Outcome) -> None: ...


def outcomes_of(neurons: Iterable[Neuron], now: float) -> Iterator[Outcome]:
    """What the owner did not decide and wants to know, of the last days. Pure."""
    for neuron in neurons:
        for line in neuron.history:
            event = _event_of(line)
            if event and now - SINCE_S <= line.at <= now:
                yield Outcome(event, neuron, line.at, line.reason)
        request = neuron.request
        if neuron.status is Status.AWAITING_OWNER and request is not None and 0 < request.expires_at - now <= SOON_S:
            yield Outcome("neuron_expires", neuron, request.asked_at, "")


def _event_of(line: StatusChange) -> str:
    if line.by != _BY_CORTEX:
        return ""
    was_awake = line.before in {Status.TRIAL, Status.ACTIVE}
    if was_awake and line.after in {Status.DISABLED, Status.QUARANTINE}:
        return "neuron_stopped"
    if line.before is Status.TRIAL and line.after is Status.ACTIVE:
        return "neuron_active"
    return "neuron_expired" if line.event == "expire" else ""


class OwnerOutcomes:
    def __init__(
        self,
        store: NeuronStore,
        storage: Storage,
        channels: Sequence[OwnerChannel],
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._storage = storage
        self._channels = [channel for channel in channels if isinstance(channel, OutcomeChannel)]
        self._now = now
        self._said: set[tuple[str, int]] = set()
        """Outcome and channel number of what this process has told: a retry must not repeat it."""

    async def run(self) -> None:
        """Tell until cancelled. No failure ends it."""
        complaint = ""
        while self._channels:
            try:
                await self.tell_all()
                complaint = ""
            except Exception as error:  # noqa: BLE001 - it is retried, and the agent goes on
                if str(error) != complaint:
                    complaint = str(error)
                    log.warning("Cannot look for what became of neurons: %s", error)
            await anyio.sleep(LOOK_S)

    async def tell_all(self) -> None:
        """Tell what no process has told, and return."""
        if not self._channels:
            return
        for key, outcome in await anyio.to_thread.run_sync(self._claimed):
            is_over = False
            try:
                if await self._told(key, outcome):
                    await anyio.to_thread.run_sync(self._note, key, {"at": self._now(), "done": True})
                is_over = True
            finally:
                if not is_over:
                    # Release the claim, so that the next process need not wait until it expires.
                    with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
                        await anyio.to_thread.run_sync(self._note, key, {"at": 0, "done": False})

    def _claimed(self) -> list[tuple[str, Outcome]]:
        found = {_key(one): one for one in outcomes_of(self._store.load_all(), self._now())}
        taken: list[str] = []

        def claim(data: dict[str, Any] | None) -> dict[str, Any] | None:
            taken.clear()
            now, known = self._now(), _known(data)
            # What is too old to be found is forgotten: the document does not grow for ever.
            kept = {key: known[key] for key in found if key in known}
            taken.extend(key for key in found if _is_due(kept.get(key), now))
            kept |= {key: {"at": now, "done": False} for key in taken}
            return {"told": kept} if kept != known else None

        if found:
            self._storage.update(KEY, claim)
        return [(key, found[key]) for key in taken]

    async def _told(self, key: str, outcome: Outcome) -> bool:
        async with anyio.create_task_group() as tasks:
            for number, channel in enumerate(self._channels):
                if (key, number) not in self._said:
                    tasks.start_soon(self._say, key, number, channel, outcome)
        return all((key, number) in self._said for number in range(len(self._channels)))

    async def _say(self, key: str, number: int, channel: OutcomeChannel, outcome: Outcome) -> None:
        try:
            with anyio.fail_after(TELLING_S):
                await channel.outcome(outcome)
            self._said.add((key, number))
        except Exception as error:  # noqa: BLE001 - a channel may be the host's own; the others go on
            why = error or type(error).__name__
            log.warning('Cannot tell the owner what became of "%s": %s', outcome.neuron.id, why)

    def _note(self, key: str, note: dict[str, Any]) -> None:
        try:
            self._storage.update(KEY, lambda data: {"told": {**_known(data), key: note}})
        except Exception as error:  # noqa: BLE001 - at worst the owner is told twice
            log.warning("Cannot note that the owner was told: %s", error)


def _key(outcome: Outcome) -> str:
    return f"{outcome.neuron.id} {outcome.event} {outcome.at:.3f}"


def _known(data: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
    """The valid notes in the document: it may have been edited by hand."""
    told = (data or {}).get("told")
    return {key: note for key, note in told.items() if isinstance(note, dict)} if isinstance(told, dict) else {}


def _is_due(note: dict[str, Any] | None, now: float) -> bool:
    if note is None:
        return True
    at = note.get("at")
    return not note.get("done") and not (isinstance(at, int | float) and 0 <= now - at < AGAIN_S)
