"""Workflows: plans of tool calls, code and questions, and the journal from which a run goes on after any stop."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .agent_desk import QuestionAnswering
    from .answers import AGENT, APPROVAL, CLIENT, Approve, Reject, Replan, Said, Value, said_of
    from .dispatch import Dispatch, DispatchFull, InProcess
    from .journal import (
        TERMINAL,
        Claim,
        DecisionRow,
        EventRow,
        Fenced,
        Journal,
        JournalError,
        NewEvent,
        NoSuchRun,
        RunRow,
        RunState,
        RunStatus,
        Saved,
        TaskRow,
        WorkflowError,
    )
    from .kept_files import KeptFiles
    from .memory_journal import MemoryJournal
    from .plan import (
        MAX_PLAN_BYTES,
        Finished,
        Plan,
        PlanError,
        TaskStatus,
        arguments_of,
        checked,
        context_of,
        folded,
        hash_of,
        input_hash,
        never_to_run,
        next_layer,
        replanned,
        require_sound,
        stops_run,
        with_inputs,
    )
    from .plan_text import PlanEnergy, PlanText, energy_of_plan, picture, told_plan
    from .proposals import ProposedPlans
    from .sqlite_file import JournalDamaged
    from .sqlite_journal import SqliteJournal
    from .tasks import CodeExecutionTask, DecisionTask, McpToolTask, Narrower, Task, may_repeat
    from .workflows import WORKSPACE, Result, Workflows
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "agent_desk": "QuestionAnswering",
            "answers": "AGENT APPROVAL Approve CLIENT Reject Replan Said Value said_of",
            "dispatch": "Dispatch DispatchFull InProcess",
            "journal": "TERMINAL Claim DecisionRow EventRow Fenced Journal JournalError NewEvent NoSuchRun RunRow "
            "RunState RunStatus Saved TaskRow WorkflowError",
            "kept_files": "KeptFiles",
            "memory_journal": "MemoryJournal",
            "plan": "Finished MAX_PLAN_BYTES Plan PlanError TaskStatus arguments_of checked context_of folded hash_of "
            "input_hash never_to_run next_layer replanned require_sound stops_run with_inputs",
            "plan_text": "PlanEnergy PlanText energy_of_plan picture told_plan",
            "proposals": "ProposedPlans",
            "sqlite_file": "JournalDamaged",
            "sqlite_journal": "SqliteJournal",
            "tasks": "CodeExecutionTask DecisionTask McpToolTask Narrower Task may_repeat",
            "workflows": "Result WORKSPACE Workflows",
        },
    )
