"""The errors that neurons raise. Each message says what was refused and what to do.

A module of its own because the kill switch needs only this, and must not wait for slow imports.
"""

from __future__ import annotations


class NeuronError(Exception):
    """The base of all errors here."""


class Conflict(NeuronError):
    """Another process or thread has written the document since it was read."""


class StorageError(NeuronError):
    """The disk refuses to read or write, or what it holds cannot be used."""


class NoSuchNeuron(NeuronError):
    """There is no neuron of this id."""


class NotYet(NeuronError):
    """Something that a neuron needs is not ready yet. It is tried again soon, and not logged as a problem."""


class Refused(NeuronError):
    """Refused: a change of status that the table does not allow, an approval that does not match, or a proposal that is
    not accepted."""
