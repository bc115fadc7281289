"""From the settings to a discovery: by words, or by meaning with the model that they name."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from cortex.home import Home
from cortex.settings import SettingsError

from .discovery import Discovery

if TYPE_CHECKING:
    from cortex.settings import Settings

    from .embedder import Embedder

_INSTALL = "pip install 'motor-cortex[semantic]'"


def discovery_of(settings: Settings) -> Discovery:
    """As the settings want it. Raises SettingsError. The caller closes it (`aclose`)."""
    embedder = embedder_of(settings)
    if embedder is None:
        return Discovery(settings.discovery)
    return Discovery(settings.discovery, embedder, vectors=Home(settings.home).cache / "vectors")


def embedder_of(settings: Settings) -> Embedder | None:
    """None when tools are found by words only. Loads no model yet. Raises SettingsError that says what to do."""
    wanted = settings.discovery
    if wanted.semantic == "off":
        return None
    if not wanted.model:
        what = "the folder of a model" if wanted.semantic == "onnx" else "the endpoint's model for embeddings"
        raise SettingsError(f'discovery.semantic is "{wanted.semantic}", and discovery.model does not name {what}')
    if wanted.semantic == "endpoint":
        _need("numpy")
        from .endpoint_embedder import EndpointEmbedder  # noqa: PLC0415 - heavy

        return EndpointEmbedder(wanted.model, settings.model)
    from .onnx_embedder import OnnxEmbedder, find_model  # noqa: PLC0415 - for this only

    folder = find_model(wanted.model)
    _need("numpy", "fastembed")
    return OnnxEmbedder(folder)


def _need(*modules: str) -> None:
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise SettingsError(f"discovery.semantic needs {', '.join(missing)}: {_INSTALL}")
