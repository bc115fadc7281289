"""The errors of a fetch, each with the value that the agent's code finds in `error.code`."""

from __future__ import annotations

from ..contracts import ToolError


def denied(message: str) -> ToolError:
    """The policy does not allow the request: a retry is useless."""
    return ToolError(message, code="denied")


def over_limit(message: str) -> ToolError:
    return ToolError(message, code="limit")


def too_slow(message: str) -> ToolError:
    return ToolError(message, code="timeout", retryable=True)


def failed(message: str, *, retryable: bool = False) -> ToolError:
    """The network or the server failed."""
    return ToolError(message, code="network", retryable=retryable)


def invalid(message: str) -> ToolError:
    """The request itself is malformed."""
    return ToolError(message, code="invalid")
