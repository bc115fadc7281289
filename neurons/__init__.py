"""Habits and neurons: a script that the agent runs often becomes a program that runs by itself, if the owner agrees."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .autonomic.activity import ActivityStep as ActivityStep, activity_of as activity_of
    from .autonomic.autonomic import Autonomic as Autonomic
    from .autonomic.autonomic_view import (
        LAYER_KEY as LAYER_KEY,
        Counts as Counts,
        LayerState as LayerState,
        NerveState as NerveState,
        NerveView as NerveView,
        Overview as Overview,
    )
    from .autonomic.signal_queue import Drop as Drop
    from .autonomic.timetable import next_run as next_run
    from .contracts.errors import (
        Conflict as Conflict,
        NeuronError as NeuronError,
        NoSuchNeuron as NoSuchNeuron,
        NotYet as NotYet,
        Refused as Refused,
        StorageError as StorageError,
    )
    from .contracts.neuron import (
        Approval as Approval,
        Counters as Counters,
        Emission as Emission,
        FileGrant as FileGrant,
        Metadata as Metadata,
        Neuron as Neuron,
        Policy as Policy,
        Request as Request,
        Status as Status,
        StatusChange as StatusChange,
        Trial as Trial,
        Version as Version,
    )
    from .contracts.ports import (
        Behaviour as Behaviour,
        Courier as Courier,
        Document as Document,
        Emitted as Emitted,
        Energy as Energy,
        Lease as Lease,
        LentFolders as LentFolders,
        Record as Record,
        Recording as Recording,
        Skills as Skills,
        StatusRecords as StatusRecords,
        Storage as Storage,
        ToolExchange as ToolExchange,
        Wake as Wake,
        Wording as Wording,
    )
    from .contracts.report import (
        Difference as Difference,
        Equality as Equality,
        Report as Report,
        ScenarioResult as ScenarioResult,
    )
    from .contracts.schedule import Schedule as Schedule, schedule_of as schedule_of
    from .contracts.settings import (
        HabitSettings as HabitSettings,
        NeuronSettings as NeuronSettings,
        OwnerSettings as OwnerSettings,
        is_local_name as is_local_name,
        is_loopback as is_loopback,
        webhook_problem as webhook_problem,
    )
    from .contracts.signals import BUILT_IN as BUILT_IN, Signal as Signal, user_message as user_message
    from .functions.functions import Functions as Functions
    from .habits.comparing import Comparing as Comparing
    from .habits.draft import (
        Draft as Draft,
        DraftReader as DraftReader,
        Shape as Shape,
        drafted as drafted,
        name_of as name_of,
    )
    from .habits.draft_schemas import RecordedRuns as RecordedRuns, recorded_runs as recorded_runs
    from .habits.fingerprint import Fingerprint as Fingerprint
    from .habits.fingerprint_reader import FingerprintReader as FingerprintReader
    from .habits.habit import OFFER_S as OFFER_S, Habit as Habit
    from .habits.habits import Habits as Habits
    from .habits.literals import LiteralReader as LiteralReader
    from .habits.offers import Offers as Offers
    from .habits.recordings import Recordings as Recordings
    from .habits.similarity import Parameter as Parameter
    from .habits.value_schemas import schema_of_value as schema_of_value
    from .pipeline.approval import (
        ApprovalKey as ApprovalKey,
        PurposeKey as PurposeKey,
        granted_files as granted_files,
        why_not_awake as why_not_awake,
    )
    from .pipeline.hashes import code_hash as code_hash, policy_hash as policy_hash
    from .pipeline.neuron_grants import network_for as network_for, unreachable_host as unreachable_host
    from .pipeline.owner_channel import (
        Around as Around,
        ChannelError as ChannelError,
        Notice as Notice,
        Outcome as Outcome,
        OwnerChannel as OwnerChannel,
    )
    from .pipeline.pipeline import Pipeline as Pipeline
    from .pipeline.proposal import Proposal as Proposal, name_problem as name_problem
    from .pipeline.store import NeuronStore as NeuronStore
    from .pipeline.trial import Progress as Progress, progress as progress, rests_until as rests_until
    from .quarantine.nightly import Nightly as Nightly
    from .quarantine.quarantine import rehearse as rehearse
    from .quarantine.queue import Candidates as Candidates
    from .quarantine.side_by_side import SideBySide as SideBySide
    from .quarantine.workplace import Workplace as Workplace
    from .storage.memory_storage import MemoryStorage as MemoryStorage
    from .storage.storage import Damage as Damage, DeferredStorage as DeferredStorage
    from .switch.kill_switch import (
        Killed as Killed,
        KillSwitch as KillSwitch,
        Off as Off,
        On as On,
        SwitchError as SwitchError,
    )
    from .switch.kill_watch import Switch as Switch, watch_switch as watch_switch
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "autonomic.activity": "ActivityStep activity_of",
            "autonomic.autonomic": "Autonomic",
            "autonomic.autonomic_view": "Counts LAYER_KEY LayerState NerveState NerveView Overview",
            "autonomic.signal_queue": "Drop",
            "autonomic.timetable": "next_run",
            "contracts.errors": "Conflict NeuronError NoSuchNeuron NotYet Refused StorageError",
            "contracts.neuron": (
                "Approval Counters Emission FileGrant Metadata Neuron Policy Request Status StatusChange Trial Version"
            ),
            "contracts.schedule": "Schedule schedule_of",
            "contracts.ports": (
                "Behaviour Courier Document Emitted Energy LentFolders Lease Record Recording Skills StatusRecords "
                "Storage ToolExchange Wake Wording"
            ),
            "contracts.report": "Difference Equality Report ScenarioResult",
            "contracts.settings": (
                "HabitSettings NeuronSettings OwnerSettings is_local_name is_loopback webhook_problem"
            ),
            "contracts.signals": "BUILT_IN Signal user_message",
            "functions.functions": "Functions",
            "habits.comparing": "Comparing",
            "habits.draft": "Draft DraftReader Shape drafted name_of",
            "habits.draft_schemas": "RecordedRuns recorded_runs",
            "habits.fingerprint": "Fingerprint",
            "habits.fingerprint_reader": "FingerprintReader",
            "habits.habit": "Habit OFFER_S",
            "habits.habits": "Habits",
            "habits.literals": "LiteralReader",
            "habits.offers": "Offers",
            "habits.recordings": "Recordings",
            "habits.similarity": "Parameter",
            "habits.value_schemas": "schema_of_value",
            "pipeline.approval": "ApprovalKey PurposeKey granted_files why_not_awake",
            "pipeline.hashes": "code_hash policy_hash",
            "pipeline.neuron_grants": "network_for unreachable_host",
            "pipeline.owner_channel": "Around ChannelError Notice Outcome OwnerChannel",
            "pipeline.pipeline": "Pipeline",
            "pipeline.proposal": "Proposal name_problem",
            "pipeline.store": "NeuronStore",
            "pipeline.trial": "Progress progress rests_until",
            "quarantine.nightly": "Nightly",
            "quarantine.quarantine": "rehearse",
            "quarantine.queue": "Candidates",
            "quarantine.side_by_side": "SideBySide",
            "quarantine.workplace": "Workplace",
            "storage.memory_storage": "MemoryStorage",
            "storage.storage": "Damage DeferredStorage",
            "switch.kill_switch": "KillSwitch Killed Off On SwitchError",
            "switch.kill_watch": "Switch watch_switch",
        },
    )
