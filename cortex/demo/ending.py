"""What the demo came to: counted while it played, and told at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex.contracts import ExecutionEnded, Refused
from cortex.energy import rounded_down

if TYPE_CHECKING:
    from cortex.audit import Verdict
    from cortex.contracts import TurnEvent
    from sandbox import Wall

    from .page import Page

# A rule of thumb for English and JSON. No tokenizer comes with this, and each model has its own.
BYTES_PER_TOKEN = 4

_NEXT = {
    "cortex chat": "talk to such an agent, with a model of yours",
    "cortex neurons": "what it has learned, and what it would like to learn",
    "cortex run FILE": "run a script of yours in the sandbox",
    "cortex doctor": "try each layer of the wall",
}


@dataclass(slots=True)
class Count:
    """Watches every turn."""

    runs: int = 0
    refusals: int = 0
    read_bytes: int = 0
    """Of what the code returned, which is what the model reads."""
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


def saving(given_bytes: int, read_bytes: int) -> str:
    """What a tool gave to code, against what the model read of it."""
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
