"""The second half of the demo: the owner decides on a proposed neuron, it runs, and the kill switch stops it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

import anyio
import anyio.to_thread

from cortex.channels import owner_view, set_in
from cortex.models import ScriptError
from neurons import Status

if TYPE_CHECKING:
    from cortex.motor_cortex import MotorCortex
    from neurons import Neuron, Signal

    from .page import Page

_NAME = "CryptoPrice"
_PATIENCE_S = 30
# 25 hours in steps; in each step enough energy recharges for one signal.
_STEPS, _STEP_MINUTES = 50, 30
_SIGNALS_SHOWN = 4
SHOWN = 8
"""The owner repeats this many characters of the hash."""
_ANSWER_S = 300


class Lesson:
    def __init__(
        self, cortex: MotorCortex, clock: FastClock, page: Page, asker: Asker, model_calls: Callable[[], int]
    ) -> None:
        self._cortex = cortex
        self._model_calls = model_calls
        self._clock = clock
        self._page = page
        self._asker = asker
        self._signals: list[Signal] = []
        self._number = 1

    async def habit(self) -> None:
        """The habits that the cortex has noticed so far."""
        habits = self._cortex.learning.habits
        await self._until(lambda: bool(habits.all()), "a habit was noticed")
        found = habits.all()[0]
        self._page.line()
        self._page.row("Noticed", f"much the same script, {found.occurrences} times: {found.purpose}")
        self._page.row("The model", f'is told, once: "{habits.hint(found)}"')

    async def tell(self, number: int) -> None:
        """Play the second half, from this scene on."""
        self._number = number
        if await self._approval(await self._quarantine()):
            await self._trial()
            await self._life()
        await self._kill()

    async def _quarantine(self) -> Neuron:
        page, pipeline = self._page, self._cortex.learning.pipeline
        self._scene(
            "Quarantine", "The candidate runs on invented signals, and on what its habit was given. No server is asked."
        )
        await self._until(lambda: not pipeline.quarantined(), "the quarantine came to its end")
        neuron = self._neuron()
        if neuron.report is None or neuron.status is not Status.AWAITING_OWNER:
            raise ScriptError(f"The candidate is {neuron.status.value}: {neuron.reason}")
        for scenario in neuron.report.scenarios:
            emitted = ", ".join(f"{count} {type_}" for type_, count in scenario.emitted.items()) or "nothing"
            page.row(
                "passed" if scenario.ok else "failed", f"{scenario.name}: {scenario.signals} signals, emitted {emitted}"
            )
        return neuron

    async def _approval(self, neuron: Neuron) -> bool:
        page, cortex = self._page, self._cortex
        self._scene(
            "The owner's question",
            "Nothing that the model says or calls can answer it. The hash stands for all of this.",
        )
        habit = cortex.learning.habits.get(neuron.metadata.habit or "")
        for line in set_in(owner_view(neuron, habit, cortex.learning.around()), page.width):
            page.line(line)
        page.line()
        typed, refusal = await self._asker.ask(neuron, page)
        pipeline = cortex.learning.pipeline
        if refusal:
            await anyio.to_thread.run_sync(lambda: pipeline.reject(neuron.id, refusal))
            page.paragraph("It is disabled, and cannot be proposed again for 30 days, under whatever name.")
            return False
        await anyio.to_thread.run_sync(pipeline.approve, neuron.id, typed)
        page.paragraph("Approved: exactly this code, with exactly these rights. It is in trial.")
        return True

    async def _trial(self) -> None:
        page, autonomic = self._page, self._cortex.autonomic
        self._scene(
            "The trial: a day, in fast time",
            "It answers real signals now and is watched. Errors, spam or too much energy would end it.",
        )
        autonomic.watch(self._signals.append)
        await autonomic.refresh()
        await self._pass(_STEPS)
        await self._until(lambda: self._neuron().status is Status.ACTIVE, "the trial was passed")
        neuron = self._neuron()
        done = neuron.trial.counters if neuron.trial is not None else neuron.counters
        hours = _STEPS * _STEP_MINUTES / 60
        page.row("Trial", f"{hours:g} hours on the fast clock, {done.signals} signals, {done.errors} errors")
        page.row("Energy", f"{done.energy:.3f} in all, from the same reserve as everything else")
        page.row("Status", f"{neuron.status.value}, and remembered by the agent as a skill that it has learned")

    async def _life(self) -> None:
        page = self._page
        self._scene(
            "A neuron at work", "Each tick it asks for the price. It speaks when that has moved by one per cent."
        )
        self._signals.clear()
        calls_before = self._model_calls()
        await self._pass(12)
        ticks = sum(signal.type == "tick" for signal in self._signals)
        told = [signal for signal in self._signals if signal.type == "crypto_price_change"]
        if not told:
            raise ScriptError("The neuron has reported no price")
        for signal in told[:_SIGNALS_SHOWN]:
            page.row("signal", f"{signal.type}: ${signal.data['before']:,} -> ${signal.data['usd']:,}")
        calls = self._model_calls() - calls_before
        page.row("Counted", f"{ticks} ticks, {len(told)} signals of it, {calls} calls of a model")

    async def _kill(self) -> None:
        page, cortex = self._page, self._cortex
        self._scene("The kill switch", 'What "cortex kill" does, from any process, also while this one hangs.')
        began = time.perf_counter()
        killed = await anyio.to_thread.run_sync(cortex.switch.turn_on, "the end of the demo", "owner")
        took_ms = (time.perf_counter() - began) * 1000
        page.row("Killed", f"{len(killed.processes)} processes, in {took_ms:.0f} ms")
        async with cortex.turn() as turn:
            text = await turn.call("core.execute", {"purpose": "try it", "code": "return 1"})
        if "Kill switch is on" not in text:
            raise ScriptError(f"The switch is on, and code was answered with: {text}")
        page.row("Refused", text)
        await anyio.to_thread.run_sync(cortex.switch.turn_off, "the story goes on", "owner")
        page.row("Revived", 'with a reason, which is in the audit: "the story goes on"')

    def _scene(self, title: str, about: str) -> None:
        self._page.heading(f"{self._number}. {title}")
        self._page.paragraph(about, "dim")
        self._page.line()
        self._number += 1

    async def _pass(self, steps: int) -> None:
        for _ in range(steps):
            self._clock.move_on(_STEP_MINUTES)
            await self._cortex.autonomic.refresh()  # which sees that energy has come back
            self._cortex.autonomic.beat()
            await self._cortex.autonomic.idle()
        await self._cortex.autonomic.refresh()

    def _neuron(self) -> Neuron:
        return self._cortex.learning.store.get(_NAME)

    async def _until(self, is_so: Callable[[], bool], what: str) -> None:
        with anyio.move_on_after(_PATIENCE_S):
            while not await anyio.to_thread.run_sync(is_so):  # noqa: ASYNC110 - nothing announces a change on disk
                await anyio.sleep(0.01)
            return
        raise ScriptError(f"Within {_PATIENCE_S} s nothing showed that {what}")


class FastClock:
    """A clock that stands still until the demo moves it on, so that no person has to wait."""

    def __init__(self) -> None:
        self._now = time.time()

    def __call__(self) -> float:
        return self._now

    def move_on(self, minutes: float) -> None:
        self._now += minutes * 60


class Asker:
    """Asks the person at the keyboard, or says yes if `--yes` was given. Without either the answer is no."""

    def __init__(self, keyboard: TextIO | None, *, says_yes: bool = False) -> None:
        self._keyboard = keyboard
        self._says_yes = says_yes

    async def ask(self, neuron: Neuron, page: Page) -> tuple[str, str]:
        """The hash as typed, or the reason why there is none; the other one is empty."""
        shown = neuron.request.shown_hash[:SHOWN] if neuron.request is not None else ""
        if self._says_yes:
            page.line(f"--yes repeats the first {SHOWN} characters of the hash for you: {shown}", "bold")
            return shown, ""
        if self._keyboard is None:
            page.paragraph(
                'There is no terminal to ask at, and that is a no. "cortex demo --yes" says yes for you.', "bold"
            )
            return "", "there was no terminal to ask at"
        page.paragraph(f"To approve it, type the first {SHOWN} characters of the hash. Anything else is a no.", "bold")
        page.stream.write("> ")
        page.stream.flush()
        typed = await self._line(self._keyboard)
        return (typed, "") if typed == shown else ("", "the owner said no")

    async def _line(self, keyboard: TextIO) -> str:
        with anyio.move_on_after(_ANSWER_S):
            # Not in a thread, which could not be interrupted. A terminal is readable when there is a whole line.
            await anyio.wait_readable(keyboard)
            return keyboard.readline().strip().lower()
        return ""
