"""Energy, tools and the agent: hands for a language model that can be trusted with them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .loop import Answer, Conversations, LanguageModel, ModelError, run_turn
    from .openai_model import OpenAIModel
    from .owner import AbsentOwner, Decision, Owner, Question, ScriptedOwner
    from .plugin import MotorCortex
    from .redaction import Redactor, Tokens
    from .replies import blocked, reply
    from .scripted_model import ScriptedModel
    from .setting_errors import SettingsError
    from .settings import Settings, load_settings
    from .tools import Toolbox
    from .turn import Turn

# Imported when they are asked for: the command line comes through this door too and must answer `--help` at once.
_HOMES = {
    "AbsentOwner": "owner",
    "Answer": "loop",
    "Conversations": "loop",
    "Decision": "owner",
    "LanguageModel": "loop",
    "ModelError": "loop",
    "MotorCortex": "plugin",
    "OpenAIModel": "openai_model",
    "Owner": "owner",
    "Question": "owner",
    "Redactor": "redaction",
    "ScriptedModel": "scripted_model",
    "ScriptedOwner": "owner",
    "Settings": "settings",
    "SettingsError": "setting_errors",
    "Tokens": "redaction",
    "Toolbox": "tools",
    "Turn": "turn",
    "blocked": "replies",
    "load_settings": "settings",
    "reply": "replies",
    "run_turn": "loop",
}

__all__ = [
    "AbsentOwner",
    "Answer",
    "Conversations",
    "Decision",
    "LanguageModel",
    "ModelError",
    "MotorCortex",
    "OpenAIModel",
    "Owner",
    "Question",
    "Redactor",
    "ScriptedModel",
    "ScriptedOwner",
    "Settings",
    "SettingsError",
    "Tokens",
    "Toolbox",
    "Turn",
    "blocked",
    "load_settings",
    "reply",
    "run_turn",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
