"""The inbox: what agents ask the owner, with the time that is left, and the proposals that wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex.inbox import InboxError
from cortex.views import HomeNeurons, QuestionSeen, lines_of_all, questions_of, together_with

from .app import Answer, ShownPage, Visit
from .carrying_out import MIN_HASH, Decided, asked_together, hash_shown
from .decisions import dear, refused, told
from .parts import part

if TYPE_CHECKING:
    from .desk import Desk

PLACE = "/inbox"
CLOSED = 20
MAX_SHOWN = 150_000
"""More characters than the lines of a question have: nothing may be cut here that a yes is to."""
MAX_HASH = 64


@dataclass(frozen=True, slots=True)
class AskedTogether:
    """Questions of one run about one tool, which one answer can be to."""

    questions: tuple[QuestionSeen, ...]
    lines: tuple[str, ...]
    hash: str

    @property
    def first(self) -> QuestionSeen:
        return self.questions[0]


def inbox_page(visit: Visit) -> Answer:
    desk = visit.desk

    def questions() -> dict[str, list[Any]]:
        found = questions_of(desk.settings, desk.now)
        closed = [one for one in reversed(found) if not one.is_open][:CLOSED]
        return {"open": asked_in(found), "closed": closed}

    facts: dict[str, Any] = {
        "questions": part(questions),
        "proposals": part(lambda: _proposals(desk)),
        "most": MAX_SHOWN,
    }
    return ShownPage("inbox.html", facts)


def asked_in(found: Sequence[QuestionSeen]) -> list[AskedTogether]:
    """The open questions, those that belong together as one; each by itself where all would be too long for one."""
    made: list[AskedTogether] = []
    told: set[str] = set()
    for seen in found:
        if not seen.is_open or seen.id in told:
            continue
        together = together_with(seen, found)
        lines = lines_of_all(together) if len(together) > 1 else None
        told.update(one.id for one in together)
        if lines is not None:
            made.append(AskedTogether(tuple(together), tuple(lines), hash_shown(together)))
        else:
            made += [AskedTogether((one,), one.lines, one.shown_hash) for one in together]
    return made


def _proposals(desk: Desk) -> list[Any]:
    with HomeNeurons.opened(desk.settings, desk.now()) as found:
        return found.all().waiting


def say_no(visit: Visit) -> Answer:
    """One press: a call that is refused does nothing."""
    question, given = visit.path["question"], {**visit.form, "allowed": ""}
    return told(PLACE, lambda: Decided(visit.desk.settings, visit.session.id).answer(question, given))


def say_yes(visit: Visit) -> Answer:
    question, shown = visit.path["question"], visit.form.get("hash", "").strip()
    if len(shown) < MIN_HASH:
        return refused(f"Type at least the first {MIN_HASH} characters of the hash.", PLACE)
    together = visit.form.get("together", "")[:1]
    try:
        asked = asked_together(visit.desk.settings, question, is_one=not together)
    except InboxError as error:
        return refused(f"{error}.", PLACE)
    times = "this once" if len(asked) == 1 else f"{len(asked)} times"
    what = f"allow {asked[0].tool}, {times}, question hash {shown[:MIN_HASH]}"
    return dear(visit, "answer", question, {"hash": shown[:MAX_HASH], "allowed": "yes", "together": together}, what)
