"""The chat loop: one turn, from a message of the user to the agent's last word, and the stored conversations."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .answers import answered_call as answered_call
    from .conversation import (
        Conversation as Conversation,
        ConversationBusy as ConversationBusy,
        ConversationError as ConversationError,
    )
    from .conversations import Conversations as Conversations, ConversationSummary as ConversationSummary
    from .endings import Stopped as Stopped, TurnEnd as TurnEnd
    from .messages import (
        AssistantMessage as AssistantMessage,
        Finish as Finish,
        Message as Message,
        ModelReply as ModelReply,
        SystemMessage as SystemMessage,
        ToolAnswer as ToolAnswer,
        ToolRequest as ToolRequest,
        Usage as Usage,
        UserMessage as UserMessage,
    )
    from .ports import (
        Answer as Answer,
        AnsweringTurn as AnsweringTurn,
        CallEnded as CallEnded,
        CallStarted as CallStarted,
        Event as Event,
        LanguageModel as LanguageModel,
        ModelError as ModelError,
        Notice as Notice,
        RoundEnded as RoundEnded,
        TextArrived as TextArrived,
        Waiting as Waiting,
        ignore as ignore,
    )
    from .requests import MAX_CALLS as MAX_CALLS, parsed_arguments as parsed_arguments
    from .turn import INSTRUCTIONS as INSTRUCTIONS, run_turn as run_turn
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "answers": ["answered_call"],
            "conversation": ["Conversation", "ConversationBusy", "ConversationError"],
            "conversations": ["ConversationSummary", "Conversations"],
            "endings": ["Stopped", "TurnEnd"],
            "messages": [
                "AssistantMessage",
                "Finish",
                "Message",
                "ModelReply",
                "SystemMessage",
                "ToolAnswer",
                "ToolRequest",
                "Usage",
                "UserMessage",
            ],
            "ports": [
                "Answer",
                "AnsweringTurn",
                "CallEnded",
                "CallStarted",
                "Event",
                "LanguageModel",
                "ModelError",
                "Notice",
                "RoundEnded",
                "TextArrived",
                "Waiting",
                "ignore",
            ],
            "requests": ["MAX_CALLS", "parsed_arguments"],
            "turn": ["INSTRUCTIONS", "run_turn"],
        },
    )
