"""Refusals as values, and the function that turns an outcome or a refusal into the string that a model reads.

Only this module makes these strings, and no decision is made from them: inside the program, outcomes are values. The
displays for people split a reply at its code, to colour it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from sandbox import CallCount, ExecutionOutcome, Finding


@dataclass(frozen=True, slots=True)
class Denied:
    """Energy, the kill switch, the owner, a limit of the turn, or a sandbox without a free place."""

    reason: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """The guard found a pattern in the code."""

    finding: Finding


Refusal: TypeAlias = Denied | Blocked
"""Why nothing was run."""

OK = "OK"
"""The code that is recorded for a result. The reply itself has none."""


MAX_PRINTED_BYTES = 4_096
MAX_WHERE_CHARACTERS = 240
MAX_CALL_LINES = 10
QUOTED = "| "
"""Begins every line that is not the host's: printed output, and an error's message after its first line. Code chooses
those texts, and must not be able to say what only the host can know, such as which files were written."""
NO_VALUE = "The code gave no value: end it with `return value`, or with the value as its last line."
DONE = "The code ended without a value."
"""Where something has happened: the author must not be led to run it again."""


class SaidByCode(NamedTuple):
    """The parts of a reply that the code chose. Secrets are taken out of each part as a whole, before it is cut or
    quoted: half a secret is not recognized, and neither is one whose lines begin with a mark."""

    error: str = ""
    """The headline of a run that failed."""
    where: str = ""
    output: str = ""


def said_in(outcome: ExecutionOutcome) -> SaidByCode:
    if outcome.ok:
        return SaidByCode(output=_printed(outcome))
    where = None if outcome.error is None else outcome.error.where
    return SaidByCode(headline(outcome), where or "", _printed(outcome))


def reply(
    outcome: ExecutionOutcome, lines: Sequence[str] = (), said: SaidByCode | None = None, *, has_kept: bool = False
) -> str:
    """The reply to an outcome: a result as JSON, or one of the codes with the reason. Never empty.

    The first line of a result is JSON and nothing else. Where there is no value, what the code printed follows; where
    the code failed, also the calls that it has already made. `lines` come last. `said` is `said_in(outcome)` without
    secrets; `has_kept`: values of the code were kept in a store. Of what the code chose, each line after the first
    begins with QUOTED.
    """
    said = said_in(outcome) if said is None else said
    parts = [headline(outcome)] if outcome.ok else _first_line_and_quoted(said.error)
    if said.where:
        parts.append(f"  {where_told(said.where)}")
    if outcome.ok and not outcome.has_value and not said.output and not outcome.displayed:
        has_effect = bool(outcome.calls or outcome.changes or has_kept)
        parts += (DONE, *calls_told(outcome)) if has_effect else (NO_VALUE,)
    elif not outcome.ok:
        parts += calls_told(outcome)
    if said.output:
        parts += ("It printed:", _cut(said.output))
    return "\n".join((*parts, *lines))


def one_line(text: str) -> str:
    """The text with a space for each end of a line."""
    return " ".join(text.splitlines())


def noted(reply: str, note: str) -> str:
    """The reply with a note below it, after an empty line: the reply stays as it is, and its first line too."""
    return f"{reply}\n\nNote: {note}"


def _first_line_and_quoted(text: str) -> list[str]:
    first, *others = text.splitlines() or [""]
    return [first, *(QUOTED + line for line in others)]


def where_told(where: str) -> str:
    """The place of an error with the author's line, cut if that is long."""
    text = one_line(where)
    return text if len(text) <= MAX_WHERE_CHARACTERS else f"{text[:MAX_WHERE_CHARACTERS]}…"


def headline(outcome: ExecutionOutcome) -> str:
    """The reply without its place in the code, and without what was printed and called."""
    if outcome.ok:
        # A cut result is a text, which a forged frame may have filled with lines.
        return one_line(str(outcome.result)) if outcome.truncated else _json(outcome.result)
    error = outcome.error
    assert error is not None
    match reply_code(outcome):
        case "EXECUTION_DENIED":
            return denied(error.message)
        case "EXECUTION_TIMEOUT":
            return f"EXECUTION_TIMEOUT: {error.message}"
        case _:
            return failed(error.type, error.message)


def reply_code(outcome: ExecutionOutcome) -> str:
    """The code at the beginning of the reply."""
    if outcome.ok or outcome.error is None:
        return OK
    if outcome.refused:
        return "EXECUTION_DENIED"
    return "EXECUTION_TIMEOUT" if outcome.error.type == "TimeoutError" else "EXECUTION_ERROR"


def _printed(outcome: ExecutionOutcome) -> str:
    """All that the code printed, if the reply has to tell it: the code failed or gave no value."""
    if outcome.ok and outcome.has_value:
        return ""
    lines = (
        entry.text if entry.level in {"log", "info"} else f"[{entry.level}] {entry.text}" for entry in outcome.logs
    )
    return "\n".join(lines)


def _cut(output: str) -> str:
    """The output, each line quoted; or the beginning and the end of a long one with a mark between them."""
    printed = output.encode(errors="replace")
    data = "\n".join(QUOTED + line for line in printed.decode().splitlines()).encode()
    if len(data) <= MAX_PRINTED_BYTES:
        return data.decode()
    # The end may begin inside a line, and so it is quoted once more.
    mark = f"\n… [{len(printed)} bytes printed in all] …\n{QUOTED}"
    half = (MAX_PRINTED_BYTES - len(mark.encode())) // 2
    return data[:half].decode(errors="ignore").rstrip("\n") + mark + data[-half:].decode(errors="ignore").lstrip("\n")


def calls_told(outcome: ExecutionOutcome) -> list[str]:
    """The calls of a run that failed or gave no value, so that its author does not repeat what has already happened."""
    if not outcome.calls:
        return []
    shown = outcome.calls if len(outcome.calls) <= MAX_CALL_LINES else outcome.calls[: MAX_CALL_LINES - 1]
    lines = [f"  {call.name}: {_outcomes_of(call)}" for call in shown]
    if len(shown) < len(outcome.calls):
        rest = outcome.calls[len(shown) :]
        lines.append(f"  and {sum(call.done + call.failed + call.under_way for call in rest)} calls of others")
    return ["Calls that this run has made:", *lines]


def _outcomes_of(call: CallCount) -> str:
    counts = ((call.done, "done"), (call.failed, "failed"), (call.under_way, "still under way"))
    return ", ".join(f"{count} {what}" for count, what in counts if count)


class Reason(NamedTuple):
    """Why there is no result: one of the codes, and the detail after its colon."""

    code: str
    message: str

    @property
    def text(self) -> str:
        return f"{self.code}: {self.message}"


def reason_of(refusal: Refusal) -> Reason:
    """Why a call ran nothing."""
    if isinstance(refusal, Denied):
        return Reason("EXECUTION_DENIED", refusal.reason)
    finding = refusal.finding
    hint = f". {finding.hint}" if finding.hint else ""
    return Reason("EXECUTION_BLOCKED", f"Code contains disallowed pattern: {finding.pattern}{hint}")


def reason_of_fault(error: BaseException) -> Reason:
    """Why the host has no answer: the class alone, because the text may hold a secret."""
    return Reason("EXECUTION_ERROR", f"InternalError: the host failed with {type(error).__name__}")


def blocked(finding: Finding) -> str:
    return reason_of(Blocked(finding)).text


def denied(reason: str) -> str:
    return reason_of(Denied(reason)).text


def failed(kind: str, message: str) -> str:
    """The reply for code or a tool that failed."""
    return f"EXECUTION_ERROR: {kind}: {message}"


def _json(value: object) -> str:
    from pydantic_core import to_json  # noqa: PLC0415 - the loop makes replies too, and is light

    return to_json(value).decode()
