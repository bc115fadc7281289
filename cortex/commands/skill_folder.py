"""Writes a neuron as a folder in the Agent Skills format: SKILL.md for people and agents, its code, and its document.

Texts that an agent wrote stand in quotes or in a file of their own, so that they are no instructions to another agent.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cortex.text import beginning, visible
from neurons import Neuron

MAX_NAME = 64
MAX_DESCRIPTION = 1024
# Fields that belong to this home: another home has its own, and an approval means nothing there.
_OF_THIS_HOME = {
    "approvals",
    "counters",
    "history",
    "last_emission",
    "outbox",
    "request",
    "seal",
    "state",
    "trial",
    "versions",
    "watch",
}

_SIGNAL = {
    "type": "string",
    "source": "string",
    "data": "any",
    "priority": "number",
    "at": "number",
    "id": "string",
    "correlation": "string",
    "parent": "string | null",
}


def write_skill(neuron: Neuron, to: Path) -> Path:
    """Make the folder in `to`, which is made if it is missing, and return it. Raises FileExistsError, and OSError.

    The folder appears whole or not at all.
    """
    try:
        to.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise FileExistsError(f'"{to}" is a file and not a folder, or below one') from None
    folder = to / skill_name(neuron)
    if folder.exists():
        raise FileExistsError(f'"{folder}" is there already')
    unfinished = Path(tempfile.mkdtemp(prefix=".motor-cortex-", dir=to))
    try:
        for name, text in skill_files(neuron).items():
            (unfinished / name).parent.mkdir(exist_ok=True)
            (unfinished / name).write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
        unfinished.chmod(0o755)
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return folder


def skill_files(neuron: Neuron) -> dict[str, str]:
    return {
        "SKILL.md": _skill(neuron),
        "neuron.json": json.dumps(_portable(neuron), indent=2, ensure_ascii=False) + "\n",
        "scripts/neuron.ts": _script(neuron),
    }


def skill_name(neuron: Neuron) -> str:
    """The id as the format allows it: at most 64 lower case letters, digits and single hyphens, no hyphen at an end."""
    return re.sub(r"-{2,}", "-", neuron.id)[:MAX_NAME].strip("-") or "neuron"


def _portable(neuron: Neuron) -> dict[str, Any]:
    document = neuron.model_dump(mode="json", by_alias=True, exclude=_OF_THIS_HOME)
    # The path of a folder on this machine is nobody's business elsewhere.
    document["metadata"].pop("source", None)
    return document


def _skill(neuron: Neuron) -> str:
    when = f"A program for these signals: {', '.join(neuron.input_signals)}."
    described = beginning(f"{when} {_quoted(neuron)}", MAX_DESCRIPTION)
    return "\n".join(
        [
            "---",
            f"name: {skill_name(neuron)}",
            # A JSON string is a YAML string: no text inside can end it, or begin another key.
            f"description: {json.dumps(described, ensure_ascii=False)}",
            f"compatibility: {json.dumps(_needs(neuron))}",
            "metadata:",
            f'  version: "{neuron.version}"',
            f"  author: {neuron.metadata.author}",
            f"  code-hash: {json.dumps(neuron.metadata.code_hash)}",
            "---",
            "",
            f"# {neuron.name}",
            "",
            *(f"> {_escaped(line)}" for line in visible(neuron.metadata.purpose).split("\n")),
            "",
            "A neuron of Motor Cortex: a little program that answers signals without a model.",
            f"It was written by {_author(neuron)}. A person who uses it elsewhere has to read its code first.",
            "",
            "| what | which |",
            "|---|---|",
            *(f"| {what} | {which} |" for what, which in _table(neuron)),
            "",
            "`scripts/neuron.ts` is called once for each signal, with the signal, the state that it keeps from one to",
            "the next, and `emit(type, data)`. `neuron.json` is its document, with the exact code that the hash is of.",
            "",
        ]
    )


def _quoted(neuron: Neuron) -> str:
    """The purpose as a quotation without markup: other agents load it into their prompts, and must not obey it."""
    purpose = re.sub(r'[<>"`]', "", visible(" ".join(neuron.metadata.purpose.split())))
    purpose = beginning(purpose, MAX_DESCRIPTION // 2)  # so that the quotes are closed
    return f'{_author(neuron).capitalize()} wrote it, and says of it: "{purpose}"' if purpose else ""


def _escaped(line: str) -> str:
    """The line with all Markdown characters escaped."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~-])", r"\\\1", line)


def _author(neuron: Neuron) -> str:
    return "an agent" if neuron.metadata.author == "agent" else "the owner of an agent"


def _needs(neuron: Neuron) -> str:
    hosts = f" and requests to {', '.join(neuron.hosts)}" if neuron.hosts else ""
    return beginning(f"TypeScript, run by Deno with the {neuron.tier} tier{hosts}", 500)


def _table(neuron: Neuron) -> list[tuple[str, str]]:
    return [
        ("listens to", _codes(neuron.input_signals)),
        ("may emit", _codes(neuron.output_signals)),
        ("tier", neuron.tier.value),
        ("hosts", _codes(neuron.hosts)),
        ("tools", _codes(neuron.tools)),
        ("energy for one signal", f"{neuron.energy_budget:g} at most"),
        ("status where it comes from", neuron.status.value.replace("_", " ")),
    ]


def _codes(names: Sequence[str]) -> str:
    return ", ".join(f"`{re.sub(r'[`|]', '', visible(name))}`" for name in names) or "none"


def _script(neuron: Neuron) -> str:
    return "\n".join(
        [
            f"// {neuron.name}, version {neuron.version}. The body is the code; what is around it makes it a module.",
            "",
            "// deno-lint-ignore-file no-explicit-any",
            "type Signal = {",
            *(f"  {name}: {kind};" for name, kind in _SIGNAL.items()),
            "};",
            "",
            "export default async function neuron(",
            "  signal: Signal,",
            "  state: Record<string, any>,",
            "  emit: (type: string, data?: unknown) => void,",
            "): Promise<any> {",
            neuron.code.rstrip("\n"),
            "}",
            "",
        ]
    )
