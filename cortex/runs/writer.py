"""Writes the details of each run, in a thread of its own, after the reply is out.

A listener of the event spine. It takes one object for each run and returns; everything else waits until no run has
ended for a moment, because it takes CPU and disk that the next run may need.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict, deque
from hashlib import sha256
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Protocol

from cortex.audit import AuditError
from cortex.contracts import ExecutionCutShort, ExecutionEnded, ExecutionStarted
from cortex.redaction import Redactor
from sandbox import LockBusy, identity_of

from .details import RecordingRef, run_id, sealed
from .ended_run import EndedRun, clock_of, cut_short_of, ended_of
from .making import Host, details_of, fitting
from .observed_run import ObservedRun
from .recording import MAX_RECORDING_BYTES, is_needed, packed, recording_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex.contracts import CortexEvent
    from cortex.settings import RunsSettings

    from .details import RunDetails
    from .run_files import RunFiles

log = logging.getLogger("motor_cortex")

MAX_WAITING = 64
MAX_WAITING_CHARACTERS = 16 * 1024 * 1024
QUIET_S = 0.1
CLOSING_S = 5.0
_TRIM_EVERY = 100
_MAX_REMEMBERED = 1_000


class Sealed(Protocol):
    """What the audit returns for a record."""

    @property
    def seq(self) -> int: ...


class RunWriter:
    """Keeps the runs of one cortex. `hear` may be called from any thread, and takes microseconds."""

    def __init__(
        self,
        files: RunFiles,
        settings: RunsSettings,
        record: Callable[..., Any],
        redactor: Redactor,
        *,
        quiet_s: float = QUIET_S,
    ) -> None:
        """`record` writes a line of the audit and returns it. `redactor` is for runs whose turn has none."""
        self._files = files
        self._settings = settings
        self._record = record
        self._redactor = redactor
        self._quiet_s = quiet_s
        self._waiting: deque[EndedRun] = deque()
        self._waiting_characters = 0
        self._change = threading.Condition()
        self._last_at = 0.0
        self._thread: threading.Thread | None = None
        self._is_closing = self._is_writing = False
        self._written = 0
        self._origins: OrderedDict[str, str] = OrderedDict()
        """The run that gave the result of a code hash, for runs that are answered from the cache."""
        own = identity_of(os.getpid())
        self._host = Host(os.getpid(), None if own is None else own.started)
        self.dropped = 0
        """Number of runs without details, because too many ended at once or the disk refused."""
        self.max_bytes = MAX_RECORDING_BYTES if settings.keep == "texts" else 0
        """How much of the answers of a run is to be kept in memory."""

    @property
    def host(self) -> Host:
        return self._host

    def hear(self, event: CortexEvent) -> None:
        """Take a run that begins or has ended. Never waits."""
        match event:
            case ExecutionStarted(run=ObservedRun() as run):
                run.level_before, run.discovery_ms = event.level_before, event.discovery_ms
            case ExecutionEnded(run=ObservedRun() as run):
                self._take(ended_of(event, run, time.perf_counter()))
            case ExecutionCutShort(run=ObservedRun() as run):
                self._take(cut_short_of(event, run, time.perf_counter()))
            case _:
                pass

    def flush(self, timeout_s: float = CLOSING_S) -> bool:
        """Write what waits now, without a pause. Returns whether all was written in time."""
        with self._change:
            self._last_at = 0.0
            self._change.notify_all()
            return self._change.wait_for(lambda: not self._waiting and not self._is_writing, timeout_s)

    def close(self) -> None:
        """Write what waits, for at most five seconds, and end the thread."""
        with self._change:
            self._is_closing = True
            self._change.notify_all()
        if self._thread is not None:
            self._thread.join(CLOSING_S)
        if self._waiting or self._is_writing:
            log.warning("%s runs have no details: they could not be written before the end", len(self._waiting) + 1)
        self._files.close()

    def _take(self, ended: EndedRun) -> None:
        weight = len(ended.reply) + sum([len(entry.text) for entry in (*ended.first_logs, *ended.last_logs)])
        with self._change:
            has_room = self._waiting_characters + weight <= MAX_WAITING_CHARACTERS
            if self._is_closing or len(self._waiting) >= MAX_WAITING or not has_room:
                self.dropped += 1
                return
            self._waiting.append(ended)
            self._waiting_characters += weight
            self._last_at = time.monotonic()
            # While the thread rests, it looks at the clock itself: to wake it for each run would cost time.
            if len(self._waiting) == 1 or len(self._waiting) * 2 >= MAX_WAITING:
                self._change.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="cortex-runs", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        self._trim()
        told = 0
        while (ended := self._next()) is not None:
            try:
                self._write(ended)
            except Exception as error:
                self.dropped += 1
                log.warning("The details of a run cannot be written: %s", error, exc_info=not _is_of_disk(error))
            if self.dropped > told:
                told = self.dropped
                log.warning("%s runs have no details so far", told)
            with self._change:
                self._is_writing = False
                self._change.notify_all()

    def _next(self) -> EndedRun | None:
        """The next run, once it is quiet; None when all is written and the writer is closing."""
        with self._change:
            while True:
                if not self._waiting:
                    if self._is_closing:
                        return None
                    self._change.wait()
                    continue
                left_s = self._last_at + self._quiet_s - time.monotonic()
                if left_s <= 0 or self._is_closing or len(self._waiting) * 2 >= MAX_WAITING:
                    break
                self._change.wait(left_s)
            ended = self._waiting.popleft()
            weight = len(ended.reply) + sum(len(entry.text) for entry in (*ended.first_logs, *ended.last_logs))
            self._waiting_characters -= weight
            self._is_writing = True
            return ended

    def _write(self, ended: EndedRun) -> None:
        run = ended.run
        # A copy: a secret that only stands in a log must not get a token that the model could name.
        redactor = (run.redactor if run.redactor is not None else self._redactor).apart()
        refused = ended.metrics.tool_calls - sum(call.kind == "tool" for call in run.seen) - run.unseen > 0
        has_texts = self._settings.keep == "texts"
        recording = self._recorded(ended, redactor, refused) if has_texts and (refused or is_needed(run)) else None
        cached_from = self._origins.get(run.code_hash) if ended.metrics.cached else None
        whole = details_of(ended, self._settings, redactor, self._host, recording=recording, cached_from=cached_from)
        details, body, digest = fitting(whole)
        number = self._audited(details, digest)
        self._files.append(sealed(body, digest, number))
        if ended.ok and not ended.metrics.cached:
            self._remember(run.code_hash, details.id)
        self._written += 1
        if self._written % _TRIM_EVERY == 0:
            self._trim()

    def _recorded(self, ended: EndedRun, redactor: Redactor, refused: bool) -> RecordingRef | None:
        trace = ended.run.intent.trace
        id_ = "" if trace is None else run_id(trace.turn, trace.call)
        data = packed(recording_of(ended.run, id_, redactor, clock_of(ended), with_schemas=refused))
        if data is None:
            return None
        name = token_hex(12)
        self._files.keep_recording(name, data)
        return RecordingRef(id=name, bytes=len(data), hash=sha256(data).hexdigest())

    def _audited(self, details: RunDetails, digest: str) -> int | None:
        """Write the hash into the audit first: what stands in `runs` without one was not written by a cortex."""
        try:
            written: Sealed = self._record(
                "details", run=details.id, turn=details.turn, call=details.call, details_hash=digest
            )
        except AuditError as error:
            log.warning("The audit has no hash of the details of a run: %s", error)
            return None
        return written.seq

    def _remember(self, code_hash: str, id_: str) -> None:
        self._origins[code_hash] = id_
        self._origins.move_to_end(code_hash)
        if len(self._origins) > _MAX_REMEMBERED:
            self._origins.popitem(last=False)

    def _trim(self) -> None:
        try:
            self._files.trim()
        except (OSError, LockBusy) as error:
            log.warning("Old runs cannot be deleted: %s", error)


def _is_of_disk(error: Exception) -> bool:
    return isinstance(error, OSError | LockBusy)
