"""The pages for looking: each reads the home anew and makes facts for its template."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from cortex.audit import Audit
from cortex.energy import entries_in, on_terms, outlook, terms_in
from cortex.runs import open_programs, run_id
from cortex.settings import explain_settings
from cortex.views import (
    EnergyView,
    HomeNeurons,
    audit_row,
    energy_view,
    level_of,
    questions_of,
    running_now,
    searched_text,
    without_finished,
)
from neurons import KillSwitch, NeuronError, NoSuchNeuron, On

from .app import Answer, NotFound, ShownPage, TextFile, Visit
from .code_lines import code_as_lines
from .parts import number, part
from .plots import activity_line, energy_plot, sparkline

if TYPE_CHECKING:
    from cortex.audit import Record
    from cortex.views import AuditRow

    from .desk import Desk

ROWS = 50
LAST_RUNS = 12
MAX_LOOKED_AT = 20_000
"""Records that a search reads at most; without an index a longer search would keep the owner waiting."""
MAX_PROGRAMS = 20
CATCH_UP_S = 0.5
CANDIDATES = 2_000
"""A text that so many records may have is found by reading them."""
DAY_S, QUARTER_S = 86_400.0, 900.0


@contextmanager
def audit_of(desk: Desk) -> Iterator[Audit]:
    audit = Audit(desk.settings.home / "audit", desk.settings.audit)
    try:
        yield audit
    finally:
        audit.close()


def killed_now(desk: Desk) -> On | None:
    found = KillSwitch(desk.settings.home / "state").state()
    return found if isinstance(found, On) else None


def chrome(desk: Desk) -> dict[str, Any]:
    """What is around every page: the switch, the level, and how much waits for the owner."""
    state, settings = desk.settings.home / "state", desk.settings
    now = desk.now()
    return {
        "killed": part(lambda: killed_now(desk)).value,
        "level_now": part(lambda: level_of(state, settings.energy, now)).value,
        "rate": part(lambda: on_terms(settings.energy, terms_in(state)).recharge_per_minute).value or 0.0,
        "waiting": part(lambda: waiting_count(desk)).value or 0,
        "asking": part(lambda: open_count(desk)).value or 0,
        "home": str(settings.home),
    }


def rate_of(desk: Desk) -> float:
    """What comes back in a minute, on the terms of the programs that spend."""
    settings = desk.settings
    return on_terms(settings.energy, terms_in(settings.home / "state")).recharge_per_minute


def open_count(desk: Desk) -> int:
    """How many questions of agents wait for the owner's word."""
    return sum(one.is_open for one in questions_of(desk.settings, desk.now))


def waiting_count(desk: Desk) -> int:
    with HomeNeurons.opened(desk.settings, desk.now()) as found:
        return found.waiting()


def energy_of(desk: Desk) -> EnergyView:
    on = killed_now(desk)
    state = desk.settings.home / "state"
    return energy_view(state, desk.settings.energy, desk.now(), str(on) if on else None)


def now_page(visit: Visit) -> Answer:
    desk, past_s = visit.desk, QUARTER_S if visit.query.get("span") == "15min" else DAY_S
    energy = part(lambda: energy_of(desk))
    facts: dict[str, Any] = {
        "energy": energy,
        "span": "15min" if past_s == QUARTER_S else "24h",
        "tiers": [],
        "plot": None,
        "id_of": id_of,
    }
    if (seen := energy.value) is not None:
        facts["plot"] = part(lambda: energy_plot(seen, past_s))
        facts["tiers"] = [(tier, outlook(tier, seen.seen.killed)) for tier in seen.seen.tiers]
    facts["runs"] = part(lambda: last_runs(desk))
    facts["neurons"] = part(lambda: neurons_of(desk))
    return ShownPage("now.html", facts)


def id_of(row: AuditRow) -> str:
    """The id of the run that a record is about, as the page of runs has it."""
    return run_id(row.turn, int(row.call) if row.call.isdecimal() and len(row.call) < 10 else 0)


def last_runs(desk: Desk) -> dict[str, Any]:
    """The last runs of code, and those that run now: not those whose program was killed."""
    programs = open_programs(desk.settings.home / "state" / "open")
    with audit_of(desk) as audit:
        records = without_finished(list(audit.records(last=20 * LAST_RUNS)))
    running, gone = running_now(records, programs)
    cut = {record.seq for record in gone}
    kept = [record for record in reversed(records) if record.kind in {"execution", "refusal"} or record.seq in cut]
    rows = [audit_row(record) for record in kept[:LAST_RUNS]]
    ended = [replace(row, answer="cut short") if row.kind == "intent" else row for row in rows]
    there = [one for one in programs if one.state != "gone"]
    return {"running": [audit_row(one) for one in running], "ended": ended, "programs": there[:MAX_PROGRAMS]}


def neurons_of(desk: Desk) -> Any:
    entries = part(lambda: entries_in(desk.settings.home / "state", 2_000)).value or []
    with HomeNeurons.opened(desk.settings, desk.now(), entries) as found:
        return found.all()


LINES = {"sparkline": sparkline, "activity_line": activity_line}


def neurons_page(visit: Visit) -> Answer:
    return ShownPage("neurons.html", {"view": part(lambda: neurons_of(visit.desk)), **LINES})


def neuron_page(visit: Visit) -> Answer:
    desk, name = visit.desk, visit.path["neuron"]
    entries = part(lambda: entries_in(desk.settings.home / "state", 2_000)).value or []
    try:
        with HomeNeurons.opened(desk.settings, desk.now(), entries) as found:
            view = found.one(name)
    except NoSuchNeuron as error:
        raise NotFound(str(error)) from error
    except NeuronError as error:
        raise NotFound(f"This neuron cannot be read: {error}") from error
    if visit.query.get("as") == "text":
        return TextFile("code.txt", view.seen.neuron.code)
    code = part(lambda: code_as_lines(view.seen.neuron.code))
    return ShownPage("neuron.html", {"view": view, "neuron": view.seen.neuron, "code": code, **LINES})


def audit_page(visit: Visit) -> Answer:
    query, kind, wanted = visit.query, visit.query.get("kind", ""), visit.query.get("q", "").strip()[:200]
    before = number(query.get("before"))
    with audit_of(visit.desk) as audit:
        rows, looked, last = [], 0, None
        for record in islice(_to_look_at(visit.desk, audit, wanted, before), MAX_LOOKED_AT):
            looked, last = looked + 1, record.seq
            if kind and record.kind != kind:
                continue
            if wanted and wanted.casefold() not in searched_text(record):
                continue
            rows.append(audit_row(record))
            if len(rows) >= ROWS:
                break
        newest = next(iter(audit.before()), None)
    more = last if last is not None and last > 1 and (len(rows) >= ROWS or looked >= MAX_LOOKED_AT) else None
    facts = {
        "rows": rows,
        "more": more,
        "kind": kind,
        "q": wanted,
        "head": newest,
        "is_newest": before is None and not kind and not wanted,
        "kinds": KINDS,
    }
    return ShownPage("audit.html", facts)


def _to_look_at(desk: Desk, audit: Audit, wanted: str, before: int | None) -> Iterator[Record]:
    """The records that may have the text, newest first: by the index once it has read all, else simply all."""
    numbers = None
    with suppress(OSError):
        if wanted and desk.index.catch_up(CATCH_UP_S):
            numbers = desk.index.numbers(wanted, before, CANDIDATES)
    if numbers is None or len(numbers) >= CANDIDATES:
        return audit.before(before)
    return (record for seq in numbers if (record := audit.find(seq)) is not None)


KINDS = (
    *("intent", "execution", "refusal", "tool_call", "owner_decision", "neuron", "emission", "files", "workflow"),
    *("details", "recovered"),
)


def record_page(visit: Visit) -> Answer:
    seq = number(visit.path["seq"])
    with audit_of(visit.desk) as audit:
        record = audit.find(seq) if seq is not None else None
        if record is None or seq is None:
            raise NotFound(f"There is no record {visit.path['seq'][:20]} that can be read.")
        code = audit.code(record.facts.get("code_hash"))
        around = [audit_row(one) for one in islice(audit.after(max(0, seq - 4)), 7)]
    if visit.query.get("as") == "text":
        return TextFile("code.txt", code or "")
    lines = part(lambda: None if code is None else code_as_lines(code))
    return ShownPage("record.html", {"record": record, "row": audit_row(record), "code": lines, "around": around})


def settings_page(visit: Visit) -> Answer:
    desk = visit.desk
    sections: dict[str, list[Any]] = {}

    def read() -> dict[str, list[Any]]:
        for one in explain_settings(desk.config, home=desk.settings.home):
            sections.setdefault(one.key.rpartition(".")[0], []).append(one)
        return sections

    facts = {"sections": part(read), "sessions": desk.sessions.all(), "read_from": desk.settings.read_from}
    return ShownPage("settings.html", facts)


def servers_page(visit: Visit) -> Answer:
    from cortex.mcp_config import servers_of  # noqa: PLC0415 - only this page needs it

    tools = visit.desk.settings.tools
    return ShownPage(
        "servers.html", {"servers": part(lambda: servers_of(visit.desk.settings)), "policies": tools.policies}
    )
