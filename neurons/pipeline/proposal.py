"""Checks the arguments of a proposal: the agent wrote every text in it, and the owner will read them to decide.

A name must not be one of the cortex's own, and must not look like another.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from sandbox import HostRule, Tier

from ..contracts import (
    BUILT_IN,
    MAX_HOSTS,
    MAX_PURPOSE,
    MAX_SCHEDULES,
    MAX_SIGNALS,
    MAX_TOOLS,
    NAME_PATTERN,
    SCHEDULE,
    Emission,
    Kind,
    Part,
    Policy,
    Refused,
    Schedule,
    SignalType,
    schedule_of,
)
from .function_schema import Parameters, Returns

MAX_HOST = 253
MAX_TOOL = 64
# More padding than this serves only to push code off the owner's screen.
MAX_BLANKS = 200
MAX_BLANK_LINES = 30
MAX_ID = 70

# Names of parts of the cortex, folded. An owner who reads "Kill Switch wants to learn" must not have to wonder.
_RESERVED = (
    "agent all audit autonomic autonomiclayer cognition cortex guard habits heartbeat host intents killswitch memory "
    "motorcortex neuron neurons owner sandbox system"
)
_OUT_OF_REACH = "core"

# Letters that fonts draw alike.
_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l"})
_ALIKE_PAIRS = (("rn", "m"), ("vv", "w"))

_TOOL = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", re.ASCII)
_CORE = re.compile(r"core([._-]|$)", re.IGNORECASE)
_PADDING = re.compile(rf"(?<![^\S\n])[^\S\n]{{{MAX_BLANKS},}}|(?:\n[^\S\n]*){{{MAX_BLANK_LINES},}}")


def _once(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _one_line(text: str) -> str:
    text = text.strip()
    if not text:
        raise ValueError("say in a sentence what it is for")
    if not text.isprintable():
        raise ValueError("it has to be one line, without characters that do not show")
    return text


def _host(text: str) -> str:
    if not (text.isascii() and text.isprintable()) or text != text.lower() or len(text) > MAX_HOST:
        raise ValueError("write a host in small ASCII letters, like api.example.com")
    HostRule.model_validate(text)
    return text


def _tool(name: str) -> str:
    if len(name) > MAX_TOOL or not _TOOL.fullmatch(name):
        raise ValueError("a tool is named with letters, digits, _ and -, in parts joined by dots")
    if _CORE.match(name):
        raise ValueError("the tools of the cortex itself are out of reach for neurons")
    return name


def _signal(name: str) -> str:
    if name.startswith("core"):
        raise ValueError('signals that begin with "core" are out of reach')
    if name == SCHEDULE:
        raise ValueError("a schedule is not an input signal: name it in schedules, like every 15m")
    return name


def _output(name: str) -> str:
    if looks_built_in(name):
        raise ValueError("it is, or looks like, a signal of the cortex itself, which no neuron can emit")
    return name


def _seen(code: str) -> str:
    if not code.strip():
        raise ValueError("it is empty")
    try:
        code.encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half of a surrogate pair; write it as an escape") from None
    if "\0" in code:
        raise ValueError("it holds the character NUL; write it as an escape")
    if _PADDING.search(code):
        raise ValueError("it is padded with blanks; the owner must not have to search for the rest")
    return code


def _own_name(name: str) -> str:
    if name != " ".join(name.split()):
        raise ValueError("it has blanks that do not show")
    if is_reserved(name):
        raise ValueError("it is, or looks like, a name of the cortex itself; choose another one")
    return name


# Far more than any setting allows: a bound on the search for padding.
Code = Annotated[str, Field(max_length=1_000_000), AfterValidator(_seen)]
_Input = Annotated[SignalType, AfterValidator(_signal)]
_Output = Annotated[SignalType, AfterValidator(_signal), AfterValidator(_output)]


def _schedule(value: Any) -> Any:
    return schedule_of(value) if isinstance(value, str) else value


class Proposal(Part):
    """The arguments of `core.consolidate`. `Proposal.of` reads them and raises Refused with what to change."""

    name: Annotated[str, Field(pattern=NAME_PATTERN), AfterValidator(_own_name)]
    code: Code
    purpose: Annotated[str, Field(max_length=MAX_PURPOSE), AfterValidator(_one_line)]
    input_signals: Annotated[tuple[_Input, ...], Field(max_length=MAX_SIGNALS), AfterValidator(_once)] = ()
    output_signals: Annotated[tuple[_Output, ...], Field(max_length=MAX_SIGNALS), AfterValidator(_once)] = ()
    energy_budget: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False, strict=True)]
    tier: Tier = Tier.ISOLATED
    hosts: Annotated[
        tuple[Annotated[str, AfterValidator(_host)], ...], Field(max_length=MAX_HOSTS), AfterValidator(_once)
    ] = ()
    tools: Annotated[
        tuple[Annotated[str, AfterValidator(_tool)], ...], Field(max_length=MAX_TOOLS), AfterValidator(_once)
    ] = ()
    kind: Kind = "neuron"
    schedules: Annotated[
        tuple[Annotated[Schedule, BeforeValidator(_schedule)], ...], Field(max_length=MAX_SCHEDULES)
    ] = ()
    emission: Emission = Emission(action="notify")
    parameters: Parameters = None
    returns: Returns = None

    @model_validator(mode="after")
    def _hosts_need_the_tier(self) -> Proposal:
        # An owner who reads "isolated" does not look for hosts.
        if self.hosts and self.tier is not Tier.NETWORK:
            raise ValueError('hosts can be reached in the tier "network" only')
        return self

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Proposal:
        if self.kind == "neuron":
            if not self.input_signals and not self.schedules:
                raise ValueError('a neuron answers something: name inputSignals, or schedules like "every 15m"')
            if self.parameters is not None or self.returns is not None:
                raise ValueError('only a function has parameters and returns: give "kind": "function"')
            return self
        if self.input_signals or self.output_signals or self.schedules:
            raise ValueError("a function is called by code: it has no inputSignals, outputSignals or schedules")
        if self.parameters is None:
            raise ValueError("a function needs parameters: a JSON Schema of the object that it is called with")
        return self

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Proposal:
        """Parse arguments with names of either kind (`inputSignals`, `input_signals`). Raises Refused."""
        try:
            return cls.model_validate(dict(arguments))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(str(part)[:60] for part in first["loc"]) or "proposal"
            if place == "name" and first["type"] == "string_pattern_mismatch":
                raise Refused(
                    "name: it has 2 to 60 letters, digits, spaces, _ and -, and begins with a letter"
                ) from None
            raise Refused(f"{place}: {first['msg'].removeprefix('Value error, ')}") from None

    @property
    def policy(self) -> Policy:
        policy = Policy.of(self)
        # A function emits nothing: an owner who reads of an action would wait for it.
        return policy if self.kind == "neuron" else policy.model_copy(update={"emission": Emission()})


def folded(name: str) -> str:
    """The name as a person remembers it: two names that fold to the same text look the same to a person."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower()).translate(_ALIKE)
    for pair, letter in _ALIKE_PAIRS:
        plain = plain.replace(pair, letter)
    return plain


def is_reserved(name: str) -> bool:
    """Whether the name is one of the cortex's own, or could be taken for one."""
    plain = folded(name)
    # "Owner Neuron" is no better than "Owner".
    return plain.startswith(_OUT_OF_REACH) or not {plain, plain.removesuffix("neuron")}.isdisjoint(_FOLDED_RESERVED)


def looks_built_in(signal: str) -> bool:
    return folded(signal) in _FOLDED_BUILT_IN


def first_alike(name: str, others: Iterable[str]) -> str | None:
    plain = remembered(name)
    return next((other for other in others if remembered(other) == plain), None)


def remembered(name: str) -> str:
    """The folded name without the word for its kind at an end: "Echo neuron" is "Echo" to a person."""
    plain = folded(name)
    for kind in _FOLDED_KINDS:
        plain = plain.removesuffix(kind).removeprefix(kind) or plain
    return plain


def name_problem(name: str, others: Iterable[str]) -> str | None:
    """Why a proposal cannot have this name; None if it can."""
    if not re.fullmatch(NAME_PATTERN, name) or is_reserved(name):
        return "it is no name, or one of the cortex itself"
    alike = first_alike(name, others)
    return None if alike is None else f'it is too much like "{alike}"'


def free_id(name: str, taken: Container[str]) -> str:
    """A free id for the name: `crypto-price` for `CryptoPrice`, and `crypto-price-2` for the second one."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
    slug = re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:MAX_ID].rstrip("-")
    number = 2
    found = slug
    while found in taken:
        found = f"{slug}-{number}"
        number += 1
    return found


_FOLDED_KINDS = tuple(map(folded, ("neurons", "neuron", "functions", "function")))
_FOLDED_BUILT_IN = frozenset(map(folded, BUILT_IN))
_FOLDED_RESERVED = frozenset(map(folded, _RESERVED.split())) | _FOLDED_BUILT_IN
