"""A neuron as it is stored: one JSON document that a person can read. Plain data: nothing here runs or writes.

The field names are the keys of the document. Times are numbers, in seconds of the given clock; `createdAt` and
`approvedAt` are ISO texts, because people read them too.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from sandbox import Tier

from .emission import MAX_OUTBOX, LastEmission, Outgoing
from .part import Part
from .report import Report
from .schedule import MAX_SCHEDULES, Schedule

MAX_NAME = 60
MAX_PURPOSE = 500
MAX_SOURCE = 300
MAX_SIGNALS = 16
MAX_HOSTS = 16
MAX_TOOLS = 16
MAX_FOLDER = 4096
MAX_EMISSION_TEXT = 500

NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9 _-]{1,59}$"
SIGNAL_PATTERN = r"^[a-z][a-z0-9_.]{0,63}$"

SignalType = Annotated[str, Field(pattern=SIGNAL_PATTERN)]
Kind = Literal["neuron", "function"]
"""A neuron answers signals and schedules; a function is called by code, as `tools.learned.<name>`."""
Action = Literal["notify", "answer", "wake", "none"]
"""What follows when a neuron emits: the owner is told, the chat says it, a turn of the agent begins, or nothing."""
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


def storable(text: str, most: int) -> str:
    """The text as a document can hold it: at most `most` characters, lone surrogates replaced. Text from code may be
    endless."""
    return text[:most].encode("utf-8", "replace").decode()


def function_name(name: str) -> str:
    """`compoundInterest` for "CompoundInterest", "Compound interest" and "compound_interest"."""
    first, *rest = [word for word in re.split(r"[^A-Za-z0-9]+", name) if word] or ["function"]
    # Capitals that begin a name and belong together go down together: "HTTPStatus" is httpStatus.
    start = re.match(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]+(?![a-z])|[A-Z]", first)
    low = first if start is None else first[: start.end()].lower() + first[start.end() :]
    return low + "".join(word[0].upper() + word[1:] for word in rest)


class Status(StrEnum):
    QUARANTINE = "quarantine"
    AWAITING_OWNER = "awaiting_owner"
    TRIAL = "trial"
    ACTIVE = "active"
    DISABLED = "disabled"


AWAKE = frozenset({Status.TRIAL, Status.ACTIVE})


class Emission(Part):
    """What an emission of a neuron does, for a person or the model. Other neurons hear it in any case."""

    action: Action = "none"
    """Documents from before there were actions have none, and do what they did."""
    text: Annotated[str, Field(max_length=MAX_EMISSION_TEXT)] = ""
    """The sentence that is told, said or given to the model, with {fields} of the data; empty for the data itself."""


class Policy(Part):
    """What a neuron may do. An approval covers exactly this policy and the code."""

    tier: Tier = Tier.ISOLATED
    hosts: Annotated[tuple[str, ...], Field(max_length=MAX_HOSTS)] = ()
    tools: Annotated[tuple[str, ...], Field(max_length=MAX_TOOLS)] = ()
    input_signals: Annotated[tuple[SignalType, ...], Field(max_length=MAX_SIGNALS)] = ()
    output_signals: Annotated[tuple[SignalType, ...], Field(max_length=MAX_SIGNALS)] = ()
    energy_budget: Share
    """Energy for one signal, or for one call of a function."""
    kind: Kind = "neuron"
    schedules: Annotated[tuple[Schedule, ...], Field(max_length=MAX_SCHEDULES)] = ()
    emission: Emission = Emission.model_construct()
    parameters: dict[str, Any] | None = None
    """The JSON Schema of a function's arguments: one object."""
    returns: dict[str, Any] | None = None
    """The JSON Schema of a function's result; None when nothing is said about it."""

    @classmethod
    def of(cls, part: Part) -> Policy:
        """Build the policy from the fields of the same names in another part of the document."""
        return cls(**{name: getattr(part, name) for name in cls.model_fields})


class Metadata(Part):
    author: Literal["agent", "owner"] = "agent"
    """The author of this version's code."""
    created_at: str
    code_hash: str
    """SHA-256 of the code in UTF-8, in hexadecimal."""
    purpose: Annotated[str, Field(max_length=MAX_PURPOSE)]
    habit: str | None = None
    """The id of the habit that it came from."""
    source: Annotated[str, Field(max_length=MAX_SOURCE)] = ""
    """Where it was imported from; empty for what the agent proposed."""
    is_habit_named: bool = False
    """The agent said so; else the habit was guessed, by a host or tool that both use."""
    shape: str = ""
    """The shape from the code's fingerprint, if one was taken: finds rejected code that comes back with other names or
    spacing."""
    approved_by: Literal["owner"] | None = None
    approved_at: str | None = None


class Version(Part):
    """A version of the code with its policy. Versions are never deleted."""

    version: Annotated[int, Field(ge=1)]
    code: str
    code_hash: str
    policy: Policy
    policy_hash: str
    created_at: str
    author: Literal["agent", "owner"] = "agent"
    shape: str = ""
    """The shape from the code's fingerprint, if one was taken."""
    sketch: str = ""
    """The parts of that fingerprint: finds rejected code that comes back with an extra line."""


class StatusChange(Part):
    at: float
    before: Status | None
    after: Status
    event: str
    by: str
    """"agent", "owner" or "cortex"."""
    reason: str = ""
    version: int
    code_hash: str


class Request(Part):
    """An open question to the owner. It can be answered once, and it expires."""

    nonce: str
    code_hash: str
    policy_hash: str
    shown_hash: str
    """The hash that the owner is shown and repeats the beginning of: it covers code, policy and nonce."""
    asked_at: float
    expires_at: float


class FileGrant(Part):
    """A folder that the owner lets a neuron use. It lives with one approval, and only while the neuron is awake."""

    folder: Annotated[str, Field(max_length=MAX_FOLDER)]
    """An absolute path, without links."""
    write: bool = False
    """Whether its changes are committed; else it can only read."""

    @field_validator("folder")
    @classmethod
    def _is_path(cls, folder: str) -> str:
        if not os.path.isabs(folder) or "\0" in folder or os.path.normpath(folder) != folder:
            raise ValueError("a folder is granted by its absolute path")
        return folder


class Approval(Part):
    """The owner's consent to exactly this code with exactly this policy."""

    nonce: str
    code_hash: str
    policy_hash: str
    by: str
    at: float
    files: FileGrant | None = None
    """The folder that came with the consent."""
    signature: str
    """HMAC over all fields above and the neuron's id, with the key of the home: a document edited by hand has no valid
    one."""


class Counters(Part):
    """What a neuron has done since it was approved. The counters survive restarts."""

    signals: int = 0
    """Signals that it was given, and answered or failed."""
    errors: int = 0
    emitted: int = 0
    energy: float = 0.0
    restarts: int = 0
    cpu_ms: float = 0.0
    last_error: str = ""
    last_signal_at: float | None = None


class Watch(Part):
    """What went wrong lately, counted in time steps. Stored in the document, so that a restart does not clear it."""

    hour: tuple[tuple[int, int, int, int], ...] = ()
    """One entry for each minute in which something went wrong: start, errors, signals over budget, restarts."""
    minute: tuple[tuple[int, int], ...] = ()
    """One entry for each five seconds in which signals were emitted: start, number of signals."""


class Trial(Part):
    started_at: float
    ends_at: float
    """The trial does not end before this time."""
    min_signals: int
    counters: Counters = Field(default_factory=Counters)
    awake_s: float = 0.0
    """How long it was loaded and running: while no program runs neurons, nothing is tried."""
    hours: tuple[int, ...] = ()
    """The hours in which it was given signals, counted from 1970; no more of them than it needs."""
    seal: str = ""
    """HMAC over what was counted, with the key of the home; empty while nothing is."""


class Neuron(Part):
    """The document `neurons/<id>`."""

    format: Literal[1] = 1
    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")]
    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    code: str
    input_signals: Annotated[tuple[SignalType, ...], Field(max_length=MAX_SIGNALS)] = ()
    output_signals: Annotated[tuple[SignalType, ...], Field(max_length=MAX_SIGNALS)] = ()
    energy_budget: Share
    tier: Tier = Tier.ISOLATED
    hosts: Annotated[tuple[str, ...], Field(max_length=MAX_HOSTS)] = ()
    tools: Annotated[tuple[str, ...], Field(max_length=MAX_TOOLS)] = ()
    kind: Kind = "neuron"
    schedules: Annotated[tuple[Schedule, ...], Field(max_length=MAX_SCHEDULES)] = ()
    emission: Emission = Emission.model_construct()
    parameters: dict[str, Any] | None = None
    returns: dict[str, Any] | None = None
    metadata: Metadata
    status: Status
    reason: str = ""
    """Why it is disabled."""
    version: Annotated[int, Field(ge=1)] = 1
    state: dict[str, Any] = Field(default_factory=dict)
    """What its code keeps from one signal to the next."""
    outbox: Annotated[tuple[Outgoing, ...], Field(max_length=MAX_OUTBOX)] = ()
    """What it has emitted and nobody was told yet: written together with the state that came of it."""
    last_emission: LastEmission | None = None
    report: Report | None = None
    request: Request | None = None
    approvals: tuple[Approval, ...] = ()
    trial: Trial | None = None
    counters: Counters = Field(default_factory=Counters)
    """Counts since it became active."""
    watch: Watch = Field(default_factory=Watch)
    versions: tuple[Version, ...] = ()
    history: tuple[StatusChange, ...] = ()
    seal: str = ""
    """HMAC over the status and what the owner is shown, with the key of the home: only the cortex can set either."""

    @property
    def policy(self) -> Policy:
        return Policy.of(self)

    @property
    def is_function(self) -> bool:
        return self.kind == "function"

    @property
    def function_name(self) -> str:
        """The name that code calls a function by, behind `tools.learned.`."""
        return function_name(self.name)

    @property
    def is_awake(self) -> bool:
        return self.status in AWAKE
