"""The pages of workflows: the runs, and one run with its graph, tasks, questions and events.

A module of its own, as each subject of the console has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from starlette.responses import Response

from cortex.views import HomeWorkflows
from cortex.workflows import APPROVAL, JournalError, RunStatus

from .app import Answer, NotFound, ShownPage, Visit
from .parts import part

if TYPE_CHECKING:
    from cortex.workflows import RunRow

STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)
MAX_NAME = 200


def workflows_page(visit: Visit) -> Answer:
    wanted = next((one for one in STATUSES if one == visit.query.get("status")), None)

    def read() -> list[RunRow]:
        with HomeWorkflows.opened(visit.desk.settings) as found:
            return found.all(status=wanted)

    return ShownPage("workflows.html", {"runs": part(read), "statuses": STATUSES, "status": wanted or ""})


def workflow_page(visit: Visit) -> Answer:
    name = visit.path["run"][:MAX_NAME]
    try:
        with HomeWorkflows.opened(visit.desk.settings) as found:
            view = found.one(name, visit.desk.now())
    except JournalError as error:
        raise NotFound(f"This run cannot be read: {error}") from error
    if view is None:
        raise NotFound("There is no such run of a workflow.")
    if visit.query.get("as") == "svg":
        # A picture of its own: whatever stands in it, a browser runs nothing of an <img>.
        return Response(view.picture().encode(errors="replace"), media_type="image/svg+xml")
    facts: dict[str, Any] = {"view": view, "run": view.run, "approval": APPROVAL}
    return ShownPage("workflow.html", facts)
