"""One chat turn, from a message of the user to the agent's last word, and the conversations that turns make up."""

from .answers import answered_call
from .conversation import Conversation, ConversationBusy, ConversationError
from .conversations import Conversations, ConversationSummary
from .endings import Stopped, TurnEnd
from .events import CallEnded, CallStarted, Event, Notice, RoundEnded, TextArrived, Waiting
from .instructions import INSTRUCTIONS
from .messages import (
    AssistantMessage,
    Finish,
    Message,
    ModelReply,
    SystemMessage,
    ToolAnswer,
    ToolRequest,
    Usage,
    UserMessage,
)
from .ports import Answer, LanguageModel, ModelError, Turn, ignore
from .requests import MAX_CALLS, parsed_arguments
from .turn import run_turn

__all__ = [
    "INSTRUCTIONS",
    "MAX_CALLS",
    "Answer",
    "AssistantMessage",
    "CallEnded",
    "CallStarted",
    "Conversation",
    "ConversationBusy",
    "ConversationError",
    "ConversationSummary",
    "Conversations",
    "Event",
    "Finish",
    "LanguageModel",
    "Message",
    "ModelError",
    "ModelReply",
    "Notice",
    "RoundEnded",
    "Stopped",
    "SystemMessage",
    "TextArrived",
    "ToolAnswer",
    "ToolRequest",
    "Turn",
    "TurnEnd",
    "Usage",
    "UserMessage",
    "Waiting",
    "answered_call",
    "ignore",
    "parsed_arguments",
    "run_turn",
]
