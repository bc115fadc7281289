"""The settings of the cortex, one model for each section. Plain data: nothing here reads a file or the environment."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

Positive = Annotated[int, Field(gt=0)]
NotNegative = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Policy = Literal["allow", "ask", "deny"]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MeteredSettings(Section):
    """What a run costs when it is measured. Off: each run costs what its tier costs."""

    enabled: bool = False
    floor: Share = 0.01
    """No run costs less."""
    ceiling: Share = 0.25
    """And none more."""
    per_cpu_second: Rate = 0.05
    per_peak_gib: Rate = 0.04
    """Of memory, at its highest."""
    per_fetched_mib: Rate = 0.02
    per_tool_call: Rate = 0.001


class EnergySettings(Section):
    initial_level: Share = 1.0
    """Of a home that has never spent any."""
    recharge_per_minute: Rate = 0.05
    cost_isolated: Share = 0.05
    cost_network: Share = 0.15
    floor_isolated: Share = 0.15
    """Below this level the tier is refused."""
    floor_network: Share = 0.30
    metered: MeteredSettings = Field(default_factory=MeteredSettings)


class ExecuteSettings(Section):
    """`core.execute`."""

    max_calls_per_turn: NotNegative = 2
    min_timeout_ms: Positive = 100
    max_timeout_isolated_ms: Positive = 5_000
    max_timeout_network_ms: Positive = 30_000
    guard: bool = True
    """The static check before a run. It is a smoke detector, and the wall holds without it."""


class ToolSettings(Section):
    """The tools of the toolbox."""

    policies: dict[str, Policy] = Field(default_factory=dict)
    """By name; these beat what the tool was registered with."""
    owner_timeout_s: Seconds = 120
    """How long the owner has to answer before it counts as no."""
    max_questions_per_turn: NotNegative = 5
    """More are refused without asking."""
    call_timeout_ms: Positive = 30_000
    """Of a tool that the model calls. The sandbox has its own for the tools that code calls."""
    max_result_bytes: Positive = 32_768
    """A longer result of a tool that the model calls is cut, and its size is said."""


class LoopSettings(Section):
    """One turn: from a message of the user to the agent's last word on it."""

    instructions: str | None = None
    """What the model is told first; None takes the text that comes with the program."""
    max_rounds: Positive = 12
    """Replies of the model."""
    max_tool_calls: Positive = 24
    max_turn_s: Seconds = 300
    max_turn_tokens: Positive = 200_000
    """Of all replies together, input and output."""
    max_history_bytes: Positive = 200_000
    """Of earlier turns that the model sees; the oldest are left out first."""
    max_memories: NotNegative = 20
    """Of what it remembered that it sees."""


class ModelSettings(Section):
    """The language model: any endpoint that speaks like OpenAI's."""

    name: str | None = None
    base_url: str | None = None
    """None is OpenAI itself."""
    api_key: SecretStr | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_reply_tokens: Positive | None = None
    stream: bool = True
    connect_timeout_s: Seconds = 10
    stall_timeout_s: Seconds = 60
    """Between one piece of a reply and the next."""
    reply_timeout_s: Seconds = 180
    """Of one whole reply."""
    max_attempts: Positive = 4
    max_wait_s: Seconds = 30
    """Between two attempts, whatever the server asks for."""
    max_reply_bytes: Positive = 1_048_576


class AuditSettings(Section):
    keep_code: bool = True
    """Also the code itself, in a folder by its hash; the log has only the hash."""
    flush_ms: Positive = 50
    """So long may the disk lag behind. What is written survives the end of the process at once, and a power cut after
    this."""
