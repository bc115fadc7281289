"""Whether a value fits a JSON Schema that nobody has vouched for. Nothing is fetched, patterns run in linear time, and
what would take long is not begun, or ended soon: the library holds the interpreter until it is done, so that no clock,
no cancellation and no Ctrl-C would be heard meanwhile."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from .schema_meter import STEP, Meter, Step, meter_references
from .schema_parts import BadSchema, Parts
from .schema_patterns import Patterns, regex_options
from .schema_values import Measure, are_few_ways, measured

if TYPE_CHECKING:
    import jsonschema_rs

# Parts of the schema times values: a few tenths of a second at the very worst, a millisecond as a rule.
MAX_WORK = 10_000_000
# Schemas that unfold to less are checked as they are. Others are metered.
MAX_UNFOLDED = 20_000
# Each step of a metered one asks us, which takes longer than a part does.
MAX_STEPS = 500_000
# What does not fit larger ones is told only where that is soon found.
MAX_TOLD_PARTS = 500
# Each part that looks at a value because of another is some frames of the library's stack, whose end is no exception.
MAX_CHAIN = 64
MAX_NESTED = 5_000
MAX_LEFT_OVER = 5_000
# Characters times patterns.
MAX_MATCHED = 100_000
# Numbers that wide are compared each with each.
MAX_WIDE_UNIQUE = 300
MAX_KEPT_BYTES = 67_108_864
# What a schema takes compiled, for each of its bytes, and for each of its patterns.
_KEPT_TIMES = 20
_KEPT_PATTERN = 262_144


class TooMuchToCheck(BadSchema):
    """The schema is good, but not for so much. The message says of what there is too much."""


def schema_problem(schema_json: bytes, value: Any, what: str = "arguments") -> str | None:
    """The first thing in which the value does not fit, or None. Raises BadSchema."""
    return _kept.check(schema_json).problem(value, what)


def usable_schema(schema_json: bytes) -> None:
    """Raises BadSchema for one that is none, or that would take too long. The answer is kept for those who check."""
    _kept.check(schema_json)


class _Check:
    def __init__(self, schema_json: bytes) -> None:
        schema = from_json(schema_json)
        self._schema = schema
        self._parts = parts = Parts(schema if isinstance(schema, dict) else {})
        self._chain = parts.chain()
        if self._chain > MAX_CHAIN:
            raise BadSchema("its parts lead from one to the next too often")
        if parts.left_over() > MAX_LEFT_OVER:
            raise BadSchema("too much is to be looked through for what is not evaluated")
        unfolded = parts.unfolded()
        self._is_metered = unfolded is None or unfolded > MAX_UNFOLDED
        self._weight = parts.longest_body() if unfolded is None or self._is_metered else unfolded
        self._has_unique = parts.have("uniqueItems")
        self._is_told_at_once = not self._is_metered and self._weight <= MAX_TOLD_PARTS
        self._patterns = Patterns(parts)
        self.patterns = self._patterns.leave_out_unusable()
        if self._is_metered:
            meter_references(parts)
        self._validator = self._compiled()
        self._without_patterns: jsonschema_rs.Validator | None = None

    def problem(self, value: Any, what: str) -> str | None:
        measure = measured(value, MAX_WORK // self._weight + 1)
        self._refuse_too_much(measure, what)
        validator = self._validator_for(measure, what)
        with self._meter(measure) as meter:
            fits = validator.is_valid(value)
        if meter.is_over:
            raise TooMuchToCheck(f"the {what} are too deep or too many for the references of this schema")
        if fits:
            return None
        if not self._is_told_at_once and not are_few_ways(self._parts, value):
            return f"the {what} do not fit its schema, which has too many choices to say where"
        # Only the first: there may be as many as there are values.
        with self._meter(measure):
            return _first_problem(validator, value, what)

    def _refuse_too_much(self, measure: Measure, what: str) -> None:
        if measure.values * self._weight > MAX_WORK:
            raise TooMuchToCheck(f"the {what} have too many values for a schema of {self._weight} parts")
        if self._chain * measure.depth > MAX_NESTED:
            raise TooMuchToCheck(f"the {what} are nested too deep for this schema")
        if self._has_unique and measure.wide > MAX_WIDE_UNIQUE:
            raise TooMuchToCheck(f"the {what} have too many numbers of more than 64 bits")

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

    def _meter(self, measure: Measure) -> Meter:
        if not self._is_metered:
            return Meter({}, 0)
        sizes: dict[int, int] = {}
        for container in reversed(measure.containers):
            inner = container.values() if isinstance(container, dict) else container
            sizes[id(container)] = 1 + sum(sizes.get(id(part), 1) for part in inner)
        return Meter(sizes, min(MAX_WORK // self._weight, MAX_STEPS))

    def _compiled(self) -> jsonschema_rs.Validator:
        import jsonschema_rs  # noqa: PLC0415 - 25 ms that a run without tools need not pay

        def refuse(uri: str) -> Any:
            raise ValueError(f'no outside schema is fetched: "{uri}"')

        try:
            return jsonschema_rs.validator_for(
                to_json(self._schema).decode(),
                retriever=refuse,
                pattern_options=regex_options(),
                # One of them is to be a pattern, of any size.
                validate_formats=False,
                keywords={STEP: Step},
            )
        except ValueError as error:
            raise BadSchema(str(error)[:300]) from error


def _first_problem(validator: jsonschema_rs.Validator, value: Any, what: str) -> str:
    try:
        validator.validate(value)
    except ValueError as problem:
        path = getattr(problem, "instance_path", ())
        where = "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in path)
        return f"{what}{where}: {getattr(problem, 'message', problem)}"[:600]
    return f"the {what} do not fit its schema"


class _Kept:
    """What was found out about schemas, as much as there is room for: those used last."""

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
    except BadSchema as error:
        # Without its trace, which would keep all that was there.
        return BadSchema(str(error))
    except ValueError as error:
        return BadSchema(str(error)[:300])


def _size(schema_json: bytes, check: _Check | BadSchema) -> int:
    if isinstance(check, BadSchema):
        return 2 * len(schema_json)
    return _KEPT_TIMES * len(schema_json) + _KEPT_PATTERN * check.patterns + 2_048


_kept = _Kept(MAX_KEPT_BYTES)
