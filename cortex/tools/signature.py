"""Inspects a Python function for use as a tool: its parameters, their schema, and how to validate them.

Problems are reported at registration, with the parameter's name and what to do. A registered tool can be described to a
model and called with JSON.
"""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import SchemaError, from_json

from .pictures import has_lost_bytes, with_bytes
from .schemas import schema_of
from .validation_work import Breadth, breadths, hashed_fields

_SECTIONS = (
    "args|arguments|parameters|params|attributes|returns?|yields?|raises|examples?|notes?|warnings?|see also|todo"
)
_SECTION = re.compile(rf"({_SECTIONS}):\s*$", re.IGNORECASE)
_UNREAD = re.compile(
    r"[ \w]+\n-{3,}\s*$|:(param|parameter|arg|argument|key|type|returns?|rtype|yields?|raises?)\b[^:]*:"
)
_ARGUMENTS = re.compile(r"(args|arguments|parameters|params):\s*$", re.IGNORECASE)
_ENTRY = re.compile(r"\*{0,2}(?P<name>\w+)\s*(\([^)]*\))?:\s*(?P<text>.*)")

_TYPES = "str, int, float, bool, bytes, list, dict, an Enum, a Literal, a dataclass or a pydantic model"
_HOLDERS = "a list, tuple, set, dict, Sequence or Mapping, or a TypedDict, dataclass or model that does not hold itself"
# A number is accepted for a text, because models write postcodes like that; NaN, which JSON lacks, is not.
_CONFIG = ConfigDict(extra="forbid", coerce_numbers_to_str=True, allow_inf_nan=False)
_UNDESCRIBABLE = (PydanticUserError, SchemaError, TypeError, ValueError, NameError, AttributeError)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the function."""

    name: str
    annotation: Any
    """With the description from the docstring, and the name that callers use."""
    default: Any
    is_positional: bool
    """It cannot be passed by name."""

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Signature:
    """All that is needed to describe a function to a model, and to call it with JSON."""

    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    is_async: bool
    arguments: type[BaseModel]
    """One field for each parameter, in order: `p0`, `p1`, …; a parameter may be called `json` or `_x`, but a field may
    not."""
    result: TypeAdapter[Any]
    parameters: tuple[Parameter, ...]
    hashed: Mapping[str, int]
    """Parameters, by their public names, that become sets of numbers and the like, with the weight of one value: see
    `validation_work.py`."""
    breadths: Mapping[str, Breadth]
    """Parameters that take more work to validate than their size suggests: see `validation_work.py`."""

    def bind(self, arguments: BaseModel) -> tuple[list[Any], dict[str, Any]]:
        """The arguments for the function: only those that were given, because it has its own defaults."""
        values: list[Any] = []
        named: dict[str, Any] = {}
        for number, parameter in enumerate(self.parameters):
            field = f"p{number}"
            is_said = field in arguments.model_fields_set
            if parameter.is_positional:
                values.append(getattr(arguments, field) if is_said else parameter.default)
            elif is_said:
                named[parameter.name] = getattr(arguments, field)
        return values, named

    def shown(self, arguments: BaseModel, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that the function gets, as JSON, including defaults."""
        unshown = set()
        for name, field in self.arguments.model_fields.items():
            is_said = name in arguments.model_fields_set
            # A default that is not in the schema cannot be expressed in JSON.
            is_untold = not is_said and "default" not in self.input_schema["properties"].get(field.alias, {})
            # Reading an iterator would consume it before the function gets it; the given value is the same.
            if is_untold or isinstance(getattr(arguments, name), Iterator):
                unshown.add(name)
        dumped = arguments.model_dump_json(by_alias=True, exclude=unshown, warnings=False)
        return {**given, **from_json(dumped)}


def signature_of(function: Callable[..., Any], name: str, names: Mapping[str, Any] | None = None) -> Signature:
    """Inspect a function. Raises ValueError if it cannot be a tool. `names` are additional names for resolving
    annotations, for types that are defined where the function is."""
    if inspect.isclass(function) or not callable(function):
        raise ValueError(f'Cannot make a tool of "{name}": it is not a function')
    body = _body_of(function)
    if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        raise ValueError(f'Cannot make a tool of "{name}": it yields; return a list instead')
    docs = docs_of(body)
    hints = _hints(body, name, names)
    with_them = {each: with_bytes(hint, names) for each, hint in hints.items()}
    parameters = _parameters(function, name, with_them, docs)
    arguments, input_schema = _arguments(parameters, name)
    result, output_schema = _result(hints, name)
    return Signature(
        description=docs.description,
        input_schema=input_schema,
        output_schema=output_schema,
        is_async=inspect.iscoroutinefunction(body),
        arguments=arguments,
        result=result,
        parameters=parameters,
        hashed={
            str(arguments.model_fields[field].alias): weight
            for field, weight in hashed_fields(arguments.__pydantic_core_schema__).items()
        },
        breadths={
            str(arguments.model_fields[field].alias): breadth
            for field, breadth in breadths(arguments.__pydantic_core_schema__).items()
        },
    )


def _body_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the annotations and the docstring, inside a `partial` or a callable object."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def _hints(body: Callable[..., Any], name: str, names: Mapping[str, Any] | None) -> dict[str, Any]:
    try:
        return typing.get_type_hints(body, localns=dict(names or {}), include_extras=True)
    except _UNDESCRIBABLE as error:
        raise ValueError(
            f'Cannot make a tool of "{name}": a type in its signature cannot be found ({error}); define it in the '
            "module, or import it outside of `if TYPE_CHECKING`"
        ) from error


def _parameters(function: Callable[..., Any], name: str, hints: Mapping[str, Any], docs: Docs) -> tuple[Parameter, ...]:
    # Arguments that a `partial` has filled in are settled: an API key put there is neither shown nor replaceable.
    filled = function.keywords if isinstance(function, functools.partial) else {}
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in filled:
            continue
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            raise ValueError(
                f'Cannot make a tool of "{name}": "{parameter}" takes any number of arguments; '
                "name each one, or take a list or a dict"
            )
        if parameter.annotation is parameter.empty:
            raise ValueError(
                f'Cannot make a tool of "{name}": parameter "{parameter.name}" has no type; '
                f'write it, as in "{parameter.name}: str"'
            )
        annotation = _described(hints.get(parameter.name, parameter.annotation), parameter.name, docs)
        found.append(
            Parameter(parameter.name, annotation, parameter.default, parameter.kind is parameter.POSITIONAL_ONLY)
        )
    return tuple(found)


def _described(annotation: Any, name: str, docs: Docs) -> Any:
    own = FieldInfo.from_annotation(annotation)
    alias = own.alias if isinstance(own.alias, str) else name
    return Annotated[
        annotation,
        Field(
            alias=alias,
            validation_alias=alias,
            serialization_alias=alias,
            description=own.description or docs.parameters.get(name) or None,
        ),
    ]


def _arguments(parameters: tuple[Parameter, ...], name: str) -> tuple[type[BaseModel], dict[str, Any]]:
    try:
        model, schema = _described_model(parameters)
    except _UNDESCRIBABLE as error:
        raise ValueError(f'Cannot make a tool of "{name}": {_culprit(parameters)}; use {_TYPES}') from error
    for parameter in parameters:
        if has_lost_bytes(_described_model((parameter,))[0].__pydantic_core_schema__):
            raise ValueError(
                f'Cannot make a tool of "{name}": parameter "{parameter.name}" has bytes where they cannot be told '
                f"from text, in the type {_type_of(parameter)}; use bytes in {_HOLDERS}"
            )
    schema.setdefault("properties", {})
    schema["additionalProperties"] = False
    return model, schema


def _described_model(parameters: tuple[Parameter, ...]) -> tuple[type[BaseModel], dict[str, Any]]:
    fields: dict[str, Any] = {
        f"p{number}": (parameter.annotation, ... if parameter.is_required else parameter.default)
        for number, parameter in enumerate(parameters)
    }
    model = create_model("Arguments", __config__=_CONFIG, **fields)
    return model, schema_of(TypeAdapter(model), "validation")


def _culprit(parameters: tuple[Parameter, ...]) -> str:
    for parameter in parameters:
        try:
            _described_model((parameter,))
        except _UNDESCRIBABLE as error:
            # Only this advice of pydantic helps here: on older Pythons there are two kinds of TypedDict.
            is_old = isinstance(error, PydanticUserError) and error.code == "typed-dict-version"
            hint = f" ({str(error).splitlines()[0]})" if is_old else ""
            return f'parameter "{parameter.name}" has the type {_type_of(parameter)}, which JSON cannot describe{hint}'
    return "its parameters cannot be described in JSON"


def _type_of(parameter: Parameter) -> str:
    return inspect.formatannotation(typing.get_args(parameter.annotation)[0])


def _result(hints: Mapping[str, Any], name: str) -> tuple[TypeAdapter[Any], dict[str, Any] | None]:
    if "return" not in hints:
        return TypeAdapter(Any), None
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hints["return"])
        return adapter, schema_of(adapter, "serialization")
    except _UNDESCRIBABLE as error:
        type_ = inspect.formatannotation(hints["return"])
        raise ValueError(
            f'Cannot make a tool of "{name}": its result has the type {type_}, which JSON cannot describe; '
            f"return {_TYPES}"
        ) from error


class Docs(NamedTuple):
    description: str
    parameters: dict[str, str]


def docs_of(function: Callable[..., Any]) -> Docs:
    """The description of a function and, from an `Args:` section in Google style, of its parameters. NumPy and Sphinx
    sections are not read, and are not part of the description either."""
    lines = (inspect.getdoc(function) or "").splitlines()
    end = next((number for number in range(len(lines)) if _ends_description(lines, number)), len(lines))
    return Docs("\n".join(lines[:end]).strip(), _parameter_texts(lines[end:]))


def _ends_description(lines: list[str], number: int) -> bool:
    return bool(_SECTION.match(lines[number]) or _UNREAD.match("\n".join(lines[number : number + 2])))


def _parameter_texts(lines: list[str]) -> dict[str, str]:
    """The entries of the `Args:` section. All have the same indent; deeper lines continue the entry above."""
    found: dict[str, str] = {}
    is_inside, indent, last = False, 0, ""
    for line in lines:
        if _SECTION.match(line):
            is_inside, indent, last = _ARGUMENTS.match(line) is not None, 0, ""
            continue
        text = line.strip()
        depth = len(line) - len(line.lstrip())
        if not is_inside or not text:
            continue
        if depth == 0:
            is_inside = False
            continue
        indent = indent or depth
        entry = _ENTRY.match(text) if depth <= indent else None
        if entry is not None:
            last = entry["name"]
            found[last] = entry["text"]
        elif last:
            found[last] = f"{found[last]} {text}".strip()
    return found
