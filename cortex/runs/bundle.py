"""One file with all that it takes to run the code of a run again on another machine: code, recording and details.

Without secrets: what was kept had none, and the code is searched once more. The file ends with the hash of what stands
before it. That finds damage and careless changes; it is no signature, and the file proves nothing of what happened.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import to_json

from cortex.audit import code_hash
from cortex.text import whole

from .details import MAX_LINE_BYTES, FetchDetails, RunDetails
from .missing import has_tokens
from .recording import MAX_RECORDING_BYTES, RunRecording

if TYPE_CHECKING:
    from cortex.redaction import Redactor

MAX_BUNDLE_BYTES = 4 * (MAX_LINE_BYTES + MAX_RECORDING_BYTES)
BundleStanding: TypeAlias = Literal["matches", "differs", "unknown"]
_BEGIN = b'{"cortex_run":1,'
_SEAL = re.compile(rb',"hash":"([0-9a-f]{64})"}\n?\Z')


class BundleRefused(ValueError):
    """The file is no exported run, or was changed. The message says which."""


class RunBundle(BaseModel):
    """An exported run."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_bytes="base64", val_json_bytes="base64")

    cortex_run: Literal[1] = 1
    version: str = ""
    """Of the program that wrote the file."""
    exported_at: float = 0.0
    standing: BundleStanding = "unknown"
    """What the audit said of the details where the file was written."""
    missing: tuple[str, ...] = ()
    details: RunDetails
    code: str
    is_code_redacted: bool = False
    """Secrets were taken out of the code: the hash is that of what is here."""
    recording: RunRecording | None = None


def bundle_of(
    details: RunDetails,
    code: str,
    recording: RunRecording | None,
    redactor: Redactor,
    *,
    version: str,
    exported_at: float,
    standing: BundleStanding,
    missing: tuple[str, ...],
) -> RunBundle:
    shown = redactor.text(whole(code))
    is_redacted = shown != code
    outside: dict[str, Any] = {"position": "", "requests": tuple(map(_without_hash, details.requests))}
    has_taken = is_redacted or any(one.query_hash for one in details.requests)
    if has_taken or (recording is not None and has_tokens(recording)):
        # Who has the rest could try words until its hash is the right one: these are hashes of what held the others.
        ref = details.recording and details.recording.model_copy(update={"hash": ""})
        outside |= {"hash": "", "audit": None, "recording": ref}
    if is_redacted:
        outside |= {"code_hash": code_hash(shown)}
    return RunBundle(
        version=version,
        exported_at=exported_at,
        standing=standing,
        missing=missing,
        details=details.model_copy(update=outside),
        code=shown,
        is_code_redacted=is_redacted,
        recording=None if recording is None else _without_hashes(recording, code_hash(shown)),
    )


def _without_hash(request: FetchDetails) -> FetchDetails:
    return request.model_copy(update={"query_hash": None})


def _without_hashes(recording: RunRecording, own_hash: str) -> RunRecording:
    """The recording without the hashes of what was there before secrets were taken out: a short secret can be found by
    its hash. Where none was taken out, they say nothing that the values do not."""
    bodies = {"request_body_sha256": None} if has_tokens(recording) else {}
    calls = tuple(call.model_copy(update={"arguments_hash": ""}) for call in recording.calls)
    exchanges = tuple(one.model_copy(update={"url_hash": "", **bodies}) for one in recording.exchanges)
    return recording.model_copy(update={"code_hash": own_hash, "calls": calls, "exchanges": exchanges})


def bundle_bytes(bundle: RunBundle) -> bytes:
    """The bundle as a file."""
    body = to_json(bundle)[:-1]
    return body + b',"hash":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n'


def read_bundle(data: bytes) -> RunBundle:
    """The bundle in a file that anyone may have written. Raises BundleRefused."""
    if len(data) > MAX_BUNDLE_BYTES:
        raise BundleRefused(f"it has more than {MAX_BUNDLE_BYTES // 1_048_576} MiB, and an exported run has not")
    seal = _SEAL.search(data)
    if not data.startswith(_BEGIN) or seal is None:
        raise BundleRefused("it is no run that cortex runs export wrote, or of another version")
    if hashlib.sha256(data[: seal.start()]).hexdigest().encode() != seal[1]:
        raise BundleRefused("it was changed after it was exported: its hash is another one")
    try:
        bundle = RunBundle.model_validate_json(data)
        sizes = len(to_json(bundle.details)), len(to_json(bundle.recording))
    except (ValidationError, ValueError, RecursionError) as error:
        raise BundleRefused("it is no run that cortex runs export wrote, or of another version") from error
    # No run has more, and a replay looks through all of it at each call.
    if sizes[0] > 2 * MAX_LINE_BYTES or sizes[1] > MAX_RECORDING_BYTES:
        raise BundleRefused("it has more details, or a longer recording, than a run has")
    if code_hash(bundle.code) != bundle.details.code_hash:
        raise BundleRefused("its code is not the code of the run")
    return bundle
