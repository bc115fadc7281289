"""One difference that decides tells scripts apart that are written alike; other values, names and extra lines do not."""

from __future__ import annotations

import hashlib
import random
import re
import time
from collections.abc import Iterator

import pytest

from neurons import Habits, HabitSettings, MemoryStorage
from neurons.habits.fingerprint import Fingerprint, fingerprint
from neurons.habits.index import Index, enough_of, is_another
from neurons.habits.one_difference import differ_in_one
from neurons.habits.sketch import Sketch, likeness
from neurons.habits.token_line import MAX_CODE, MAX_LINE, MAX_TOKENS, line_of
from tests.neurons.learning_corpus import Script, families, mild_families

ENOUGH = enough_of(HabitSettings().similarity_effects, HabitSettings().similarity_pure)
SPLITS = ("tuned", "held_out", "fresh")

# What each of these does to the first place that it fits makes another script of it.
DECIDES = {
    "<": (r" < (?!\w+\.length;)", " > "),
    ">": (r" > ", " < "),
    ">=": (r" >= ", " < "),
    "===": (r" === ", " !== "),
    "&&": (r" && ", " || "),
    "||": (r" \|\| ", " && "),
    "max": (r"Math\.max", "Math.min"),
    "floor": (r"Math\.floor", "Math.ceil"),
    "a - b": (r"\b([a-z]\w*)(\.\w++)? - ([a-z]\w*+)(\.\w++)?+(?!\()", r"\3\4 - \1\2"),
    "+": (r"(?<=[\w)]) \+ (?=[a-z(\d])", " - "),
    "*": (r" \* ", " / "),
    "/": (r" / ", " * "),
    "[0]": (r"\[0\]", "[1]"),
    "last": (r"\[\w+\.length - 1\]", "[0]"),
    "pop": (r"\.pop\(\)", ".shift()"),
    "some": (r"\.some\(", ".every("),
    "endsWith": (r"\.(ends|starts)With\(", ".includes("),
    "find": (r"\.find\(", ".filter("),
    "filter": (r"\.filter\(", ".find("),
    "not": (r"filter\((\(?\w+\)?) => (\w)", r"filter(\1 => !\2"),
    "indexOf": (r"\.indexOf\(", ".lastIndexOf("),
    "keys": (r"Object\.keys", "Object.values"),
    "count": (r"\+= (\w+\.\w+);", "+= 1;"),
    "length": (r"return (\w+);\s*$", r"return \1.length;"),
    "reverse": (r"return (\w+);\s*$", r"return \1.reverse();"),
    "one more": (r"return ([^;{}\[]+);\s*$", r"return \1 + 1;"),
    "rest": (r"slice\(0, (\w+)\)", r"slice(\1)"),
    "delete": (r'fetch\(("[^"]+")\)', r'fetch(\1, { method: "DELETE" })'),
}
# What each of these does makes no other script.
LEAVES = {
    "limit": (r" ([<>]=?) (\d{2,})", r" \1 1\2"),
    "first few": (r"slice\(0, \d+\)", "slice(0, 7)"),
    "more data": (r"\[(\d+), (\d+)", r"[\1, 4711, \2"),
    "city": (r'(name|city|query|title|to|text): "([A-Za-z@. ]+)"', r'\1: "Somebody else"'),
    "rate": (r"\* 0\.\d+", "* 0.45"),
    "log": (r"^(?=return )", 'console.log("done");\n'),
    "guard": (r"^(?=return )", "if (!context) return null;\n"),
    "condition": (r"filter\(\(?(\w+)\)? => ([^)]+)\)", r"filter((\1) => \2 && \1)"),
    "name": (r"return ([^;]+);\s*$", r"const answer = \1;\nreturn answer;"),
    "object": (r"return (\w+);\s*$", r"return { answer: \1 };"),
    "round": (r"return (\w+);\s*$", r"return Math.round(\1);"),
    "trim": (r"\.toLowerCase\(\)", ".trim().toLowerCase()"),
}
ACCOUNTS = "const a = await tools.bank.account({ name: 'giro' }), b = await tools.bank.account({ name: 'savings' })"
APART = {
    "arguments": (
        "const r = (a, b) => a / b; const won = 18; const lost = 6; return r(won, lost)",
        "const r = (a, b) => a / b; const won = 18; const lost = 6; return r(lost, won)",
    ),
    "sender and receiver": (
        f"{ACCOUNTS}; await tools.bank.transfer({{ source: a.iban, target: b.iban, amount: 5 }})",
        f"{ACCOUNTS}; await tools.bank.transfer({{ source: b.iban, target: a.iban, amount: 5 }})",
    ),
    "unit": ("return (context.to - context.from) / 60000", "return (context.to - context.from) / 3600000"),
    "parity": ("return context.n.filter((x) => x % 2 === 0)", "return context.n.filter((x) => x % 2 === 1)"),
    "state": (
        'return (await tools.shop.orders({})).filter((o) => o.state === "open")',
        'return (await tools.shop.orders({})).filter((o) => o.state === "closed")',
    ),
    "sum or count": (
        "const r = await tools.shop.orders({}); return r.length",
        "const r = await tools.shop.orders({}); return r.reduce((sum, o) => sum + o.total, 0)",
    ),
    "flag": (
        'return await tools.wiki.update({ page: "home", published: true })',
        'return await tools.wiki.update({ page: "home", published: false })',
    ),
    "set of letters": (
        'return [...context.s].filter((c) => "aeiou".includes(c)).length',
        'return [...context.s].filter((c) => "xyz".includes(c)).length',
    ),
    "cubes": ("return context.n.map((x) => x ** 2)", "return context.n.map((x) => x ** 3)"),
}
TOGETHER = {
    "logging": (
        "const a = await tools.crm.find({ name: 'Ada' }); return a[0].phone",
        'const found = await tools.crm.find({ name: "Bob" }); console.log("found", found.length); return found[0].phone;',
    ),
    "order of constants": (
        "const km = 10; const minutes = 52; return minutes / km",
        "const minutes = 41; const km = 7.5; return minutes / km",
    ),
    "moved": ("return Math.ceil((context.n / 200) * 60)", "return Math.ceil((60 * context.n) / 200)"),
    "template": ("return `${context.m}:${context.s}!`", 'return context.m + ":" + context.s + "!"'),
    "coin": (
        'const p = await fetch("https://a.example/price?ids=bitcoin"); return (await p.json()).bitcoin.eur',
        'const p = await fetch("https://a.example/price?ids=ether"); return (await p.json()).ether.eur',
    ),
    "comments": ("return context.a /* b */ > 1 // c", "return context.a > 1"),
    "strictness": ("return context.n.filter((x) => x.a == 1)", "return context.n.filter(x => x?.a === 1);"),
    "steps": (
        "let n = 0; for (const x of context.n) n++; return n",
        "let n = 0; for (const x of context.n) n += 1; return n",
    ),
}


def taken(code: str) -> Sketch:
    found = fingerprint(code)
    assert found is not None
    return found.worded(code).sketch


def is_apart(one: str, other: str) -> bool:
    a, b = taken(one), taken(other)
    return likeness(a, b) < ENOUGH(a, b) or is_another(a, [b])


def changed(script: Script, pattern: str, by: str) -> Iterator[str]:
    for found in list(re.finditer(pattern, script.code, re.MULTILINE))[:1]:
        yield script.code[: found.start()] + found.expand(by) + script.code[found.end() :]


def scripts() -> list[Script]:
    known = [family for split in SPLITS for family in (*families(split), *mild_families(split))]  # type: ignore[arg-type]
    return [script for family in known for script in family.scripts]


@pytest.mark.parametrize("case", APART)
def test_one_difference_that_decides_tells_scripts_apart(case: str):
    one, other = (line_of(code) for code in APART[case])
    assert differ_in_one(one, other)
    assert differ_in_one(other, one)


@pytest.mark.parametrize("case", TOGETHER)
def test_other_values_names_and_lines_make_no_other_script(case: str):
    one, other = (line_of(code) for code in TOGETHER[case])
    assert not differ_in_one(one, other)
    assert not differ_in_one(other, one)


@pytest.mark.parametrize("change", DECIDES)
def test_scripts_with_one_deciding_change_stay_apart(change: str):
    all_ = [(script.code, code) for script in scripts() for code in changed(script, *DECIDES[change])]
    apart = [is_apart(*both) for both in all_]
    print(f"{change}: {sum(apart)} of {len(apart)} apart")
    assert len(apart) > 0
    assert sum(apart) >= 0.95 * len(apart)


@pytest.mark.parametrize("change", LEAVES)
def test_scripts_with_a_change_that_decides_nothing_stay_one(change: str):
    all_ = [(script.code, code) for script in scripts() for code in changed(script, *LEAVES[change])]
    apart = [is_apart(*both) for both in all_]
    print(f"{change}: {sum(apart)} of {len(apart)} apart")
    assert len(apart) > 0
    assert sum(apart) <= 0.02 * len(apart)


def test_scripts_of_one_family_never_differ_in_one_thing_only():
    for split in SPLITS:
        for family in (*families(split), *mild_families(split)):  # type: ignore[arg-type]
            lines = [line_of(script.code) for script in family.scripts]
            assert not any(differ_in_one(a, b) for a in lines for b in lines), family.name


async def test_two_scripts_of_one_shape_are_two_documents():
    async def read(code: str) -> Fingerprint | None:
        return fingerprint(code)

    habits = Habits(MemoryStorage(), HabitSettings(), read=read)
    codes = sorted(APART["sender and receiver"])
    assert taken(codes[0]).shape == taken(codes[1]).shape
    for code in codes * HabitSettings().min_occurrences:
        await habits.noticed(code, code_hash=hashlib.sha256(code.encode()).hexdigest())
    assert sorted(habit.code for habit in habits.all()) == codes


def test_a_wording_that_was_seen_as_a_script_stays_one_of_it():
    codes = ["return context.s[0]", "return context.s[1]"]
    known = [taken(code) for code in codes]
    assert not is_another(known[0], known)
    assert is_another(taken("return context.s[2]"), known)


def test_fragments_of_two_scripts_are_not_merged_through_a_wording_between_them():
    first, other = map(taken, APART["sender and receiver"])
    index = Index()
    index.put("one", (taken(ACCOUNTS), first))
    index.put("two", (other,))
    index.put("three", (first, taken(f"{ACCOUNTS}; return a")))
    assert not index.may_be_one("one", "two")
    assert not index.may_be_one("two", "one")
    assert index.may_be_one("one", "three")


def test_any_text_makes_a_short_line():
    chance = random.Random(3)
    pieces = [
        *"`${}()[]\"'\\/*;\n.+-=<>!&|0n ",
        "${",
        "/*",
        "//",
        "a",
        "=>",
        "console.log(",
        "\ud800",
        "é",
        "1e999",
        "0x",
    ]
    for _ in range(400):
        code = "".join(chance.choices(pieces, k=chance.randrange(200)))
        line = line_of(code)
        assert len(line) <= MAX_LINE
        assert not differ_in_one(line, line)
        differ_in_one(line, line_of(code[::-1]))
        line.encode()


@pytest.mark.parametrize(
    "code",
    [
        "/*" * 8_000,
        '"' * 15_999,
        "`${" * 5_000,
        "/[" * 7_000,
        "'\\" * 8_000,
        "a" * MAX_CODE,
        "a+" * 3 * MAX_TOKENS,
        "x" * 99_999,
    ],
)
def test_code_that_is_too_long_or_odd_is_not_compared(code: str):
    assert len(line_of(code)) <= 100


def test_lines_that_differ_much_are_given_up_early():
    names = [f"n{chr(97 + number % 7)}" for number in range(MAX_TOKENS)]
    assert not differ_in_one(" ".join(["o+", *names]), " ".join(["o-"] * MAX_TOKENS))


def test_lines_of_many_names_are_compared_soon():
    """A run may be compared with hundreds of lines that code has written."""
    names = [f"n{chr(97 + number % 26)}{number}" for number in range(1_000)]
    lines = " ".join(names), " ".join([*names[1:], "nz"])
    began = time.thread_time()
    assert not differ_in_one(*lines)
    assert time.thread_time() - began < 0.025
