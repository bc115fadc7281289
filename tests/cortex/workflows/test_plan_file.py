"""Files of plans: what can be read, what cannot, and what the error says."""

from __future__ import annotations

import builtins
import json
import sys
from pathlib import Path

import jsonschema_rs
import pytest

from cortex.workflows import PlanError, checked, inputs_from, plan_schema, read_plan, with_inputs
from tests.cortex.workflows.support import code, decision, plan, tool

PUBLISHED = Path(__file__).parent.parent.parent.parent / "docs" / "workflow.schema.json"
TASKS = [
    tool("list", "git.log", arguments={"repo": "${input.repo}", "most": 5}),
    code("group", "return 1", "list", context={"by": "${input.by}"}, sandbox_config={"timeoutMs": 100}),
    decision("ok", "group", timeout_s=60),
]
GIVEN = {"name": "report", "tasks": TASKS}
YAML = """
# a comment
name: report
tasks:
  - id: a
    type: code_execution
    code: |
      const day = "2026-01-01"
      return day
    context: {day: 2026-01-01, on: off, yes: true}
"""


def written(tmp_path: Path, text: str | bytes, name: str = "plan.json") -> str:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def problem(name: str) -> str:
    with pytest.raises(PlanError) as caught:
        checked(read_plan(name))
    return str(caught.value)


def test_a_plan_is_read_from_json_with_a_mark_for_editors_and_a_byte_order_mark(tmp_path):
    text = json.dumps({"$schema": "workflow.schema.json", **GIVEN}, indent=2)
    assert checked(read_plan(written(tmp_path, "\ufeff" + text))) == checked(GIVEN)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b"\x00\xff\xfe\x01", "is not UTF-8 text: invalid byte at position 1"),
        (b"{", "it is not JSON: EOF while parsing an object at line 1 column 1"),
        (b'{"name": "x",\n "tasks": [nope]}', "it is not JSON: expected ident at line 2 column"),
        (b"[]", "a plan is an object with `name` and `tasks`"),
        (b'{"name": "x"}', "the plan: tasks: the field is missing"),
        (b'{"name": "x", "tasks": [{"id": "a", "type": "code_execution"}]}', 'task "a": code: the field is missing'),
        (b'{"name": "x", "tasks": [{"id": "a", "type": "code_execution", "code": 1}]}', 'task "a": code: '),
        (b'{"name": "x", "tasks": [{"type": "decision", "ask": "?"}]}', "task 1: id: the field is missing"),
        (b'{"name": "x", "tasks": [], "more": 1}', "the plan: more: "),
        (b"[" * 5_000, "it is not JSON"),
        (b"[" + b"[]," * 30_000 + b"[]]", "it has more than 20000 objects and arrays"),
        (b'{"a": [' + b"1," * 60_000 + b"1]}", "it has more than 50000 values"),
        (b" " * 1_048_577, "has more than 1048576 bytes"),
        (b'{"name": "x", "tasks": [{"id": "a", "type": "decision", "ask": "?", "dependencies": ["a"]}]}', "a → a"),
    ],
)
def test_what_is_no_plan_is_refused_with_the_place(tmp_path, text, says):
    assert says in problem(written(tmp_path, text))


def test_a_folder_a_missing_file_and_a_strange_name_are_refused(tmp_path):
    assert "is a folder; a plan is a file" in problem(str(tmp_path))
    assert problem(str(tmp_path / "none.json")).endswith("No such file or directory")
    assert problem("a\0b").startswith("cannot read")


def test_yaml_says_what_json_says(tmp_path):
    pytest.importorskip("yaml")
    [task] = checked(read_plan(written(tmp_path, YAML, "plan.YML"))).tasks
    assert task.code == 'const day = "2026-01-01"\nreturn day\n'
    assert task.context == {"day": "2026-01-01", "on": "off", "yes": True}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: &x [1]\nb: *x", "an alias in line 2"),
        (
            "\n".join(["a: &a [x]", *(f"{b}: &{b} [*{a}, *{a}]" for a, b in zip("abcdefg", "bcdefgh", strict=True))]),
            "alias",
        ),
        ("[" * 500, "nested too deeply"),
        ("- " * 500 + "a", "nested too deeply"),
        ("[" + "[]," * 30_000 + "]", "too many values"),
        ("!!python/object/apply:os.system [id]", "it is not YAML"),
        ("a: !!binary aGk=", "a value of the kind bytes"),
        ("a: {1: x}", "the key 1 is not text"),
        ("? [a]\n: b", "it is not YAML"),
        ("a: [", "it is not YAML"),
        ("a: .nan", "fields"),
        ("- - -\n\t", "it is not YAML"),
    ],
)
def test_yaml_brings_no_bomb_and_nothing_that_json_has_not(tmp_path, text, says):
    pytest.importorskip("yaml")
    name = written(tmp_path, text, "plan.yaml")
    if says == "fields":
        problem(name)  # NaN is refused like any other plan that is not JSON
    else:
        assert says in problem(name)


def test_without_pyyaml_the_error_is_one_line_that_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    said = problem(written(tmp_path, YAML, "plan.yaml"))
    assert "PyYAML is not installed" in said
    assert "\n" not in said


def test_inputs_are_json_where_they_parse_and_text_where_they_do_not():
    own = checked(GIVEN)
    found = inputs_from(["repo=a/b=c", 'by={"n": [1, null]}'], own)
    assert found == {"repo": "a/b=c", "by": {"n": [1, None]}}
    assert with_inputs(own, found).tasks[0].arguments == {"repo": "a/b=c", "most": 5}
    assert inputs_from(["repo=", "by=12"], own) == {"repo": "", "by": 12}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["repo=x"], "inputs are missing: by"),
        (["repo=x", "by=y", "other=z"], 'the plan has no input "other"; its inputs: by, repo'),
        (["repo=x", "repo=y", "by=1"], 'the input "repo" is given twice'),
        (["repo"], 'an input is NAME=VALUE, not "repo"'),
        (["=x"], "an input is NAME=VALUE"),
        (["repo=" + "x" * 300_000, "by=1"], "is longer than"),
        (["repo=" + "[1" + ",1" * 60_000 + "]", "by=1"], "an input has more than 50000 values"),
    ],
)
def test_a_missing_an_unknown_and_a_wrong_input_are_errors(words, says):
    with pytest.raises(PlanError, match="^.*" + says.split('"')[0]) as caught:
        inputs_from(words, checked(GIVEN))
    assert says in str(caught.value)


def test_an_input_without_a_name_is_refused():
    with pytest.raises(PlanError, match="without the name of an input"):
        inputs_from([], plan(tool("a", "x", arguments={"v": "${input}"})))


def test_the_published_schema_is_up_to_date_and_takes_what_is_a_plan():
    assert json.loads(PUBLISHED.read_text()) == plan_schema()
    schema = jsonschema_rs.validator_for(plan_schema())
    assert schema.is_valid(GIVEN)
    assert schema.is_valid({"$schema": "x", **GIVEN})
    for wrong in ({}, {"name": "x", "tasks": []}, {**GIVEN, "more": 1}, {"name": "x", "tasks": [{"id": "a"}]}):
        assert not schema.is_valid(wrong)


def test_reading_json_does_not_look_for_yaml(tmp_path, monkeypatch):
    real = builtins.__import__

    def refuse(name: str, *rest: object) -> object:
        assert not name.startswith("yaml")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    read_plan(written(tmp_path, json.dumps(GIVEN)))
