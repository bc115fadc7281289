"""The value of a program is its answer, in the shapes that models write, and nothing of the program changes by that."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from cortex import reply
from sandbox import (
    CallCount,
    Change,
    Changes,
    DenoRuntime,
    ExecutionOutcome,
    ExecutionRequest,
    ToolDeclaration,
    ToolError,
)
from sandbox.guard.program_reader import Program, ProgramReader, edited, ends_with_return, without_fences
from sandbox.run.calls_made import request_name
from tests.conftest import small
from tests.sandbox.program_shapes import SHAPES
from tests.sandbox.programs_from_outside import OUTSIDE

pytestmark = pytest.mark.deno

CONTEXT = {"n": 3, "rows": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}]}


class Shop:
    def declarations(self) -> list[ToolDeclaration]:
        return [ToolDeclaration("shop.price"), ToolDeclaration("shop.buy"), ToolDeclaration("shop.wait")]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        if name == "shop.wait":
            import anyio

            await anyio.sleep_forever()
        if name == "shop.buy" and arguments.get("item") == "none":
            raise ToolError("there is none")
        return len(arguments["item"])


async def replies(codes: list[str], **request: Any) -> list[str]:
    async with DenoRuntime(small()) as runtime:
        return [
            reply(await runtime.execute(ExecutionRequest(code=code, context=CONTEXT, **request), Shop()))
            for code in codes
        ]


async def outcome(code: str, **request: Any) -> ExecutionOutcome:
    async with DenoRuntime(small()) as runtime:
        return await runtime.execute(ExecutionRequest(code=code, context=CONTEXT, **request), Shop())


async def test_programs_in_the_shapes_that_models_write_give_their_answer():
    wrong = {}
    for shape, text in zip(SHAPES, await replies([shape.code for shape in SHAPES]), strict=True):
        first, _, rest = text.partition("\n")
        if first != shape.answer or (shape.printed is not None and shape.printed not in rest):
            wrong[shape.name] = text
    assert wrong == {}


async def test_programs_that_a_stranger_wrote_give_their_answer():
    wrong = {}
    for (name, _, first_line, contained), text in zip(
        OUTSIDE, await replies([code for _, code, _, _ in OUTSIDE]), strict=True
    ):
        first = text.partition("\n")[0]
        is_right = first.startswith(first_line) if first_line == "EXECUTION_ERROR" else first == first_line
        if not is_right or (contained is not None and contained not in text):
            wrong[name] = text
    assert wrong == {}


@pytest.mark.parametrize(
    ("code", "line", "column"),
    [
        ("const a = 1;\nnull.x", 2, 6),
        ("const a = 1;\n  a.b.c + 1", 2, 7),
        ("if (true) {\n  const é = '😀'; null.x;\n}", 2, 24),
        ("null.x", 1, 6),
        ("```js\nconst a = 1;\na.b.c\n```", 3, 5),
        ("async function main() {\n  null.x;\n}", 2, 8),
        ("export default async () => {\n  null.x;\n}", 2, 8),
        ("const a = 1; a.b.c; a", 1, 18),
        ("foo.bar", 1, 1),
        ("if (true) { foo.bar }", 1, 13),
    ],
)  # fmt: skip
async def test_an_error_is_placed_in_the_lines_and_columns_of_the_author(code, line, column):
    error = (await outcome(code)).error
    assert error is not None
    assert error.where == f"at line {line}, column {column}: {code.splitlines()[line - 1].strip()}"
    assert f"code:{line}:{column}" in error.stack


async def test_a_program_cannot_see_that_its_value_is_returned():
    code = (
        "const f = function named(a) { return a };\nconst text = `a\n;b`;\n[f.toString(), text, (() => 1).toString()]"
    )
    assert json.loads((await replies([code]))[0]) == ["function named(a) { return a }", "a\n;b", "() => 1"]


async def test_what_a_run_has_done_is_told_when_it_fails():
    code = (
        "await tools.shop.price({item: 'a'}); await tools.shop.price({item: 'b'});\n"
        "await tools.shop.buy({item: 'none'}).catch(() => 0);\nconsole.log('bought');\nthrow new Error('late')"
    )
    failed = await outcome(code)
    assert [(call.name, call.done, call.failed, call.under_way) for call in failed.calls] == [
        ("tools.shop.price", 2, 0, 0),
        ("tools.shop.buy", 0, 1, 0),
    ]
    assert reply(failed).splitlines()[2:] == [
        "Calls that this run has made:",
        "  tools.shop.price: 2 done",
        "  tools.shop.buy: 1 failed",
        "It printed:",
        "| bought",
    ]


async def test_a_call_that_is_under_way_when_the_time_is_over_is_told():
    code = "tools.shop.wait({}); await tools.shop.price({item: 'a'}); await new Promise(() => {})"
    for timeout_ms in (500, 20_000):  # on a busy machine, the code may not have come to that point
        lines = reply(await outcome(code, timeout_ms=timeout_ms)).splitlines()
        assert lines[0].startswith("EXECUTION_TIMEOUT")
        if "  tools.shop.price: 1 done" in lines:
            break
    assert lines[1:] == [
        "Calls that this run has made:",
        "  tools.shop.wait: 1 still under way",
        "  tools.shop.price: 1 done",
    ]


def test_the_name_of_a_request_is_one_line_and_reads_have_none():
    assert request_name("get", "https://a.example/x") is None
    assert request_name("HEAD", "https://a.example/x") is None
    assert request_name("post", "https://user:password@a.example:8443/x?y") == "fetch POST a.example:8443"
    assert request_name("PUT\n", "https://a\n  tools.pay: 1 done/") == "fetch PUT? a?  tools.pay: 1 done"


async def test_no_value_and_nothing_printed_says_how_to_return_one():
    assert await replies(["const a = 1;", "return null", "return undefined"]) == [
        "null\nThe code gave no value: end it with `return value`, or with the value as its last line.",
        "null",
        "null\nThe code gave no value: end it with `return value`, or with the value as its last line.",
    ]


def test_an_author_is_not_led_to_repeat_what_has_happened():
    done = ExecutionOutcome(ok=True, has_value=False)
    mailed = replace(done, calls=(CallCount("tools.mail", done=2),))
    ended = "null\nThe code ended without a value."
    assert reply(mailed) == f"{ended}\nCalls that this run has made:\n  tools.mail: 2 done"
    assert reply(replace(done, changes=Changes([Change("removed", "a.txt")]))) == ended
    assert reply(done, has_kept=True) == ended
    assert "end it with" in reply(done)


async def test_of_much_that_was_printed_the_beginning_and_the_end_are_told():
    (text,) = await replies(["for (let n = 0; n < 3000; n++) console.log('line', n)"])
    assert text.startswith("null\nIt printed:\n| line 0\n")
    assert text.endswith("line 2999")
    assert "bytes printed in all" in text
    assert len(text.encode()) < 4_200


async def test_a_result_that_is_too_long_is_cut_behind_a_whole_element_and_says_how_to_get_less():
    (text,) = await replies(["Array.from({length: 20000}, (_, n) => ({ n, text: 'a, b' }))"])
    body, mark = text.split("… [truncated: ")
    json.loads(body + "]")
    assert "return less" in mark


@pytest.mark.parametrize(
    ("code", "is_sure"),
    [
        ("return 1", True),
        ("const a = 1;\nreturn {\n  a,\n};", True),
        ("return a\n// done\n", True),
        ("function f() {\n  return 1;\n}\nf()", False),
        ("const a = 1; return a", False),
        ("export const a = 1;\nreturn a", False),
        ("", False),
        ("\n\n", False),
        ("return", True),
        ("const returned = 5;\nreturned", False),
    ],
)
def test_code_that_surely_returns_is_not_read_at_all(code, is_sure):
    assert ends_with_return(code) is is_sure


async def test_no_process_is_started_for_code_that_returns():
    async with ProgramReader() as reader:
        assert await reader.program("return 1") == Program("return 1")
        assert reader._process is None


@pytest.mark.parametrize(
    ("code", "bare"),
    [
        ("```js\n1\n```", "\n1"),
        ("\n```typescript\n1\n2\n```\n\n", "\n\n1\n2"),
        ("~~~\n1\n~~~", "\n1"),
        ("```js\n1", "```js\n1"),
        ("`a`", "`a`"),
        ("const a = `\n```js\n`", "const a = `\n```js\n`"),
    ],
)
def test_fences_around_the_whole_code_are_taken_off_and_lines_keep_their_numbers(code, bare):
    assert without_fences(code) == bare


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"{}", b"[1]", b'[["return"]]', b'[["return", -1]]', b'[["return", 99]]', b'[["blank", 3, 1]]', b'[["call", "a b", false]]',
        b'[["call", "x();evil", false]]', b'[["name", "1"]]', b'[["eval", "1"]]', b'[["blank", 0, 2], ["blank", 1, 3]]', b"[" * 5_000,
        b'[["return", 0.5]]',
    ],
)  # fmt: skip
def test_edits_that_make_no_sense_change_nothing(answer):
    assert edited("a + b", answer) == Program("a + b")


async def test_code_that_cannot_be_parsed_in_time_is_run_as_it_is():
    code = "let a = 1;" + "((((" * 20_000 + "1" + "))))" * 20_000 + ";\na"
    async with ProgramReader() as reader:
        assert (await reader.program(code)).code.startswith("let a = 1;")
        assert await reader.program("const a = 2;\na") == Program("const a = 2;\nreturn(a)", ((2, 1, 7),))


@pytest.mark.parametrize(
    "code",
    [
        "```" + " " * 60_000 + "x y\n1\n```",
        "```\n1\n```" + " " * 60_000 + "x",
        "```\n1\n```" + " \n" * 30_000 + "x",
        "```\n" + "```\n" * 15_000 + "x",
        "```\n" + ("\n" + "\t" * 100) * 600 + "x",
        " " * 60_000 + "```x x",
    ],
)
def test_fences_are_looked_for_in_linear_time(code):
    began = time.process_time()
    assert without_fences(code) == code
    ends_with_return(code)
    # Quadratic time was half a minute and more.
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "code", ["if (true) function f() {}", "const f = () => {\n  if (true) function g() {}\n};\n1", "a: function f() {}"]
)
async def test_a_function_without_a_block_is_a_mistake_in_the_syntax(code):
    error = (await outcome(code)).error
    assert error is not None
    assert error.type == "SyntaxError"
    assert error.message.startswith(
        "In strict mode code, functions can only be declared at top level or inside a block"
    )


async def test_code_on_which_deno_ends_is_told_what_to_change():
    error = (await outcome("const n: number = 1;\nif (n) function f() {}")).error
    assert error is not None
    assert "Deno could not compile this code" in error.message
