"""The error for invalid settings. In a file of its own: a command that catches it need not import the settings."""

from __future__ import annotations


class SettingsError(ValueError):
    """The settings cannot be used. The message names the place and the problem."""
