"""Workflows: plans of tool calls, code and questions, and the journal from which a run goes on after any stop."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .agent_desk import QuestionAnswering
    from .answers import (
        AGENT,
        APPROVAL,
        CLIENT,
        Approve,
        Reject,
        Replan,
        Said,
        Value,
        as_kept,
        require_fitting,
        said_of,
    )
    from .checking import PlanProblem, UnknownTool, problems_of, tool_names
    from .dispatch import Dispatch, DispatchFull, InProcess
    from .drawing import mark_of, mermaid, states_of, svg, text_lines, what_of
    from .finishing import finish_kept
    from .forking import begin_fork
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
        has_references,
        hash_of,
        input_hash,
        inputs_of,
        never_to_run,
        next_layer,
        replanned,
        require_sound,
        stops_run,
        with_inputs,
        written,
    )
    from .plan_file import PLAN_LIMITS, inputs_from, plan_schema, read_plan
    from .plan_text import PlanEnergy, PlanText, energy_of_plan, picture, told_plan
    from .proposals import ProposedPlans
    from .single_task import TaskResult
    from .sqlite_file import DATABASE, SCHEMA_VERSION, JournalDamaged
    from .sqlite_journal import SqliteJournal
    from .tasks import CodeExecutionTask, DecisionTask, McpToolTask, Narrower, Task, may_repeat
    from .workflows import WORKSPACE, Result, Workflows, new_id
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "agent_desk": "QuestionAnswering",
            "answers": "AGENT APPROVAL Approve CLIENT Reject Replan Said Value as_kept require_fitting said_of",
            "checking": "PlanProblem UnknownTool problems_of tool_names",
            "dispatch": "Dispatch DispatchFull InProcess",
            "drawing": "mark_of mermaid states_of svg text_lines what_of",
            "finishing": "finish_kept",
            "forking": "begin_fork",
            "journal": "Claim DecisionRow EventRow Fenced Journal JournalError NewEvent NoSuchRun RunRow RunState "
            "RunStatus Saved TERMINAL TaskRow WorkflowError",
            "kept_files": "KeptFiles",
            "memory_journal": "MemoryJournal",
            "plan": "Finished MAX_PLAN_BYTES Plan PlanError TaskStatus arguments_of checked context_of folded "
            "has_references hash_of input_hash inputs_of never_to_run next_layer replanned "
            "require_sound stops_run with_inputs written",
            "plan_file": "PLAN_LIMITS inputs_from plan_schema read_plan",
            "plan_text": "PlanEnergy PlanText energy_of_plan picture told_plan",
            "proposals": "ProposedPlans",
            "single_task": "TaskResult",
            "sqlite_file": "DATABASE JournalDamaged SCHEMA_VERSION",
            "sqlite_journal": "SqliteJournal",
            "tasks": "CodeExecutionTask DecisionTask McpToolTask Narrower Task may_repeat",
            "workflows": "Result WORKSPACE Workflows new_id",
        },
    )
