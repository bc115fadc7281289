"""What a home holds, as facts for pages and tables: energy, audit, runs, neurons, questions, workflows. Reads only."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .audit_index import AuditIndex, searched_text
    from .audit_view import AuditRow, audit_row, call_of, without_finished
    from .energy_course import EnergyView, Point, Spent, course, energy_view, expected, level_of
    from .neuron_view import (
        ActivityPart,
        HomeNeurons,
        NeuronPage,
        NeuronSeen,
        NeuronsView,
        activity_parts,
        counters_of,
        neurons_in_order,
        rights_of,
    )
    from .question_view import QuestionSeen, hash_of_all, lines_of_all, question_seen, questions_of, together_with
    from .run_view import HomeRuns, KeptRun, RunLog, RunSpan, RunsView, RunView, interleaved, logs_of, run_row, spans_of
    from .running_view import running_now
    from .workflow_view import HomeWorkflows, WorkflowTask, WorkflowView
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "audit_index": "AuditIndex searched_text",
            "audit_view": "AuditRow audit_row call_of without_finished",
            "energy_course": "EnergyView Point Spent course energy_view expected level_of",
            "neuron_view": (
                "ActivityPart HomeNeurons NeuronPage NeuronSeen NeuronsView activity_parts counters_of "
                "neurons_in_order rights_of"
            ),
            "question_view": "QuestionSeen hash_of_all lines_of_all question_seen questions_of together_with",
            "run_view": "HomeRuns KeptRun RunLog RunSpan RunView RunsView interleaved logs_of run_row spans_of",
            "running_view": "running_now",
            "workflow_view": "HomeWorkflows WorkflowTask WorkflowView",
        },
    )
