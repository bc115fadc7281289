"""The message when no model is configured: how to configure one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex.models import settings_problem

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


def endpoint_problem(settings: ModelSettings) -> str | None:
    """Why no model can be used, and how to configure one; None if the settings name one."""
    problem = settings_problem(settings)
    if problem is None:
        return None
    is_missing = not settings.name or (settings.base_url is None and settings.api_key is None)
    return f"{problem}\n\n{HOW_TO}" if is_missing else problem
