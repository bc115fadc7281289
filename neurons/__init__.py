"""Habits and neurons: what an agent does often becomes something that it can do by itself, once a person has agreed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox import late_names

if TYPE_CHECKING:
    from .approval import ApprovalKey, why_not_approved, why_not_awake
    from .autonomic import Autonomic
    from .autonomic_view import Counts, LayerState, NerveState, NerveView, Overview
    from .built_in import user_message
    from .cost import cost_of
    from .errors import Conflict, NeuronError, NoSuchNeuron, Refused, StorageError
    from .fingerprint import Fingerprint, FingerprintReader, Literal
    from .habit import Habit
    from .habits import Habits
    from .hashes import about_hash, code_hash, policy_hash, shown_hash
    from .kill_switch import Killed, KillSwitch, Off, On, SwitchError
    from .kill_watch import watch_switch
    from .lifecycle import Event, after, changed
    from .memory_storage import MemoryStorage
    from .neuron import (
        Approval,
        Counters,
        Metadata,
        Neuron,
        Policy,
        Report,
        Request,
        ScenarioResult,
        Status,
        StatusChange,
        Trial,
        Version,
        Watch,
    )
    from .pipeline import Pipeline
    from .ports import (
        ChannelError,
        Document,
        Energy,
        Notice,
        OwnerChannel,
        Record,
        Recording,
        Skills,
        Storage,
        ToolExchange,
        Wake,
    )
    from .proposal import Proposal
    from .quarantine import rehearse
    from .recordings import Recordings
    from .settings import HabitSettings, NeuronSettings, OwnerSettings
    from .signal_queue import Drop
    from .signals import BUILT_IN, Signal, as_given
    from .similarity import Parameter
    from .storage import Damage, DeferredStorage
    from .store import NeuronStore
    from .trial import Delivered, Failed, Going, Passed, Progress, Verdict, noted, progress, verdict
    from .webhook_address import is_local_name, is_loopback, webhook_problem

# One line for each name: who adds one adds it in three places of this file, and nowhere else.
_HOMES = {
    "Approval": "neuron",
    "ApprovalKey": "approval",
    "Autonomic": "autonomic",
    "BUILT_IN": "signals",
    "ChannelError": "ports",
    "Conflict": "errors",
    "Counters": "neuron",
    "Counts": "autonomic_view",
    "Damage": "storage",
    "DeferredStorage": "storage",
    "Delivered": "trial",
    "Document": "ports",
    "Drop": "signal_queue",
    "Energy": "ports",
    "Event": "lifecycle",
    "Failed": "trial",
    "Fingerprint": "fingerprint",
    "FingerprintReader": "fingerprint",
    "Going": "trial",
    "Habit": "habit",
    "HabitSettings": "settings",
    "Habits": "habits",
    "KillSwitch": "kill_switch",
    "Killed": "kill_switch",
    "LayerState": "autonomic_view",
    "Literal": "fingerprint",
    "MemoryStorage": "memory_storage",
    "Metadata": "neuron",
    "NerveState": "autonomic_view",
    "NerveView": "autonomic_view",
    "Neuron": "neuron",
    "NeuronError": "errors",
    "NeuronSettings": "settings",
    "NeuronStore": "store",
    "NoSuchNeuron": "errors",
    "Notice": "ports",
    "Off": "kill_switch",
    "On": "kill_switch",
    "Overview": "autonomic_view",
    "OwnerChannel": "ports",
    "OwnerSettings": "settings",
    "Parameter": "similarity",
    "Passed": "trial",
    "Pipeline": "pipeline",
    "Policy": "neuron",
    "Progress": "trial",
    "Proposal": "proposal",
    "Record": "ports",
    "Recording": "ports",
    "Recordings": "recordings",
    "Refused": "errors",
    "Report": "neuron",
    "Request": "neuron",
    "ScenarioResult": "neuron",
    "Signal": "signals",
    "Skills": "ports",
    "Status": "neuron",
    "StatusChange": "neuron",
    "Storage": "ports",
    "StorageError": "errors",
    "SwitchError": "kill_switch",
    "ToolExchange": "ports",
    "Trial": "neuron",
    "Verdict": "trial",
    "Version": "neuron",
    "Wake": "ports",
    "Watch": "neuron",
    "about_hash": "hashes",
    "after": "lifecycle",
    "as_given": "signals",
    "changed": "lifecycle",
    "code_hash": "hashes",
    "cost_of": "cost",
    "is_local_name": "webhook_address",
    "is_loopback": "webhook_address",
    "noted": "trial",
    "policy_hash": "hashes",
    "progress": "trial",
    "rehearse": "quarantine",
    "shown_hash": "hashes",
    "user_message": "built_in",
    "verdict": "trial",
    "watch_switch": "kill_watch",
    "webhook_problem": "webhook_address",
    "why_not_approved": "approval",
    "why_not_awake": "approval",
}

__all__ = [  # noqa: RUF022 - as `sorted` sorts, constants among the rest
    "Approval",
    "ApprovalKey",
    "Autonomic",
    "BUILT_IN",
    "ChannelError",
    "Conflict",
    "Counters",
    "Counts",
    "Damage",
    "DeferredStorage",
    "Delivered",
    "Document",
    "Drop",
    "Energy",
    "Event",
    "Failed",
    "Fingerprint",
    "FingerprintReader",
    "Going",
    "Habit",
    "HabitSettings",
    "Habits",
    "KillSwitch",
    "Killed",
    "LayerState",
    "Literal",
    "MemoryStorage",
    "Metadata",
    "NerveState",
    "NerveView",
    "Neuron",
    "NeuronError",
    "NeuronSettings",
    "NeuronStore",
    "NoSuchNeuron",
    "Notice",
    "Off",
    "On",
    "Overview",
    "OwnerChannel",
    "OwnerSettings",
    "Parameter",
    "Passed",
    "Pipeline",
    "Policy",
    "Progress",
    "Proposal",
    "Record",
    "Recording",
    "Recordings",
    "Refused",
    "Report",
    "Request",
    "ScenarioResult",
    "Signal",
    "Skills",
    "Status",
    "StatusChange",
    "Storage",
    "StorageError",
    "SwitchError",
    "ToolExchange",
    "Trial",
    "Verdict",
    "Version",
    "Wake",
    "Watch",
    "about_hash",
    "after",
    "as_given",
    "changed",
    "code_hash",
    "cost_of",
    "is_local_name",
    "is_loopback",
    "noted",
    "policy_hash",
    "progress",
    "rehearse",
    "shown_hash",
    "user_message",
    "verdict",
    "watch_switch",
    "webhook_problem",
    "why_not_approved",
    "why_not_awake",
]

__getattr__ = late_names(__name__, _HOMES)
