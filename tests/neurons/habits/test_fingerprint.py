"""What counts of a script and what does not; and that any text whatever has a bounded fingerprint, or none."""

from __future__ import annotations

import inspect
import json
import sys
import time

import pytest
from hypothesis import example, given, settings, strategies as st

from neurons import Fingerprint
from neurons.habits.effects import MAX_EFFECT_CHARS, MAX_EFFECTS
from neurons.habits.fingerprint import fingerprint
from neurons.habits.fingerprint_limits import (
    MAX_LITERAL_CHARS,
    MAX_LITERALS,
    MAX_MARK_CHARS,
    MAX_NAMES,
    MAX_PARTS,
    MAX_TRAITS,
)
from neurons.habits.fingerprint_reader import MAX_ANSWER_BYTES
from neurons.habits.fingerprint_shape import read
from neurons.habits.fingerprint_tree import MAX_NODES
from tests.neurons.corpus import scripts


def taken(code: str) -> Fingerprint:
    found = fingerprint(code)
    assert found is not None
    return found


PRICE = 'const res = await fetch("https://a.example/p?id=1"); const data = await res.json(); return data.price * 2;'

SAME = {
    "names": ("const a = [1]; return a.map((x) => x + 1)", "const list = [1]; return list.map((item) => item + 1)"),
    "numbers": ("return Math.max(1, 2.5)", "return Math.max(-7, 1e9)"),
    "texts": ("return 'a'.split(',')", 'return "something else".split("; ")'),
    "regular expressions": ("return /a/.test('x')", "return /[^b]+$/gi.test('yy')"),
    "how much data there is": ("return [1, 2].length", "return [1, 2, 3, 4, 5].length"),
    "what the data looks like": ("return [{ a: 1 }, { a: 2 }].length", "return [{ b: 'x', c: [3] }].length"),
    "spacing": ("if (a) { return b }", "if(a){return b}"),
    "line ends": ("const a = f()\nreturn a", "const a = f();\r\n\r\nreturn a;"),
    "comments": ("return f(1)", "// why\nreturn /* how */ f(1) // done"),
    "const or let": ("const a = f(); return a", "let a = f(); return a"),
    "quotes": ("return f('a')", 'return f("a")'),
    "an arrow or a function": ("return l.map((x) => x + 1)", "return l.map(function (x) { return x + 1 })"),
    "a function or a name for one": (
        "function f(x) { return x + 1 } return f(2)",
        "const f = (x) => x + 1; return f(2)",
    ),
    "a template or a plus": ("return `${a} is ${b}.`", 'return a + " is " + b + "."'),
    "a text in a name": ("return f(`x ${a}`)", "const t = `x ${a}`; return f(t)"),
    "a constant in a template": ('const n = "eth"; return f(`/p/${n}`)', "return f('/p/btc')"),
    "a name for a value": ("return f(g(1))", "const inner = g(1); const outer = f(inner); return outer"),
    "a name for a member": ("return [x.a, x.a]", "const { a } = x; return [a, a]"),
    "the brackets of a member": ("return x.a", 'return x["a"]'),
    "a name in the brackets": ("return x.a", 'const key = "a"; return x[key]'),
    "the question mark of a member": ("return x.a.b", "return x?.a?.b"),
    "types": ("const a = f(1); return a", "interface A { b: string }\nconst a: A = f<A>(1) as A; return a!"),
    "braces": ("if (a) return 1", "if (a) { return 1 }"),
    "parentheses": ("return (a + b) * c", "return ((a) + (b)) * (c)"),
    "the order of properties": ("return { a: f(1), b: g(2) }", "return { b: g(2), a: f(1) }"),
    "a short property": ("const a = f(); return { a }", "const x = f(); return { a: x }"),
    "an operator that assigns": ("let n = 0; n += 1; return n", "let n = 0; n++; return n"),
    "equality": ("return a == b", "return a === b"),
    "logging": ("return f(1)", "console.log('before', 1); return f(1)"),
    "a check that throws": ("const a = f(); return a", "const a = f(); if (!a) throw new Error('none'); return a"),
    "a check of what was answered": (
        "const r = await fetch(`https://a.example/${x}`); return await r.json()",
        "const r = await fetch(`https://a.example/${x}`); if (!r.ok) { throw new Error(r.status) } return await r.json()",
    ),
    "a try around it": ("return f(1)", "try { return f(1) } catch (e) { return 'no: ' + e.message }"),
    "a loop or forEach": ("const l = f(); for (const x of l) g(x)", "const l = f(); l.forEach((x) => { g(x) })"),
    "a spread or Array.from": ("return [...l]", "return Array.from(l)"),
    "a tool by another name": ("return await tools.a.b({ c: 1 })", "const { a } = tools; return await a.b({ c: 1 })"),
    "names that are used twice": (
        "const x = f(); return l.map((x) => x + 1).concat(x)",
        "const x = f(); return l.map((y) => y + 1).concat(x)",
    ),
}


@pytest.mark.parametrize("what", SAME)
def test_what_does_not_count_leaves_the_shape_as_it_is(what):
    first, second = SAME[what]
    assert taken(first).shape == taken(second).shape


OTHER = {
    "the operator": ("return a + b", "return a - b"),
    "the comparison": ("return a < b", "return a > b"),
    "a word of JavaScript": ("return l.filter(f)", "return l.find(f)"),
    "a function of JavaScript": ("return Math.max(a, b)", "return Math.min(a, b)"),
    "a global": ("return btoa(x)", "return atob(x)"),
    "what is made": ("return new Map(x)", "return new Set(x)"),
    "the tool": ("return await tools.a.b({})", "return await tools.a.c({})"),
    "the host": ('return await fetch("https://a.example/x")', 'return await fetch("https://b.example/x")'),
    "a loop": ("for (const x of l) f(x)", "f(l)"),
    "a condition": ("if (a) f(b)", "f(b)"),
    "what is returned": ("return f(a)", "f(a); return a"),
    "one more of it": ("return f(a)", "return f(f(a))"),
}


@pytest.mark.parametrize("what", OTHER)
def test_what_counts_makes_another_shape(what):
    first, second = OTHER[what]
    assert taken(first).shape != taken(second).shape


def test_globals_tools_and_hosts_are_listed():
    found = taken(
        """const { github } = tools;
        const mail = tools["mail"];
        const base = "https://API.b.example:8443";
        await mail.send({ to: "x" });
        await github.pulls.list({});
        const all = await Promise.all([fetch("https://a.example/1"), fetch(base + "/2"), fetch(`${base}/3`)]);
        return JSON.stringify(all.map(local)) + Math.PI + context.user;
        function local(x) { return x }"""
    )
    assert found.tools == ("github.pulls.list", "mail.send")
    assert found.hosts == ("a.example", "api.b.example")
    assert found.globals == ("JSON", "Math", "Promise", "context", "fetch", "tools")


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ('fetch("http://127.0.0.1:8080/x")', ("127.0.0.1",)),
        ('fetch("http://localhost:1/x")', ("localhost",)),
        ('fetch("https://user:pass@a.example/")', ("a.example",)),
        ('fetch("wss://a.example")', ("a.example",)),
        ("fetch(`https://${where}.example/`)", ()),
        ("fetch(`https://api.${where}.example/`)", ()),
        ("fetch('https://' + where)", ()),
        ("return 'https://a.example/'", ()),
        ("fetch(x); return ['https://a.example/1', 'https://b.example/2']", ("a.example", "b.example")),
        ("fetch('https://bücher.example/')", ("bücher.example",)),
    ],
)
def test_the_host_of_an_address_is_what_is_known_of_it(text, hosts):
    assert taken(text).hosts == hosts


def test_literals_are_listed_with_what_they_are_given_to():
    found = taken(
        """const owner = "acme";
        const res = await fetch(`https://a.example/${owner}?page=${page}`, { method: "POST" });
        await tools.github.list({ owner, repo: "app", deep: { n: -3, list: [1, 2] } });
        return res.items.slice(0, 5).filter((x) => /^a/i.test(x.name) && x.ok === true)"""
    )
    literals = [(literal.path, literal.kind, literal.text) for literal in found.literals]
    assert ("call:fetch", "text", "https://a.example/acme?page=${}") in literals
    assert ("call:fetch method", "text", "POST") in literals
    assert ("tool:github.list repo", "text", "app") in literals
    assert ("tool:github.list deep n", "number", "-3") in literals
    assert ("tool:github.list deep list", "list", "[1, 2]") in literals
    assert ("call:.slice", "number", "5") in literals
    assert ("call:.test", "regex", "/^a/i") in literals
    assert ("op:==", "boolean", "true") in literals
    assert ("call:fetch member", "name", "items") in literals


def test_texts_are_what_a_person_wrote_in_any_script():
    found = taken('return f("Grüße 😀 " + 1, "日本")')
    assert [literal.text for literal in found.literals] == ["Grüße 😀 1", "日本"]


def test_a_fingerprint_survives_json():
    for script in scripts():
        found = taken(script.code)
        assert Fingerprint.of_json(json.loads(json.dumps(found.to_json()))) == found


def test_what_was_used_stands_for_what_is_not_named():
    dynamic = taken("return await (await fetch(context.url)).json()")
    used = dynamic.using((), ["b.example", "a.example", "b.example"])
    assert used.hosts == ("a.example", "b.example")
    assert used.shape != dynamic.shape
    assert taken(PRICE).using(["a.b"], ["cdn.example"]).hosts == ("a.example",)
    assert len(dynamic.using(["x" * 10_000], [str(n) for n in range(1_000)]).hosts) == MAX_NAMES


GOOD = {
    "parts": {"0000000a": 1},
    "literals": [["a", "text", "b"]],
    "globals": ["x"],
    "tools": [],
    "hosts": [],
    "effects": ["GET a.example/b"],
    "traits": {"0000000a": 2},
    "marks": ["sort asc"],
    "words": ["0000000b"],
}


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        7,
        {},
        {"parts": []},
        {"parts": {"0000000a": "1"}},
        {"parts": {"0000000a": 0}},
        {"parts": {"0000000a": True}},
        {"parts": {"0000000a": 10**9}},
        {"parts": {"long part": 1}},
        {"parts": {f"{n:08x}": 1 for n in range(MAX_PARTS + 1)}},
        {"literals": [["a", "text"]]},
        {"literals": [["a", "text", 1]]},
        {"literals": [["a", "text", "x" * (MAX_LITERAL_CHARS + 1)]]},
        {"literals": [["a", "text", "b"]] * (MAX_LITERALS + 1)},
        {"literals": {"a": 1}},
        {"globals": "abc" * 100},
        {"globals": [1]},
        {"tools": ["x" * 1_000]},
        {"hosts": ["x"] * (MAX_NAMES + 1)},
        {"hosts": None},
        {"effects": ["x"] * (MAX_EFFECTS + 1)},
        {"effects": ["x" * (MAX_EFFECT_CHARS + 1)]},
        {"effects": "GET"},
        {"traits": {"0000000a": 0}},
        {"traits": {"0000000a": 1_000}},
        {"traits": {"long trait": 1}},
        {"traits": {f"{n:08x}": 1 for n in range(MAX_TRAITS + 1)}},
        {"traits": []},
        {"marks": [1]},
        {"marks": ["x" * (MAX_MARK_CHARS + 1)]},
        {"words": ["too long a word"]},
        {"words": None},
    ],
)
def test_an_answer_that_is_no_fingerprint_is_refused(wrong):
    assert Fingerprint.of_json(GOOD)
    with pytest.raises(ValueError, match=r"."):
        Fingerprint.of_json({**GOOD, **wrong} if isinstance(wrong, dict) and wrong else wrong)


def chain(length: int, link: str) -> str:
    """Names for values made of names, each of the one before it."""
    lines = [f"const a{n} = {link.replace('@', f'a{n - 1}')};" for n in range(1, length)]
    return "const a0 = f();\n" + "\n".join(lines) + f"\nreturn a{length - 1};"


HOSTILE = {
    "nothing": "",
    "no code": "if ( { x = ] ] \0 \ud800",
    "deep brackets": "[" * 5_000 + "]" * 5_000,
    "deep parentheses": "return " + "(" * 3_000 + "1" + ")" * 3_000,
    "deep functions": "(() => " * 500 + "1" + ")" * 500,
    "deep calls": "f(" * 1_000 + ")" * 1_000,
    "deep objects": "return " + "{a:" * 1_000 + "1" + "}" * 1_000,
    "deep templates": "return " + "`${" * 300 + "x" + "}`" * 300,
    "a long sum": "return " + "'a' + " * 3_000 + "b",
    "a long chain of calls": "return x" + ".map(f)" * 2_000,
    "names for names": chain(2_000, "@"),
    "names for members": chain(2_000, "@.x"),
    "names for members of themselves": chain(60, "@[@]"),
    "names for texts": chain(500, "`${@} ${@}`"),
    "names for sums": chain(500, "'x' + (@ + (@ + 'y'))"),
    "names for calls": chain(1_000, "g(@, (((@))))"),
    "names for deep data": chain(60, "[" * 90 + "@" + "]" * 90),
    "names for deep functions": chain(30, "(() => " * 30 + "@" + ")" * 30),
    "a name for itself": "const a = a; const b = c, c = b; return a + b.x + c()",
    "functions that call each other": "function f() { return g() } function g() { return f() } return f()",
    "many names": "return " + "+".join(f"x{n}" for n in range(5_000)),
    "many tools": ";".join(f"tools.a{n}.b()" for n in range(2_000)),
    "long names": f"{'x' * 50_000}.{'y' * 50_000}({'z' * 50_000}, '{'s' * 50_000}', {{ {'k' * 50_000}: 1 }})",
    "long hosts": f"fetch('https://{'a.' * 20_000}example/'); fetch('https://{'u' * 50_000}@x.example')",
    "control characters": 'return "\x00\x1b[31m\x85\u2028\u202e" + `\x07`',
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_code_has_a_bounded_fingerprint(what):
    start = time.process_time()
    found = read(HOSTILE[what])
    assert time.process_time() - start < 2
    assert found is not None
    assert len(json.dumps(found)) < MAX_ANSWER_BYTES
    Fingerprint.of_json(json.loads(json.dumps(found)))


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_code_leaves_some_of_the_stack(what):
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 520)
    try:
        read(HOSTILE[what])
    finally:
        sys.setrecursionlimit(limit)


def test_code_that_is_too_large_has_no_fingerprint():
    assert fingerprint("f(a, b);" * MAX_NODES) is None
    assert fingerprint("f(a, b);" * 1_000) is not None


PIECES = st.sampled_from(
    [
        *(
            "const a = ",
            "let b = ",
            "return ",
            "function f(",
            "async ",
            "await ",
            "tools.",
            "fetch(",
            "=> ",
            "if (",
            "for (",
        ),
        *(
            "of ",
            "a",
            "b",
            "f",
            "x.y",
            "[0]",
            "['k']",
            "?.",
            "...",
            "{",
            "}",
            "(",
            ")",
            "[",
            "]",
            ",",
            ";",
            ":",
            "=",
            "+=",
        ),
        *(
            "`",
            "${",
            "'",
            '"',
            "1",
            "-2",
            "/r/g",
            "+",
            "-",
            "*",
            "??",
            "||",
            "&&",
            "===",
            "!",
            "++",
            "class A ",
            "new ",
            "try ",
        ),
        *(
            "catch (e) ",
            "throw ",
            "as any",
            "<T>",
            "\n",
            " ",
            "//",
            "/*",
            "*/",
            "https://a.example/",
            "switch (a) ",
            "case 1: ",
        ),
        *(
            "é",
            "😀",
            "\\u0061",
            "import ",
            "export ",
            "this",
            "null",
            "undefined",
            "context",
            "typeof ",
            "yield ",
            "get ",
        ),
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=60))
@example("const {a: {b, ...c}, d = 1, [e]: f} = g; return b + c + d + f")
@example("for (const [k, {v}] of x) for (a.b of c) for (;;) a[b] = {k, v, get w() { return 1 }}")
@example("class A { #x = 1; static { a = 2 } m(b = c) { return this.#x } }")
def test_any_text_has_a_fingerprint_and_the_same_one_again(code):
    found = read(code)
    assert found is not None
    assert Fingerprint.of_json(json.loads(json.dumps(found))) == fingerprint(code)


@settings(deadline=None, max_examples=100)
@given(st.sampled_from([script.code for script in scripts()]), st.data())
def test_a_script_that_was_cut_or_damaged_has_a_fingerprint(code, data):
    start, end = sorted(data.draw(st.tuples(*(st.integers(0, len(code)),) * 2)))
    noise = data.draw(st.lists(PIECES, max_size=5).map("".join))
    assert fingerprint(code[:start] + noise + code[end:]) is not None
