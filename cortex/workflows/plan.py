"""The pure plan: what may be a plan, which tasks come next, what they find as context, and what a new plan may change.

Nothing here waits, reads a clock or a disk. The same plan and the same finished tasks always lead to the same answer,
in whichever order the tasks ended.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .json_pieces import pieces
from .tasks import CodeExecutionTask, DecisionTask, McpToolTask, Task

MAX_TASKS = 200
MAX_DEPTH = 50
MAX_PLAN_BYTES = 1_048_576
MAX_REVISIONS = 20
MAX_REFERENCES = 50
"""In the arguments or the context of one task. Each brings a whole result: without a limit, a small plan could ask for
terabytes."""
MAX_STATE_NAMES = 200_000
"""In the merged state that code is given."""
INPUT = "input"
"""`${input.name}` is an input of the run, so no task has this id."""

# More fields than any task or plan has. Pydantic would list each field that is too many.
_MAX_FIELDS = 50
_NO_JSON = "the plan holds a value that is not JSON, or is nested too deeply"
_PLAINLY = {
    "string_pattern_mismatch": "an id begins with a letter and has at most 64 letters, digits, `_` and `-`",
    "union_tag_not_found": "`type` is missing; it is mcp_tool, code_execution or decision",
    "union_tag_invalid": "`type` is mcp_tool, code_execution or decision",
    "tuple_type": "must be a list",
    "missing": "the field is missing",
}
_KINDS: dict[str, type[BaseModel]] = {
    "mcp_tool": McpToolTask,
    "code_execution": CodeExecutionTask,
    "decision": DecisionTask,
}
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)
_REFERENCE = re.compile(r"\$\{([A-Za-z][A-Za-z0-9_-]*)((?:\.[^.${}]+)*)\}")

TaskStatus: TypeAlias = Literal["pending", "running", "ok", "failed", "skipped", "unknown"]
SETTLED: frozenset[TaskStatus] = frozenset({"ok", "failed", "skipped"})


class PlanError(ValueError):
    """A plan that cannot be run, and why."""


class Plan(BaseModel):
    """A workflow: tasks that need results of each other. Valid as a whole: see `checked`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    tasks: tuple[Task, ...]

    def layers(self) -> tuple[tuple[Task, ...], ...]:
        """The tasks in layers: each as early as its dependencies allow. Raises PlanError."""
        by_id = _by_id(self.tasks)
        found: list[tuple[Task, ...]] = []
        needs = {task.id: frozenset(task.dependencies) for task in self.tasks}
        while needs:
            free = {id_ for id_, others in needs.items() if not others}
            if not free:
                raise PlanError(f"the tasks depend on each other in a circle: {_circle(needs)}")
            found.append(tuple(by_id[id_] for id_ in needs if id_ in free))
            needs = {id_: others - free for id_, others in needs.items() if id_ not in free}
        if len(found) > MAX_DEPTH:
            raise PlanError(f"the plan has {len(found)} layers; at most {MAX_DEPTH} are allowed")
        return tuple(found)

    @property
    def hash(self) -> str:
        """Stands for exactly this plan."""
        return hash_of(self.model_dump(mode="json", by_alias=True))

    def task(self, id_: str) -> Task:
        """The task of that id. Raises PlanError."""
        for task in self.tasks:
            if task.id == id_:
                return task
        raise PlanError(f'there is no task "{id_}"')


@dataclass(frozen=True, slots=True)
class Finished:
    """How a task ended, as those that depend on it see it."""

    status: TaskStatus
    result: Any = None
    error: Mapping[str, Any] | None = None

    @property
    def seen(self) -> Any:
        """What dependents find as `context.<task id>`."""
        return self.result if self.status == "ok" else {"ok": False, "error": dict(self.error or {})}


def checked(given: Any) -> Plan:
    """A plan from parsed JSON. Raises PlanError that names the task and what is wrong with it."""
    return require_sound(written(given))


def written(given: Any) -> Plan:
    """Tasks from parsed JSON, each as it should be written. Whether they are a plan together is not looked at: see
    `require_sound`. Raises PlanError."""
    if not isinstance(given, dict):
        raise PlanError("a plan is an object with `name` and `tasks`")
    tasks = given.get("tasks")
    if isinstance(tasks, list) and len(tasks) > MAX_TASKS:
        raise PlanError(f"the plan has {len(tasks)} tasks; at most {MAX_TASKS} are allowed")
    for at, task in enumerate(tasks if isinstance(tasks, list) else ()):
        _require_few(task, _name_of(task, at))
    _require_few(given, "the plan")
    try:
        return Plan.model_validate(given)
    except ValidationError as error:
        raise PlanError(_first_problem(error, tasks)) from error


def require_sound(plan: Plan) -> Plan:
    """The plan itself, if it can be run. Raises PlanError."""
    if not plan.tasks:
        raise PlanError("the plan has no tasks")
    if len(plan.tasks) > MAX_TASKS:
        raise PlanError(f"the plan has {len(plan.tasks)} tasks; at most {MAX_TASKS} are allowed")
    size = len(_text_of(plan))
    if size > MAX_PLAN_BYTES:
        raise PlanError(f"the plan has {size} bytes; at most {MAX_PLAN_BYTES} are allowed")
    plan.layers()
    for task in plan.tasks:
        _require_sound_references(task)
    return plan


def next_layer(plan: Plan, finished: Mapping[str, Finished]) -> tuple[Task, ...]:
    """All tasks that can start now, in plan order: those whose dependencies have ended in a way that lets them."""
    open_ = _open_for_others(plan, finished)
    return tuple(task for task in plan.tasks if task.id not in finished and open_.issuperset(task.dependencies))


def never_to_run(plan: Plan, finished: Mapping[str, Finished]) -> tuple[Task, ...]:
    """Tasks that cannot start any more, because one that they depend on has failed, was skipped or was rejected."""
    dead = finished.keys() - _open_for_others(plan, finished)
    found: list[Task] = []
    for layer in plan.layers():
        for task in layer:
            if task.id not in finished and dead.intersection(task.dependencies):
                dead.add(task.id)
                found.append(task)
    return tuple(found)


def stops_run(task: Task, ended: Finished) -> bool:
    """Whether the end of this task ends the run: it failed, and its author does not want to go on."""
    return ended.status == "failed" and getattr(task, "on_error", "stop") == "stop"


def folded(plan: Plan, finished: Mapping[str, Finished]) -> dict[str, Any]:
    """The state of a run: results by task, `state` of results merged, decisions and messages. In plan order."""
    tasks: dict[str, Any] = {}
    context: dict[str, Any] = {}
    decisions: dict[str, Any] = {}
    messages: list[Any] = []
    ids = {task.id for task in plan.tasks}
    for task in plan.tasks:
        ended = finished.get(task.id)
        if ended is None:
            continue
        tasks[task.id] = ended.seen
        if isinstance(task, DecisionTask):
            decisions[task.id] = ended.seen
        # No name of another task: `context.<task id>` is the result of that task, or nothing.
        others = ids - {task.id}
        context |= {name: value for name, value in _state_of(ended).items() if name not in others}
        if ended.status == "ok" and isinstance(ended.result, dict):
            said = ended.result.get("messages")
            messages += said if isinstance(said, list) else []
    return {"tasks": tasks, "context": context, "decisions": decisions, "messages": messages}


def context_of(task: CodeExecutionTask, plan: Plan, finished: Mapping[str, Finished]) -> dict[str, Any]:
    """What the code finds as `context`: the merged state, its own context, and results of its dependencies by id."""
    seen = {other: finished[other].seen for other in task.dependencies}
    return {**_state_before(task, plan, finished), **task.context, **seen}


def arguments_of(task: McpToolTask, finished: Mapping[str, Finished]) -> dict[str, Any]:
    """The arguments of the call: each string that is `${task.path}` as a whole gives way to that part of a result.
    Raises PlanError where there is no such part."""
    known = {other: finished[other].seen for other in task.dependencies}
    return {name: filled(value, known, f'task "{task.id}"') for name, value in task.arguments.items()}


def inputs_of(plan: Plan) -> set[str]:
    """The names of the inputs that the plan refers to. Raises PlanError for `${input}` without a name."""
    found = set()
    for task in plan.tasks:
        for text in _texts(_given(task)):
            if (reference := _REFERENCE.fullmatch(text)) and reference[1] == INPUT:
                if not reference[2]:
                    raise PlanError(f'task "{task.id}" refers to "${{{INPUT}}}" without the name of an input')
                found.add(reference[2].split(".")[1])
    return found


def has_references(value: Any) -> bool:
    """Whether a part of the value is known only when the plan runs."""
    return bool(_references(value))


def with_inputs(plan: Plan, inputs: Mapping[str, Any]) -> Plan:
    """The plan with each `${input.name}` in arguments and contexts replaced. Raises PlanError for a missing input, and
    for one that would bring references of its own: those are for the author of the plan."""
    known = {INPUT: dict(inputs)}
    if any(_references(value) for value in inputs.values()):
        raise PlanError("an input holds a reference; only the plan itself may refer to results")
    uses = sum(name == INPUT for task in plan.tasks for name in _references(_given(task)))
    size = uses * max((len(_json(value)) for value in inputs.values()), default=0)
    if size > MAX_PLAN_BYTES:
        raise PlanError(f"the plan would have {size} bytes with its inputs; at most {MAX_PLAN_BYTES} are allowed")
    tasks: list[Task] = []
    for task in plan.tasks:
        about = f'task "{task.id}"'
        match task:
            case McpToolTask():
                tasks.append(task.model_copy(update={"arguments": filled(task.arguments, known, about)}))
            case CodeExecutionTask():
                tasks.append(task.model_copy(update={"context": filled(task.context, known, about)}))
            case _:
                tasks.append(task)
    return require_sound(plan.model_copy(update={"tasks": tuple(tasks)}))


def filled(value: Any, known: Mapping[str, Any], about: str) -> Any:
    """The value with references to known names replaced. References to other names stay: they are for later."""
    match value:
        case str() if found := _REFERENCE.fullmatch(value):
            name, path = found[1], found[2].split(".")[1:]
            return _part(known[name], path, value, about) if name in known else value
        case dict():
            return {key: filled(item, known, about) for key, item in value.items()}
        case list() | tuple():
            return [filled(item, known, about) for item in value]
        case _:
            return value


def _part(value: Any, path: Sequence[str], reference: str, about: str) -> Any:
    for step in path:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and len(step) < 7 and int(step) < len(value):
            value = value[int(step)]
        else:
            raise PlanError(f'{about} refers to "{reference[:100]}", and there is no "{step[:60]}"')
    return value


def references_of(task: Task) -> list[str]:
    """The name that each reference in its arguments or its context begins with. Raises PlanError for too many."""
    names = _references(_given(task))
    if isinstance(task, CodeExecutionTask):
        names = [name for name in names if name == INPUT]  # other texts are data: results are `context.<task id>`
    if len(names) > MAX_REFERENCES:
        raise PlanError(f'task "{task.id}" has {len(names)} references; at most {MAX_REFERENCES} are allowed')
    return names


def input_hash(task: Task, plan: Plan, finished: Mapping[str, Finished]) -> str:
    """Stands for what a task was given: its own text, the results that it depends on, and the merged state."""
    given = {other: hash_of(finished[other].seen) for other in task.dependencies if other in finished}
    states: list[str] = []
    if isinstance(task, CodeExecutionTask):
        # Each on its own, in the order in which they are merged: together they can be very large.
        before = _ended_before(task, plan, finished)
        alone = (_state_of(before[other.id]) for other in plan.tasks if other.id in before)
        states = [hash_of(state) for state in alone if state]
    return hash_of([task.model_dump(mode="json", by_alias=True), given, states])


def replanned(plan: Plan, add: Iterable[Task], remove: Iterable[str], begun: frozenset[str], *, revision: int) -> Plan:
    """The plan with tasks added and pending ones removed. `begun` has the tasks that have started or ended: they stay
    as they are. `revision` is that of the new plan. Raises PlanError."""
    if revision > MAX_REVISIONS:
        raise PlanError(f"the plan would have {revision} revisions; at most {MAX_REVISIONS} are allowed")
    gone = frozenset(remove)
    for id_ in sorted(gone):
        plan.task(id_)
        if id_ in begun:
            raise PlanError(f'task "{id_}" has begun and cannot be removed')
    kept = tuple(task for task in plan.tasks if task.id not in gone)
    return require_sound(plan.model_copy(update={"tasks": (*kept, *add)}))


def hash_of(value: Any) -> str:
    """SHA-256 of the value as canonical JSON."""
    found = hashlib.sha256()
    for piece in pieces(value, _CANONICAL):
        found.update(piece.encode())
    return found.hexdigest()


def _open_for_others(plan: Plan, finished: Mapping[str, Finished]) -> set[str]:
    """The tasks that have ended in a way that lets their dependents start."""
    return {
        task.id
        for task in plan.tasks
        if (ended := finished.get(task.id)) is not None
        and (ended.status == "ok" or (ended.status == "failed" and not stops_run(task, ended)))
    }


def _state_before(task: Task, plan: Plan, finished: Mapping[str, Finished]) -> dict[str, Any]:
    """The merged state of the tasks that this one depends on, directly or not. Not that of others: whether they have
    ended yet is chance, and a task must be given the same when the run is resumed."""
    before = _ended_before(task, plan, finished)
    if (count := sum(len(_state_of(ended)) for ended in before.values())) > MAX_STATE_NAMES:
        raise PlanError(
            f'task "{task.id}" would be given a state of {count} names; at most {MAX_STATE_NAMES} are allowed'
        )
    state: dict[str, Any] = folded(plan, before)["context"]
    return state


def _ended_before(task: Task, plan: Plan, finished: Mapping[str, Finished]) -> dict[str, Finished]:
    """The tasks that this one depends on, directly or not."""
    by_id = {other.id: other for other in plan.tasks}
    before: dict[str, Finished] = {}
    left = list(task.dependencies)
    while left:
        id_ = left.pop()
        if id_ not in before and id_ in finished:
            before[id_] = finished[id_]
            left += by_id[id_].dependencies
    return before


def _state_of(ended: Finished) -> dict[str, Any]:
    """The part of its result that a task merges into the state."""
    state = ended.result.get("state") if ended.status == "ok" and isinstance(ended.result, dict) else None
    return state if isinstance(state, dict) else {}


def _given(task: Task) -> Any:
    """The values of a task in which references are replaced. Never its code."""
    match task:
        case McpToolTask():
            return task.arguments
        case CodeExecutionTask():
            return task.context
        case _:
            return None


def _references(value: Any) -> list[str]:
    """The name that each reference in the value begins with."""
    return [found[1] for text in _texts(value) if (found := _REFERENCE.fullmatch(text))]


def _texts(value: Any) -> Iterator[str]:
    left = [value]
    while left:
        match left.pop():
            case str() as text:
                yield text
            case dict() as members:
                left += members.values()
            case list() | tuple() as items:
                left += items


def _require_sound_references(task: Task) -> None:
    if task.id == INPUT:
        raise PlanError(f'a task cannot have the id "{INPUT}": `${{{INPUT}.name}}` is an input of the run')
    for name in references_of(task):
        if name != INPUT and name not in task.dependencies:
            raise PlanError(f'task "{task.id}" refers to "${{{name[:64]}}}", which is not one of its dependencies')


def _require_few(given: Any, about: str) -> None:
    if isinstance(given, dict):
        if len(given) > _MAX_FIELDS:
            raise PlanError(f"{about} has {len(given)} fields; at most {_MAX_FIELDS} are allowed")
        for name in ("dependencies", "tools"):
            if isinstance(found := given.get(name), list) and len(found) > MAX_TASKS:
                raise PlanError(f"{about} has {len(found)} {name}; at most {MAX_TASKS} are allowed")


def _text_of(plan: Plan) -> bytes:
    try:
        # Not in pydantic's mode for JSON, which would write NaN as null.
        whole = plan.model_dump(by_alias=True)
        # In that mode, too, as the hash and the journal need it: there a value may be nested less deeply.
        plan.model_dump(mode="json", by_alias=True)
    except (ValueError, RecursionError) as error:
        raise PlanError(_NO_JSON) from error
    return _json(whole)


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise PlanError(_NO_JSON) from error


def _by_id(tasks: Sequence[Task]) -> dict[str, Task]:
    by_id: dict[str, Task] = {}
    for task in tasks:
        if task.id in by_id:
            raise PlanError(f'there are two tasks "{task.id}"')
        by_id[task.id] = task
    for task in tasks:
        for other in task.dependencies:
            if other not in by_id:
                raise PlanError(f'task "{task.id}" depends on "{other}", and there is no such task')
    return by_id


def _circle(needs: Mapping[str, frozenset[str]]) -> str:
    """One circle among tasks that all need another of them, as "a → b → a"."""
    path: list[str] = []
    at = next(iter(needs))
    while at not in path:
        path.append(at)
        at = min(needs[at])
    return " → ".join([*path[path.index(at) :], at])


def _first_problem(error: ValidationError, tasks: Any) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    said = _PLAINLY.get(first["type"], first["msg"][:200])
    match first["loc"]:
        case ("tasks", int(at), str(kind), _) if first["type"] == "extra_forbidden":
            fields = ", ".join(_KINDS[kind].model_fields)
            said = f"there is no such field; a task of the type {kind} has: {fields}"
        case (_,) if first["type"] == "extra_forbidden":
            said = "there is no such field; a plan has: name, tasks"
    match first["loc"]:
        case ("tasks", int(at), *path):
            where = _name_of(tasks[at] if isinstance(tasks, list) and at < len(tasks) else None, at)
            place = ".".join(str(step) for step in path[1:] if not str(step).startswith("function-"))
        case path:
            where, place = "the plan", ".".join(map(str, path))
    return f"{where}: {f'{place}: ' if place else ''}{said}"


def _name_of(task: Any, at: int) -> str:
    name = task.get("id") if isinstance(task, dict) else None
    return f'task "{name[:64]}"' if isinstance(name, str) and name.isprintable() and name else f"task {at + 1}"
