"""A step that stands elsewhere, and an argument that chooses between ways to act, make another script."""

from __future__ import annotations

import pytest

from neurons.habits.one_difference import differ_in_one
from neurons.habits.token_line import line_of

EACH = 'let text = ""; for (const job of context.jobs) { text += job.name; await tools.pager.send({ text }); } return text;'
ONCE = 'let text = ""; for (const job of context.jobs) { text += job.name; } await tools.pager.send({ text }); return text;'
APART = {
    "called after the loop": (EACH, ONCE),
    "rounded after the sum": (
        "return context.rows.map((row) => Math.ceil(row.kg / 20)).reduce((a, b) => a + b, 0);",
        "return Math.ceil(context.rows.map((row) => row.kg / 20).reduce((a, b) => a + b, 0));",
    ),
    "the largest of sums": (
        "return Math.max(...context.days.map((day) => day.hours.reduce((a, b) => a + b, 0)));",
        "return context.days.map((day) => Math.max(...day.hours)).reduce((a, b) => a + b, 0);",
    ),
    "added before the product": (
        "const sum = context.net * (1 + context.tax) + context.fee; return sum;",
        "const sum = (context.net + context.fee) * (1 + context.tax); return sum;",
    ),
    "texts swapped": (
        "return context.all.map((one) => `${one.id}: ${one.left === 0 ? 'sold out' : 'there'}`);",
        "return context.all.map((one) => `${one.id}: ${one.left === 0 ? 'there' : 'sold out'}`);",
    ),
    "sorted as texts": ("return context.ages.sort((a, b) => a - b);", "return context.ages.sort();"),
    "one more step": (
        "return context.rows.filter((row) => known.has(row.id)).map((row) => ({ id: row.id, kg: row.kg }));",
        "return context.rows.map((row) => ({ id: row.id, kg: row.kg ?? null }));",
    ),
    "goes on": (
        "for (const one of context.all) { if (!one.ok) break; await tools.shop.ship({ id: one.id }); }",
        "for (const one of context.all) { if (!one.ok) continue; await tools.shop.ship({ id: one.id }); }",
    ),
    "another argument": (
        "return await tools.desk.assign({ owner: context.who, id: context.id });",
        "return await tools.desk.assign({ watcher: context.who, id: context.id });",
    ),
    "another choice": (
        'return await tools.disk.set({ id: context.id, access: "everyone" });',
        'return await tools.disk.set({ id: context.id, access: "me" });',
    ),
}
ALIKE = {
    "another value": (
        'return await tools.desk.note({ id: context.id, text: "Ann" });',
        'return await tools.desk.note({ id: context.id, text: "Bob" });',
    ),
    "another name in the result": (
        "const all = context.all.length; return { all, id: context.id };",
        "const all = context.all.length; return { count: all, id: context.id };",
    ),
    "one more guard": (
        "return context.rows.map((row) => row.kg);",
        "if (!Array.isArray(context.rows)) return []; return context.rows.map((row) => row.kg);",
    ),
    "a name for what is in between": (
        "return Math.round(context.net * 1.19);",
        "const gross = context.net * 1.19; return Math.round(gross);",
    ),
    "names sorted by a function": (
        "return context.names.sort();",
        "return context.names.sort((a, b) => a.localeCompare(b));",
    ),
}


@pytest.mark.parametrize("title", APART)
def test_a_step_that_is_done_elsewhere_or_otherwise_makes_another_script(title: str):
    one, other = (line_of(code) for code in APART[title])
    assert differ_in_one(one, other)
    assert differ_in_one(other, one)


@pytest.mark.parametrize("title", ALIKE)
def test_another_value_or_way_to_write_makes_no_other_script(title: str):
    one, other = (line_of(code) for code in ALIKE[title])
    assert not differ_in_one(one, other)
    assert not differ_in_one(other, one)
