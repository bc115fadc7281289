"""The errors of a fetch, each with the code that the agent's code finds in `error.code`."""

from __future__ import annotations

from ..contracts import ToolError


def denied(message: str) -> ToolError:
    """The policy does not allow it: trying again is of no use."""
    return ToolError(message, code="denied")


def over_limit(message: str) -> ToolError:
    return ToolError(message, code="limit")


def too_slow(message: str) -> ToolError:
    return ToolError(message, code="timeout", retryable=True)


def failed(message: str, *, retryable: bool = False) -> ToolError:
    """The network or the server at its other end did not do its part."""
    return ToolError(message, code="network", retryable=retryable)


def invalid(message: str) -> ToolError:
    """The request itself makes no sense."""
    return ToolError(message, code="invalid")
