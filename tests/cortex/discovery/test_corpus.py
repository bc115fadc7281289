"""The corpus that discovery is measured on is as large, and as hard, as is said of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema_rs

_HERE = Path(__file__).parent
# Words that carry no meaning: a hard intent may share these with its tool.
_PLAIN = frozenset(
    re.findall(
        r"\w+",
        "a all an and any are as at be before by can could did do does don for from get give go had has have he her "
        "here him his how i if in into is it let m make me more most my need no not of on one only or our out put s "
        "she since so t than that the them there these they this to up us ve want was we were what when where which "
        "who why will with would you",
    )
)


def _read(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((_HERE / name).read_text(encoding="utf-8"))
    return rows


def _words(text: str) -> set[str]:
    parts = re.findall(r"[a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())
    return {re.sub(r"(ings?|ed|es|s|ly|ation|ions?)$", "", word) if len(word) > 4 else word for word in parts} - _PLAIN


def test_the_catalogue_has_tools_of_many_servers_with_schemas_that_can_be_used() -> None:
    tools = _read("catalogue.json")
    names = {(tool["server"], tool["name"]) for tool in tools}
    assert len(names) == len(tools) >= 160
    assert len({server for server, _ in names}) >= 15
    for tool in tools:
        jsonschema_rs.validator_for(tool["inputSchema"])


def test_each_intent_names_tools_that_exist_and_about_two_in_five_of_each_style_are_held_out() -> None:
    intents = _read("intents.json")
    names = {f"{tool['server']}.{tool['name']}" for tool in _read("catalogue.json")}
    assert all(intent["tools"] and set(intent["tools"]) <= names for intent in intents)
    assert len({intent["id"] for intent in intents}) == len({intent["text"] for intent in intents}) == len(intents)
    all_of = Counter(intent["style"] for intent in intents)
    held_out = Counter(intent["style"] for intent in intents if intent["part"] == "held_out")
    assert all_of["agent"] >= 120
    assert min(all_of["human"], all_of["hard"]) >= 40
    assert all(0.38 < held_out[style] / all_of[style] < 0.42 for style in all_of)


def test_a_hard_intent_shares_no_word_with_the_tools_that_answer_it() -> None:
    tools = {f"{tool['server']}.{tool['name']}": tool for tool in _read("catalogue.json")}
    for intent in _read("intents.json"):
        if intent["style"] == "hard":
            for name in intent["tools"]:
                parts = [name, tools[name]["description"]]
                for parameter, schema in tools[name]["inputSchema"]["properties"].items():
                    parts += [parameter, schema.get("description", "")]
                assert not _words(intent["text"]) & _words(" ".join(parts).replace("_", " ")), intent["id"]
