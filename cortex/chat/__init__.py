"""`cortex chat`: a conversation between a person, or a pipe, and the agent.

The main thread belongs to the person: it reads, asks and is interrupted, and waits for nothing else. The agent has an
event loop in a thread of its own. So a prompt never blocks a turn, and Ctrl-C always works: at the prompt it clears the
line, and during a turn it stops the turn.
"""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .agent import Agent as Agent, OutputLost as OutputLost, Wakes as Wakes, wake_words as wake_words
    from .console_owner import Asked as Asked, ConsoleOwner as ConsoleOwner
    from .dialogue import Dialogue as Dialogue, Prompt as Prompt
    from .interrupts import Interrupts as Interrupts, NudgeChannel as NudgeChannel, Nudged as Nudged
    from .line_history import LineHistory as LineHistory
    from .outputs import ForPeople as ForPeople, ForPrograms as ForPrograms, Output as Output
    from .proposal_desk import ProposalDesk as ProposalDesk
    from .setup import ToolsError as ToolsError, endpoint_problem as endpoint_problem, load_toolbox as load_toolbox
    from .slash import Slash as Slash, conversation_lines as conversation_lines
    from .talk import Inbox as Inbox, InputError as InputError, Talk as Talk, lines_of as lines_of
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "agent": ["Agent", "OutputLost", "Wakes", "wake_words"],
            "console_owner": ["Asked", "ConsoleOwner"],
            "dialogue": ["Dialogue", "Prompt"],
            "interrupts": ["Interrupts", "NudgeChannel", "Nudged"],
            "line_history": ["LineHistory"],
            "outputs": ["ForPeople", "ForPrograms", "Output"],
            "setup": ["ToolsError", "endpoint_problem", "load_toolbox"],
            "proposal_desk": ["ProposalDesk"],
            "slash": ["Slash", "conversation_lines"],
            "talk": ["Inbox", "InputError", "Talk", "lines_of"],
        },
    )
