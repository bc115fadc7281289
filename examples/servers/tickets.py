"""Sixty tickets of a support desk, the same each time it opens; what is changed lasts as long as the desk is open."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Literal

from pydantic import BaseModel

TICKETS = 60
MAX_TICKETS = 1_000
MAX_COMMENTS = 100
"""Of one ticket."""

Status = Literal["open", "waiting", "closed"]
Priority = Literal["low", "normal", "high", "urgent"]

_PROBLEMS = (
    ("Refund did not arrive", "The trip was cancelled two weeks ago, and the money has not come back."),
    ("Boarding pass is blank", "The file opens, and there is nothing on it, neither on the phone nor on paper."),
    ("Charged twice", "One reservation, and two payments on the statement of the card."),
    ("Cannot change the date", "The page says that the ferry is full, but the search shows forty seats."),
    ("Wrong departure time", "The reminder said ten past nine; the ferry had left at nine."),
    ("Wheelchair place is missing", "It was in the reservation, and the crew knew nothing of it."),
)
_REPORTERS = ("h.okafor", "greta.lund", "p.marchetti", "yuki.ito", "d.novak", "amal.said", "j.oconnor", "r.silva")
_DESK = ("Ines", "Bilal", "Marta", None)
_STATUSES: tuple[Status, ...] = ("open", "open", "waiting", "closed", "closed")
_PRIORITIES: tuple[Priority, ...] = ("low", "normal", "normal", "high", "urgent")


class Comment(BaseModel):
    by: str
    text: str


class Ticket(BaseModel):
    id: str
    title: str
    body: str
    status: Status
    priority: Priority
    reporter: str
    assignee: str | None
    opened: str
    comments: list[Comment]


class UnknownTicket(LookupError):
    """Nobody has opened a ticket of that name."""


class DeskFull(Exception):
    """There is no room for more of it."""


class Desk:
    def __init__(self) -> None:
        self._tickets = {ticket.id: ticket for ticket in map(_ticket, range(1, TICKETS + 1))}

    def __iter__(self) -> Iterator[Ticket]:
        return iter(self._tickets.values())

    def get(self, ticket_id: str) -> Ticket:
        """Raises UnknownTicket."""
        if ticket_id not in self._tickets:
            raise UnknownTicket(f'there is no ticket "{ticket_id}"')
        return self._tickets[ticket_id]

    def open(self, title: str, body: str, priority: Priority) -> Ticket:
        """Raises DeskFull."""
        if len(self._tickets) >= MAX_TICKETS:
            raise DeskFull(f"the desk has {MAX_TICKETS} tickets, and room for no more")
        ticket = Ticket(
            id=f"T-{len(self._tickets) + 1:03}",
            title=title,
            body=body,
            status="open",
            priority=priority,
            reporter="agent@harbour.example",
            assignee=None,
            opened="2026-03-30",
            comments=[],
        )
        self._tickets[ticket.id] = ticket
        return ticket

    def comment(self, ticket_id: str, text: str) -> Ticket:
        """Raises UnknownTicket, or DeskFull."""
        ticket = self.get(ticket_id)
        if len(ticket.comments) >= MAX_COMMENTS:
            raise DeskFull(f"{ticket_id} has {MAX_COMMENTS} comments, and room for no more")
        ticket.comments.append(Comment(by="agent", text=text))
        return ticket

    def close(self, ticket_id: str, resolution: str) -> Ticket:
        """Raises UnknownTicket, or DeskFull."""
        ticket = self.comment(ticket_id, resolution)
        ticket.status = "closed"
        return ticket


def _ticket(number: int) -> Ticket:
    dice = sha256(f"ticket {number}".encode()).digest()
    title, body = _PROBLEMS[dice[0] % len(_PROBLEMS)]
    reporter = _REPORTERS[dice[1] % len(_REPORTERS)]
    ferry = f"FE-{dice[2] % 90 + 10}"
    return Ticket(
        id=f"T-{number:03}",
        title=f"{title} ({ferry})",
        body=f"{body} It is about {ferry}. Please call +44 20 7946 0{dice[3] % 900 + 100}.",
        status=_STATUSES[dice[4] % len(_STATUSES)],
        priority=_PRIORITIES[dice[5] % len(_PRIORITIES)],
        reporter=f"{reporter}@post.example",
        assignee=_DESK[dice[6] % len(_DESK)],
        opened=f"2026-03-{number // 2 % 29 + 1:02}",
        comments=[Comment(by="Ines", text="We have asked the crew.")] if dice[7] % 2 else [],
    )
