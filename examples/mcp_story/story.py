"""Plays the story: the same questions through code mode and through plain calls, with real MCP servers."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from cortex import Conversations, MotorCortex, ScriptedModel, run_turn
from cortex.contracts import TurnEvent
from cortex.demo import Page
from cortex.loop import CallEnded, Conversation, Event, Message, ModelReply, ignore
from cortex.show import Show
from sandbox import SandboxSettings

from .accounts import Account, table, verdict
from .owner import PageOwner
from .plain import PlainClient, compact, plain_client
from .scenes import Scene, load_scenes
from .settings import story_servers, story_settings

# A person reads along; a pipe does not.
_PAUSE_S = 0.02
_PATIENCE_S = 60

_FOREWORD = {
    "Scripted": "what the user and the model say, and the code that the model writes.",
    "Real": "two MCP servers that come with this, the client, the search, the sandbox, and every byte that is counted. "
    "Where something comes out differently than the script expects, the demo stops and says so.",
    "Counted": "what goes into the context of the model: the definitions of tools, its calls, and their results, each "
    "once and as compact JSON. The question and the answer are the same in both ways, and left out. Tokens are "
    "estimated at 4 bytes each: no tokenizer comes with this, and each model has its own.",
}

_GROWTH = (
    "plain calls pay for each tool of each server in every request, here {:.0f} bytes for each. Code mode pays for the "
    "same few definitions, with ten tools or with a thousand."
)


async def tell(
    sandbox: SandboxSettings,
    stream: TextIO,
    keyboard: TextIO | None = None,
    says_yes: bool = False,
    scenes: Sequence[Scene] | None = None,
) -> bool:
    """Play the scenes to the stream, all if none are given, and return whether the audit of it is whole. With neither a
    keyboard nor yes said beforehand, what the owner is asked is refused.

    Raises SandboxUnavailable when this machine cannot run Deno, and ScriptError when what happens is not what the
    script expects.
    """
    began, now, page = time.perf_counter(), time.time(), Page(stream)
    page.paragraph("Motor Cortex: MCP servers as functions in a sandbox", "bold")
    for label, text in _FOREWORD.items():
        page.row(label, text)
    owner = PageOwner(page, keyboard, says_yes)
    servers, scenes = story_servers(), load_scenes() if scenes is None else scenes
    compared = servers if any(scene.plain for scene in scenes) else {}
    with tempfile.TemporaryDirectory(prefix="motor-cortex-story-") as folder, ExitStack() as talks:
        settings = story_settings(sandbox, Path(folder) / "home", servers)
        # The clock stands still: no energy comes back while somebody reads.
        cortex = MotorCortex(settings, owner=owner, now=lambda: now, channels=())
        async with cortex, plain_client(compared) as plain:
            # A search waits at most 5 seconds for servers; if one were missing, the bytes would be others.
            await cortex.servers.tools(patience_s=_PATIENCE_S)
            conversations = Conversations(settings.home / "conversations")
            stage = Stage(cortex, plain, page, owner)
            for number, scene in enumerate(scenes, 1):
                if scene.plain or number == 1:
                    # Each is counted by itself: nothing is known from the one before.
                    conversation = talks.enter_context(conversations.new())
                await stage.play(scene, number, conversation)
            is_whole = cortex.audit.verify().ok
    _ending(page, stage.bytes_per_tool, is_whole, time.perf_counter() - began)
    return is_whole


class _Model:
    """A scene's words, of which the last depend on what the owner has decided."""

    def __init__(self, scene: Scene, owner: PageOwner, pause_s: float) -> None:
        *first, last = scene.steps
        self._first = ScriptedModel(first, pause_s=pause_s)
        self._last = ScriptedModel([last], pause_s=pause_s)
        self._refused = self._last if scene.refused is None else ScriptedModel([scene.refused], pause_s=pause_s)
        self._owner = owner

    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        on_text: Callable[[str], None] = ignore,
    ) -> ModelReply:
        last = self._refused if self._owner.has_refused else self._last
        return await (self._first if self._first.remaining else last).reply(messages, tools, on_text=on_text)


@dataclass(slots=True)
class Stage:
    """What scenes are played with."""

    cortex: MotorCortex
    plain: PlainClient
    page: Page
    owner: PageOwner

    @property
    def bytes_per_tool(self) -> float:
        """Of what plain calls tell a model before it says a word."""
        return len(self.plain.definitions.encode()) / max(self.plain.tools, 1)

    async def play(self, scene: Scene, number: int, conversation: Conversation) -> None:
        self.page.heading(f"{number}. {scene.title}")
        self.page.paragraph(scene.about, "dim")
        code = await self._by_code(scene, conversation)
        if scene.plain:
            plain = await self._by_plain_calls(scene)
            self.page.line()
            self.page.paragraph(f"The same by plain calls. {scene.plain_about}", "dim")
            self.page.line()
            for line in table(code, plain, self.page.width):
                self.page.line(line)
            self.page.line()
            self.page.paragraph(verdict(code, plain), "bold")

    async def _by_code(self, scene: Scene, conversation: Conversation) -> Account:
        page, cortex = self.page, self.cortex
        page.line()
        page.paragraph(f"You: {scene.user}", "bold")
        page.line()
        show = Show(page.stream, page.width)
        tools = cortex.openai_tools()
        account = Account(len(compact(tools).encode()))

        def watch(event: TurnEvent | Event) -> None:
            nonlocal account
            if isinstance(event, CallEnded):
                note = "" if event.answer.note is None else f"\n{event.answer.note}"
                account = account.and_call(event.call.name, event.call.arguments_json, event.answer.text + note)
            # Whoever read along has left: the loop says so next, and what a turn's watcher raises would be logged.
            with suppress(BrokenPipeError):
                show.event(event)
                if isinstance(event, CallEnded) and (looked := _looked(event)) is not None:
                    show.note(looked)

        model = _Model(scene, self.owner, _PAUSE_S if page.stream.isatty() else 0)
        try:
            async with cortex.turn(watch) as turn:
                settings = cortex.settings.loop
                ended = await run_turn(model, turn, tools, conversation, scene.user, settings, watch=watch)
        finally:
            # What the command says of an end before the end must not stand in the line of what was said.
            show.end()
        return account.in_rounds(ended.rounds)

    async def _by_plain_calls(self, scene: Scene) -> Account:
        account = Account(len(self.plain.definitions.encode()))
        for call in scene.plain:
            result = await self.plain.call(call.server, call.tool, call.arguments)
            account = account.and_call(f"{call.server}_{call.tool}", compact(call.arguments), result)
        # One round for each call, as careful models make them, and one for the answer.
        return account.in_rounds(len(scene.plain) + 1)


def _looked(event: CallEnded) -> str | None:
    """What the model looked for and what it found, in a line or two."""
    arguments, lines = event.call.arguments_json, event.answer.text.splitlines()
    match event.call.name:
        case "core_search":
            return f"core.search {arguments}: {len(lines)} found, first {lines[0]}"
        case "core_describe":
            return f"core.describe {arguments}: {len(lines)} lines of TypeScript"
        case _:
            return None


def _ending(page: Page, bytes_per_tool: float, is_whole: bool, seconds: float) -> None:
    page.heading("What is left")
    page.row("Growth", _GROWTH.format(bytes_per_tool))
    page.row("Audit", "chain whole" if is_whole else "chain DAMAGED")
    page.row("Time", f"{seconds:.1f} seconds. The servers have ended, and the home was temporary.")
    page.line()
    page.paragraph("Next:")
    page.line("  cortex mcp add      give it a server of yours")
    page.line("  cortex tools        what there is to call")
