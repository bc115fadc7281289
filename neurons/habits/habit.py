"""A habit: a repeated script as it is stored, and the hint that the model gets about it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..contracts import Json
from .fingerprint import Literal
from .similarity import Parameter, parameters
from .sketch import Sketch

FORMAT = 2
# Increase it when sketches change: those of other rules are taken again from the wordings that are kept.
RULE = 3
MAX_RECENT = 10
MAX_KEPT_LITERALS = 32
MAX_VALUE_CHARS = 100
MAX_PURPOSE = 200
MAX_NAMES = 16
MAX_CODES = 6
MAX_SKETCHES = 8
MAX_ABSORBED = 64
# Of all wordings of a script together, but the latest one: documents are read often.
MAX_CODES_CHARS = 65_536
OFFER_S = 3600.0
"""A process that is telling the model and has not noted the end of that within this time has died: another may tell it
then."""
# Names of tools, hosts and members, as in `owner of tools.github.list()`; no sentences.
_WORDS = re.compile(
    r"(?:new )?[\w$.()-]{1,60}(?: of (?:new )?[\w$.()-]{1,60})?|an operand of \S{1,3}|a variable", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Habit:
    """A script that was seen often enough."""

    id: str
    shape: str
    occurrences: int
    """How often it was seen since it is remembered."""
    first_at: float
    last_at: float
    code: str
    """The latest wording."""
    code_hashes: tuple[str, ...]
    """Hashes of the latest occurrences, the newest first."""
    purpose: str
    tools: tuple[str, ...]
    hosts: tuple[str, ...]
    tier: str
    parameters: tuple[Parameter, ...]
    """The literals that differ between occurrences."""
    told: float
    """When it became a habit."""
    neuron: str | None = None
    """The id of the neuron that came of it."""
    codes: tuple[str, ...] = ()
    """The latest wordings, at most MAX_CODES different ones, the newest first."""
    times: tuple[float, ...] = ()
    """When it was seen lately, the newest last."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One successful run of a script."""

    at: float
    code_hash: str
    literals: tuple[Literal, ...] = ()
    code: str = ""
    purpose: str = ""
    tier: str = "isolated"
    tools: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """The document `habits/<id>`: a script that was seen, whether or not it is a habit yet."""

    id: str
    sketches: tuple[Sketch, ...]
    """Of the latest different wordings, the newest first. A new occurrence is compared with each of them."""
    first_at: float
    latest: Occurrence
    recent: tuple[Occurrence, ...] = ()
    """Recent occurrences with their times and literals; the newest last, and no more than needed."""
    codes: tuple[str, ...] = ()
    """Wordings before the latest one, the newest first."""
    count: int = 0
    tools: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    told: float | None = None
    """When it became a habit."""
    offered: float | None = None
    """When a process began to tell the model."""
    hinted: float | None = None
    """When the model was told."""
    neuron: str | None = None
    absorbed: tuple[str, ...] = ()
    """The ids of scripts that turned out to be this one, and were merged into it."""
    rule: int = RULE
    """The rule by which its sketches were taken."""

    @property
    def last_at(self) -> float:
        return self.latest.at

    def habit(self) -> Habit:
        hashes = dict.fromkeys(occurrence.code_hash for occurrence in reversed(self.recent))
        return Habit(
            id=self.id,
            shape=self.sketches[0].shape if self.sketches else "",
            occurrences=self.count,
            first_at=self.first_at,
            last_at=self.last_at,
            code=self.latest.code,
            code_hashes=tuple(hashes),
            purpose=self.latest.purpose,
            tools=self.tools,
            hosts=self.hosts,
            tier=self.latest.tier,
            parameters=parameters([occurrence.literals for occurrence in self.recent]),
            told=self.told if self.told is not None else self.last_at,
            neuron=self.neuron,
            codes=(self.latest.code, *self.codes),
            times=tuple(occurrence.at for occurrence in self.recent),
        )

    def without_code(self) -> Script:
        """The script with only what is needed to recognise it."""
        return replace(self, latest=replace(self.latest, code="", literals=()), codes=())

    def to_json(self) -> Json:
        return {
            "format": FORMAT,
            "rule": self.rule,
            "purpose": self.latest.purpose,
            "count": self.count,
            "firstAt": self.first_at,
            "lastAt": self.last_at,
            "told": self.told,
            "offered": self.offered,
            "hinted": self.hinted,
            "neuron": self.neuron,
            "absorbed": list(self.absorbed),
            "tier": self.latest.tier,
            "tools": list(self.tools),
            "hosts": list(self.hosts),
            "code": self.latest.code,
            "codes": list(self.codes),
            "recent": [
                {
                    "at": one.at,
                    "codeHash": one.code_hash,
                    "literals": [[literal.path, literal.kind, literal.text] for literal in one.literals],
                }
                for one in self.recent
            ],
            "sketches": [sketch.to_json() for sketch in self.sketches],
        }

    @classmethod
    def of_json(cls, script_id: str, data: Mapping[str, Any] | None) -> Script | None:
        """Parse a document, also of the first format. None if it is not a script: all that is lost is a habit."""
        if data is None or data.get("format") not in (1, FORMAT):
            return None
        try:
            recent = tuple(
                Occurrence(
                    float(one["at"]),
                    str(one["codeHash"]),
                    tuple(Literal(str(path), str(kind), str(text)) for path, kind, text in one["literals"]),
                )
                for one in data["recent"]
            )
            told, neuron = data["told"], data["neuron"]
            # The first format has one fingerprint, which cannot be compared with what is taken today.
            rule = int(data["rule"]) if data["format"] == FORMAT else 0
            sketches = data["sketches"][:MAX_SKETCHES] if rule == RULE else ()
            # Documents written before these fields existed: the process that noticed the habit has told the model.
            offered, hinted = data.get("offered"), data.get("hinted", told)
            return cls(
                id=script_id,
                sketches=tuple(map(Sketch.of_json, sketches)),
                first_at=float(data["firstAt"]),
                latest=Occurrence(
                    float(data["lastAt"]),
                    recent[-1].code_hash if recent else "",
                    code=str(data["code"]),
                    purpose=str(data["purpose"]),
                    tier=str(data["tier"]),
                ),
                recent=recent,
                codes=tuple(map(str, data.get("codes", ())))[: MAX_CODES - 1],
                count=int(data["count"]),
                tools=tuple(map(str, data["tools"])),
                hosts=tuple(map(str, data["hosts"])),
                told=None if told is None else float(told),
                offered=None if offered is None else float(offered),
                hinted=None if hinted is None else float(hinted),
                neuron=None if neuron is None else str(neuron),
                absorbed=tuple(map(str, data.get("absorbed", ())))[:MAX_ABSORBED],
                rule=rule,
            )
        except (KeyError, TypeError, ValueError, OverflowError):
            return None


def is_of_later_format(data: Mapping[str, Any] | None) -> bool:
    """Whether a later version of the program wrote the document: it must then stay as it is."""
    written = (data or {}).get("format")
    return isinstance(written, int) and written > FORMAT


def is_due(script: Script, min_occurrences: int) -> bool:
    """Whether it has just become a habit."""
    return script.told is None and len(script.recent) >= min_occurrences


def is_untold(script: Script) -> bool:
    """Whether it is a habit that the model has not been told of, however long ago it was seen."""
    return script.told is not None and script.hinted is None and script.neuron is None


def is_offered(script: Script, now: float) -> bool:
    """Whether a process is telling the model just now. An offer dated in the future, left by a clock that was
    corrected, does not count: its end is unknown."""
    return script.offered is not None and 0 <= now - script.offered < OFFER_S


def forgotten(scripts: Iterable[Script], newest: str, oldest: float, most: int) -> list[Script]:
    """The scripts to forget: those not seen since `oldest`, unless they became habits; and, when there are more than
    `most` occurrences in all, those not seen for longest, of any kind."""
    gone: list[Script] = []
    kept: list[Script] = []
    for script in scripts:
        (gone if script.told is None and script.last_at < oldest else kept).append(script)
    room = most
    for script in sorted(kept, key=lambda script: (script.id != newest, -script.last_at)):
        room -= max(1, len(script.recent))
        if room < 0 and script.id != newest:
            gone.append(script)
    return gone


def hint_of(habit: Habit, min_occurrences: int, within_days: float, ready: str = "") -> str:
    """The hint for the model, on one line. It may be shown in another conversation, with another user: it contains
    nothing that was said or worked with, and no text that could pass for words of the host. `ready` are the
    sentences about its draft, which has the parameters that differed."""
    reached = ", ".join(name for name in (*habit.tools, *habit.hosts)[:6] if _WORDS.fullmatch(name))
    text = (
        f"You have run much the same script {habit.occurrences} times, at least {min_occurrences} of them within "
        f"{within_days:g} days{f' (it uses {reached})' if reached else ''}. If it will be needed again, propose it "
        "with core.consolidate; the owner decides. "
    )
    if ready:
        return text + ready
    text += (
        "A neuron answers signals and schedules without you, a function is called by code. "
        f'Name this habit: "habit": "{habit.id}".'
    )
    if habit.parameters:
        differing = "; ".join(dict.fromkeys(map(_described, habit.parameters[:6])))
        text += (
            f" What differed from time to time, and would have to come from the signal or the arguments: {differing}."
        )
    return text


def _described(parameter: Parameter) -> str:
    place = parameter.place
    return f"a {parameter.kind} in {place}" if len(place) <= 80 and _WORDS.fullmatch(place) else f"a {parameter.kind}"
