"""Errors of the energy reserve. A lack of energy is not an error: it is returned as a value."""

from __future__ import annotations


class EnergyError(Exception):
    """The energy cannot be accounted for, so none is given out. The message says why."""


class EnergyBusy(EnergyError):
    """Another process holds the lock. The message says which file, and what to do."""


class EnergyNotOnDisk(EnergyError):
    """The owner's decision is in force, but may be lost in a power cut. The message says so."""
