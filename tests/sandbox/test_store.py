"""The global `store` from end to end: the code, the frames, the bridge, and a store that a test lends."""

from __future__ import annotations

import pytest

from sandbox import DenoRuntime, ErrorType, ExecutionRequest, ResidentProgram, ToolError, may_vary
from tests.conftest import small

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]

NO_STORE = "store keeps values for a conversation, and this run belongs to none: do without store"
SEND = """
const send = (frame) => {
  const bytes = new TextEncoder().encode(JSON.stringify(frame) + "\\n");
  for (let at = 0; at < bytes.length;) at += Deno[Deno.internal].core.writeSync(1, bytes.subarray(at));
};
"""


class Lent:
    """A `Store` in memory that notes what is asked of it."""

    def __init__(self, **values: bytes) -> None:
        self.values = dict(values)
        self.asked: list[tuple[str, str]] = []

    async def get(self, key):
        self.asked.append(("get", key))
        if key == "broken":
            raise RuntimeError("the secret of the host")
        return self.values.get(key)

    async def set(self, key, value):
        self.asked.append(("set", key))
        if key == "full":
            raise ToolError("The store is full", code="limit")
        self.values[key] = value

    async def delete(self, key):
        self.asked.append(("delete", key))
        return self.values.pop(key, None) is not None

    async def keys(self):
        self.asked.append(("keys", ""))
        return sorted(self.values)


async def ran(code: str, store: Lent | None = None, **options):
    async with DenoRuntime(small(pool_size=0)) as runtime:
        return await runtime.execute(ExecutionRequest(code=code, timeout_ms=60_000, **options), store=store)


async def test_code_sets_gets_deletes_and_lists_json():
    store = Lent(old=b'{"a":[1,null]}')
    outcome = await ran(
        """
        await store.set("new", { when: new Date(0), list: new Set([1]), nothing: undefined, big: 2n ** 70n });
        const seen = [await store.get("old"), await store.get("new"), await store.get("none"), await store.keys()];
        return [...seen, await store.delete("old"), await store.delete("old")];
        """,
        store,
    )
    new = {"when": "1970-01-01T00:00:00.000Z", "list": [1], "big": 2**70}
    assert outcome.result == [{"a": [1, None]}, {**new, "big": float(2**70)}, None, ["new", "old"], True, False]
    assert list(store.values) == ["new"]


async def test_typescript_has_the_store_too_and_a_variable_of_that_name_may_hide_it():
    assert (await ran('const n: number = (await store.get("n")) as number; return n + 1', Lent(n=b"1"))).result == 2
    assert (await ran("const store = { a: 1 }; return store.a", Lent())).result == 1


async def test_without_a_store_every_call_is_rejected_with_one_sentence():
    code = """
    const calls = [store.get("a"), store.set("a", 1), store.delete("a"), store.keys()];
    return (await Promise.allSettled(calls)).map(({ reason }) => [reason.message, reason.code]);
    """
    assert (await ran(code)).result == [[NO_STORE, "no_conversation"]] * 4
    outcome = await ran('await store.set("a", 1)')
    assert (outcome.error.type, outcome.error.message) == (ErrorType.RUNTIME, NO_STORE)


async def test_what_is_set_without_await_is_set_in_order_before_the_run_ends():
    store = Lent()
    outcome = await ran('for (let n = 0; n < 50; n++) store.set("n", n); store.set("last", 1); return 7', store)
    assert (outcome.result, store.values) == (7, {"n": b"49", "last": b"1"})


async def test_a_refusal_that_nobody_waits_for_fails_the_run():
    outcome = await ran('store.set("full", 1); return 7', Lent())
    assert (outcome.ok, outcome.error.type, outcome.error.message) == (False, ErrorType.LIMIT, "The store is full")
    assert (await ran('store.set("full", 1).catch(() => {}); return 7', Lent())).result == 7


async def test_a_fault_of_the_host_is_an_error_without_its_text():
    outcome = await ran('return await store.get("broken").catch((error) => error.message)', Lent())
    assert outcome.result == "The store failed with RuntimeError"


async def test_calls_are_counted_and_too_many_end_the_run():
    store = Lent()
    outcome = await ran('for (let n = 0; n < 2000; n++) await store.get("a").catch(() => {})', store)
    assert (outcome.error.type, outcome.error.message) == (ErrorType.LIMIT, "More than 1000 store calls")
    assert len(store.asked) == 1000
    outcome = await ran('for (let n = 0; n < 2000; n++) await store.get("a").catch(() => {})')
    assert outcome.error.message == "More than 100 store calls"


async def test_calls_of_the_store_are_neither_tool_calls_nor_failures():
    outcome = await ran('await store.get("a"); await store.set("full", 1).catch(() => {})', Lent())
    assert (outcome.metrics.tool_calls, outcome.metrics.failed_calls) == (0, 0)


@pytest.mark.parametrize(
    "frame",
    [
        '{ operation: "clear", key: "a", value: null }',
        '{ operation: "get", key: ["a"], value: null }',
        '{ operation: "get", key: "a" }',
        '{ operation: "get", key: "a", value: null, conversation: "b" }',
        '{ operation: "toString", key: "a", value: null }',
    ],
)
async def test_a_forged_call_of_any_other_shape_ends_the_run(frame):
    store = Lent(a=b"1")
    code = f'{SEND} send({{ type: "__store__", call_id: "x", ...{frame} }}); await new Promise(() => {{}})'
    outcome = await ran(code, store)
    assert (outcome.error.type, store.values, store.asked) == (ErrorType.CRASH, {"a": b"1"}, [])


async def test_a_run_that_used_the_store_cannot_be_repeated(monkeypatch):
    """Its words tell, and so does the run itself, should they not."""
    code = 'return await store.get("a")'
    assert may_vary(code) == '"store" reaches beyond the code'
    monkeypatch.setattr("sandbox.runtime.may_vary", lambda code: None)
    outcome = await ran(code, Lent(a=b"1"), deterministic=True)
    assert (outcome.result, outcome.deterministic) == (1, False)
    assert (await ran("return 1", Lent(), deterministic=True)).deterministic


async def test_a_resident_program_has_no_store_and_forging_gets_it_none():
    forge = 'send({ type: "__store__", call_id: "x1", operation: "set", key: "a", value: 1 });'
    code = f'{SEND} {forge} emit("seen", [typeof store, typeof globalThis.store]);'
    async with DenoRuntime(small()) as runtime, runtime.resident(ResidentProgram(name="n", code=code)) as resident:
        answer = await resident.handle([{"type": "go", "data": {}}], {})
    [signal] = answer.answers
    assert signal.emitted == (("seen", ["undefined", "undefined"]),)
