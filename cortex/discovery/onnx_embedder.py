"""Gets embeddings from an ONNX model in a folder on this machine, run by fastembed, which is imported late."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio
import anyio.to_thread

from cortex.settings import SettingsError

from .embedder import EmbeddingFailed

if TYPE_CHECKING:
    from fastembed import TextEmbedding

_MODELS = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx")
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
_POOLING = "1_Pooling/config.json"
_MAX_CONFIG_BYTES = 1_048_576
# Texts for one call of a thread. Between two calls the work can be cancelled.
_TEXTS_AT_ONCE = 16


class ModelFolder(NamedTuple):
    path: Path
    model: str
    """The file of the model, relative to the folder."""

    @property
    def identity(self) -> str:
        """A string that changes when the model changes."""
        about = [str(self.path.absolute())]
        for name in (self.model, *_TOKENIZER, _POOLING):
            with suppress(FileNotFoundError):
                found = (self.path / name).stat()
                about.append(f"{name} {found.st_size} {found.st_mtime_ns}")
        return hashlib.sha256("\n".join(about).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def find_model(named: str) -> ModelFolder:
    """The folder that `discovery.model` names. Loads nothing. Raises SettingsError, which says what is missing."""
    path = Path(named)
    with suppress(RuntimeError):
        path = path.expanduser()
    if not path.is_dir():
        raise SettingsError(f'discovery.model is "{named}", and there is no such folder; it is the path of a folder')
    found = [name for name in _MODELS if (path / name).is_file()]
    missing = [name for name in _TOKENIZER if not (path / name).is_file()]
    if not found:
        missing.append(" or ".join(_MODELS))
    if missing:
        raise SettingsError(f'The folder "{path}" (discovery.model) lacks {", ".join(missing)}')
    return ModelFolder(path, found[0])


class OnnxEmbedder:
    """An `Embedder`. Loads the model and encodes texts in a thread, and never uses the network."""

    def __init__(self, folder: ModelFolder) -> None:
        self.name = f"onnx {folder.path.name} {folder.identity}"
        self._folder = folder
        self._model: TextEmbedding | None = None
        self._loading = anyio.Lock()

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        async with self._loading:
            if self._model is None:
                self._model = await anyio.to_thread.run_sync(self._load)
            model = self._model
        vectors: list[list[float]] = []
        for begin in range(0, len(texts), _TEXTS_AT_ONCE):
            vectors += await anyio.to_thread.run_sync(_encoded, model, texts[begin : begin + _TEXTS_AT_ONCE])
        return vectors

    async def aclose(self) -> None:
        self._model = None

    def _load(self) -> TextEmbedding:
        folder = self._folder
        try:
            from fastembed import TextEmbedding  # noqa: PLC0415 - heavy
            from fastembed.common.model_description import ModelSource, PoolingType  # noqa: PLC0415

            # fastembed keeps one list of models per process; ValueError means that this model is already in it.
            with suppress(ValueError):
                TextEmbedding.add_custom_model(
                    self.name,
                    pooling=PoolingType.CLS if _pools_first_token(folder.path) else PoolingType.MEAN,
                    normalization=True,
                    sources=ModelSource(hf=self.name),  # required, but not used for a folder
                    dim=0,  # required, but not used
                    model_file=folder.model,
                )
            return TextEmbedding(
                self.name,
                cache_dir=str(folder.path),
                specific_model_path=str(folder.path),
                local_files_only=True,
                providers=["CPUExecutionProvider"],
                # For texts this short, several threads wait for each other longer than they compute.
                threads=1,
            )
        except Exception as error:  # noqa: BLE001 - for a damaged file the libraries raise many kinds
            raise EmbeddingFailed(f'the model in "{folder.path}" cannot be loaded: {error}') from None


def _encoded(model: TextEmbedding, texts: Sequence[str]) -> list[list[float]]:
    try:
        # One by one: in a batch each text would be padded to the length of the longest.
        return [vector.tolist() for vector in model.embed(list(texts), batch_size=1)]
    except Exception as error:  # noqa: BLE001 - as above
        raise EmbeddingFailed(f"the model cannot be run: {error}") from None


def _pools_first_token(folder: Path) -> bool:
    """Whether the vector of a text is that of its first token, and not the mean of all."""
    try:
        with (folder / _POOLING).open("rb") as file:
            found = json.loads(file.read(_MAX_CONFIG_BYTES))
    except FileNotFoundError:
        return False
    except (ValueError, RecursionError):
        raise EmbeddingFailed(f'"{folder / _POOLING}" is not JSON') from None
    return isinstance(found, dict) and bool(found.get("pooling_mode_cls_token"))
