"""Runs the code that a language model writes: in the sandbox, on an energy budget, with consent and an audit log."""

from sandbox import lazy_door

# Not imported from `typing`, which takes 15 ms: `cortex kill` imports this package and must be fast.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from .contracts.replies import blocked as blocked, reply as reply
    from .loop.conversations import Conversations as Conversations
    from .loop.ports import Answer as Answer, LanguageModel as LanguageModel, ModelError as ModelError
    from .loop.turn import run_turn as run_turn
    from .models.openai_model import OpenAIModel as OpenAIModel
    from .models.scripted_model import ScriptedModel as ScriptedModel
    from .motor_cortex import MotorCortex as MotorCortex
    from .redaction.redactor import Redactor as Redactor
    from .redaction.tokens import Tokens as Tokens
    from .settings.setting_errors import SettingsError as SettingsError
    from .settings.settings import Settings as Settings, load_settings as load_settings
    from .tools.owner import (
        AbsentOwner as AbsentOwner,
        Decision as Decision,
        Owner as Owner,
        Question as Question,
        ScriptedOwner as ScriptedOwner,
    )
    from .tools.pictures import Picture as Picture
    from .tools.toolbox import Toolbox as Toolbox
    from .turn.files import Folder as Folder
    from .turn.turn import Turn as Turn
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "contracts.replies": "blocked reply",
            "loop.conversations": "Conversations",
            "loop.ports": "Answer LanguageModel ModelError",
            "loop.turn": "run_turn",
            "models.openai_model": "OpenAIModel",
            "models.scripted_model": "ScriptedModel",
            "motor_cortex": "MotorCortex",
            "redaction.redactor": "Redactor",
            "redaction.tokens": "Tokens",
            "settings.setting_errors": "SettingsError",
            "settings.settings": "Settings load_settings",
            "tools.owner": "AbsentOwner Decision Owner Question ScriptedOwner",
            "tools.toolbox": "Toolbox",
            "turn.files": "Folder",
            "turn.turn": "Turn",
            "tools.pictures": "Picture",
        },
    )
