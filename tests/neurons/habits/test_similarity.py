"""Measured on the corpus: rewrites of a script are the same one, other scripts are not."""

from __future__ import annotations

from functools import lru_cache

import pytest

from neurons import Fingerprint, HabitSettings, Parameter
from neurons.habits.fingerprint import Literal, fingerprint
from neurons.habits.similarity import MAX_PARAMETERS, MAX_VALUES, parameters, similarity
from tests.neurons.corpus import scripts
from tests.neurons.rewrites import parse

THRESHOLD = HabitSettings().similarity


def taken(code: str) -> Fingerprint:
    found = fingerprint(code)
    assert found is not None
    return found


@lru_cache(maxsize=1)
def originals() -> dict[str, Fingerprint]:
    return {script.name: taken(script.code) for script in scripts()}


@lru_cache(maxsize=1)
def rewrites() -> list[tuple[str, str, Fingerprint]]:
    return [(script.name, what, taken(code)) for script in scripts() for what, code in script.rewrites()]


@lru_cache(maxsize=1)
def look_alikes() -> list[tuple[str, str, Fingerprint]]:
    return [(script.name, what, taken(code)) for script in scripts() for what, code in script.different]


def test_the_corpus_is_large_enough_to_measure_on():
    assert len(scripts()) >= 60
    assert all(len(list(script.rewrites())) >= 6 and len(script.by_hand) >= 2 for script in scripts())
    assert all(script.different for script in scripts())


def test_everything_in_the_corpus_is_code():
    wrong = [
        f"{script.name}: {what}"
        for script in scripts()
        for what, code in [("as it is", script.code), *script.rewrites(), *script.different]
        if parse(code).has_error
    ]
    assert wrong == []


def test_rewrites_of_a_script_are_found_and_different_scripts_are_not():
    found = [(name, what) for name, what, print_ in rewrites() if similarity(originals()[name], print_) >= THRESHOLD]
    recall = len(found) / len(rewrites())
    false = [
        (name, what, other)
        for name, what, print_ in [*rewrites(), *look_alikes()]
        for other, original in originals().items()
        if (other != name or (name, what, print_) in look_alikes()) and similarity(original, print_) >= THRESHOLD
    ]
    precision = len(found) / (len(found) + len(false))
    print(f"{len(rewrites())} rewrites: recall {recall:.3f}, precision {precision:.3f}, taken for another: {false}")
    assert recall >= 0.95
    assert precision >= 0.95


def test_a_script_that_only_looks_alike_is_not_taken_for_it():
    wrong = [(name, what) for name, what, print_ in look_alikes() if similarity(originals()[name], print_) >= THRESHOLD]
    assert len(wrong) / len(look_alikes()) <= 0.05


def test_what_is_written_by_hand_is_found_as_well_as_what_rules_make():
    by_hand = [
        similarity(originals()[script.name], taken(code)) >= THRESHOLD
        for script in scripts()
        for _, code in script.by_hand
    ]
    assert sum(by_hand) / len(by_hand) >= 0.95


def test_a_script_is_like_itself_and_as_much_like_another_as_that_is_like_it():
    prints = list(originals().values())
    assert all(similarity(a, a) == 1 for a in prints)
    assert all(similarity(a, b) == similarity(b, a) for a in prints[:20] for b in prints)
    assert all(0 <= similarity(a, b) < 1 for a in prints[:20] for b in prints if a is not b)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("return await tools.a.b({})", "return await tools.a.c({})"),
        ("return await tools.a.b({})", "await tools.a.log({}); return await tools.a.b({})"),
        ('return await fetch("https://a.example/")', 'return await fetch("https://b.example/")'),
        ('return await fetch("https://a.example/")', "return await fetch(context.url)"),
    ],
)
def test_scripts_that_use_other_tools_or_hosts_are_never_the_same(first, second):
    assert similarity(taken(first), taken(second)) == 0


def test_nothing_is_like_nothing():
    assert similarity(taken(""), taken("// a comment")) == 1
    assert similarity(taken(""), taken("return f(1)")) == 0


def literals(*codes: str) -> list[tuple[Literal, ...]]:
    return [taken(code).literals for code in codes]


def test_the_literals_that_differ_are_the_parameters():
    code = 'const r = await tools.stock.read({ site: "%s", deep: true }); return r.list.slice(0, %d)'
    found = parameters(literals(code % ("north", 5), code % ("south", 5), code % ("west", 9)))
    assert found == (
        Parameter("tool:stock.read site", "text", ("west", "south", "north")),
        Parameter("call:.slice", "number", ("9", "5")),
    )
    assert [parameter.place for parameter in found] == ["site of tools.stock.read()", ".slice()"]


def test_a_parameter_is_found_however_the_literal_is_written():
    first = 'const r = await fetch("https://a.example/p?id=btc"); return (await r.json()).usd'
    second = 'const id = "eth"; const r = await fetch(`https://a.example/p?id=${id}`); return (await r.json()).usd'
    third = "return (await (await fetch('https://a.example/p?id=' + 'sol')).json()).usd"
    [found] = parameters(literals(first, second, third))
    assert found.values == tuple(f"https://a.example/p?id={coin}" for coin in ("sol", "eth", "btc"))
    assert found.place == "fetch()"


def test_members_that_differ_are_parameters_too_and_come_last():
    found = parameters(literals("const d = f(); return d.bitcoin * 2", "const d = f(); return d.ethereum * 3"))
    assert [(parameter.kind, parameter.values) for parameter in found] == [
        ("number", ("3", "2")),
        ("name", ("ethereum", "bitcoin")),
    ]


def test_what_is_always_the_same_is_no_parameter_and_neither_is_a_line_more():
    short = "return f(1).slice(2)"
    long = 'g("once"); return f(1).slice(7).slice(2)'
    assert parameters(literals(short, short)) == ()
    assert parameters(literals(short, long)) == ()
    assert parameters(literals(short)) == ()
    assert parameters([]) == ()


def test_data_that_differs_is_one_parameter():
    [found] = parameters(literals("const l = [1, 2]; return f(l)", "const l = [3, 4, 5, 6]; return f(l)"))
    assert (found.kind, found.values) == ("list", ("[3, 4, 5, 6]", "[1, 2]"))


def test_parameters_and_their_values_are_few():
    many = [[Literal(f"place {n}", "number", str(turn)) for n in range(100)] for turn in range(50)]
    found = parameters(many)
    assert len(found) == MAX_PARAMETERS
    assert all(len(parameter.values) == MAX_VALUES for parameter in found)
