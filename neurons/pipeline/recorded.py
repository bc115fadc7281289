"""Records each change of a neuron's status in the audit, and compares its document with what was recorded last: an old
document that was put back has a valid seal, and would run again."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..contracts import FileGrant, Neuron, Status
from .approval import CHANGED_BY_HAND, ApprovalKey, granted_files, why_not_awake
from .hashes import policy_hash
from .lifecycle import Event

if TYPE_CHECKING:
    from ..contracts import Record

log = logging.getLogger("motor_cortex")

OWNER, AGENT, CORTEX = "owner", "agent", "cortex"
# These happen even when the audit cannot be written: a failed audit is no reason to let a neuron go on.
_ALWAYS = frozenset({Event.DISABLE, Event.FAILED, Event.EXPIRE, Event.DISTRUST})

# What a record of a change says of the neuron after it, and what must be the same in its document.
_COMPARED = ("after", "version", "code_hash", "policy_hash", "files", "folder_hash")
_CAUSE = "an older document was put back, or the cortex was stopped between the record and the document"


def tell(record: Record, neuron: Neuron) -> None:
    """Record the last change of status in the audit. Raises what the audit raises, except for `_ALWAYS` events."""
    line = neuron.history[-1]
    kind = "neuron" if line.by in {AGENT, CORTEX} else "owner_decision"
    try:
        record(
            kind,
            what=f"neuron {line.event}",
            neuron=neuron.id,
            name=neuron.name,
            before=line.before and line.before.value,
            by=line.by,
            reason=line.reason,
            **facts_of(neuron),
        )
    except Exception as error:
        if line.event not in _ALWAYS:
            raise
        log.warning('Cannot record that "%s" is %s: %s', neuron.id, line.after.value, error)


def why_not_whole(neuron: Neuron, key: ApprovalKey, last: Mapping[str, Any] | None) -> str | None:
    """Why the document is not as the cortex left it, or not as the audit last said; None when it is."""
    if neuron.is_awake:
        return why_not_awake(neuron, key) or why_not_as_recorded(neuron, last)
    if neuron.status is Status.AWAITING_OWNER and not key.is_sealed(neuron):
        return CHANGED_BY_HAND
    return None


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
