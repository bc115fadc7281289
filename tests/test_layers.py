"""A folder imports only folders to its left, and through their door; no module imports in a circle."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STREET = ("sandbox", "neurons", "cortex")
PROCESS_CALLS = {
    "Popen",
    "fork",
    "posix_spawn",
    "posix_spawnp",
    "kill",
    "killpg",
    "execve",
    "open_process",
    "run_process",
}


def modules() -> Iterator[tuple[str, Path, ast.Module]]:
    for folder in STREET:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield folder, path, ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.Module, *, at_run_time: bool = False) -> Iterator[tuple[str, int, ast.stmt]]:
    """Module names and the level of dots. At run time: without those that only the type checker sees."""
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if at_run_time and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, 0, node
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.level, node


def test_folders_import_only_to_their_left_and_through_doors():
    wrong = []
    for folder, path, tree in modules():
        for name, level, _ in imports(tree):
            head, _, rest = name.partition(".")
            if level or head not in STREET or head == folder:
                continue
            if STREET.index(head) > STREET.index(folder):
                wrong.append(f"{path.relative_to(ROOT)} imports {name}, which is to its right")
            elif rest:
                wrong.append(f"{path.relative_to(ROOT)} imports {name} past the door")
    assert wrong == []


def test_no_module_imports_in_a_circle():
    needs: dict[str, set[str]] = {}
    for folder, path, tree in modules():
        parts = path.relative_to(ROOT).with_suffix("").parts
        module = ".".join(parts)
        package = parts[:-1]
        found = set()
        for name, level, node in imports(tree, at_run_time=True):
            if level:
                base = package[: len(package) - level + 1]
                found.add(".".join((*base, name)) if name else ".".join(base))
                if not name and isinstance(node, ast.ImportFrom):
                    found.update(".".join((*base, alias.name)) for alias in node.names)
            elif name.split(".")[0] == folder:
                found.add(name)
        needs[module] = found - {module}
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, " → ".join((*above, module))
        if module in done:
            return
        for needed in needs.get(module, ()):
            if needed in needs:
                visit(needed, (*above, module))
        done.add(module)

    for module in needs:
        visit(module, ())


@pytest.mark.parametrize("folder", STREET)
def test_doors_are_sorted_and_tell_the_truth(folder):
    door = importlib.import_module(folder)
    assert list(door.__all__) == sorted(door.__all__)
    for name in door.__all__:
        assert getattr(door, name) is not None


def test_processes_are_started_and_killed_in_few_files_only():
    allowed = {
        "cortex/mcp_client/child.py",
        "sandbox/process/children.py",
        "sandbox/process/killing.py",
        "sandbox/process/process.py",
        "sandbox/process/fork_server.py",
        "sandbox/jail/build.py",
        "sandbox/jail/launcher.py",
        "sandbox/jail/libraries.py",
        "sandbox/layer_checks.py",
    }
    found = set()
    for _, path, tree in modules():
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="os" | "subprocess" | "anyio" | "asyncio"), attr=name)
                ):
                    if name in PROCESS_CALLS:
                        found.add(str(path.relative_to(ROOT)))
    assert found <= allowed


def test_the_jail_imports_the_standard_library_only():
    """The launcher runs it in a small process, where there is nothing else."""
    import sys

    for _, path, tree in modules():
        if path.parent.name == "jail":
            for name, level, _ in imports(tree):
                assert level == 1 or name.split(".")[0] in sys.stdlib_module_names, f"{path} imports {name}"


def test_no_module_reads_the_environment_behind_its_callers_back():
    readers = {str(path.relative_to(ROOT)) for _, path, tree in modules() if "attr='environ'" in ast.dump(tree)}
    assert readers <= {
        "cortex/commands/editor.py",
        "cortex/settings/home_path.py",
        "cortex/mcp_client/servers.py",
        "cortex/settings/settings.py",
        "cortex/text/terminal.py",
        "sandbox/disk/data_files.py",
        "sandbox/network/broker.py",
        "sandbox/process/children.py",
        "sandbox/process/killing.py",
    }
