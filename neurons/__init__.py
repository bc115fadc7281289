"""Habits and neurons: what an agent does often becomes something that it can do by itself, once a person has agreed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox import late_names

if TYPE_CHECKING:
    from .errors import Conflict, NeuronError, NoSuchNeuron, Refused, StorageError
    from .kill_switch import Killed, KillSwitch, Off, On, SwitchError
    from .kill_watch import watch_switch
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
    )
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
    from .settings import NeuronSettings, OwnerSettings
    from .signals import BUILT_IN, Signal
    from .storage import Damage, DeferredStorage
    from .store import NeuronStore
    from .webhook_address import is_local_name, is_loopback, webhook_problem

# One line for each name: who adds one adds it in three places of this file, and nowhere else.
_HOMES = {
    "Approval": "neuron",
    "BUILT_IN": "signals",
    "ChannelError": "ports",
    "Conflict": "errors",
    "Counters": "neuron",
    "Damage": "storage",
    "DeferredStorage": "storage",
    "Document": "ports",
    "Energy": "ports",
    "KillSwitch": "kill_switch",
    "Killed": "kill_switch",
    "MemoryStorage": "memory_storage",
    "Metadata": "neuron",
    "Neuron": "neuron",
    "NeuronError": "errors",
    "NeuronSettings": "settings",
    "NeuronStore": "store",
    "NoSuchNeuron": "errors",
    "Notice": "ports",
    "Off": "kill_switch",
    "On": "kill_switch",
    "OwnerChannel": "ports",
    "OwnerSettings": "settings",
    "Policy": "neuron",
    "Record": "ports",
    "Recording": "ports",
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
    "is_local_name": "webhook_address",
    "is_loopback": "webhook_address",
    "watch_switch": "kill_watch",
    "webhook_problem": "webhook_address",
}

__all__ = [  # noqa: RUF022 - as `sorted` sorts, constants among the rest
    "Approval",
    "BUILT_IN",
    "ChannelError",
    "Conflict",
    "Counters",
    "Damage",
    "DeferredStorage",
    "Document",
    "Energy",
    "KillSwitch",
    "Killed",
    "MemoryStorage",
    "Metadata",
    "Neuron",
    "NeuronError",
    "NeuronSettings",
    "NeuronStore",
    "NoSuchNeuron",
    "Notice",
    "Off",
    "On",
    "OwnerChannel",
    "OwnerSettings",
    "Policy",
    "Record",
    "Recording",
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
    "is_local_name",
    "is_loopback",
    "watch_switch",
    "webhook_problem",
]

__getattr__ = late_names(__name__, _HOMES)
