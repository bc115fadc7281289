"""Every claim in the documents that can be run is run: programs, commands, tables, links."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from cortex import load_settings, reply
from sandbox import (
    DenoRuntime,
    ErrorType,
    ExecutionRequest,
    HostRule,
    Layer,
    Metrics,
    NetworkPolicy,
    SandboxSettings,
    ToolDeclaration,
    ToolError,
    WorkspaceLimits,
)

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

FOLDERS = ("sandbox", "cortex", "deno", "config", "tests", "benchmarks", "examples")
FORBIDDEN = (
    # STYLE: words that say nothing here, and words that sell.
    *("synapse", "axon", "dopamine", "lobe", "manager", "handler", "helper", "utils"),
    *("seamless", "seamlessly", "robust", "powerful", "blazing", "effortless", "effortlessly", "cutting-edge"),
)

BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.M | re.S)
PROGRAMS = [(text, BLOCKS[n + 1][1]) for n, (kind, text) in enumerate(BLOCKS) if kind == "python"]
CONSOLES = [text for kind, text in BLOCKS if kind == "console"]


def commands(console: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, with the lines that follow it."""
    for part in re.split(r"^\$ ", console, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        yield command, expected


COMMANDS = [pair for console in CONSOLES for pair in commands(console)]


def section(title: str) -> str:
    """What stands below a heading, up to the next one."""
    found = re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^##+ |\Z)", README, re.M | re.S)
    assert found, f'README has no heading "{title}"'
    return found[1]


def rows(title: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def matches(expected: str, actual: str) -> bool:
    """True if both are the same text, where … stands for anything, also for several lines."""
    pattern = ".*".join(re.escape(part) for part in expected.rstrip().split("…"))
    return re.fullmatch(pattern, actual.rstrip(), re.S) is not None


def assert_prints(expected: str, actual: str) -> None:
    assert matches(expected, actual), f"expected:\n{expected}\nbut it printed:\n{actual}"


def environment(**more: str) -> dict[str, str]:
    """What a reader's shell has: this installation's commands first, and no settings of the person who tests."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CORTEX_")}
    return {**clean, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONUTF8": "1", **more}


def run_python(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=cwd,
        env=environment(PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_readme_has_something_to_run():
    assert len(PROGRAMS) >= 3
    assert all(BLOCKS[n + 1][0] == "text" for n, (kind, _) in enumerate(BLOCKS) if kind == "python")
    assert len(COMMANDS) >= 5


@pytest.mark.deno
@pytest.mark.parametrize(("program", "expected"), PROGRAMS, ids=lambda text: text.splitlines()[-1][:30])
def test_a_program_of_the_readme_prints_what_stands_below_it(program: str, expected: str, tmp_path: Path):
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    assert_prints(expected, run_python("program.py", cwd=tmp_path))


@pytest.mark.deno
@pytest.mark.parametrize(("command", "expected"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_of_the_readme_prints_what_stands_below_it(command: str, expected: str, tmp_path: Path):
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert_prints(expected, done.stdout)


@pytest.mark.deno
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_its_first_lines_say(example: Path, tmp_path: Path):
    text = example.read_text(encoding="utf-8")
    found = re.match(r'""".*?^Prints:\n\n(.*?)"""', text, re.M | re.S)
    assert found, f"{example.name} does not say what it prints"
    expected = re.sub(r"^    ", "", found[1], flags=re.M)
    assert_prints(expected, run_python(str(example), cwd=tmp_path))


def test_the_first_program_of_the_readme_is_the_first_example():
    text = (ROOT / "examples" / "first_run.py").read_text(encoding="utf-8")
    assert text.split('"""\n\n', 1)[1] == PROGRAMS[0][0]


class Broken:
    """The tool of the table of errors."""

    def declarations(self):
        return (ToolDeclaration("broken"),)

    async def call(self, name, arguments):
        raise ToolError("it never works")


@pytest.mark.deno
async def test_each_row_of_the_result_table_gives_what_it_says():
    async with DenoRuntime(SandboxSettings(pool_size=2)) as runtime:
        for code, expected in ((row[0].strip("`"), row[1].strip("`")) for row in rows("What a result may be")):
            answer = reply(await runtime.execute(ExecutionRequest(code=code)))
            assert answer.removeprefix("EXECUTION_ERROR: ") == expected, code


@pytest.mark.deno
async def test_each_row_of_the_error_table_gives_its_error():
    table = rows("Errors")
    assert {row[0].strip("`") for row in table} == set(ErrorType)
    async with DenoRuntime(SandboxSettings(pool_size=2)) as runtime:
        for type_, _, code in table:
            request = ExecutionRequest(code=code.strip("`"), timeout_ms=2_000 if "while" not in code else 200)
            error = (await runtime.execute(request, Broken())).error
            assert error is not None, code
            assert error.type == type_.strip("`"), (code, error)


def numbers(model: type[BaseModel]) -> dict[str, int]:
    """The limits of a model: its fields whose default is a number."""
    defaults = {name: value for name, value in dict(model()).items() if isinstance(value, int)}
    assert defaults
    return defaults


@pytest.mark.parametrize(
    ("title", "model"),
    [
        ("Limits", SandboxSettings),
        ("Limits of the network", NetworkPolicy),
        ("Limits of a workspace", WorkspaceLimits),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_table_of_limits_has_each_of_them_with_its_default(title: str, model: type[BaseModel]):
    described = {row[0].strip("`"): row[1] for row in rows(title)}
    defaults = numbers(model)
    assert described.keys() == defaults.keys()
    if "max_starting" in described:
        assert described.pop("max_starting") == "twice the cores"
        assert defaults["max_starting"] == 2 * (os.cpu_count() or 1)
    for name, cell in described.items():
        assert re.fullmatch(r"`[0-9_]+`", cell), (name, cell)
        assert int(cell.strip("`")) == defaults[name], name


def test_what_is_no_number_is_described_too():
    others = {*SandboxSettings.model_fields, *NetworkPolicy.model_fields} - {
        *numbers(SandboxSettings),
        *numbers(NetworkPolicy),
    }
    assert others >= {"deno_path", "require", "allow", "secrets_file", "recorder"}
    text = section("Settings") + section("The network") + section("Record and replay")
    assert [name for name in others if name not in text] == []


def named(title: str) -> list[str]:
    """The names in the first column of a table, which may hold several in a row."""
    return [name for row in rows(title) for name in re.findall(r"`([^`]+)`", row[0])]


def test_the_table_of_layers_names_each():
    assert named("The wall") == list(Layer)


def test_the_table_of_metrics_names_each():
    assert named("Metrics") == [field.name for field in dataclasses.fields(Metrics)]


def test_the_table_of_an_entry_names_each_part():
    assert named("The network") == list(HostRule.model_fields)


def test_the_options_of_run_are_those_of_the_command_line():
    parser = argparse.ArgumentParser(add_help=False)
    importlib.import_module("cortex.commands.run").add_arguments(parser)
    options = {option for action in parser._actions for option in action.option_strings}
    assert {name.split()[0] for name in named("Options of run")} == options | {"--config"}


def test_the_settings_of_the_readme_are_settings(tmp_path: Path):
    [text] = re.findall(r"^```toml\n(.*?)^```$", section("Settings"), re.M | re.S)
    (tmp_path / "settings.toml").write_text(text, encoding="utf-8")
    settings = load_settings(tmp_path / "settings.toml", {}).sandbox
    assert settings.require == (Layer.LANDLOCK, Layer.SECCOMP)
    assert settings.network.allow[0].headers == {"authorization": "Bearer ${env:EXAMPLE_TOKEN}"}


def test_the_exit_codes_are_those_of_the_command_line():
    from cortex.commands import exits

    described = {int(row[0]) for row in rows("Command line")}
    assert described == {value for value in vars(exits).values() if isinstance(value, int)}


def test_every_command_is_described():
    from cortex import commands as command_line

    assert all(f"`cortex {name}`" in README for name in command_line.COMMANDS)


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(document: Path):
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (document.parent / path).resolve() if path else document
        assert there.exists(), target
        if anchor:
            assert anchor in anchors(there.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_document_uses_a_word_that_we_leave_out(document: Path):
    words = re.compile(rf"\b(?:{'|'.join(FORBIDDEN)})s?\b", re.I)
    found = words.findall(document.read_text(encoding="utf-8"))
    assert not found


def test_every_file_that_a_document_names_exists():
    """`sandbox/pool.py` in a text is a promise too."""
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for name in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w/]+(?:\.\w+)?/?)`", text):
            there = ROOT / name
            assert there.is_dir() if name.endswith("/") else there.is_file(), f"{document.name} names {name}"


def test_every_public_name_is_in_the_readme():
    import cortex
    import sandbox

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for door in (sandbox, cortex) for name in door.__all__ if f"`{name}`" not in readme] == []
