"""The documents as their tests read them: sections, tables, and blocks that can be run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
# A module of theirs that several share begins with _, and is no example.
EXAMPLES = sorted((ROOT / "examples").glob("[!_]*.py"))


class Block(NamedTuple):
    kind: str
    text: str
    follower: str
    """The kind of the next block."""
    printed: str
    """And its text."""


class Document:
    def __init__(self, name: str) -> None:
        self.name = name
        self.text = (ROOT / name).read_text(encoding="utf-8")
        found = [*re.findall(r"^```(\w+)\n(.*?)^```$", self.text, re.M | re.S), ("", "")]
        self.blocks = [Block(*block, *follower) for block, follower in pairwise(found)]

    def section(self, title: str) -> str:
        """What stands below a heading, up to the next one."""
        found = re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^##+ |\Z)", self.text, re.M | re.S)
        assert found, f'{self.name} has no heading "{title}"'
        return found[1]

    def rows(self, title: str, table: int = 0) -> list[list[str]]:
        """The cells of a table below a heading, the first if not said, without its head."""
        tables = re.findall(r"(?:^\|.*\n)+", self.section(title), re.M)
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in tables[table].splitlines()[2:]]

    def named(self, title: str, table: int = 0) -> list[str]:
        """The names in the first column of a table, which may hold several in a row."""
        return [name for row in self.rows(title, table) for name in re.findall(r"`([^`]+)`", row[0])]


README, ARCHITECTURE, SECURITY = map(Document, ("README.md", "ARCHITECTURE.md", "SECURITY.md"))
PAGES = {path.stem: Document(f"docs/{path.name}") for path in sorted((ROOT / "docs").glob("*.md"))}
AGENT, HOME, SETTINGS, SANDBOX, NETWORK, FILES, NEURONS, CODE_MODE, CLIENTS, SHELL = (
    PAGES[name]
    for name in (
        *("agent", "home", "settings", "sandbox", "network", "files", "neurons", "code-mode", "clients", "commands"),
    )
)


def commands(console: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, with the lines that follow it."""
    for part in re.split(r"^\$ ", console, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        yield command, expected


def matches(expected: str, actual: str) -> bool:
    """True if both are the same text, where … stands for anything, also for several lines."""
    pattern = ".*".join(re.escape(part) for part in expected.rstrip().split("…"))
    return re.fullmatch(pattern, actual.rstrip(), re.S) is not None


def assert_prints(expected: str, actual: str) -> None:
    assert matches(expected, actual), f"expected:\n{expected}\nbut it printed:\n{actual}"


def environment(home: Path, **more: str) -> dict[str, str]:
    """What a reader's shell has: this installation's commands first, a home that is new, and no settings of the person
    who tests."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CORTEX_", "OPENAI_"))}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**clean, "PATH": path, "PYTHONUTF8": "1", "XDG_DATA_HOME": str(home), **more}


def run_python(*arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        env=environment(folder / "data", PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # A very busy machine may need more than one start for a process that waits; that is said, and nothing else.
    said = [line for line in done.stderr.splitlines() if not line.startswith("Cannot start Deno: it was not ready")]
    assert said == [], done.stderr
    return done.stdout
