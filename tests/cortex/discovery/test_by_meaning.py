from __future__ import annotations

import logging
import math

import anyio
import pytest

from cortex.discovery import Discovery, ToolText
from cortex.discovery.meanings import texts_of
from cortex.settings.sections import DiscoverySettings
from sandbox import ToolDeclaration

from .scripted_embedder import ScriptedEmbedder

FORECAST = ToolDeclaration("weather.forecast", "Tells whether it will rain")
REFUND = ToolDeclaration("pay.refund", "Returns a payment")
TOOLS = [FORECAST, REFUND]
MEANINGS = {"rain": 0, "umbrella": 0, "forecast": 0, "refund": 1, "payment": 1, "money": 1}


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    return ScriptedEmbedder(MEANINGS)


def discovery_with(embedder: ScriptedEmbedder, **rest) -> Discovery:
    return Discovery(DiscoverySettings(), embedder, **rest)


async def names(discovery: Discovery, query: str, version: object = 1, tools=TOOLS) -> list[str]:
    return [match.name for match in await discovery.rank(query, tools, version)]


async def test_a_tool_is_found_by_what_is_meant_where_it_shares_no_word(embedder):
    assert await names(discovery_with(embedder), "do I need an umbrella") == ["weather.forecast", "pay.refund"]
    assert await names(discovery_with(embedder), "she wants her money") == ["pay.refund", "weather.forecast"]
    assert await names(Discovery(DiscoverySettings()), "do I need an umbrella") == []


async def test_words_and_meaning_are_fused(embedder):
    # By meaning both are alike; the words settle it.
    assert (await names(discovery_with(embedder), "payment rain refund"))[0] == "pay.refund"


async def test_at_most_tools_per_intent_are_found_unless_another_number_is_given(embedder):
    tools = [ToolDeclaration(f"a.tool{n}", "rain") for n in range(9)]
    discovery = Discovery(DiscoverySettings(tools_per_intent=3), embedder)
    assert len(await discovery.rank("rain", tools, 1)) == 3
    assert len(await discovery.rank("rain", tools, 1, 7)) == 7
    assert len(await Discovery(DiscoverySettings(tools_per_intent=2)).rank("rain", tools, 1)) == 2


async def test_a_query_is_one_text_for_the_model_once_the_tools_are_known(embedder):
    discovery = discovery_with(embedder)
    await names(discovery, "rain")
    embedder.asked.clear()
    await names(discovery, "umbrella")
    assert embedder.asked == ["umbrella"]


async def test_tools_that_were_seen_before_are_not_given_to_the_model_again(embedder, tmp_path):
    await names(discovery_with(embedder, vectors=tmp_path), "rain")
    later = ScriptedEmbedder(MEANINGS)
    discovery = discovery_with(later, vectors=tmp_path)
    assert await names(discovery, "umbrella") == ["weather.forecast", "pay.refund"]
    assert later.asked == ["umbrella"]
    new = ToolDeclaration("news.read", "Headlines of today")
    await names(discovery, "rain", 2, [*TOOLS, new])
    assert later.asked == ["umbrella", "news read", "read", "Headlines of today", "rain"]
    other_model = ScriptedEmbedder(MEANINGS, name="other")
    await names(discovery_with(other_model, vectors=tmp_path), "rain")
    assert len(other_model.asked) > 1


async def test_when_the_model_fails_tools_are_found_by_words_and_the_log_says_so_once(embedder, caplog):
    embedder.fails = "the endpoint is down"
    now = [0.0]
    discovery = discovery_with(embedder, now=lambda: now[0])
    with caplog.at_level(logging.WARNING, "motor_cortex"):
        assert await names(discovery, "a refund") == ["pay.refund"]
        now[0] = 1000.0
        assert await names(discovery, "a refund") == ["pay.refund"]
    assert [record.getMessage() for record in caplog.records] == [
        "Tools are found by their words only, not by meaning: the endpoint is down"
    ]


async def test_after_a_failure_it_rests_a_while_and_then_asks_again(embedder):
    embedder.fails = "no"
    now = [0.0]
    discovery = discovery_with(embedder, now=lambda: now[0])
    await names(discovery, "umbrella")
    asked = len(embedder.asked)
    embedder.fails = ""
    assert await names(discovery, "umbrella") == []
    assert len(embedder.asked) == asked
    now[0] = 61.0
    assert (await names(discovery, "umbrella"))[0] == "weather.forecast"


@pytest.mark.parametrize(
    "answer",
    [
        [],
        [[1.0]],
        [[1.0], [1.0, 2.0], [1.0], [1.0], [1.0], [1.0]],
        [[math.nan]] * 6,
        [[math.inf]] * 6,
        [["x"]] * 6,
        [None] * 6,
        [[]] * 6,
        [[1e300]] * 6,
    ],
)
async def test_invalid_vectors_are_a_failure_and_no_crash(embedder, answer):
    embedder.answer = answer
    assert await names(discovery_with(embedder), "a refund") == ["pay.refund"]


async def test_a_vector_of_another_length_than_those_on_disk_is_a_failure_and_no_crash(embedder, tmp_path):
    await names(discovery_with(embedder, vectors=tmp_path), "rain")
    embedder.answer = [[1.0, 2.0, 3.0]]
    assert await names(discovery_with(embedder, vectors=tmp_path), "a refund") == ["pay.refund"]


async def test_more_numbers_than_are_kept_are_a_failure_and_tools_are_found_by_words(embedder, monkeypatch):
    monkeypatch.setattr("cortex.discovery.meanings.MAX_NUMBERS", 10)
    assert await names(discovery_with(embedder), "a refund") == ["pay.refund"]
    assert len(embedder.asked) > 0


async def test_a_model_that_never_answers_has_a_limit(embedder, monkeypatch):
    async def never(texts):
        await anyio.sleep_forever()

    monkeypatch.setattr("cortex.discovery.meanings._TOOLS_S", 0.01)
    monkeypatch.setattr(embedder, "embed", never)
    assert await names(discovery_with(embedder), "a refund") == ["pay.refund"]


async def test_many_who_ask_at_once_have_the_tools_learned_once(embedder):
    discovery = discovery_with(embedder)
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(names, discovery, "rain")
    assert sorted(embedder.asked) == sorted([text for text in set(embedder.asked) if text != "rain"] + ["rain"] * 5)


async def test_without_tools_or_without_a_query_the_model_is_not_asked(embedder):
    assert await names(discovery_with(embedder), "umbrella", tools=[]) == []
    assert await names(discovery_with(embedder), "  ") == []
    assert embedder.asked == []


async def test_closing_it_closes_the_model(embedder):
    await discovery_with(embedder).aclose()
    assert embedder.is_closed
    await Discovery(DiscoverySettings()).aclose()


def test_the_texts_of_a_tool_are_its_name_with_and_without_the_server_and_what_it_does():
    entry = ToolText("git-hub.listPull_requests", "Lists them", "owner")
    assert texts_of(entry) == ["git hub list Pull requests", "list Pull requests", "Lists them"]
    assert texts_of(ToolText("clock", "", "")) == ["clock"]
    assert texts_of(ToolText("", "", "")) == ["?"]
