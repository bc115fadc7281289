"""Whether a value fits a JSON Schema that nobody has vouched for. Patterns run in linear time, nothing is fetched, and
a schema that would take long is not used at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

if TYPE_CHECKING:
    import jsonschema_rs

# References let thirty lines stand for a billion. So much of it is still checked in a few milliseconds.
MAX_UNFOLDED = 100_000
_KEPT_APART = frozenset({"$defs", "definitions"})


class BadSchema(ValueError):
    """The schema cannot be used. The message says why."""


def schema_problem(schema_json: bytes, value: Any, what: str = "arguments") -> str | None:
    """The first thing in which the value does not fit, or None. Raises BadSchema."""
    validator = _validator(schema_json)
    if isinstance(validator, str):
        raise BadSchema(validator)
    if validator.is_valid(value):
        return None
    # Only the first: there may be as many as there are values.
    try:
        validator.validate(value)
    except ValueError as problem:
        path = getattr(problem, "instance_path", ())
        where = "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in path)
        return f"{what}{where}: {getattr(problem, 'message', problem)}"[:600]
    return f"the {what} do not fit its schema"


@lru_cache(maxsize=512)
def _validator(schema_json: bytes) -> jsonschema_rs.Validator | str:
    """The validator for a schema, or why there is none."""
    import jsonschema_rs  # noqa: PLC0415 - 25 ms that a run without tools need not pay

    def refuse(uri: str) -> Any:
        raise ValueError(f'no outside schema is fetched: "{uri}"')

    try:
        if unfolded(from_json(schema_json)) > MAX_UNFOLDED:
            return f"its references unfold to more than {MAX_UNFOLDED} parts"
        return jsonschema_rs.validator_for(
            schema_json.decode(), retriever=refuse, pattern_options=jsonschema_rs.RegexOptions()
        )
    except RecursionError:
        return "its references lead from one to the next too often"
    except ValueError as error:
        return str(error)[:300]


def unfolded(schema: Any) -> int:
    """How many parts the schema has when each reference is replaced by what it means. One that leads back to where it
    is counts nothing: those are followed once."""
    sizes: dict[int, int] = {}

    def size(part: Any) -> int:
        known = sizes.get(id(part))
        if known is not None:
            return known
        sizes[id(part)] = 0
        total = 1 + sum(size(inner) for inner in _inner(part, schema))
        sizes[id(part)] = total
        return total

    return size(schema)


def _inner(part: Any, root: Any) -> Iterator[Any]:
    if isinstance(part, list):
        yield from (item for item in part if isinstance(item, dict | list))
    elif isinstance(part, Mapping):
        for name, value in part.items():
            if name in {"$ref", "$dynamicRef"} and isinstance(value, str):
                target = _target(value, root)
                if target is not None:
                    yield target
            elif isinstance(value, dict | list) and name not in _KEPT_APART:
                yield value


def _target(reference: str, root: Any) -> Any:
    """What a reference within the document means. Those by name are few in the wild, and stand for the whole here."""
    if not reference.startswith("#/"):
        return root if reference.startswith("#") else None
    found = root
    for step in reference[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or key not in found:
            return None
        found = found[key]
    return found if isinstance(found, dict | list) else None
