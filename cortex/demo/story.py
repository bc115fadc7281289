"""Plays the demo: a scripted model in the real loop, with a real cortex, in a home that is removed afterwards."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from cortex.contracts import ExecutionEnded, Refused
from cortex.energy import rounded_down
from cortex.home import Home
from cortex.loop import Conversations, run_turn
from cortex.models import ScriptedModel, ScriptedStep
from cortex.motor_cortex import MotorCortex
from cortex.settings import Settings
from cortex.show import Show
from sandbox import HostRule, NetworkPolicy, SandboxSettings, data_file

from .lesson import Asker, Doorbell, FastClock, Lesson
from .page import Page
from .shop import Shop, price_server

if TYPE_CHECKING:
    from cortex.audit import Verdict
    from cortex.contracts import TurnEvent
    from cortex.loop import Conversation
    from sandbox import Wall

# A person reads along; a pipe does not.
_PAUSE_S = 0.02
_PROCESSES = 2

_FOREWORD = {
    "Scripted": "what the user and the model say, and the code that the model writes.",
    "Fast": "the clock by which energy comes back and a trial takes a day: it stands still, and jumps.",
    "Real": "everything else: the loop, energy, guard, sandbox, wall, tool, server, neuron and audit. Where something "
    "comes out differently than the script expects, the demo stops and says so.",
}
# A rule of thumb for English and JSON. No tokenizer comes with this, and each model has its own.
BYTES_PER_TOKEN = 4

_NEXT = {
    "cortex chat": "talk to such an agent, with a model of yours",
    "cortex neurons": "what it has learned, and what it would like to learn",
    "cortex run FILE": "run a script of yours in the sandbox",
    "cortex doctor": "try each layer of the wall",
}
# A placeholder in the file for the server that the demo starts: its port is known only then.
SERVER = "http://shop.server"
HABIT = "ID_OF_THE_HABIT"


async def tell(sandbox: SandboxSettings, stream: TextIO, asker: Asker | None = None) -> bool:
    """Play all scenes to the stream, and return whether the audit log is undamaged. Without an asker, the owner agrees
    to nothing.

    Raises SandboxUnavailable when this machine cannot run Deno, and ScriptError when what happens is not what the
    script expects.
    """
    began, clock, shop, page = time.perf_counter(), FastClock(), Shop(), Page(stream)
    doorbell = Doorbell()
    with price_server() as server, tempfile.TemporaryDirectory(prefix="motor-cortex-demo-") as folder:
        settings = _settings(sandbox, server, Path(folder) / "home")
        async with MotorCortex(settings, toolbox=shop.toolbox, now=clock, channels=(doorbell,)) as cortex:
            page.paragraph("Motor Cortex: an agent with hands, offline", "bold")
            for label, text in _FOREWORD.items():
                page.row(label, text)
            stage = Stage(cortex, Conversations(Home(settings.home).conversations, now=clock), clock, shop, page)
            asker = Asker(None) if asker is None else asker
            lesson = Lesson(cortex, clock, page, asker, doorbell, lambda: stage.count.model_calls)
            for scene in load_scenes(server):
                await stage.play(scene, lesson.noticed)
                if not await lesson.follow(scene.name):
                    break
            await lesson.kill()
            verdict = cortex.audit.verify()
            ending(page, stage.count, verdict, cortex.energy.level(), cortex.wall, time.perf_counter() - began)
    return verdict.ok


def _settings(given: SandboxSettings, server: str, home: Path) -> Settings:
    """Of the owner's settings, only those that this machine needs to run Deno: other limits would change the demo."""
    sandbox = SandboxSettings(
        deno_path=given.deno_path,
        require=given.require,
        start_timeout_ms=given.start_timeout_ms,
        pool_size=_PROCESSES,
        network=NetworkPolicy(allow=(HostRule.model_validate(server),)),
    )
    return Settings(sandbox=sandbox, home=home)


@dataclass(slots=True)
class Count:
    """Watches every turn."""

    runs: int = 0
    refusals: int = 0
    read_bytes: int = 0
    """Bytes that the code returned, which the model reads."""
    model_calls: int = 0

    def event(self, event: TurnEvent) -> None:
        match event:
            case ExecutionEnded():
                self.runs += 1
                self.read_bytes += len(event.reply.encode())
            case Refused():
                self.refusals += 1
            case _:
                pass


@dataclass(slots=True)
class Stage:
    """The objects with which scenes are played."""

    cortex: MotorCortex
    conversations: Conversations
    clock: FastClock
    shop: Shop
    page: Page
    count: Count = field(default_factory=Count)

    async def play(self, scene: Scene, noticed: Callable[[str], Awaitable[str]]) -> None:
        self.page.scene(scene.title, scene.about)
        if scene.habit:
            scene = _about_habit(scene, await noticed(scene.habit))
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
        passed = "1 minute passes" if minutes == 1 else f"{minutes:g} minutes pass"
        came_back = f": energy {before}, now {after}" if after != before else ""
        self.page.paragraph(f"({passed} on the fast clock{came_back})", "dim")

    async def _play_turn(self, part: SceneTurn, conversation: Conversation) -> None:
        self.page.line()
        self.page.paragraph(f"You: {part.user}", "bold")
        self.page.line()
        show = Show(self.page.stream, self.page.width)

        def watch(event: TurnEvent) -> None:
            self.count.event(event)
            # The reader has left: the loop reports that next. An exception from here would only be logged.
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
            # End the line: if the demo stops here, the command's message must begin on a new line.
            show.end()


def _about_habit(scene: Scene, habit: str) -> Scene:
    """The scene with the id of the habit where the model names it: it is known only when the habit was noticed."""
    return Scene.model_validate_json(scene.model_dump_json().replace(HABIT, habit))


def saving(given_bytes: int, read_bytes: int) -> str:
    """Compare the bytes that a tool gave to code with the bytes that the model read."""
    saved = given_bytes - read_bytes
    return (
        f"The tool gave the code {given_bytes:,} bytes. The model read {read_bytes:,}. "
        f"Saved: {saved:,} bytes, or about {round(saved / BYTES_PER_TOKEN, -3):,.0f} tokens "
        f"(at {BYTES_PER_TOKEN} bytes a token, which is a rule of thumb)."
    )


def ending(page: Page, count: Count, verdict: Verdict, level: float, wall: Wall, seconds: float) -> None:
    page.heading("What is left")
    page.row("Runs", f"{count.runs} in the sandbox, each in a process of its own; {count.refusals} refused, and free")
    page.row("Energy", f"{rounded_down(level)} of 1.00")
    page.row("Audit", f"{verdict.records} records, {_state(verdict)}")
    page.row("Wall", f"{wall.level}: {', '.join(wall.held) or 'no layer holds here'}")
    page.row("Time", f"{seconds:.1f} seconds. The home with all of it was temporary, and is removed now.")
    page.line()
    page.paragraph("Next:")
    for command, text in _NEXT.items():
        page.line(f"  {command:18}{text}")


def _state(verdict: Verdict) -> str:
    if verdict.ok:
        return f"chain whole, up to {verdict.end.hash[:16]}"
    return f"chain DAMAGED: {verdict.damages[0]}"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SceneTurn(_Part):
    """A message of the user, and the replies of the model up to its final answer."""

    minutes_later: Annotated[float, Field(ge=0)] = 0
    user: Annotated[str, Field(min_length=1)]
    steps: Annotated[tuple[ScriptedStep, ...], Field(min_length=1)]


class Scene(_Part):
    """A scene as data. `config/demo.json` has every word of the user and of the model."""

    name: Annotated[str, Field(pattern="^[a-z]+$")]
    title: Annotated[str, Field(min_length=1, max_length=70)]
    about: str
    """What the person who watches should look out for."""
    habit: str = ""
    """A word in the purpose of the habit that the model is told of first; empty for a scene without one."""
    turns: Annotated[tuple[SceneTurn, ...], Field(min_length=1)]


_SCENES = TypeAdapter(tuple[Scene, ...])


def load_scenes(server_url: str) -> tuple[Scene, ...]:
    text = data_file("config", "demo.json").read_text(encoding="utf-8")
    return _SCENES.validate_json(text.replace(SERVER, server_url))
