"""Refuses proposals when there are too many, and duplicates and rejected ones. Pure: decides on existing documents."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..contracts import DAY_S, Neuron, NeuronSettings, Policy, ProposalSettings, Refused, Status, StatusChange, Version
from ..habits import in_common, parts_of
from .comments import is_mostly_comment
from .hashes import code_hash, policy_hash
from .lifecycle import Event, in_words
from .neuron_grants import covers
from .proposal import Proposal, first_alike, remembered

if TYPE_CHECKING:
    from ..habits import Fingerprint

MAX_REJECTED = 3
"""After this many rejections of one name or one habit, further proposals of it are refused for a while."""
PENDING = frozenset({Status.QUARANTINE, Status.AWAITING_OWNER})
_LITERAL = re.compile(r""""[^"\n]*"|'[^'\n]*'|`[^`]*`|\b\d[\w.]*""")
_OWNER_SAID_NO = frozenset({Event.REJECT.value, Event.DISABLE.value})


def check(
    proposal: Proposal,
    neurons: Sequence[Neuron],
    settings: NeuronSettings,
    *,
    habit: str | None = None,
    found: Fingerprint | None = None,
    now: float,
) -> None:
    """Check a proposal against all limits. Raises Refused with what to do instead."""
    _check_readable(proposal.code, settings.proposals.max_code_bytes)
    _check_counts(neurons, settings.proposals, now)
    taken = first_alike(proposal.name, _taken_names(neurons))
    if taken is not None:
        raise Refused(
            f'the name "{proposal.name}" is taken, or too much like "{taken}": existing neurons cannot be changed; '
            "choose another name"
        )
    _check_same(proposal, neurons)
    _check_failed(proposal, neurons, found, now - settings.proposals.rejected_days * DAY_S)
    since = now - settings.proposals.rejected_days * DAY_S
    _check_rejected(proposal, neurons, settings, found, since)
    _check_tries(proposal, neurons, habit, since)


def _check_readable(code: str, most: int) -> None:
    """An owner has half a minute: code that cannot be read in that time is agreed to unread."""
    if (size := len(code.encode())) > most:
        raise Refused(f"the code has {size} bytes, and an owner is asked to read at most {most}: write less")
    if is_mostly_comment(code):
        raise Refused("the code is mostly comment, and the owner must not have to search for the rest: leave it out")


def check_room(neurons: Iterable[Neuron], but: Neuron, settings: NeuronSettings) -> None:
    """Raise Refused when as many neurons (or functions) as allowed are awake, not counting `but`, the one to wake."""
    most, kind = (settings.max_functions, "functions") if but.is_function else (settings.max_awake, "neurons")
    awake = [one.id for one in neurons if one.is_awake and one.id != but.id and one.kind == but.kind]
    if len(awake) >= most:
        raise Refused(
            f'Cannot wake "{but.id}": as many {kind} are awake as are allowed ({most}); '
            f"disable one first{': ' + ', '.join(awake[:8]) if awake else ''}"
        )


def _check_counts(neurons: Sequence[Neuron], settings: ProposalSettings, now: float) -> None:
    pending = sum(neuron.status in PENDING for neuron in neurons)
    if pending >= settings.max_pending:
        raise Refused(f"as many proposals are pending as are allowed ({settings.max_pending}); wait for the owner")
    today = sum(now - neuron.history[0].at < DAY_S for neuron in neurons if neuron.history)
    if today >= settings.max_per_day:
        raise Refused(f"as many proposals were made within a day as are allowed ({settings.max_per_day}); wait")


def _taken_names(neurons: Iterable[Neuron]) -> Iterable[str]:
    """Names of neurons that are, were or may soon be approved. A failed one may use its own name again."""
    for neuron in neurons:
        if neuron.approvals or neuron.status is not Status.DISABLED:
            yield neuron.name
            yield neuron.id
            if neuron.is_function:
                yield neuron.function_name


def _check_same(proposal: Proposal, neurons: Iterable[Neuron]) -> None:
    squeezed, policy = _squeezed(proposal.code), policy_hash(proposal.policy)
    for neuron in neurons:
        is_there = neuron.status is not Status.DISABLED and policy_hash(neuron.policy) == policy
        if is_there and _squeezed(neuron.code) == squeezed:
            raise Refused(
                f'neuron "{neuron.name}" has the same code and may do the same; it is {in_words(neuron.status)}'
            )


def _check_failed(proposal: Proposal, neurons: Iterable[Neuron], found: Fingerprint | None, since: float) -> None:
    """Refuse what failed its quarantine, under any name: it would fail again, and each try takes a minute. Code that
    says something else is another try, and so is one that may do more."""
    policy = policy_hash(proposal.policy)
    for neuron in neurons:
        for line in neuron.history:
            version = _version_of(neuron, line) if line.event == Event.FAILED.value and line.at > since else None
            if version is not None and version.policy_hash == policy and _says_the_same(proposal, found, version):
                raise Refused(f'the same code has failed as "{neuron.name}"{_because(line.reason)}; correct that first')


def _says_the_same(proposal: Proposal, found: Fingerprint | None, version: Version) -> bool:
    """The same but for spacing and names. A shape alone says too little: a corrected text or number keeps it."""
    if _squeezed(proposal.code) == _squeezed(version.code):
        return True
    is_alike = found is not None and bool(version.shape) and found.shape == version.shape
    return is_alike and Counter(_LITERAL.findall(proposal.code)) == Counter(_LITERAL.findall(version.code))


def _check_rejected(
    proposal: Proposal,
    neurons: Iterable[Neuron],
    settings: NeuronSettings,
    found: Fingerprint | None,
    since: float,
) -> None:
    for neuron in neurons:
        for line in _refusals(neuron, since):
            version = _version_of(neuron, line)
            if version is not None and _is_repeat(proposal, found, version, settings.habits.similarity):
                raise Refused(
                    f"the owner has {'rejected' if line.event == Event.REJECT.value else 'disabled'} this as "
                    f'"{neuron.name}"{_because(line.reason)}; do not propose it again unless the owner asks for it'
                )


def _check_tries(proposal: Proposal, neurons: Iterable[Neuron], habit: str | None, since: float) -> None:
    """Limit repeated tries of one name or habit, however different the code is: an owner who is asked again and again
    agrees in the end."""
    name = remembered(proposal.name)
    rejected = sum(
        line.event == Event.REJECT.value
        for neuron in neurons
        if remembered(neuron.name) == name or (habit is not None and neuron.metadata.habit == habit)
        for line in _refusals(neuron, since)
    )
    if rejected >= MAX_REJECTED:
        raise Refused(
            f"the owner has rejected {rejected} proposals of this name or habit lately; "
            "do not propose it again unless the owner asks for it"
        )


def _refusals(neuron: Neuron, since: float) -> Iterator[StatusChange]:
    """The times the owner has said no to this neuron."""
    for line in neuron.history:
        if line.event in _OWNER_SAID_NO and line.by not in {"agent", "cortex"} and line.at > since:
            yield line


def _version_of(neuron: Neuron, line: StatusChange) -> Version | None:
    """The version that the line is about; the newest one if that was edited by hand."""
    newest_first = neuron.versions[::-1]
    return next((one for one in newest_first if code_hash(one.code) == line.code_hash), next(iter(newest_first), None))


def _is_repeat(proposal: Proposal, found: Fingerprint | None, rejected: Version, similarity: float) -> bool:
    if _squeezed(proposal.code) == _squeezed(rejected.code):
        return True
    if found is None or not rejected.shape:
        return False
    if found.shape == rejected.shape:
        return True
    # A proposal that asks for less, or for something else, may be exactly what the owner wanted instead.
    if not rejected.sketch or not _reaches_as_far(proposal.policy, rejected.policy):
        return False
    return in_common(found.parts, parts_of(rejected.sketch)) >= similarity


def _reaches_as_far(policy: Policy, rejected: Policy) -> bool:
    return set(rejected.tools) <= set(policy.tools) and all(
        any(covers(wider, host) for wider in policy.hosts) for host in rejected.hosts
    )


def _because(reason: str) -> str:
    return f" ({reason})" if reason else ""


def _squeezed(code: str) -> str:
    """The hash of the code without its blanks: one more space does not make a new proposal."""
    return hashlib.sha256("".join(code.split()).encode("utf-8", "surrogatepass")).hexdigest()
