"""Calling a tool with JSON, as models write it; and whatever the function does, a value or a ToolError comes back."""

from __future__ import annotations

import asyncio
import contextvars
import datetime
import functools
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, field_validator

from cortex.tools import Tool, Toolbox
from cortex.tools.threads import MAX_THREADS
from sandbox import ToolError

PATIENCE_S = 60
WHO = contextvars.ContextVar("WHO", default="nobody")


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Line(BaseModel):
    item_name: str
    amount: int = 1
    price: float | None = None


def tool_of(function, **options) -> Tool:
    return Toolbox().add(function, **options)


async def refused(tool: Tool, arguments: Any, **options: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await tool.call(arguments, **options)
    return caught.value


async def test_sync_and_async_functions_are_called_with_what_was_said_and_their_own_defaults():
    marker = object()

    def sync(a: int, b: int = 2, c: Any = marker) -> list[int]:
        assert c is marker
        return [a, b]

    async def async_(a: int, *, b: int = 2) -> list[int]:
        return [a, b]

    assert await tool_of(sync).call({"a": 1}) == [1, 2]
    assert await tool_of(async_, name="x").call({"a": 1, "b": 5}) == [1, 5]


async def test_positional_only_parameters_partials_methods_and_callable_objects_work():
    class Shop:
        def __init__(self):
            self.name = "shop"

        def stock(self, item: str) -> str:
            return f"{self.name}:{item}"

        async def __call__(self, item: str) -> str:
            return f"called {item}"

    def only(a: int, b: int = 7, /, c: int = 8) -> list[int]:
        return [a, b, c]

    def keyed(url: str, key: str) -> str:
        return url + key

    assert await tool_of(only).call({"a": 1, "c": 3}) == [1, 7, 3]
    assert await tool_of(Shop().stock).call({"item": "pear"}) == "shop:pear"
    assert await tool_of(Shop(), name="shop").call({"item": "pear"}) == "called pear"
    partial = tool_of(functools.partial(keyed, key="K"), name="keyed")
    assert await partial.call({"url": "u"}) == "uK"
    assert (await refused(partial, {"url": "u", "key": "mine"})).code == "invalid_arguments"


async def test_a_function_that_returns_a_coroutine_is_awaited():
    async def later(a: int) -> int:
        await anyio.lowlevel.checkpoint()
        return a

    def sync(a: int) -> Any:
        return later(a)

    assert await tool_of(sync).call({"a": 4}) == 4


async def test_models_enums_literals_and_dates_are_made_of_json():
    def order(line: Line, size: Size, kind: Literal["a", "b"], day: datetime.date, more: list[Line] = []) -> list[Any]:  # noqa: B006
        assert isinstance(line, Line)
        assert isinstance(more[0], Line)
        assert size is Size.LARGE
        return [line, size, kind, day, more]

    result = await tool_of(order).call(
        {
            "line": {"item_name": "pear", "amount": "3"},
            "size": "large",
            "kind": "b",
            "day": "2026-11-16",
            "more": [{"item_name": "plum"}],
        }
    )
    pear = {"item_name": "pear", "amount": 3, "price": None}
    assert result == [pear, "large", "b", "2026-11-16", [{"item_name": "plum", "amount": 1, "price": None}]]


def everything(
    item_name: str,
    at_least: int = 0,
    share: float = 0.5,
    is_new: bool = False,
    size: Size = Size.SMALL,
    line: Line | None = None,
    tags: list[str] = [],  # noqa: B006
    lines: dict[str, Line] | None = None,
    level: Literal[1, 2] = 1,
    either: float | list[float] = 0.0,
    free: Any = None,
) -> dict[str, Any]:
    return {name: value for name, value in locals().items() if name != "item_name"}


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ({"itemName": "x", "AtLeast": 3}, {"at_least": 3}),
        ({"ITEM_NAME": "x", "at-least": "3"}, {"at_least": 3}),
        ({"item_name": "x", "at_least": None, "share": None, "size": None, "tags": None}, {}),
        ({"item_name": "x", "at_least": None, "atLeast": 4}, {"at_least": 4}),
        ({"item_name": "x", "at_least": "1000"}, {"at_least": 1000}),
        ({"item_name": "x", "at_least": 1000.0}, {"at_least": 1000}),
        ({"item_name": "x", "at_least": "1e3"}, {"at_least": 1000}),
        ({"item_name": "x", "share": "0.25"}, {"share": 0.25}),
        ({"item_name": "x", "is_new": "true"}, {"is_new": True}),
        ({"item_name": "x", "size": "LARGE"}, {"size": "large"}),
        ({"item_name": "x", "tags": '["a", "b"]'}, {"tags": ["a", "b"]}),
        ({"item_name": "x", "line": '{"itemName": "y", "amount": "2"}'}, {"line": {"item_name": "y", "amount": 2, "price": None}}),
        ({"item_name": "x", "line": {"ItemName": "y", "price": "1.5"}}, {"line": {"item_name": "y", "amount": 1, "price": 1.5}}),
        ({"item_name": "x", "line": None}, {"line": None}),
        ({"item_name": "x", "lines": {"itemName": {"itemName": "y"}}}, {"lines": {"itemName": {"item_name": "y", "amount": 1, "price": None}}}),
        ({"item_name": "x", "level": "2"}, {"level": 2}),
        ({"item_name": "x", "free": '{"a": 1}'}, {"free": '{"a": 1}'}),
        ({"item_name": "x", "free": None}, {"free": None}),
        ({"item_name": 12345}, {}),
        ('{"item_name": "x", "at_least": 2}', {"at_least": 2}),
        ('"{\\"item_name\\": \\"x\\", \\"at_least\\": 2}"', {"at_least": 2}),
        ('```json\n{"item_name": "x", "at_least": 2}\n```', {"at_least": 2}),
        ('[{"item_name": "x", "at_least": 2}]', {"at_least": 2}),
        ('{"item_name": "two\nlines", "at_least": 2}', {"at_least": 2}),
    ],
)  # fmt: skip
async def test_arguments_of_weak_models_are_understood(sent, meant):
    plain = {
        "at_least": 0,
        "share": 0.5,
        "is_new": False,
        "size": "small",
        "line": None,
        "tags": [],
        "lines": None,
        "level": 1,
        "either": 0.0,
        "free": None,
    }
    assert await tool_of(everything).call(sent) == {**plain, **meant}


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({}, r"everything: item_name: Field required. It takes item_name, at_least \(optional\)"),
        (None, "item_name: Field required"),
        ("", "item_name: Field required"),
        ({"item_name": "x", "at_least": "many"}, "at_least: Input should be a valid integer"),
        ({"item_name": "x", "at_least": 1.5}, "at_least: Input should be a valid integer"),
        ({"item_name": "x", "share": "NaN"}, "not finite"),
        ({"item_name": "x", "share": "-Infinity"}, "not finite"),
        ({"item_name": "x", "line": {"item_name": "y", "price": "nan"}}, "not finite"),
        ({"item_name": "x", "share": "1e999"}, "not finite"),
        ({"item_name": "x", "lines": {"a": {"item_name": "y", "price": "NaN"}}}, "not finite"),
        ({"item_name": "x", "either": "NaN"}, "either.float: Input should be a finite number"),
        ({"item_name": "x" * 5_000_000}, "are 5000016 bytes long, more than 4194304"),
        ({"item_name": "x", "size": "huge"}, "size: Input should be 'small' or 'large'"),
        ({"item_name": "x", "colour": "red"}, "colour: Extra inputs are not permitted"),
        ({"item_name": "x", "line": {"amount": 1}}, "line.item_name: Field required"),
        ({"item_name": "x", "atLeast": 1, "AT_LEAST": 2}, "Extra inputs are not permitted"),
        ("[1, 2]", "takes one object with its arguments, not an array"),
        ("7", "not a number"),
        ("true", "not a boolean"),
        ("hello", "are not JSON"),
        ('{"item_name": "x", "share": NaN}', "are not JSON"),
        ('{"item_name": "x"', "Send one whole object"),
        ('{"item_name": "\\ud800"}', "are not JSON"),
        ({"item_name": "\ud800"}, "are not JSON"),
        ({"item_name": object()}, "are not JSON"),
        (["x"], "not an array"),
        (b"{}", "not a bytes"),
        ("x" * 2_000_000, "2000000 characters long, more than 1048576"),
        ('{"item_name": ' + "[" * 100_000, "more than 20000 objects and arrays"),
        ('{"item_name": ' + "9" * 100_000 + "}", "are not JSON"),
        ('{"free": ["' + '\n"' + ",{" * 50_000, "more than 20000 objects and arrays"),
        ({"item_name": "x", "tags": [1] * 30_000}, "more than 20000 values"),
        ({"item_name": ["x"] * 2_000}, "Input should be a valid string"),
        ({"item_name": "x", **{f"k{n}": n for n in range(2000)}}, "and 1997 more"),
    ],
)  # fmt: skip
async def test_what_cannot_be_understood_is_an_error_that_says_what_to_send(sent, says):
    error = await refused(tool_of(everything), sent)
    assert error.code == "invalid_arguments"
    with pytest.raises(ToolError, match=says):
        raise error
    assert len(str(error)) <= 1000


async def test_a_circle_in_the_arguments_is_an_error():
    circle: dict[str, Any] = {"item_name": "x"}
    circle["free"] = circle
    assert (await refused(tool_of(everything), circle)).code == "invalid_arguments"


async def test_a_text_of_a_megabyte_is_an_argument_like_others():
    def length(text: str) -> int:
        return len(text)

    text = ", ``` \n" * 140_000
    assert await tool_of(length).call({"text": text}) == len(text)
    fences = "```\n" + " " * 1_000_000
    assert await tool_of(length, name="x").call(fences) == len(fences)


async def test_a_text_alone_is_the_only_parameter_if_that_takes_a_text():
    def find(name: str) -> str:
        return name

    def count(number: int) -> int:
        return number

    assert await tool_of(find).call("pear") == "pear"
    assert await tool_of(find).call('"pear"') == "pear"
    assert (await refused(tool_of(find), '{"name": "pea')).code == "invalid_arguments"
    assert (await refused(tool_of(count), "pear")).code == "invalid_arguments"


async def test_names_that_differ_only_in_how_they_are_written_are_not_confused():
    def f(user_id: int = 0, userId: int = 0) -> list[int]:  # noqa: N803
        return [user_id, userId]

    assert await tool_of(f).call({"user_id": 1, "userId": 2}) == [1, 2]
    assert (await refused(tool_of(f), {"USERID": 1})).code == "invalid_arguments"


async def test_keys_of_a_dictionary_are_data_and_stay_as_they_are():
    def f(prices: dict[str, int]) -> dict[str, int]:
        return prices

    assert await tool_of(f).call({"prices": {"itemName": "1", "ITEM_NAME": 2}}) == {"itemName": 1, "ITEM_NAME": 2}


async def test_what_was_read_is_shown_with_its_defaults_and_reads_the_same_again():
    tool = tool_of(everything)
    read = tool.read({"itemName": "x", "at_least": "5", "size": None, "line": '{"itemName": "y"}'})
    line = {"item_name": "y", "amount": 1, "price": None}
    assert {name: read.shown[name] for name in ("item_name", "at_least", "line")} == {
        "item_name": "x",
        "at_least": 5,
        "line": line,
    }
    assert tool.read(read.shown).shown == read.shown


async def test_what_is_shown_is_what_the_function_is_given():
    marker = object()

    class Parcel(BaseModel):
        id: uuid.UUID = Field(default_factory=uuid.uuid4)
        tags: list[str] = []

    def send(
        parcel: Parcel, ready: bool, numbers: Iterable[int], how: Any = marker, by: Size = Size.SMALL
    ) -> list[Any]:
        assert how is marker
        return [str(parcel.id), ready, list(numbers), by]

    tool = tool_of(send)
    read = tool.read({"parcel": {}, "ready": "yes", "numbers": [1, "2"]})
    made = await tool.call(read)
    assert made[1:] == [True, [1, 2], "small"]
    assert read.shown == {"parcel": {"id": made[0], "tags": []}, "ready": True, "numbers": [1, 2], "by": "small"}


async def test_what_cannot_be_shown_as_it_will_be_given_is_shown_as_it_was_said():
    class Odd(BaseModel):
        a: int
        b: Any = object()

    def f(odd: Odd) -> int:
        return odd.a

    tool = tool_of(f)
    assert tool.read({"odd": {"a": 1}}).shown == {"odd": {"a": 1}}
    assert await tool.call({"odd": {"a": 1}}) == 1


async def test_a_validator_that_breaks_is_internal_and_one_that_refuses_is_heard(caplog):
    class Strict(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def check(cls, value: int) -> int:
            if value == 1:
                raise ValueError("one is taken")
            raise KeyError("HOSTSECRET")

    def f(strict: Strict): ...

    assert "one is taken" in str(await refused(tool_of(f), {"strict": {"a": 1}}))
    error = await refused(tool_of(f), {"strict": {"a": 2}})
    assert (str(error), error.code) == ('Tool "f" failed with KeyError', "internal")
    assert "HOSTSECRET" in caplog.text


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    item_name: str = Field(alias="itemName")


@pytest.mark.parametrize(
    ("value", "json"),
    [
        (None, None),
        ({"a": (1, 2), "b": {3}}, {"a": [1, 2], "b": [3]}),
        (float("nan"), None),
        ([float("inf"), 1.5], [None, 1.5]),
        (datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC), "2026-01-02T00:00:00Z"),
        (Decimal("1.50"), "1.50"),
        (Path("/x"), "/x"),
        (b"bytes", "Ynl0ZXM="),
        ({1: "a"}, {"1": "a"}),
        (Line(item_name="x"), {"item_name": "x", "amount": 1, "price": None}),
        (Aliased(item_name="x"), {"itemName": "x"}),
    ],
)  # fmt: skip
async def test_results_are_json(value, json):
    def f() -> Any:
        return value

    def bare():
        return value

    assert await tool_of(f).call({}) == json
    assert await tool_of(bare).call({}) == json


async def test_the_annotation_of_the_result_says_how_it_is_written():
    def model() -> Aliased:
        return Aliased(item_name="x")

    def hours() -> Annotated[datetime.timedelta, PlainSerializer(lambda value: value.total_seconds() / 3600)]:
        return datetime.timedelta(minutes=90)

    tool = tool_of(model)
    assert await tool.call() == {"itemName": "x"}
    assert list(tool.output_schema["properties"]) == ["itemName"]
    assert await tool_of(hours).call() == 1.5


async def test_a_result_that_breaks_its_annotation_is_still_a_result():
    def f() -> int:
        return "seven"

    assert await tool_of(f).call() == "seven"


def circle():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [object(), circle(), "\ud800", ValueError("x"), lambda: 1, {"deep": [object()]}, iter([1])],
)
async def test_a_result_that_is_not_json_is_an_error(value):
    def f() -> Any:
        return value

    error = await refused(tool_of(f), {})
    assert error.code == "internal"
    assert str(error).startswith('Tool "f" returned a value that is not JSON, of the type ')


async def test_a_result_that_is_nested_too_deeply_is_an_error():
    def f(depth: int) -> Any:
        return functools.reduce(lambda value, _: [value], range(depth), 1)

    assert await tool_of(f).call({"depth": 100}) == f(100)
    for depth in (220, 10_000):
        error = await refused(tool_of(f), {"depth": depth})
        assert error.code == "internal"
        assert str(error).startswith('Tool "f" returned a value that is n')


async def test_a_generator_is_not_gone_through_because_it_may_have_no_end():
    def f() -> Any:
        return (number for number in range(3))

    assert "is not JSON, of the type generator" in str(await refused(tool_of(f), {}))


async def test_the_result_is_not_the_object_that_the_tool_keeps():
    kept = {"a": [1]}

    async def f() -> Any:
        return kept

    result = await tool_of(f).call()
    result["a"].append(2)
    assert kept == {"a": [1]}


def broken(error: BaseException):
    def sync():
        raise error

    async def async_():
        raise error

    return [sync, async_]


@pytest.mark.parametrize(
    "fault",
    [
        OSError("/home/HOSTSECRET"),
        SystemExit(3),
        StopIteration(),
        BaseExceptionGroup("HOSTSECRET", [SystemExit(1), ValueError()]),
        TimeoutError("HOSTSECRET"),
        RecursionError("HOSTSECRET"),
        type("Odd", (BaseException,), {})("HOSTSECRET"),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_whatever_a_function_raises_is_an_error_without_its_text(fault, caplog):
    for function in broken(fault):
        error = await refused(tool_of(function, name="f"), {})
        assert error.code == "internal"
        assert str(error).startswith('Tool "f" failed with ')
        assert "HOSTSECRET" not in str(error)
    assert "Traceback" in caplog.text or "HOSTSECRET" in caplog.text or type(fault).__name__ in caplog.text


async def test_a_thread_cannot_interrupt_the_host():
    def f():
        raise KeyboardInterrupt

    assert str(await refused(tool_of(f), {})) == 'Tool "f" failed with KeyboardInterrupt'


async def test_a_tool_error_reaches_the_caller_as_it_is_also_out_of_a_task_group():
    async def grouped():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(choosy)

    async def choosy():
        raise ToolError("not today", code="closed", retryable=True)

    for function in (choosy, grouped):
        error = await refused(tool_of(function, name="f"), {})
        assert (str(error), error.code, error.retryable) == ("not today", "closed", True)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_tool_that_cancels_itself_does_not_cancel_its_caller():
    async def own_task():
        task = asyncio.ensure_future(asyncio.sleep(0))
        task.cancel()
        await task

    async def raises():
        raise asyncio.CancelledError

    async def itself():
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    def thread():
        raise asyncio.CancelledError

    for function in (own_task, raises, itself):
        assert str(await refused(tool_of(function, name="f"), {})) == 'Tool "f" cancelled itself'
    assert str(await refused(tool_of(thread, name="f"), {})) == 'Tool "f" failed with CancelledError'


async def test_cancelling_the_caller_cancels_the_tool():
    ended = anyio.Event()

    async def slow():
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async def call():
        await tool_of(slow).call()
        raise AssertionError("it has no end")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert ended.is_set()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_from_asyncio_itself_is_not_taken_for_the_tools_own():
    async def slow():
        await anyio.sleep_forever()

    task = asyncio.ensure_future(tool_of(slow).call())
    await anyio.wait_all_tasks_blocked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_tool_that_hangs_is_left_at_its_timeout_in_a_task_or_in_a_thread():
    release = threading.Event()

    async def slow():
        await anyio.sleep_forever()

    def stuck():
        release.wait(PATIENCE_S)

    for function in (slow, stuck):
        error = await refused(tool_of(function, name="f"), {}, timeout_ms=20)
        assert (str(error), error.code, error.retryable) == ('Tool "f" gave no answer within 20 ms', "timeout", True)
    release.set()


async def test_calls_that_do_not_end_take_up_the_threads_of_their_own_tool_only():
    release, began = threading.Event(), threading.Semaphore(0)

    def stuck() -> str:
        began.release()
        release.wait(PATIENCE_S)
        return "done"

    def other() -> str:
        return "free"

    tool = tool_of(stuck)
    # More tries than threads: one that is given up before it has a thread takes up none.
    codes = []
    while "busy" not in codes and len(codes) < 3 * MAX_THREADS:
        error = await refused(tool, {}, timeout_ms=20)
        codes.append(error.code)
    assert (codes[:-1].count("timeout"), len(codes) > MAX_THREADS) == (len(codes) - 1, True)
    assert (error.code, error.retryable) == ("busy", True)
    assert "earlier calls that do not end" in str(error)
    assert await tool_of(other).call() == "free"
    # A thread may begin only after its call was given up.
    assert all(began.acquire(timeout=PATIENCE_S) for _ in range(MAX_THREADS))
    assert not began.acquire(blocking=False)
    release.set()
    with anyio.fail_after(PATIENCE_S):
        while True:
            try:
                assert await tool.call() == "done"
                break
            except ToolError:
                await anyio.lowlevel.checkpoint()


async def test_more_calls_than_threads_wait_for_each_other_and_all_end():
    most = now = 0
    lock = threading.Lock()
    full = threading.Event()

    def count(n: int) -> int:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
            if now == MAX_THREADS:
                full.set()
        full.wait(PATIENCE_S)
        with lock:
            now -= 1
        return n

    tool = tool_of(count)
    results = []

    async def call(n):
        results.append(await tool.call({"n": n}))

    async with anyio.create_task_group() as tasks:
        for n in range(3 * MAX_THREADS):
            tasks.start_soon(call, n)
    assert sorted(results) == list(range(3 * MAX_THREADS))
    assert most == MAX_THREADS


async def test_a_thread_knows_the_context_of_its_caller_and_may_run_a_loop_of_its_own():
    async def inner():
        await anyio.sleep(0)
        return WHO.get()

    def f() -> str:
        return anyio.run(inner)

    WHO.set("somebody")
    assert await tool_of(f).call() == "somebody"


async def test_calls_one_after_the_other_need_few_threads():
    seen = set()

    def f() -> None:
        seen.add(threading.current_thread())

    tool = tool_of(f)
    for _ in range(50):
        await tool.call()
    assert len(seen) < 25


def test_a_child_process_does_not_wait_for_threads_that_only_its_parent_has():
    program = """
import anyio, os, time
from cortex.tools import Toolbox
from cortex.tools.threads import _idle

def f() -> int:
    return os.getpid()

tool = Toolbox().add(f)

async def main():
    assert await tool.call() == os.getpid()

anyio.run(main)
while not _idle:
    time.sleep(0.001)
child = os.fork()
anyio.run(main)
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr


def test_one_tool_serves_many_event_loops():
    def f(a: int) -> int:
        return a

    tool = tool_of(f)
    for backend in ("asyncio", "trio", "asyncio"):
        assert anyio.run(tool.call, {"a": 1}, backend=backend) == 1


def test_a_call_that_hangs_does_not_keep_a_program_from_ending():
    program = """
import anyio, threading
from cortex.tools import Toolbox
from sandbox import ToolError

def stuck():
    threading.Event().wait()

async def main():
    try:
        await Toolbox().add(stuck).call(timeout_ms=10)
    except ToolError as error:
        print(error.code)

anyio.run(main)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.stdout, done.returncode) == ("timeout\n", 0), done.stderr
