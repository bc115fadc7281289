"""`cortex jobs`: list the runs that go on after their turn, show one, cancel one and clear those that have ended."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex.settings import Settings
from cortex.text import fit, local_time, visible

from .exits import REFUSED, SUCCESS, CommandError
from .options import behind_an_action, load_existing
from .rows import paint, width

if TYPE_CHECKING:
    from cortex.audit import Audit
    from cortex.home import HomeFiles
    from cortex.jobs import JobRecord, JobRecords
    from sandbox import FileLock

CANCEL_S = 20.0
_POLL_S = 0.05
_LEAST_ID = 6
_PREFIX = "job-"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print what there is as JSON, for programs")
    actions = parser.add_subparsers(dest="action", metavar="[show ID | cancel ID | clear]")
    common = behind_an_action("print JSON, for programs")
    which = "the handle of a job, or 6 or more characters of it after job-"
    show = actions.add_parser("show", parents=[common], help="one job and its reply, secrets hidden")
    show.add_argument("id", metavar="ID", help=which)
    cancel = actions.add_parser("cancel", parents=[common], help="stop a job, whichever process runs it")
    cancel.add_argument("id", metavar="ID", help=which)
    actions.add_parser("clear", parents=[common], help="delete the records of jobs that have ended")


def run(options: Namespace) -> int:
    # Imported here: `--help` must not wait for it.
    from cortex.audit import AuditError
    from cortex.energy import EnergyError
    from neurons import StorageError
    from sandbox import LockBusy

    settings = load_existing(options)
    try:
        for line in _changed(options, settings) if options.action in {"cancel", "clear"} else _seen(options, settings):
            print(line)
    except AuditError as error:
        raise CommandError(f"nothing was done, because it could not be recorded: {error}", REFUSED) from error
    except (StorageError, EnergyError, LockBusy) as error:
        raise CommandError(str(error), REFUSED) from error
    return SUCCESS


def _seen(options: Namespace, settings: Settings) -> Iterator[str]:
    """Looking creates no folder: the home may be a mistyped path."""
    from cortex.home import Home
    from cortex.jobs import JobRecords
    from neurons import DeferredStorage

    state = Home(settings.home).state_to_read
    records = JobRecords(DeferredStorage(state), time.time)
    try:
        everything = records.all()
        chosen = [_chosen(options.id, everything)] if options.action == "show" else everything
        is_left = any(record.is_under_way for record in chosen) and not _is_led(state)
        yield from (_show if options.action == "show" else _list)(chosen, is_left, options, settings)
    finally:
        records.close()


def _is_led(state: Path) -> bool:
    """Whether a process runs the jobs of the home."""
    from sandbox import FileLock

    path = state / "jobs.lock"
    if not path.exists():
        return False
    lease = FileLock(path)
    try:
        is_free = lease.try_take()
        if is_free:
            lease.release()
        return not is_free
    finally:
        lease.close()


def _list(records: list[JobRecord], is_left: bool, options: Namespace, settings: Settings) -> Iterator[str]:
    facts = [_facts(record, is_left, settings) for record in records]
    if options.json:
        yield json.dumps(facts)
        return
    if not facts:
        yield "There are no jobs"
        return
    yield paint(f"{'job':12} {'state':9} {'tier':8} {'energy':>8}  {'since':16} purpose", "dim")
    for each in facts:
        state, since = _state(each), local_time(each["at"])
        row = f"{each['job'][:12]} {state:9} {fit(each['tier'], 8):8} {each['reserved']:>8.4g}  {since} "
        yield row + fit(each["purpose"], max(10, width() - len(row)))


def _show(records: list[JobRecord], is_left: bool, options: Namespace, settings: Settings) -> Iterator[str]:
    from cortex.redaction import Redactor

    [record] = records
    facts = _facts(record, is_left, settings)
    reply = None if record.reply is None else Redactor(settings.redaction).text(record.reply)
    if options.json:
        yield json.dumps({**facts, "reply": reply})
        return
    ended = "" if record.ended_at is None else f", ended {local_time(record.ended_at)}"
    yield f"{facts['job']}  {_state(facts)}, since {local_time(record.at)}{ended}"
    reserved = "reserved" if record.is_under_way else "was reserved"
    yield fit(f"{facts['tier']}, {record.cost:.4g} energy {reserved}, code {facts['code_hash'][:8]}", width())
    yield fit(f"purpose: {facts['purpose']}", width())
    if reply is not None:
        yield ""
        yield from map(visible, reply.splitlines())


def _facts(record: JobRecord, is_left: bool, settings: Settings) -> dict[str, Any]:
    from cortex.redaction import Redactor

    return {
        "job": record.handle,
        "state": record.state,
        "purpose": Redactor(settings.redaction).text(record.purpose),
        "tier": record.tier,
        "reserved": record.cost,
        "at": record.at,
        "ended_at": record.ended_at,
        "is_told": record.is_told,
        "code_hash": record.code_hash,
        "is_left": is_left and record.is_under_way,
    }


def _state(facts: dict[str, Any]) -> str:
    return "left" if facts["is_left"] else str(facts["state"]).replace("_", " ")


def _chosen(name: str, records: list[JobRecord]) -> JobRecord:
    found = [record for record in records if record.handle == name]
    beginning = name.removeprefix(_PREFIX)
    if not found and len(beginning) >= _LEAST_ID:
        found = [record for record in records if record.handle.removeprefix(_PREFIX).startswith(beginning)]
    if len(found) != 1:
        problem = "several jobs have handles that begin so" if found else "there is no such job"
        raise CommandError(f'"{name[:80]}": {problem}; cortex jobs lists them')
    return found[0]


def _changed(options: Namespace, settings: Settings) -> Iterator[str]:
    from cortex.audit import Audit
    from cortex.home import Home, HomeFiles
    from cortex.jobs import JobRecords

    home = Home(settings.home)
    if not home.state_to_read.exists():
        raise CommandError("there are no jobs here")
    files = HomeFiles(home)
    audit = Audit(home.audit, settings.audit)
    records = JobRecords(files.storage(), time.time)
    try:
        if options.action == "clear":
            yield from _cleared(records, audit, options)
        else:
            record = _cancelled(_chosen(options.id, records.all()), records, files, audit, settings)
            facts = {"job": record.handle, "state": record.state}
            yield json.dumps(facts) if options.json else f"{record.handle}: {record.state.replace('_', ' ')}"
    finally:
        records.close()
        audit.close()


def _cleared(records: JobRecords, audit: Audit, options: Namespace) -> Iterator[str]:
    ended = [record for record in records.all() if not record.is_under_way]
    if ended:
        # Recorded first: an owner's decision that cannot be recorded is not carried out.
        audit.record("owner_decision", what="jobs clear", by="owner", jobs=len(ended))
    cleared = [record.handle for record in ended if records.clear(record)]
    if options.json:
        yield json.dumps({"cleared": cleared})
    else:
        told = f"{len(cleared)} ended job{'' if len(cleared) == 1 else 's'} cleared"
        yield told if cleared else "No job has ended"


def _cancelled(record: JobRecord, records: JobRecords, files: HomeFiles, audit: Audit, settings: Settings) -> JobRecord:
    """The record after the job has ended. Raises CommandError for a job that had ended, or that does not end."""
    if not record.is_under_way:
        raise CommandError(f"{record.handle} has ended already: {record.state.replace('_', ' ')}", REFUSED)
    audit.record("owner_decision", what="jobs cancel", by="owner", job=record.handle)
    lease = files.lease("jobs")
    try:
        is_asked = False
        give_up = time.monotonic() + CANCEL_S
        while time.monotonic() < give_up:
            # Each time: the process that runs the job may end, or be killed.
            if lease.try_take():
                _settle(records, files, audit, settings, lease)
            elif not is_asked:
                records.ask_to_cancel(record.handle)
                is_asked = True
            found = next((each for each in records.all() if each.handle == record.handle), None)
            if found is None or not found.is_under_way:
                return found or record
            time.sleep(_POLL_S)
    finally:
        lease.close()
    raise CommandError(
        f"{record.handle} has not ended in {CANCEL_S:g} s; is the process that runs it stopped?", REFUSED
    )


def _settle(records: JobRecords, files: HomeFiles, audit: Audit, settings: Settings, lease: FileLock) -> None:
    """Settle what a process that is gone has left."""
    import anyio

    from cortex.audit import AuditJournal
    from cortex.jobs import settle_left

    energy = files.ledger(settings.energy, on_change=AuditJournal(audit).energy)
    try:
        anyio.run(settle_left, records, energy)
    finally:
        energy.close()
        lease.release()
