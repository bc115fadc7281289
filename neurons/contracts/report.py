"""What quarantine finds out about a neuron: its scenarios, and how it compares with the recorded scripts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .part import Part

FileNeed = Literal["", "read", "write"]
"""What code wants of files: nothing, to read them, or also to write them."""


class ScenarioResult(Part):
    name: str
    signals: int
    ok: bool
    emitted: dict[str, int] = Field(default_factory=dict)
    """How many signals of each type."""
    energy: float = 0.0
    """The energy of its most expensive signal."""
    ms: float = 0.0
    problem: str = ""


class Difference(Part):
    """Where a candidate did something else than the recorded script. Each text is one bounded, visible line."""

    input: str
    """Which run it was, and what was changed in its input."""
    script: str
    """What the script gave; or `calls …`, `calls only …`, `also calls …`, `failed: …`."""
    candidate: str

    @property
    def line(self) -> str:
        return f"on {self.input}: the script {_done(self.script)}, and it {_done(self.candidate)}"


def _done(what: str) -> str:
    """A value is JSON, and begins with none of these words."""
    return what if what.startswith(("calls ", "also calls ", "failed: ")) else f"gave {what}"


class Equality(Part):
    """What became of running a candidate and the recorded scripts of its habit on the same inputs."""

    runs: Annotated[int, Field(ge=0)] = 0
    """Recorded runs that could be repeated."""
    skipped: Annotated[int, Field(ge=0)] = 0
    """Recorded runs that could not."""
    other_form: Annotated[int, Field(ge=0)] = 0
    """Recorded runs that were not compared, because their scripts gave the result in another form."""
    other_things: Annotated[int, Field(ge=0)] = 0
    """Likewise, of a neuron, because they asked for other things."""
    compared: Annotated[int, Field(ge=0)] = 0
    """Inputs that both were given: those of the recorded runs, and changed ones."""
    equal: Annotated[int, Field(ge=0)] = 0
    only_calls: bool = False
    """Of a neuron of which only the calls could be compared: nothing that it emits is called as in the result."""
    asked: Annotated[tuple[str, ...], Field(max_length=8)] = ()
    """The tools and hosts whose calls were compared."""
    is_named: bool = True
    """The agent said that the candidate comes of the habit. If that was only guessed, a difference does not count
    against it."""
    is_cut: bool = False
    """There was no time for all inputs."""
    first_difference: Difference | None = None
    why: str = ""
    """Why nothing was compared; empty when something was."""

    @property
    def is_different(self) -> bool:
        return self.first_difference is not None

    @property
    def line(self) -> str:
        """The result in one line, claiming no more than was compared."""
        if not self.compared:
            return f"not compared with the recorded scripts: {self.why or 'no recorded run could be repeated'}"
        line = self._result
        if self.skipped:
            line += f"; {_counted(self.skipped, 'run')} could not be repeated"
        if self.other_form:
            line += f"; {_counted(self.other_form, 'run')} gave the result in another form"
        if self.other_things:
            line += f"; {_counted(self.other_things, 'run')} asked for other things"
        return f"{line}; there was no time for more" if self.is_cut else line

    @property
    def _result(self) -> str:
        asked, found = " and ".join(self.asked), self.first_difference
        only_asked = self.only_calls and asked
        if only_asked and found is not None and not found.candidate.startswith("failed: "):
            # The comparison ends at the first difference: a count would say nothing.
            line = f"asks {asked} for other things than the recorded scripts, so what it emits cannot be compared"
            return f"{line}; asks for the same in {self.equal} of {self.compared} inputs" if self.equal else line
        what = f"asks the same of {asked} in" if only_asked else "equal on"
        changed = self.compared - self.runs
        line = f"{what} {self.equal} of {self.compared}: {_counted(self.runs, 'recorded run')}"
        line += f" and {_counted(changed, 'changed input')}" if changed > 0 else ""
        return f"{line}; what it emits could not be compared" if self.only_calls else line


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class Report(Part):
    """What quarantine and validation found. `problems` is empty when it passed."""

    at: float
    code_hash: str
    policy_hash: str
    scenarios: tuple[ScenarioResult, ...] = ()
    findings: tuple[str, ...] = ()
    """Notes from the guard and the audit of capabilities, including what is allowed."""
    problems: tuple[str, ...] = ()
    files: FileNeed = ""
    """What its code wants of files."""
    equality: Equality | None = None
    """How it compares with the recorded scripts of its habit; None without a habit."""
    tool_schemas: dict[str, str] = Field(default_factory=dict)
    """A hash of what each of its tools took and gave when it was tried."""

    @property
    def passed(self) -> bool:
        return not self.problems
