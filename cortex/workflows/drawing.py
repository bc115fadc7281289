"""Draws a plan, or a run of it: as lines of text, as Mermaid, and as an SVG picture. Pure.

Names of plans, tasks and tools may be written by anybody. In each form they can neither end the text that they stand
in nor begin another: terminals are not controlled, Mermaid gets no syntax, and SVG no markup. The picture refers to
nothing outside of itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from cortex.text import columns_of, fit, visible

from .progress import standing
from .tasks import CodeExecutionTask, DecisionTask, McpToolTask

if TYPE_CHECKING:
    from .journal import RunState
    from .plan import Plan
    from .tasks import Task

MAX_LABEL = 40
_MARKS = {
    "pending": "○",
    "running": "▶",
    "waiting": "?",
    "ok": "●",
    "failed": "✗",
    "skipped": "–",
    "unknown": "!",
}
_PLAIN_MARKS = {**_MARKS, "pending": ".", "running": ">", "ok": "+", "failed": "x", "skipped": "-"}


class _Colours(NamedTuple):
    fill: str
    line: str


_COLOURS = {
    "pending": _Colours("#f6f8fa", "#8c959f"),
    "running": _Colours("#ddf4ff", "#0969da"),
    "waiting": _Colours("#fff8c5", "#9a6700"),
    "ok": _Colours("#dafbe1", "#1a7f37"),
    "failed": _Colours("#ffebe9", "#cf222e"),
    "skipped": _Colours("#eaeef2", "#57606a"),
    "unknown": _Colours("#ffddb5", "#bc4c00"),
}
# Of the picture, in pixels.
_BOX_WIDTH, _BOX_HEIGHT = 210, 44
_GAP_X, _GAP_Y = 80, 16
_MARGIN, _TITLE_HEIGHT = 24, 34


def states_of(state: RunState, now: float) -> dict[str, str]:
    """How each task of a run stands: `waiting` for an answer, `running` where a process leads the run, or as saved."""
    found = {task.id: "pending" for task in state.run.plan.tasks}
    if state.run.status == "running" and state.run.lease_until > now:
        stands = standing(state.run.plan, state.tasks, state.decisions)
        found |= {task.id: "running" for task in stands.work}
    found |= {id_: row.status for id_, row in state.tasks.items() if id_ in found and row.status != "pending"}
    for id_, question in state.decisions.items():
        if question.said is None and found.get(id_) in {"pending", "unknown"}:
            found[id_] = "waiting"
    return found


def mark_of(state: str, *, symbols: bool = True) -> str:
    return (_MARKS if symbols else _PLAIN_MARKS).get(state, "?")


def text_lines(
    plan: Plan, states: Mapping[str, str] | None = None, *, width: int = 80, symbols: bool = True
) -> list[str]:
    """The layers from top to bottom, each with the marks and ids of its tasks, in lines that fit the width."""
    lines: list[str] = []
    layers = plan.layers()
    digits = len(str(len(layers)))
    arrow = "↓" if symbols else "v"
    for number, layer in enumerate(layers, 1):
        if number > 1:
            lines.append(" " * (digits + 2) + arrow)
        words = [f"{mark_of(_state(task, states), symbols=symbols)} {task.id}" for task in layer]
        lines += _set(f"{number:>{digits}}  ", words, width)
    return lines


def what_of(task: Task) -> str:
    """What the task does, in a few words."""
    match task:
        case McpToolTask():
            return task.tool
        case CodeExecutionTask():
            return task.intent.strip() or "code"
        case DecisionTask():
            return f"asks the {task.by}"


def mermaid(plan: Plan, states: Mapping[str, str] | None = None) -> str:
    """A flowchart for Mermaid. Nodes have names of ours; all that an author wrote is spelled in character codes."""
    names = {task.id: f"t{number}" for number, task in enumerate(plan.tasks)}
    lines = ["flowchart TD", f"  %% {_plain(plan.name, 200)}"]
    for number, layer in enumerate(plan.layers(), 1):
        lines.append(f'  subgraph l{number}["layer {number}"]')
        for task in layer:
            before, behind = ("{{", "}}") if isinstance(task, DecisionTask) else ("[", "]")
            label = f"{_coded(task.id)}<br/>{_coded(what_of(task))}"
            lines.append(f'    {names[task.id]}{before}"{label}"{behind}')
        lines.append("  end")
    lines += [f"  {names[other]} --> {names[task.id]}" for task in plan.tasks for other in task.dependencies]
    if states is not None:
        for state, colours in _COLOURS.items():
            those = [names[task.id] for task in plan.tasks if _state(task, states) == state]
            if those:
                lines.append(f"  classDef {state} fill:{colours.fill},stroke:{colours.line},color:#1f2328")
                lines.append(f"  class {','.join(those)} {state}")
    return "\n".join(lines) + "\n"


def svg(plan: Plan, states: Mapping[str, str] | None = None) -> str:
    """A picture: a column for each layer, a box for each task, a line for each dependency."""
    layers = plan.layers()
    places = _places(layers)
    rows = max(len(layer) for layer in layers)
    wide = 2 * _MARGIN + len(layers) * _BOX_WIDTH + (len(layers) - 1) * _GAP_X
    high = 2 * _MARGIN + _TITLE_HEIGHT + rows * (_BOX_HEIGHT + _GAP_Y)
    size = f'width="{wide}" height="{high}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {wide} {high}" '
    parts = [
        f'{head}font-family="system-ui, sans-serif" font-size="13">',
        f'<rect {size} fill="#ffffff"/>',
        f'<text x="{_MARGIN}" y="{_MARGIN + 12}" font-size="16" font-weight="600">{_xml(plan.name, 120)}</text>',
        '<g fill="none" stroke="#8c959f" stroke-width="1.5">',
        *(_line(places[other], places[task.id]) for task in plan.tasks for other in task.dependencies),
        "</g>",
        *(_box(task, places[task.id], _state(task, states), has_state=states is not None) for task in plan.tasks),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _state(task: Task, states: Mapping[str, str] | None) -> str:
    found = (states or {}).get(task.id, "pending")
    return found if found in _COLOURS else "pending"


def _set(head: str, words: Sequence[str], width: int) -> Iterator[str]:
    """The words in lines of at most that width, the first behind the head and the others below them."""
    line, indent = head, " " * len(head)
    for word in words:
        short = fit(visible(word), max(8, width - len(indent)))
        is_first = line in {head, indent}
        if not is_first and columns_of(line) + 3 + columns_of(short) > width:
            yield line
            line, is_first = indent, True
        line += short if is_first else f"   {short}"
    yield line


def _plain(text: str, most: int = MAX_LABEL) -> str:
    """The text on one line, without characters that have a meaning in Mermaid or cannot be seen."""
    kept = "".join(each if each.isalnum() or each in " ._-" else " " for each in text[: 4 * most])
    return fit(" ".join(kept.split()), most)


def _coded(text: str) -> str:
    """The text for a label: letters, digits, spaces and few signs as they are, all else as `#code;`."""
    short = fit(" ".join(visible(text[: 4 * MAX_LABEL]).split()), MAX_LABEL)
    return "".join(
        each if each.isascii() and (each.isalnum() or each in " ._-") else f"#{ord(each)};" for each in short
    )


def _xml(text: str, most: int = MAX_LABEL) -> str:
    short = fit(" ".join(visible(text[: 4 * most]).split()), most)
    return escape("".join(each for each in short if _is_xml(each)), {'"': "&quot;"})


def _is_xml(character: str) -> bool:
    code = ord(character)
    return 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code >= 0x10000


def _places(layers: Sequence[Sequence[Task]]) -> dict[str, tuple[int, int]]:
    """The upper left corner of each box."""
    return {
        task.id: (
            _MARGIN + column * (_BOX_WIDTH + _GAP_X),
            _MARGIN + _TITLE_HEIGHT + row * (_BOX_HEIGHT + _GAP_Y),
        )
        for column, layer in enumerate(layers)
        for row, task in enumerate(layer)
    }


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1 = start[0] + _BOX_WIDTH, start[1] + _BOX_HEIGHT // 2
    x2, y2 = end[0], end[1] + _BOX_HEIGHT // 2
    bend = max(_GAP_X // 2, (x2 - x1) // 3)
    return f'<path d="M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"/>'


def _box(task: Task, place: tuple[int, int], state: str, *, has_state: bool) -> str:
    (x, y), colours = place, _COLOURS[state]
    round_ = _BOX_HEIGHT // 2 if isinstance(task, DecisionTask) else 6
    about = f"{what_of(task)} ({state})" if has_state else what_of(task)
    middle = x + _BOX_WIDTH // 2
    return (
        f"<g><title>{_xml(f'{task.id}: {about}', 200)}</title>"
        f'<rect x="{x}" y="{y}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="{round_}" fill="{colours.fill}" '
        f'stroke="{colours.line}" stroke-width="1.5"/>'
        f'<text x="{middle}" y="{y + 18}" text-anchor="middle" font-weight="600">{_xml(task.id, 26)}</text>'
        f'<text x="{middle}" y="{y + 34}" text-anchor="middle" font-size="11" fill="#57606a">'
        f"{_xml(about, 32)}</text></g>"
    )
