"""Says what a recording lacks, so that a run on its answers can differ from the one on record. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic_core import to_json

from .recording import MAX_LENT, MAX_RECORDING_BYTES

if TYPE_CHECKING:
    from .details import RunDetails
    from .recording import RunRecording

# What the redactor puts in place of a secret.
_TOKEN = re.compile(rb"\[[A-Z][A-Z0-9_]{1,40}_\d{1,9}\]")


def missing_of(details: RunDetails, recording: RunRecording | None) -> tuple[str, ...]:
    """What a replay would lack, as sentences; empty when all is there."""
    return tuple(_without(details) if recording is None else _within(details, recording))


def has_tokens(recording: RunRecording) -> bool:
    """Whether secrets were taken out of it."""
    return _TOKEN.search(to_json(recording)) is not None


def _without(details: RunDetails) -> Iterator[str]:
    """A run that called nothing and was given nothing needs no recording."""
    asked = len(details.calls) + details.calls_left_out + len(details.requests) + details.requests_left_out
    if details.keep != "texts":
        yield "Only facts were kept of it: its context and the answers that it was given are missing."
    elif details.recording is not None:
        yield "Its recording was deleted, with its context and the answers that it was given."
    elif asked:
        yield f"It was not recorded: what it was given did not fit into {MAX_RECORDING_BYTES // 1024} KiB."
    if details.seed is None:
        yield "Its random numbers cannot be drawn again: the seed is unknown."


def _within(details: RunDetails, recording: RunRecording) -> Iterator[str]:
    if not recording.has_context:
        yield "Its context was too large to be recorded, or was no JSON: the code gets an empty one."
    if recording.left_out:
        are = "1 answer that it was given is" if recording.left_out == 1 else f"{recording.left_out} of its answers are"
        room = f"the recording, which takes {MAX_RECORDING_BYTES // 1024} KiB at most"
        yield f"{are} not in {room}: in a replay, a call without its answer fails."
    if recording.seed is None:
        yield "Its random numbers cannot be drawn again: the seed is unknown."
    if recording.has_workspace:
        yield "It had files, which are not recorded: what it does with them fails."
    if details.tools_lent_count > MAX_LENT:
        yield f"It was lent {details.tools_lent_count} functions, of which {MAX_LENT} are known."
    if has_tokens(recording):
        yield "Secrets were taken out of what it was given: the code sees tokens such as [EMAIL_1] in their place."
