"""Run each attack program against the real runtime; those about authority once more with Deno's permissions off."""

from __future__ import annotations

import re

import anyio
import pytest

from sandbox import DenoRuntime, ExecutionRequest, SandboxSettings
from sandbox.jail.layers import Layer
from tests.conftest import descendants, descriptors

from .arena import MOST_STALL_MS, Servers, UnguardedRuntime, UnpermittedRuntime, arena, settings
from .program import ALWAYS, CLASSES, FOLDER, BadProgram, failures, load, parse

pytestmark = pytest.mark.deno

# Those of the class "text" are neurons: `test_code_from_text.py` runs them.
PROGRAMS = [program for program in load() if program.kind != "text"]
AUTHORITY = [program for program in PROGRAMS if program.authority]

# Without the system's layers and with Deno's permissions off, each of these attacks succeeds.
SUCCEED_UNHINDERED = (
    "files-through-data-modules",
    "links",
    "listening-with-node",
    "memory-of-processes",
    "native-files",
    "native-programs",
    "native-signals",
    "native-sockets",
    "programs-with-deno",
    "programs-with-node",
    "read-what-the-kernel-shows",
    "read-with-deno",
    "read-with-node",
    "signals",
    "sockets-of-the-web",
    "sockets-with-deno",
    "sockets-with-node",
    "whether-files-exist",
    "write-with-deno",
    "write-with-node",
)
ON_TRIO = (
    "a-fetch-without-the-tier",
    "a-killed-guest-leaves-no-answer",
    "a-line-without-end",
    "answers-that-nobody-reads",
    "array-buffers",
    "forged-store-calls",
    "links-that-lead-out",
    "more-than-a-store-holds",
    "more-calls-than-allowed",
    "read-with-deno",
    "redirects",
    "spin",
    "writing-through-links",
)


def name_of(program):
    return program.name


def called(*names):
    return [program for program in PROGRAMS if program.name in names]


def wanted(request, test):
    """The programs of the collected tests, so that one program can be run alone, by its name."""
    items = [item for item in request.session.items if getattr(item, "originalname", "") == test.__name__]
    return [item.callspec.params["program"] for item in items]


async def judged(make_runtime, programs, root):
    servers = Servers()
    try:
        async with arena(make_runtime(settings()), servers, root) as place:
            found = await place.judge(programs)
    finally:
        servers.close()
    return found


def verdicts(make_runtime, programs, root, backend="asyncio"):
    """Run the programs, and assert that they leave no process and no file descriptor."""
    processes, open_files = set(descendants()), descriptors()
    found = anyio.run(judged, make_runtime, programs, root, backend=backend)
    assert set(descendants()) <= processes
    assert descriptors() <= open_files
    return found


@pytest.fixture(scope="module")
def behind_both_walls(request, tmp_path_factory):
    programs = wanted(request, test_the_property_of_an_escape_program_holds)
    return verdicts(DenoRuntime, programs, tmp_path_factory.mktemp("both"))


@pytest.fixture(scope="module")
def behind_the_system_alone(request, tmp_path_factory):
    programs = wanted(request, test_the_property_of_an_escape_program_holds_without_denos_permissions)
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
def test_the_property_of_an_escape_program_holds(program, behind_both_walls):
    judge(program, behind_both_walls)


@pytest.mark.parametrize("program", AUTHORITY, ids=name_of)
def test_the_property_of_an_escape_program_holds_without_denos_permissions(program, behind_the_system_alone):
    judge(program, behind_the_system_alone, needs={Layer.LANDLOCK, Layer.SECCOMP})


def test_properties_of_escape_programs_hold_on_trio(tmp_path):
    programs = called(*ON_TRIO)
    assert len(programs) == len(ON_TRIO)
    found = verdicts(DenoRuntime, programs, tmp_path, backend="trio")
    for program in programs:
        judge(program, found)


async def test_native_code_does_run_behind_the_system_alone():
    """If native code could not run, the programs that call the kernel would prove nothing."""
    code = (FOLDER / "preludes/native.js").read_text() + "return [sys(39), Deno.pid]"
    async with UnpermittedRuntime(SandboxSettings(pool_size=0)) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=code))
    assert outcome.error is None
    assert outcome.result[0] == outcome.result[1] > 0


@pytest.mark.soak
def test_programs_succeed_where_nothing_is_in_their_way(tmp_path):
    """A check that cannot fail proves nothing: without the wall, the checks of these programs fail."""
    programs = called(*SUCCEED_UNHINDERED)
    assert len(programs) == len(SUCCEED_UNHINDERED)
    found = verdicts(UnguardedRuntime, programs, tmp_path)
    assert [name for name, (failed, _) in found.items() if not failed] == []


@pytest.mark.soak
def test_most_programs_about_authority_succeed_where_nothing_is_in_their_way(tmp_path):
    found = verdicts(UnguardedRuntime, AUTHORITY, tmp_path)
    stopped = [name for name, (failed, _) in found.items() if not failed]
    assert len(stopped) < len(AUTHORITY) / 3, stopped


async def seen_of(make, root):
    servers = Servers()
    try:
        async with arena(DenoRuntime(settings()), servers, root) as place:
            return await make(place)
    finally:
        servers.close()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(("tool", "missed"), [("compute", "stall_ms < most_stall_ms"), ("block", "blocked_ms < 1000")])
async def test_a_host_that_holds_up_its_event_loop_is_noticed(tool, missed, tmp_path):
    async def attacked(place):
        needed_s = 2 * MOST_STALL_MS / 1000 * place.slowness if tool == "compute" else 1.2
        code = f"return await tools.{tool}({{ s: {needed_s} }})"
        program = parse(header(code=code, tools=tool, timeout="20"), "x", {})
        return failures(program, await place.attack(program))

    assert missed in await seen_of(attacked, tmp_path)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("check", "alone", "runs"),
    [
        ("wall_s < 0", "no", 4),
        ("wall_s < 0", "yes", 3),
        ("asked != []", "no", 2),
        ("asked != []", "yes", 1),
        ("not ok", "no", 1),
    ],
)
async def test_only_what_a_busy_machine_can_spoil_is_measured_again(check, alone, runs, tmp_path):
    program = parse(header(check=check, alone=alone, timeout="20"), "x", {})

    async def judged_alone(place):
        found = await place.judge([program])
        return found["x"][0], place.runs

    missed, times = await seen_of(judged_alone, tmp_path)
    # The machine may spoil a measured check beside it.
    assert ([one for one in missed if one not in ALWAYS], times) == ([check], runs)


def test_there_are_programs_of_every_class_and_tier():
    assert {program.kind for program in PROGRAMS} == {*CLASSES} - {"text"}
    assert {program.tier for program in AUTHORITY} == {"isolated", "network", "workspace", "store"}
    assert len(PROGRAMS) > 200
    assert len(AUTHORITY) > 60


HEADER = {
    "name": "x",
    "class": "values",
    "tier": "isolated",
    "timeout": "1",
    "expect": "nothing",
    "check": "ok",
}


def header(code="return 1", **changes):
    fields = {**HEADER, **{key.rstrip("_"): value for key, value in changes.items()}}
    return "".join(f"// {key}: {value}\n" for key, value in fields.items() if value is not None) + code


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"checks": "ok"}, 'unknown key "checks"'),
        ({"check": None}, "without a check"),
        ({"expect": None}, "without expect"),
        ({"name": "y"}, "does not exist"),
        ({"class_": "other"}, "does not exist"),
        ({"tier": "root"}, "does not exist"),
        ({"check": "not okay"}, "names that do not exist"),
        ({"check": "ok ="}, "cannot read check"),
        ({"check": "True"}, "looks at nothing"),
        ({"authority": "perhaps"}, 'neither "yes" nor "no"'),
        ({"uses": "magic"}, "some do not exist"),
        ({"needs": "magic"}, "are no layers"),
        ({"code": ""}, "without a program"),
        ({"code": "// name: x\nreturn 1"}, '"name" twice'),
    ],
    ids=str,
)
def test_a_header_is_read_strictly(changes, complaint):
    with pytest.raises(BadProgram, match=re.escape(complaint)):
        parse(header(**changes), "x", {})


def test_a_place_that_does_not_exist_is_an_error():
    program = parse(header(code="return '@@NOWHERE@@'"), "x", {})
    with pytest.raises(BadProgram, match="no place is called @@NOWHERE@@"):
        program.filled({"SECRET": "x"})


def test_a_check_that_cannot_be_evaluated_does_not_hold():
    program = parse(header(check="value['a'] == 1"), "x", {})
    assert len(failures(program, {"value": None})) == len(ALWAYS) + 1
