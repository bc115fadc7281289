"""Attack programs, each against the real runtime; those about authority once more with Deno's permissions off."""

from __future__ import annotations

import anyio
import pytest

from sandbox import DenoRuntime
from sandbox.jail.layers import Layer
from tests.conftest import descendants, descriptors

from .arena import Servers, UnpermittedRuntime, arena, settings
from .program import load

pytestmark = pytest.mark.deno

PROGRAMS = load()
AUTHORITY = [program for program in PROGRAMS if program.authority]


def name_of(program):
    return program.name


def wanted(request, test):
    """The programs that were asked for: one of them can be run alone, by its name."""
    items = [item for item in request.session.items if getattr(item, "originalname", "") == test.__name__]
    return [item.callspec.params["program"] for item in items]


async def judged(make_runtime, programs, root):
    servers = Servers()
    try:
        async with arena(make_runtime(settings()), servers, root) as place:
            return await place.judge(programs)
    finally:
        servers.close()


def verdicts(make_runtime, programs, root, backend="asyncio"):
    """Run the programs, and see that nothing is left of any of them."""
    processes, open_files = set(descendants()), descriptors()
    found = anyio.run(judged, make_runtime, programs, root, backend=backend)
    assert set(descendants()) <= processes
    assert descriptors() <= open_files
    return found


@pytest.fixture(scope="module")
def behind_both_walls(request, tmp_path_factory):
    programs = wanted(request, test_the_property_holds)
    return verdicts(DenoRuntime, programs, tmp_path_factory.mktemp("both"))


@pytest.fixture(scope="module")
def behind_the_system_alone(request, tmp_path_factory):
    programs = wanted(request, test_the_property_holds_without_denos_permissions)
    return verdicts(UnpermittedRuntime, programs, tmp_path_factory.mktemp("system"))


def explain(program, failed, seen):
    shown = {key: str(value)[:600] for key, value in seen.items() if value and key not in {"text", "files", "secret"}}
    lines = (f"    {key} = {value}" for key, value in shown.items())
    return f"{program.name}: {program.expect}\n  failed: {failed}\n" + "\n".join(lines)


def judge(program, found, *, needs=()):
    failed, seen = found[program.name]
    absent = {*needs, *program.needs} - seen["layers"]
    if failed and absent:
        pytest.skip(f"nothing is promised without {', '.join(sorted(absent))}")
    assert not failed, explain(program, failed, seen)


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_the_property_holds(program, behind_both_walls):
    judge(program, behind_both_walls)


@pytest.mark.parametrize("program", AUTHORITY, ids=name_of)
def test_the_property_holds_without_denos_permissions(program, behind_the_system_alone):
    judge(program, behind_the_system_alone, needs={Layer.LANDLOCK, Layer.SECCOMP})
