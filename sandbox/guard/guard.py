"""Checks agent code before it runs and reports obvious misuse, parsing it in a process that can be killed.

`CodeReader` owns that process, so that no input can hang or crash the host; the fingerprints of the neurons use it too.
Nothing depends on the guard for safety: the sandbox protects without it. See `patterns.py` for what it looks for.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from ..contracts import Line, LineSplitter, SandboxUnavailable
from ..process import CLOSING_TIMEOUT_S, kill_piped, pipes_of, reap, start_piped_python, write_all
from .patterns import BROKEN, KEPT_PATTERNS, PATTERNS, Finding, may_match
from .slips import explained

if TYPE_CHECKING:
    from typing import Self

log = logging.getLogger("motor_cortex.sandbox")

_READING_PROCESS = Path(__file__).with_name("reading_process.py")
START_TIMEOUT_S = 10.0
# Far more than the process's own limit, which counts CPU time: this timeout is for a process that hangs outside of the
# parser, and for a machine that is too busy to parse.
ANSWER_TIMEOUT_S = 3.0
# How long a caller waits until the process is free.
TURN_TIMEOUT_S = 10.0
# Only code of more than that can take the process long.
SMALL_CHARACTERS = 4096
_CHUNK_BYTES = 65_536
_DYING_S = 0.2

UNPARSABLE = Finding(
    "code that cannot be parsed in time", why="could not be checked; write it more simply", line=1, column=1
)

# All eleven findings take less than a kilobyte.
MAX_ANSWER_BYTES = 4096

_WHY = {pattern.name: pattern.why for pattern in (*PATTERNS, *KEPT_PATTERNS)}
_OF_KEPT = {pattern.name for pattern in KEPT_PATTERNS}


class CodeReader:
    """Starts its process for the first code that needs one, and a new one whenever that has died.

    `module` is a Python file with a function of the given name that turns code into JSON. The process loads it; there
    it can import its neighbours by relative imports, and nothing else of the project.
    """

    def __init__(
        self,
        module: Path,
        function: str,
        *,
        name: str,
        max_answer_bytes: int,
        turn_timeout_s: float = TURN_TIMEOUT_S,
    ) -> None:
        self._arguments = (str(module.parent), module.stem, function)
        self._name = name
        self._max_answer_bytes = max_answer_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._turn_timeout_s = turn_timeout_s
        self._one_at_a_time = anyio.Lock()
        self._one_of_the_large = anyio.Lock()
        self._was_ready = False
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def answer(self, code: str) -> Line | None:
        """Send the code to the process; return its answer, one line of JSON, or None if it gave none in time. Do not
        trust the answer: the process has parsed code that may be hostile.

        Raises SandboxUnavailable when the process cannot be started or is busy for too long: that says nothing about
        the code.
        """
        held = await self._take_turn(code)
        try:
            process = await self._running()
            try:
                with anyio.fail_after(ANSWER_TIMEOUT_S):
                    return await self._ask(process, code)
            except (TimeoutError, ValueError, OSError) as error:
                await self._discard()
                if self._closed:
                    raise SandboxUnavailable(f"Cannot look at the code: the {self._name} was closed") from error
                log.info("The process of the %s gave no answer: %r", self._name, error)
                return None
            except BaseException:
                # The answer is still to come, and the next caller would take it for the answer to its own code.
                await self._discard()
                raise
        finally:
            _release(held)

    async def aclose(self) -> None:
        """End the process; a reading that is under way ends with it. Returns once it is reaped."""
        self._closed = True
        if self._process is not None:
            self._process.kill()
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_TIMEOUT_S):
            async with self._one_at_a_time:  # do not close the pipes while another task waits on them
                await self._discard()

    async def _take_turn(self, code: str) -> list[anyio.Lock]:
        """Wait for the process, first come, first served; return what is to be released. Large code queues in front of
        that queue, so that small code waits behind one large code at most."""
        # Who comes while the first process starts is not late.
        timeout_s = self._turn_timeout_s if self._was_ready else self._turn_timeout_s + START_TIMEOUT_S
        held: list[anyio.Lock] = []
        try:
            for lock in (self._one_of_the_large, self._one_at_a_time)[len(code) <= SMALL_CHARACTERS :]:
                try:
                    lock.acquire_nowait()
                except anyio.WouldBlock:
                    with anyio.fail_after(timeout_s):
                        await lock.acquire()
                held.append(lock)
        except BaseException as error:
            _release(held)
            if isinstance(error, TimeoutError):
                raise SandboxUnavailable(
                    f"Cannot look at the code: the {self._name} is busy with other code"
                ) from error
            raise
        return held

    def kill(self) -> None:
        """Kill the process, and wait a moment until it is gone. The next code starts another one. Works without the
        event loop, never raises; a reading that is under way has no answer then."""
        process = self._process
        if process is not None:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_DYING_S)

    async def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        await self._discard()
        if self._closed:
            raise SandboxUnavailable(f"Cannot start the {self._name}: it is closed")
        self._process = start_piped_python(str(_READING_PROCESS), *self._arguments)
        try:
            with anyio.fail_after(START_TIMEOUT_S):
                await self._read_line(self._process)
        except (TimeoutError, ValueError, OSError) as error:
            await self._discard()
            what = str(error) or "too slow"
            raise SandboxUnavailable(f"Cannot start the {self._name}: its process was not ready ({what})") from error
        except BaseException:
            await self._discard()
            raise
        self._was_ready = True
        return self._process

    async def _discard(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            kill_piped(process)
            # It is killed already; only a kernel that does not let go of it could keep anybody here.
            with anyio.CancelScope(shield=True), anyio.move_on_after(2 * CLOSING_TIMEOUT_S):
                limiter = anyio.CapacityLimiter(1)
                await anyio.to_thread.run_sync(reap, process, limiter=limiter, abandon_on_cancel=True)

    async def _ask(self, process: subprocess.Popen[bytes], code: str) -> Line:
        text = code.encode(errors="replace")
        await write_all(pipes_of(process)[0], len(text).to_bytes(4, "big") + text, math.inf)
        return await self._read_line(process)

    async def _read_line(self, process: subprocess.Popen[bytes]) -> Line:
        """Read one line. Raises OSError when the process has ended, ValueError when it sends anything else."""
        _, stdout = pipes_of(process)
        lines = LineSplitter[Line](self._max_answer_bytes)
        while True:
            try:
                chunk = os.read(stdout, _CHUNK_BYTES)
            except BlockingIOError:
                await anyio.wait_readable(stdout)
                continue
            if not chunk:
                raise BrokenPipeError("it ended")
            found = [*lines.feed(chunk)]
            if len(found) > 1 or (found and lines.size):
                raise ValueError("an answer of more than one line")
            if found:
                return found[0]


def _release(held: list[anyio.Lock]) -> None:
    for lock in reversed(held):
        lock.release()


class Guard(CodeReader):
    """The static check: the code reader that looks for the patterns of misuse."""

    def __init__(self) -> None:
        patterns = Path(__file__).with_name("patterns.py")
        super().__init__(patterns, "places", name="guard", max_answer_bytes=MAX_ANSWER_BYTES)

    async def inspect(self, code: str, *, is_kept: bool = False) -> tuple[Finding, ...]:
        """The findings in the code, in the order of their places; none for most code. `is_kept` says that the code is
        to stay, as a neuron's: then it may not compute its way to a constructor either.

        Raises SandboxUnavailable as `answer` does.
        """
        if not is_kept and not may_match(code):
            return ()
        answer = await self.answer(code)
        try:
            if answer is None:
                return (UNPARSABLE,)
            found, is_broken = _findings(answer)
            found = tuple(finding for finding in found if is_kept or finding.pattern not in _OF_KEPT)
            return explained(found, code, is_broken=is_broken)
        except ValueError:
            return (UNPARSABLE,)


def _findings(answer: Line) -> tuple[tuple[Finding, ...], bool]:
    """Turn the process's answer into findings, and whether the code does not parse. Raises ValueError when it is
    malformed: the process has parsed code that may be hostile."""
    try:
        found: Any = json.loads(answer)
        findings = tuple(Finding(name, _WHY[name], int(line), int(column)) for name, line, column in found if name)
        return findings, any(name == BROKEN for name, _, _ in found)
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError("the answer is not a list of findings") from error
