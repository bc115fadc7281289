"""`cortex runs forget` and `export`: delete what is kept of runs, and write a run into a file for another machine."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from cortex.text import is_person_there, local_time, typed, visible

from .exits import REFUSED, SUCCESS, CommandError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex.runs import Entry, RunBundle
    from cortex.settings import Settings
    from cortex.views import HomeRuns, RunView


def forget(runs: HomeRuns, view: RunView | None, before: float | None, options: Namespace, settings: Settings) -> int:
    """Delete what is kept of one run, or of all before a time, once the owner has agreed."""
    from cortex.runs import ForgottenRun

    if view is not None and isinstance(view.details, ForgottenRun):
        raise CommandError(f'run "{view.row.id}" is forgotten already', REFUSED)
    ids = [view.row.id] if view is not None else _ids_before(runs, before or 0.0)
    if not ids:
        raise CommandError("no run that is kept is that old", REFUSED)
    if not options.yes and not _agreed(ids, view, before):
        print("Nothing was forgotten", file=sys.stderr)
        return REFUSED
    wanted = frozenset(ids)
    # Recorded first: an owner's decision that cannot be recorded is not carried out.
    told = {"run": ids[0]} if len(ids) == 1 else {"before": before}
    runs.audit.record("owner_decision", what="runs forget", by="owner", runs=len(ids), **told)
    gone = _deleted(settings, lambda entry: entry.id in wanted, before)
    if options.json:
        print(json.dumps({"forgotten": gone}))
    else:
        print(f"{_counted(len(gone))} forgotten")
        print("The audit keeps what it has: hashes, and the code of runs by its hash", file=sys.stderr)
    return SUCCESS


def _deleted(settings: Settings, chosen: Callable[[Entry], bool], before: float | None) -> list[str]:
    from cortex.runs import RunFiles
    from sandbox import LockBusy

    files = RunFiles(settings.home / "runs", settings.runs)
    try:
        return files.forget(chosen, before=before)
    except LockBusy as error:
        raise CommandError(f"not all of it was forgotten: {error}; try again", REFUSED) from error
    finally:
        files.close()


def _ids_before(runs: HomeRuns, until: float) -> list[str]:
    from cortex.runs import RunFilter

    ids: list[str] = []
    cursor = None
    while True:
        page = runs.page(RunFilter(until=until), before=cursor, most=1_000)
        ids += [row.id for row in page.rows]
        cursor = page.before
        if cursor is None:
            return ids


def _agreed(ids: list[str], view: RunView | None, before: float | None) -> bool:
    if view is not None:
        what = f"run {visible(view.row.id)}"
    else:
        what = f"{_counted(len(ids))} before {local_time(before or 0.0)}"
    if not is_person_there(sys.stdin, sys.stderr):
        raise CommandError(f"to forget {what} deletes what is kept of it: say --yes where nobody can be asked")
    return (typed(f"Forget {what}? [y/N] ", sys.stdin, sys.stderr) or "").lower() in {"y", "yes"}


def _counted(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def export(runs: HomeRuns, view: RunView, options: Namespace, settings: Settings) -> int:
    """Write the run into one file, or to standard output."""
    from cortex.runs import BundleRefused, bundle_bytes, read_bundle

    bundle = _bundle(runs, view, settings)
    data = bundle_bytes(bundle)
    try:
        read_bundle(data)
    except BundleRefused as error:
        raise CommandError(f"run {view.row.id} cannot be exported: {error}") from error
    if options.output is None or options.output == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        _write_new(Path(options.output), data)
    if bundle.is_code_redacted:
        print("Secrets were taken out of its code: what it asks for is then not what was recorded", file=sys.stderr)
    for sentence in view.missing:
        print(visible(sentence), file=sys.stderr)
    return SUCCESS


def _bundle(runs: HomeRuns, view: RunView, settings: Settings) -> RunBundle:
    from importlib.metadata import version

    from cortex.redaction import Redactor
    from cortex.runs import RecordingChanged, RunDetails, bundle_of

    details = view.details
    if not isinstance(details, RunDetails):
        raise CommandError(f'run "{view.row.id}" is forgotten', REFUSED)
    if view.code is None:
        raise CommandError(f'the code of run "{view.row.id}" is {view.code_state}: without it, it cannot run again')
    try:
        recording = runs.reader.recording(details)
    except RecordingChanged as error:
        raise CommandError(str(error)) from error
    return bundle_of(
        details,
        view.code,
        recording,
        Redactor(settings.redaction),
        version=version("motor-cortex"),
        exported_at=time.time(),
        standing=view.standing,
        missing=view.missing,
    )


def _write_new(path: Path, data: bytes) -> None:
    """Write the file, for its owner alone. A file that is there already stays."""
    from sandbox import replace_file

    try:
        if path.exists():
            raise CommandError(f'"{path}" is there already: choose another name')
        replace_file(path, data)
    except OSError as error:
        raise CommandError(f'cannot write "{path}": {error.strerror or error}') from error
