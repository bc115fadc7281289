"""Reads a folder of the Agent Skills format as a proposal. Nothing in it is run, and nothing outside of it is read.

The folder is from anywhere: only its SKILL.md, its neuron.json and one script are opened, each a plain file below the
folder and no link, with at most a fixed number of bytes.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortex.text import beginning
from neurons import Proposal

from .skill_module import NoBody, body_of, is_module

MAX_TEXT_BYTES = 64 * 1024
MAX_FILE_BYTES = 512 * 1024
MAX_FILES = 200
MAX_PURPOSE = 500
DEFAULT_ENERGY = 0.02
_SCRIPTS = (".ts", ".js", ".mjs")
_OTHERS = {".py": "Python", ".sh": "a shell script", ".rb": "Ruby", ".ps1": "PowerShell", ".tsx": "TSX", ".jsx": "JSX"}
_NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
# What a document of ours says of code and rights. Its status, its approvals and its history mean nothing elsewhere.
_OF_A_PROPOSAL = (
    *("name", "code", "inputSignals", "outputSignals", "energyBudget", "tier", "hosts", "tools"),
    *("kind", "schedules", "emission", "parameters", "returns"),
)
_KEY = re.compile(r"(name|description):[ \t]*(.*)")
_EMITTED = re.compile(r"""\bemit\(\s*["'`]([a-z][a-z0-9_.]{0,63})["'`]""")


class NoSkill(Exception):
    """The folder cannot be imported. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the owner says of the neuron on the command line. Empty for what was not said."""

    name: str = ""
    kind: str = ""
    script: str = ""
    on: Sequence[str] = ()
    schedules: Sequence[str] = ()
    emits: Sequence[str] = ()
    tools: Sequence[str] = ()
    hosts: Sequence[str] = ()
    parameters: str = ""
    energy: float | None = None


def proposal_from(folder: Path, wishes: Wishes) -> Proposal:
    """The proposal that the folder and the owner's wishes make. Raises NoSkill, and Refused for what is not allowed."""
    with _opened(folder) as place:
        head = _front_matter(_text(place, "SKILL.md", MAX_TEXT_BYTES))
        names = _listed(place)
        found = _of_document(place) if "neuron.json" in names else _of_script(place, names, head, wishes)
    return Proposal.of({**found, **_wished(wishes)})


def _of_document(place: int) -> dict[str, Any]:
    """From our own export: exactly the code and the rights that it had."""
    text = _text(place, "neuron.json", MAX_FILE_BYTES)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise NoSkill("neuron.json is not JSON that can be read") from None
    if not isinstance(document, dict):
        raise NoSkill("neuron.json is not a document of a neuron")
    about = document.get("metadata")
    purpose = about.get("purpose") if isinstance(about, dict) else None
    found = {key: document[key] for key in _OF_A_PROPOSAL if key in document}
    return {**found, "purpose": _purpose(purpose)}


def _of_script(place: int, names: Sequence[str], head: Mapping[str, str], wishes: Wishes) -> dict[str, Any]:
    if "scripts" not in names:
        raise NoSkill("it has no folder scripts: instructions alone cannot be learned")
    with _opened_below(place, "scripts") as scripts:
        name = _chosen(_listed(scripts), wishes.script)
        code = _text(scripts, name, MAX_FILE_BYTES)
    is_neuron = wishes.kind == "neuron" or (not wishes.kind and bool(wishes.on or wishes.schedules))
    parameters: dict[str, Any] | None = dict(_NO_PARAMETERS)
    if "import.meta" in code:
        raise NoSkill(f"scripts/{name} uses import.meta, which only a module has: take it out")
    if is_module(code):
        try:
            body = body_of(code, is_neuron=is_neuron)
        except NoBody as error:
            raise NoSkill(f"scripts/{name} is a module that cannot be rewritten plainly: {error}") from error
        code, parameters = body.code, body.parameters
    if parameters is None and not (is_neuron or wishes.parameters):
        raise NoSkill(
            f"scripts/{name} does not say what its function is called with: give the JSON Schema with --parameters"
        )
    shape = (
        {"kind": "neuron", "outputSignals": list(dict.fromkeys(_EMITTED.findall(code)))}
        if is_neuron
        else {"kind": "function", "parameters": parameters}
    )
    return {
        "name": head.get("name", ""),
        "purpose": _purpose(head.get("description")),
        "code": code,
        "energyBudget": DEFAULT_ENERGY,
        **shape,
    }


def _wished(wishes: Wishes) -> dict[str, Any]:
    """What the owner said, in place of what the folder says."""
    given: dict[str, Any] = {
        "name": wishes.name,
        "kind": wishes.kind,
        "inputSignals": wishes.on,
        "schedules": wishes.schedules,
        "outputSignals": wishes.emits,
        "tools": wishes.tools,
        "hosts": wishes.hosts,
        "tier": "network" if wishes.hosts else "",
        "energyBudget": wishes.energy,
        "parameters": _parameters(wishes.parameters) if wishes.parameters else None,
    }
    kept = {key: value for key, value in given.items() if value not in ("", (), [], None)}
    if not (wishes.on or wishes.schedules):
        return kept
    if wishes.kind == "function":
        raise NoSkill("a function is called by code: --on, --every, --at and --once are for a neuron")
    # What a function was called with, and gave back, means nothing to a neuron.
    return {**kept, "kind": "neuron", "parameters": kept.get("parameters"), "returns": None}


def _parameters(text: str) -> Any:
    try:
        return json.loads(text[:MAX_TEXT_BYTES])
    except (ValueError, RecursionError):
        raise NoSkill('--parameters is a JSON Schema, like {"type": "object", "properties": {}}') from None


def _chosen(names: Sequence[str], wanted: str) -> str:
    """The one script that can be learned, or the one that is wanted."""
    scripts = [name for name in names if name.endswith(_SCRIPTS)]
    if wanted:
        if wanted not in scripts:
            raise NoSkill(f'scripts has no TypeScript or JavaScript file "{wanted[:80]}"; it has {_some(names)}')
        return wanted
    if len(scripts) > 1:
        raise NoSkill(f"scripts has several files that can be learned; choose one with --script: {_some(scripts)}")
    if scripts:
        return scripts[0]
    other = next((f'"{name}" is {_OTHERS[end]}' for name in names if (end := os.path.splitext(name)[1]) in _OTHERS), "")
    raise NoSkill(
        "scripts has no TypeScript or JavaScript file, and nothing else runs here"
        f"{f': {other}. Rewrite it as a TypeScript function first' if other else ''}"
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(name[:60] for name in names[:8]) or "nothing"


def _purpose(text: Any) -> str:
    words = " ".join(text.split()) if isinstance(text, str) else ""
    return (
        beginning("".join(each for each in words if each.isprintable()), MAX_PURPOSE) or "It does not say what it does"
    )


def _front_matter(text: str) -> dict[str, str]:
    """`name` and `description` of the head between two lines of `---`: YAML as it is written there, and no more."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].strip() != "---":
        raise NoSkill("SKILL.md does not begin with a line of ---, and name and description below it")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
    if end is None:
        raise NoSkill("the head of SKILL.md has no end: a second line of --- is missing")
    found: dict[str, str] = {}
    for at, line in enumerate(lines[1:end], 1):
        if (key := _KEY.match(line)) and key[1] not in found:
            found[key[1]] = _scalar(key[2].strip(), lines[at + 1 : end])
    if missing := [key for key in ("name", "description") if not found.get(key)]:
        raise NoSkill(f"the head of SKILL.md has no {missing[0]}")
    return found


def _scalar(text: str, below: Sequence[str]) -> str:
    """A plain or quoted value on one line, or the indented lines below."""
    if text[:1] in {">", "|", ""}:
        more = []
        for line in below:
            if line.strip() and not line.startswith((" ", "\t")):
                break
            more.append(line.strip())
        return " ".join(" ".join(more).split())
    if text[0] == '"':
        try:
            value = json.loads(text)
        except ValueError:
            return text.strip('"')
        return value if isinstance(value, str) else text
    return text[1:-1].replace("''", "'") if text[0] == "'" and text[-1] == "'" and len(text) > 1 else text


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    try:
        # The owner named the folder, and may name it by a link. No file in it may be one.
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise NoSkill(
            f'"{folder}" cannot be opened as a folder: {getattr(error, "strerror", None) or error}'
        ) from error
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _opened_below(place: int, name: str) -> Iterator[int]:
    try:
        handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
    except OSError as error:
        raise NoSkill(f"{name} is no folder: {_why_not(error)}") from error
    try:
        yield handle
    finally:
        os.close(handle)


def _why_not(error: OSError) -> str:
    """A link gives ELOOP, or ENOTDIR where a folder was wanted."""
    is_missing = isinstance(error, FileNotFoundError)
    return "there is none in this folder" if is_missing else f"links are not followed ({error.strerror})"


def _listed(place: int) -> list[str]:
    names: list[str] = []
    with os.scandir(place) as entries:
        for entry in entries:
            if len(names) == MAX_FILES:
                raise NoSkill(f"it has a folder with more than {MAX_FILES} files")
            names.append(entry.name)
    return sorted(names)


def _text(place: int, name: str, most: int) -> str:
    try:
        # Not blocking: a pipe would wait for a writer for ever.
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
    except OSError as error:
        raise NoSkill(f"{name} cannot be read: {_why_not(error)}") from error
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise NoSkill(f"{name} is no plain file")
        data = file.read(most + 1)
    if len(data) > most:
        raise NoSkill(f"{name} has more than {most:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NoSkill(f"{name} is not UTF-8: invalid byte at position {error.start}") from error
