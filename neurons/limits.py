"""Which proposals are not even looked at. Pure: decided over the documents that there are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from .errors import Refused
from .hashes import code_hash, policy_hash
from .lifecycle import Event
from .names import first_alike
from .neuron import Neuron, Status
from .proposal import Proposal
from .settings import ProposalSettings

DAY_S = 86_400
PENDING = frozenset({Status.QUARANTINE, Status.AWAITING_OWNER})
_OWNER_SAID_NO = frozenset({Event.REJECT.value, Event.DISABLE.value})


def check(proposal: Proposal, neurons: Sequence[Neuron], settings: ProposalSettings, *, shape: str, now: float) -> None:
    """Raises Refused with what to do instead."""
    _check_counts(neurons, settings, now)
    taken = first_alike(proposal.name, _taken_names(neurons))
    if taken is not None:
        raise Refused(
            f'the name "{proposal.name}" is taken, or too much like "{taken}": existing neurons cannot be changed; '
            "choose another name"
        )
    _check_repeats(proposal, neurons, settings, shape, now)


def check_room(neurons: Iterable[Neuron], but: str, max_awake: int) -> None:
    """Raises Refused when so many are awake already, the one that is to be woken not counted."""
    awake = [neuron.id for neuron in neurons if neuron.is_awake and neuron.id != but]
    if len(awake) >= max_awake:
        raise Refused(
            f'Cannot wake "{but}": as many neurons are awake as are allowed ({max_awake}); '
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
    """Of those that are, were or may soon be approved. What failed may be tried again under its own name."""
    for neuron in neurons:
        if neuron.approvals or neuron.status is not Status.DISABLED:
            yield neuron.name
            yield neuron.id


def _check_repeats(
    proposal: Proposal, neurons: Iterable[Neuron], settings: ProposalSettings, shape: str, now: float
) -> None:
    squeezed, policy = _squeezed(proposal.code), policy_hash(proposal.policy)
    for neuron in neurons:
        is_same = _squeezed(neuron.code) == squeezed
        if neuron.status is not Status.DISABLED and is_same and policy_hash(neuron.policy) == policy:
            raise Refused(f'neuron "{neuron.name}" has the same code and may do the same; it is {neuron.status.value}')
        for line in neuron.history:
            if line.by in {"agent", "cortex"} or line.event not in _OWNER_SAID_NO:
                continue
            if now - line.at >= settings.rejected_days * DAY_S:
                continue
            code = next((one.code for one in neuron.versions if code_hash(one.code) == line.code_hash), neuron.code)
            has_shape = bool(shape) and shape == neuron.metadata.shape
            if has_shape or _squeezed(code) == squeezed:
                raise Refused(
                    f"the owner has {'rejected' if line.event == Event.REJECT.value else 'disabled'} this as "
                    f'"{neuron.name}"{_because(line.reason)}; do not propose it again unless the owner asks for it'
                )


def _because(reason: str) -> str:
    return f" ({reason})" if reason else ""


def _squeezed(code: str) -> str:
    """The hash of the code without its blanks: a space more does not make another proposal."""
    return hashlib.sha256("".join(code.split()).encode("utf-8", "surrogatepass")).hexdigest()
