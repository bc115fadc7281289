"""The settings of habits, neurons and the autonomic layer. Each has a test that fails when it is unwired."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from .neuron import SIGNAL_PATTERN
from .webhook_address import webhook_problem

Positive = Annotated[int, Field(gt=0)]
NotNegative = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Span = Annotated[float, Field(gt=0, allow_inf_nan=False)]

KIB = 1024
# The document has to stay one that a person can read, and the frame that carries it small.
MAX_STATE_BYTES = 16 * KIB
MAX_AWAKE = 5
# A signature that somebody could guess the key of would prove nothing.
MIN_SECRET = 16


def _split(value: Any) -> Any:
    """An environment variable has no lists: "price_change,tick" is one."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def _none_if_empty(value: Any) -> Any:
    """An environment variable cannot say "none": an empty one does."""
    return None if value == "" else value


OrNone = BeforeValidator(_none_if_empty)


class Section(BaseModel):
    # What was wrong about a value is said without it: it may be a secret.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, hide_input_in_errors=True)


class HabitSettings(Section):
    """When scripts that come back count as a habit."""

    enabled: bool = True
    min_occurrences: Annotated[int, Field(ge=2)] = 3
    within_days: Span = 7
    similarity: Annotated[float, Field(gt=0, le=1)] = 0.8
    """From here on two scripts are the same one: 1 is the same shape, 0 nothing in common."""
    max_occurrences: Positive = 500
    """That are kept, of all scripts together; the oldest make way."""
    record: bool = True
    """Keep what recent executions were given, so that a quarantine can give it to a candidate."""
    max_recordings: Positive = 100
    max_recording_bytes: Positive = 256 * KIB
    """Of one execution; what does not fit is left out."""
    recording_days: Span = 7


class ProposalSettings(Section):
    """What the agent may propose with `core.consolidate`."""

    max_pending: Positive = 3
    """In quarantine or awaiting the owner."""
    max_per_day: Positive = 10
    rejected_days: Span = 30
    """So long is what the owner rejected not taken again, under whatever name."""
    expires_hours: Span = 168
    """So long can the owner answer."""


class QuarantineSettings(Section):
    burst: Positive = 50
    """Signals of the scenario that tries many at once."""
    max_recorded: Positive = 5
    """Of the habit's own executions that are given to the candidate."""
    timeout_ms: Positive = 60_000
    """For all scenarios together."""


class CostSettings(Section):
    """What a signal costs a neuron."""

    per_signal: Rate = 0.0002
    per_cpu_second: Rate = 0.05
    per_fetch: Rate = 0.002
    per_fetched_mib: Rate = 0.02
    per_tool_call: Rate = 0.001


class TrialSettings(Section):
    """When a trial is passed, and when it ends at once. The limits below hold for active neurons, too."""

    min_hours: Span = 24
    min_signals: Positive = 50
    max_errors: NotNegative = 5
    """Within an hour; one more disables."""
    max_error_share: Share = 0.2
    """Of all signals, once there were twenty."""
    max_over_budget: NotNegative = 3
    """Signals that cost more than the budget, within an hour; one more disables."""
    max_emitted_per_minute: Positive = 60
    max_restarts_per_hour: NotNegative = 5


class AutonomicSettings(Section):
    enabled: bool = True
    """Run the neurons in this process, unless another one on the same home does."""
    tick_s: Span = 60
    max_queued: Positive = 10_000
    """Signals that wait; when there are more, the least important make way and are counted."""
    max_queued_per_neuron: Positive = 1_000
    max_batch: Positive = 64
    """Signals that one neuron is given at once."""
    max_depth: NotNegative = 8
    """A chain of signals that is longer is stopped."""
    max_per_minute: Positive = 600
    """Of one type from one neuron; more are dropped and counted."""
    max_signal_bytes: Positive = 16 * KIB
    timeout_isolated_ms: Positive = 1_000
    """For one signal."""
    timeout_network_ms: Positive = 15_000
    """And of one that has tools."""
    max_state_bytes: Annotated[int, Field(gt=0, le=MAX_STATE_BYTES)] = MAX_STATE_BYTES
    max_emitted: Positive = 16
    """By one signal."""
    max_memory_mb: Annotated[int, Field(ge=64)] = 256
    rest_below: Share = 0.15
    """Below this level neurons rest, those of the lowest priority first."""
    save_s: Span = 1
    """So long may state and counters lag behind on disk."""


class OwnerSettings(Section):
    """How the owner is told of a proposal."""

    console: bool = True
    webhook_url: Annotated[SecretStr | None, OrNone] = None
    """https, or http on this machine. A secret, because those of some services carry their key in the path."""
    webhook_secret: Annotated[SecretStr | None, OrNone] = None
    """The key of the signature."""
    webhook_timeout_s: Span = 10
    """For one attempt."""
    webhook_attempts: Annotated[int, Field(gt=0, le=10)] = 4

    @model_validator(mode="after")
    def _signed_and_sealed(self) -> Self:
        if self.webhook_url is None:
            return self
        if problem := webhook_problem(self.webhook_url.get_secret_value()):
            raise ValueError(f'"webhook_url" {problem}')
        if self.webhook_secret is None:
            raise ValueError('"webhook_url" needs a "webhook_secret": what it is sent is signed')
        if len(self.webhook_secret.get_secret_value()) < MIN_SECRET:
            raise ValueError(f'"webhook_secret" has fewer than {MIN_SECRET} characters')
        return self


class NeuronSettings(Section):
    max_awake: Annotated[int, Field(ge=0, le=MAX_AWAKE)] = MAX_AWAKE
    """In trial or active."""
    wake_on: Annotated[tuple[Annotated[str, Field(pattern=SIGNAL_PATTERN)], ...], BeforeValidator(_split)] = ()
    """Signals that start a turn of the agent."""
    max_wakes_per_hour: Positive = 10
    kill_poll_ms: Annotated[int, Field(gt=0, le=200)] = 50
    """How often a process looks whether the kill switch is on."""
    habits: HabitSettings = Field(default_factory=HabitSettings)
    proposals: ProposalSettings = Field(default_factory=ProposalSettings)
    quarantine: QuarantineSettings = Field(default_factory=QuarantineSettings)
    cost: CostSettings = Field(default_factory=CostSettings)
    trial: TrialSettings = Field(default_factory=TrialSettings)
    autonomic: AutonomicSettings = Field(default_factory=AutonomicSettings)
    owner: OwnerSettings = Field(default_factory=OwnerSettings)
