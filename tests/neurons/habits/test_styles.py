"""Styles of one program that must meet, and differences that must not, each in the smallest scripts that show it."""

from __future__ import annotations

import pytest

from neurons.habits.effects import same_effects
from neurons.habits.fingerprint import fingerprint
from neurons.habits.sketch import Sketch, differ


def sketch(code: str) -> Sketch:
    found = fingerprint(code)
    assert found is not None
    return found.sketch


ADDRESS = "GET a.example/users/*/orders"
LOAD = "load(id) { return fetch(`${this.base}/users/${id}/orders`) }"
ADDRESSES = [
    'await fetch("https://a.example/users/17/orders")',
    'const id = 8; await fetch(["https://a.example/users", id, "orders"].join("/"))',
    f'class C {{ constructor(private readonly base: string) {{}} {LOAD} }} await new C("https://a.example").load(4)',
    f'class C {{ base = "https://a.example"; {LOAD} }} await new C().load(4)',
    'class C { static url = "https://a.example/users/17/orders" } await fetch(C.url)',
]
MEET = {
    "the smallest of a sorted list": (
        "return context.rows.sort((a, b) => a.at - b.at)[0].name",
        "let best = context.rows[0]; for (const r of context.rows) { if (r.at < best.at) best = r } return best.name",
        "context.rows.sort((a, b) => a.at - b.at); return context.rows.reduce((a, b) => (a.at < b.at ? a : b)).name",
    ),
    "a square": ("return context.a / (context.b * context.b)", "return context.a / context.b ** 2"),
}
APART = {
    "two things of one user": (
        'await fetch("https://a.example/users/ada/followers")',
        "await fetch(`https://a.example/users/${context.name}/following`)",
    ),
    "the limit itself": (
        "return context.rows.filter((r) => r.score > context.limit)",
        "const out = []; for (const r of context.rows) { if (r.score < context.limit) continue; out.push(r) } return out",
    ),
    "some or every": (
        "return context.n.some((x) => x % 2)",
        "for (const x of context.n) { if (!(x % 2)) return false } return true",
    ),
    "whole numbers or fractions": ("return parseInt(context.text)", "return parseFloat(context.text)"),
    "the front or the back": ("return [...context.jobs].pop().id", "return [...context.jobs].shift().id"),
    "the first or the last item": (
        "return context.rows[0].id",
        "const r = context.rows; return r[r.length - 1].id",
    ),
    "rows or columns": (
        "let s = 0; for (let i = 0; i < 3; i++) { for (let j = 0; j < 3; j++) { s += context.m[i][j] } } return s",
        "let s = 0; for (let i = 0; i < 3; i++) { for (let j = 0; j < 3; j++) { s += context.m[j][i] } } return s",
    ),
    "the first or the last of a month": (
        "return new Date(Date.UTC(context.y, context.m, 1))",
        "return new Date(Date.UTC(context.y, context.m + 1, 0))",
    ),
    "the smallest by other members": (
        "return context.rows.sort((a, b) => a.price - b.price)[0].name",
        "let best = context.rows[0]; for (const r of context.rows) { if (r.km < best.km) best = r } return best.name",
    ),
    "squares or cubes": ("return context.n.map((x) => x * x)", "return context.n.map((x) => x ** 3)"),
    "what is in lists, or lists": (
        "const out = []; for (const r of context.rows) out.push(...r); return out",
        "const out = []; for (const r of context.rows) out.push([r[0], r[1]]); return out",
    ),
    "words or lines": (
        "return context.text.split(/\\s+/).length",
        'return context.text.split("\\n").length',
    ),
}


@pytest.mark.parametrize("code", ADDRESSES)
def test_an_address_is_found_however_it_is_put_together(code: str):
    assert sketch(code).effects == (ADDRESS,)


@pytest.mark.parametrize("codes", MEET.values(), ids=MEET)
def test_another_style_of_the_same_step_does_not_tell_scripts_apart(codes: tuple[str, ...]):
    first, *others = map(sketch, codes)
    assert [differ(first, other) for other in others] == [False] * len(others)
    marks = [mark for mark in first.marks if mark.startswith(("extreme", "power", "order"))]
    assert marks
    assert all(set(marks) <= set(other.marks) for other in others)


@pytest.mark.parametrize("codes", APART.values(), ids=APART)
def test_a_small_difference_in_what_is_done_tells_scripts_apart(codes: tuple[str, str]):
    first, second = map(sketch, codes)
    assert not same_effects(first.effects, second.effects) or differ(first, second)


def test_an_exponent_that_has_a_name_is_a_parameter():
    ten = sketch("const p = 10, r = 0.05, n = 10; return p * Math.pow(1 + r, n)")
    twenty = sketch("const p = 25; const r = 0.03; const n = 20; return p * (1 + r) ** n")
    assert not differ(ten, twenty)
