"""From a Python function to a tool: its name, words and schema, and what cannot be one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict as OldTypedDict

import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from cortex.settings.sections import ToolSettings
from cortex.tools import Toolbox
from sandbox import ToolError


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    """A thing in the shop."""

    item_name: str
    title: str = "untitled"
    colour: Colour = Colour.RED


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


@dataclass
class Point:
    x: float
    y: float = 0.0


class Row(TypedDict):
    name: str


class OldRow(OldTypedDict):
    name: str


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    return Toolbox().add(function, name="f").input_schema


def test_the_bare_decorator_takes_name_words_and_schema_from_the_function_and_leaves_it_as_it_is():
    toolbox = Toolbox()

    @toolbox.tool
    def stock(item: str, at_least: int = 0) -> int:
        """How many there are.

        More words.

        Args:
            item: What it is called.
            at_least (int): Count no
                fewer than these.

        Returns:
            item: not a parameter here.
        """
        return at_least

    tool = toolbox.get("stock")
    assert stock("x", 3) == 3
    assert toolbox.names() == ["stock"]
    assert len(toolbox) == 1
    assert tool.name == tool.wire_name == "stock"
    assert tool.description == "How many there are. More words."
    assert (tool.policy, tool.for_model, tool.for_code) == ("allow", True, True)
    assert tool.output_schema == {"type": "integer"}
    assert tool.input_schema == {
        "additionalProperties": False,
        "properties": {
            "item": {"description": "What it is called.", "type": "string"},
            "at_least": {"default": 0, "description": "Count no fewer than these.", "type": "integer"},
        },
        "required": ["item"],
        "type": "object",
    }


def test_the_decorator_with_options_takes_them():
    toolbox = Toolbox()

    @toolbox.tool(name="shop.stock", description="Counts.", policy="ask", for_model=False)
    async def stock() -> int:
        """Not this."""
        return 1

    tool = toolbox.get("shop_stock")
    assert tool is toolbox.get("shop.stock")
    assert (tool.name, tool.description, tool.policy) == ("shop.stock", "Counts.", "ask")
    assert (tool.for_model, tool.for_code) == (False, True)
    assert tool.input_schema == {"additionalProperties": False, "properties": {}, "type": "object"}


def test_the_types_of_pydantic_are_described_without_titles_and_closed_at_every_depth():
    def order(
        item: Item,
        kind: Literal["new", "used"],
        amount: Annotated[int, Field(ge=1, le=9, description="How many")] = 1,
        until: date | None = None,
        points: list[Point] = [],  # noqa: B006 - as people write it
        rows: dict[str, Row] | None = None,
        free: Any = None,
    ): ...

    schema = schema_of(order)
    assert schema["required"] == ["item", "kind"]
    assert list(schema["properties"]) == ["item", "kind", "amount", "until", "points", "rows", "free"]
    assert schema["properties"]["amount"] == {
        "default": 1,
        "description": "How many",
        "maximum": 9,
        "minimum": 1,
        "type": "integer",
    }
    assert schema["properties"]["kind"] == {"enum": ["new", "used"], "type": "string"}
    assert schema["$defs"]["Colour"] == {"enum": ["red", "blue"], "type": "string"}
    assert schema["$defs"]["Item"] == {
        "additionalProperties": False,
        "description": "A thing in the shop.",
        "properties": {
            "item_name": {"type": "string"},
            "title": {"default": "untitled", "type": "string"},
            "colour": {"$ref": "#/$defs/Colour", "default": "red"},
        },
        "required": ["item_name"],
        "type": "object",
    }
    assert schema["$defs"]["Point"]["additionalProperties"] is False
    assert schema["$defs"]["Row"]["additionalProperties"] is False


def test_a_model_that_is_open_stays_open():
    def f(model: Open): ...

    assert schema_of(f)["$defs"]["Open"]["additionalProperties"] is True


def test_patterns_that_look_around_are_left_to_the_functions_own_check():
    class Word(BaseModel):
        model_config = ConfigDict(regex_engine="python-re")
        plain: str = Field(pattern="^a+$")
        odd: str = Field(pattern="^(?!x)a+$")

    def f(word: Word): ...

    assert schema_of(f)["$defs"]["Word"]["properties"] == {
        "plain": {"pattern": "^a+$", "type": "string"},
        "odd": {"type": "string"},
    }
    with pytest.raises(ToolError, match=r"word\.odd"):
        Toolbox().add(f).read({"word": {"plain": "a", "odd": "xa"}})


def test_parameters_may_have_names_that_a_model_may_not():
    def f(json: str, model_config: int, _private: int, copy: bool, self_: str, title: str = "t"): ...

    assert list(schema_of(f)["properties"]) == ["json", "model_config", "_private", "copy", "self_", "title"]


def test_an_alias_is_the_name_for_callers():
    def f(from_: Annotated[str, Field(alias="from")]): ...

    assert list(schema_of(f)["properties"]) == ["from"]


def test_types_that_are_defined_beside_the_function_are_found():
    class Beside(BaseModel):
        a: int

    def inner():
        def f(beside: Beside, other: list[Beside]) -> Beside: ...

        return Toolbox().add(f)

    assert "Beside" in inner().input_schema["$defs"]


def test_defaults_that_json_cannot_say_are_left_out():
    def f(a: float = float("nan"), b: Any = object(), c: float = float("inf")): ...  # noqa: B008

    assert schema_of(f)["properties"] == {"a": {"type": "number"}, "b": {}, "c": {"type": "number"}}


def test_what_a_partial_has_filled_in_is_neither_shown_nor_asked_for():
    def fetch(url: str, key: str, depth: int = 1) -> str:
        """Fetch it."""
        return url + key

    tool = Toolbox().add(functools.partial(fetch, key="SECRET"), name="fetch")
    assert list(tool.input_schema["properties"]) == ["url", "depth"]
    assert "SECRET" not in str(tool.input_schema)
    assert tool.description == "Fetch it."


def test_methods_and_objects_that_can_be_called_are_functions_too():
    class Shop:
        def stock(self, item: str) -> int: ...

        def __call__(self, a: int) -> int:
            """Call me."""
            return a

    toolbox = Toolbox()
    assert list(toolbox.add(Shop().stock).input_schema["properties"]) == ["item"]
    assert toolbox.add(Shop(), name="shop").description == "Call me."


def args(*items: int): ...
def kwargs(**items: int): ...
def untyped(item): ...
def untyped_default(item=3): ...
def a_class(item: Iterator[int]): ...
def callback(done: Callable[[int], int]): ...
def error(ok: int, problem: Exception): ...
def nested(things: list[dict[str, Exception]]): ...
def old(row: OldRow): ...
def missing(item: Nowhere): ...  # noqa: F821 - on purpose
def bad_result() -> Exception: ...
def generator() -> Iterator[int]:
    yield 1


async def async_generator():
    yield 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (args, r'"\*items: .*int.*" takes any number of arguments; name each one, or take a list or a dict'),
        (kwargs, r'"\*\*items: .*int.*" takes any number of arguments'),
        (untyped, r'parameter "item" has no type; write it, as in "item: str"'),
        (untyped_default, r'parameter "item" has no type'),
        (a_class, r'parameter "item" has the type .*Iterator\[int\], which JSON cannot describe; use str, int'),
        (callback, r'parameter "done" has the type .*Callable'),
        (error, r'parameter "problem" has the type Exception'),
        (nested, r'parameter "things" has the type list\[dict\[str, Exception\]\]'),
        (old, r'parameter "row" .* which JSON cannot describe \(Please use `typing_extensions.TypedDict`'),
        (missing, r"a type in its signature cannot be found \(name 'Nowhere' is not defined\); define it"),
        (bad_result, r"its result has the type Exception, which JSON cannot describe; return str"),
        (generator, r"it yields; return a list instead"),
        (async_generator, r"it yields"),
        (Item, r"it is not a function"),
        (3, r"it is not a function"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_at_registration_with_what_to_do(function, message):
    toolbox = Toolbox()
    with pytest.raises(ValueError, match=f'Cannot make a tool of "shop.f": .*{message}'):
        toolbox.add(function, name="shop.f")
    assert toolbox.names() == []


def test_a_policy_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="no policy 'never'; there are allow, ask, deny"):
        Toolbox().add(kwargs, name="f", policy="never")


def test_a_tool_neither_for_the_model_nor_for_code_is_refused():
    with pytest.raises(ValueError, match="neither for the model nor for code"):
        Toolbox().add(kwargs, name="f", for_model=False, for_code=False)


def test_a_long_description_is_cut_because_an_api_may_refuse_it():
    def f(): ...

    f.__doc__ = "word " * 1000
    description = Toolbox().add(f).description
    assert len(description) == 1000
    assert description.endswith("…")


def numpy_style(item: str) -> int:
    """How many there are.

    Parameters
    ----------
    item : str
        What it is called.

    Returns
    -------
    int
    """
    return len(item)


def sphinx_style(item: str) -> int:
    """How many there are: of what
    is on the shelf.

    :param str item: What it is called.
    :returns: a number
    """
    return len(item)


def test_sections_of_other_styles_are_no_part_of_a_description():
    assert Toolbox().add(numpy_style).description == "How many there are."
    assert Toolbox().add(sphinx_style).description == "How many there are: of what is on the shelf."


def test_without_a_docstring_there_is_no_description():
    def f(): ...

    assert Toolbox().add(f).description == ""


def test_the_model_is_told_of_its_tools_without_denied_ones():
    def f(): ...

    toolbox = Toolbox()
    for name in ("both", "denied", "ask"):
        toolbox.add(f, name=name, policy="deny" if name == "denied" else "ask" if name == "ask" else "allow")
    toolbox.add(f, name="only.code", for_model=False)
    toolbox.add(f, name="only.model", for_code=False)
    assert toolbox.names_for_model() == ["both", "ask", "only.model"]
    assert [tool.name for tool in toolbox.declarations()] == ["both", "ask", "only.code"]
    settings = ToolSettings(policies={"both": "deny", "denied": "allow"})
    assert toolbox.names_for_model(settings) == ["denied", "ask", "only.model"]
    assert [tool.name for tool in toolbox.definitions(settings)] == ["denied", "ask", "only.model"]
    assert [tool.name for tool in toolbox.declarations(settings)] == ["denied", "ask", "only.code"]
