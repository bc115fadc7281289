"""A log of a thousand commits, always the same: 24 weeks of twelve people, up to the end of March 2026."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256

from pydantic import BaseModel

COMMITS = 1_000
LAST = datetime(2026, 3, 29, 22, 40, tzinfo=UTC)
"""A Sunday. No commit is later."""
_BETWEEN = timedelta(minutes=242)
_REPOSITORY = "harbour/ferry"

# Some work more than others: each name is drawn as often as it stands here.
_PEOPLE = (
    *("Mira Osei", "Mira Osei", "Mira Osei", "Mira Osei"),
    *("Tomás Vidal", "Tomás Vidal", "Tomás Vidal"),
    *("Aiko Tanaka", "Aiko Tanaka", "Aiko Tanaka"),
    *("Lena Brandt", "Lena Brandt", "Kofi Mensah", "Kofi Mensah", "Priya Nair", "Priya Nair"),
    *("Jonas Berg", "Sara Lindqvist", "Diego Ruiz", "Nadia Haddad", "Owen Price", "Wei Zhang"),
)
_KINDS = ("Fix", "Add", "Rework", "Document", "Speed up", "Test", "Remove", "Simplify")
_THINGS = (
    *("the timetable import", "seat reservations", "the refund of a cancelled trip", "search by harbour"),
    *("the boarding pass", "the queue of payments", "reminders before departure", "weather delays"),
    *("the crew roster", "the price of a cabin", "the login by e-mail", "the map of piers"),
)
_REASONS = (
    "It failed when two travellers asked for the last seat at the same moment, and both were told that they had it.",
    "The old way read the whole table for each request, which took seconds on a summer weekend.",
    "Nobody could tell from the log what had happened, so the support team asked us each time.",
    "A ferry that leaves after midnight belonged to the wrong day in three of the five reports.",
    "The tests passed by accident: they compared a list with itself.",
)
_FOLDERS = ("api", "web", "billing", "timetable", "boarding", "crew", "ops")
_FILES = ("routes.py", "models.py", "service.py", "views.ts", "schema.sql", "README.md", "queue.py", "report.ts")


class Person(BaseModel):
    name: str
    email: str
    date: str
    """When, as ISO 8601 in UTC."""


class Change(BaseModel):
    sha: str
    filename: str
    status: str
    additions: int
    deletions: int


class Commit(BaseModel):
    sha: str
    tree: str
    parents: list[str]
    author: Person
    committer: Person
    message: str
    url: str
    additions: int
    deletions: int
    files: list[Change]


def email_of(name: str) -> str:
    return name.lower().replace("á", "a").replace(" ", ".") + "@harbour.example"


@cache
def commits() -> tuple[Commit, ...]:
    """All of them, the newest first."""
    return tuple(map(_commit, range(COMMITS)))


def _digest(number: int) -> bytes:
    """Dice that fall the same way on every machine, and the name of the commit."""
    return sha256(f"{_REPOSITORY} {number}".encode()).digest()


def _commit(number: int) -> Commit:
    dice = _digest(number)
    name = _PEOPLE[dice[20] % len(_PEOPLE)]
    at = LAST - number * _BETWEEN - timedelta(minutes=dice[21] % 120)
    person = Person(name=name, email=email_of(name), date=f"{at:%Y-%m-%dT%H:%M:%SZ}")
    files = [_change(dice, place) for place in range(dice[22] % 5 + 1)]
    sha = dice[:20].hex()
    return Commit(
        sha=sha,
        tree=dice[::-1][:20].hex(),
        parents=[_digest(number + 1)[:20].hex()] if number + 1 < COMMITS else [],
        author=person,
        committer=person,
        message=_message(dice),
        url=f"https://git.harbour.example/{_REPOSITORY}/commit/{sha}",
        additions=sum(change.additions for change in files),
        deletions=sum(change.deletions for change in files),
        files=files,
    )


def _change(dice: bytes, place: int) -> Change:
    die, size = dice[23 + place], dice[place]
    return Change(
        sha=sha256(dice + bytes([place])).hexdigest()[:40],
        filename=f"{_FOLDERS[die % len(_FOLDERS)]}/{_FILES[die // 8 % len(_FILES)]}",
        status="added" if die > 240 else "modified",
        additions=size // 2 + 1,
        deletions=0 if die > 240 else size // 5,
    )


def _message(dice: bytes) -> str:
    subject = f"{_KINDS[dice[28] % len(_KINDS)]} {_THINGS[dice[29] % len(_THINGS)]}"
    reasons = (_REASONS[(dice[30] + turn) % len(_REASONS)] for turn in range(3))
    reviewer = email_of(_PEOPLE[dice[31] % len(_PEOPLE)])
    return "\n".join((subject, "", *reasons, "", f"Reviewed-by: {reviewer}"))
