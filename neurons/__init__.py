"""Habits and neurons: what an agent does often becomes something that it can do by itself, once a person has agreed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox import late_names

if TYPE_CHECKING:
    from .autonomic.autonomic import Autonomic
    from .autonomic.autonomic_view import LAYER_KEY, Counts, LayerState, NerveState, NerveView, Overview
    from .autonomic.signal_queue import Drop
    from .built_in import user_message
    from .errors import Conflict, NeuronError, NoSuchNeuron, NotYet, Refused, StorageError
    from .habits.fingerprint import Fingerprint, FingerprintReader
    from .habits.habit import OFFER_S, Habit
    from .habits.habits import Habits
    from .habits.recordings import Recordings
    from .habits.similarity import Parameter
    from .kill_switch import Killed, KillSwitch, Off, On, SwitchError
    from .kill_watch import watch_switch
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
    )
    from .pipeline.approval import ApprovalKey, why_not_awake
    from .pipeline.hashes import code_hash, policy_hash
    from .pipeline.pipeline import Pipeline
    from .pipeline.proposal import Proposal
    from .pipeline.trial import Progress, progress
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
    from .quarantine.quarantine import rehearse
    from .settings import HabitSettings, NeuronSettings, OwnerSettings
    from .signals import BUILT_IN, Signal
    from .storage.memory_storage import MemoryStorage
    from .storage.storage import Damage, DeferredStorage
    from .storage.store import NeuronStore
    from .webhook_address import is_local_name, is_loopback, webhook_problem

# One line for each name: who adds one adds it in three places of this file, and nowhere else.
_HOMES = {
    "Approval": "neuron",
    "ApprovalKey": "pipeline.approval",
    "Autonomic": "autonomic.autonomic",
    "BUILT_IN": "signals",
    "ChannelError": "ports",
    "Conflict": "errors",
    "Counters": "neuron",
    "Counts": "autonomic.autonomic_view",
    "Damage": "storage.storage",
    "DeferredStorage": "storage.storage",
    "Document": "ports",
    "Drop": "autonomic.signal_queue",
    "Energy": "ports",
    "Fingerprint": "habits.fingerprint",
    "FingerprintReader": "habits.fingerprint",
    "Habit": "habits.habit",
    "HabitSettings": "settings",
    "Habits": "habits.habits",
    "KillSwitch": "kill_switch",
    "Killed": "kill_switch",
    "LAYER_KEY": "autonomic.autonomic_view",
    "LayerState": "autonomic.autonomic_view",
    "MemoryStorage": "storage.memory_storage",
    "Metadata": "neuron",
    "NerveState": "autonomic.autonomic_view",
    "NerveView": "autonomic.autonomic_view",
    "Neuron": "neuron",
    "NeuronError": "errors",
    "NeuronSettings": "settings",
    "NeuronStore": "storage.store",
    "NoSuchNeuron": "errors",
    "NotYet": "errors",
    "Notice": "ports",
    "OFFER_S": "habits.habit",
    "Off": "kill_switch",
    "On": "kill_switch",
    "Overview": "autonomic.autonomic_view",
    "OwnerChannel": "ports",
    "OwnerSettings": "settings",
    "Parameter": "habits.similarity",
    "Pipeline": "pipeline.pipeline",
    "Policy": "neuron",
    "Progress": "pipeline.trial",
    "Proposal": "pipeline.proposal",
    "Record": "ports",
    "Recording": "ports",
    "Recordings": "habits.recordings",
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
    "Version": "neuron",
    "Wake": "ports",
    "code_hash": "pipeline.hashes",
    "is_local_name": "webhook_address",
    "is_loopback": "webhook_address",
    "policy_hash": "pipeline.hashes",
    "progress": "pipeline.trial",
    "rehearse": "quarantine.quarantine",
    "user_message": "built_in",
    "watch_switch": "kill_watch",
    "webhook_problem": "webhook_address",
    "why_not_awake": "pipeline.approval",
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
    "Document",
    "Drop",
    "Energy",
    "Fingerprint",
    "FingerprintReader",
    "Habit",
    "HabitSettings",
    "Habits",
    "KillSwitch",
    "Killed",
    "LAYER_KEY",
    "LayerState",
    "MemoryStorage",
    "Metadata",
    "NerveState",
    "NerveView",
    "Neuron",
    "NeuronError",
    "NeuronSettings",
    "NeuronStore",
    "NoSuchNeuron",
    "NotYet",
    "Notice",
    "OFFER_S",
    "Off",
    "On",
    "Overview",
    "OwnerChannel",
    "OwnerSettings",
    "Parameter",
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
    "Version",
    "Wake",
    "code_hash",
    "is_local_name",
    "is_loopback",
    "policy_hash",
    "progress",
    "rehearse",
    "user_message",
    "watch_switch",
    "webhook_problem",
    "why_not_awake",
]

__getattr__ = late_names(__name__, _HOMES)
