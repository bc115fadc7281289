"""The shared types of neurons: documents, signals, settings, and the interfaces (ports). Imports no other room."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .document_text import (
        Damaged,
        as_written,
        check_beginning,
        check_key,
        decode,
        encode,
        is_key,
        max_bytes,
    )
    from .due_times import Due, due_between, next_due
    from .emission import MAX_OUTBOX, MAX_TOLD, LastEmission, Outgoing, emission_text, kept_text
    from .errors import Conflict, NeuronError, NoSuchNeuron, NotYet, Refused, StorageError
    from .neuron import (
        AWAKE,
        MAX_EMISSION_TEXT,
        MAX_HOSTS,
        MAX_PURPOSE,
        MAX_SIGNALS,
        MAX_TOOLS,
        NAME_PATTERN,
        SIGNAL_PATTERN,
        Action,
        Approval,
        Counters,
        Emission,
        FileGrant,
        Kind,
        Metadata,
        Neuron,
        Policy,
        Request,
        SignalType,
        Status,
        StatusChange,
        Trial,
        Version,
        Watch,
        function_name,
        storable,
    )
    from .part import Part
    from .ports import (
        Behaviour,
        Change,
        Courier,
        Document,
        Emitted,
        Energy,
        Json,
        Lease,
        LentFolders,
        Record,
        Recording,
        Skills,
        StatusRecords,
        Storage,
        ToolExchange,
        Wake,
        Wording,
    )
    from .program import cost_of, file_need, may_use_files, program_of
    from .report import Difference, Equality, FileNeed, Report, ScenarioResult
    from .schedule import MAX_SCHEDULES, Schedule, schedule_of
    from .settings import (
        DAY_S,
        HOUR_S,
        MINUTE_S,
        AutonomicSettings,
        CostSettings,
        FunctionSettings,
        HabitSettings,
        NeuronSettings,
        OwnerSettings,
        ProposalSettings,
        TrialSettings,
        is_local_name,
        is_loopback,
        webhook_problem,
    )
    from .signals import (
        BUILT_IN,
        HIGHEST,
        LOWEST,
        NORMAL,
        SCHEDULE,
        Signal,
        as_given,
        energy,
        hour_changed,
        new_id,
        schedule_due,
        tick,
        user_message,
    )
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "document_text": "Damaged as_written check_beginning check_key decode encode is_key max_bytes",
            "due_times": "Due due_between next_due",
            "emission": "LastEmission MAX_OUTBOX MAX_TOLD Outgoing emission_text kept_text",
            "errors": "Conflict NeuronError NoSuchNeuron NotYet Refused StorageError",
            "neuron": (
                "AWAKE Action Approval Counters Emission FileGrant Kind MAX_EMISSION_TEXT MAX_HOSTS MAX_PURPOSE "
                "MAX_SIGNALS MAX_TOOLS Metadata NAME_PATTERN Neuron Policy Request SIGNAL_PATTERN "
                "SignalType Status StatusChange Trial Version Watch function_name storable"
            ),
            "part": "Part",
            "ports": (
                "Behaviour Change Courier Document Emitted Energy LentFolders Lease Json Record Recording Skills "
                "StatusRecords Storage ToolExchange Wake Wording"
            ),
            "program": "cost_of file_need may_use_files program_of",
            "report": "Difference Equality FileNeed Report ScenarioResult",
            "schedule": "MAX_SCHEDULES Schedule schedule_of",
            "settings": (
                "AutonomicSettings CostSettings DAY_S FunctionSettings HOUR_S HabitSettings MINUTE_S NeuronSettings "
                "OwnerSettings ProposalSettings TrialSettings is_local_name is_loopback webhook_problem"
            ),
            "signals": (
                "BUILT_IN HIGHEST LOWEST NORMAL SCHEDULE Signal as_given energy hour_changed new_id schedule_due tick "
                "user_message"
            ),
        },
    )
