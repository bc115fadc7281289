"""The chat loop: runs one turn, from a message of the user to the agent's final answer; and stored conversations."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .conversation import Conversation, ConversationBusy, ConversationError
    from .conversations import Conversations, ConversationSummary
    from .endings import Stopped, TurnEnd
    from .messages import (
        AssistantMessage,
        Finish,
        Message,
        ModelReply,
        PicturesMessage,
        SystemMessage,
        ToolAnswer,
        ToolRequest,
        Usage,
        UserMessage,
    )
    from .ports import (
        Answer,
        AnsweringTurn,
        CallEnded,
        CallStarted,
        Event,
        LanguageModel,
        ModelError,
        Notice,
        RoundEnded,
        TextArrived,
        Waiting,
        ignore,
    )
    from .requests import MAX_CALLS, MAX_TEXT_CHARS, parsed_arguments
    from .turn import INSTRUCTIONS, answered_call, run_turn
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "conversation": "Conversation ConversationBusy ConversationError",
            "conversations": "ConversationSummary Conversations",
            "endings": "Stopped TurnEnd",
            "messages": (
                "AssistantMessage Finish Message ModelReply PicturesMessage SystemMessage ToolAnswer ToolRequest "
                "Usage UserMessage"
            ),
            "ports": (
                "Answer AnsweringTurn CallEnded CallStarted Event LanguageModel ModelError Notice RoundEnded "
                "TextArrived Waiting ignore"
            ),
            "requests": "MAX_CALLS MAX_TEXT_CHARS parsed_arguments",
            "turn": "INSTRUCTIONS answered_call run_turn",
        },
    )
