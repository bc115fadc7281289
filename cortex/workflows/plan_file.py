"""Reads a plan from a file: JSON, or YAML where PyYAML is installed. Counted before it is parsed, and never trusted.

YAML is read without aliases, dates and tags of Python: what comes out is what JSON could say.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from sandbox import JsonLimits, TooComplex, bounded_json

from .plan import INPUT, MAX_PLAN_BYTES, MAX_TASKS, Plan, PlanError, inputs_of
from .tasks import CodeExecutionTask, DecisionTask, McpToolTask

PLAN_LIMITS = JsonLimits(containers=20_000, values=50_000)
MAX_NESTED = 100
"""Levels of YAML. The parser of JSON has a limit of its own."""
MAX_INPUT_BYTES = 262_144
STDIN = "-"
NO_YAML = "this plan is YAML, and PyYAML is not installed: install it (pip install PyYAML), or write the plan as JSON"
_YAML = (".yaml", ".yml")
_BOOL = "tag:yaml.org,2002:bool"
_NOT_JSON = frozenset({_BOOL, "tag:yaml.org,2002:timestamp"})
_TRUE_OR_FALSE = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")


def read_plan(name: str) -> Any:
    """The parsed file, for `checked`. `-` is standard input. Raises PlanError that says what is wrong, and where."""
    data = _bytes_of(name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlanError(f'"{name}" is not UTF-8 text: invalid byte at position {error.start}') from error
    if not text.strip():
        raise PlanError(f'"{name}" is empty')
    try:
        found = plan_from_yaml(text) if name.lower().endswith(_YAML) else plan_from_json(text)
    except PlanError as error:
        raise PlanError(f'"{name}": {error}') from error
    if isinstance(found, dict):
        found.pop("$schema", None)  # for editors
    return found


def plan_from_json(text: str) -> Any:
    """Raises PlanError."""
    try:
        return bounded_json(text, PLAN_LIMITS)
    except TooComplex as error:
        raise PlanError(f"it has {error}") from error
    except (ValueError, RecursionError) as error:
        raise PlanError(f"it is not JSON: {str(error)[:200]}") from error


def plan_from_yaml(text: str) -> Any:
    """Raises PlanError, also when PyYAML is not installed."""
    try:
        yaml: Any = import_module("yaml")  # not a dependency
    except ImportError as error:
        raise PlanError(NO_YAML) from error
    loader = _loader(yaml)
    try:
        _count(yaml.parse(text, Loader=loader))
        value = yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        raise PlanError(f"it is not YAML: {' '.join(str(error).split())[:300]}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError(f"it is not YAML that can be read: {str(error)[:200]}") from error
    _require_text_keys(value)
    return value


def _loader(yaml: Any) -> Any:
    """The safe loader, the fast one if there is. Dates, and words like `yes` and `on`, stay text, as in JSON."""
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("PlainLoader", (base,), {})
    loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in rules if tag not in _NOT_JSON]
        for first, rules in base.yaml_implicit_resolvers.items()
    }
    loader.add_implicit_resolver(_BOOL, _TRUE_OR_FALSE, list("tTfF"))
    return loader


def _count(events: Iterable[Any]) -> None:
    """Raise PlanError for what would take long to build, before it is built."""
    containers = values = depth = 0
    for event in events:
        match type(event).__name__:
            case "AliasEvent":
                raise PlanError(f"an alias in line {event.start_mark.line + 1}: a plan has none, write the value out")
            case "MappingStartEvent" | "SequenceStartEvent":
                containers, depth = containers + 1, depth + 1
            case "MappingEndEvent" | "SequenceEndEvent":
                depth -= 1
            case "ScalarEvent":
                values += 1
        if containers > PLAN_LIMITS.containers or values > 2 * PLAN_LIMITS.values or depth > MAX_NESTED:
            line = event.start_mark.line + 1
            raise PlanError(f"it has too many values, or is nested too deeply (in line {line})")


def _require_text_keys(value: Any) -> None:
    left = [value]
    while left:
        match left.pop():
            case dict() as members:
                for key in members:
                    if not isinstance(key, str):
                        raise PlanError(f"the key {str(key)[:60]} is not text: put it into quotes")
                left += members.values()
            case list() as items:
                left += items
            case str() | int() | float() | None:
                pass
            case other:
                raise PlanError(f"a value of the kind {type(other).__name__}, which JSON does not have")


def inputs_from(words: Iterable[str], plan: Plan) -> dict[str, Any]:
    """The inputs of `name=value` words: values as JSON if they are, else as text. Raises PlanError for one that the
    plan does not use, for one that is missing, and for one that is given twice."""
    wanted = inputs_of(plan)
    given: dict[str, Any] = {}
    for word in words:
        name, is_pair, text = word.partition("=")
        if not is_pair or not name:
            raise PlanError(f'an input is NAME=VALUE, not "{word[:60]}"')
        if name in given:
            raise PlanError(f'the input "{name[:60]}" is given twice')
        if len(text) > MAX_INPUT_BYTES:
            raise PlanError(f'the input "{name[:60]}" is longer than {MAX_INPUT_BYTES} characters')
        given[name] = _value_of(text)
    for name in given:
        if name not in wanted:
            known = ", ".join(sorted(wanted)) or "none"
            raise PlanError(f'the plan has no input "{name[:60]}"; its inputs: {known[:500]}')
    missing = sorted(wanted - given.keys())
    if missing:
        raise PlanError(f"inputs are missing: {', '.join(missing)[:500]}")
    return given


def _value_of(text: str) -> Any:
    try:
        return bounded_json(text, PLAN_LIMITS)
    except TooComplex as error:
        raise PlanError(f"an input has {error}") from error
    except (ValueError, RecursionError):
        return text


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of a plan file, as it is published."""
    schema = Plan.model_json_schema(by_alias=True)
    schema["properties"] = {"$schema": {"type": "string"}, **schema["properties"]}
    schema["properties"]["tasks"] |= {"minItems": 1, "maxItems": MAX_TASKS}
    for task in (CodeExecutionTask, DecisionTask, McpToolTask):
        # Only a class can leave its type out: in a file it says which class is meant.
        form = schema["$defs"][task.__name__]
        form["required"].insert(1, "type")
        del form["properties"]["type"]["default"]
    about = (
        f"A workflow of Motor Cortex. At most {MAX_PLAN_BYTES} bytes. `${{task.path}}` as a whole value of an argument "
        f"is replaced by a part of a result, `${{{INPUT}.name}}` by an input of the run."
    )
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Workflow", "description": about}
    return {**head, **{key: value for key, value in schema.items() if key not in head}}


def _bytes_of(name: str) -> bytes:
    try:
        if name == STDIN:
            data = sys.stdin.buffer.read(MAX_PLAN_BYTES + 1)
        else:
            with open(Path(name), "rb") as file:
                if stat.S_ISDIR(os.fstat(file.fileno()).st_mode):
                    raise IsADirectoryError
                data = file.read(MAX_PLAN_BYTES + 1)
    except IsADirectoryError:
        raise PlanError(f'"{name}" is a folder; a plan is a file') from None
    except (OSError, ValueError) as error:
        raise PlanError(f'cannot read "{name}": {getattr(error, "strerror", None) or error}') from error
    if len(data) > MAX_PLAN_BYTES:
        raise PlanError(f'"{name}" has more than {MAX_PLAN_BYTES} bytes, the most that a plan may have')
    return data
