"""Show the events of a turn: as text for people, or as one line of JSON for each event."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from cortex.contracts import Said
from cortex.loop import CallEnded, TextArrived, answered_call
from cortex.settings import SettingsError
from cortex.show import Show, as_json, inline
from cortex.text import picture_protocol
from sandbox import table_text

if TYPE_CHECKING:
    from cortex.contracts import TurnEvent
    from cortex.loop import Event, TurnEnd
    from cortex.show import Gallery
    from sandbox import Displayed


INTERRUPTED = "interrupted"
# More than a terminal is shown of it.
_MAX_TABLE_BYTES = 16_384


class Output(Protocol):
    def started(self, conversation: str, turn: str, text: str) -> None: ...

    def event(self, event: TurnEvent | Event) -> None: ...

    def displayed(self, shown: Sequence[Displayed]) -> None:
        """Show what a job displayed, whose end started this turn."""
        ...

    def ended(self, end: TurnEnd | None) -> None:
        """The turn has ended; None means that it was interrupted."""

    def failed(self, message: str) -> None: ...

    def held(self) -> AbstractContextManager[None]:
        """Hold events back during the block, and write them after it."""
        ...


class ForPeople:
    """Text for people. In a terminal everything goes to `out`. Otherwise the agent's words go to `out` and its actions
    to `err`: a script wants the answer alone."""

    def __init__(self, out: TextIO, err: TextIO, gallery: Gallery | None = None) -> None:
        self._out = out
        self._err = err
        self._gallery = gallery
        self._says = self._does = Show(out)
        self._late: list[TurnEvent | Event] | None = None

    def started(self, conversation: str, turn: str, text: str) -> None:
        del conversation, turn, text
        # Made for each turn: the width of the terminal may have changed.
        self._says = Show(self._out)
        self._does = self._says if self._out.isatty() else Show(self._err)

    def event(self, event: TurnEvent | Event) -> None:
        if self._late is not None:
            self._late.append(event)
        elif isinstance(event, TextArrived | Said):
            self._says.event(event)
        else:
            self._says.end()
            self._does.event(event)
            if isinstance(event, CallEnded):
                self.displayed(event.answer.displayed)

    def displayed(self, shown: Sequence[Displayed]) -> None:
        stream = self._out if self._out.isatty() else self._err
        for item in shown:
            if item.is_file:
                if pictures := inline(item, picture_protocol(stream)):
                    stream.write(pictures)
                self._does.displayed_file(_kept(item, self._gallery), item.title)
            else:
                self._does.displayed(
                    table_text(item.rows, _MAX_TABLE_BYTES) if item.type == "table" else item.text, item.title
                )

    def ended(self, end: TurnEnd | None) -> None:
        self._says.end()
        if end is None:
            self._does.note("stopped", "yellow")

    def failed(self, message: str) -> None:
        self._says.end()
        self._does.note(message, "red")

    @contextmanager
    def held(self) -> Iterator[None]:
        self._late = []
        try:
            yield
        finally:
            late, self._late = self._late, None
            for event in late:
                self.event(event)


def _kept(item: Displayed, gallery: Gallery | None) -> str:
    """Where the picture, sound or blob is, or why it is nowhere."""
    if gallery is None:
        return "(not kept)"
    try:
        return str(gallery.keep(item))
    except (OSError, SettingsError) as error:
        return f"(not kept: {error})"


class ForPrograms:
    """One JSON object in each line, with its kind under "event"."""

    def __init__(self, out: TextIO, gallery: Gallery | None = None) -> None:
        self._out = out
        self._gallery = gallery
        self._about: dict[str, Any] = {}

    def started(self, conversation: str, turn: str, text: str) -> None:
        self._about = {"conversation": conversation, "turn": turn}
        self._write({"event": "turn_started", **self._about, "message": text})

    def event(self, event: TurnEvent | Event) -> None:
        call = answered_call()
        self._write(as_json(event) if call is None else {**as_json(event), "id": call})
        if isinstance(event, CallEnded):
            self.displayed(event.answer.displayed, event.call.id)

    def displayed(self, shown: Sequence[Displayed], call_id: str | None = None) -> None:
        for item in shown:
            where = {"path": _kept(item, self._gallery)} if item.is_file else {"text": item.text}
            self._write({"event": "displayed", "id": call_id, **item.label, **where})

    def ended(self, end: TurnEnd | None) -> None:
        how = {"stopped": INTERRUPTED} if end is None else asdict(end)
        self._write({"event": "turn_ended", **self._about, **how})

    def failed(self, message: str) -> None:
        self._write({"event": "error", **self._about, "message": message})

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _write(self, line: dict[str, Any]) -> None:
        self._out.write(json.dumps(line) + "\n")
        self._out.flush()
