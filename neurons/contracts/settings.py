"""The settings of habits, neurons and the autonomic layer. Each setting has a test that fails when it has no effect."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from .neuron import SIGNAL_PATTERN

Positive = Annotated[int, Field(gt=0)]
NotNegative = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Span = Annotated[float, Field(gt=0, allow_inf_nan=False)]

KIB = 1024
MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
# The document must stay readable for a person, and the frame that carries the state small.
MAX_STATE_BYTES = 16 * KIB
MAX_AWAKE = 5
# A result is one line from the process, which has a limit, too.
MAX_CALL_BYTES = 1024 * KIB
# A signature with a guessable key would prove nothing.
MIN_SECRET = 16
MAX_ADDRESS = 2_048
HTTP, HTTPS = "http", "https"


def _split(value: Any) -> Any:
    """An environment variable cannot hold a list: "price_change,tick" stands for one."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def _none_if_empty(value: Any) -> Any:
    """An environment variable cannot say "none": an empty one means none."""
    return None if value == "" else value


OrNone = BeforeValidator(_none_if_empty)


class Section(BaseModel):
    # Errors do not show the value: it may be a secret.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, hide_input_in_errors=True)


class HabitSettings(Section):
    """When a repeated script counts as a habit."""

    enabled: bool = True
    min_occurrences: Annotated[int, Field(ge=2)] = 3
    within_days: Span = 7
    similarity: Annotated[float, Field(gt=0, le=1)] = 0.8
    """Proposed code with at least this similarity to rejected code counts as the same: 1 is the same shape."""
    similarity_effects: Annotated[float, Field(gt=0, le=1)] = 0.4
    """Two scripts with the same effects (tools, addresses) and at least this similarity count as the same."""
    similarity_pure: Annotated[float, Field(gt=0, le=1)] = 0.71
    """The same for scripts that reach for nothing but their input."""
    compare: bool = True
    """Run pure scripts that may be one in other styles on the same inputs, and merge those that give the same."""
    similarity_compared: Annotated[float, Field(gt=0, le=1)] = 0.3
    """Two pure scripts with at least this similarity are run side by side."""
    compared_per_hour: Positive = 60
    """Pairs of scripts, in all programs of a home together; each pair once."""
    max_occurrences: Positive = 500
    """Occurrences kept, of all scripts together; the oldest make way."""
    record: bool = True
    """Record the input of recent executions, so that quarantine can replay it to a candidate."""
    max_recordings: Positive = 100
    max_recording_bytes: Positive = 256 * KIB
    """Per execution; parts that do not fit are left out."""
    recording_days: Span = 7


class ProposalSettings(Section):
    """What the agent may propose with `core.consolidate`."""

    max_pending: Positive = 3
    """Proposals in quarantine or awaiting the owner."""
    max_per_day: Positive = 10
    max_code_bytes: Positive = 4 * KIB
    """Of the agent's code: an owner does not read more. The owner's own changes may be longer."""
    rejected_days: Span = 30
    """For this many days, what the owner rejected is not accepted again, under any name."""
    expires_hours: Span = 168
    """The owner can answer for this many hours."""


class QuarantineSettings(Section):
    burst: Positive = 50
    """Signals in the scenario that sends many at once."""
    max_recorded: Positive = 5
    """Recorded executions of the habit that are replayed to the candidate."""
    timeout_ms: Positive = 60_000
    """For all scenarios together."""
    equal_runs: Positive = 12
    """Recorded runs of the habit whose scripts the candidate is compared with."""
    equal_cases: Positive = 120
    """Inputs that both are given, at most: those of the runs, and changed ones."""
    equal_timeout_ms: Positive = 30_000
    """For the whole comparison."""


class NightlySettings(Section):
    """When what is awake is compared with new recordings of its habit."""

    enabled: bool = True
    every_hours: Span = 24


class CostSettings(Section):
    """What a signal costs a neuron."""

    per_signal: Rate = 0.0002
    per_cpu_second: Rate = 0.05
    per_fetch: Rate = 0.002
    per_fetched_mib: Rate = 0.02
    per_tool_call: Rate = 0.001


class TrialSettings(Section):
    """When a trial is passed, and when it ends at once. The limits below also hold for active neurons."""

    min_hours: Span = 24
    min_signals: Positive = 50
    max_errors: NotNegative = 5
    """Within an hour; one more disables the neuron."""
    max_error_share: Share = 0.2
    """Of all signals, once there were at least twenty."""
    max_over_budget: NotNegative = 3
    """Signals that cost more than the budget, within an hour; one more disables the neuron."""
    max_emitted_per_minute: Positive = 60
    max_restarts_per_hour: NotNegative = 5


class AutonomicSettings(Section):
    enabled: bool = True
    """Run the neurons in this process, unless another one on the same home does."""
    tick_s: Span = 60
    max_queued: Positive = 10_000
    """Signals that wait; beyond that, the least important are dropped and counted."""
    max_queued_per_neuron: Positive = 1_000
    max_batch: Positive = 64
    """Signals that one neuron is given at once, at most."""
    max_depth: NotNegative = 8
    """A longer chain of signals that answer signals is stopped."""
    max_per_minute: Positive = 600
    """Signals of one type from one neuron; more are dropped and counted."""
    max_signal_bytes: Positive = 16 * KIB
    timeout_isolated_ms: Positive = 1_000
    """For one signal of an isolated neuron without tools."""
    timeout_network_ms: Positive = 15_000
    """For one signal of a neuron in the network tier, or with tools."""
    max_state_bytes: Annotated[int, Field(gt=0, le=MAX_STATE_BYTES)] = MAX_STATE_BYTES
    max_emitted: Positive = 16
    """Signals emitted in answer to one signal, at most."""
    max_memory_mb: Annotated[int, Field(ge=64)] = 256
    rest_below: Share = 0.15
    """Below this level of energy neurons rest, the least important first."""
    save_s: Span = 1
    """State and counters on disk may lag behind by at most this long."""


class FunctionSettings(Section):
    """How learned functions are called."""

    max_processes: Positive = 4
    """Functions that keep a process at the same time, in one program; the one that was not called for longest makes
    way."""
    idle_s: Span = 60
    """A function that was not called for this long gives its process back."""
    max_bytes: Annotated[int, Field(gt=0, le=MAX_CALL_BYTES)] = 256 * KIB
    """For the arguments of one call, and for its result."""
    max_waiting: Positive = 64
    """Calls of one function that wait for each other; one more is refused."""


class OwnerSettings(Section):
    """How the owner is told of a proposal, and of what neurons emit."""

    console: bool = True
    desktop: bool = True
    """By the desktop's own command, where there is one."""
    webhook_url: Annotated[SecretStr | None, OrNone] = None
    """https, or http on this machine. A secret, because some services put their key in the path."""
    webhook_secret: Annotated[SecretStr | None, OrNone] = None
    """The key that signs what is sent."""
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
    """Neurons in trial or active, at most."""
    max_functions: Annotated[int, Field(ge=0, le=100)] = 32
    """Learned functions in trial or active, at most. None of them keeps a process while it is not called."""
    wake_on: Annotated[tuple[Annotated[str, Field(pattern=SIGNAL_PATTERN)], ...], BeforeValidator(_split)] = ()
    """Signals that start a turn of the agent."""
    max_wakes_per_hour: Positive = 10
    max_answers_per_day: Annotated[int, Field(gt=0, le=1_000)] = 200
    """What all neurons together say in the chat."""
    kill_poll_ms: Annotated[int, Field(gt=0, le=200)] = 50
    """How often a process checks the kill switch."""
    habits: HabitSettings = Field(default_factory=HabitSettings)
    proposals: ProposalSettings = Field(default_factory=ProposalSettings)
    quarantine: QuarantineSettings = Field(default_factory=QuarantineSettings)
    nightly: NightlySettings = Field(default_factory=NightlySettings)
    cost: CostSettings = Field(default_factory=CostSettings)
    trial: TrialSettings = Field(default_factory=TrialSettings)
    autonomic: AutonomicSettings = Field(default_factory=AutonomicSettings)
    functions: FunctionSettings = Field(default_factory=FunctionSettings)
    owner: OwnerSettings = Field(default_factory=OwnerSettings)


def webhook_problem(url: str) -> str | None:
    """Why this address cannot be used, as the end of a sentence; None if it can. Does not repeat the address, which may
    be secret."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "is not an address"
    if len(url) > MAX_ADDRESS or not url.isascii() or any(character <= " " or character == "\x7f" for character in url):
        return "is not an address"
    if parts.scheme not in {HTTP, HTTPS} or not host or port == 0 or "\\" in url:
        return "is not an address that begins with https://"
    if "@" in parts.netloc:
        return "has a user or a password in it: requests are signed instead"
    if parts.scheme == HTTP and not is_local_name(host):
        return "begins with http:// and is not on this machine: use https://"
    return None


def is_local_name(host: str) -> bool:
    """Whether the host name means this machine. What the name resolves to must be checked again when connecting."""
    name = host.lower().rstrip(".")
    return name == "localhost" or name.endswith(".localhost") or is_loopback(host)


def is_loopback(address: str) -> bool:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback
