"""Checks whether a value fits an untrusted JSON Schema. Nothing is fetched, patterns run in linear time, and a check
that would take long is refused or stopped: the library holds the GIL, so no timeout, cancellation or Ctrl-C could stop
it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from ..contracts import JsonLimits, TooComplex, bounded_json
from .schema_parts import BadSchema, Parts
from .schema_values import (
    STEP,
    Measure,
    Meter,
    Sizes,
    StepKeyword,
    are_few_ways,
    is_told_soon,
    measured,
    meter_references,
    name_length,
    size_of,
)

if TYPE_CHECKING:
    import jsonschema_rs

# Compiling takes up to 30 µs for each object of a schema, and nothing else runs meanwhile.
MAX_SCHEMA = JsonLimits(containers=4_000, values=20_000)
# In units of 20 ns: a tenth of a second at the very worst, a millisecond as a rule.
MAX_WORK = 5_000_000
# Values to check; the result of an MCP server may have as many.
MAX_VALUES = 200_000
# Schemas that unfold to at most this many parts are checked directly. Others are metered.
MAX_UNFOLDED = 20_000
# Limits for metered schemas: each step calls back into Python, which takes longer than checking a part; and each value
# is measured together with everything in it.
MAX_STEPS = 100_000
MAX_METERED_VALUES = 20_000
# For schemas of more parts than this, the error says where the value does not fit only if that is found quickly.
MAX_TOLD_PARTS = 500
# To report an error, the library copies the value, writes it as text, and copies that: five times the memory, for a
# while.
MAX_TOLD_VALUES = 15_000
MAX_TOLD_CHARACTERS = 2_000_000
# Each part in a chain takes some frames of the library's stack, and its overflow is a crash, not an exception.
MAX_CHAIN = 64
MAX_NESTED = 5_000
MAX_LEFT_OVER = 5_000
# Characters times patterns.
MAX_MATCHED = 100_000
# For `uniqueItems`: numbers of more than 53 bits are compared pairwise.
MAX_WIDE_UNIQUE = 300
MAX_KEPT_BYTES = 67_108_864
# Memory of a compiled schema, per byte of its text and per pattern.
_KEPT_TIMES = 20
_KEPT_PATTERN = 262_144
# In older drafts these keywords parse strings, once per part; in newer ones they only describe the string.
_CONTENTS = ("contentMediaType", "contentEncoding")
# Limit of memory per compiled pattern, and again when it is used. Matching one character then takes at most 5 µs.
MAX_PATTERN_BYTES = 65_536
MAX_PATTERN_CHARACTERS = 500
MAX_PATTERNS = 32
# Under these keywords, removing a pattern could make the whole schema stricter: then none may be removed.
_NOT_LOOSER = ("not", "if", "oneOf", "contains")


class TooMuchToCheck(BadSchema):
    """The schema is valid, but the value is too large or complex to check against it. The message says in what way."""


def schema_problem(schema_json: bytes, value: Any, what: str = "arguments") -> str | None:
    """The first problem for which the value does not fit the schema, or None. Raises BadSchema."""
    return _kept.check(schema_json).problem(value, what)


def usable_schema(schema_json: bytes) -> None:
    """Raises BadSchema when the schema is invalid or would take too long. The result is cached for later checks."""
    _kept.check(schema_json)


class _Check:
    def __init__(self, schema_json: bytes) -> None:
        schema = bounded_json(schema_json, MAX_SCHEMA)
        self._schema = schema
        self._parts = parts = Parts(schema if isinstance(schema, dict) else {})
        self._chain = parts.chain()
        if self._chain > MAX_CHAIN:
            raise BadSchema("its chain of $ref or allOf parts is too long")
        if parts.left_over() > MAX_LEFT_OVER:
            raise BadSchema("unevaluatedProperties/Items would take too long")
        parts.leave_out(*_CONTENTS)
        unfolded = parts.unfolded()
        self._is_metered = unfolded is None or unfolded.count > MAX_UNFOLDED
        self._body = parts.longest_body() if self._is_metered else 1
        self._unfolded = None if self._is_metered else unfolded
        self._most_wide = MAX_WIDE_UNIQUE if parts.have("uniqueItems") else MAX_VALUES
        self._has_names = parts.have("propertyNames")
        self._wrongs = unfolded.wrongs if unfolded is not None and unfolded.count <= MAX_TOLD_PARTS else None
        self._patterns = Patterns(parts)
        self.patterns = self._patterns.leave_out_unusable()
        if self._is_metered:
            meter_references(parts)
        self._validator = self._compiled()
        self._without_patterns: jsonschema_rs.Validator | None = None

    def problem(self, value: Any, what: str) -> str | None:
        measure = measured(value, MAX_VALUES, self._most_wide)
        self._refuse_too_much(measure, what)
        validator = self._validator_for(measure, what)
        sizes = self._sizes(measure)
        with self._meter(sizes) as meter:
            fits = validator.is_valid(value)
        if meter.is_over:
            raise TooMuchToCheck(f"the {what} are too deep or too many for the references of this schema")
        if fits:
            return None
        if measure.total > MAX_TOLD_VALUES:
            return f"the {what} do not fit its schema, and are too many to say where"
        if measure.characters > MAX_TOLD_CHARACTERS:
            return f"the {what} do not fit its schema, and are too long to say where"
        if not self._is_told_soon(value):
            return f"the {what} do not fit its schema, which has too many choices to say where"
        # Only the first problem: there may be as many as there are values.
        with self._meter(sizes):
            return _first_problem(validator, value, what, self._schema)

    def _is_told_soon(self, value: Any) -> bool:
        sizes = Sizes(value)
        if self._wrongs is not None and is_told_soon(self._wrongs, sizes, are_names_told=self._has_names):
            return True
        return are_few_ways(self._parts, value, sizes)

    def _refuse_too_much(self, measure: Measure, what: str) -> None:
        if measure.wide > self._most_wide:
            raise TooMuchToCheck(f"the {what} have too many numbers of more than 53 bits")
        work = 0 if self._unfolded is None else self._unfolded.work(measure.levels, measure.fractions, measure.names)
        most = MAX_METERED_VALUES if self._is_metered else MAX_VALUES
        if measure.total > most or work > MAX_WORK:
            raise TooMuchToCheck(f"the {what} have too many values for this schema")
        if self._chain * measure.depth > MAX_NESTED:
            raise TooMuchToCheck(f"the {what} are nested too deep for this schema")

    def _validator_for(self, measure: Measure, what: str) -> jsonschema_rs.Validator:
        if measure.characters * self.patterns <= MAX_MATCHED:
            return self._validator
        if self._without_patterns is None:
            try:
                self._patterns.leave_out_all()
            except BadSchema as error:
                raise TooMuchToCheck(f"the {what} are too long for its patterns") from error
            self._without_patterns = self._compiled()
        return self._without_patterns

    def _sizes(self, measure: Measure) -> dict[int, int]:
        sizes: dict[int, int] = {}
        for container in reversed(measure.containers) if self._is_metered else ():
            inner = container.values() if isinstance(container, dict) else container
            names = name_length(container) if self._has_names and isinstance(container, dict) else 0
            sizes[id(container)] = 1 + names + sum(size_of(part, sizes) for part in inner)
        return sizes

    def _meter(self, sizes: dict[int, int]) -> Meter:
        return Meter(sizes, min(MAX_WORK // self._body, MAX_STEPS) if self._is_metered else 0)

    def _compiled(self) -> jsonschema_rs.Validator:
        import jsonschema_rs  # noqa: PLC0415 - 25 ms that a run without tools need not pay

        def refuse(uri: str) -> Any:
            raise ValueError(f'no outside schema is fetched: "{uri}"')

        try:
            return jsonschema_rs.validator_for(
                to_json(self._schema).decode(),
                retriever=refuse,
                pattern_options=regex_options(),
                # One format is "regex": it would compile a pattern of any size.
                validate_formats=False,
                keywords={STEP: StepKeyword},
            )
        except ValueError as error:
            raise BadSchema(str(error)[:300]) from error


def _first_problem(validator: jsonschema_rs.Validator, value: Any, what: str, schema: Any) -> str:
    try:
        validator.validate(value)
    except ValueError as problem:
        path = getattr(problem, "instance_path", ())
        where = "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in path)
        if _are_bytes(schema, getattr(problem, "schema_path", ())):
            return f"{what}{where} takes a Uint8Array"[:600]
        return f"{what}{where}: {getattr(problem, 'message', problem)}"[:600]
    return f"the {what} do not fit its schema"


def _are_bytes(part: Any, path: Iterable[str | int]) -> bool:
    """Whether the keyword at this path says that bytes are no texts: code is told of a Uint8Array there."""
    *above, keyword = ("", *path)
    try:
        for step in above[1:]:
            part = part[step]
    except (LookupError, TypeError):
        return False
    return keyword == "type" and isinstance(part, dict) and part.get("format") == "byte"


class _Kept:
    """A cache of compiled or refused schemas, limited by bytes; the least recently used one goes first."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._size = 0
        self._checks: OrderedDict[bytes, _Check | BadSchema] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, schema_json: bytes) -> _Check:
        with self._lock:
            found = self._checks.get(schema_json)
            if found is None:
                found = _built(schema_json)
                self._checks[schema_json] = found
                self._size += _size(schema_json, found)
            self._checks.move_to_end(schema_json)
            while self._size > self._most and len(self._checks) > 1:
                self._size -= _size(*self._checks.popitem(last=False))
        if isinstance(found, BadSchema):
            raise BadSchema(str(found))
        return found


def _built(schema_json: bytes) -> _Check | BadSchema:
    try:
        return _Check(schema_json)
    except TooComplex as error:
        return BadSchema(f"it holds {error}")
    except BadSchema as error:
        # A new exception without the traceback, which would keep all local variables alive.
        return BadSchema(str(error))
    except ValueError as error:
        return BadSchema(str(error)[:300])


def _size(schema_json: bytes, check: _Check | BadSchema) -> int:
    if isinstance(check, BadSchema):
        return 2 * len(schema_json)
    return _KEPT_TIMES * len(schema_json) + _KEPT_PATTERN * check.patterns + 2_048


_kept = _Kept(MAX_KEPT_BYTES)


def regex_options() -> jsonschema_rs.RegexOptions:
    import jsonschema_rs  # noqa: PLC0415 - 25 ms that a run without tools need not pay

    return jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN_BYTES, dfa_size_limit=MAX_PATTERN_BYTES)


@lru_cache(maxsize=1_024)
def is_usable(pattern: str) -> bool:
    import jsonschema_rs  # noqa: PLC0415 - as above

    if len(pattern) > MAX_PATTERN_CHARACTERS:
        return False
    try:
        jsonschema_rs.validator_for(to_json({"pattern": pattern}).decode(), pattern_options=regex_options())
    except ValueError:
        return False
    return True


class Patterns:
    """Removes regex patterns from the parts of one schema."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.may_leave_out = not parts.have(*_NOT_LOOSER)

    def leave_out_unusable(self) -> int:
        """Remove unusable patterns from the schema; return how many are left. Raises BadSchema if one must stay."""
        names = {name for part in self._parts.all for name in _names(part)}
        texts = {part["pattern"] for part in self._parts.all if isinstance(part.get("pattern"), str)}
        if len(names) > MAX_PATTERNS or not all(is_usable(name) for name in sorted(names)):
            raise BadSchema("its patternProperties are too many, too large, or of a kind that is not used here")
        room = MAX_PATTERNS - len(names - texts)
        taken = {text for text in sorted(texts)[:room] if is_usable(text)}
        if texts - taken:
            self._leave_out(texts - taken)
        return len(taken | names)

    def leave_out_all(self) -> None:
        """Remove all patterns from the schema. Raises BadSchema if one must stay."""
        if any(True for part in self._parts.all for _ in _names(part)):
            raise BadSchema("its patternProperties take too long for texts of this length")
        self._leave_out({part["pattern"] for part in self._parts.all if isinstance(part.get("pattern"), str)})

    def _leave_out(self, texts: set[str]) -> None:
        if texts and not self.may_leave_out:
            raise BadSchema(f'a pattern is too large or of a kind that is not used here: "{min(texts)[:100]}"')
        for part in self._parts.all:
            if isinstance(part.get("pattern"), str) and part["pattern"] in texts:
                del part["pattern"]


def _names(part: dict[str, object]) -> list[str]:
    named = part.get("patternProperties")
    return list(named) if isinstance(named, dict) else []
