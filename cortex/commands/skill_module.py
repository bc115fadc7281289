"""Rewrites the ordinary module of a skill, whose exported function does the work, as the body of a function. Pure.

It works on text and never parses: the code is a stranger's. The owner reads what comes of it, and quarantine runs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_STATEMENT = re.compile(r"^([ \t]*)(import|export)\b(?!\s*\()", re.MULTILINE)
_TYPES_ALONE = re.compile(
    r"(?:import\s+type\b[^;'\"]{0,2000}['\"][^'\"\n]{0,300}['\"]|export\s+type\s*\{[^{}]{0,2000}\})[ \t]*;?"
)
_LIST = re.compile(r"export\s*\{([^{}]{0,2000})\}[ \t]*;?(?!\s*from\b)")
_DEFAULT_NAME = re.compile(r"export\s+default\s+([A-Za-z_$][\w$]*)[ \t]*;?[ \t]*(?=\r?\n|$)")
_FUNCTION = re.compile(
    r"export\s+(default\s+)?(?=(?:async\s+)?function\b)((?:async\s+)?function\b\s*)([A-Za-z_$][\w$]*)?"
)
_ARROW = re.compile(r"export\s+default\s+(?=(?:async\s*)?(?:\(|[A-Za-z_$][\w$]*\s*=>))")
_CONSTANT = re.compile(
    r"export\s+(?=(?:const|let|var|class|abstract\s+class|enum|interface|type)\s+([A-Za-z_$][\w$]*))"
)
_DECLARED = (
    r"(?:async\s+)?function\s+{0}\s*(?=[(<])|(?:const|let|var)\s+{0}\b[^=]{{0,300}}=\s*(?:async\s*)?(?=[(A-Za-z_$])"
)
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_USUAL = ("main", "run", "execute", "handler", "handle")
_WHOLE = frozenset(
    {"args", "arguments_", "context", "data", "input", "inputs", "options", "opts", "params", "payload", "props"}
)
_OPENING, _CLOSING = "([{<", ")]}>"
LEARNED = "learned_main"
MAX_PARAMETERS = 16


class NoBody(Exception):
    """The module cannot be rewritten. The message says what to change."""


@dataclass(frozen=True, slots=True)
class FunctionBody:
    """The body of a function, and the JSON Schema of its arguments; None where the code does not tell them."""

    code: str
    parameters: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class _Parameter:
    pattern: str
    type: str
    is_optional: bool


def is_module(code: str) -> bool:
    return _STATEMENT.search(code) is not None


def body_of(code: str, *, is_neuron: bool) -> FunctionBody:
    """The code without `export`, and with a call of the function that it exports. Raises NoBody."""
    code = _TYPES_ALONE.sub("", code)
    code, exported, default = _without_exports(code)
    if rest := _STATEMENT.search(code):
        line = code.count("\n", 0, rest.start()) + 1
        what = (
            "put what it imports into the script itself, or use the tools and hosts of the neuron"
            if rest[2] == "import"
            else "export one function at the beginning of a line, or none"
        )
        raise NoBody(f'"{rest[2]}" in line {line} has no place in the body of a function: {what}')
    called = _called(code, exported, default)
    parameters = [*_parameters(code, called)]
    arguments, schema = ("signal" if parameters else "", None) if is_neuron else _passed(parameters)
    call = f"await {called}({arguments});"
    return FunctionBody(f"{code.rstrip()}\n\n{call if is_neuron else f'return {call}'}\n", schema)


def _without_exports(code: str) -> tuple[str, list[str], str]:
    """The code, the names that it exports, and that of the default export."""
    exported: list[str] = []
    default = ""
    parts: list[str] = []
    at = 0
    for found in _STATEMENT.finditer(code):
        start = found.start(2)
        if start < at or found[1] or found[2] != "export":
            continue
        made, names, is_default, end = _one(code, start)
        if end == start:
            continue
        parts += [code[at:start], made]
        at = end
        exported += names
        default = names[0] if is_default and names else default
    return "".join((*parts, code[at:])), exported, default


def _one(code: str, start: int) -> tuple[str, list[str], bool, int]:
    """What stands in place of one `export`, the names, whether it is the default, and where it ends."""
    if found := _FUNCTION.match(code, start):
        name = found[3] or LEARNED
        return f"{found[2].rstrip()} {name}", [name], bool(found[1]), found.end()
    if found := _ARROW.match(code, start):
        return f"const {LEARNED} = ", [LEARNED], True, found.end()
    if found := _DEFAULT_NAME.match(code, start):
        return "", [found[1]], True, found.end()
    if found := _LIST.match(code, start):
        pairs = [one.split() for one in found[1].split(",") if one.strip()]
        names = [pair[0] for pair in pairs if pair[0] != "type"]
        default = next((pair[0] for pair in pairs if pair[1:] == ["as", "default"]), None)
        names = names if default is None else [default, *(name for name in names if name != default)]
        return "", names, default is not None, found.end()
    if found := _CONSTANT.match(code, start):
        return "", [found[1]], False, found.end()
    return "", [], False, start


def _called(code: str, exported: Sequence[str], default: str) -> str:
    """The name of the function to call. Raises NoBody."""
    functions = [name for name in dict.fromkeys(exported) if _declaration(code, name) is not None]
    if default in functions:
        return default
    usual = next((name for name in _USUAL if name in functions), None)
    if usual is not None or len(functions) == 1:
        return usual or functions[0]
    if not functions:
        raise NoBody("it exports no function that could be called: write `export default function main(…) { … }`")
    raise NoBody(f"it exports {', '.join(functions[:8])}: make one of them the `export default`, or call it `main`")


def _declaration(code: str, name: str) -> re.Match[str] | None:
    if not _NAME.fullmatch(name):
        return None
    return re.search(rf"(?<![\w$.])(?:{_DECLARED.format(re.escape(name))})", code)


def _parameters(code: str, name: str) -> Iterator[_Parameter]:
    found = _declaration(code, name)
    opening = -1 if found is None else code.find("(", found.end())
    arrow = None if found is None else re.compile(r"([A-Za-z_$][\w$]*)\s*=>").match(code, found.end())
    if arrow is not None:
        yield _Parameter(arrow[1], "", is_optional=False)
        return
    if opening < 0:
        return
    for text in _split(code, opening + 1):
        head, default = _cut(text, "=")
        pattern, kind = _cut(head, ":")
        yield _Parameter(
            pattern.strip().rstrip("?").strip(), kind.strip(), bool(default) or pattern.strip().endswith("?")
        )


def _split(code: str, start: int) -> Iterator[str]:
    """The parameters from behind the opening parenthesis to the one that closes it."""
    depth, begin, quote = 0, start, ""
    for at in range(start, min(len(code), start + 20_000)):
        sign = code[at]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"`":
            quote = sign
        elif depth == 0 and sign in ",)":
            if code[begin:at].strip():
                yield code[begin:at]
            begin = at + 1
            if sign == ")":
                return
        else:
            # The arrow of a type of a function closes nothing.
            depth += (sign in _OPENING) - (sign in _CLOSING and code[at - 1 : at + 1] != "=>")
    raise NoBody("its parameters could not be read: write them plainly")


def _cut(text: str, sign: str) -> tuple[str, str]:
    """The text before and behind a sign that stands in no bracket."""
    depth = 0
    for at, one in enumerate(text):
        if one == sign and depth == 0 and text[at : at + 2] != "=>":
            return text[:at], text[at + 1 :]
        depth += (one in _OPENING) - (one in _CLOSING and text[at - 1 : at + 1] != "=>")
    return text, ""


def _passed(parameters: Sequence[_Parameter]) -> tuple[str, dict[str, Any] | None]:
    """The arguments of the call, made of `args`, and their schema; None where only its author knows it."""
    if not parameters:
        return "", _schema({}, ())
    [first, *more] = parameters
    if not more and first.pattern.startswith("{"):
        return "args", _of_pattern(first)
    if not more and (first.pattern in _WHOLE or first.type[:1] == "{" or first.type[:1].isupper()):
        known = _members(first.type)
        return "args", _schema(known, [name for name in known if f"{name}?" not in first.type]) if known else None
    if len(parameters) > MAX_PARAMETERS or not all(_NAME.fullmatch(one.pattern) for one in parameters):
        raise NoBody("the parameters of its function are not all names: let it take one object, like `({ a, b })`")
    names = {one.pattern: _of_type(one.type) for one in parameters}
    required = [one.pattern for one in parameters if not one.is_optional]
    return ", ".join(f"args.{name}" for name in names), _schema(names, required)


def _of_pattern(parameter: _Parameter) -> dict[str, Any] | None:
    if "..." in parameter.pattern:
        return None
    types = _members(parameter.type)
    names: dict[str, Any] = {}
    required = []
    for part in _split(f"{parameter.pattern[1:-1]})", 0):
        head, default = _cut(part, "=")
        name = _cut(head, ":")[0].strip().strip("\"'")
        if not _NAME.fullmatch(name) or len(names) >= MAX_PARAMETERS:
            return None
        names[name] = types.get(name, {})
        if not default and f"{name}?" not in parameter.type.replace(" ", ""):
            required.append(name)
    return _schema(names, required)


def _members(kind: str) -> dict[str, Any]:
    """The members of a type that is written out: `{ p: number; r?: number }`."""
    inner = kind.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        return {}
    parts = [_cut(part, ":") for line in inner[1:-1].replace(";", ",").split("\n") for part in line.split(",")]
    found = [(name.strip().removeprefix("readonly ").rstrip("?").strip(), written) for name, written in parts]
    return {name: _of_type(written) for name, written in found if _NAME.fullmatch(name)}


def _of_type(kind: str) -> dict[str, Any]:
    kind = kind.strip().removeprefix("readonly ")
    if kind in ("number", "string", "boolean"):
        return {"type": kind}
    for plain in ("number", "string", "boolean"):
        if kind in (f"{plain}[]", f"Array<{plain}>", f"ReadonlyArray<{plain}>"):
            return {"type": "array", "items": {"type": plain}}
    return {}


def _schema(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}
