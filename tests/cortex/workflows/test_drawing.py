"""Plans and runs as text, Mermaid and SVG, whatever their authors wrote."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from cortex.text import columns_of
from cortex.workflows import DecisionRow, Plan, RunRow, RunState, TaskRow, mermaid, states_of, svg, text_lines
from tests.cortex.workflows.support import code, decision, plan, tool

HOSTILE = '"]; click t0 href "javascript:alert(1)" --> </text><script>x</script>&amp;<image href="http://x"/>\x1b[2J\n%%{init}%%'
NAMES = "{http://www.w3.org/2000/svg}"


def hostile() -> Plan:
    return plan(tool("a", HOSTILE), code("end", "return 1", "a", intent=HOSTILE), decision("ok", "end"), name=HOSTILE)


def wide() -> Plan:
    """200 tasks in 20 layers, each of which needs all before it."""
    return plan(
        *(
            code(f"task{layer}_{n}", "return 1", *(f"task{layer - 1}_{m}" for m in range(10) if layer))
            for layer in range(20)
            for n in range(10)
        )
    )


def state(*rows: TaskRow, status: str = "running", lease_until: float = 0.0, **decisions: DecisionRow) -> RunState:
    own = plan(tool("a", "x.y"), code("b", "return 1"), decision("ok", "a", "b"), code("c", "return 2", "ok"))
    run = RunRow("r1", own, own.hash, status=status, lease_until=lease_until)
    return RunState(run, {row.id: row for row in rows}, decisions)


def test_the_layers_are_drawn_from_top_to_bottom_with_the_states_of_their_tasks():
    own = plan(tool("a", "x.y"), code("b", "return 1"), decision("ok", "a", "b"))
    assert text_lines(own, {"a": "ok", "b": "failed", "ok": "waiting"}) == ["1  ● a   ✗ b", "   ↓", "2  ? ok"]
    assert text_lines(own, symbols=False) == ["1  . a   . b", "   v", "2  . ok"]


@pytest.mark.parametrize("width", [20, 80])
def test_two_hundred_tasks_in_twenty_layers_fit_the_width_and_none_is_missing(width):
    lines = text_lines(wide(), width=width)
    assert max(map(columns_of, lines)) <= width
    assert len(re.findall(r"○ task\d+_\d+", "\n".join(lines))) == 200
    assert sum("↓" in line for line in lines) == 19


def test_a_long_name_is_cut_and_cannot_steer_a_terminal():
    [line] = text_lines(plan(code("x" * 64, "return 1")), width=30)
    assert columns_of(line) <= 30
    assert "…" in line
    assert "\x1b" not in "\n".join(text_lines(hostile()))


def test_nothing_that_an_author_wrote_is_syntax_of_mermaid():
    lines = mermaid(hostile(), {"a": "ok"}).splitlines()
    own = r"flowchart TD|  %% [^%{}\"]*|  subgraph l\d\[\"layer \d\"\]|  end|  t\d --> t\d|  classDef \w+ [\w:#,]+|  class [\w,]+ \w+"
    node = r'    t\d(\["[^"\]]*"\]|\{\{"[^"}]*"\}\})'
    assert [line for line in lines if not re.fullmatch(f"{own}|{node}", line)] == []
    labels = "".join(line for line in lines if line.startswith("    "))
    assert set(re.findall(r"[^\w .#;-]", labels.replace("<br/>", ""))) <= set('[]{}"')


def test_a_picture_is_xml_with_a_box_for_each_task_a_line_for_each_dependency_and_nothing_from_outside():
    for own, boxes, edges in ((hostile(), 3, 2), (wide(), 200, 1_900)):
        text = svg(own, {})
        root = ElementTree.fromstring(text)
        assert {each.tag.removeprefix(NAMES) for each in root.iter()} == {"svg", "rect", "text", "g", "path", "title"}
        names = {name for each in root.iter() for name in each.attrib}
        assert not {name for name in names if "href" in name or name.startswith("on") or name == "style"}
        assert len(list(root.iter(f"{NAMES}path"))) == edges
        assert len(list(root.iter(f"{NAMES}title"))) == boxes
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", text)
        assert "url(" not in text


def test_characters_that_xml_does_not_have_are_left_out():
    text = svg(plan(tool("a", "\ufffe\uffffx"), name="\x00\ufffff"))
    assert "\ufffe" not in text
    assert ElementTree.fromstring(text).find(f"{NAMES}g/{NAMES}title").text.startswith("a: ")


def test_the_state_of_a_task_is_what_was_saved_or_what_is_under_way():
    done, question = TaskRow("a", "ok"), DecisionRow("ok", "owner", "?", "h", 0.0)
    assert states_of(state(), 5.0) == {"a": "pending", "b": "pending", "ok": "pending", "c": "pending"}
    led = states_of(state(done, lease_until=9.0), 5.0)
    assert led == {"a": "ok", "b": "running", "ok": "pending", "c": "pending"}
    asked = states_of(state(done, TaskRow("b", "ok"), status="waiting", ok=question), 5.0)
    assert asked == {"a": "ok", "b": "ok", "ok": "waiting", "c": "pending"}
    lost = states_of(state(TaskRow("a", "unknown"), a=DecisionRow("a", "owner", "?", "h", 0.0)), 5.0)
    assert lost["a"] == "waiting"
