"""The operating system's wall: each layer alone, missing, broken, required."""

from __future__ import annotations

import logging
import os
import shutil

import anyio
import pytest

from sandbox import DenoRuntime, ExecutionRequest, SandboxUnavailable
from sandbox.jail import Layer, Wall
from sandbox.jail.libraries import needed_by, search_path
from sandbox.layer_checks import ALLOW_ALL, BehindLayers, try_layers
from sandbox.process.command import find_deno
from sandbox.testing import FunctionTools
from sandbox.wall import wall
from tests.conftest import small, without_descriptors

ONE = ExecutionRequest(code="return 1")
deno = pytest.mark.deno

# What is done to the launcher before it begins: a control taken out, or a kernel that lacks something.
UNWIRED = {
    Layer.SESSION: "import os; os.setpgid = lambda *_: None",
    Layer.PARENT_DEATH: "from jail import kernel; kernel.prctl = lambda what, *_: None",
    Layer.NO_NEW_PRIVS: "from jail import kernel; kernel.prctl = lambda what, *_: None",
    Layer.LIMITS: "import resource; resource.setrlimit = lambda *_: None",
    Layer.MEMORY: "import resource; resource.prlimit = lambda *_: None",
    Layer.LANDLOCK: "from jail import landlock; landlock.restrict = lambda _: None",
    Layer.SECCOMP: "from jail import seccomp; seccomp.Filter.apply = lambda *_: None",
    Layer.NAMESPACES: "from jail import namespaces; namespaces.enter = lambda **_: None",
    Layer.ROOT: "from jail import namespaces as n; n.DENO = '/proc/self/exe'; n.change_root = lambda *_: None",
}
NO = "def no(*_, **__): raise OSError(1, 'not on this machine')\n"
LACKING = {
    "landlock": (NO + "from jail import landlock; landlock.version = no", {Layer.LANDLOCK}),
    "seccomp": (NO + "from jail import seccomp; seccomp.check = no", {Layer.SECCOMP}),
    "namespaces": (NO + "from jail import namespaces; namespaces.enter = no", {Layer.NAMESPACES, Layer.ROOT}),
    "mounts": (NO + "from jail import namespaces; namespaces.change_root = no", {Layer.ROOT}),
}
# A ruleset that names no file: the kernel takes it, and Deno cannot even start.
TOO_STRICT = "from jail import landlock; make = landlock.make_ruleset; landlock.make_ruleset = lambda files: make([])"


@pytest.fixture
def launcher(monkeypatch, tmp_path):
    """Does something to the launcher first. What was remembered of launchers that were well does not count."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sandbox.wall.wall._said", set())

    def prepare(code: str) -> None:
        lines = ("import sys", "sys.path.append(sys.argv[1])", code, "from jail.launcher import main", "main()")
        monkeypatch.setattr("sandbox.process.early_start.LAUNCHER", "\n".join(lines))

    return prepare


@deno
@pytest.mark.usefixtures("nothing_left")
async def test_every_layer_stops_alone_what_it_is_there_for():
    tried = {layer: trouble async for layer, trouble, _ in try_layers(small(), Wall(tuple(Layer)))}
    assert tried == dict.fromkeys(Layer)


@deno
@pytest.mark.parametrize("layer", Layer)
async def test_a_layer_that_is_unwired_is_found_out(layer, launcher, monkeypatch):
    launcher(UNWIRED[layer])
    monkeypatch.setattr("sandbox.layer_checks.PATIENCE_S", 0.5)
    [(tried, trouble, _)] = [result async for result in try_layers(small(), Wall((layer,)))]
    assert tried is layer
    assert trouble


@deno
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("lacking", LACKING)
async def test_what_a_machine_lacks_is_said_loudly_and_gone_without(lacking, launcher, caplog):
    code, missing = LACKING[lacking]
    launcher(code)
    async with DenoRuntime(small()) as runtime:
        outcome = await runtime.execute(ONE)
        assert runtime.wall.absent.keys() == missing
        assert "not on this machine" in "".join(runtime.wall.absent.values())
    assert outcome.result == 1
    assert outcome.metrics.level == "partial"
    assert set(outcome.metrics.layers) == set(Layer) - missing
    [warning] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "The wall around Deno is not whole here" in warning
    assert all(layer in warning for layer in missing)


@deno
@pytest.mark.parametrize("lacking", LACKING)
async def test_what_is_required_and_lacking_is_a_refusal_to_start(lacking, launcher):
    code, missing = LACKING[lacking]
    launcher(code)
    with pytest.raises(SandboxUnavailable, match=rf"required: {min(missing)} \(.+\)"):
        async with DenoRuntime(small(require=[min(missing)])):
            pass


@deno
@pytest.mark.usefixtures("nothing_left")
async def test_a_layer_that_deno_does_not_run_behind_is_a_refusal_that_names_it(launcher):
    launcher(TOO_STRICT)
    with pytest.raises(SandboxUnavailable, match=r"landlock \(Deno does not run behind it: Cannot start Deno"):
        async with DenoRuntime(small()):
            pass


@deno
@pytest.mark.usefixtures("nothing_left")
async def test_a_broken_layer_that_is_not_required_is_left_out_and_said(launcher, caplog):
    launcher(TOO_STRICT)
    async with DenoRuntime(small(require=["seccomp"])) as runtime:
        outcome = await runtime.execute(ONE)
        assert runtime.wall.broken.keys() == {Layer.LANDLOCK}
    assert outcome.result == 1
    assert Layer.LANDLOCK not in outcome.metrics.layers
    assert Layer.SECCOMP in outcome.metrics.layers
    assert "not whole here: landlock (Deno does not run behind it" in caplog.text


@deno
async def test_without_the_launcher_only_the_session_holds(monkeypatch):
    monkeypatch.setattr("sandbox.wall.wall.can_fork_serve", lambda: False)
    async with DenoRuntime(small()) as runtime:
        outcome = await runtime.execute(ONE)
    assert outcome.result == 1
    assert (outcome.metrics.level, outcome.metrics.layers) == ("none", ("session",))
    with pytest.raises(SandboxUnavailable, match="required: memory"):
        async with DenoRuntime(small(require=["memory"])):
            pass


@deno
async def test_here_the_wall_is_whole():
    async with DenoRuntime(small(require=list(Layer))) as runtime:
        outcome = await runtime.execute(ONE)
    assert (outcome.metrics.level, outcome.metrics.layers) == ("full", tuple(Layer))


@deno
async def test_a_memory_limit_that_the_system_refuses_prevents_the_start(launcher):
    launcher(NO + "import resource; resource.prlimit = no")
    with pytest.raises(SandboxUnavailable, match="did not limit its memory"):
        async with DenoRuntime(small()):
            pass


@deno
async def test_a_second_launcher_must_not_build_a_lower_wall(launcher):
    async with DenoRuntime(small(pool_size=0)) as runtime:
        assert (await runtime.execute(ONE)).result == 1
        launcher(LACKING["landlock"][0])
        runtime._spawner.kill_launcher()
        outcome = await runtime.execute(ONE)
    assert outcome.refused
    assert "a layer of the wall is gone: landlock" in outcome.error.message


@deno
async def test_the_self_test_runs_once_for_each_binary(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    from sandbox.wall.wall import try_known_script

    tries = []

    async def count(spawner, settings):
        tries.append(1)
        return await try_known_script(spawner, settings)

    monkeypatch.setattr("sandbox.wall.wall.try_known_script", count)
    for expected in (1, 1):
        async with DenoRuntime(small(pool_size=0)):
            assert len(tries) == expected
    async with DenoRuntime(small(pool_size=0, max_heap_mb=300)):
        assert len(tries) == 2  # another command line


@deno
async def test_the_self_test_has_room_whatever_the_code_is_allowed(launcher):
    launcher("")
    async with DenoRuntime(small(pool_size=0, max_result_bytes=20, max_output_bytes=20)) as runtime:
        assert (await runtime.execute(ONE)).result == 1


@deno
async def test_a_refusal_names_the_cause_of_the_cause(launcher):
    launcher(LACKING["namespaces"][0])
    with pytest.raises(SandboxUnavailable, match=r"root \(it needs namespaces\).*not on this machine"):
        async with DenoRuntime(small(require=["root"])):
            pass


@deno
async def test_a_cache_that_cannot_be_written_is_no_trouble(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    async with DenoRuntime(small(pool_size=0)) as runtime:
        assert (await runtime.execute(ONE)).result == 1


@deno
@pytest.mark.usefixtures("nothing_left")
async def test_an_answer_that_is_wrong_is_a_broken_deno(launcher, monkeypatch):
    launcher("")
    monkeypatch.setattr("sandbox.wall.wall.KNOWN_ANSWER", ["something else"])
    with pytest.raises(SandboxUnavailable, match="Cannot use this Deno: a known script gave"):
        async with DenoRuntime(small()):
            pass


@pytest.mark.parametrize(
    ("files", "path"),
    [
        (["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/usr/lib64/libm.so.6", "/dev/null"], ""),
        (["/nix/store/x/lib/libc.so.6", "/lib/libm.so.6", "/nix/store/x/lib/libm.so.6"], "/nix/store/x/lib"),
        (["/opt/a/libc.so.6", "/opt/b/libm.so.6"], "/opt/a:/opt/b"),
    ],
)
def test_the_loader_is_told_where_it_would_not_look(files, path):
    assert search_path(files, "x86_64") == path


@pytest.mark.parametrize(
    ("required", "known", "unmet"),
    [
        (None, Wall((Layer.SECCOMP,), {Layer.ROOT: "no"}), set()),
        (None, Wall((Layer.SECCOMP,), {}, {Layer.ROOT: "no"}), {Layer.ROOT}),
        ((), Wall((), {Layer.SECCOMP: "no"}, {Layer.ROOT: "no"}), set()),
        ((Layer.ROOT,), Wall((Layer.ROOT,)), set()),
        ((Layer.ROOT,), Wall((), {Layer.ROOT: "no"}), {Layer.ROOT}),
        ((Layer.ROOT,), Wall(()), {Layer.ROOT}),
    ],
)
def test_what_stands_against_a_start(required, known, unmet):
    assert known.unmet(required).keys() == unmet


LIST_EVERYTHING = """
const found = [], written = [];
const walk = (folder) => {
  for (const entry of Deno.readDirSync(folder)) {
    const path = folder + (folder.endsWith("/") ? "" : "/") + entry.name;
    if (entry.isDirectory) walk(path);
    else found.push(path);
    for (const attempt of [
      () => Deno.openSync(path, { append: true }),
      () => Deno.writeTextFileSync(path + ".new", ""),
      () => Deno.chmodSync(path, 0o777),
      () => Deno.removeSync(path),
    ]) {
      try { attempt(); written.push(path); } catch { /* as it should be */ }
    }
  }
};
walk("/");
return { found, written };
"""


@deno
async def test_the_root_holds_nothing_but_deno_and_nothing_of_it_can_be_written():
    async with BehindLayers(small(), {Layer.NAMESPACES, Layer.ROOT}, ALLOW_ALL) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=LIST_EVERYTHING))
    libraries = needed_by(str(find_deno(small())))
    assert sorted(outcome.result["found"]) == sorted(["/deno", "/proc/self/exe", *libraries])
    assert set(outcome.result["written"]) <= {"/dev/null", "/dev/urandom"}  # devices that keep nothing


@deno
async def test_a_binary_below_the_stage_is_no_trouble(tmp_path):
    if not str(tmp_path).startswith("/tmp/"):
        pytest.skip("temporary files are elsewhere here")
    copy = tmp_path / "deno"
    shutil.copy2(find_deno(small()), copy)
    async with DenoRuntime(small(pool_size=0, deno_path=copy, require=list(Layer))) as runtime:
        assert (await runtime.execute(ONE)).result == 1


@deno
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to hand down")
async def test_root_hands_no_rights_down():
    read = "return Deno.readTextFileSync('/proc/self/status').match(/CapEff:\\s*(\\w+)/)[1]"
    async with BehindLayers(small(), (), ALLOW_ALL) as runtime:
        assert int((await runtime.execute(ExecutionRequest(code=read))).result, 16) != 0
    async with BehindLayers(small(), (Layer.NO_NEW_PRIVS,), ALLOW_ALL) as runtime:
        assert int((await runtime.execute(ExecutionRequest(code=read))).result, 16) == 0


@deno
async def test_a_layer_that_is_lost_after_another_was_found_broken_is_not_reported_as_held(launcher, monkeypatch):
    launcher(TOO_STRICT)
    make = wall.make_spawner

    def second_time_lacking(command, settings, tasks, layers, *_):
        if Layer.LANDLOCK not in layers and Layer.SECCOMP in layers and len(layers) == len(Layer) - 1:
            tries.append(1)
            if len(tries) == 2:  # the first was the trial
                launcher(LACKING["seccomp"][0])
        return make(command, settings, tasks, layers)

    tries: list[int] = []
    monkeypatch.setattr(wall, "make_spawner", second_time_lacking)
    with pytest.raises(SandboxUnavailable, match=r"required: seccomp \("):
        async with DenoRuntime(small(require=["seccomp"])):
            pass


@deno
async def test_a_layer_that_fails_for_a_while_is_tried_again(launcher, tmp_path):
    switch = tmp_path / "fails"
    launcher(
        "import os\nfrom jail import namespaces as n\nenter = n.enter\n"
        f"def maybe(**options):\n    if os.path.exists({str(switch)!r}): raise OSError(1, 'just now')\n    enter(**options)\n"
        "n.enter = maybe"
    )
    async with DenoRuntime(small(pool_size=0)) as runtime:
        assert (await runtime.execute(ONE)).result == 1
        switch.touch()
        runtime._spawner.kill_launcher()
        assert (await runtime.execute(ONE)).refused
        switch.unlink()
        assert (await runtime.execute(ONE)).result == 1


LONG = ExecutionRequest(code="await tools.hold({}); return 2", timeout_ms=60_000)


class Holding(FunctionTools):
    """Keeps a run under way: `begun` says that it is, and `go` ends it."""

    def __init__(self) -> None:
        super().__init__({"hold": self._hold})
        self.begun, self.go = anyio.Event(), anyio.Event()

    async def _hold(self, arguments):
        self.begun.set()
        await self.go.wait()


@deno
async def test_a_start_that_the_system_refuses_is_the_end_of_that_start_only(launcher):
    # The first is the self-test, the second the long run, and of the third one both attempts fail.
    launcher(
        "import os\nfork, forks = os.fork, []\ndef maybe():\n    forks.append(1)\n"
        "    if len(forks) in (3, 4): raise OSError(11, 'no more processes')\n    return fork()\nos.fork = maybe"
    )
    async with DenoRuntime(small(pool_size=0)) as runtime, anyio.create_task_group() as tasks:
        outcomes, holding = [], Holding()
        tasks.start_soon(keep, outcomes, runtime, LONG, holding)
        await holding.begun.wait()
        assert (await runtime.execute(ONE)).refused
        assert (await runtime.execute(ONE)).result == 1
        holding.go.set()
    assert [outcome.result for outcome in outcomes] == [2]


@deno
async def test_a_host_without_descriptors_does_not_end_the_runs_that_go_on():
    async with DenoRuntime(small(pool_size=0)) as runtime, anyio.create_task_group() as tasks:
        outcomes, holding = [], Holding()
        tasks.start_soon(keep, outcomes, runtime, LONG, holding)
        await holding.begun.wait()
        with without_descriptors():
            assert (await runtime.execute(ONE)).refused
        holding.go.set()
    assert [outcome.result for outcome in outcomes] == [2]


async def keep(outcomes, runtime, request, tools):
    outcomes.append(await runtime.execute(request, tools))


@deno
async def test_without_a_home_nothing_is_remembered_and_nothing_breaks(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")

    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("pathlib.Path.home", nowhere)
    async with DenoRuntime(small(pool_size=0)) as runtime:
        assert (await runtime.execute(ONE)).result == 1
