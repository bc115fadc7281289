"""A yes of the owner that holds for more than one call: for which tool, arguments, scope, time and number. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import to_json

from .asked_question import Fact, Hash, Name, Time, Whole

if TYPE_CHECKING:
    from cortex.tools import Question
    from neurons import PurposeKey

Scope = Literal["run", "conversation", "always"]
MAX_MATCHED = 4_096
"""A longer argument matches no pattern."""
ANY = "*"

_Pattern = Annotated[str, Field(max_length=500)]


class StandingGrant(Fact):
    """What the owner has granted. An argument has to be the one of the question, or to match its pattern; an argument
    that the question did not have is not covered."""

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    tool: Name
    policy_hash: Hash
    """Of what decided about the tool. When that changes, the grant is void."""
    any_arguments: bool = False
    matching: dict[str, _Pattern] = Field(default_factory=dict, max_length=50)
    same: dict[str, Hash] = Field(default_factory=dict, max_length=50)
    """The marks of the arguments that have to be the same."""
    shown: Annotated[str, Field(max_length=500)] = ""
    """The arguments of the question, without secrets."""
    scope: Scope
    turn: Name = ""
    run: Whole | None = None
    conversation: Name = ""
    until: Time
    times: Annotated[int, Field(gt=0, lt=2**31)] | None = None
    question: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    shown_hash: Hash
    by: Name
    at: Time

    def covers(self, question: Question, marks: Mapping[str, str], now: float) -> bool:
        return (
            self.tool == question.tool
            and self.policy_hash == question.policy_hash
            and now < self.until
            and self._is_within(question)
            and (self.any_arguments or self._fits(question.arguments, marks))
        )

    def _is_within(self, question: Question) -> bool:
        match self.scope:
            case "run":
                # All calls of the program itself have one name of a turn, and belong to no run.
                is_run = bool(self.turn) and question.origin != "host"
                return is_run and (self.turn, self.run) == (question.turn, question.run)
            case "conversation":
                return bool(self.conversation) and self.conversation == question.conversation
        return True

    def _fits(self, arguments: Mapping[str, Any], marks: Mapping[str, str]) -> bool:
        if arguments.keys() != {*self.same, *self.matching}:
            return False
        return all(
            _matches(value, self.matching[name]) if name in self.matching else marks[name] == self.same[name]
            for name, value in arguments.items()
        )


class KeptGrant(Fact):
    """What stands in the document of a grant."""

    grant: StandingGrant
    seal: Hash
    """Says that this home has granted it."""
    used: Whole = 0
    used_seal: Hash
    """Says that this home has counted."""

    @classmethod
    def sealed(cls, key: PurposeKey, grant: StandingGrant, used: int) -> KeptGrant:
        facts = grant.model_dump(mode="json")
        return cls(
            grant=grant,
            seal=key.signature("grant", facts),
            used=used,
            used_seal=key.signature("used", grant.id, used),
        )

    def is_sealed(self, key: PurposeKey) -> bool:
        return key.has_signed(self.seal, "grant", self.grant.model_dump(mode="json")) and key.has_signed(
            self.used_seal, "used", self.grant.id, self.used
        )

    @property
    def has_calls_left(self) -> bool:
        return self.grant.times is None or self.used < self.grant.times


def grant_in(data: Mapping[str, Any] | None, key: PurposeKey) -> KeptGrant | None:
    """The grant in the data, which anyone may have written; None for what this home has not granted or counted."""
    try:
        kept = None if data is None else _grants().validate_python(data)
    except ValidationError:
        return None
    return kept if kept is not None and kept.is_sealed(key) else None


@cache
def _grants() -> TypeAdapter[KeptGrant]:
    return TypeAdapter(KeptGrant)


def _matches(value: Any, pattern: str) -> bool:
    text = value if isinstance(value, str) else to_json(value, inf_nan_mode="null", serialize_unknown=True).decode()
    return len(text) <= MAX_MATCHED and fnmatchcase(text, pattern)
