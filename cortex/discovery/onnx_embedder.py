"""Embeddings by a model on this machine. Imported late; the model is loaded when it is first needed, in a thread."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from sandbox import private_folder, replace_file

from .embedder import EmbeddingFailed
from .model_folder import ModelFiles

_MAX_TOKENS = 256
_TEXTS_AT_ONCE = 16
_MAX_CONFIG_BYTES = 1_048_576
_MAX_MADE = 2
"""Models made of weights that are kept; older ones are deleted."""


class OnnxEmbedder:
    """An `Embedder`."""

    def __init__(self, files: ModelFiles, made: Path) -> None:
        self.name = f"onnx {files.folder.name} {files.identity}"
        self._files = files
        self._made = made / f"{files.identity}.onnx"
        self._model: _Model | None = None
        self._loading = anyio.Lock()

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        async with self._loading:
            if self._model is None:
                self._model = await anyio.to_thread.run_sync(self._load)
        vectors: list[list[float]] = [[]] * len(texts)
        # Texts of like length together: each is as long as the longest beside it.
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        for begin in range(0, len(order), _TEXTS_AT_ONCE):
            some = order[begin : begin + _TEXTS_AT_ONCE]
            found = await anyio.to_thread.run_sync(self._model.run, [texts[number] for number in some])
            for number, vector in zip(some, found, strict=True):
                vectors[number] = vector
        return vectors

    async def aclose(self) -> None:
        self._model = None

    def _load(self) -> _Model:
        try:
            path = self._files.model if self._files.is_ready else self._made_of_weights()
            return _Model(path, self._files.tokenizer, pools_first_token=_pools_first_token(self._files.folder))
        except EmbeddingFailed:
            raise
        except Exception as error:  # noqa: BLE001 - both libraries raise whatever they like for a file they dislike
            raise EmbeddingFailed(f'the model in "{self._files.folder}" cannot be loaded: {error}') from None

    def _made_of_weights(self) -> Path:
        """Made once, and kept: it takes a second."""
        if self._made.is_file():
            return self._made
        from .bert_graph import bert_model, shape_of  # noqa: PLC0415 - not needed for a model that is ready
        from .tensors import read_tensors  # noqa: PLC0415

        folder = self._files.folder
        shape = shape_of(_config(folder / "config.json"), _config(folder / "1_Pooling" / "config.json"))
        made = bert_model(shape, read_tensors(self._files.model)).SerializeToString()
        private_folder(self._made.parent)
        replace_file(self._made, made)
        others = sorted(self._made.parent.glob("*.onnx"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in others[_MAX_MADE:]:
            with suppress(OSError):
                old.unlink()
        return self._made


class _Model:
    def __init__(self, path: Path, tokenizer: Path, *, pools_first_token: bool) -> None:
        options = onnxruntime.SessionOptions()
        # One thread: for texts this short several wait for each other longer than they work.
        options.intra_op_num_threads = 1
        # Threads that wait by spinning would take a core from everybody else.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._inputs = {one.name for one in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._pools_first_token = pools_first_token

    def run(self, texts: Sequence[str]) -> list[list[float]]:
        # One by one: it would start threads for many, which then are in the way of every fork.
        rows = [self._tokenizer.encode(text).ids or [0] for text in texts]
        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)], mask[number, : len(row)] = row, 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            outputs = self._session.run(None, {name: given[name] for name in self._inputs})
        except Exception as error:  # noqa: BLE001 - as above
            raise EmbeddingFailed(f"the model cannot be run: {error}") from None
        return self._pooled(outputs, mask)

    def _pooled(self, outputs: Sequence[Any], mask: np.ndarray[Any, np.dtype[np.int64]]) -> list[list[float]]:
        """Some models give one vector for each text, others one for each token."""
        ready = [output for output in outputs if getattr(output, "ndim", 0) == 2]
        whole = [output for output in outputs if getattr(output, "ndim", 0) == 3]
        if whole and self._pools_first_token:
            pooled = whole[0][:, 0]
        elif whole:
            pooled = (whole[0] * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        elif ready:
            pooled = ready[0]
        else:
            raise EmbeddingFailed("the model gives no vectors")
        vectors: list[list[float]] = pooled.tolist()
        return vectors


def _pools_first_token(folder: Path) -> bool:
    return bool(_config(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token"))


def _config(path: Path) -> Mapping[str, Any]:
    """Empty when there is none."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_MAX_CONFIG_BYTES))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        raise EmbeddingFailed(f'"{path}" is not JSON') from None
    return found if isinstance(found, dict) else {}
