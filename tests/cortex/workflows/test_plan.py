from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cortex.workflows import (
    Finished,
    Plan,
    PlanError,
    arguments_of,
    checked,
    context_of,
    folded,
    hash_of,
    input_hash,
    never_to_run,
    next_layer,
    replanned,
    require_sound,
    stops_run,
    with_inputs,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
STATE = st.dictionaries(st.sampled_from("xyz"), JSON, max_size=3)
RESULT = JSON | st.fixed_dictionaries({"state": STATE, "messages": st.lists(JSON, max_size=2)})
ENDS = st.one_of(
    RESULT.map(lambda result: Finished("ok", result)),
    st.just(Finished("failed", error={"code": "boom"})),
    st.just(Finished("skipped")),
)


def tool(id_: str, *needs: str, **fields: Any) -> dict[str, Any]:
    return {"id": id_, "type": "mcp_tool", "tool": "echo", "dependencies": list(needs), **fields}


def code(id_: str, *needs: str, **fields: Any) -> dict[str, Any]:
    return {"id": id_, "type": "code_execution", "code": "return 1", "dependencies": list(needs), **fields}


def ask(id_: str, *needs: str, **fields: Any) -> dict[str, Any]:
    return {"id": id_, "type": "decision", "ask": "Go on?", "dependencies": list(needs), **fields}


def plan_of(*tasks: dict[str, Any]) -> Plan:
    return checked({"name": "a plan", "tasks": list(tasks)})


@st.composite
def plans(draw: st.DrawFn, most: int = 12) -> Plan:
    """Any plan without a circle: each task may depend on those before it, and the whole is shuffled."""
    tasks: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, most))):
        needs = (
            draw(st.lists(st.sampled_from([task["id"] for task in tasks]), unique=True, max_size=3)) if tasks else []
        )
        kind: Callable[..., dict[str, Any]] = draw(st.sampled_from([tool, code, ask]))
        fields = {} if kind is ask else {"on_error": draw(st.sampled_from(["stop", "continue"]))}
        tasks.append(kind(f"t{number}", *needs, **fields))
    return plan_of(*draw(st.permutations(tasks)))


def before(plan: Plan, id_: str) -> set[str]:
    """The tasks that this one depends on, directly or not."""
    found: set[str] = set()
    left = list(plan.task(id_).dependencies)
    while left:
        other = left.pop()
        if other not in found:
            found.add(other)
            left += plan.task(other).dependencies
    return found


# Layers


@given(plans(), st.data())
def test_any_plan_runs_each_task_at_most_once_and_in_the_order_of_dependencies(plan, data):
    """Also when tasks end one by one in any order, in any way."""
    finished: dict[str, Finished] = {}
    begun: list[str] = []
    running: list[str] = []
    while True:
        for task in next_layer(plan, finished):
            if task.id not in begun:
                assert {*task.dependencies} <= finished.keys()
                begun.append(task.id)
                running.append(task.id)
        if not running:
            break
        ended = data.draw(st.sampled_from(running))
        running.remove(ended)
        finished[ended] = data.draw(ENDS)
    assert len(begun) == len(set(begun))
    # Each task has begun or never will.
    never = {task.id for task in never_to_run(plan, finished)}
    assert {*begun}.isdisjoint(never)
    assert {*begun} | never == {task.id for task in plan.tasks}


@given(plans())
def test_layers_are_as_wide_as_possible(plan):
    layers = plan.layers()
    at = {task.id: number for number, layer in enumerate(layers) for task in layer}
    assert len(at) == len(plan.tasks) == sum(map(len, layers))
    for task in plan.tasks:
        # Not before any of its dependencies, and right behind the last of them.
        assert at[task.id] == 1 + max((at[other] for other in task.dependencies), default=-1)
    finished: dict[str, Finished] = {}
    for layer in layers:
        assert next_layer(plan, finished) == layer
        finished |= {task.id: Finished("ok") for task in layer}
    assert next_layer(plan, finished) == ()


@given(plans(), st.data())
def test_a_task_never_runs_behind_one_that_failed_for_good(plan, data):
    finished = {task.id: data.draw(ENDS) for task in plan.tasks if data.draw(st.booleans())}
    free = {task.id for task in next_layer(plan, finished)}
    never = [task.id for task in never_to_run(plan, finished)]
    assert free.isdisjoint(never)
    for task in plan.tasks:
        ends = [finished.get(other) for other in task.dependencies]
        bad = any(
            end is not None and (end.status == "skipped" or stops_run(plan.task(other), end))
            for other, end in zip(task.dependencies, ends, strict=True)
        )
        if task.id not in finished and bad:
            assert task.id in never
        if task.id in free:
            assert all(end is not None for end in ends)
            assert not bad


def test_a_task_that_failed_lets_others_go_on_only_if_its_author_says_so():
    plan = plan_of(tool("a"), tool("b", on_error="continue"), ask("q"), tool("c", "a"), tool("d", "b"), tool("e", "q"))
    failed = Finished("failed", error={"code": "x"})
    finished = dict.fromkeys("abq", failed)
    assert [task.id for task in next_layer(plan, finished)] == ["d"]
    assert [task.id for task in never_to_run(plan, finished)] == ["c", "e"]
    assert [stops_run(plan.task(id_), failed) for id_ in "abq"] == [True, False, True]
    assert not stops_run(plan.task("a"), Finished("skipped"))


# State and context


@given(plans(), st.data())
def test_state_and_contexts_do_not_depend_on_the_order_in_which_tasks_ended(plan, data):
    ended = [(task.id, data.draw(ENDS)) for task in plan.tasks]
    one, other = dict(ended), dict(data.draw(st.permutations(ended)))
    assert folded(plan, one) == folded(plan, other)
    assert list(folded(plan, one)["tasks"]) == list(folded(plan, other)["tasks"])
    for task in plan.tasks:
        assert input_hash(task, plan, one) == input_hash(task, plan, other)


@given(plans(), st.data())
def test_a_task_is_given_the_same_whatever_else_has_ended_meanwhile(plan, data):
    """A run that is resumed has more finished tasks than when the task was first begun."""
    finished = {task.id: data.draw(ENDS) for task in plan.tasks}
    for task in plan.tasks:
        causes = {id_: finished[id_] for id_ in before(plan, task.id)}
        assert input_hash(task, plan, causes) == input_hash(task, plan, finished)
        if task.type == "code_execution":
            assert context_of(task, plan, causes) == context_of(task, plan, finished)


def test_the_state_of_results_is_merged_in_the_order_of_the_plan():
    plan = plan_of(code("b"), code("a"), ask("q"), code("c", "a", "b", "q", context={"own": 1, "n": "mine"}))
    finished = {
        "q": Finished("ok", {"answer": "approve"}),
        "a": Finished("ok", {"state": {"x": "a", "n": 2, "a": 0}, "messages": ["second"]}),
        "b": Finished("ok", {"state": {"x": "b"}, "messages": ["first"]}),
    }
    state = folded(plan, finished)
    assert state["context"] == {"x": "a", "n": 2, "a": 0}
    assert state["messages"] == ["first", "second"]
    assert state["decisions"] == {"q": {"answer": "approve"}}
    assert list(state["tasks"]) == ["b", "a", "q"]
    # Nearer wins: the results by id, then the task's own context, then the merged state.
    assert context_of(plan.task("c"), plan, finished) == {
        "x": "a",
        "n": "mine",
        "own": 1,
        "a": finished["a"].result,
        "b": finished["b"].result,
        "q": {"answer": "approve"},
    }


def test_a_dependent_of_a_failed_task_sees_the_error():
    plan = plan_of(tool("a", on_error="continue"), code("b", "a"))
    finished = {"a": Finished("failed", {"state": {"x": 1}}, {"code": "boom"})}
    assert context_of(plan.task("b"), plan, finished) == {"a": {"ok": False, "error": {"code": "boom"}}}


def test_a_task_does_not_see_the_state_of_one_that_it_does_not_depend_on():
    plan = plan_of(code("a"), code("b"), code("c", "b"), code("d", "c"))
    finished = {id_: Finished("ok", {"state": {id_: 1}}) for id_ in "abc"}
    assert context_of(plan.task("d"), plan, finished) == {"b": 1, "c": {"state": {"c": 1}}}


# Hashes


@given(plans())
def test_a_plan_is_the_same_after_it_was_written_and_read(plan):
    again = checked(json.loads(plan.model_dump_json(by_alias=True)))
    assert (again, again.hash) == (plan, plan.hash)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_any_json_in_arguments_keeps_the_hash_when_it_is_written_and_read(arguments):
    plan = plan_of(tool("a", arguments={"given": arguments} if "$" not in str(arguments) else {}))
    assert checked(json.loads(plan.model_dump_json(by_alias=True))).hash == plan.hash


def test_the_hash_stands_for_all_of_the_plan_and_for_nothing_else():
    plan = plan_of(tool("a"), code("b", "a"))
    said = plan_of({**tool("a"), "retries": 0, "on_error": "stop"}, code("b", "a", sandbox_config={}))
    assert plan.hash == said.hash
    others = [
        plan_of(code("b"), tool("a")),
        plan_of(tool("a"), code("b")),
        plan_of(tool("a", retries=1), code("b", "a")),
        plan_of(tool("a"), code("b", "a", code="return 2")),
        plan_of(tool("a"), code("b", "a", sandbox_config={"timeoutMs": 5})),
        checked({"name": "another", "tasks": [tool("a"), code("b", "a")]}),
    ]
    assert len({plan.hash, *(other.hash for other in others)}) == 7


def test_what_a_task_was_given_is_hashed_with_the_results_of_its_dependencies_and_the_state():
    plan = plan_of(code("a"), code("b", "a"), tool("c", "b"))
    first = {"a": Finished("ok", {"state": {"x": 1}}), "b": Finished("ok", 1)}
    second = {"a": Finished("ok", {"state": {"x": 2}}), "b": Finished("ok", 1)}
    for id_, differs in (("a", False), ("b", True), ("c", False)):
        task = plan.task(id_)
        assert (input_hash(task, plan, first) != input_hash(task, plan, second)) is differs


def test_a_hash_of_a_value_does_not_depend_on_the_order_of_its_fields():
    assert hash_of({"a": 1, "b": [2]}) == hash_of({"b": [2], "a": 1})
    assert hash_of([1, 2]) != hash_of([2, 1])
    assert len(hash_of("\ud800")) == 64


# Replanning


@given(plans(), st.data())
def test_a_replan_never_touches_a_task_that_has_begun(plan, data):
    ids = [task.id for task in plan.tasks]
    begun: set[str] = set()
    for layer in plan.layers():
        begun |= {task.id for task in layer if begun.issuperset(task.dependencies) and data.draw(st.booleans())}
    remove = data.draw(st.lists(st.sampled_from([*ids, "nowhere"]), max_size=3))
    names = st.sampled_from([*ids, "new-1", "new-2"])
    add = [
        plan_of(tool("x"), code("y")).tasks[0].model_copy(update={"id": id_, "dependencies": tuple(needs)})
        for id_, needs in data.draw(st.lists(st.tuples(names, st.lists(names, max_size=2)), max_size=3))
    ]
    try:
        new = replanned(plan, add, remove, frozenset(begun), revision=2)
    except PlanError:
        return
    assert begun.isdisjoint(remove)
    kept = [task for task in new.tasks if task.id in begun]
    assert kept == [task for task in plan.tasks if task.id in begun]
    new.layers()
    finished = {id_: Finished("ok", {"state": {id_: 1}}) for id_ in begun}
    for task in kept:
        assert input_hash(task, new, finished) == input_hash(task, plan, finished)


def test_a_replan_adds_tasks_and_removes_pending_ones():
    plan = plan_of(tool("a"), tool("b", "a"), tool("c", "b"))
    [new] = plan_of(tool("c")).tasks
    changed = replanned(plan, [new], ["b", "c"], frozenset({"a"}), revision=20)
    assert [(task.id, task.dependencies) for task in changed.tasks] == [("a", ()), ("c", ())]
    assert changed.hash != plan.hash


@pytest.mark.parametrize(
    ("add", "remove", "revision", "problem"),
    [
        ([], ["a"], 2, 'task "a" has begun and cannot be removed'),
        ([], ["x"], 2, 'there is no task "x"'),
        ([tool("a")], [], 2, 'there are two tasks "a"'),
        ([], ["b"], 2, 'task "c" depends on "b", and there is no such task'),
        ([tool("d")], [], 21, "the plan would have 21 revisions; at most 20 are allowed"),
        ([tool(f"d{n}") for n in range(198)], [], 2, "the plan has 201 tasks; at most 200 are allowed"),
    ],
)
def test_a_replan_that_is_not_allowed_says_why(add, remove, revision, problem):
    plan = plan_of(tool("a"), tool("b", "a"), tool("c", "b"))
    with pytest.raises(PlanError) as raised:
        replanned(plan, plan_of(*add).tasks if add else [], remove, frozenset({"a"}), revision=revision)
    assert str(raised.value) == problem


# Bounds


def chain(length: int) -> list[dict[str, Any]]:
    return [tool(f"t{n}", *([f"t{n - 1}"] if n else [])) for n in range(length)]


@pytest.mark.parametrize(
    ("tasks", "problem"),
    [
        ([], "the plan has no tasks"),
        ([tool("a", "c"), tool("b", "a"), tool("c", "b")], "the tasks depend on each other in a circle: a → c → b → a"),
        ([tool("x"), tool("a", "x", "a")], "the tasks depend on each other in a circle: a → a"),
        ([tool("a", "b")], 'task "a" depends on "b", and there is no such task'),
        ([tool("a"), code("a")], 'there are two tasks "a"'),
        ([tool(f"t{n}") for n in range(201)], "the plan has 201 tasks; at most 200 are allowed"),
        (chain(51), "the plan has 51 layers; at most 50 are allowed"),
        (
            [tool("__proto__")],
            'task "__proto__": id: an id begins with a letter and has at most 64 letters, digits, `_` and `-`',
        ),
        ([tool("input")], 'a task cannot have the id "input": `${input.name}` is an input of the run'),
        ([{"id": "a"}], 'task "a": `type` is missing; it is mcp_tool, code_execution or decision'),
        ([{"id": "a", "type": "shell"}], 'task "a": `type` is mcp_tool, code_execution or decision'),
        ([tool("a"), 7], "task 2: Input should be a valid dictionary or object to extract fields from"),
        (
            [tool("a", colour=1)],
            """task "a": colour: there is no such field; a task of the type mcp_tool has: id, dependencies, type, tool, \
arguments, idempotent, retries, on_error""",
        ),
        (
            [tool("a", dependencies=[f"t{n}" for n in range(201)])],
            'task "a" has 201 dependencies; at most 200 are allowed',
        ),
        ([tool("a", **{f"x{n}": 1 for n in range(60)})], 'task "a" has 64 fields; at most 50 are allowed'),
        (
            [tool("a", arguments={"x": "${b.y}"}), tool("b")],
            'task "a" refers to "${b}", which is not one of its dependencies',
        ),
        (
            [tool("b"), tool("a", "b", arguments={"x": ["${b}"] * 51})],
            'task "a" has 51 references; at most 50 are allowed',
        ),
        ([tool("a", arguments={"x": math.nan})], "the plan holds a value that is not JSON, or is nested too deeply"),
        ([tool("a", arguments={"\ud800": 1})], "the plan holds a value that is not JSON, or is nested too deeply"),
        ([code("a", context={"x": object()})], "the plan holds a value that is not JSON, or is nested too deeply"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_plan_that_cannot_be_run_says_why(tasks, problem):
    with pytest.raises(PlanError) as raised:
        checked({"name": "a plan", "tasks": tasks})
    assert str(raised.value) == problem


@pytest.mark.parametrize(
    "given_", [None, [], "x", {}, {"name": "x"}, {"name": "", "tasks": [tool("a")]}, {"tasks": {}}]
)
def test_what_is_no_plan_is_refused(given_):
    with pytest.raises(PlanError):
        checked(given_)


def test_a_plan_of_a_megabyte_is_the_largest():
    room = 1_048_576 - len(plan_of(code("a", code="x")).model_dump_json(by_alias=True).encode())
    plan_of(code("a", code="x" * (room + 1)))
    with pytest.raises(PlanError, match="the plan has 1048577 bytes; at most 1048576 are allowed"):
        plan_of(code("a", code="x" * (room + 2)))
    with pytest.raises(PlanError, match="bytes"):
        plan_of(code("a", code="é" * (room // 2 + 2)))


@pytest.mark.parametrize("depth", [300, 100_000])
def test_a_value_that_is_nested_too_deeply_is_refused(depth: int):
    deep: Any = 1
    for _ in range(depth):
        deep = [deep]
    with pytest.raises(PlanError, match="nested too deeply"):
        plan_of(tool("a", arguments={"x": deep}))


def test_plans_at_their_bounds_can_be_run():
    assert len(plan_of(*chain(50)).layers()) == 50
    wide = [
        tool(f"t{layer}-{n}", *([f"t{layer - 1}-{m}" for m in range(10)] if layer else []))
        for layer in range(20)
        for n in range(10)
    ]
    assert [len(layer) for layer in plan_of(*wide).layers()] == [10] * 20
    with pytest.raises(PlanError, match='no task "x"'):
        plan_of(tool("a")).task("x")


# References


def test_a_reference_that_is_a_whole_value_gives_way_to_that_part_of_a_result():
    plan = plan_of(
        tool("a"),
        tool("b", on_error="continue"),
        tool(
            "c",
            "a",
            "b",
            arguments={
                "whole": "${a}",
                "part": "${a.list.1.name}",
                "inner": [{"deep": "${a.list.0.name}"}],
                "error": "${b.error.code}",
                "text": "see ${a.x} and ${b.y}",
                "looks": "${a.x} and ${b.y}",
                "${a}": "a key stays",
                "plain": 7,
            },
        ),
    )
    result = {"list": [{"name": "one"}, {"name": "${b}"}]}
    finished = {"a": Finished("ok", result), "b": Finished("failed", error={"code": "boom"})}
    assert arguments_of(plan.task("c"), finished) == {
        "whole": result,
        "part": "${b}",  # what a result holds is data, and refers to nothing
        "inner": [{"deep": "one"}],
        "error": "boom",
        "text": "see ${a.x} and ${b.y}",
        "looks": "${a.x} and ${b.y}",
        "${a}": "a key stays",
        "plain": 7,
    }


@pytest.mark.parametrize("path", ["x", "list.2", "list.-1", "list.x", "list.0.name.x", "list.9999999", "list.²"])
def test_a_reference_to_a_part_that_is_not_there_says_so(path):
    plan = plan_of(tool("a"), tool("b", "a", arguments={"x": f"${{a.{path}}}"}))
    with pytest.raises(PlanError, match=r'task "b" refers to "\$\{a\..+\}", and there is no'):
        arguments_of(plan.task("b"), {"a": Finished("ok", {"list": [{"name": "one"}, 2]})})


def test_inputs_are_put_into_arguments_and_contexts_and_never_into_code():
    text = "${input.x}"
    plan = plan_of(
        tool("a", arguments={"x": text, "y": ["${input.y.0}"]}),
        code("b", "a", context={"x": text, "template": "${HOME}"}, code=text, intent=text),
        ask("c", ask=text),
    )
    filled = with_inputs(plan, {"x": "one", "y": [2]})
    a, b, c = filled.tasks
    assert a.arguments == {"x": "one", "y": [2]}
    assert b.context == {"x": "one", "template": "${HOME}"}
    assert (b.code, b.intent, c.ask) == (text, text, text)
    assert filled.hash != plan.hash
    assert with_inputs(filled, {}) == filled
    with pytest.raises(PlanError, match=r'task "a" refers to "\$\{input\.x\}", and there is no "x"'):
        with_inputs(plan, {"y": [2]})


def test_an_input_cannot_bring_a_reference_of_its_own():
    plan = plan_of(tool("secret"), tool("post", "secret", arguments={"text": "${input.text}"}))
    for value in ("${secret}", {"deep": ["${secret.token}"]}):
        with pytest.raises(PlanError, match="an input holds a reference"):
            with_inputs(plan, {"text": value})


def test_inputs_cannot_make_a_plan_longer_than_it_may_be():
    plan = plan_of(tool("a", arguments={"x": ["${input.x}"] * 50}))
    assert with_inputs(plan, {"x": "y" * 10_000})
    with pytest.raises(PlanError, match="bytes with its inputs"):
        with_inputs(plan, {"x": "y" * 100_000})


@given(st.text(alphabet="${}.ab", max_size=12))
def test_only_a_whole_reference_is_replaced(text):
    plan = plan_of(tool("a"))
    [task] = plan.tasks
    seen = (
        arguments_of(
            task.model_copy(update={"arguments": {"x": text}, "dependencies": ("a",)}),
            {"a": Finished("ok", {"b": "found"})},
        )
        if text in {"${a}", "${a.b}"} or not text.startswith("${a")
        else {"x": text}
    )
    assert seen == {"x": {"${a}": {"b": "found"}, "${a.b}": "found"}.get(text, text)}


def test_a_sound_plan_is_returned_as_it_is():
    plan = plan_of(tool("a"))
    assert require_sound(plan) is plan
