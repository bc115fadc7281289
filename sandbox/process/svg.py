"""Renders SVG drawings to PNG, each in a process of its own with limits on time and memory.

A drawing may be hostile: ten nested references make a thousand million shapes, and the renderer cannot be stopped from
within. So it runs where it can be killed: see `svg_process.py`.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from ..contracts import MAX_PIXELS, NothingMayRun, SandboxUnavailable, picture_size, picture_type
from .children import PACKAGE, kill_piped, pipes_of, reap, start_piped_python
from .process_notes import NOT_NOTED, Running
from .readiness import write_all

if TYPE_CHECKING:
    import subprocess

_SVG_PROCESS = Path(__file__).with_name("svg_process.py")
RENDER_TIMEOUT_S = 5.0
MAX_SIDE = 2_000
"""A larger drawing is rendered smaller: no model, and few screens, show more."""
MAX_PICTURE_BYTES = 4 * 1024 * 1024
MAX_AT_ONCE = 2
"""Renderers of all runs of an event loop: each may use 512 MB and a whole core."""
_CHUNK_BYTES = 65_536
_places = RunVar[anyio.CapacityLimiter]("motor_cortex_renderers")


class NotRendered(Exception):
    """The drawing cannot be shown. The message says why, in words for the author of the code."""


async def render_svg(
    drawing: str,
    *,
    timeout_s: float = RENDER_TIMEOUT_S,
    max_bytes: int = MAX_PICTURE_BYTES,
    running: Running = NOT_NOTED,
) -> bytes:
    """The drawing as a PNG picture, at most MAX_SIDE pixels wide and high. Fetches nothing and reads no file but fonts.
    The process is noted in `running`, so that the kill switch ends it like a run. At most MAX_AT_ONCE are rendered at
    once; `timeout_s` also counts for the wait for a place. Raises NotRendered."""
    began = anyio.current_time()
    place = object()
    try:
        with anyio.fail_after(timeout_s):
            await _renderers().acquire_on_behalf_of(place)
    except TimeoutError:
        raise NotRendered(f"other drawings took longer than {timeout_s:g} s to render") from None
    try:
        left_s = timeout_s - (anyio.current_time() - began)
        return await _rendered(drawing, left_s, timeout_s, max_bytes, running)
    finally:
        _renderers().release_on_behalf_of(place)


def _renderers() -> anyio.CapacityLimiter:
    try:
        return _places.get()
    except LookupError:
        made = anyio.CapacityLimiter(MAX_AT_ONCE)
        _places.set(made)
        return made


async def _rendered(drawing: str, left_s: float, timeout_s: float, max_bytes: int, running: Running) -> bytes:
    try:
        running.check()
        process = start_piped_python(str(_SVG_PROCESS), str(PACKAGE / "jail"), str(MAX_SIDE))
    except NothingMayRun as error:
        raise NotRendered(f"nothing may run now ({error})") from error
    except SandboxUnavailable as error:
        raise NotRendered("the process that renders it cannot be started") from error
    try:
        # Before it is given the drawing: until then it only waits.
        running.note(process.pid)
        with anyio.fail_after(max(0.0, left_s)):
            answer = await _answer(process, drawing.encode(errors="replace"), max_bytes + 1)
    except TimeoutError:
        raise NotRendered(f"it took longer than {timeout_s:g} s to render") from None
    except SandboxUnavailable as error:
        raise NotRendered(f"its renderer may not run ({error})") from error
    except OSError:
        raise NotRendered("the renderer ended without a picture; it may need too much time or memory") from None
    finally:
        kill_piped(process)
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(reap, process, limiter=anyio.CapacityLimiter(1))
        running.forget(process.pid)
    return _picture(answer)


def _picture(answer: bytes) -> bytes:
    """Raises NotRendered. The process has read a drawing that may be hostile: its answer is judged, too."""
    picture = answer[1:]
    if answer[:1] == b"E":
        raise NotRendered(picture[:400].decode(errors="replace"))
    size = picture_size(picture)
    if picture_type(picture) != "image/png" or size is None or not 0 < size[0] * size[1] <= MAX_PIXELS:
        raise NotRendered("the renderer ended without a picture; it may need too much time or memory")
    return picture


async def _answer(process: subprocess.Popen[bytes], drawing: bytes, max_bytes: int) -> bytes:
    """All that the process says. Raises OSError when that is nothing, NotRendered when it is too much."""
    stdin, stdout = pipes_of(process)
    await write_all(stdin, drawing, math.inf)
    assert process.stdin is not None
    process.stdin.close()
    answer = bytearray()
    while True:
        try:
            chunk = os.read(stdout, _CHUNK_BYTES)
        except BlockingIOError:
            await anyio.wait_readable(stdout)
            continue
        if not chunk:
            break
        answer += chunk
        if len(answer) > max_bytes:
            raise NotRendered(f"its picture has more than {max_bytes - 1} bytes")
    if not answer:
        raise BrokenPipeError("it ended")
    return bytes(answer)
