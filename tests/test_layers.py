"""Packages and rooms import only what is to their left, and through its door; no module imports in a circle.

A room is a folder of a package. STREETS has the rooms of each package from left to right; "." is the modules at the
root of the package, which put the rooms together.
"""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STREET = ("sandbox", "neurons", "cortex")
STREETS = {
    "sandbox": (
        *("contracts", "jail", "disk", "network", "workspace", "ports", "process", "tool_types", "guard", "run"),
        *("resident", "wall", "."),
    ),
    "neurons": ("contracts", "switch", "storage", "habits", "pipeline", "autonomic", "functions", "quarantine", "."),
    "cortex": (
        *("text", "settings", "http", "contracts", "energy", "redaction", "tools", "loop", "channels", "audit"),
        *("home", "inbox", "runs", "cache", "mcp_config", "mcp_wire", "models", "show", "discovery", "mcp_client"),
        *("catalogue", "turn", "jobs", "workflows", "learning", "views", "replay", "telemetry", "mcp_server", "."),
        *("chat", "demo"),
        *("console", "commands"),
    ),
}
# The root of a package holds its door, what puts its rooms together, and what others test with.
AT_THE_ROOT = {
    "sandbox": {"__init__", "doctor", "layer_checks", "runtime", "testing"},
    "neurons": {"__init__"},
    "cortex": {"__init__", "motor_cortex"},
}
# Doors themselves are made by it, so it cannot come through one.
LAZY_DOORS = "sandbox.contracts.lazy_doors"
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


@functools.cache
def modules() -> list[tuple[str, Path, ast.Module]]:
    return [
        (folder, path, ast.parse(path.read_text(encoding="utf-8")))
        for folder in STREET
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]


@functools.cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    return list(ast.walk(tree))


@pytest.fixture(autouse=True, scope="module")
def trees_are_forgotten() -> Iterator[None]:
    """The trees of all modules need 100 MB."""
    yield
    modules.cache_clear()
    nodes.cache_clear()


def imports(tree: ast.Module, *, at_run_time: bool = False) -> Iterator[tuple[str, int, ast.stmt]]:
    """Module names and the level of dots. At run time: without those that only the type checker sees."""
    skipped = {
        id(inner)
        for node in (nodes(tree) if at_run_time else ())
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in nodes(tree):
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


def room_of(path: Path) -> str:
    """The room of a module; "." at the root of a package."""
    parts = path.relative_to(ROOT).parts
    return parts[1] if len(parts) > 2 else "."


def imported_within(package: str, path: Path, tree: ast.Module) -> Iterator[str]:
    """The dotted names of the modules and doors of its own package that a module imports from."""
    above = path.relative_to(ROOT).parts[:-1]
    for name, level, node in imports(tree):
        base = ".".join((*above[: len(above) - level + 1], *([name] if name else []))) if level else name
        if base.split(".")[0] != package:
            continue
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            # `from . import kernel` and `from cortex import commands` take a module, not a name of the door.
            inner = ROOT.joinpath(*base.split("."), alias.name)
            yield f"{base}.{alias.name}" if inner.is_dir() or inner.with_suffix(".py").is_file() else base
        if isinstance(node, ast.Import):
            yield base


def test_every_room_has_its_place_in_the_street():
    found: dict[str, set[str]] = {package: {"."} for package in STREET}
    for package, path, _ in modules():
        found[package].add(room_of(path))
        if room_of(path) == ".":
            assert path.stem in AT_THE_ROOT[package], f"{path.relative_to(ROOT)} belongs into a room"
    assert found == {package: set(rooms) for package, rooms in STREETS.items()}


def test_a_room_imports_only_rooms_to_its_left_and_through_their_doors():
    wrong = []
    for package, path, tree in modules():
        room, street, here = room_of(path), STREETS[package], path.relative_to(ROOT)
        if path.parent == ROOT / package and path.stem == "__init__":
            continue  # the door of the package opens every room
        for target in imported_within(package, path, tree):
            parts = target.split(".")
            other = "." if len(parts) == 1 or ROOT.joinpath(*parts[:2]).with_suffix(".py").is_file() else parts[1]
            if target == LAZY_DOORS or other == room:
                continue
            if street.index(other) > street.index(room):
                wrong.append(f"{here} imports {target}, which is to its right")
            elif other != "." and len(parts) > 2:
                wrong.append(f"{here} imports {target} past the door")
    assert wrong == []


def test_a_room_does_not_come_back_through_its_own_door():
    wrong = [
        f"{path.relative_to(ROOT)} imports {target}"
        for package, path, tree in modules()
        for target in imported_within(package, path, tree)
        if path.stem != "__init__" and target == f"{package}.{room_of(path)}"
    ]
    assert wrong == []


def rooms() -> list[str]:
    return [f"{package}.{room}" for package, found in STREETS.items() for room in found if room != "."]


# Settings and protocols are tested through those who use them, and the wall where the jail is; the workbench in turns.
TESTED_ELSEWHERE = {"sandbox.ports", "sandbox.wall", "cortex.catalogue", "cortex.mcp_wire"}


def test_tests_have_a_folder_for_each_room_and_no_other():
    folders = {
        f"{package}.{path.name}"
        for package in STREET
        for path in (ROOT / "tests" / package).iterdir()
        if (path / "__init__.py").is_file()
    }
    assert folders == {*rooms()} - TESTED_ELSEWHERE


@pytest.mark.parametrize("room", [*STREET, *rooms()])
def test_a_door_says_what_is_behind_it_and_opens_for_each_of_its_names(room):
    if room == "cortex.commands":
        pytest.skip("its door is the command line itself")
    door = importlib.import_module(room)
    assert door.__doc__
    assert list(door.__all__) == sorted(door.__all__)
    folder = ROOT.joinpath(*room.split("."))
    for name in door.__all__:
        assert getattr(door, name) is not None
        # The module would stand in for the name as soon as it is loaded.
        assert not (folder / name).with_suffix(".py").is_file(), f"{room} has a module and a name {name}"
    typed = {
        alias.asname or alias.name
        for _, _, node in imports(ast.parse(Path(door.__file__).read_text()))
        for alias in node.names
    }
    assert {*door.__all__} <= typed or room == "sandbox.jail", "the names for the type checker are others"


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


def test_processes_are_started_and_killed_in_few_files_only():
    allowed = {
        "cortex/channels/desktop.py",  # the desktop's own command for notifications
        "cortex/commands/workflow_detach.py",  # this program again, for a run that outlives the terminal
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
        for node in nodes(tree):
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
        "cortex/channels/desktop.py",  # whether there is a session that shows notifications
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


def test_files_are_locked_appended_and_flushed_in_few_rooms_only():
    """The kill switch and workspaces have reasons of their own, written where they do it."""
    rooms = {"sandbox/disk", "sandbox/workspace", "neurons/switch"}
    used = {
        f"{path.relative_to(ROOT)} uses {ast.unparse(node)}"
        for _, path, tree in modules()
        for node in nodes(tree)
        if str(path.parent.relative_to(ROOT)) not in rooms
        and isinstance(node, ast.Attribute)
        and node.attr in {"replace", "fsync", "O_APPEND", "flock"}
        and ast.unparse(node) in {"os.replace", "os.fsync", "os.O_APPEND", "fcntl.flock"}
    }
    assert used == set()


def test_a_public_class_name_occurs_once_in_a_package():
    places: dict[tuple[str, str], list[str]] = {}
    for package, path, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault((package, node.name), []).append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def behind_doors() -> dict[tuple[str, str], str]:
    """The module of each name that a door has."""
    found = {}
    for room in (*STREET, *rooms()):
        tree = ast.parse(ROOT.joinpath(*room.split("."), "__init__.py").read_text(encoding="utf-8"))
        for name, level, node in imports(tree):
            found.update({(room, alias.name): f"{room}.{name}" for alias in node.names if level == 1 and name})
    return found


def test_a_small_module_with_one_importer_says_why_it_is_one():
    """A module under 50 lines belongs into its only importer, unless its docstring has the reason."""
    behind, importers, small = behind_doors(), dict[str, set[str]](), list[str]()
    for _, path, tree in modules():
        here = path.relative_to(ROOT).with_suffix("").parts
        if path.stem == "__init__":
            continue
        for name, level, node in imports(tree):
            base = ".".join((*here[: len(here) - level], *([name] if name else []))) if level else name
            for alias in node.names:
                importers.setdefault(behind.get((base, alias.name), base), set()).add(".".join(here))
                importers.setdefault(f"{base}.{alias.name}", set()).add(".".join(here))
        if len(path.read_text().splitlines()) < 50 and "module of its own" not in (ast.get_docstring(tree) or ""):
            small.append(".".join(here))
    assert {name: importers[name] for name in small if len(importers.get(name, ())) == 1} == {}


def test_no_other_package_asks_whether_a_runtime_is_deno():
    """What the kill switch, the cache and the doctor need of a runtime is a port."""
    asked = [
        str(path.relative_to(ROOT))
        for package, path, tree in modules()
        for node in nodes(tree)
        if package != "sandbox"
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and "DenoRuntime" in ast.dump(node)
    ]
    assert asked == []
