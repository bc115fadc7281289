from __future__ import annotations

import json
import logging
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from cortex.discovery import discovery_of, embedder_of
from cortex.discovery.model_folder import find_model
from cortex.settings.setting_errors import SettingsError
from cortex.settings.settings import Settings, load_settings
from sandbox import ToolDeclaration

from . import tiny_bert


def settings_for(home, model: str | None, semantic: str = "onnx", **model_settings) -> Settings:
    discovery = {"semantic": semantic, "model": model}
    return load_settings(environment={}, home=home, discovery=discovery, model=model_settings)


async def test_a_folder_of_weights_becomes_a_model_that_gives_what_bert_gives(tmp_path):
    folder = tiny_bert.write_folder(tmp_path / "tiny")
    embedder = embedder_of(settings_for(tmp_path / "home", str(folder)))
    assert embedder is not None
    texts = ["rain umbrella", "forecast weather refund payment money list", "tell"]
    ids = [[tiny_bert.WORDS.index(word) for word in text.split()] for text in texts]
    for vector, row in zip(await embedder.embed(texts), ids, strict=True):
        np.testing.assert_allclose(vector, tiny_bert.by_hand(row, tiny_bert.weights()), atol=1e-5)
    await embedder.aclose()


async def test_it_is_made_once_and_found_again_and_old_ones_go(tmp_path):
    folder = tiny_bert.write_folder(tmp_path / "tiny")
    settings = settings_for(tmp_path / "home", str(folder))
    made = tmp_path / "home" / "cache" / "models"
    await embedder_of(settings).embed(["rain"])
    [path] = made.iterdir()
    written = path.stat().st_mtime_ns
    [first] = await embedder_of(settings).embed(["rain"])
    assert path.stat().st_mtime_ns == written
    for seed in (9, 10, 11):
        name = embedder_of(settings).name
        tiny_bert.write_tensors(folder / "model.safetensors", tiny_bert.weights(seed))
        assert embedder_of(settings).name != name
        assert await embedder_of(settings).embed(["rain"]) != [first]
    assert len(list(made.iterdir())) == 2


def ready_model(path, *, by_token: bool) -> None:
    """A model as others export them: the vector of a token is its row of a table."""
    table = numpy_helper.from_array(np.eye(len(tiny_bert.WORDS), dtype=np.float32), "table")
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ("b", "s", len(tiny_bert.WORDS)))
    if not by_token:
        axes = numpy_helper.from_array(np.array([1], dtype=np.int64), "axes")
        nodes.append(helper.make_node("ReduceMax", ["last_hidden_state", "axes"], ["sentence"], keepdims=0))
        output = helper.make_tensor_value_info("sentence", TensorProto.FLOAT, ("b", len(tiny_bert.WORDS)))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ("b", "s")) for name in ("input_ids", "token_type_ids")
    ]
    constants = [table] if by_token else [table, axes]
    graph = helper.make_graph(nodes, "ready", inputs, [output], constants)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)


@pytest.mark.parametrize("by_token", [True, False])
@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx"])
async def test_a_model_that_is_onnx_already_is_taken_as_it_is(tmp_path, by_token, name):
    folder = tmp_path / "ready"
    ready_model(folder / name, by_token=by_token)
    tiny_bert.write_tokenizer(folder / "tokenizer.json")
    embedder = embedder_of(settings_for(tmp_path / "home", str(folder)))
    # A mean that counted the padding of the shorter one would be less than 1.
    texts = ["rain", "rain umbrella umbrella umbrella"] if by_token else ["rain umbrella umbrella umbrella"]
    *short, long = await embedder.embed(texts)
    expected = {"rain": 0.25, "umbrella": 0.75} if by_token else {"rain": 1.0, "umbrella": 1.0}
    assert long == [expected.get(word, 0.0) for word in tiny_bert.WORDS]
    assert short == [[float(word == "rain") for word in tiny_bert.WORDS]] * by_token


async def test_tools_are_found_by_meaning_as_the_settings_say(tmp_path):
    folder = tmp_path / "ready"
    ready_model(folder / "model.onnx", by_token=True)
    tiny_bert.write_tokenizer(folder / "tokenizer.json")
    tools = [ToolDeclaration("a.one", "umbrella"), ToolDeclaration("b.two", "forecast")]
    found = discovery_of(settings_for(tmp_path / "home", str(folder)))
    assert (await found.rank("forecast", tools, 1, 1))[0].name == "b.two"
    assert len(await found.rank("quite unknown", tools, 1)) == 2
    assert list((tmp_path / "home" / "cache" / "vectors").iterdir())
    await found.aclose()
    off = discovery_of(settings_for(tmp_path / "home", None, "off"))
    assert await off.rank("quite unknown", tools, 1) == []


async def test_a_model_that_cannot_be_loaded_leaves_the_words(tmp_path, caplog):
    folder = tiny_bert.write_folder(tmp_path / "tiny")
    (folder / "config.json").write_text(json.dumps({**tiny_bert.CONFIG, "model_type": "t5"}))
    found = discovery_of(settings_for(tmp_path / "home", str(folder)))
    with caplog.at_level(logging.WARNING, "motor_cortex"):
        assert [match.name for match in await found.rank("a parcel", [ToolDeclaration("shop.parcel")], 1)] == [
            "shop.parcel"
        ]
    assert '"t5"' in caplog.text


def test_a_package_that_carries_a_model_is_found_without_being_imported(tmp_path, monkeypatch):
    package = tmp_path / "carries_a_model"
    tiny_bert.write_folder(package / "model")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    files = find_model("carries-a-model")
    assert files.folder == package / "model"
    assert not files.is_ready


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (None, "discovery.model does not name"),
        ("no-such-package-anywhere", "no such package is installed"),
        ("../../etc", "There is no model|Cannot look"),
        ("/no/such/folder", "Cannot look for a model"),
        ("json", "There is no model"),
        ("sys", "no such package"),
        ("a b;c", "no such package"),
    ],
)
def test_a_model_that_is_not_there_is_said_with_what_to_do(tmp_path, model, said):
    with pytest.raises(SettingsError, match=said):
        embedder_of(settings_for(tmp_path / "home", model))


@pytest.mark.parametrize("semantic", ["onnx", "endpoint"])
def test_what_is_not_installed_is_named_with_the_command_that_installs_it(tmp_path, semantic, monkeypatch):
    folder = tiny_bert.write_folder(tmp_path / "tiny")
    monkeypatch.setattr("cortex.discovery.choice.importlib.util.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"numpy.*pip install 'motor-cortex\[semantic\]'"):
        embedder_of(settings_for(tmp_path / "home", str(folder), semantic))


def test_nothing_heavy_is_imported_before_it_is_needed():
    program = "import sys, cortex.discovery; print({'numpy', 'onnxruntime', 'onnx', 'tokenizers', 'httpx2'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60).stdout.strip() == b"set()"
