"""What pydantic would do more than once with each value is counted before it begins."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from cortex import Toolbox
from cortex.tools.validation_work import Breadth
from sandbox import ToolError
from tests.cpu_clock import cpu_clock


class Add(BaseModel):
    left: Sum
    right: Sum


class Subtract(BaseModel):
    left: Sum
    right: Sum


Sum = Add | Subtract | int


class Chapter(BaseModel):
    title: str = ""
    parts: list[Chapter | Picture] = []


class Picture(BaseModel):
    alt: str = ""
    parts: list[Chapter | Picture] | None = None


class Leaf(BaseModel):
    kind: Literal["leaf"]


class Twig(BaseModel):
    kind: Literal["twig"]
    ends: list[Annotated[Leaf | Twig, Field(discriminator="kind")]]


class Folder(BaseModel):
    name: str = ""
    inside: list[Folder] = []


Nested = list["Nested"] | int


def tool_of(annotation: Any) -> Any:
    def take(value: annotation) -> int:
        return 1

    toolbox = Toolbox()
    toolbox.tool(take)
    return toolbox.get("take")


class Row(BaseModel):
    a: int
    b: int
    c: int = 0


@pytest.mark.parametrize(
    ("annotation", "breadth"),
    [
        (Sum, Breadth(3, 2, 2, 1)),
        (list[Sum] | None, Breadth(3, 2, 2, 1)),
        (Chapter, Breadth(2, 1, 2, 1)),
        (Twig, Breadth(1, 2, 1, 1)),
        (list[Row], Breadth(1, 2, 1, 1)),
        (int | str | list[int], Breadth(3, 1, 1, 1)),
        (Folder, None),
        (list[int] | None, None),
    ],
)
def test_types_that_multiply_the_work_of_validation_are_recognised(annotation, breadth):
    assert tool_of(annotation).signature.breadths.get("value") == breadth


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"left": value, "right": 1}
    return value


def test_a_value_of_some_levels_is_taken_and_a_deeper_one_refused_before_it_is_tried():
    tool = tool_of(Sum)
    assert tool.read({"value": nested(10)})
    with cpu_clock(1.0), pytest.raises(ToolError, match='"value" is nested too deep for its type'):
        tool.read({"value": nested(60)})


def test_many_values_of_some_levels_are_refused_too():
    with cpu_clock(1.0), pytest.raises(ToolError, match="or too large; send it in parts"):
        tool_of(list[Sum]).read({"value": [nested(8)] * 500})


def test_types_with_a_discriminator_or_without_a_union_may_be_deep():
    twig: dict[str, Any] = {"kind": "leaf"}
    for _ in range(25):
        twig = {"kind": "twig", "ends": [twig]}
    folder: dict[str, Any] = {}
    for _ in range(25):
        folder = {"inside": [folder]}
    with cpu_clock(1.0):
        assert tool_of(Twig).read({"value": twig})
        assert tool_of(Folder).read({"value": folder})


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (list[int | bool | float | bytes | UUID | date | datetime | time | Decimal | Row], "x"),
        (list[Row | int], {}),
    ],
)
def test_thousands_of_values_for_many_types_are_refused(annotation, value):
    with cpu_clock(1.0), pytest.raises(ToolError, match="too large; send it in parts"):
        tool_of(annotation).read({"value": [value] * 19_000})


def test_thousands_of_ordinary_values_are_taken():
    assert tool_of(list[int | str]).read({"value": [1, "a"] * 9_000})
    assert tool_of(list[Row]).read({"value": [{"a": 1, "b": 2}] * 6_000})


def test_thousands_of_values_that_do_not_fit_are_not_listed_one_by_one():
    with cpu_clock(1.0), pytest.raises(ToolError, match="it does not fit in 19000 places"):
        tool_of(list[int]).read({"value": ["x"] * 19_000})
    with pytest.raises(ToolError, match=r"value\.0: Input should be a valid integer.*and 2 more"):
        tool_of(list[int]).read({"value": ["x"] * 5})
