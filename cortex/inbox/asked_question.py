"""A question to the owner as it is kept: all that the owner needs to answer it, without secrets, bounded. Pure.

Its hash covers all of it. An answer is for one hash: it does not fit another question, or this one after an edit.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import to_json

from cortex.audit import code_hash, digest
from cortex.contracts import asked_by
from cortex.text import beginning, whole
from cortex.tools import Question, describe
from sandbox import identity_of

if TYPE_CHECKING:
    from neurons import PurposeKey

MAX_ARGUMENTS = 131_072
"""Characters of the arguments that are kept; more are counted."""
MAX_NAME = 200
MAX_WORDS = 500
MAX_MARKS = 50
LEAST_HASH = 8
"""So much of the hash names a question."""

Name = Annotated[str, Field(max_length=MAX_NAME)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Whole = Annotated[int, Field(ge=0, lt=2**53)]
Time = Annotated[float, Field(allow_inf_nan=False)]
_How = Literal["answered", "expired", "withdrawn"]


class Fact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class AskingProgram(Fact):
    """The process that asked, and waits."""

    name: Name
    pid: Whole
    started: Whole = 0
    boot: Name = ""
    namespace: Name = ""

    @property
    def has_ended(self) -> bool:
        """True only if that is known: a process of another machine or container cannot be seen from here."""
        own = _own_program()
        if not self.boot or (self.boot, self.namespace) != (own.boot, own.namespace):
            return bool(self.boot) and bool(own.boot) and self.boot != own.boot
        found = identity_of(self.pid)
        return found is None or found.started != self.started


class AskedQuestion(Fact):
    """May this tool be called with these arguments? A model wrote everything but the tool's name."""

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    tool: Name
    arguments: dict[str, Any]
    """Without secrets."""
    left_out: Whole = 0
    """Characters of the arguments that are not kept."""
    arguments_hash: Hash
    """Of the arguments as the tool gets them, whole and with what is secret."""
    origin: Literal["model", "code", "workflow", "host"]
    asked_by: Annotated[str, Field(max_length=MAX_WORDS)] = ""
    """program, loop, or the MCP client in its own words."""
    purpose: Annotated[str, Field(max_length=MAX_WORDS)] = ""
    turn: Name = ""
    run: Whole | None = None
    """The number of the code within its turn."""
    conversation: Name = ""
    code_hash: Hash | None = None
    """Of the code that calls."""
    policy_hash: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    """Of what decides about the tool; empty where an answer is for this call alone."""
    marks: dict[str, Hash] = Field(default_factory=dict)
    """A mark for each argument, made with the key of the home: equal arguments have equal ones."""
    program: AskingProgram
    asked_at: Time

    @property
    def shown_hash(self) -> str:
        return hashlib.sha256(to_json(_sorted(self.model_dump(mode="json")))).hexdigest()

    def lines(self) -> list[str]:
        """The question as lines for a person. Nothing in it can control a terminal or pass for a line of ours."""
        question = Question(self.tool, self.arguments, self.origin, self.purpose)
        left_out = f"  … ({self.left_out} more characters are not shown)"
        return [*describe(question).split("\n"), *([left_out] if self.left_out else [])]


class SignedAnswer(Fact):
    """What the owner said to one question, signed."""

    allowed: bool
    reason: Annotated[str, Field(max_length=MAX_WORDS)] = ""
    by: Name
    at: Time
    signature: Hash

    @classmethod
    def signed(
        cls, key: PurposeKey, shown_hash: str, *, allowed: bool, reason: str, by: str, at: float
    ) -> SignedAnswer:
        reason, by = beginning(whole(reason), MAX_WORDS), by[:MAX_NAME]
        signature = key.signature("answer", shown_hash, allowed, reason, by, at)
        return cls(allowed=allowed, reason=reason, by=by, at=at, signature=signature)

    def fits(self, key: PurposeKey, shown_hash: str) -> bool:
        """Whether the home has signed exactly this answer to exactly this question."""
        return key.has_signed(self.signature, "answer", shown_hash, self.allowed, self.reason, self.by, self.at)


class Closed(Fact):
    """How a question came to its end."""

    how: _How
    at: Time


class KeptDocument(Fact):
    """What stands in the document of a question."""

    asked: AskedQuestion
    until: Time
    """No answer is taken after this."""
    seal: Hash
    """Says that the cortex itself has asked."""
    answer: SignedAnswer | None = None
    closed: Closed | None = None

    @classmethod
    def sealed(cls, key: PurposeKey, asked: AskedQuestion, until: float) -> KeptDocument:
        return cls(asked=asked, until=until, seal=key.signature("question", asked.shown_hash, until))

    def is_sealed(self, key: PurposeKey) -> bool:
        return key.has_signed(self.seal, "question", self.asked.shown_hash, self.until)


def document_of(data: Mapping[str, Any] | None) -> KeptDocument | None:
    """The document in the data, which anyone may have written; None for what no version of this program wrote."""
    try:
        return None if data is None else _documents().validate_python(data)
    except ValidationError:
        return None


@cache
def _documents() -> TypeAdapter[KeptDocument]:
    return TypeAdapter(KeptDocument)


def marks_of(arguments: Mapping[str, Any], key: PurposeKey) -> dict[str, str] | None:
    """The marks of the arguments; None for more than are granted for longer than one call."""
    if len(arguments) > MAX_MARKS:
        return None
    return {name: key.signature("argument", name, value) for name, value in arguments.items()}


def asked_question(question: Question, now: float, key: PurposeKey) -> AskedQuestion:
    """The question as it is kept. Its arguments are those that were made fit to be seen."""
    marks = marks_of(question.arguments, key) if question.policy_hash else None
    arguments, left_out = _fitting(question.arguments if question.shown is None else question.shown)
    return AskedQuestion(
        id=secrets.token_hex(8),
        tool=beginning(whole(question.tool), MAX_NAME),
        arguments=arguments,
        left_out=left_out,
        arguments_hash=digest(question.arguments),
        origin=question.origin,
        asked_by=beginning(whole(asked_by.get().origin), MAX_WORDS),
        purpose=beginning(whole(question.purpose), MAX_WORDS),
        turn=beginning(whole(question.turn), MAX_NAME),
        run=question.run,
        conversation=beginning(whole(question.conversation), MAX_NAME),
        code_hash=code_hash(question.code) if question.code else None,
        policy_hash="" if marks is None else question.policy_hash,
        marks=marks or {},
        program=_own_program(),
        asked_at=now,
    )


@cache
def _program_of(pid: int) -> AskingProgram:
    own = identity_of(pid)
    words = [Path(sys.argv[0]).name or "python", *sys.argv[1:2]] if sys.argv else ["python"]
    # Only the command: other arguments may be secret.
    name = " ".join(words) if words[0] == "cortex" and words[-1].isalpha() else words[0]
    program = AskingProgram(name=beginning(whole(name), MAX_NAME), pid=pid)
    if own is None:
        return program
    return program.model_copy(update={"started": own.started, "boot": own.boot, "namespace": own.namespace})


def _own_program() -> AskingProgram:
    return _program_of(os.getpid())


def _fitting(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The arguments, each cut where all together would be too long; and how much was left out."""
    size = len(_json(arguments))
    if size <= MAX_ARGUMENTS:
        return dict(arguments), 0
    room, kept = MAX_ARGUMENTS, {}
    for name, value in arguments.items():
        short, share = beginning(name, MAX_NAME), room // 2
        if share < MAX_NAME:
            break
        kept[short] = _cut(value, share)
        room -= len(short) + len(_json(kept[short]))
    return kept, max(1, size - len(_json(kept)))


def _cut(value: Any, room: int) -> Any:
    match value:
        case str():
            # What is escaped in JSON is longer there.
            return value if len(_json(value)) <= room else beginning(value, max(1, room // 6))
        case list():
            kept: list[Any] = []
            for item in value:
                room -= len(_json(item)) + 1
                if room < 0:
                    break
                kept.append(item)
            return kept
        case _:
            text = _json(value)
            return value if len(text) <= room else beginning(text, max(1, room // 6))


def _json(value: Any) -> str:
    return to_json(value, inf_nan_mode="null", serialize_unknown=True).decode()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
