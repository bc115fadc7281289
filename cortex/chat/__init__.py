"""`cortex chat`: a conversation between a person, or a pipe, and the agent.

The main thread serves the person: it reads input, asks questions and handles Ctrl-C, and waits for nothing else. The
agent runs in a second thread, with an event loop of its own. So a prompt never blocks a turn, and Ctrl-C always works:
at the prompt it clears the line, and during a turn it stops the turn.
"""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .agent import Agent, OutputLost, Wakes, wake_words
    from .console_owner import Asked, ConsoleOwner, ask
    from .dialogue import Dialogue, Prompt
    from .interrupts import Interrupts, Nudged
    from .line_history import LineHistory
    from .outputs import ForPeople, ForPrograms, Output
    from .proposal_desk import ProposalDesk
    from .setup import ToolsError, endpoint_problem, load_toolbox
    from .slash import Slash, conversation_lines
    from .talk import Inbox, InputError, Talk, lines_of
    from .voice import ExpectedAnswers, Voice
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "agent": "Agent OutputLost Wakes wake_words",
            "console_owner": "Asked ConsoleOwner ask",
            "dialogue": "Dialogue Prompt",
            "interrupts": "Interrupts Nudged",
            "line_history": "LineHistory",
            "outputs": "ForPeople ForPrograms Output",
            "setup": "ToolsError endpoint_problem load_toolbox",
            "proposal_desk": "ProposalDesk",
            "slash": "Slash conversation_lines",
            "talk": "Inbox InputError Talk lines_of",
            "voice": "ExpectedAnswers Voice",
        },
    )
