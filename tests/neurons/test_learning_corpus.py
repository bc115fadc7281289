from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
import tree_sitter_typescript
from tree_sitter import Language, Parser

from sandbox import DenoRuntime, ExecutionRequest
from tests.conftest import small
from tests.neurons.learning_corpus import Family, families, mild_families, month, pairs

SCRIPTS_OF_A_FAMILY, SCRIPTS_OF_A_MILD_FAMILY = 6, 5
FAMILIES = [*families(), *families("fresh"), *families("blind")]
MILD = [*mild_families(), *mild_families("fresh"), *mild_families("blind")]
PAIRS = [*pairs(), *pairs("fresh"), *pairs("blind"), *pairs("unread")]
ON_ONE_INPUT = [family for family in [*FAMILIES, *MILD] if family.kind == "pure" and family.context is not None]


def codes() -> list[str]:
    scripts = [script.code for family in [*FAMILIES, *MILD] for script in family.scripts]
    return scripts + [script.code for pair in PAIRS for script in (pair.first, pair.second)]


def counts(of: list[Family]) -> dict[tuple[str, str], int]:
    return dict(Counter((family.split, family.kind) for family in of))


def test_each_family_is_written_as_often_as_it_should_and_in_different_styles():
    assert {len(family.scripts) for family in FAMILIES} == {SCRIPTS_OF_A_FAMILY}
    assert {len(family.scripts) for family in MILD} == {SCRIPTS_OF_A_MILD_FAMILY}
    for family in FAMILIES:
        assert len({script.style for script in family.scripts}) == SCRIPTS_OF_A_FAMILY, family.name
        assert len({script.purpose for script in family.scripts}) == SCRIPTS_OF_A_FAMILY, family.name


def test_there_are_enough_families_to_tune_on_and_to_measure():
    assert counts(FAMILIES) == {
        ("blind", "effectful"): 14,
        ("blind", "pure"): 12,
        ("fresh", "effectful"): 11,
        ("fresh", "pure"): 9,
        ("held_out", "effectful"): 6,
        ("held_out", "pure"): 4,
        ("tuned", "effectful"): 18,
        ("tuned", "pure"): 16,
    }
    assert counts(MILD) == {
        ("blind", "effectful"): 6,
        ("blind", "pure"): 4,
        ("fresh", "effectful"): 4,
        ("fresh", "pure"): 3,
        ("held_out", "effectful"): 4,
        ("held_out", "pure"): 2,
        ("tuned", "effectful"): 10,
        ("tuned", "pure"): 5,
    }
    assert Counter((pair.split, pair.kind) for pair in PAIRS if pair.split in ("blind", "fresh", "unread")) == {
        ("unread", "effectful"): 22,
        ("unread", "pure"): 22,
        ("blind", "effectful"): 25,
        ("blind", "pure"): 25,
        ("fresh", "effectful"): 20,
        ("fresh", "pure"): 20,
    }
    pure = [family for family in FAMILIES if family.kind == "pure"]
    assert sum(family.context is not None for family in pure) * 2 >= len(pure)


def test_no_program_and_no_name_is_there_twice():
    assert [code for code, times in Counter(codes()).items() if times > 1] == []
    names = [one.name for one in [*FAMILIES, *MILD, *PAIRS]]
    assert [name for name, times in Counter(names).items() if times > 1] == []


def test_every_program_is_typescript():
    parser = Parser(Language(tree_sitter_typescript.language_typescript()))
    assert [code for code in codes() if parser.parse(code.encode()).root_node.has_error] == []


def test_a_month_is_the_same_for_a_seed_and_has_many_habits():
    runs = month(seed=7)
    assert runs == month(seed=7)
    assert runs != month(seed=8)
    assert len(runs) == 250
    assert [run.at for run in runs] == sorted(run.at for run in runs)
    assert runs[-1].at - runs[0].at < timedelta(days=30)
    assert all(run.script in run.family.scripts for run in runs)


@pytest.mark.deno
@pytest.mark.parametrize("family", ON_ONE_INPUT, ids=lambda family: family.name)
async def test_all_programs_of_a_family_give_the_same_answer(family: Family):
    answers = []
    async with DenoRuntime(small()) as runtime:
        for script in family.scripts:
            outcome = await runtime.execute(
                ExecutionRequest(code=script.code, context=family.context, timeout_ms=20_000)
            )
            assert outcome.error is None, (script.style, outcome.error)
            answers.append(outcome.result)
    assert answers[0] is not None
    assert answers == answers[:1] * len(answers)
