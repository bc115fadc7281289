"""Notify the owner of neurons that wait for a decision, by each channel, in the background: a channel may take minutes,
or be broken for a day."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from cortex.channels import title_of
from neurons import Around, Notice

if TYPE_CHECKING:
    from neurons import Habits, Neuron, OwnerChannel, Pipeline, Storage

log = logging.getLogger("motor_cortex")

KEY = "proposals/told"
LOOK_S = 2.0
TELLING_S = 120.0
"""Timeout of one channel."""
AGAIN_S = 600.0
"""Retry a failed notice after this long. A process that claims a notice also owns it for this long: it may die before
it gives it."""
CLOSING_S = 2.0


class Notices:
    """Notifies the owner of each question once, from one of the home's processes. `storage` keeps which were told."""

    def __init__(
        self,
        pipeline: Pipeline,
        storage: Storage,
        habits: Habits,
        channels: Sequence[OwnerChannel],
        *,
        now: Callable[[], float] = time.time,
        around: Callable[[], Around] = Around,
    ) -> None:
        self._pipeline = pipeline
        self._storage = storage
        self._habits = habits
        self._channels = tuple(channels)
        self._now = now
        self._around = around
        self._more = anyio.Event()
        self._seen: object = None
        self._again_at = 0.0
        self._said: set[tuple[str, int]] = set()
        """Question hash and channel number of each notice that this process has given: when one channel fails, a retry
        must not repeat the others."""

    def news(self) -> None:
        """Wake `run`: a question is waiting. Returns at once."""
        self._more.set()

    async def run(self) -> None:
        """Notify the owner until cancelled. No failure ends it."""
        if not self._channels:
            return
        complaint = ""
        async with anyio.create_task_group() as tasks:
            while True:
                try:
                    for neuron in await self._to_tell():
                        tasks.start_soon(self._tell, neuron)
                    complaint = ""
                except Exception as error:  # noqa: BLE001 - after any failure the agent goes on, and this is retried
                    if str(error) != complaint:
                        complaint = str(error)
                        log.warning("Cannot look for questions to the owner: %s", error)
                with anyio.move_on_after(LOOK_S):
                    await self._more.wait()
                self._more = anyio.Event()

    async def tell_all(self) -> None:
        """Notify the owner once of all questions that no process has told, and return."""
        async with anyio.create_task_group() as tasks:
            for neuron in await anyio.to_thread.run_sync(self._taken) if self._channels else ():
                tasks.start_soon(self._tell, neuron)

    async def _to_tell(self) -> list[Neuron]:
        stamp, now = self._pipeline.store.stamp(), anyio.current_time()
        if stamp == self._seen and now < self._again_at:
            return []
        taken = await anyio.to_thread.run_sync(self._taken)
        self._seen, self._again_at = stamp, now + AGAIN_S / 10
        return taken

    def _taken(self) -> list[Neuron]:
        """Claim the questions that no process has told: for AGAIN_S no other process tells them."""
        pending = {_shown(neuron): neuron for neuron in self._pipeline.pending()}
        taken: list[Neuron] = []

        def claim(data: dict[str, Any] | None) -> dict[str, Any] | None:
            taken.clear()
            now = self._now()
            known = _known(data)
            # Keep only notes of questions that still wait: the others were answered.
            kept = {shown: known[shown] for shown in pending if shown in known}
            for shown, neuron in pending.items():
                if shown not in kept or _is_due(kept[shown], now):
                    kept[shown] = {"at": now, "done": False}
                    taken.append(neuron)
            return {"told": kept} if kept != known else None

        if pending:
            self._storage.update(KEY, claim)
        return taken

    async def _tell(self, neuron: Neuron) -> None:
        shown = _shown(neuron)
        is_over = False
        try:
            habit = await anyio.to_thread.run_sync(self._habits.get, neuron.metadata.habit or "")
            around = await anyio.to_thread.run_sync(self._around)
            notice = Notice(title_of(neuron), neuron, shown, habit, around)
            async with anyio.create_task_group() as tasks:
                for number, channel in enumerate(self._channels):
                    tasks.start_soon(self._say, number, channel, notice)
            is_over = True
            if all((shown, number) in self._said for number in range(len(self._channels))):
                await anyio.to_thread.run_sync(self._note, shown, {"at": self._now(), "done": True})
        except Exception as error:  # noqa: BLE001 - it is retried
            is_over = True
            log.warning('Cannot notify the owner of "%s": %s', neuron.id, error or type(error).__name__)
        finally:
            if not is_over:
                # Release the claim, so that the next process need not wait until it expires.
                with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
                    await anyio.to_thread.run_sync(self._note, shown, {"at": 0, "done": False}, abandon_on_cancel=True)

    async def _say(self, number: int, channel: OwnerChannel, notice: Notice) -> None:
        """Notify by one channel. A failure is logged, and the proposal goes on waiting."""
        if (notice.shown_hash, number) in self._said:
            return
        try:
            with anyio.fail_after(TELLING_S):
                await channel.notify(notice)
            self._said.add((notice.shown_hash, number))
        except Exception as error:  # noqa: BLE001 - a channel may be the host's own, and raise what it likes
            log.warning('Cannot notify the owner of "%s": %s', notice.neuron.id, error or type(error).__name__)

    def _note(self, shown: str, note: dict[str, Any]) -> None:
        try:
            self._storage.update(KEY, lambda data: {"told": {**_known(data), shown: note}})
        except Exception as error:  # noqa: BLE001 - at worst the owner is notified twice
            log.warning("Cannot note that the owner was notified: %s", error)


def _shown(neuron: Neuron) -> str:
    assert neuron.request is not None
    return neuron.request.shown_hash


def _known(data: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
    """The valid notes in the document: it may have been edited by hand."""
    told = (data or {}).get("told")
    return {key: note for key, note in told.items() if isinstance(note, dict)} if isinstance(told, dict) else {}


def _is_due(note: dict[str, Any], now: float) -> bool:
    at = note.get("at")
    return not note.get("done") and not (isinstance(at, int | float) and 0 <= now - at < AGAIN_S)
