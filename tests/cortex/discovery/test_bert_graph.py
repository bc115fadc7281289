from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

from cortex.discovery.bert_graph import NotBert, bert_model, shape_of
from cortex.discovery.tensors import BadTensors, read_tensors

from . import tiny_bert


def run(first_token: bool, rows: list[list[int]]) -> np.ndarray:
    shape = shape_of(tiny_bert.CONFIG, {"pooling_mode_cls_token": first_token})
    model = bert_model(shape, tiny_bert.weights())
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)], mask[number, : len(row)] = row, 1
    return session.run(None, {"input_ids": ids, "attention_mask": mask})[0]


@pytest.mark.parametrize("first_token", [False, True])
def test_the_model_computes_what_bert_computes_also_beside_longer_texts(first_token):
    rows = [[2, 3], [4, 5, 6, 7, 8, 9], [10]]
    vectors = run(first_token, rows)
    for row, vector in zip(rows, vectors, strict=True):
        expected = tiny_bert.by_hand(row, tiny_bert.weights(), first_token=first_token)
        np.testing.assert_allclose(vector, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "t5"}, '"t5"'),
        ({"hidden_act": "relu"}, '"relu"'),
        ({"position_embedding_type": "relative_key"}, "type"),
        ({"num_hidden_layers": None}, "config.json"),
        ({"num_hidden_layers": 10**9}, "layers"),
        ({"num_attention_heads": 3}, "heads"),
        ({"hidden_size": "wide"}, "config.json"),
    ],
)
def test_a_model_of_another_kind_is_refused_with_the_reason(change, said):
    with pytest.raises(NotBert, match=said):
        shape_of({**tiny_bert.CONFIG, **change}, {})
    with pytest.raises(NotBert):
        shape_of({}, {})


def test_missing_weights_are_named():
    some = tiny_bert.weights()
    del some["encoder.layer.1.output.dense.bias"]
    with pytest.raises(NotBert, match=r"encoder\.layer\.1\.output\.dense\.bias"):
        bert_model(shape_of(tiny_bert.CONFIG, {}), some)


def test_tensors_are_read_as_they_were_written(tmp_path):
    given = tiny_bert.weights()
    tiny_bert.write_tensors(tmp_path / "model.safetensors", given)
    found = read_tensors(tmp_path / "model.safetensors")
    assert found.keys() == given.keys()
    for name, array in given.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 16,
        (2).to_bytes(8, "little") + b"{",
        (4).to_bytes(8, "little") + b"nope",
        (60).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}      ' + b"1234",
        (60).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}      ' + b"12345678",
        (60).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[2],"data_offsets":null}}       ' + b"12345678",
    ],
)
def test_a_file_that_is_damaged_is_refused(tmp_path, data):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises((BadTensors, ValueError)):
        read_tensors(tmp_path / "x")
