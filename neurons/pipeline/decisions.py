"""The owner's and the cortex's decisions about a neuron, and its versions. Pure: a document in, a document out, or
Refused.

A version is code with its policy. No version is ever deleted or changed.
"""

from __future__ import annotations

import hmac
import json
import secrets
from typing import TYPE_CHECKING, Any

from ..contracts import (
    HOUR_S,
    Counters,
    FileGrant,
    Metadata,
    Neuron,
    Refused,
    Report,
    Request,
    Status,
    TrialSettings,
    Version,
    Watch,
    storable,
)
from .approval import ApprovalKey, why_not_approved
from .hashes import about_hash, canonical, code_hash, policy_hash, shown_hash
from .lifecycle import Event, changed, in_words
from .proposal import Proposal
from .trial import Failed, Going, Passed, Verdict, begun
from .versions import at_version, iso, recognisable, taken_in, with_version

if TYPE_CHECKING:
    from ..habits import Fingerprint

# Characters of the shown hash: an owner who repeats this many has read them off that very question.
MIN_SHOWN = 8
# Characters of all versions together: the document must stay readable.
MAX_KEPT = 1_000_000
MAX_REPORT_TEXT = 2_000
_DIGITS = frozenset("0123456789abcdef")


def proposed(
    proposal: Proposal,
    neuron_id: str,
    *,
    habit: str | None,
    found: Fingerprint | None,
    now: float,
    is_habit_named: bool = False,
    source: str = "",
) -> Neuron:
    """A new neuron in quarantine, made from a proposal."""
    code, policy = code_hash(proposal.code), proposal.policy
    first = Version(
        version=1,
        code=proposal.code,
        code_hash=code,
        policy=policy,
        policy_hash=policy_hash(policy),
        created_at=iso(now),
    )
    neuron = Neuron(
        id=neuron_id,
        name=proposal.name,
        code=proposal.code,
        **dict(policy),
        metadata=Metadata(
            created_at=iso(now),
            code_hash=code,
            purpose=proposal.purpose,
            habit=habit,
            is_habit_named=is_habit_named and habit is not None,
            source=source,
        ),
        status=Status.QUARANTINE,
        versions=(first,),
    )
    return changed(recognisable(neuron, found), Event.PROPOSE, at=now, by="agent")


def asked(neuron: Neuron, report: Report, *, now: float, expires_hours: float) -> Neuron:
    """The neuron that passed quarantine, with a new question to its owner."""
    _check_report(neuron, report)
    neuron = taken_in(neuron, now)
    neuron = changed(neuron.model_copy(update={"report": report}), Event.PASSED, at=now, by="cortex")
    nonce = secrets.token_hex(16)
    request = Request(
        nonce=nonce,
        code_hash=report.code_hash,
        policy_hash=report.policy_hash,
        shown_hash=shown_hash(neuron.id, report.code_hash, report.policy_hash, nonce, about_hash(neuron)),
        asked_at=now,
        expires_at=now + expires_hours * HOUR_S,
    )
    return neuron.model_copy(update={"request": request})


def failed(neuron: Neuron, report: Report, *, now: float) -> Neuron:
    """The neuron that failed quarantine, disabled with the problems as the reason."""
    _check_report(neuron, report)
    neuron = taken_in(neuron, now)
    reason = "quarantine: " + "; ".join(report.problems)
    return changed(neuron.model_copy(update={"report": report}), Event.FAILED, at=now, by="cortex", reason=reason)


def approved(
    neuron: Neuron,
    shown: str,
    *,
    key: ApprovalKey,
    settings: TrialSettings,
    now: float,
    by: str,
    files: FileGrant | None = None,
) -> Neuron:
    """The neuron in trial, with the folder `files`. Raises Refused unless `shown` is the beginning of the hash of the
    open question about exactly this, and when its code uses files and no folder is given."""
    request = neuron.request
    if neuron.status is not Status.AWAITING_OWNER or request is None:
        raise Refused(f'Cannot approve "{neuron.id}": nothing is asked about it, it is {in_words(neuron.status)}')
    if now >= request.expires_at:
        raise Refused(f'Cannot approve "{neuron.id}": the question has expired; it has to be asked again')
    _check_shown(neuron, request, shown)
    code, policy = code_hash(neuron.code), policy_hash(neuron.policy)
    if any(one.nonce == request.nonce for one in neuron.approvals):
        raise Refused(f'Cannot approve "{neuron.id}": this question was answered before')
    if files is None and neuron.report is not None and neuron.report.files:
        raise Refused(
            f'Cannot approve "{neuron.id}": its code uses files; say which folder it may use: '
            f"cortex neurons approve {neuron.id} --files DIR"
        )
    approval = key.sign(neuron.id, request.nonce, code, policy, by=by, at=now, files=files)
    metadata = neuron.metadata.model_copy(update={"approved_by": "owner", "approved_at": iso(now)})
    neuron = neuron.model_copy(update={"approvals": (*neuron.approvals, approval), "metadata": metadata})
    return begun(changed(neuron, Event.APPROVE, at=now, by=by), now, settings)


def has_expired(neuron: Neuron, now: float) -> bool:
    request = neuron.request
    return neuron.status is Status.AWAITING_OWNER and (request is None or now >= request.expires_at)


def expired(neuron: Neuron, *, now: float, hours: float) -> Neuron:
    """The neuron that the owner has not answered about in time, disabled."""
    if not has_expired(neuron, now):
        return neuron
    return changed(neuron, Event.EXPIRE, at=now, by="cortex", reason=f"the owner did not answer within {hours:g} hours")


def after_trial(neuron: Neuron, found: Verdict, *, now: float) -> Neuron:
    """The neuron unchanged, active when its trial is over, or disabled with the reason."""
    match found:
        case Failed(reason):
            return changed(neuron, Event.DISABLE, at=now, by="cortex", reason=reason)
        case Passed():
            fresh = neuron.model_copy(update={"counters": Counters()})
            return changed(fresh, Event.CONSOLIDATE, at=now, by="cortex")
        case Going():
            return neuron


def check_code(neuron_id: str, code: str, max_bytes: int | None) -> None:
    """Raise Refused for code that no version can have."""
    try:
        size = len(code.encode())
    except UnicodeEncodeError:
        raise Refused(f'Cannot modify "{neuron_id}": the code is not UTF-8') from None
    if not code.strip():
        raise Refused(f'Cannot modify "{neuron_id}": there is no code')
    if max_bytes is not None and size > max_bytes:
        raise Refused(f'Cannot modify "{neuron_id}": the code has {size} bytes, {max_bytes} are allowed')


def rejected(neuron: Neuron, reason: str, *, now: float, by: str) -> Neuron:
    """The neuron that the owner rejected, disabled and without approvals of this code and policy."""
    code, policy = code_hash(neuron.code), policy_hash(neuron.policy)
    # The last decision counts: what was approved earlier and is now rejected must not come back by a rollback.
    kept = tuple(one for one in neuron.approvals if (one.code_hash, one.policy_hash) != (code, policy))
    return changed(neuron.model_copy(update={"approvals": kept}), Event.REJECT, at=now, by=by, reason=reason)


def modified(neuron: Neuron, code: str, *, now: float, by: str) -> Neuron:
    """The neuron with new code by the owner, in quarantine. Raises Refused."""
    if code == neuron.code:
        raise Refused(f'Cannot modify "{neuron.id}": the code is the same as before')
    neuron = taken_in(neuron, now)
    if sum(len(one.code) for one in neuron.versions) + len(code) > MAX_KEPT:
        raise Refused(f'Cannot modify "{neuron.id}": it has {len(neuron.versions)} versions, and none is deleted')
    return changed(with_version(neuron, code, neuron.policy, now), Event.MODIFY, at=now, by=by)


def enabled(neuron: Neuron, *, key: ApprovalKey, settings: TrialSettings, now: float, by: str) -> Neuron:
    """The neuron with its status from before, if its code and policy are still the approved ones. A trial begins anew:
    a neuron that was disabled was not watched."""
    reason = why_not_approved(neuron, key)
    if reason is not None:
        return changed(taken_in(neuron, now), Event.ENABLE_QUARANTINE, at=now, by=by, reason=reason)
    last = next((line for line in reversed(neuron.history) if line.after is Status.DISABLED), None)
    was_active = last is not None and last.before is Status.ACTIVE and last.code_hash == neuron.metadata.code_hash
    if not was_active:
        return begun(changed(neuron, Event.ENABLE_TRIAL, at=now, by=by), now, settings)
    fresh = neuron.model_copy(update={"counters": Counters(), "watch": Watch()})
    return changed(fresh, Event.ENABLE_ACTIVE, at=now, by=by)


def rolled_back(
    neuron: Neuron, version: int, *, key: ApprovalKey, settings: TrialSettings, now: float, by: str
) -> Neuron:
    """The neuron with the code and policy of that version: in trial if they were approved, else in quarantine."""
    neuron = taken_in(neuron, now)
    found = next((one for one in neuron.versions if one.version == version), None)
    if found is None:
        known = ", ".join(str(one.version) for one in neuron.versions)
        raise Refused(f'Cannot roll back "{neuron.id}": it has no version {version}; it has {known}')
    if found.version == neuron.version and neuron.is_awake:
        raise Refused(f'Cannot roll back "{neuron.id}": version {version} is the one that is awake')
    neuron = at_version(neuron, found)
    reason = f"version {version}"
    why_not = why_not_approved(neuron, key)
    if why_not is not None:
        return changed(neuron, Event.ROLLBACK_QUARANTINE, at=now, by=by, reason=f"{reason}: {why_not}")
    approval = next(one for one in reversed(neuron.approvals) if _fits(neuron, one.code_hash, one.policy_hash))
    metadata = neuron.metadata.model_copy(update={"approved_by": "owner", "approved_at": iso(approval.at)})
    neuron = neuron.model_copy(update={"metadata": metadata})
    return begun(changed(neuron, Event.ROLLBACK_TRIAL, at=now, by=by, reason=reason), now, settings)


def distrusted(neuron: Neuron, reason: str, *, now: float) -> Neuron:
    """The neuron back in quarantine, because its document was changed by hand."""
    return changed(taken_in(neuron, now), Event.DISTRUST, at=now, by="cortex", reason=reason)


def settled(neuron: Neuron, key: ApprovalKey) -> Neuron:
    """The neuron with the cortex's seal. Raises Refused for an awake neuron without a valid approval of what it is now,
    whatever was decided."""
    if neuron.is_awake and (reason := why_not_approved(neuron, key)) is not None:
        raise Refused(f'Cannot wake "{neuron.id}": {reason}')
    return key.sealed(neuron)


def kept(report: Report) -> Report:
    """The report as it will be read back: text from the candidate may be anything, and the seal covers it.

    A report with numbers that no document can hold counts as failed. It does not raise: the candidate would be tried
    again for ever.
    """
    facts = _storable(report.model_dump(mode="json", by_alias=True))
    try:
        return Report.model_validate(json.loads(canonical(facts)))
    except ValueError as error:
        problem = f"what was found about it cannot be kept: {error}"
        return Report(at=0.0, code_hash=report.code_hash, policy_hash=report.policy_hash, problems=(problem,))


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value, MAX_REPORT_TEXT)
    if isinstance(value, dict):
        return {storable(key, MAX_REPORT_TEXT): _storable(inner) for key, inner in value.items()}
    return [_storable(inner) for inner in value] if isinstance(value, list) else value


def _check_report(neuron: Neuron, report: Report) -> None:
    if not _fits(neuron, report.code_hash, report.policy_hash):
        raise Refused(f'Cannot judge "{neuron.id}": the report is about other code or another policy')


def _check_shown(neuron: Neuron, request: Request, shown: str) -> None:
    given = shown.strip().lower()
    if not MIN_SHOWN <= len(given) <= len(request.shown_hash) or not _DIGITS.issuperset(given):
        raise Refused(f'Cannot approve "{neuron.id}": give at least the first {MIN_SHOWN} characters of the hash shown')
    code, policy = code_hash(neuron.code), policy_hash(neuron.policy)
    # Computed from the document as it is now, not from what the request says it was.
    expected = shown_hash(neuron.id, code, policy, request.nonce, about_hash(neuron))
    is_whole = hmac.compare_digest(expected, request.shown_hash) and _fits(
        neuron, request.code_hash, request.policy_hash
    )
    if not is_whole or not hmac.compare_digest(expected[: len(given)], given):
        raise Refused(f'Cannot approve "{neuron.id}": this is not the hash of what is asked now; look at it again')


def _fits(neuron: Neuron, code: str, policy: str) -> bool:
    return (code_hash(neuron.code), policy_hash(neuron.policy)) == (code, policy)
