"""Sentences for common slips: Python, `require`, npm imports, `process`, `fs`, CommonJS."""

from __future__ import annotations

import time

import pytest

from sandbox import Guard
from sandbox.guard.slips import (
    COMMON_JS,
    EXPORT,
    FILES,
    MAX_READ_CHARACTERS,
    NODE,
    OWN_FILE,
    PACKAGE,
    PROCESS,
    PYTHON,
    REQUIRE,
    python_line,
    slip,
)

IMPORTS = "SyntaxError: import and export are not available: everything that exists is a global (line 1, column 1)"

PROGRAMS = {
    "import": "import os\nprint(os.getcwd())",
    "import as": "import numpy as np, math",
    "from": "from math import sqrt\nsqrt(2)",
    "from a package": "from collections.abc import (\n    Mapping,\n)",
    "a function": "def total(xs):\n    return sum(xs)",
    "an async function": "async def main():\n    pass",
    "a class": "class Shop(Base):\n    pass",
    "a loop": "for n in range(3):\n    print(n)",
    "a loop over pairs": "for key, value in prices.items():\n    print(key)",
    "a condition": "x = 1\nif x > 0:  # don't\n    x = 2",
    "a while loop": "while not done:\n    step()",
    "a file": "with open('a.csv') as f:\n    rows = f.read()",
    "an except": "try:\n    f()\nexcept ValueError as error:\n    print(error)",
    "a comprehension": "squares = [n * n for n in xs if n]",
    "an f-string": "print(f'{x} of {y}')",
    "a lambda": "xs.sort(key=lambda x: x[1])",
    "None": "if_there = x is not None",
    "a docstring": '"""Sums it\'s."""\nimport json',
    "behind a comment": "# it's `odd\nimport json",
    "after a division": "x = 7 // 2\nimport json",
}

# Valid, each: nothing in them is taken for Python, whatever stands in texts and comments.
VALID = {
    "an import over two lines": 'import total\nfrom "lib"',
    "an import": 'import total from "lib"\nimport { a as b } from "c"\nimport * as d from "e"\nimport type { F } from "f"',
    "Python in a template": "const py = `\nimport os\ndef f(x):\n    for a in b:\n        pass\n`; return py",
    "Python in a template behind an escape": "const py = `\\`\nimport os\n`; return py",
    "Python in a comment": "/*\nimport os\ndef f(x):\n*/\n// for a in b:\nreturn 1",
    "Python in strings": "return [\"for a in b\", 'lambda x: 1', \"f\" + 'x is None']",
    "prose in a comment": "/* if you want to know:\n     look */ return 1",
    "keys that are words of Python": "return {\n  if:\n    1,\n  else:\n    2,\n  lambda: 3,\n  def: 4,\n  except:\n    5,\n}",
    "a condition that ends with a colon": "let x\nif (a) x = b ? c :\n    d\nreturn x",
    "loops": "for (const a in b) {}\nfor (const a of b) {}\nfor await (const a of b) {}",
    "a label and a switch": "outer:\nfor (;;) { switch (a) {\n  case 1:\n    break outer\n  default:\n    break\n} }",
    "a private field": "class A {\n  #x = 1\n  get() { return this.#x }\n}",
    "a type predicate": "function f(x: unknown): x is None { return true }",
    "a function called print": "const print = (x) => x, len = 3, range = 4\nreturn print(len)",
    "a quote in a regular expression": "const parts = text.split(/['\"]/)\nreturn parts.filter((p) => p)",
    "short names before strings": "const f = (s) => s, r = f\nreturn f(\"a\") + r('b') + f`c`",
}


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_python_is_recognised(code):
    assert python_line(code) is not None
    assert slip(code, "SyntaxError: Expected ';' (line 1, column 1)") == PYTHON


@pytest.mark.parametrize("code", VALID.values(), ids=VALID.keys())
def test_valid_javascript_is_not_taken_for_python(code):
    assert python_line(code) is None


@pytest.mark.parametrize("code", VALID.values(), ids=VALID.keys())
async def test_the_guard_never_takes_valid_code_for_python(code):
    async with Guard() as guard:
        assert "Python" not in [found.pattern for found in await guard.inspect(f"{code}\nglobalThis")]


@pytest.mark.parametrize(
    ("code", "error", "sentence"),
    [
        ("print(1)", "ReferenceError: print is not defined", "where it is console.log(…)"),
        ("len(xs)", "ReferenceError: len is not defined", "where it is .length"),
        ("f(None)", "ReferenceError: None is not defined", "where it is null"),
        ("xs = [1, 2]\nlen(xs)", "ReferenceError: xs is not defined", PYTHON),
        ("require('x')", "ReferenceError: require is not defined", REQUIRE),
        ("module.exports = 1", "ReferenceError: module is not defined", COMMON_JS),
        ("exports.a = 1", "ReferenceError: exports is not defined", COMMON_JS),
        ("fs.readFileSync('x')", "ReferenceError: fs is not defined", FILES),
        ("process.env.HOME", 'NotCapable: Requires env access to "HOME"', PROCESS),
        ("process.stdout.write('x')", "CrashError: The process sent a line that is not JSON", PROCESS),
        ("import _ from 'lodash'", IMPORTS, PACKAGE),
        ("import {\n  sum,\n} from\n  'lodash'", IMPORTS, PACKAGE),
        ("import 'lodash'", IMPORTS, PACKAGE),
        ("import x from 'https://esm.sh/x'", IMPORTS, PACKAGE),
        ("import x from 'npm:x'", IMPORTS, PACKAGE),
        ("import fs from 'node:fs'", IMPORTS, FILES),
        ("import { readFile } from 'fs/promises'", IMPORTS, FILES),
        ("import path from 'path'", IMPORTS, NODE),
        ("import test from 'node:test'", IMPORTS, NODE),
        ("import a from './a.js'", IMPORTS, OWN_FILE),
        ("export const a = 1", IMPORTS, EXPORT),
    ],
)
def test_each_slip_has_its_sentence(code, error, sentence):
    said = slip(code, error)
    assert said is not None
    assert sentence in said
    assert len(said) < 300


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("return total", "ReferenceError: total is not defined"),
        ("total = 1; return len", "ReferenceError: total is not defined"),
        ("total = 1\nconst x = len(a)", "ReferenceError: total is not defined"),
        ("let : = 1", "SyntaxError: Unexpected token ':' (line 1, column 5)"),
        ("Deno.env.get('A')", 'NotCapable: Requires env access to "A"'),
        ("throw new Error('print is not defined')", "Error: print is not defined"),
        ("null.x", "TypeError: Cannot read properties of null (reading 'x')"),
        ("", ""),
    ],
)
def test_other_errors_have_none(code, error):
    assert slip(code, error) is None


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS.keys())
async def test_the_guard_does_not_call_python_a_dynamic_import(code):
    async with Guard() as guard:
        found = await guard.inspect(code)
    assert [finding.pattern for finding in found] in ([], ["Python"])
    assert all(finding.hint == PYTHON for finding in found)


@pytest.mark.parametrize(
    ("code", "pattern", "hint"),
    [
        ("const _ = require('lodash')", "require", PACKAGE),
        ("const fs = require('fs')", "require", FILES),
        ("require(name)", "require", REQUIRE),
        ("await import('lodash')", "dynamic import", PACKAGE),
        ("await import(name)", "dynamic import", ""),
        ("process.exit(1)", "process.exit", PROCESS),
        ("eval('1')", "eval", ""),
    ],
)
async def test_what_the_guard_finds_has_a_hint_where_there_is_one(code, pattern, hint):
    async with Guard() as guard:
        (finding,) = await guard.inspect(code)
    assert (finding.pattern, finding.hint) == (pattern, hint)


HOSTILE = {
    "open comments": "/*" * 25_000,
    "open templates": "`\\" * 25_000,
    "escaped backticks": "`" + "\\`" * 25_000,
    "escaped quotes": '"' + '\\"' * 25_000,
    "quotes and lines": "\"\\\n'" * 12_000,
    "stars": "/*" + "*" * 50_000,
    "spaces": "import " + " " * 50_000,
    "names": "import " + "a," * 25_000,
    "loops": "for a,a " * 6_000,
    "loops on lines": "for a,a \n" * 6_000,
    "colons": "if x" + ":" * 50_000 + "x",
    "words": "lambda " * 7_000,
    "hashes": " # " * 17_000,
    "calls": "import (" * 6_000,
    "empty lines": "if x:" + "\n" * 50_000,
    "conditions": "if x:\n" * 8_000,
    "imports": "import a\n" * 5_000 + "x",
}


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize(
    "error", ["SyntaxError: x", IMPORTS, "ReferenceError: a is not defined", 'NotCapable: Requires env access to "A"']
)
def test_a_slip_is_looked_for_in_linear_time(code, error):
    def seconds(text):
        best = 9.0
        for _ in range(3):
            before = time.thread_time()
            slip(text, error)
            best = min(best, time.thread_time() - before)
        return best

    # Four times as long takes about four times as long, and far less than a second.
    small, whole = seconds(code[: len(code) // 4]), seconds(code)
    assert whole < 0.25
    assert whole < 10 * small + 0.01


def test_only_the_beginning_of_long_code_is_looked_at():
    # All of 51,000 quotes took 64 ms of the event loop.
    assert MAX_READ_CHARACTERS <= 16_384
    python = "import os\nprint(len(x))\n"
    assert slip(python, "SyntaxError: Unexpected token") == PYTHON
    assert slip(" " * MAX_READ_CHARACTERS + python, "SyntaxError: Unexpected token") is None
