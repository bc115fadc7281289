"""The fingerprint of a script, to recognise it again: its shape, and the globals, tools and hosts that it uses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Any

from .effects import UNKNOWN, request, same_effect
from .fingerprint_limits import (
    MAX_LITERAL_CHARS,
    MAX_LITERALS,
    MAX_NAME_CHARS,
    MAX_NAMES,
)
from .sketch import Sketch

MAX_KIND_CHARS = 10


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal of a script. Literals of two scripts with the same path stand for the same thing."""

    path: str
    """What the literal is given to, like `call:fetch` or `tool:github.list owner`."""
    kind: str
    """text, number, regex, boolean, list, or name for a member of data."""
    text: str
    """Its text, cut when it is long; `${}` stands for what a template inserts."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A script without its names, literals, spacing and comments."""

    shape: str
    """A hash that is the same for scripts that differ only in those."""
    parts: Mapping[str, int]
    """How often each part occurs; for a large script a sample, chosen the same way for all scripts."""
    literals: tuple[Literal, ...] = ()
    globals: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    sketch: Sketch = field(default_factory=lambda: Sketch(""))
    """What is kept to recognise it."""

    @classmethod
    def of_json(cls, data: Any) -> Fingerprint:
        """Parse and check a fingerprint. Raises ValueError if invalid or too large: it comes from a process that parsed
        hostile code."""
        try:
            # Its shape is known when everything else is.
            sketch = Sketch.of("", data)
            literals = tuple(starmap(_literal, _some(data["literals"], MAX_LITERALS)))
            names = {
                kind: tuple(_text(name, MAX_NAME_CHARS) for name in _some(data[kind], MAX_NAMES))
                for kind in ("globals", "tools", "hosts")
            }
        except (TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError("not a fingerprint") from error
        shape = _shape(sketch.parts, names["tools"], names["hosts"])
        return cls(shape, sketch.parts, literals, **names, sketch=sketch.shaped(shape))

    def using(
        self, tools: Iterable[str], hosts: Iterable[str], requests: Iterable[tuple[str, str]] = ()
    ) -> Fingerprint:
        """The fingerprint with the tools, hosts and requests (method and address) that were used at run time, where the
        code names none."""
        used = {request(method, address)[0] for method, address in requests}
        used |= {f"{UNKNOWN} {host}/{UNKNOWN}" for host in hosts} if not used else set()
        tools = _names(tools)
        effects = _reached(self.sketch.effects, used, {f"tools.{name}" for name in tools})
        tools, hosts = self.tools or tools, self.hosts or _names(hosts)
        shape = _shape(self.parts, tools, hosts)
        return replace(self, shape=shape, tools=tools, hosts=hosts, sketch=self.sketch.reaching(effects))

    def saying(self, purpose: str) -> Fingerprint:
        """The fingerprint with the purpose that the agent stated."""
        return replace(self, sketch=self.sketch.saying(purpose))

    def worded(self, code: str) -> Fingerprint:
        """The fingerprint with the tokens of the code, to see whether it differs from another one in one place only."""
        return replace(self, sketch=self.sketch.worded(code))

    def to_json(self) -> dict[str, Any]:
        return {
            "parts": dict(self.parts),
            "literals": [[literal.path, literal.kind, literal.text] for literal in self.literals],
            "globals": list(self.globals),
            "tools": list(self.tools),
            "hosts": list(self.hosts),
            **self.sketch.to_json(),
        }


def fingerprint(code: str) -> Fingerprint | None:
    """The fingerprint of the code; None if it is too large. Never call it in the host process: the parser may hang."""
    from .fingerprint_shape import read  # noqa: PLC0415 - the host never parses

    found = read(code)
    return None if found is None else Fingerprint.of_json(found)


def _shape(parts: Mapping[str, int], tools: tuple[str, ...], hosts: tuple[str, ...]) -> str:
    counted = " ".join([f"{part}{count}" for part, count in sorted(parts.items())])
    return hashlib.sha256(f"{counted}\n{json.dumps([tools, hosts])}".encode()).hexdigest()


def _reached(named: Iterable[str], requests: set[str], tools: set[str]) -> set[str]:
    """The effects that the code names, and in place of those that it leaves open what it did."""
    left_open = {effect for effect in named if _is_open(effect)}
    known = {effect for effect in named if effect not in left_open}
    if left_open or not any(" " in effect for effect in known):
        left_over = {one for one in requests if not any(same_effect(one, effect) for effect in known)}
        # Many hosts in place of one line are items of a list, and others the next time.
        is_list = left_open and len({one.partition(" ")[2].partition("/")[0] for one in left_over}) > len(left_open)
        known |= left_open if is_list else left_over
    if not requests:
        known |= left_open
    return known if any(effect.startswith("tools.") for effect in known) else known | tools


def _is_open(effect: str) -> bool:
    method, _, place = effect.partition(" ")
    host, _, path = place.partition("/")
    return UNKNOWN in (method, host, path)


def _literal(path: str, kind: str, text: str) -> Literal:
    is_text = type(path) is type(kind) is type(text) is str
    if not is_text or len(path) > 2 * MAX_NAME_CHARS or len(kind) > MAX_KIND_CHARS or len(text) > MAX_LITERAL_CHARS:
        raise ValueError("expected the place, kind and text of a literal")
    return Literal(path, kind, text)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name[:MAX_NAME_CHARS] for name in names})[:MAX_NAMES])


def _some(values: Any, most: int) -> Any:
    if len(values) > most:
        raise ValueError(f"expected at most {most} values")
    return values


def _text(value: Any, most: int) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise ValueError(f"expected a string of at most {most} characters")
    return value
