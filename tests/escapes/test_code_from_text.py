"""The attack programs of the class "text", as neurons: resident programs whose signals hold a text. None of them may make
code of it, for the owner has not approved it."""

from __future__ import annotations

import json
from dataclasses import replace

import anyio
import pytest

from sandbox import DenoRuntime, ExecutionOutcome, ExecutionRequest, Metrics, ResidentProgram, SandboxSettings
from sandbox.jail.layers import Layer

from .arena import Arena, Servers, UnpermittedRuntime, arena, settings
from .program import load
from .test_escapes import judge, name_of, wanted

pytestmark = pytest.mark.deno

PROGRAMS = [program for program in load() if program.kind == "text"]
AUTHORITY = [program for program in PROGRAMS if program.authority]
# As an expression, a script and a module: says that it has run, and is a number.
TEXT = '(globalThis.console?.log("GOT the text to run"), 42)'
# The module of a function that returns 42.
WASM = "AGFzbQEAAAABBQFgAAF/AwIBAAcFAQFmAAAKBgEEAEEqCw=="
SIGNAL = {"type": "user_message", "data": {"text": TEXT, "name": "constructor", "wasm": WASM}}


class NeuronArena(Arena):
    """Runs each program as a neuron that is given one signal."""

    async def _execute(self, program, code, tools, places, store):
        neuron = ResidentProgram(code=code, timeout_ms=round(program.timeout_s * 1000), max_memory_mb=160)
        async with self.runtime.resident(neuron, tools) as resident:
            batch = await resident.handle([SIGNAL], {})
        [answer] = batch.answers
        return ExecutionOutcome(
            ok=answer.ok,
            result=json.dumps(answer.emitted),
            error=answer.error,
            logs=batch.work.logs,
            metrics=Metrics(execution_ms=batch.work.ms),
        )


class OpenedRuntime(DenoRuntime):
    """A runtime whose neurons are not hindered: shows what would come of the programs."""

    def _command(self):
        command = super()._command()
        harness = command.harness
        for words in (b"  forbidCode();", rb"impor\\u0074"):
            harness = harness.replace(words, b"import".ljust(len(words)) if b"impor" in words else b" " * len(words))
        assert harness != command.harness
        return replace(command, harness=harness)


async def judged(make_runtime, programs, root):
    servers = Servers()
    try:
        async with arena(make_runtime(settings()), servers, root) as place:
            parts = (place.runtime, servers, place.watcher, root, place.env_secret, place.signalled)
            found = await NeuronArena(*parts).judge(programs)
    finally:
        servers.close()
    return found


@pytest.fixture(scope="module")
def behind_both_walls(request, tmp_path_factory):
    programs = wanted(request, test_no_text_of_a_signal_becomes_code)
    return anyio.run(judged, DenoRuntime, programs, tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="module")
def behind_the_system_alone(request, tmp_path_factory):
    programs = wanted(request, test_no_text_of_a_signal_becomes_code_without_denos_permissions)
    return anyio.run(judged, UnpermittedRuntime, programs, tmp_path_factory.mktemp("alone"))


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_no_text_of_a_signal_becomes_code(program, behind_both_walls):
    judge(program, behind_both_walls)


@pytest.mark.parametrize("program", AUTHORITY, ids=name_of)
def test_no_text_of_a_signal_becomes_code_without_denos_permissions(program, behind_the_system_alone):
    judge(program, behind_the_system_alone, needs={Layer.LANDLOCK, Layer.SECCOMP})


# In these the text was never code: they are here so that it stays so.
HARMLESS = {
    *("timers-of-texts", "handlers-of-texts", "frames-of-the-stack", "constructors-restored"),
    *("closing-the-function", "importing-outside-of-the-function"),
}


def test_most_texts_would_become_code_where_nothing_hinders_them(tmp_path):
    """A check that cannot fail proves nothing."""
    found = anyio.run(judged, OpenedRuntime, PROGRAMS, tmp_path)
    assert [name for name, (failed, _) in found.items() if not failed and name not in HARMLESS] == []


async def test_a_run_of_a_model_may_still_make_functions():
    code = "return [Function('return 1')(), (0, eval)('2'), await (await import('data:text/javascript,export default 3')).default, typeof WebAssembly]"
    async with DenoRuntime(SandboxSettings(pool_size=0)) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=code))
    assert outcome.result == [1, 2, 3, "object"], outcome.error
