"""A BERT so small that it is made in a moment, as the folder that people download, and how it is computed by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = ["[PAD]", "[UNK]", "rain", "umbrella", "forecast", "weather", "refund", "payment", "money", "list", "tell"]
WIDTH, HEADS, LAYERS, INNER, PLACES = 8, 2, 2, 16, 300

Weights = dict[str, np.ndarray[Any, np.dtype[np.float32]]]

CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": WIDTH,
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "layer_norm_eps": 1e-12,
}


def weights(seed: int = 7) -> Weights:
    random = np.random.default_rng(seed)
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        dense = {f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
        dense |= {"attention.output.dense": (WIDTH, WIDTH)}
        dense |= {"intermediate.dense": (INNER, WIDTH), "output.dense": (WIDTH, INNER)}
        for name, shape in dense.items():
            shapes |= {f"{at}.{name}.weight": shape, f"{at}.{name}.bias": shape[:1]}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{at}.{name}.weight": (WIDTH,), f"{at}.{name}.bias": (WIDTH,)}
    return {name: random.normal(0, 0.6, shape).astype(np.float32) for name, shape in shapes.items()}


def write_tensors(path: Path, tensors: Weights) -> None:
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, array in tensors.items():
        data = array.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + body)


def write_tokenizer(path: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(path))


def write_folder(folder: Path, *, first_token: bool = False) -> Path:
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": first_token}))
    write_tensors(folder / "model.safetensors", weights())
    write_tokenizer(folder / "tokenizer.json")
    return folder


def by_hand(ids: list[int], given: Weights, *, first_token: bool = False) -> np.ndarray[Any, Any]:
    """One text at a time, without padding, in double precision."""
    w = {name: array.astype(np.float64) for name, array in given.items()}

    def norm(x, at):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * w[f"{at}.weight"] + w[f"{at}.bias"]

    def dense(x, at):
        return x @ w[f"{at}.weight"].T + w[f"{at}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    size = WIDTH // HEADS
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        q, k, v = (dense(x, f"{at}.attention.self.{part}") for part in ("query", "key", "value"))
        seen = np.zeros_like(x)
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            closeness = np.exp(q[:, part] @ k[:, part].T / math.sqrt(size))
            seen[:, part] = closeness / closeness.sum(-1, keepdims=True) @ v[:, part]
        x = norm(dense(seen, f"{at}.attention.output.dense") + x, f"{at}.attention.output.LayerNorm")
        inner = dense(x, f"{at}.intermediate.dense")
        inner = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
        x = norm(dense(inner, f"{at}.output.dense") + x, f"{at}.output.LayerNorm")
    pooled = x[0] if first_token else x.mean(0)
    return pooled / np.linalg.norm(pooled)
