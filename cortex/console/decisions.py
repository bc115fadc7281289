"""The buttons: safe decisions are carried out at once, dangerous ones once their code was typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from cortex.audit import AuditError
from cortex.energy import EnergyError
from cortex.inbox import InboxError
from neurons import NeuronError
from sandbox import LockBusy

from .app import Answer, Given, See, ShownPage, Visit
from .carrying_out import MAX_REASON, MIN_HASH, Decided, amount_of
from .codes import CodeRefused
from .door import LOGIN

if TYPE_CHECKING:
    from .codes import CodedDecision


class NotDecided(Exception):
    """The form lacks something. The message says what."""


def kill(visit: Visit) -> Answer:
    """Its answer is a small page of its own, which reads nothing but the switch: nothing that is broken elsewhere may
    look as if the kill had failed."""
    killed = _decided(visit).kill(_reason(visit.form))
    return ShownPage("killed.html", {"done": killed, "what": "everything"})


def kill_neuron(visit: Visit) -> Answer:
    killed = _decided(visit).kill(_reason(visit.form), visit.path["neuron"])
    return ShownPage("killed.html", {"done": killed, "what": visit.path["neuron"]})


def reject(visit: Visit) -> Answer:
    return _safe(visit, Decided.reject)


def disable(visit: Visit) -> Answer:
    return _safe(visit, Decided.disable)


def approve(visit: Visit) -> Answer:
    neuron = visit.path["neuron"]
    typed = visit.form.get("hash", "").strip()
    if len(typed) < MIN_HASH:
        return refused(f"Type at least the first {MIN_HASH} characters of the hash.", f"/neurons/{neuron}")
    return dear(visit, "approve", neuron, {"hash": typed}, f"approve neuron {neuron}, hash {typed[:MIN_HASH]}")


def modify(visit: Visit) -> Answer:
    neuron, code = visit.path["neuron"], visit.form.get("code", "")
    size = len(code.encode(errors="replace"))
    return dear(visit, "modify", neuron, {"code": code}, f"give neuron {neuron} other code ({size} bytes)")


def enable(visit: Visit) -> Answer:
    neuron = visit.path["neuron"]
    return dear(visit, "enable", neuron, {}, f"enable neuron {neuron}")


def rollback(visit: Visit) -> Answer:
    neuron, version = visit.path["neuron"], visit.form.get("version", "")[:6]
    return dear(visit, "rollback", neuron, {"version": version}, f"roll neuron {neuron} back to version {version}")


def revive(visit: Visit) -> Answer:
    neuron, reason = visit.path.get("neuron", ""), _reason(visit.form)
    if not reason:
        return refused(
            "Say why it is safe again: the reason stays in the audit.", f"/neurons/{neuron}" if neuron else "/"
        )
    what = f"turn the kill switch of neuron {neuron} off" if neuron else "turn the kill switch off"
    return dear(visit, "revive", neuron, {"reason": reason}, what)


def energy(visit: Visit) -> Answer:
    try:
        amount = amount_of(visit.form.get("amount", ""))
    except AuditError as error:
        return refused(f"{error}.", "/")
    return dear(visit, "energy", "", {"amount": f"{amount:g}"}, f"add {amount:g} to the energy")


BACK = {"answer": "/inbox"}
"""Where the pages of decisions lead back to; others lead to their neuron."""
CARRIED_OUT: dict[str, Callable[[Decided, str, Mapping[str, str]], str]] = {
    "approve": Decided.approve,
    "modify": Decided.modify,
    "enable": Decided.enable,
    "rollback": Decided.rollback,
    "revive": Decided.revive,
    "energy": Decided.energy,
    "answer": Decided.answer,
}
"""The dangerous decisions by their names. Other rooms add theirs when the console is opened."""


def confirm_page(visit: Visit) -> Answer:
    try:
        decision = visit.desk.codes.find(visit.session, visit.path["decision"])
    except CodeRefused as error:
        return refused(f"{error}.", "/")
    return ShownPage("confirm.html", {"decision": decision, "trouble": "", "back": back_of(decision)})


def confirm(visit: Visit) -> Answer:
    codes = visit.desk.codes
    try:
        decision = codes.take(visit.session, visit.path["decision"], visit.form.get("code", ""))
    except CodeRefused as error:
        if not visit.desk.sessions.is_open(visit.session):
            return See(LOGIN)
        try:
            again = codes.find(visit.session, visit.path["decision"])
        except CodeRefused:
            return refused(f"{error}.", "/")
        return ShownPage("confirm.html", {"decision": again, "trouble": f"{error}.", "back": back_of(again)}, 403)
    return _carry_out(visit, decision)


def dear(visit: Visit, action: str, target: str, given: Given, what: str) -> Answer:
    codes = visit.desk.codes
    try:
        decision = codes.ask(visit.session, action, target, given, what)
    except CodeRefused as error:
        return refused(f"{error}.", "/")
    if visit.desk.guards.needs_code:
        return See(f"/confirm/{decision.id}")
    return _carry_out(visit, codes.take(visit.session, decision.id, decision.code))


def back_of(decision: CodedDecision) -> str:
    """The page that the decision is about."""
    return BACK.get(decision.action, f"/neurons/{decision.target}" if decision.target else "/")


def _carry_out(visit: Visit, decision: CodedDecision) -> Answer:
    return told(
        back_of(decision), lambda: CARRIED_OUT[decision.action](_decided(visit), decision.target, decision.given)
    )


def _safe(visit: Visit, decide: Callable[[Decided, str, Mapping[str, str]], str]) -> Answer:
    neuron = visit.path["neuron"]
    given = {**visit.form, "reason": _reason(visit.form)}
    return told(f"/neurons/{neuron}", lambda: decide(_decided(visit), neuron, given))


def told(back: str, decide: Callable[[], str]) -> Answer:
    try:
        done = decide()
    except AuditError as error:
        return refused(f"Nothing was changed, because it could not be recorded: {error}", back)
    except (NeuronError, EnergyError, InboxError, LockBusy) as error:
        return refused(f"{error}", back)
    return ShownPage("told.html", {"title": "Done", "text": done, "back": back})


def refused(text: str, back: str) -> ShownPage:
    return ShownPage("told.html", {"title": "Not done", "text": text, "back": back}, 409)


def _decided(visit: Visit) -> Decided:
    return Decided(visit.desk.settings, visit.session.id)


def _reason(form: Given) -> str:
    return " ".join(form.get("reason", "").split())[:MAX_REASON]
