"""Prepares a chat: loads the toolbox that `--tools` names, and explains how to configure a model if none is set."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from cortex.models import settings_problem
from cortex.tools import Toolbox

if TYPE_CHECKING:
    from cortex.settings import ModelSettings


HOW_TO = """\
Name a model and where it is, in the environment:

  OpenAI      export OPENAI_API_KEY=...
              export CORTEX_MODEL__NAME=gpt-5-mini
  Ollama      export CORTEX_MODEL__BASE_URL=http://localhost:11434/v1
              export CORTEX_MODEL__NAME=qwen3
  vLLM        export CORTEX_MODEL__BASE_URL=http://localhost:8000/v1
              export CORTEX_MODEL__NAME=Qwen/Qwen3-8B
  llama.cpp   export CORTEX_MODEL__BASE_URL=http://localhost:8080/v1
              export CORTEX_MODEL__NAME=any

or in a file, which --config or CORTEX_CONFIG names:

  [model]
  name = "qwen3"
  base_url = "http://localhost:11434/v1"

or for once: cortex chat --model qwen3 --base-url http://localhost:11434/v1

Without a model at hand, `cortex demo` shows everything offline."""


class ToolsError(Exception):
    """The toolbox cannot be loaded. The message says why."""


def load_toolbox(place: str) -> Toolbox:
    """Load `package.module:name`, looked for in the current folder too, or `folder/file.py:name`. Raises ToolsError.

    The file is imported with all of the owner's rights: it is a part of the program, and runs outside the sandbox."""
    module_name, _, name = place.rpartition(":")
    if not module_name or not name.isidentifier():
        raise ToolsError(f'"{place}" is not of the form MODULE:NAME, like shop:toolbox or tools/shop.py:toolbox')
    try:
        module = _of_file(Path(module_name)) if module_name.endswith(".py") else _of_name(module_name)
    except (Exception, SystemExit) as error:
        raise ToolsError(f'cannot import "{module_name}": {type(error).__name__}: {error}') from error
    try:
        toolbox = getattr(module, name)
    except AttributeError:
        raise ToolsError(f'"{module_name}" has no "{name}"') from None
    if not isinstance(toolbox, Toolbox):
        raise ToolsError(f'"{place}" is a {type(toolbox).__name__} and not a Toolbox')
    return toolbox


def _of_name(name: str) -> ModuleType:
    _look_in(Path.cwd())
    return importlib.import_module(name)


def _of_file(path: Path) -> ModuleType:
    # As `python file.py` does: the file can import modules beside it.
    _look_in(path.absolute().parent)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Type hints in annotations are resolved through sys.modules.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _look_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def endpoint_problem(settings: ModelSettings) -> str | None:
    """Why no model can be used, and how to configure one; None if the settings name one."""
    problem = settings_problem(settings)
    if problem is None:
        return None
    is_missing = not settings.name or (settings.base_url is None and settings.api_key is None)
    return f"{problem}\n\n{HOW_TO}" if is_missing else problem
