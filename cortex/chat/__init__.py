"""`cortex chat`: a conversation between a person, or a pipe, and the agent.

The main thread belongs to the person: it reads, asks and is interrupted, and waits for nothing else. The agent has an
event loop in a thread of its own. So a prompt never blocks a turn, and Ctrl-C always works: at the prompt it clears the
line, and during a turn it stops the turn.
"""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .agent import Agent as Agent, OutputLost as OutputLost
    from .console_owner import Asked as Asked, ConsoleOwner as ConsoleOwner
    from .dialogue import Dialogue as Dialogue
    from .endpoints import endpoint_problem as endpoint_problem
    from .inputs import InputError as InputError, lines_of as lines_of
    from .interrupts import Interrupts as Interrupts, Nudged as Nudged
    from .line_history import LineHistory as LineHistory
    from .nudge_channel import NudgeChannel as NudgeChannel
    from .outputs import ForPeople as ForPeople, ForPrograms as ForPrograms, Output as Output
    from .own_tools import ToolsError as ToolsError, load_toolbox as load_toolbox
    from .prompt import Prompt as Prompt
    from .proposal_desk import ProposalDesk as ProposalDesk
    from .slash import Slash as Slash, conversation_lines as conversation_lines
    from .talk import Inbox as Inbox, Talk as Talk
    from .wakes import Wakes as Wakes, wake_words as wake_words
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "agent": ["Agent", "OutputLost"],
            "console_owner": ["Asked", "ConsoleOwner"],
            "dialogue": ["Dialogue"],
            "endpoints": ["endpoint_problem"],
            "inputs": ["InputError", "lines_of"],
            "interrupts": ["Interrupts", "Nudged"],
            "line_history": ["LineHistory"],
            "nudge_channel": ["NudgeChannel"],
            "outputs": ["ForPeople", "ForPrograms", "Output"],
            "own_tools": ["ToolsError", "load_toolbox"],
            "prompt": ["Prompt"],
            "proposal_desk": ["ProposalDesk"],
            "slash": ["Slash", "conversation_lines"],
            "talk": ["Inbox", "Talk"],
            "wakes": ["Wakes", "wake_words"],
        },
    )
