"""How often the tool that is needed is among the five that are lent. Figures of both parts are in docs/code-mode.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cortex.discovery import Discovery, discovery_of, embedder_of
from cortex.settings.sections import DiscoverySettings
from cortex.settings.settings import Settings, load_settings

from .corpus import recall

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
FILES = (
    "onnx/model.onnx",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "1_Pooling/config.json",
)
# The beginnings of vectors that sentence-transformers computed with the same weights.
REFERENCE = {
    "list commits of a repository": [-0.028893, -0.011955, -0.039617, 0.039247, 0.022568, 0.032329],
    "send an e-mail to a colleague": [0.013015, 0.042476, 0.007141, -0.028522, 0.04628, -0.083153],
    "What's the weather like tomorrow in Zürich?": [-0.012786, 0.067346, 0.105569, 0.051528, 0.034118, -0.031241],
    "": [-0.118838, 0.048299, -0.002548, -0.011011, 0.051951, 0.010292],
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
    """Settings with a real model: the folder of it that DISCOVERY_MODEL names, or one downloaded for this alone."""
    folder = os.environ.get("DISCOVERY_MODEL")
    if not folder:
        folder = str(tmp_path_factory.mktemp("model"))
        command = Path(sys.executable).with_name("hf")
        try:
            done = subprocess.run(
                [command, "download", MODEL, *FILES, "--local-dir", folder], capture_output=True, timeout=300
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"no model: {error}")
        if done.returncode != 0:
            pytest.skip(f"no model: {done.stderr.decode()[-300:]}")
    discovery = {"semantic": "onnx", "model": folder}
    return load_settings(environment={}, home=tmp_path_factory.mktemp("home"), discovery=discovery)


@pytest.mark.soak
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("part", ["tuning", "held_out"])
async def test_by_meaning_people_find_the_tool_too(with_model, part):
    found = await recall(discovery_of(with_model), part)
    assert found["agent"] >= 0.95
    assert found["human"] >= 0.90
    # By words alone it is a tenth at most.
    assert found["hard"] >= 0.40


@pytest.mark.soak
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("part", ["tuning", "held_out"])
@pytest.mark.xfail(strict=True, reason="0.55 and 0.43 were measured; with a model five times as large 0.59 and 0.50")
async def test_by_meaning_hard_paraphrases_find_the_tool(with_model, part):
    assert (await recall(discovery_of(with_model), part))["hard"] >= 0.85


@pytest.mark.soak
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_real_model_gives_the_vectors_that_its_authors_library_gives(with_model):
    for vector, expected in zip(await embedder_of(with_model).embed(list(REFERENCE)), REFERENCE.values(), strict=True):
        np.testing.assert_allclose(vector[: len(expected)], expected, atol=1e-5)
