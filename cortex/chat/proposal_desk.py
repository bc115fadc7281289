"""Ask the owner at the terminal to approve or reject the neurons that the agent wants to learn.

To approve, the owner types the beginning of the hash printed below the neuron's full text. It must come from the
keyboard of a terminal after the neuron was shown; no message, no reply of the model and no pipe can approve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TextIO

from cortex.channels import HASH_CHARACTERS, owner_summary, owner_view, set_in
from cortex.text import READING_S, is_person_there, styled, terminal_columns, typed
from neurons import Around, NeuronError

if TYPE_CHECKING:
    from cortex.channels import HabitSeen
    from neurons import Neuron

_CHOICES = "[a]pprove, [v]iew, [r]eject, [l]ater? "


class Decisions(Protocol):
    """The part of the pipeline used here. Each method raises NeuronError, OSError, and what the audit raises."""

    def pending(self) -> Sequence[Neuron]: ...

    def approve(self, neuron_id: str, shown: str) -> Neuron: ...

    def reject(self, neuron_id: str, reason: str) -> Neuron: ...


Read = Callable[[Callable[[], str | None]], str | None]


class ProposalDesk:
    """Offers proposals. `read(source)` returns the line that `source` reads, or raises KeyboardInterrupt on Ctrl-C."""

    def __init__(
        self,
        decisions: Decisions,
        read: Read,
        *,
        keyboard: TextIO,
        screen: TextIO,
        habit_of: Callable[[str], HabitSeen | None] = lambda _: None,
        around: Callable[[], Around] = Around,
        reading_s: float = READING_S,
    ) -> None:
        self._decisions = decisions
        self._read = read
        self._keyboard = keyboard
        self._screen = screen
        self._habit_of = habit_of
        self._around = around
        self._reading_s = reading_s
        self._later: set[str] = set()
        """Hashes of the questions that the owner has put off: a changed neuron has a new hash, and is asked again."""

    def offer(self, *, again: bool = False) -> None:
        """Ask about each waiting proposal once in a chat; with `again` also about those put off. Ctrl-C puts off."""
        if not is_person_there(self._keyboard, self._screen):
            return
        if again:
            self._later.clear()
        try:
            for neuron in self._decisions.pending():
                if neuron.request is not None and neuron.request.shown_hash not in self._later:
                    # Noted before the question: after Ctrl-C the owner is not asked again at once.
                    self._later.add(neuron.request.shown_hash)
                    self._ask(neuron)
        except (NeuronError, OSError) as error:
            self._write([f"Cannot look at what the agent wants to learn: {error}"])
        except KeyboardInterrupt:
            self._write(["", "Later, then; /neurons asks again"])

    def _ask(self, neuron: Neuron) -> None:
        self._show(owner_summary(neuron, self._habit(neuron), self._around()))
        while True:
            match (self._typed(_CHOICES) or "").lower():
                case "a" | "approve":
                    is_done = self._approve(neuron)
                case "v" | "view":
                    self._show(owner_view(neuron, self._habit(neuron), self._around()))
                    is_done = False
                case "r" | "reject":
                    is_done = self._reject(neuron)
                case _:
                    self._write([f"Later, then; /neurons asks again, and so does cortex neurons approve {neuron.id}"])
                    is_done = True
            if is_done:
                return

    def _approve(self, neuron: Neuron) -> bool:
        if neuron.report is not None and neuron.report.files:
            # A folder is granted where its path can be typed and completed.
            self._write([f"It uses files. Say which folder it may use: cortex neurons approve {neuron.id} --files DIR"])
            return False
        # Show all of it, whatever was shown before: the hash is the last line of the text that it covers.
        self._show(owner_view(neuron, self._habit(neuron), self._around()))
        words = f"To approve it type the first {HASH_CHARACTERS} characters of this hash, or nothing: "
        answer = self._typed(words)
        if not answer:
            return False
        return self._done(lambda: self._decisions.approve(neuron.id, answer.lower()), "is on trial now")

    def _reject(self, neuron: Neuron) -> bool:
        reason = self._typed("Why? ")
        if reason is None:
            return False
        return self._done(lambda: self._decisions.reject(neuron.id, reason or "no reason was given"), "is rejected")

    def _done(self, decide: Callable[[], Neuron], what: str) -> bool:
        try:
            neuron = decide()
        except Exception as error:  # noqa: BLE001 - also of the audit: report the failure and go on with the chat
            self._write([str(error)])
            return False
        self._write([f"{neuron.name} {what}"])
        return True

    def _habit(self, neuron: Neuron) -> HabitSeen | None:
        return self._habit_of(neuron.metadata.habit) if neuron.metadata.habit else None

    def _typed(self, words: str) -> str | None:
        return self._read(lambda: typed(words, self._keyboard, self._screen, self._reading_s))

    def _show(self, lines: list[str]) -> None:
        first, *rest = set_in(lines, terminal_columns(self._screen))
        self._screen.write("\n" + "\n".join([styled(first, "bold", self._screen), *rest]) + "\n")
        self._screen.flush()

    def _write(self, lines: list[str]) -> None:
        for line in set_in(lines, terminal_columns(self._screen)):
            self._screen.write(f"{styled(line, 'dim', self._screen)}\n")
        self._screen.flush()
