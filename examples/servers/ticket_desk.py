"""An MCP server with the tickets of a support desk: `python -m examples.servers.ticket_desk`, over its pipes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from .tickets import MAX_TICKETS, Desk, DeskFull, Priority, Status, Ticket, UnknownTicket

_READS = ToolAnnotations(read_only_hint=True)
_ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False)
_ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True)

TicketId = Annotated[str, Field(max_length=20, description="Such as T-017")]
Line = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(min_length=1, max_length=5_000)]

server = MCPServer("ticket-desk", instructions="The tickets of a support desk.", log_level="WARNING")
desk = Desk()


class TicketPage(BaseModel):
    total: int
    tickets: list[Ticket]


@contextmanager
def _said() -> Iterator[None]:
    """What the desk has against a call is told to whoever made it."""
    try:
        yield
    except (UnknownTicket, DeskFull) as error:
        raise ToolError(str(error)) from error


@server.tool(annotations=_READS)
async def list_tickets(
    status: Status | None = None,
    priority: Priority | None = None,
    assignee: Annotated[str, Field(max_length=100)] | None = None,
    limit: Annotated[int, Field(ge=1, le=MAX_TICKETS)] = 50,
) -> TicketPage:
    """List support tickets, those that were opened first at the top."""
    found = [
        ticket
        for ticket in desk
        if (status is None or ticket.status == status)
        and (priority is None or ticket.priority == priority)
        and (assignee is None or ticket.assignee == assignee)
    ]
    return TicketPage(total=len(found), tickets=found[:limit])


@server.tool(annotations=_READS)
async def get_ticket(id: TicketId) -> Ticket:  # noqa: A002 - the name of the argument on the wire
    """Get one support ticket with its comments."""
    with _said():
        return desk.get(id)


@server.tool(annotations=_ADDS)
async def create_ticket(title: Line, body: Text, priority: Priority = "normal") -> Ticket:
    """Open a support ticket."""
    with _said():
        return desk.open(title, body, priority)


@server.tool(annotations=_ADDS)
async def comment_on_ticket(id: TicketId, text: Text) -> Ticket:  # noqa: A002
    """Add a comment to a support ticket."""
    with _said():
        return desk.comment(id, text)


@server.tool(annotations=_ENDS)
async def close_ticket(id: TicketId, resolution: Text) -> Ticket:  # noqa: A002
    """Close a support ticket, and say how it was resolved. The traveller is told."""
    with _said():
        return desk.close(id, resolution)


if __name__ == "__main__":
    server.run()
