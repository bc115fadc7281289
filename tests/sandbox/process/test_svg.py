"""Drawings are rendered in a process that may read nothing but fonts and that can be killed."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
import pytest

from sandbox import Running, kill_recorded
from sandbox.contracts.displays import picture_size
from sandbox.process import svg as svg_room
from sandbox.process.svg import MAX_SIDE, NotRendered, render_svg
from sandbox.process.svg_process import MAX_CPU_S, MAX_MEMORY_BYTES, Refused, size_of
from tests.pixels import Pixels

NS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
RED = f'<svg {NS} width="20" height="10"><rect width="20" height="10" fill="red"/></svg>'
# For what is to be rendered: on a busy machine, a process alone may take seconds to start.
LONG_S = 60


def svg(inside: str, size: str = 'width="100" height="100"') -> str:
    return f"<svg {NS} {size}>{inside}</svg>"


async def test_a_drawing_becomes_a_png_of_its_size():
    picture = Pixels(await render_svg(RED, timeout_s=LONG_S))
    assert (picture.width, picture.height) == (20, 10)
    assert picture.at(5, 5) == (255, 0, 0, 255)


async def test_text_is_drawn_where_the_machine_has_fonts():
    if not any(Path("/usr/share/fonts").rglob("*.ttf")):
        pytest.skip("no fonts here")
    picture = Pixels(await render_svg(svg('<text x="5" y="50" font-size="40">HHH</text>'), timeout_s=LONG_S))
    assert sum(alpha > 0 for *_, alpha in picture.all()) > 100


async def test_a_drawing_of_any_size_becomes_a_picture_of_bounded_size():
    for size in ('width="2000000" height="1000000"', 'viewBox="0 0 90000 300"', 'width="900in" height="4cm"'):
        found = picture_size(await render_svg(svg("", size), timeout_s=LONG_S))
        assert found is not None
        assert max(found) <= MAX_SIDE


OUTSIDE = [
    "/tmp/a.png",
    "file:///tmp/a.png",
    "a.png",
    "http://127.0.0.1:9/a.png",
    "//127.0.0.1/a.svg#b",
    "data:image/svg+xml;base64,AAAA",
    "",
    "\\\\host\\a.png",
]


@pytest.mark.parametrize("where", OUTSIDE)
@pytest.mark.parametrize("element", ["image", "use", "feImage", "a"])
@pytest.mark.parametrize("attribute", ["href", "xlink:href", "HREF"])
def test_a_drawing_that_refers_to_anything_outside_is_refused(where, element, attribute):
    with pytest.raises(Refused, match="it refers to"):
        size_of(svg(f'<{element} {attribute}="{where}"/>'))


@pytest.mark.parametrize(
    "drawing",
    [
        '<!DOCTYPE svg [<!ENTITY a "/etc/x.png">]><svg><image href="&a;"/></svg>',
        f'<!DOCTYPE svg SYSTEM "http://127.0.0.1:9/x.dtd">{RED}',
        "<html/>",
        "<svg",
        "",
        svg("<g>" * 300 + "</g>" * 300),
        svg("<g/>" * 100_001),
    ],
)
def test_what_is_no_plain_drawing_is_refused(drawing):
    with pytest.raises(Refused):
        size_of(drawing)


async def test_parts_of_the_drawing_and_pictures_inside_it_work():
    inside = base64.b64encode(await render_svg(RED, timeout_s=LONG_S)).decode()
    drawing = svg(
        '<defs><rect id="r" width="50" height="50" fill="blue"/></defs><use href="#r"/>'
        f'<image x="50" y="50" width="50" height="50" preserveAspectRatio="none" href="data:image/png;base64,{inside}"/>'
    )
    picture = Pixels(await render_svg(drawing, timeout_s=LONG_S))
    assert picture.at(10, 10) == (0, 0, 255, 255)
    assert picture.at(75, 75) == (255, 0, 0, 255)


async def test_the_process_itself_can_open_no_file_even_if_the_check_lets_a_reference_pass(tmp_path):
    """The renderer reads files that a drawing names. Without the check, the kernel still refuses."""
    from sandbox.jail import landlock

    try:
        landlock.version()
    except OSError:
        pytest.skip("no Landlock here")
    secret = tmp_path / "secret.png"
    secret.write_bytes(await render_svg(RED, timeout_s=LONG_S))
    drawing = svg(f'<image width="100" height="100" preserveAspectRatio="none" href="{secret}"/>')
    loose = (
        (Path(__file__).parents[3] / "sandbox/process/svg_process.py")
        .read_text()
        .replace("not _INSIDE.match(value)", "False")
    )
    seen = {}
    for name, text in {"with": loose, "without": loose.replace("    _close_in()\n", "")}.items():
        program = tmp_path / f"{name}.py"
        program.write_text(text)
        done = await anyio.run_process(
            [sys.executable, "-I", str(program), str(Path(landlock.__file__).parent), "2000"], input=drawing.encode()
        )
        seen[name] = Pixels(done.stdout[1:]).at(50, 50)[3]
    assert seen == {"with": 0, "without": 255}


def uses(levels: int, times: int) -> str:
    groups = "".join(f'<g id="a{n}">' + f'<use href="#a{n - 1}"/>' * times + "</g>" for n in range(1, levels))
    return svg(f'<defs><g id="a0"><rect width="1" height="1"/></g>{groups}</defs><use href="#a{levels - 1}"/>')


BOMBS = {
    "nested uses": uses(10, 10),
    "a use of itself": svg('<g id="a"><use href="#a"/><use href="#a"/></g>'),
    "filters without end": svg(
        '<filter id="f"><feGaussianBlur stdDeviation="5000"/>'
        + '<feMorphology operator="dilate" radius="500"/>' * 50
        + '</filter><rect width="2000" height="2000" filter="url(#f)"/>',
        'width="2000" height="2000"',
    ),
    "a pattern in a pattern": svg(
        "".join(
            f'<pattern id="p{n}" width=".001" height=".001"><rect width="2000" height="2000" fill="url(#p{n - 1})"/></pattern>'
            for n in range(1, 12)
        )
        + '<pattern id="p0" width=".001" height=".001"><rect width="1" height="1"/></pattern>'
        '<rect width="2000" height="2000" fill="url(#p11)"/>',
        'width="2000" height="2000"',
    ),
    "a size that is a lie": svg("<g/>", 'width="1e9" height="1e9"'),
    "huge through a unit": svg("<g/>", 'width="99999em" height="99999em"'),
}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the bombs go off in the renderer; its clock on trio is below
@pytest.mark.parametrize("drawing", BOMBS.values(), ids=BOMBS)
async def test_a_bomb_costs_bounded_time_and_leaves_the_host_free(drawing):
    longest, done = 0.0, anyio.Event()

    async def watch() -> None:
        # By the processor's time of this thread: the machine may be busy with other things.
        nonlocal longest
        before = time.thread_time()
        while not done.is_set():
            await anyio.sleep(0.005)
            now = time.thread_time()
            longest, before = max(longest, now - before), now

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            with anyio.fail_after(60):
                size = picture_size(await render_svg(drawing, timeout_s=2))
            assert size is not None
            assert max(size) <= MAX_SIDE
        except NotRendered:
            pass
        done.set()
    assert longest < 0.5


def renderers() -> list[int]:
    """The processes of this one that render."""
    found = []
    for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        with suppress(OSError):
            if b"svg_process" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found


async def until(is_so) -> None:
    with anyio.fail_after(60):
        while not is_so():
            await anyio.sleep(0.005)


async def test_a_renderer_that_takes_too_long_is_killed_and_reaped():
    with pytest.raises(NotRendered, match=r"took longer than 0\.01 s"):
        await render_svg(RED, timeout_s=0.01)
    with pytest.raises(NotRendered, match="more than 50 bytes"):
        await render_svg(RED, timeout_s=LONG_S, max_bytes=50)
    with anyio.move_on_after(0.05):
        await render_svg(BOMBS["filters without end"])
    await until(lambda: not renderers())


async def test_the_kernel_limits_the_time_and_memory_of_a_renderer():
    """It holds even for a host that is gone: no clock of ours is needed."""
    found: dict[str, str] = {}

    def are_set() -> bool:
        for pid in renderers():
            lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
            found.update({line[:25].strip(): line[25:].split()[0] for line in lines})
        return found.get("Max file size") == "0"  # which is set last

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(render_svg, BOMBS["filters without end"], timeout_s=LONG_S))
        await until(are_set)
        tasks.cancel_scope.cancel()
    assert found["Max address space"] == str(MAX_MEMORY_BYTES)
    assert found["Max cpu time"] == str(MAX_CPU_S)
    assert found["Max file size"] == "0"


HOST = """
import pathlib, sys, anyio
from sandbox import NotRendered, Running, render_svg

async def main():
    try:
        await render_svg(sys.stdin.read(), timeout_s=60, running=Running(pathlib.Path(sys.argv[1])))
    except NotRendered as error:
        print(error, flush=True)

anyio.run(main)
"""


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except OSError:
        return True


@asynccontextmanager
async def rendering(folder: Path) -> AsyncIterator[tuple[subprocess.Popen[str], int]]:
    """A host that renders, and its renderer, which is stopped: what ends now was ended by force."""
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert host.stdin is not None
    host.stdin.write(BOMBS["filters without end"])
    host.stdin.close()
    children = Path(f"/proc/{host.pid}/task/{host.pid}/children")
    found: list[int] = []

    def is_limited() -> bool:
        # Its limits are set after it has bound its life to the host's.
        found[:] = [int(path.stem) for path in folder.glob("*.json") if path.stem in children.read_text().split()]
        limits = Path(f"/proc/{found[0]}/limits").read_text() if found else ""
        return any(line.startswith("Max core file size") and " 0 " in line for line in limits.splitlines()) and any(
            line.startswith("Max address space") and str(MAX_MEMORY_BYTES) in line for line in limits.splitlines()
        )

    try:
        await until(is_limited)
        os.kill(found[0], signal.SIGSTOP)
        yield host, found[0]
    finally:
        host.kill()
        host.wait(60)
        assert host.stdout is not None
        host.stdout.close()


async def test_the_kill_switch_ends_a_renderer_by_its_note(tmp_path):
    async with rendering(tmp_path) as (host, renderer):
        report = kill_recorded(tmp_path)
        assert report.killed == (renderer,)
        assert gone(renderer)
        assert host.stdout is not None
        assert "the renderer ended without a picture" in await anyio.to_thread.run_sync(host.stdout.readline)
    assert list(tmp_path.glob("*.json")) == []


async def test_a_renderer_whose_note_a_full_disk_left_empty_is_known_by_its_command(tmp_path):
    async with rendering(tmp_path) as (_, renderer):
        (tmp_path / f"{renderer}.json").write_bytes(b"")
        assert kill_recorded(tmp_path).killed == (renderer,)


async def test_a_renderer_dies_with_a_host_that_is_killed_by_force(tmp_path):
    async with rendering(tmp_path) as (host, renderer):
        host.kill()
        await until(lambda: gone(renderer))


async def test_nothing_is_rendered_while_nothing_may_run_and_notes_do_not_stay(tmp_path):
    reasons: list[str | None] = ["Kill switch is on"]
    running = Running(tmp_path, lambda _: reasons[0])
    with pytest.raises(NotRendered, match=r"nothing may run now \(Kill switch is on\)"):
        await render_svg(RED, timeout_s=LONG_S, running=running)
    reasons[0] = None
    assert picture_size(await render_svg(RED, timeout_s=LONG_S, running=running)) == (20, 10)
    answers = iter([None, None, "Kill switch is on"])  # turned on while the process starts
    with pytest.raises(NotRendered, match="may not run"):
        await render_svg(RED, timeout_s=LONG_S, running=Running(tmp_path, lambda _: next(answers)))
    assert list(tmp_path.iterdir()) == []


async def test_at_most_two_renderers_run_at_once_for_all_runs(monkeypatch):
    running, most = 0, 0
    start, kill = svg_room.start_piped_python, svg_room.kill_piped

    def started(*arguments):
        nonlocal running, most
        running += 1
        most = max(most, running)
        return start(*arguments)

    def killed(process):
        nonlocal running
        running -= 1
        kill(process)

    monkeypatch.setattr(svg_room, "start_piped_python", started)
    monkeypatch.setattr(svg_room, "kill_piped", killed)
    pictures = []

    async def draw():
        pictures.append(picture_size(await render_svg(RED, timeout_s=LONG_S)))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(draw)
    assert pictures == [(20, 10)] * 5
    assert (running, most) == (0, 2)


async def test_the_wait_for_a_renderer_has_the_clock_of_the_drawing():
    bomb = '<filter id="f">' + '<feTurbulence baseFrequency="0.9" numOctaves="9"/>' * 400 + "</filter>"
    bomb += '<rect filter="url(#f)" width="100" height="100"/>'
    bomb = svg(bomb, 'width="2000" height="2000" viewBox="0 0 100 100"')
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(partial(render_svg, bomb, timeout_s=LONG_S))
        await until(lambda: len(renderers()) == 2)
        with pytest.raises(NotRendered, match="other drawings took longer"):
            await render_svg(RED, timeout_s=0.2)
        tasks.cancel_scope.cancel()
    assert picture_size(await render_svg(RED, timeout_s=LONG_S)) == (20, 10)
