"""The inbox: what agents ask the owner, with the time that is left, and the proposals that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex.views import HomeNeurons, QuestionSeen, questions_of

from .app import Answer, ShownPage, Visit
from .carrying_out import Decided
from .decisions import MIN_HASH, dear, refused, told
from .parts import part

if TYPE_CHECKING:
    from .desk import Desk

PLACE = "/inbox"
CLOSED = 20
MAX_HASH = 64


def inbox_page(visit: Visit) -> Answer:
    desk = visit.desk

    def questions() -> dict[str, list[QuestionSeen]]:
        found = questions_of(desk.settings, desk.now)
        return {
            "open": [one for one in found if one.is_open],
            "closed": [one for one in reversed(found) if not one.is_open][:CLOSED],
        }

    facts: dict[str, Any] = {"questions": part(questions), "proposals": part(lambda: _proposals(desk))}
    return ShownPage("inbox.html", facts)


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
    found = next((one for one in questions_of(visit.desk.settings, visit.desk.now) if one.id == question), None)
    if found is None or not found.is_open:
        return refused(
            f"This question cannot be answered: {found.told if found else 'it is not there any more'}.", PLACE
        )
    what = f"allow {found.tool}, this once, question hash {shown[:MIN_HASH]}"
    return dear(visit, "answer", question, {"hash": shown[:MAX_HASH], "allowed": "yes"}, what)
