"""Numbers that collide must not take the square of their count when a set is made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel

from cortex import Toolbox
from cortex.tools.validation_work import MAX_HASHED
from sandbox import ToolError
from tests.cpu_clock import cpu_clock

MODULUS = 2**61 - 1  # by which Python hashes numbers


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Point:
    x: int


class Tree(BaseModel):
    marks: set[int] = set()
    children: list[Tree] = []


def tool_of(annotation: Any):
    def take(values: annotation) -> int:
        return 1

    toolbox = Toolbox()
    toolbox.tool(take)
    found = toolbox.get("take")
    assert found is not None
    return found


@pytest.mark.parametrize(
    "annotation",
    [
        set[int],
        frozenset[float],
        set[UUID],
        set[Decimal],
        set[tuple[int, int]],
        set[str | int],
        set[Point],
        set,
        dict[int, str],
        dict[UUID, str],
        Mapping[int, str],
        Counter[int],
        list[set[int]],
        set[int] | None,
        Tree,
    ],
)
def test_parameters_open_to_hash_collisions_are_recognised(annotation):
    assert tool_of(annotation).signature.hashed.keys() == {"values"}


@pytest.mark.parametrize(
    "annotation",
    [list[int], dict[str, int], dict, dict[Any, Any], set[str], set[bytes], set[Colour], set[Literal["a", "b"]], str],
)
def test_texts_and_lists_are_not_open_to_hash_collisions(annotation):
    assert tool_of(annotation).signature.hashed == {}


COLLIDING = {
    "integers": (set[int], [MODULUS * n for n in range(1, 20_000)]),
    "numbers in texts": (set[int], [str(MODULUS * n) for n in range(1, 20_000)]),
    "names that become numbers": (dict[int, int], {str(MODULUS * n): 1 for n in range(1, 20_000)}),
    "identifiers": (set[UUID], [str(UUID(int=MODULUS * n)) for n in range(1, 20_000)]),
    "decimals": (set[Decimal], [str(MODULUS * n) for n in range(1, 20_000)]),
}


class Frozen(BaseModel, frozen=True):
    n: int


def test_objects_that_python_compares_weigh_twice_as_much():
    assert tool_of(set[Frozen]).signature.hashed == {"values": 2}
    with cpu_clock(1.0), pytest.raises(ToolError, match='"values" holds more than'):
        tool_of(set[Frozen]).read({"values": [{"n": MODULUS * n} for n in range(1, 600)]})


def test_all_parameters_of_a_call_are_counted_together():
    def take(a: set[int], b: set[int]) -> int:
        return 1

    toolbox = Toolbox()
    tool = toolbox.tool(take) and toolbox.get("take")
    with pytest.raises(ToolError, match='"b" holds more than'):
        tool.read({"a": list(range(600)), "b": list(range(600))})


@pytest.mark.parametrize("what", COLLIDING)
def test_values_that_collide_are_refused_before_they_are_hashed(what):
    annotation, values = COLLIDING[what]
    with cpu_clock(1.0), pytest.raises(ToolError, match=f'"values" holds more than {MAX_HASHED} values'):
        tool_of(annotation).read({"values": values})


def test_a_set_with_as_many_values_as_allowed_is_accepted():
    found = tool_of(set[int]).read({"values": list(range(MAX_HASHED - 1))})
    assert len(found.named["values"]) == MAX_HASHED - 1


def test_a_list_may_have_more_values_than_a_set():
    tool_of(list[int]).read({"values": list(range(10 * MAX_HASHED))})
    tool_of(set[str]).read({"values": [str(n) for n in range(10 * MAX_HASHED)]})
