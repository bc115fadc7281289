"""What a model is told of the tools, byte for byte. A change of these bytes is a change of what every agent reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from cortex.settings.sections import ExecuteSettings
from cortex.tools import Toolbox, core_definitions, openai_tools, wire_name
from sandbox import ToolDeclaration

SNAPSHOTS = Path(__file__).parent / "snapshots"


class Kind(Enum):
    NEW = "new"
    USED = "used"


class Wish(BaseModel):
    kinds: frozenset[Kind] = frozenset(Kind)
    words: dict[str, list[set[str]]] = {"x": [{"red", "green", "blue", "white"}]}


class Order(BaseModel):
    """What somebody wants."""

    item: str
    amount: Annotated[int, Field(ge=1)] = 1


def example() -> Toolbox:
    toolbox = Toolbox()

    @toolbox.tool(name="shop.order", policy="ask")
    def order(
        order: Order,
        tags: frozenset[str] = frozenset({"a", "b", "c", "d", "e"}),
        wish: Wish = Wish(),  # noqa: B008 - as people write it
        way: Literal["post", "air"] = "post",
    ) -> bool:
        """Order something.

        Args:
            order: What and how many.
            way: How it travels.
        """
        return True

    @toolbox.tool(name="shop.stock")
    async def stock(item: str) -> dict[str, int]:
        """How many there are."""
        return {}

    return toolbox


def definitions():
    toolbox = example()
    hosts = ["api.example.com", "*.example.org"]
    return [*core_definitions(ExecuteSettings(), hosts, toolbox.declarations()), *toolbox.definitions()]


def snapshots() -> dict[str, list[dict[str, Any]]]:
    return {
        "core-chat.json": openai_tools(core_definitions(ExecuteSettings()), api="chat"),
        "core-responses.json": openai_tools(core_definitions(ExecuteSettings()), api="responses"),
        "learning-chat.json": openai_tools(core_definitions(ExecuteSettings(), learns=True)[-1:], api="chat"),
        "plan-chat.json": openai_tools(core_definitions(ExecuteSettings(), plans=True)[-1:], api="chat"),
        "all-chat.json": openai_tools(definitions(), api="chat"),
        "all-responses.json": openai_tools(definitions(), api="responses"),
    }


def as_bytes(tools: list[dict[str, Any]]) -> bytes:
    return json.dumps(tools, indent=2, ensure_ascii=False).encode() + b"\n"


@pytest.mark.parametrize("name", sorted(snapshots()))
def test_the_tools_are_the_bytes_of_the_snapshot(name):
    assert as_bytes(snapshots()[name]) == (SNAPSHOTS / name).read_bytes(), (
        f"what models read has changed; if that is meant: python -m {__name__}"
    )


def test_the_bytes_are_the_same_in_every_process_whatever_its_hash_seed():
    program = f"import json; from {__name__} import snapshots; print(json.dumps(snapshots(), sort_keys=False))"
    root = Path(__file__).parents[3]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert outputs == {json.dumps(snapshots(), sort_keys=False).encode() + b"\n"}


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_the_tools_of_the_core_are_fewer_than_a_thousand_tokens(api):
    # Three bytes are a token at the very least in English and JSON; it is nearer to four.
    assert len(json.dumps(openai_tools(core_definitions(ExecuteSettings()), api))) / 3 < 1000


def test_plans_are_told_in_what_is_left_of_a_thousand_tokens_and_only_where_they_are_possible():
    without, with_it = (core_definitions(ExecuteSettings(), plans=plans) for plans in (False, True))
    assert [tool.name for tool in with_it[len(without) :]] == ["core.plan"]
    assert with_it[: len(without)] == without
    assert len(json.dumps(openai_tools(with_it))) / 3 < 1000


def test_learning_is_told_in_fewer_than_seven_hundred_tokens_and_only_where_it_is_possible():
    without, with_it = (core_definitions(ExecuteSettings(), learns=learns) for learns in (False, True))
    assert [tool.name for tool in with_it[len(without) :]] == ["core.consolidate"]
    assert with_it[: len(without)] == without
    assert len(json.dumps(openai_tools(with_it[-1:]))) / 3 < 700


@pytest.mark.parametrize(
    ("runs", "told"), [(0, "At most 0 runs in"), (1, "At most 1 run in"), (7, "At most 7 runs in")]
)
def test_a_model_is_told_how_many_runs_a_turn_has(runs, told):
    execute = core_definitions(ExecuteSettings(max_calls_per_turn=runs))[0]
    assert told in execute.description


def test_every_name_and_description_is_one_that_the_apis_take():
    for tool in openai_tools(definitions()):
        function = tool["function"]
        assert set(function["name"]) <= set("abcdefghijklmnopqrstuvwxyz_")
        assert len(function["description"]) <= 1024
        assert function["parameters"]["type"] == "object"
        assert function["parameters"]["additionalProperties"] is False


def test_both_apis_get_the_same_definitions():
    flat = [
        {key: value for key, value in tool.items() if key != "strict"}
        for tool in openai_tools(definitions(), "responses")
    ]
    assert flat == [{"type": "function", **tool["function"]} for tool in openai_tools(definitions(), "chat")]
    assert all(tool["strict"] is False for tool in openai_tools(definitions(), "responses"))


def test_an_unknown_api_is_an_error():
    with pytest.raises(ValueError, match="No API 'soap'"):
        openai_tools([], api="soap")


def test_the_list_is_the_callers_own():
    told = definitions()
    openai_tools(told)[0]["function"]["parameters"]["properties"].clear()
    assert openai_tools(told) == openai_tools(definitions())


def execute_text(**given: Any) -> str:
    return json.dumps(openai_tools(core_definitions(**given))[0], ensure_ascii=False)


def test_the_limits_of_the_settings_are_the_ones_that_are_told():
    settings = ExecuteSettings(min_timeout_ms=11, max_timeout_isolated_ms=2222, max_timeout_network_ms=33333)
    assert "11 to 2222, in the network tier to 33333" in execute_text(settings=settings)


def test_allowed_hosts_are_named_and_too_many_are_counted():
    settings = ExecuteSettings()
    assert "no host is allowed at present" in execute_text(settings=settings)
    assert "fetch reaches a.com, b.org" in execute_text(settings=settings, hosts=["a.com", "b.org"])
    many = execute_text(settings=settings, hosts=[f"h{n}.com" for n in range(50)])
    assert "h19.com and 30 more" in many
    assert "h20.com" not in many


def test_lent_tools_are_declared_in_typescript_and_too_many_are_counted():
    lent = [ToolDeclaration(f"group.tool_{n}", "Does something with a few words to say about it.") for n in range(200)]
    code = openai_tools(core_definitions(ExecuteSettings(), lent=lent))[0]["function"]["parameters"]["properties"][
        "code"
    ]
    text = code["description"]
    assert "declare const tools: {" in text
    assert "tool_0(args?: Record<string, unknown>): Promise<unknown>;" in text
    shown = text.count("Promise<")
    assert 10 < shown < 200
    assert text.endswith(f"\n… and {200 - shown} more")
    assert len(text.encode()) < 4096 + 200


def test_one_tool_that_is_too_long_makes_way_for_the_others():
    wide = {"type": "object", "properties": {f"a_long_name_{n}": {"type": "string"} for n in range(300)}}
    lent = [ToolDeclaration("wide", input_schema=wide), ToolDeclaration("narrow")]
    text = execute_text(settings=ExecuteSettings(), lent=lent)
    assert "narrow(" in text
    assert "wide(" not in text
    assert "… and 1 more" in text


def test_core_tools_are_always_in_the_same_order():
    names = [tool["name"] for tool in openai_tools(core_definitions(ExecuteSettings()), "responses")]
    assert names == [wire_name(f"core.{name}") for name in ("execute", "energy", "say", "remember")]


if __name__ == "__main__":
    for file_name, tools in snapshots().items():
        (SNAPSHOTS / file_name).write_bytes(as_bytes(tools))
