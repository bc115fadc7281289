"""What code keeps for its conversation, through turns, with real Deno."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from cortex import MotorCortex, Settings, Toolbox
from cortex.contracts.events import ExecutionEnded
from cortex.home.stores import id_of
from cortex.turn import takes_store
from sandbox import DenoRuntime, ExecutionOutcome
from sandbox.testing import ScriptedRuntime
from tests.conftest import small

pytestmark = pytest.mark.deno

FREE = {"cost_isolated": 0, "recharge_per_minute": 0}
MANY = {"max_calls_per_turn": 50, "max_timeout_isolated_ms": 60_000}


@pytest.fixture
async def deno() -> AsyncIterator[DenoRuntime]:
    async with DenoRuntime(small(pool_size=2)) as runtime:
        yield runtime


@asynccontextmanager
async def opened(home: Path, runtime: Any = None, *, toolbox=None, **sections: Any) -> AsyncIterator[MotorCortex]:
    settings = Settings(home=home, energy=FREE, execute=MANY, **sections)
    async with MotorCortex(settings, runtime=runtime, toolbox=toolbox) as cortex:
        yield cortex


async def run(cortex: MotorCortex, code: str, conversation: str | None = "a", **more: Any) -> str:
    """In a turn of its own."""
    async with cortex.turn(conversation=conversation) as turn:
        return await turn.call("core.execute", {"purpose": "keep", "code": code, **more})


async def kept(cortex: MotorCortex, conversation: str = "a") -> Any:
    code = "const all = {}; for (const key of await store.keys()) all[key] = await store.get(key); return all"
    return json.loads(await run(cortex, code, conversation))


async def test_a_later_turn_of_the_conversation_finds_what_an_earlier_one_kept(tmp_path, deno):
    async with opened(tmp_path, deno) as cortex:
        assert await run(cortex, 'await store.set("rows", [1, { two: null }]); return "kept"') == '"kept"'
        assert await run(cortex, 'return [await store.get("rows"), await store.get("other") ?? "none"]') == (
            '[[1,{"two":null}],"none"]'
        )


async def test_the_runs_of_one_turn_share_the_store_and_so_does_execute_code(tmp_path, deno):
    async with opened(tmp_path, deno) as cortex, cortex.turn(conversation="a") as turn:
        await turn.call("core.execute", {"purpose": "keep", "code": 'await store.set("n", 1)'})
        answer = await turn.execute_code({"code": 'return (await store.get("n")) + 1'})
    assert (answer.ok, answer.structured["result"]) == (True, 2)


async def test_conversations_do_not_see_each_other(tmp_path, deno):
    async with opened(tmp_path, deno) as cortex:
        await run(cortex, 'await store.set("n", "of a")', "a")
        await run(cortex, 'await store.set("n", "of b"); await store.set("m", 1)', "b")
        assert (await kept(cortex, "a"), await kept(cortex, "c")) == ({"n": "of a"}, {})


async def test_what_was_kept_is_there_after_a_restart(tmp_path, deno):
    async with opened(tmp_path, deno) as cortex:
        await run(cortex, 'await store.set("n", 1)')
    async with opened(tmp_path, deno) as cortex:
        assert await kept(cortex) == {"n": 1}


@pytest.mark.parametrize(
    ("end", "reply"),
    [
        ('throw new Error("no")', "EXECUTION_ERROR: RuntimeError: no"),
        ("for (;;);", "EXECUTION_TIMEOUT"),
        ("return () => () => 1", "EXECUTION_ERROR"),
        ("Deno.exit(0)", "EXECUTION_ERROR: CrashError"),
        ("await new Promise(() => {})", "EXECUTION_TIMEOUT"),
        ('console.log("x".repeat(2_000_000))', "EXECUTION_ERROR: LimitError"),
        ('await store.set("big", "x".repeat(300_000))', "EXECUTION_ERROR: LimitError: The store would hold"),
        ("for (let n = 0; n < 101; n++) await store.set(String(n), n)", "EXECUTION_ERROR: LimitError: The store of"),
    ],
    ids=["throws", "spins", "no json", "exits", "waits", "output", "bytes", "keys"],
)
async def test_what_a_failed_run_set_is_not_there(tmp_path, deno, end, reply):
    async with opened(tmp_path, deno) as cortex:
        await run(cortex, 'await store.set("before", 1); await store.set("n", 1)')
        code = f'await store.set("n", 2); await store.set("new", 3); await store.delete("before"); {end}'
        # What ends by itself has time for that, on a slow machine too.
        timeout = 1_000 if reply == "EXECUTION_TIMEOUT" else 60_000
        assert (await run(cortex, code, timeout=timeout)).startswith(reply)
        assert await kept(cortex) == {"before": 1, "n": 1}


async def test_a_run_that_is_cancelled_keeps_nothing(tmp_path, deno):
    toolbox, waiting = Toolbox(), anyio.Event()

    @toolbox.tool
    async def wait() -> None:
        """Wait for ever."""
        waiting.set()
        await anyio.sleep_forever()

    async with opened(tmp_path, deno, toolbox=toolbox) as cortex:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, cortex, 'await store.set("n", 1); await tools.wait()')
            await waiting.wait()
            tasks.cancel_scope.cancel()
        assert await kept(cortex) == {}


async def test_a_run_that_the_kill_switch_ends_keeps_nothing(tmp_path, deno):
    toolbox = Toolbox()
    async with opened(tmp_path, deno, toolbox=toolbox) as cortex:

        @toolbox.tool
        async def kill() -> None:
            """Turn on the kill switch."""
            cortex.switch.turn_on("enough", "owner")

        reply = await run(cortex, 'await store.set("n", 1); await tools.kill(); return 1')
        assert reply.startswith("EXECUTION_ERROR")
        cortex.switch.turn_off("go on", "owner")
        with anyio.fail_after(60):
            while (await run(cortex, "return 1 + 1", None)) != "2":
                await anyio.sleep(0.05)
        assert await kept(cortex) == {}


async def test_two_runs_at_once_both_keep_what_they_set_and_the_later_wins_for_one_key(tmp_path, deno):
    """Each waits in the middle until the other is there, so that neither sees the writes of the other."""
    toolbox, there = Toolbox(), []
    both = anyio.Event()

    @toolbox.tool
    async def meet() -> None:
        """Wait for the other."""
        there.append(1)
        if len(there) == 2:
            both.set()
        await both.wait()

    async with opened(tmp_path, deno, toolbox=toolbox) as cortex:
        await run(cortex, 'await store.set("n", 0)')
        replies = []

        async def one(name: str) -> None:
            code = f'const n = await store.get("n"); await store.set("{name}", n); await tools.meet();'
            replies.append(await run(cortex, f'{code} await store.set("n", "{name}"); return "{name}"'))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one, "x")
            tasks.start_soon(one, "y")
        found = await kept(cortex)
    assert sorted(replies) == ['"x"', '"y"']
    assert (found.pop("n") in {"x", "y"}, found) == (True, {"x": 0, "y": 0})


async def test_a_run_whose_state_no_longer_fits_has_failed_and_says_so(tmp_path, deno):
    toolbox = Toolbox()
    async with opened(tmp_path, deno, toolbox=toolbox, store={"max_keys": 2}) as cortex:

        @toolbox.tool
        async def fill() -> str:
            """Let another run of the conversation fill the store."""
            return await run(cortex, 'await store.set("a", 1); await store.set("b", 1)')

        reply = await run(cortex, 'await store.set("mine", 1); await tools.fill(); return "done"')
        assert await kept(cortex) == {"a": 1, "b": 1}
    assert reply == (
        "EXECUTION_ERROR: LimitError: The code ended, and nothing that it set in the store was kept: "
        "The store of a conversation holds at most 2 keys\n"
        "Calls that this run has made:\n  tools.fill: 1 done"
    )


async def test_the_settings_limit_bytes_keys_and_age(tmp_path, deno):
    clock = [1e9]
    settings = Settings(
        home=tmp_path, energy=FREE, execute=MANY, store={"max_bytes": 20, "max_keys": 2, "max_age_s": 60}
    )
    async with MotorCortex(settings, runtime=deno, now=lambda: clock[0]) as cortex:
        assert "more than 20" in await run(cortex, 'await store.set("a", "x".repeat(18))')
        assert "at most 2 keys" in await run(cortex, 'for (const key of "abc") await store.set(key, 1)')
        await run(cortex, 'await store.set("a", 1)')
        clock[0] += 60
        assert await kept(cortex) == {"a": 1}
        clock[0] += 1
        assert await kept(cortex) == {}


async def test_without_a_conversation_there_is_no_store(tmp_path, deno):
    async with opened(tmp_path, deno) as cortex:
        reply = await run(cortex, 'return await store.get("n")', None)
        assert reply == (
            "EXECUTION_ERROR: RuntimeError: store keeps values for a conversation, and this run belongs to none: do "
            'without store\n  at line 1, column 8: return await store.get("n")'
        )


@pytest.mark.parametrize("name", ["", "x" * 201, "\ud800"])
async def test_a_turn_of_what_is_no_conversation_is_a_mistake_of_the_program(tmp_path, name):
    async with opened(tmp_path, ScriptedRuntime([])) as cortex:
        with pytest.raises(ValueError, match=r"conversation|surrogates"):
            cortex.turn(conversation=name)


async def test_names_that_mean_something_elsewhere_are_only_keys(tmp_path, deno):
    names = ["__proto__", "constructor", "prototype", "toString", "../../energy", "/etc/passwd", "a\0b", "revision"]
    async with opened(tmp_path, deno) as cortex:
        code = "for (const key of context.names) await store.set(key, { [key]: { polluted: 1 } }); return ({}).polluted ?? 0"
        async with cortex.turn(conversation="a") as turn:
            answer = await turn.execute_code({"code": code, "context": {"names": names}})
            assert answer.structured["result"] == 0
            code = "const all = []; for (const key of context.names) all.push((await store.get(key))[key].polluted); return all"
            answer = await turn.execute_code({"code": code, "context": {"names": names}})
            assert answer.structured["result"] == [1] * len(names)
        assert json.loads(await run(cortex, "return await store.keys()")) == sorted(names)
    assert sorted(path.name for path in (tmp_path / "state" / "store").iterdir() if path.suffix == ".json") == [
        f"{id_of('a')}.json"
    ]


async def test_a_run_that_uses_the_store_is_never_cached_nor_answered_from_the_cache(tmp_path, deno):
    count = 'const n = ((await store.get("n")) ?? 0) + 1; await store.set("n", n); return n'
    async with opened(tmp_path, deno) as cortex:
        assert [await run(cortex, count) for _ in range(3)] == ["1", "2", "3"]
        look = 'return (await store.get("n")) ?? null'
        assert (await run(cortex, look), await run(cortex, look, "b")) == ("3", "null")
        # Told nothing by its words: the run itself finds out.
        hidden = 'const name = "sto" + "re"; const get = Reflect.get; return typeof name + get.length'
        assert await run(cortex, hidden) == '"string2"'
        ended = [record.facts for record in cortex.audit.records() if record.kind == "execution"]
    assert not any(facts.get("cached") for facts in ended)


async def test_other_code_of_a_conversation_is_answered_from_the_cache_as_before(tmp_path, deno):
    async with opened(tmp_path, deno) as cortex:
        for conversation in ("a", "b", None):
            assert await run(cortex, "return 6 * 7", conversation) == "42"
        ended = [record.facts for record in cortex.audit.records() if record.kind == "execution"]
    assert [bool(facts.get("cached")) for facts in ended] == [False, True, True]


async def test_the_audit_has_a_hash_of_what_a_run_kept_and_not_the_values(tmp_path, deno):
    async with opened(tmp_path, deno) as cortex:
        await run(cortex, 'await store.set("secret name", "secret value")')
        await run(cortex, "await store.keys()")
        first, second = (record.facts for record in cortex.audit.records() if record.kind == "execution")
    assert (first["store"]["id"], first["store"]["keys"], len(first["store"]["hash"])) == (id_of("a"), 1, 64)
    assert "store" not in second
    audit = b"".join(path.read_bytes() for path in (tmp_path / "audit").glob("*.jsonl"))
    assert b"secret value" not in audit
    assert b"secret name" not in audit


async def test_what_the_model_reads_of_a_value_and_of_a_key_is_redacted_and_the_code_has_it_whole(tmp_path, deno):
    async with opened(tmp_path, deno) as cortex:
        await run(cortex, 'await store.set("mail", "ada" + "@corp.example")')
        assert await run(cortex, 'return await store.get("mail")') == '"[EMAIL_1]"'
        assert await run(cortex, 'return (await store.get("mail")).length') == "16"
        reply = await run(cortex, 'await store.set("ada" + "@corp.example", () => 1)')
    assert ("ada@" in reply, "[EMAIL_1]" in reply) == (False, True)


async def test_events_say_what_was_kept_without_the_values(tmp_path, deno):
    events: list[Any] = []
    async with opened(tmp_path, deno) as cortex, cortex.turn(events.append, conversation="a") as turn:
        await turn.call("core.execute", {"purpose": "keep", "code": 'await store.set("n", 1)'})
    [ended] = [event for event in events if isinstance(event, ExecutionEnded)]
    assert (ended.stored["id"], ended.stored["keys"]) == (id_of("a"), 1)


async def test_a_runtime_that_knows_of_no_store_is_used_without_one(tmp_path):
    class Older:
        async def execute(self, request, tools=None, *, network=None, workspace=None):
            return ExecutionOutcome(ok=True, result=42)

    assert not takes_store(Older())
    async with opened(tmp_path, Older()) as cortex:
        assert await run(cortex, "return 42") == "42"


async def test_a_home_that_cannot_be_written_fails_the_run_that_would_be_kept(tmp_path, deno, monkeypatch):
    from cortex.home import stores

    def refuse(*_: object) -> None:
        raise stores.StorageError("no space left")

    async with opened(tmp_path, deno) as cortex:
        monkeypatch.setattr(stores.Stores, "apply", refuse)
        reply = await run(cortex, 'await store.set("n", 1); return 1')
    assert reply.endswith("nothing that it set in the store was kept: The store could not be written")


async def test_a_turn_that_has_ended_runs_nothing_more(tmp_path, deno):
    async with opened(tmp_path, deno) as cortex:
        async with cortex.turn(conversation="a") as turn:
            pass
        assert "This turn has ended" in await turn.call("core.execute", {"purpose": "x", "code": "store.set('n', 1)"})
        assert await kept(cortex) == {}
