"""`cortex chat`: a person, or a pipe, on one side and the agent on the other.

The main thread belongs to the person: it reads, asks and is interrupted, and waits for nothing else. The agent has an
event loop in a thread of its own. So a prompt never keeps a turn from going on, and Ctrl-C always finds somebody: at
the prompt it clears the line, and during a turn it stops the turn.
"""

from .agent import Agent, OutputLost
from .console_owner import Asked, ConsoleOwner
from .dialogue import Dialogue
from .endpoints import endpoint_problem
from .inputs import InputError, lines_of
from .interrupts import Interrupts, Nudged
from .line_history import LineHistory
from .nudge_channel import NudgeChannel
from .outputs import ForPeople, ForPrograms, Output
from .own_tools import ToolsError, load_toolbox
from .prompt import Prompt
from .proposal_desk import ProposalDesk
from .slash import Slash, conversation_lines
from .talk import Inbox, Talk
from .wakes import Wakes, wake_words

__all__ = [
    "Agent",
    "Asked",
    "ConsoleOwner",
    "Dialogue",
    "ForPeople",
    "ForPrograms",
    "Inbox",
    "InputError",
    "Interrupts",
    "LineHistory",
    "NudgeChannel",
    "Nudged",
    "Output",
    "OutputLost",
    "Prompt",
    "ProposalDesk",
    "Slash",
    "Talk",
    "ToolsError",
    "Wakes",
    "conversation_lines",
    "endpoint_problem",
    "lines_of",
    "load_toolbox",
    "wake_words",
]
