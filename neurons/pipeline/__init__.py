"""The way from a proposal to an approved neuron: rules, owner's decisions, trial, versions."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .approval import ApprovalKey, PurposeKey, granted_files, why_not_awake
    from .hashes import canonical, code_hash, policy_hash
    from .neuron_grants import covers, network_for, unreachable_host
    from .owner_channel import Around, ChannelError, Notice, Outcome, OwnerChannel
    from .pipeline import Pipeline
    from .proposal import Proposal
    from .store import NeuronStore
    from .trial import (
        Delivered,
        Failed,
        Going,
        Passed,
        Progress,
        Verdict,
        noted,
        progress,
        rests_until,
        verdict,
        within_limit,
    )
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "approval": "ApprovalKey PurposeKey granted_files why_not_awake",
            "hashes": "canonical code_hash policy_hash",
            "neuron_grants": "covers network_for unreachable_host",
            "owner_channel": "Around ChannelError Notice Outcome OwnerChannel",
            "pipeline": "Pipeline",
            "proposal": "Proposal",
            "store": "NeuronStore",
            "trial": "Delivered Failed Going Passed Progress Verdict noted progress rests_until verdict within_limit",
        },
    )
