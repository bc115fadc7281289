"""The pages of runs: a list with a filter that is all in its address, and all that is kept of one run."""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import anyio

from cortex.replay import ReplayRefused, replayable_of, replayed
from cortex.runs import AmbiguousRun, ForgottenRun, RunFilter
from cortex.views import HomeRuns, KeptRun
from neurons import KillSwitch
from sandbox import Running, SandboxError

from .app import Answer, NotFound, See, ShownPage, TextFile, Visit
from .code_lines import code_as_lines
from .decisions import refused
from .parts import number, part
from .waterfall import FEW_ROWS, waterfall

if TYPE_CHECKING:
    from .app import Given

ROWS = 50
MAX_WORD = 200
FILTERS = ("q", "state", "tier", "tool", "host", "turn")
STATES = ("ok", "error", "timeout", "cancelled", "host_failed")
TIERS = ("isolated", "network")
MAX_PAGES = 8
"""The reader goes through 8 MiB at a time: so many times for one page of a filter that fits little."""
OTHERS = 6
ALL_ROWS = 1_000
_REPLAYING = Lock()


def runs_page(visit: Visit) -> Answer:
    given = {name: visit.query.get(name, "").strip()[:MAX_WORD] for name in FILTERS}
    found = part(lambda: _found(visit, given))
    more = None
    if found.value is not None and found.value[1] is not None:
        more = "/runs?" + urlencode({**{name: text for name, text in given.items() if text}, "before": found.value[1]})
    facts: dict[str, Any] = {
        "rows": found,
        "more": more,
        "given": given,
        "states": STATES,
        "tiers": TIERS,
        "is_newest": not any(given.values()) and "before" not in visit.query,
        "is_filtered": any(given.values()),
    }
    return ShownPage("runs.html", facts)


def _found(visit: Visit, given: Given) -> tuple[list[KeptRun], str | None, int]:
    """The rows of a page, where the next one goes on, and how many lines could not be read."""
    wanted = RunFilter(
        text=given["q"],
        outcome=given["state"] or None,
        tier=given["tier"] or None,
        tool=given["tool"] or None,
        host=given["host"] or None,
        turn=given["turn"] or None,
    )
    rows: list[KeptRun] = []
    cursor, damaged = visit.query.get("before") or None, 0
    with HomeRuns.opened(visit.desk.settings) as runs:
        for _ in range(MAX_PAGES):
            try:
                page = runs.page(wanted, before=cursor, most=ROWS - len(rows))
            except ValueError:
                raise NotFound("This address goes on from no run.") from None
            rows += page.rows
            cursor, damaged = page.before, damaged + page.damaged
            if cursor is None or len(rows) >= ROWS:
                break
    return rows, cursor, damaged


def run_page(visit: Visit) -> Answer:
    name, record = visit.path["run"][:MAX_WORD], number(visit.query.get("record"))
    with HomeRuns.opened(visit.desk.settings) as runs:
        try:
            view = runs.find(name)
        except AmbiguousRun as error:
            raise NotFound(f"{error}.") from error
        if view is None and record is not None:
            return See(f"/audit/{record}")  # nothing is kept of it but what the audit has
        if view is None:
            raise NotFound("Nothing is kept of this run. What the audit has of it stays: look there.")
        others = part(lambda: _others(runs, view.row))
    details = view.details
    if (text := _as_text(view, visit.query.get("as", ""))) is not None:
        return text
    is_kept = not isinstance(details, ForgottenRun)
    line = details.error.line if not isinstance(details, ForgottenRun) and details.error else None
    code = view.code
    facts = {
        "view": view,
        "row": view.row,
        "details": details,
        "is_kept": is_kept,
        "code": part(lambda: None if code is None else code_as_lines(code, line)),
        "course": waterfall(view.spans, view.logs, most=ALL_ROWS if visit.query.get("rows") == "all" else FEW_ROWS),
        "others": others,
    }
    return ShownPage("run.html", facts)


def replay(visit: Visit) -> Answer:
    """Run the code again on what is on record: no network, no tools, no energy. One at a time."""
    place = f"/runs/{quote(visit.path['run'][:MAX_WORD], safe='')}"
    settings = visit.desk.settings
    switch = KillSwitch(settings.home / "state")
    if (killed := switch.refusal()) is not None:
        return refused(f"Nothing runs: {killed}.", place)
    if not _REPLAYING.acquire(blocking=False):
        return refused("Another replay runs already: wait until it has ended.", place)
    try:
        with HomeRuns.opened(settings) as runs:
            view = runs.find(visit.path["run"][:MAX_WORD])
            if view is None:
                raise NotFound("Nothing is kept of this run.")
            kept = replayable_of(runs, view)
        running = Running(switch.running, switch.refusal, required=False)
        result = anyio.run(partial(replayed, kept, settings, running=running))
    except (ReplayRefused, AmbiguousRun, SandboxError) as error:
        return refused(f"It cannot be replayed: {error}.", place)
    finally:
        _REPLAYING.release()
    return ShownPage("replay.html", {"result": result, "row": view.row, "place": place})


def _others(runs: HomeRuns, row: KeptRun) -> list[KeptRun]:
    """The newest other runs of the same code."""
    if not row.code_hash:
        return []
    page = runs.page(RunFilter(code_hash=row.code_hash), most=OTHERS)
    return [one for one in page.rows if one.id != row.id][: OTHERS - 1]


def _as_text(view: Any, wanted: str) -> TextFile | None:
    if wanted == "code":
        return TextFile("code.ts", view.code or "")
    if wanted == "reply":
        return TextFile("reply.txt", getattr(view.details, "reply", None) or "")
    return None
