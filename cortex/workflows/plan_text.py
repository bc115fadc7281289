"""A plan as text for the owner: its layers, all that each task would do, and the energy that it takes. Pure.

The author of the plan may be a stranger. Each text of the author stands behind a bar or in quotes, with everything
deceptive spelled out, so that none can pass for a line of ours or control a terminal. What is too long is shown in
part, with its length and the hash of the whole. An approval is bound to the hash of exactly this text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex.energy import weigh
from cortex.text import beyond_ascii, code_lines, visible_code
from sandbox import Tier

from .plan import PlanError
from .tasks import CodeExecutionTask, DecisionTask, McpToolTask, Task, has_vain_retries, repeats

if TYPE_CHECKING:
    from cortex.settings import EnergySettings, Policy, Settings
    from cortex.turn import Folder
    from sandbox import HostRule

    from .plan import Plan

MAX_SHOWN_PIECE = 20_000
"""Characters of one code, one question or one object."""
MAX_SHOWN_PIECES = 200_000
"""Characters of all of them together. Later ones are shown by their hash."""
MAX_SHOWN_NAMES = 500
"""Characters of a list of names or hosts."""
MAX_SHOWN_TOOLS = 100_000
"""Characters of the tools, or of the intent, of one task. No plan can have more: they choose what code can reach."""

_FULL = 1.0
_POLICIES: dict[Policy | None, str] = {
    "allow": "",
    "ask": " (the owner is asked before each call)",
    "deny": " (denied)",
    None: "",
}
_COMMITS = {
    "ask": "the owner is asked about its changes",
    "auto": "its changes are made with the checkpoint",
    "never": "its changes are never made",
}


@dataclass(frozen=True, slots=True)
class PlanText:
    """What the owner is shown of a plan, and the hash that an approval is bound to."""

    text: str
    hash: str


@dataclass(frozen=True, slots=True)
class PlanEnergy:
    """What the code of a plan takes: if each task succeeds at once, and if each is attempted as often as it may be."""

    code_tasks: int
    once: float
    at_most: float

    def __str__(self) -> str:
        if not self.code_tasks:
            return "none: it runs no code"
        tasks = "1 code task" if self.code_tasks == 1 else f"{self.code_tasks} code tasks"
        return f"about {self.once:.4g} for {tasks}; at most {self.at_most:.4g} with all retries"


def told_plan(
    plan: Plan,
    settings: Settings,
    *,
    folders: Mapping[str, Folder] | None = None,
    policy: Callable[[str], Policy | None] = lambda _: None,
) -> PlanText:
    """The plan as the owner is shown it. `folders` are those granted to workflows; `policy` returns that of a tool, or
    None where it is not known. The same plan and settings always give the same text. Raises PlanError."""
    teller = _Teller(settings, folders or {}, policy)
    layers = plan.layers()
    lines = [
        f"Plan {_quoted(plan.name)}: {_count(len(plan.tasks), 'task')} in {_count(len(layers), 'layer')}",
        f"Energy: {energy_of_plan(plan, settings.energy)}",
        f"Hash of the plan: {plan.hash}",
        "",
        *picture(plan),
    ]
    for number, layer in enumerate(layers, 1):
        for task in layer:
            lines += ["", f"Task {task.id} (layer {number}): {_KINDS[task.type]}", *teller.lines(task)]
    text = "\n".join(lines)
    return PlanText(text, hashlib.sha256(text.encode()).hexdigest())


def require_shown_whole(plan: Plan) -> None:
    """Raise PlanError for a plan that is too long to be shown whole: what a stranger proposes is not approved by the
    hash of what nobody saw."""
    room = MAX_SHOWN_PIECES
    for task in plan.tasks:
        for text in _pieces(task):
            room -= len(text)
            if len(text) > MAX_SHOWN_PIECE or room < 0:
                most = f"at most {MAX_SHOWN_PIECE} characters of one text and {MAX_SHOWN_PIECES} of all"
                raise PlanError(f'task "{task.id}": the plan is too long to be shown to the owner, who is shown {most}')


def _pieces(task: Task) -> Iterator[str]:
    match task:
        case McpToolTask():
            yield _json_text(task.arguments)
        case CodeExecutionTask():
            yield _json_text(task.context)
            yield task.code
        case DecisionTask():
            yield task.ask


def _json_text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def energy_of_plan(plan: Plan, settings: EnergySettings) -> PlanEnergy:
    """The energy that the plan takes, by the prices of its tiers. Calls of tools and questions take none."""
    code = [task for task in plan.tasks if isinstance(task, CodeExecutionTask)]
    ceiling = settings.metered.ceiling if settings.metered.enabled else 0.0
    prices = [weigh(_FULL, _tier(task), settings).cost for task in code]
    attempts = [1 + (task.retries if repeats(task) else 0) for task in code]
    at_most = sum(max(price, ceiling) * number for price, number in zip(prices, attempts, strict=True))
    return PlanEnergy(len(code), sum(prices), at_most)


def picture(plan: Plan) -> list[str]:
    """The layers from top to bottom, one line for each task, with the tasks that it needs. Raises PlanError."""
    width = max((len(task.id) for task in plan.tasks), default=0)
    lines: list[str] = []
    for number, layer in enumerate(plan.layers(), 1):
        for at, task in enumerate(layer):
            is_last = at == len(layer) - 1
            bend = "─" if len(layer) == 1 else "┬" if at == 0 else "└" if is_last else "├"
            head = f"{number:>3} {bend}" if at == 0 else f"    {bend}"
            needs = f" ← {_names(task.dependencies)}" if task.dependencies else ""
            lines.append(f"{head} {task.id:<{width}}  {_SHORT[task.type]}{needs}")
    return lines


_KINDS = {"mcp_tool": "calls a tool", "code_execution": "runs code", "decision": "asks"}
_SHORT = {"mcp_tool": "tool", "code_execution": "code", "decision": "question"}


class _Teller:
    """Tells the tasks of one plan, as far as there is room."""

    def __init__(
        self, settings: Settings, folders: Mapping[str, Folder], policy: Callable[[str], Policy | None]
    ) -> None:
        self._settings = settings
        self._folders = folders
        self._policy = policy
        self._room = MAX_SHOWN_PIECES

    def lines(self, task: Task) -> Iterator[str]:
        if task.dependencies:
            yield f"  needs: {_names(task.dependencies)}"
        match task:
            case McpToolTask():
                yield f"  tool: {self._tool(task.tool)}"
                yield from self._json("arguments", task.arguments)
                yield f"  after a failure: {_after_failure(task)}"
            case CodeExecutionTask():
                yield from self._code(task)
            case DecisionTask():
                yield from self._question(task)

    def _code(self, task: CodeExecutionTask) -> Iterator[str]:
        tools = ", ".join(map(self._tool, task.tools))
        yield f"  tools: {_cut(tools, MAX_SHOWN_TOOLS) or 'none'}"
        if task.intent.strip():
            most = self._settings.discovery.tools_per_intent
            yield f"  and up to {most} tools that fit the words {_cut(_quoted(task.intent), MAX_SHOWN_TOOLS)}"
        yield f"  hosts: {self._hosts() if task.sandbox_config.allow_network else 'none'}"
        yield f"  limits: {self._limits(task)}"
        yield f"  files: {self._files(task.workspace)}"
        yield f"  after a failure: {_after_failure(task)}"
        yield from self._json("context", task.context)
        yield "  code:"
        if strange := beyond_ascii(task.code):
            yield f"  (it has characters beyond ASCII, in line {strange})"
        yield from self._piece(task.code)

    def _question(self, task: DecisionTask) -> Iterator[str]:
        whom = "the owner" if task.by == "owner" else "the agent, or the owner"
        yield f"  answered by: {whom}{', also with a new plan' if task.may_replan else ''}"
        yield f"  time: {'no limit' if task.timeout_s is None else f'{task.timeout_s} s, then the answer is no'}"
        yield "  question:"
        yield from self._piece(task.ask)

    def _tool(self, name: str) -> str:
        return f"{_quoted(name)}{_POLICIES.get(self._policy(name), '')}"

    def _hosts(self) -> str:
        rules = self._settings.sandbox.network.allow
        return _cut(visible_code(", ".join(map(_address, rules)))) if rules else "none: no host is allowed"

    def _limits(self, task: CodeExecutionTask) -> str:
        limits = self._settings.execute.within(self._settings.sandbox.max_timeout_ms)
        narrow, most_mb = task.sandbox_config, self._settings.sandbox.max_memory_mb
        is_slow = narrow.allow_network or bool(task.tools or task.intent)
        longest = limits.max_timeout_network_ms if is_slow else limits.max_timeout_isolated_ms
        time_ms = min(max(narrow.timeout_ms or longest, limits.min_timeout_ms), longest)
        return f"{time_ms} ms, {min(narrow.heap_limit_mb or most_mb, most_mb)} MB"

    def _files(self, name: str | None) -> str:
        if name is None:
            return "none"
        folder = self._folders.get(name)
        if folder is None:
            return f"{_cut(_quoted(name))}, which is not granted"
        return f"{_cut(_quoted(name))} = {_quoted(str(folder.workspace.folder))}; {_COMMITS[folder.commit]}"

    def _json(self, what: str, value: Mapping[str, Any]) -> Iterator[str]:
        if not value:
            return
        yield f"  {what}:"
        yield from self._piece(_json_text(value))

    def _piece(self, text: str) -> Iterator[str]:
        room = min(MAX_SHOWN_PIECE, self._room)
        self._room -= min(len(text), room)
        if room:
            yield from code_lines(text[:room])
        if len(text) > room:
            yield f"  … {len(text) - room} more characters are not shown; SHA-256 of the whole: {_hash(text)}"


def _after_failure(task: McpToolTask | CodeExecutionTask) -> str:
    again = f"up to {_count(task.retries, 'more attempt')}, then " if task.retries and repeats(task) else ""
    ends = "the run stops" if task.on_error == "stop" else "the run goes on"
    vain = " (`retries` counts only with `idempotent`)" if has_vain_retries(task) else ""
    return f"{again}{ends}{vain}{_after_crash(task)}"


def _after_crash(task: McpToolTask | CodeExecutionTask) -> str:
    """What the author of the plan claims of the task: it decides whether the owner is asked after a crash."""
    return "; after a crash it is repeated without asking: the plan says that this does no harm" * bool(task.idempotent)


def _tier(task: CodeExecutionTask) -> Tier:
    return Tier.NETWORK if task.sandbox_config.allow_network else Tier.ISOLATED


def _address(rule: HostRule) -> str:
    ports = "" if rule.ports is None else ":" + "/".join(map(str, rule.ports))
    return f"{'http or https ' if rule.http else ''}{rule.host}{ports}"


def _names(names: Iterable[str]) -> str:
    return _cut(", ".join(names))


def _cut(text: str, most: int = MAX_SHOWN_NAMES) -> str:
    more = len(text) - most
    return text if more <= 0 else f"{text[:most]}… ({more} more characters; SHA-256 of the whole: {_hash(text)})"


def _quoted(text: str) -> str:
    """The text in quotes, on one line. Different texts always look different."""
    return visible_code(json.dumps(text, ensure_ascii=False))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
