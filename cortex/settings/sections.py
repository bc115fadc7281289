"""The settings of the cortex, one model for each section. Plain data: nothing here reads a file or the environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

Positive = Annotated[int, Field(gt=0)]
NotNegative = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Policy = Literal["allow", "ask", "deny"]


def _none_if_empty(value: Any) -> Any:
    """An environment variable cannot say "none": an empty one means none."""
    return None if value == "" else value


def _address(value: str | None) -> str | None:
    if value is not None and not re.match(r"https?://[^/\s]", value):
        raise ValueError("it is not an address that begins with http:// or https://")
    return value


OrNone = BeforeValidator(_none_if_empty)


def _by_name(value: Any) -> Any:
    """Parse policies from an environment variable: "shop.stock=allow,shop.order=ask". In TOML a dotted name without
    quotes makes nested tables, and means the same as with quotes."""
    if isinstance(value, str):
        pairs = [pair.strip().rpartition("=") for pair in value.split(",") if pair.strip()]
        for name, _, policy in pairs:
            if not name.strip():
                raise ValueError(f'"{policy[:100]}" is not of the form name=policy')
        return {name.strip(): policy.strip() for name, _, policy in pairs}
    return dict(_dotted(value)) if isinstance(value, Mapping) else value


def _dotted(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


Policies = Annotated[dict[str, Policy], BeforeValidator(_by_name)]
ErrorDetail = Literal["class", "message"]
ErrorDetails = Annotated[dict[str, ErrorDetail], BeforeValidator(_by_name)]


class Section(BaseModel):
    # Deferred: all sections are built once, as parts of Settings, because every command pays for it.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class MeteredSettings(Section):
    """The cost of a run when it is measured. If off, each run costs what its tier costs."""

    enabled: bool = False
    floor: Share = 0.01
    """The minimum cost of a run."""
    ceiling: Share = 0.25
    """The maximum cost of a run."""
    per_cpu_second: Rate = 0.05
    per_peak_gib: Rate = 0.04
    """Per GiB of peak memory."""
    per_fetched_mib: Rate = 0.02
    per_tool_call: Rate = 0.001

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.floor > self.ceiling:
            raise ValueError(f'"floor" ({self.floor:g}) is above "ceiling" ({self.ceiling:g})')
        return self


class EnergySettings(Section):
    initial_level: Share = 1.0
    """The level of a new home."""
    recharge_per_minute: Rate = 0.3
    cost_isolated: Share = 0.05
    cost_network: Share = 0.15
    floor_isolated: Share = 0.15
    """Below this level the tier is refused."""
    floor_network: Share = 0.30
    metered: MeteredSettings = Field(default_factory=MeteredSettings)


class ExecuteSettings(Section):
    """Limits of `core.execute`."""

    max_calls_per_turn: NotNegative = 2
    """Up to three runs that fail without any effect are not counted."""
    min_timeout_ms: Positive = 100
    max_timeout_isolated_ms: Positive = 5_000
    """The owner may raise it. `sandbox.max_timeout_ms` cuts it."""
    max_timeout_network_ms: Positive = 30_000
    """For code in the network tier, and for code that calls tools of the host or of MCP servers."""
    guard: bool = True
    """The static check before a run. The sandbox protects without it, too."""
    later: bool = False
    """Whether the model may ask for a run as a job, which goes on after its turn."""
    max_timeout_later_ms: Positive = 600_000
    """For a job. `sandbox.max_timeout_ms` cuts it."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for name in ("max_timeout_isolated_ms", "max_timeout_network_ms", "max_timeout_later_ms"):
            if self.min_timeout_ms > getattr(self, name):
                raise ValueError(f'"min_timeout_ms" ({self.min_timeout_ms}) is above "{name}" ({getattr(self, name)})')
        return self

    def within(self, most_ms: int) -> Self:
        """The limits as they really are where the sandbox ends every run after `most_ms`."""
        names = ("min_timeout_ms", "max_timeout_isolated_ms", "max_timeout_network_ms", "max_timeout_later_ms")
        cut = {name: most_ms for name in names if getattr(self, name) > most_ms}
        return self.model_copy(update=cut) if cut else self


class ToolSettings(Section):
    """The tools of the toolbox."""

    policies: Policies = Field(default_factory=dict)
    """By tool name; these override what the tool was registered with."""
    owner_timeout_s: Seconds = 120
    """How long the owner has to answer; after that the answer is no."""
    max_questions_per_turn: NotNegative = 5
    """Further questions are refused without asking."""
    call_timeout_ms: Positive = 30_000
    """For a tool that the model calls. The sandbox has its own timeout for tools that code calls."""
    max_result_bytes: Positive = 32_768
    """A longer result of a tool that the model calls is cut, and its size is mentioned."""
    error_detail: ErrorDetail = "class"
    """What the model and its code are told of an exception of a tool: its class, or its message too, redacted."""
    error_details: ErrorDetails = Field(default_factory=dict)
    """The same by tool name; these override `error_detail`."""


class InboxSettings(Section):
    """Questions to the owner as documents of the home, which can be answered from any shell."""

    enabled: bool = True
    unattended: bool = False
    """Whether a program without a terminal waits for an answer in the inbox; if not, what needs consent is refused at
    once there."""
    max_open: Annotated[int, Field(gt=0, le=1_000)] = 100
    """Questions of all programs that are open at the same time; further ones are asked only where the program runs."""
    webhook: bool = False
    """Whether questions are also sent to `neurons.owner.webhook_url`, whose signed answers count."""
    webhook_poll_s: Seconds = 5
    """So long after one request the next one asks whether there is an answer by now."""
    max_together: Annotated[int, Field(gt=0, le=1_000)] = 50
    """Calls of one tool by one run that wait at the same time and count as one question; 1 counts each."""


class LoopSettings(Section):
    """One turn: from a message of the user to the agent's last word on it."""

    instructions: str | None = None
    """The system instructions; None means the text that comes with the program."""
    max_rounds: Positive = 12
    """Replies of the model, at most."""
    max_tool_calls: Positive = 24
    max_turn_s: Seconds = 300
    max_turn_tokens: Positive = 200_000
    """Input and output tokens of all replies together."""
    max_history_bytes: Positive = 200_000
    """Size of the earlier turns that the model sees; the oldest are left out first."""
    max_memories: NotNegative = 20
    """Memories that the model sees, at most."""


class ModelSettings(Section):
    """The language model: any endpoint with OpenAI's API."""

    name: Annotated[str | None, OrNone] = None
    base_url: Annotated[str | None, OrNone, AfterValidator(_address)] = None
    """None means OpenAI itself."""
    api_key: Annotated[SecretStr | None, OrNone] = None
    temperature: Annotated[Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None, OrNone] = None
    max_reply_tokens: Annotated[Positive | None, OrNone] = None
    stream: bool = True
    connect_timeout_s: Seconds = 10
    stall_timeout_s: Seconds = 60
    """The longest wait between one piece of a reply and the next."""
    reply_timeout_s: Seconds = 180
    """For one whole reply."""
    max_attempts: Positive = 4
    max_wait_s: Seconds = 30
    """The longest wait between two attempts. If an endpoint asks for a longer one, the request fails at once."""
    max_reply_bytes: Positive = 1_048_576
    images: bool = False
    """The model takes pictures: those that code displays are sent to it. Otherwise it is told of them in words."""


class AuditSettings(Section):
    keep_code: bool = True
    """Keep the code itself, too, in a folder by its hash; the log has only the hash."""
    flush_ms: Positive = 50
    """The disk may lag behind by this much. A written line survives the end of the process at once, and a power cut
    after this."""


class ServeSettings(Section):
    """`cortex mcp serve`: the cortex as an MCP server over HTTP."""

    token: Annotated[SecretStr | None, OrNone] = None
    """The token that clients send as `Authorization: Bearer …`; None makes one that is valid until the server stops."""
    hosts: tuple[str, ...] = ()
    """Host names that a request may use for this server, besides those of the loopback."""
    origins: tuple[str, ...] = ()
    """Origins of web pages that may call it; none by default."""
    roots: tuple[str, ...] = ()
    """Folders in which a root of a client may lie, to be the workspace of its calls; none by default."""
    workflows: bool = False
    """Whether clients may start plans. Each needs the owner's consent, unless the policy of `core.plan` is allow."""
    functions: bool = False
    """Whether each learned function that the owner has approved is a tool for clients."""


class ConsoleSettings(Section):
    """`cortex console`: the owner's pages in a browser on this machine."""

    port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """0 takes any free port. The address is never one that other machines reach."""
    metrics: bool = False
    """Serve `/metrics` for Prometheus, to whoever shows the token of `cortex console token`."""


class TelemetrySettings(Section):
    """Spans of OpenTelemetry, where the program has configured an SDK of it."""

    traces: bool = True
    """False: no spans, whatever the program has configured."""
    content: bool = False
    """Also code, arguments and replies, without secrets, up to 4 KiB each."""
    neuron_every: NotNegative = 100
    """Of the deliveries of signals to neurons, the first and then each one in this many is a span; 0 for none."""


class McpSettings(Section):
    """Limits for all MCP servers whose tools the agent may use. The servers themselves are in `mcpServers`."""

    start_timeout_ms: Positive = 30_000
    """For a server to start and list its tools. A server started by a package manager is slow the first time."""
    call_timeout_ms: Positive = 30_000
    max_calls_per_minute: Positive = 300
    """Calls to one server from this whole process; more are refused."""
    max_tools: Positive = 2_000
    """Tools of one server; more are left out."""
    max_result_bytes: Positive = 8_388_608
    """A longer result is refused."""
    restart_s: Seconds = 1
    """A server is restarted this long after a crash, and twice as long after each further one."""
    max_restart_s: Seconds = 60
    serve: ServeSettings = Field(default_factory=ServeSettings)


class DiscoverySettings(Section):
    """How tools are found by their purpose."""

    tools_per_intent: Positive = 5
    """At most this many matching tools are lent to a run that gives an intent."""
    max_results: Positive = 10
    """Results of `core.search`, at most."""
    max_listed: NotNegative = 8
    """At most this many tools of the toolbox are described to the model in full; if there are more, it searches for
    them."""
    semantic: Literal["off", "onnx", "endpoint"] = "off"
    """Search by meaning, too: with a model on this machine, or with the endpoint of `model`."""
    model: Annotated[str | None, OrNone] = None
    """For "onnx": the path of a folder with an ONNX model. For "endpoint": the name of its embedding model."""


RedactedKind = Literal["email", "phone", "ssn", "card", "iban", "ip", "jwt", "api_key", "private_key", "secret"]


class RedactionSettings(Section):
    """What is replaced by tokens like `[EMAIL_1]` in everything that goes to the model and into logs."""

    enabled: bool = True
    kinds: tuple[RedactedKind, ...] = get_args(RedactedKind)
    restore: bool = False
    """Replace a token by its value when the model uses it in an argument of a tool."""


class CacheSettings(Section):
    """The cache of results, for code that always gives the same result."""

    enabled: bool = True
    max_bytes: Positive = 67_108_864
    max_age_s: Seconds = 86_400
    hit_cost: Share = 0.002
    """The energy for a cached result."""


class StoreSettings(Section):
    """`store` in the sandbox: JSON values that the code of one conversation keeps from run to run."""

    max_bytes: Annotated[int, Field(gt=0, le=2_097_152)] = 262_144
    """Keys and values of one conversation together."""
    max_keys: Annotated[int, Field(gt=0, le=10_000)] = 100
    max_age_s: Seconds = 2_592_000
    """Kept for this long after the last run that changed it."""
    max_conversations: Positive = 200
    """The stores that were changed longest ago make way."""


class RunsSettings(Section):
    """What is kept of each run for the owner, in the folder `runs` of the home."""

    keep: Literal["off", "facts", "texts"] = "texts"
    """`texts`: also replies, logs, errors, and what is needed to run the code again, without secrets."""
    days: Positive = 7
    max_mb: Positive = 64
    """The oldest make way."""
    max_text_bytes: Annotated[int, Field(gt=0, le=262_144)] = 32_768
    """Of a reply; half as much of the logs of a run, and an eighth of an error."""
    max_calls: Annotated[NotNegative, Field(le=1_000)] = 200
    """Calls of tools and, apart from them, requests of one run. The others are counted."""
    keep_arguments: bool = False
    """Also the arguments and results of calls, the first KiB of each. Only with `texts`."""


class WorkflowSettings(Section):
    """Plans of tool calls, code and questions."""

    plan: bool = False
    """Whether the model is told of `core.plan`, with which it proposes plans: that takes 170 tokens of each request.
    `tools.policies` says who decides about plans, told of or not: the owner, unless it says `allow` or `deny`."""
