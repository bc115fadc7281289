"""The metrics of a home: name, type, labels, and what each one says. Pure data.

Names and labels are only added, never changed: dashboards and alerts of the owner hold them. A label never carries what
an agent or a server can choose freely: no purpose, code hash, turn, host or name of a tool.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from sandbox import ErrorType

MetricType = Literal["counter", "gauge", "histogram"]

OTHER = "other"
MAX_SERVERS = 50
"""Servers that have series of their own; the calls of the rest count as `other`."""
MAX_NEURONS = 50

NO_TIER = "none"
"""Of a request that could not be read that far."""
TIERS = ("isolated", "network", NO_TIER)
OUTCOMES = ("ok", "cached", "error", "timeout", "blocked", "denied", "killed", "cancelled")
CALL_OUTCOMES = ("ok", "error", "denied", "timeout", "cancelled")
ORIGINS = ("isolated", "network", "neuron", OTHER)
ERROR_TYPES = (*map(str, ErrorType), "EXECUTION_BLOCKED", "EXECUTION_DENIED", "HOST_FAILED", "CANCELLED", OTHER)

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_BYTES = tuple(mib * 1_048_576 for mib in (16, 32, 64, 128, 256, 512, 1_024, 2_048))
_FEW = (0, 1, 2, 5, 10, 25, 50, 100)


class Metric(NamedTuple):
    """One metric as it is exposed."""

    name: str
    type: MetricType
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    """The upper ends of the buckets of a histogram."""


EXECUTIONS = Metric(
    "cortex_code_executions_total",
    "counter",
    "Requests to run code, by how they ended; also those that were refused (code_execution_total)",
    ("tier", "outcome"),
)
DURATION = Metric(
    "cortex_code_execution_duration_seconds",
    "histogram",
    "The whole of a run with its wait for a process; not of results from the cache (code_execution_duration_ms)",
    ("tier",),
    _SECONDS,
)
ERRORS = Metric(
    "cortex_code_execution_errors_total",
    "counter",
    "Requests to run code that had no result, by the kind of failure (code_execution_errors_total)",
    ("error_type",),
)
MEMORY = Metric(
    "cortex_sandbox_memory_bytes",
    "histogram",
    "The most memory that the process of a run had (sandbox_memory_mb)",
    ("tier",),
    _BYTES,
)
LENT = Metric(
    "cortex_tools_injected",
    "histogram",
    "Tools that were lent to a run (tools_injected_count)",
    (),
    _FEW,
)
TOOL_CALLS = Metric(
    "cortex_tool_calls_total",
    "counter",
    "Calls of tools by models, code and neurons, by the first part of the name of the tool: an MCP server or a group",
    ("server", "outcome"),
)
TOOL_DURATION = Metric(
    "cortex_tool_call_duration_seconds",
    "histogram",
    "How long tools took to answer, without the time in which the owner was asked",
    ("server",),
    _SECONDS,
)
FETCHES = Metric(
    "cortex_fetches_total",
    "counter",
    "Requests of code to the network: sent, each redirect counts; failed, the code found an error, sent or not",
    ("outcome",),
)
ANSWERS = Metric(
    "cortex_owner_answers_total",
    "counter",
    "Answers of the owner to questions whether a tool may be called",
    ("answer",),
)
ENERGY_SPENT = Metric(
    "cortex_energy_spent_total",
    "counter",
    "Energy that was spent: by runs of code of each tier, by neurons, by others; 1 is a full reserve",
    ("origin",),
)
SIGNALS = Metric(
    "cortex_neuron_signals_total",
    "counter",
    "Signals that a neuron of the owner was given; it begins anew with each version",
    ("neuron", "outcome"),
)
EMITTED = Metric(
    "cortex_neuron_emissions_total",
    "counter",
    "Signals that a neuron of the owner has emitted; it begins anew with each version",
    ("neuron",),
)
NEURONS = Metric("cortex_neurons", "gauge", "Neurons by their status", ("status",))
QUESTIONS = Metric(
    "cortex_owner_questions",
    "gauge",
    "What waits for the owner: neurons that the agent proposes, and calls that programs ask about",
    ("kind", "state"),
)
ENERGY_LEVEL = Metric("cortex_energy_level_ratio", "gauge", "The energy now, from 0 to 1")
KILLED = Metric("cortex_killed", "gauge", "1 while the kill switch is on")
AUDIT_SEQ = Metric("cortex_audit_seq", "gauge", "The number of the last record of the audit")
VERIFIED_SEQ = Metric(
    "cortex_audit_verified_seq", "gauge", "The last record up to which the chain of the audit was found whole"
)
SOURCE_UP = Metric(
    "cortex_metrics_source_up",
    "gauge",
    "0 where a part of the home could not be read, and its metrics are old",
    ("source",),
)
BUILD_INFO = Metric("cortex_build_info", "gauge", "1, with the version that made this page", ("version",))

FOLDED = (EXECUTIONS, DURATION, ERRORS, MEMORY, LENT, TOOL_CALLS, TOOL_DURATION, FETCHES, ANSWERS, ENERGY_SPENT)
"""What is summed up from the audit and the ledger."""
METRICS = (
    *FOLDED,
    *(SIGNALS, EMITTED, NEURONS, QUESTIONS, ENERGY_LEVEL, KILLED, AUDIT_SEQ, VERIFIED_SEQ, SOURCE_UP, BUILD_INFO),
)
