"""Connect habits, neurons and the owner's notices with an open cortex."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .learned_functions import FunctionTool, LearnedFunctions
    from .learning import Learning, Living, Surroundings, channels_of, killed_by
    from .neuron_files import NeuronFolders, file_grant
    from .neuron_tools import NeuronTools
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "learned_functions": "FunctionTool LearnedFunctions",
            "learning": "Living Learning Surroundings channels_of killed_by",
            "neuron_files": "NeuronFolders file_grant",
            "neuron_tools": "NeuronTools",
        },
    )
