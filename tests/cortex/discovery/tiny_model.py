"""An ONNX model so small that it is made in a moment, in a folder as people download them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = ["[PAD]", "[UNK]", "rain", "umbrella", "forecast", "weather", "refund", "payment", "money", "list", "tell"]


def write_folder(folder: Path, *, file: str = "onnx/model.onnx", first_token: bool = False) -> Path:
    """The vector of a token is its own direction: that of a text says which words are in it, and how often."""
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": first_token}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 64, "pad_token": "[PAD]"}))
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / file).parent.mkdir(exist_ok=True)
    onnx.save(_model(), folder / file)
    return folder


def _model() -> onnx.ModelProto:
    table = numpy_helper.from_array(np.eye(len(WORDS), dtype=np.float32), "table")
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ("texts", "tokens"))]
    shape = ("texts", "tokens", len(WORDS))
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, [table])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
