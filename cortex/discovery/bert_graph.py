"""Makes an ONNX model of the weights of a BERT encoder: token numbers in, one vector for each text out.

Many small models for embeddings come as `model.safetensors` only, and the program that would export them is a hundred
times as large as they are. The layers are few and always the same, so they are written down here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

_OPSET, _IR_VERSION = 20, 10  # the first with Gelu, and what goes with it
_NEVER = -1e9  # added to the score of padding: attention to it is nothing

Weights = Mapping[str, np.ndarray[Any, np.dtype[np.float32]]]


class NotBert(ValueError):
    """The model is of another kind, or something of it is missing. The message says what."""


class BertShape(NamedTuple):
    layers: int
    heads: int
    width: int
    epsilon: float
    pools_first_token: bool
    """The vector is that of the first token, and not the mean of all."""


def shape_of(config: Mapping[str, Any], pooling: Mapping[str, Any]) -> BertShape:
    """Of `config.json` and `1_Pooling/config.json`. Raises NotBert."""
    if config.get("model_type") != "bert" or config.get("position_embedding_type", "absolute") != "absolute":
        raise NotBert(f'its type is "{config.get("model_type")}", and only "bert" can be turned into ONNX here')
    if config.get("hidden_act", "gelu") != "gelu":
        raise NotBert(f'its activation is "{config.get("hidden_act")}", and only "gelu" is known here')
    try:
        shape = BertShape(
            layers=int(config["num_hidden_layers"]),
            heads=int(config["num_attention_heads"]),
            width=int(config["hidden_size"]),
            epsilon=float(config.get("layer_norm_eps", 1e-12)),
            pools_first_token=bool(pooling.get("pooling_mode_cls_token")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise NotBert(f"its config.json lacks or misstates {error}") from None
    if not (0 < shape.layers <= 100 and 0 < shape.heads <= shape.width <= 65_536 and shape.width % shape.heads == 0):
        raise NotBert(f"its config.json states {shape.layers} layers, {shape.heads} heads, width {shape.width}")
    return shape


def bert_model(shape: BertShape, weights: Weights) -> ModelProto:
    """Inputs `input_ids` and `attention_mask`, output `embedding` of length 1. Raises NotBert."""
    graph = _Graph(shape, weights)
    hidden = graph.embedded()
    for layer in range(shape.layers):
        hidden = graph.layer(hidden, f"encoder.layer.{layer}")
    graph.pool(hidden)
    batch = ("texts", "tokens")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, batch) for name in ("input_ids", "attention_mask")]
    outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ("texts", shape.width))]
    made = helper.make_graph(graph.nodes, "bert", inputs, outputs, list(graph.constants.values()))
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)


class _Graph:
    """Nodes in the order in which they are computed. Each method gives the name of what it computes."""

    def __init__(self, shape: BertShape, weights: Weights) -> None:
        self.shape = shape
        self.weights = weights
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, TensorProto] = {}

    def embedded(self) -> str:
        words = self.op("Gather", self.weight("embeddings.word_embeddings.weight"), "input_ids")
        count = self.op("Gather", self.op("Shape", "input_ids"), self.number(1))
        places = self.op("Range", self.number(0), count, self.number(1))
        place = self.op("Gather", self.weight("embeddings.position_embeddings.weight"), places)
        # Every text is a first one of a pair whose second is not there.
        kind = self.op("Gather", self.weight("embeddings.token_type_embeddings.weight"), self.number(0))
        mask = self.op("Cast", "attention_mask", output="mask", to=TensorProto.FLOAT)
        away = self.op("Mul", self.op("Sub", self.real(1.0), mask), self.real(_NEVER))
        self.op("Unsqueeze", away, self.numbers([1, 2]), output="away")
        return self.normed(self.op("Add", self.op("Add", words, place), kind), "embeddings.LayerNorm")

    def layer(self, hidden: str, at: str) -> str:
        query, key, value = (
            self.split_heads(self.dense(hidden, f"{at}.attention.self.{part}"), order)
            for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
        )
        closeness = self.op("Mul", self.op("MatMul", query, key), self.real(1 / math.sqrt(self.head_width)))
        attention = self.op("Softmax", self.op("Add", closeness, "away"), axis=-1)
        seen = self.op("Transpose", self.op("MatMul", attention, value), perm=[0, 2, 1, 3])
        joined = self.op("Reshape", seen, self.numbers([0, 0, self.shape.width]))
        attended = self.op("Add", self.dense(joined, f"{at}.attention.output.dense"), hidden)
        attended = self.normed(attended, f"{at}.attention.output.LayerNorm")
        inner = self.op("Gelu", self.dense(attended, f"{at}.intermediate.dense"))
        return self.normed(self.op("Add", self.dense(inner, f"{at}.output.dense"), attended), f"{at}.output.LayerNorm")

    def pool(self, hidden: str) -> None:
        if self.shape.pools_first_token:
            pooled = self.op("Gather", hidden, self.number(0), axis=1)
        else:
            counted = self.op("Mul", hidden, self.op("Unsqueeze", "mask", self.numbers([2])))
            total = self.op("ReduceSum", counted, self.numbers([1]), keepdims=0)
            count = self.op("ReduceSum", "mask", self.numbers([1]), keepdims=1)
            pooled = self.op("Div", total, self.op("Max", count, self.real(1.0)))
        length = self.op("ReduceL2", pooled, self.numbers([1]), keepdims=1)
        self.op("Div", pooled, self.op("Max", length, self.real(1e-12)), output="embedding")

    @property
    def head_width(self) -> int:
        return self.shape.width // self.shape.heads

    def dense(self, hidden: str, at: str) -> str:
        product = self.op("MatMul", hidden, self.weight(f"{at}.weight", transposed=True))
        return self.op("Add", product, self.weight(f"{at}.bias"))

    def normed(self, hidden: str, at: str) -> str:
        scale, bias = self.weight(f"{at}.weight"), self.weight(f"{at}.bias")
        return self.op("LayerNormalization", hidden, scale, bias, axis=-1, epsilon=self.shape.epsilon)

    def split_heads(self, hidden: str, order: Sequence[int]) -> str:
        heads = self.op("Reshape", hidden, self.numbers([0, 0, self.shape.heads, self.head_width]))
        return self.op("Transpose", heads, perm=order)

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def weight(self, name: str, *, transposed: bool = False) -> str:
        array = self.weights.get(name)
        if array is None:
            array = self.weights.get(f"bert.{name}")
        if array is None:
            raise NotBert(f'it has no weights "{name}"')
        return self.constant(name, np.ascontiguousarray(array.T) if transposed else np.asarray(array))

    def number(self, value: int) -> str:
        return self.constant(f"number {value}", np.array(value, dtype=np.int64))

    def numbers(self, values: Sequence[int]) -> str:
        return self.constant(f"numbers {values}", np.array(values, dtype=np.int64))

    def real(self, value: float) -> str:
        return self.constant(f"real {value}", np.array(value, dtype=np.float32))

    def constant(self, name: str, array: np.ndarray[Any, Any]) -> str:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(array, name)
        return name
