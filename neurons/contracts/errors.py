"""What is raised here. Each message says what was refused and what to do."""

from __future__ import annotations


class NeuronError(Exception):
    """The base of them all."""


class Conflict(NeuronError):
    """Somebody else has written the document since it was read."""


class StorageError(NeuronError):
    """The disk does not take or give what it should."""


class NoSuchNeuron(NeuronError):
    """There is no neuron of this id."""


class NotYet(NeuronError):
    """What a neuron needs is on its way. It is tried again soon, and that is no news."""


class Refused(NeuronError):
    """A change of status that the table does not have, an approval that does not fit, a proposal that is not taken."""
