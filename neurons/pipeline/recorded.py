"""Compares a neuron's document with what the audit last recorded of its status: an old document that was put back has a
valid seal, and would run again. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from ..contracts import FileGrant, Neuron, Status
from .approval import granted_files
from .hashes import policy_hash

# What a record of a change says of the neuron after it, and what must be the same in its document.
_COMPARED = ("after", "version", "code_hash", "policy_hash", "files", "folder_hash")
_CAUSE = "an older document was put back, or the cortex was stopped between the record and the document"


def facts_of(neuron: Neuron) -> dict[str, Any]:
    """What the audit records of the neuron as it is."""
    return {
        "version": neuron.version,
        "after": neuron.status.value,
        "code_hash": neuron.metadata.code_hash,
        "policy_hash": policy_hash(neuron.policy),
        **_of_files(granted_files(neuron)),
    }


def why_not_as_recorded(neuron: Neuron, last: Mapping[str, Any] | None) -> str | None:
    """Why this neuron must not run, by the last record of a change of its status; None when it may. Without a record
    nothing is known, and the document is believed."""
    if last is None or not neuron.is_awake:
        return None
    said, found = dict(last), facts_of(neuron)
    if said.get("after") == Status.ACTIVE and neuron.status is Status.TRIAL:
        # Its trial was over, and it was stopped before it was written: nothing is won by a document that is behind.
        said["after"] = Status.TRIAL.value
    known = [name for name in _COMPARED if name in said or name in {"files", "folder_hash"}]
    if all(said.get(name) == found.get(name) for name in known):
        return None
    return (
        f"its document says {_described(found)}, and the audit says {_described(said)}: {_CAUSE}. "
        f"To let it run, {'enable' if was_disabled(last) else 'approve'} it again"
    )


def was_disabled(last: Mapping[str, Any] | None) -> bool:
    return last is not None and last.get("after") == Status.DISABLED


def _described(facts: Mapping[str, Any]) -> str:
    files = f" with files to {facts['files']}" if facts.get("files") else ""
    return f"{facts.get('after')!s:.20} in version {facts.get('version')!s:.10}{files}"


def _of_files(files: FileGrant | None) -> dict[str, str]:
    if files is None:
        return {}
    folder_hash = hashlib.sha256(files.folder.encode("utf-8", "surrogatepass")).hexdigest()
    return {"files": "write" if files.write else "read", "folder_hash": folder_hash}
