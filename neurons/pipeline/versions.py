"""The versions of a neuron: code with its policy. None is ever deleted or changed. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..contracts import Counters, Neuron, Policy, Version, Watch
from ..habits import sketched
from .hashes import code_hash, policy_hash

if TYPE_CHECKING:
    from ..habits import Fingerprint


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def taken_in(neuron: Neuron, now: float) -> Neuron:
    """The neuron with any change made to its document by hand added as a new version: no version is lost or changed."""
    code, policy = code_hash(neuron.code), policy_hash(neuron.policy)
    is_known = any(
        (one.version, code_hash(one.code), policy_hash(one.policy)) == (neuron.version, code, policy)
        for one in neuron.versions
    )
    if is_known and neuron.metadata.code_hash == code:
        return neuron
    return with_version(neuron, neuron.code, neuron.policy, now)


def with_version(neuron: Neuron, code: str, policy: Policy, now: float) -> Neuron:
    """The neuron with a new version by the owner: only the owner can change the code of an existing document."""
    number = max((one.version for one in neuron.versions), default=0) + 1
    version = Version(
        version=number,
        code=code,
        code_hash=code_hash(code),
        policy=policy,
        policy_hash=policy_hash(policy),
        created_at=iso(now),
        author="owner",
    )
    return at_version(neuron.model_copy(update={"versions": (*neuron.versions, version)}), version)


def recognisable(neuron: Neuron, found: Fingerprint | None) -> Neuron:
    """The neuron with the fingerprint stored in every version that has this code."""
    if found is None:
        return neuron
    same = code_hash(neuron.code)
    known = {"shape": found.shape, "sketch": sketched(found.parts)}
    versions = tuple(one.model_copy(update=known) if code_hash(one.code) == same else one for one in neuron.versions)
    metadata = neuron.metadata.model_copy(update={"shape": found.shape})
    return neuron.model_copy(update={"versions": versions, "metadata": metadata})


def at_version(neuron: Neuron, version: Version) -> Neuron:
    """The neuron at this version: with its code and policy, and without the state, report and counts of another
    version."""
    metadata = neuron.metadata.model_copy(
        update={
            "author": version.author,
            "created_at": version.created_at,
            "code_hash": code_hash(version.code),
            "shape": version.shape,
            "approved_by": None,
            "approved_at": None,
        }
    )
    return neuron.model_copy(
        update={
            **dict(version.policy),
            "code": version.code,
            "metadata": metadata,
            "version": version.version,
            "state": {},
            "outbox": (),
            "report": None,
            "trial": None,
            "counters": Counters(),
            "watch": Watch(),
        }
    )
