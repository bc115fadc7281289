"""Language models: any endpoint with OpenAI's chat API, and a scripted model for tests."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .model_faults import OPENAI_URL, innermost_reason, is_passing_status, key_of, retry_after_s, settings_problem
    from .openai_model import OpenAIModel
    from .scripted_model import ScriptedModel, ScriptedStep, ScriptError
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "model_faults": "OPENAI_URL innermost_reason is_passing_status key_of retry_after_s settings_problem",
            "openai_model": "OpenAIModel",
            "scripted_model": "ScriptError ScriptedModel ScriptedStep",
        },
    )
