"""The way from a proposal to an approved neuron: rules, owner's decisions, trial, versions."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .approval import ApprovalKey as ApprovalKey, why_not_awake as why_not_awake
    from .hashes import canonical as canonical, code_hash as code_hash, policy_hash as policy_hash
    from .neuron_grants import covers as covers, network_for as network_for, unreachable_host as unreachable_host
    from .owner_channel import ChannelError as ChannelError, Notice as Notice, OwnerChannel as OwnerChannel
    from .pipeline import Pipeline as Pipeline
    from .proposal import Proposal as Proposal
    from .store import NeuronStore as NeuronStore
    from .trial import (
        Delivered as Delivered,
        Failed as Failed,
        Going as Going,
        Passed as Passed,
        Progress as Progress,
        Verdict as Verdict,
        noted as noted,
        progress as progress,
        verdict as verdict,
        within_limit as within_limit,
    )
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "approval": ["ApprovalKey", "why_not_awake"],
            "hashes": ["canonical", "code_hash", "policy_hash"],
            "neuron_grants": ["covers", "network_for", "unreachable_host"],
            "owner_channel": ["ChannelError", "Notice", "OwnerChannel"],
            "pipeline": ["Pipeline"],
            "proposal": ["Proposal"],
            "store": ["NeuronStore"],
            "trial": [
                "Delivered",
                "Failed",
                "Going",
                "Passed",
                "Progress",
                "Verdict",
                "noted",
                "progress",
                "verdict",
                "within_limit",
            ],
        },
    )
