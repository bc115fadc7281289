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
    from neurons import Emitted, Habit, Neuron, Notice, ScenarioResult, Signal

    from .page import Page

_NEURON, _FUNCTION = "CryptoPrice", "CompoundInterest"
_PATIENCE_S = 30
# 25 hours in steps, in each of which it is at work once.
_STEPS, _STEP_MINUTES = 50, 30
_SIGNALS_SHOWN = 4
SHOWN = 8
"""The owner repeats this many characters of the hash."""
_ANSWER_S = 300

_QUARANTINE = "The candidate runs on invented input, and on what its habit was given. No server is asked."
_QUESTION = "Nothing that the model says or calls can answer it. The hash stands for all of this."
_TRIAL = "It answers real signals now and is watched. Errors, spam or too much energy would end it."
_LIFE = "Every half hour it asks for the price. It speaks when that has moved by one per cent."


class Lesson:
    def __init__(
        self,
        cortex: MotorCortex,
        clock: FastClock,
        page: Page,
        asker: Asker,
        doorbell: Doorbell,
        model_calls: Callable[[], int],
    ) -> None:
        self._cortex = cortex
        self._model_calls = model_calls
        self._clock = clock
        self._page = page
        self._asker = asker
        self._doorbell = doorbell
        self._signals: list[Signal] = []

    async def noticed(self, word: str) -> str:
        """Show the habit whose purpose has the word, and return its id."""
        found: list[Habit] = []

        def look() -> bool:
            found[:] = [habit for habit in self._cortex.learning.habits.all() if word in habit.purpose]
            return bool(found)

        await self._until(look, f"a habit was noticed ({word})")
        habit = found[0]
        self._page.line()
        self._page.row("Noticed", f"the same script in other words, {habit.occurrences} times: {habit.purpose}")
        self._page.row("The model", f'is told, once: "{await self._cortex.learning.habit_notes.text_of(habit)}"')
        return habit.id

    async def follow(self, scene: str) -> bool:
        """Play what follows the scene by itself; False when the owner has refused."""
        match scene:
            case "learning":
                if not await self._approval(await self._quarantine(_NEURON)):
                    return False
                await self._trial()
                await self._life()
            case "function":
                if not await self._approval(await self._quarantine(_FUNCTION)):
                    return False
                await self._until(lambda: bool(self._cortex.functions), "the function could be called")
            case _:
                pass
        return True

    async def _quarantine(self, name: str) -> Neuron:
        page, pipeline = self._page, self._cortex.learning.pipeline
        page.scene("Quarantine", _QUARANTINE)
        await self._until(lambda: not pipeline.quarantined(), "the quarantine came to its end")
        neuron = self._neuron(name)
        if neuron.report is None or neuron.status is not Status.AWAITING_OWNER:
            raise ScriptError(f"The candidate is {neuron.status.value}: {neuron.reason}")
        page.line()
        for scenario in neuron.report.scenarios:
            page.row("passed" if scenario.ok else "failed", _told(scenario, neuron))
        if neuron.report.equality is not None:
            page.row("record", neuron.report.equality.line)
        return neuron

    async def _approval(self, neuron: Neuron) -> bool:
        page, cortex = self._page, self._cortex
        page.scene("The owner's question", _QUESTION)
        page.line()
        habit = cortex.learning.habits.get(neuron.metadata.habit or "")
        for line in set_in(owner_view(neuron, habit), page.width):
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
        page.scene("The trial: a day, in fast time", _TRIAL)
        page.line()
        autonomic.watch(self._signals.append)
        await autonomic.refresh()
        await self._pass(_STEPS)
        await self._until(lambda: self._neuron(_NEURON).status is Status.ACTIVE, "the trial was passed")
        neuron = self._neuron(_NEURON)
        done = neuron.trial.counters if neuron.trial is not None else neuron.counters
        hours = _STEPS * _STEP_MINUTES / 60
        page.row("Trial", f"{hours:g} hours on the fast clock, {done.signals} signals, {done.errors} errors")
        page.row("Energy", f"{done.energy:.3f} in all, from the same reserve as everything else")
        page.row("Status", f"{neuron.status.value}, and remembered by the agent as a skill that it has learned")

    async def _life(self) -> None:
        page = self._page
        page.scene("A neuron at work", _LIFE)
        page.line()
        self._signals.clear()
        self._doorbell.texts.clear()
        calls_before = self._model_calls()
        await self._pass(12)
        asked = sum(signal.type == "schedule" for signal in self._signals)
        told = [signal for signal in self._signals if signal.type == "crypto_price_change"]
        if not told:
            raise ScriptError("The neuron has reported no price")
        for signal in told[:_SIGNALS_SHOWN]:
            page.row("signal", f"{signal.type}: ${signal.data['before']:,} -> ${signal.data['usd']:,}")
        await self._until(lambda: bool(self._doorbell.texts), "the owner was told")
        page.row("You", f'are told, by every channel that you have: "{self._doorbell.texts[-1]}"')
        calls = self._model_calls() - calls_before
        page.row("Counted", f"it worked {asked} times and emitted {len(told)} signals, with {calls} calls of a model")

    async def kill(self) -> None:
        page, cortex = self._page, self._cortex
        page.scene("The kill switch", 'What "cortex kill" does, from any process, also while this one hangs.')
        page.line()
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

    async def _pass(self, steps: int) -> None:
        for _ in range(steps):
            for _ in range(_STEP_MINUTES):
                # A minute at a time: a clock that leaps is that of a machine that slept, and sleep is no trial.
                self._clock.move_on(1)
                self._cortex.autonomic.beat()
            await self._cortex.autonomic.refresh()
            await self._cortex.autonomic.idle()
        await self._cortex.autonomic.refresh()

    def _neuron(self, name: str) -> Neuron:
        return self._cortex.learning.store.get(name)

    async def _until(self, is_so: Callable[[], bool], what: str) -> None:
        with anyio.move_on_after(_PATIENCE_S):
            while not await anyio.to_thread.run_sync(is_so):  # noqa: ASYNC110 - nothing announces a change on disk
                await anyio.sleep(0.01)
            return
        raise ScriptError(f"Within {_PATIENCE_S} s nothing showed that {what}")


def _told(scenario: ScenarioResult, neuron: Neuron) -> str:
    emitted = ", ".join(f"{count} {type_}" for type_, count in scenario.emitted.items()) or "nothing"
    plural = "" if scenario.signals == 1 else "s"
    what = f"call{plural}" if neuron.is_function else f"signal{plural}, emitted {emitted}"
    return f"{scenario.name}: {scenario.signals} {what}"


class Doorbell:
    """A channel to the owner, who sits at the screen: what is told is printed when the story comes to it."""

    name = "demo"

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def notify(self, notice: Notice) -> None:
        """Say nothing: the story shows the question itself."""

    async def emitted(self, emitted: Emitted) -> None:
        self.texts.append(emitted.text)


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
