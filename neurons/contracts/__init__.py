"""The shared types of neurons: documents, signals, settings, and the ports of a host. Imports no other room."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .built_in import energy as energy, hour_changed as hour_changed, tick as tick, user_message as user_message
    from .cost import cost_of as cost_of
    from .document_text import (
        MAX_DOCUMENT_BYTES as MAX_DOCUMENT_BYTES,
        Damaged as Damaged,
        as_written as as_written,
        check_beginning as check_beginning,
        check_key as check_key,
        decode as decode,
        encode as encode,
        is_key as is_key,
    )
    from .errors import (
        Conflict as Conflict,
        NeuronError as NeuronError,
        NoSuchNeuron as NoSuchNeuron,
        NotYet as NotYet,
        Refused as Refused,
        StorageError as StorageError,
    )
    from .neuron import (
        MAX_HOSTS as MAX_HOSTS,
        MAX_PURPOSE as MAX_PURPOSE,
        MAX_SIGNALS as MAX_SIGNALS,
        MAX_TOOLS as MAX_TOOLS,
        NAME_PATTERN as NAME_PATTERN,
        SIGNAL_PATTERN as SIGNAL_PATTERN,
        Approval as Approval,
        Counters as Counters,
        Metadata as Metadata,
        Neuron as Neuron,
        Part as Part,
        Policy as Policy,
        Report as Report,
        Request as Request,
        ScenarioResult as ScenarioResult,
        SignalType as SignalType,
        Status as Status,
        StatusChange as StatusChange,
        Trial as Trial,
        Version as Version,
        Watch as Watch,
        storable as storable,
    )
    from .ports import (
        Change as Change,
        Document as Document,
        Energy as Energy,
        Json as Json,
        Lease as Lease,
        Record as Record,
        Recording as Recording,
        Skills as Skills,
        Storage as Storage,
        ToolExchange as ToolExchange,
        Wake as Wake,
    )
    from .program import program_of as program_of
    from .settings import (
        AutonomicSettings as AutonomicSettings,
        CostSettings as CostSettings,
        HabitSettings as HabitSettings,
        NeuronSettings as NeuronSettings,
        OwnerSettings as OwnerSettings,
        ProposalSettings as ProposalSettings,
        TrialSettings as TrialSettings,
    )
    from .signals import (
        BUILT_IN as BUILT_IN,
        HIGHEST as HIGHEST,
        LOWEST as LOWEST,
        NORMAL as NORMAL,
        Signal as Signal,
        as_given as as_given,
        new_id as new_id,
    )
    from .webhook_address import (
        is_local_name as is_local_name,
        is_loopback as is_loopback,
        webhook_problem as webhook_problem,
    )
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "built_in": ["energy", "hour_changed", "tick", "user_message"],
            "cost": ["cost_of"],
            "document_text": [
                "Damaged",
                "MAX_DOCUMENT_BYTES",
                "as_written",
                "check_beginning",
                "check_key",
                "decode",
                "encode",
                "is_key",
            ],
            "errors": ["Conflict", "NeuronError", "NoSuchNeuron", "NotYet", "Refused", "StorageError"],
            "neuron": [
                "Approval",
                "Counters",
                "MAX_HOSTS",
                "MAX_PURPOSE",
                "MAX_SIGNALS",
                "MAX_TOOLS",
                "Metadata",
                "NAME_PATTERN",
                "Neuron",
                "Part",
                "Policy",
                "Report",
                "Request",
                "SIGNAL_PATTERN",
                "ScenarioResult",
                "SignalType",
                "Status",
                "StatusChange",
                "Trial",
                "Version",
                "Watch",
                "storable",
            ],
            "ports": [
                "Change",
                "Document",
                "Energy",
                "Lease",
                "Json",
                "Record",
                "Recording",
                "Skills",
                "Storage",
                "ToolExchange",
                "Wake",
            ],
            "program": ["program_of"],
            "settings": [
                "AutonomicSettings",
                "CostSettings",
                "HabitSettings",
                "NeuronSettings",
                "OwnerSettings",
                "ProposalSettings",
                "TrialSettings",
            ],
            "signals": ["BUILT_IN", "HIGHEST", "LOWEST", "NORMAL", "Signal", "as_given", "new_id"],
            "webhook_address": ["is_local_name", "is_loopback", "webhook_problem"],
        },
    )
