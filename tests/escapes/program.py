"""Attack programs as data files: parse their headers strictly, and judge what was seen of a run."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.jail.layers import Layer

FOLDER = Path(__file__).parent / "programs"

CLASSES = (
    "display",
    "frames",
    "imports",
    "later",
    "leaks",
    "network",
    "parsing",
    "permissions",
    "persistence",
    "resources",
    "store",
    "text",
    "tools",
    "values",
    "workflows",
    "workspace",
)
TIERS = ("isolated", "network", "workspace", "store")
REQUIRED = ("name", "class", "tier", "timeout", "expect", "check")
OPTIONAL = {
    "tools": "",
    "uses": "",
    "needs": "",
    "runs": "1",
    "authority": "no",
    "alone": "no",
    "commit": "no",
    "context": "no",
}

# Names that checks may use: what the caller sees of a run, and what was seen on the host.
TOLD = (
    *("ok", "value", "values", "error", "message", "logs", "text", "got", "truncated", "called", "calls", "peak_mb"),
    "displayed",
)
SEEN = ("canary", "secret_intact", "secret", "env_secret", "residue", "files", "changes", "commit_error", "raised")
# What its conversation keeps afterwards, where it was lent a store.
KEPT = ("kept", "kept_bytes", "other_intact")
# In these, a program that runs beside others may get the effects of another program.
SHARED = ("hits", "asked", "signalled")
# A busy machine can spoil these.
NOISY = ("wall_s", "host_mb", "stall_ms", "blocked_ms", "neighbour_ok")
MEASURED = (*SHARED, *NOISY)
GIVEN = (
    "deno",
    "timeout_s",
    "memory_mb",
    "most_stall_ms",
    "len",
    "all",
    "any",
    "sum",
    "set",
    "sorted",
    "str",
    "isinstance",
    "list",
    "dict",
    "int",
)

# What must hold for every program, whatever it attacks.
ALWAYS = (
    "raised == ''",
    "secret not in text",
    "env_secret not in text",
    "'root:x:0' not in text",
    "'PATH=' not in text",
    "'Traceback' not in text",
    "canary == []",
    "secret_intact",
    "residue == []",
    "other_intact",
    "'admin' not in called",
    "hits == []",
    "signalled == []",
    "neighbour_ok",
    "wall_s < timeout_s + 5",
    "host_mb < 64",
    "stall_ms < most_stall_ms",
    "blocked_ms < 1000",
)

_FIELD = re.compile(r"// ([a-z]+): (.+)")
_PLACE = re.compile(r"@@([A-Z_]+)@@")


class BadProgram(ValueError):
    """An invalid header: it cannot be trusted to say what its program must not do."""


@dataclass(frozen=True)
class Program:
    name: str
    kind: str
    tier: str
    tools: tuple[str, ...]
    needs: tuple[str, ...]
    """The layers of the wall that stop it. Where one of them is absent, the property is not promised."""
    timeout_s: float
    expect: str
    checks: tuple[str, ...]
    runs: int
    authority: bool
    """Whether it also runs with Deno's permissions off, against the operating system alone."""
    alone: bool
    """Whether it runs while no other program does: it uses many resources, or they are measured."""
    commit: bool
    context: bool
    """Whether it is given a few megabytes of context."""
    code: str

    def filled(self, places: Mapping[str, str]) -> str:
        """The code with the placeholders (@@NAME@@) filled for this run."""

        def place(found: re.Match[str]) -> str:
            if found[1] not in places:
                raise BadProgram(f"{self.name}: no place is called {found[0]}")
            return places[found[1]]

        return _PLACE.sub(place, self.code)


def parse(text: str, name: str, preludes: Mapping[str, str]) -> Program:
    """Parse a program. Raises BadProgram for a header with an unknown key, a missing key, or no check."""
    lines = text.splitlines()
    fields: dict[str, str] = {}
    checks: list[str] = []
    for at, line in enumerate(lines):  # noqa: B007 - where the header ends is used below
        found = _FIELD.fullmatch(line)
        if found is None:
            break
        key, value = found[1], found[2].strip()
        if key not in REQUIRED and key not in OPTIONAL:
            raise BadProgram(f'{name}: unknown key "{key}"')
        if key == "check":
            checks.append(_checked(value, name))
        elif key in fields:
            raise BadProgram(f'{name}: "{key}" twice')
        else:
            fields[key] = value
    else:
        raise BadProgram(f"{name}: a header without a program")
    missing = [key for key in REQUIRED if key != "check" and key not in fields]
    if missing or not checks:
        raise BadProgram(f"{name}: without {', '.join(missing) or 'a check'}")
    fields = {**OPTIONAL, **fields}
    if fields["name"] != name or fields["class"] not in CLASSES or fields["tier"] not in TIERS:
        raise BadProgram(f"{name}: a name, class or tier that does not exist")
    if any(fields[key] not in {"yes", "no"} for key in ("authority", "alone", "commit", "context")):
        raise BadProgram(f'{name}: what is neither "yes" nor "no"')
    uses = _words(fields["uses"])
    if not set(uses) <= preludes.keys():
        raise BadProgram(f"{name}: uses {uses}, of which some do not exist")
    needs = _words(fields["needs"])
    if not set(needs) <= set(Layer):
        raise BadProgram(f"{name}: needs {needs}, of which some are no layers")
    return Program(
        name=name,
        kind=fields["class"],
        tier=fields["tier"],
        tools=_words(fields["tools"]),
        needs=needs,
        timeout_s=float(fields["timeout"]),
        expect=fields["expect"],
        checks=tuple(checks),
        runs=int(fields["runs"]),
        authority=fields["authority"] == "yes",
        alone=fields["alone"] == "yes",
        commit=fields["commit"] == "yes",
        context=fields["context"] == "yes",
        code="\n".join([*(preludes[use] for use in uses), *lines[at:]]),
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _checked(expression: str, name: str) -> str:
    """Check that the expression is valid and uses only known names: with another name it could only raise."""
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise BadProgram(f"{name}: cannot read check {expression!r}") from error
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    used = names_in(expression) - bound
    if not used <= {*TOLD, *SEEN, *KEPT, *MEASURED, *GIVEN}:
        raise BadProgram(f"{name}: check {expression!r} uses names that do not exist")
    if not used & {*TOLD, *SEEN, *KEPT, *MEASURED}:
        raise BadProgram(f"{name}: check {expression!r} looks at nothing")
    return expression


def names_in(expression: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}


def failures(program: Program, seen: Mapping[str, Any]) -> list[str]:
    """The checks that do not hold. A check that cannot be evaluated does not hold."""
    failed = []
    for check in (*ALWAYS, *program.checks):
        try:
            held = eval(check, {**seen, "timeout_s": program.timeout_s})  # safe: the checks are files of this folder
        except Exception as error:  # noqa: BLE001 - the value that the code returned decides what the check raises
            failed.append(f"{check}  # {type(error).__name__}: {error}".replace("\n", " "))
        else:
            if not held:
                failed.append(check)
    return failed


def is_measured(check: str) -> bool:
    """Whether a failed check uses a measurement that other programs, or a busy machine, could have spoilt."""
    return bool(names_in(check) & set(MEASURED))


def is_late(failed: Sequence[str], seen: Mapping[str, Any]) -> bool:
    """Whether the program timed out before it came to what its own checks are about: on a machine that stood still,
    that proves nothing. Only if the checks of every program held, and it claims no success."""
    own = [check for check in failed if not is_measured(check)]
    is_harmless = not any(check.partition("  # ")[0] in ALWAYS for check in own) and seen["got"] == []
    return bool(own) and is_harmless and seen["error"] == "TimeoutError"


def is_noisy(check: str) -> bool:
    """Whether a failed check uses a measurement that a busy machine alone could have spoilt."""
    return bool(names_in(check) & set(NOISY))


def load() -> list[Program]:
    preludes = {path.stem: path.read_text(encoding="utf-8") for path in sorted((FOLDER / "preludes").iterdir())}
    files = sorted(path for kind in CLASSES for path in (FOLDER / kind).glob("*.[jt]s"))
    programs = [parse(path.read_text(encoding="utf-8"), path.stem, preludes) for path in files]
    for program, path in zip(programs, files, strict=True):
        if program.kind != path.parent.name:
            raise BadProgram(f"{program.name}: class {program.kind} in folder {path.parent.name}")
    if len({program.name for program in programs}) != len(programs):
        raise BadProgram("two programs of one name")
    return programs
