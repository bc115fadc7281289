"""Looks at agent code before it runs and points at obvious misuse, in a process that may be killed.

A smoke detector: nothing depends on it for safety. See `guard_patterns.py` for what it looks for.
"""

from __future__ import annotations

import json
import logging
import math
import os
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from .children import CLOSING_TIMEOUT_S, kill_piped, pipes_of, reap, start_piped_python
from .errors import SandboxUnavailable
from .guard_patterns import PATTERNS, Finding, may_match
from .readiness import write_all

if TYPE_CHECKING:
    import subprocess
    from types import TracebackType

log = logging.getLogger("motor_cortex.sandbox")

UNPARSABLE = Finding(
    "code that cannot be parsed in time", why="could not be looked at; write it more plainly", line=1, column=1
)

START_TIMEOUT_S = 10.0
# More than the process gives itself: this clock is for a process that is stuck elsewhere than in the parser.
ANSWER_TIMEOUT_S = 1.0
# All ten findings take less than a kilobyte.
MAX_ANSWER_BYTES = 4096

_WHY = {pattern.name: pattern.why for pattern in PATTERNS}


class Guard:
    """Starts its process with the first code that needs one, and another one whenever that has died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._one_at_a_time = anyio.Lock()
        self._closed = False

    async def __aenter__(self) -> Guard:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def inspect(self, code: str) -> tuple[Finding, ...]:
        """What there is to say about the code, in the order of its places; nothing for most code.

        Raises SandboxUnavailable when the process cannot be started: that says nothing about the code.
        """
        if not may_match(code):
            return ()
        async with self._one_at_a_time:
            process = await self._running()
            try:
                with anyio.fail_after(ANSWER_TIMEOUT_S):
                    return _findings(await _ask(process, code))
            except (TimeoutError, ValueError, OSError) as error:
                await self._discard()
                if self._closed:
                    raise SandboxUnavailable("Cannot look at the code: the guard was closed") from error
                log.info("The guard's process gave no answer: %r", error)
                return (UNPARSABLE,)
            except BaseException:
                # Its answer is still to come, and the next caller would take it for the answer to his code.
                await self._discard()
                raise

    async def aclose(self) -> None:
        """End the process; an inspection that is under way ends with it. Returns once it is reaped."""
        self._closed = True
        if self._process is not None:
            self._process.kill()
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_TIMEOUT_S):
            async with self._one_at_a_time:  # its pipes are not closed while somebody waits on them
                await self._discard()

    async def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        await self._discard()
        if self._closed:
            raise SandboxUnavailable("Cannot start the guard: it is closed")
        self._process = start_piped_python("guard_process.py")
        try:
            with anyio.fail_after(START_TIMEOUT_S):
                await _read_line(self._process)
        except (TimeoutError, ValueError, OSError) as error:
            await self._discard()
            what = str(error) or "too slow"
            raise SandboxUnavailable(f"Cannot start the guard: its process was not ready ({what})") from error
        except BaseException:
            await self._discard()
            raise
        return self._process

    async def _discard(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            kill_piped(process)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(reap, process, limiter=anyio.CapacityLimiter(1))


async def _ask(process: subprocess.Popen[bytes], code: str) -> bytes:
    text = code.encode(errors="replace")
    await write_all(pipes_of(process)[0], len(text).to_bytes(4, "big") + text, math.inf)
    return await _read_line(process)


async def _read_line(process: subprocess.Popen[bytes]) -> bytes:
    """The next line. Raises OSError when there is none, ValueError when it is too long to be an answer."""
    _, stdout = pipes_of(process)
    line = b""
    while not line.endswith(b"\n"):
        try:
            chunk = os.read(stdout, MAX_ANSWER_BYTES)
        except BlockingIOError:
            await anyio.wait_readable(stdout)
            continue
        if not chunk:
            raise BrokenPipeError("it ended")
        line += chunk
        if len(line) > MAX_ANSWER_BYTES:
            raise ValueError("an answer that is too long")
    return line


def _findings(answer: bytes) -> tuple[Finding, ...]:
    """From the answer to findings. Raises ValueError when it is none: hostile code was parsed over there."""
    try:
        found: Any = json.loads(answer)
        return tuple(Finding(name, _WHY[name], int(line), int(column)) for name, line, column in found)
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError("an answer that is not one") from error
