"""Plays the scenes: a scripted model in the real loop, with the real cortex, in a home that is removed afterwards."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from cortex.energy import rounded_down
from cortex.home import Home
from cortex.loop import Conversations, run_turn
from cortex.models import ScriptedModel
from cortex.motor_cortex import MotorCortex
from cortex.settings import Settings
from cortex.show import Show
from sandbox import HostRule, NetworkPolicy, SandboxSettings

from .asking import Asker
from .clock import FastClock
from .ending import Count, ending, saving
from .lesson import Lesson
from .page import Page
from .scenario import load_scenes
from .shop import Shop, price_server

if TYPE_CHECKING:
    from cortex.contracts import TurnEvent
    from cortex.loop import Conversation

    from .scenario import Scene, SceneTurn

# A person reads along; a pipe does not.
_PAUSE_S = 0.02
_PROCESSES = 2

_FOREWORD = {
    "Scripted": "what the user and the model say, and the code that the model writes.",
    "Fast": "the clock by which energy comes back and a trial takes a day: it stands still, and jumps.",
    "Real": "everything else: the loop, energy, guard, sandbox, wall, tool, server, neuron and audit. Where something "
    "comes out differently than the script expects, the demo stops and says so.",
}


async def tell(sandbox: SandboxSettings, stream: TextIO, asker: Asker | None = None) -> bool:
    """Play all scenes to the stream, and return whether the audit of it is whole. Without an asker nobody is there who
    could agree to anything.

    Raises SandboxUnavailable when this machine cannot run Deno, and ScriptError when what happens is not what the
    script expects.
    """
    began, clock, shop, page = time.perf_counter(), FastClock(), Shop(), Page(stream)
    with price_server() as server, tempfile.TemporaryDirectory(prefix="motor-cortex-demo-") as folder:
        settings = _settings(sandbox, server, Path(folder) / "home")
        async with MotorCortex(settings, toolbox=shop.toolbox, now=clock, channels=()) as cortex:
            page.paragraph("Motor Cortex: an agent with hands, offline", "bold")
            for label, text in _FOREWORD.items():
                page.row(label, text)
            stage = Stage(cortex, Conversations(Home(settings.home).conversations, now=clock), clock, shop, page)
            asker = Asker(None) if asker is None else asker
            lesson = Lesson(cortex, clock, page, asker, lambda: stage.count.model_calls)
            for number, scene in enumerate(load_scenes(server), 1):
                await stage.play(scene, number, lesson.habit if scene.name == "learning" else None)
            await lesson.tell(number + 1)
            verdict = cortex.audit.verify()
            ending(page, stage.count, verdict, cortex.energy.level(), cortex.wall, time.perf_counter() - began)
    return verdict.ok


def _settings(given: SandboxSettings, server: str, home: Path) -> Settings:
    """Of the owner's settings only what this machine needs to run Deno: with other limits it were another story."""
    sandbox = SandboxSettings(
        deno_path=given.deno_path,
        require=given.require,
        start_timeout_ms=given.start_timeout_ms,
        pool_size=_PROCESSES,
        network=NetworkPolicy(allow=(HostRule.model_validate(server),)),
    )
    return Settings(sandbox=sandbox, home=home)


@dataclass(slots=True)
class Stage:
    """What scenes are played with."""

    cortex: MotorCortex
    conversations: Conversations
    clock: FastClock
    shop: Shop
    page: Page
    count: Count = field(default_factory=Count)

    async def play(self, scene: Scene, number: int, first: Callable[[], Awaitable[None]] | None = None) -> None:
        self.page.heading(f"{number}. {scene.title}")
        self.page.paragraph(scene.about, "dim")
        if first is not None:
            await first()
        given_bytes, read_bytes = self.shop.given_bytes, self.count.read_bytes
        with self.conversations.new() as conversation:
            for turn in scene.turns:
                if turn.minutes_later:
                    self._move_on(turn.minutes_later)
                await self._play_turn(turn, conversation)
        if self.shop.given_bytes > given_bytes:
            self.page.line()
            text = saving(self.shop.given_bytes - given_bytes, self.count.read_bytes - read_bytes)
            self.page.paragraph(text, "bold")

    def _move_on(self, minutes: float) -> None:
        before = rounded_down(self.cortex.energy.level())
        self.clock.move_on(minutes)
        self.page.line()
        after = rounded_down(self.cortex.energy.level())
        self.page.paragraph(f"({minutes:g} minutes pass on the fast clock: energy {before}, now {after})", "dim")

    async def _play_turn(self, part: SceneTurn, conversation: Conversation) -> None:
        self.page.line()
        self.page.paragraph(f"You: {part.user}", "bold")
        self.page.line()
        show = Show(self.page.stream, self.page.width)

        def watch(event: TurnEvent) -> None:
            self.count.event(event)
            # Whoever read along has left: the loop says so next, and what a turn's watcher raises would be logged.
            with suppress(BrokenPipeError):
                show.event(event)

        model = ScriptedModel(part.steps, pause_s=_PAUSE_S if self.page.stream.isatty() else 0)
        cortex = self.cortex
        try:
            async with cortex.turn(watch) as turn:
                ended = await run_turn(
                    model, turn, cortex.openai_tools(), conversation, part.user, cortex.settings.loop, watch=show.event
                )
                self.count.model_calls += ended.rounds
        finally:
            # What the command says of an end before the end must not stand in the line of what was said.
            show.end()
