"""Any sequence of file calls does the same as in a real folder (property tests), and only when it is committed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
from hypothesis import given, settings, strategies as st

from sandbox.contracts.errors import ToolError
from sandbox.contracts.frames import FileCall
from sandbox.workspace.transaction import _PARAMS

from .support import MEMORY, Files, contents

NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
DATA = st.sampled_from([b"", b"alpha", b"beta", b"longer text"])
CALLS = st.one_of(
    st.tuples(st.just("write"), PATHS, DATA),
    st.tuples(st.just("append"), PATHS, DATA),
    st.tuples(st.just("append in pieces"), PATHS, DATA),
    st.tuples(st.just("create_new"), PATHS, DATA),
    st.tuples(st.just("mkdir"), PATHS),
    st.tuples(st.just("mkdirs"), PATHS),
    st.tuples(st.just("remove"), PATHS),
    st.tuples(st.just("rmtree"), PATHS),
    st.tuples(st.just("rename"), PATHS, PATHS),
    st.tuples(st.just("copy"), PATHS, PATHS),
    st.tuples(st.just("read"), PATHS),
    st.tuples(st.just("list"), PATHS),
)
# Each name either a file or a folder of such.
TREES = st.recursive(DATA, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8)


def really(folder: Path, call: tuple) -> object:
    """The same call on a real folder, by the system itself."""
    verb, path = call[0], folder / call[1]
    match verb:
        case "write":
            path.write_bytes(call[2])
        case "append" | "append in pieces":
            with path.open("ab") as file:
                file.write(call[2])
        case "create_new":
            with path.open("xb") as file:
                file.write(call[2])
        case "mkdir":
            path.mkdir()
        case "mkdirs":
            path.mkdir(parents=True, exist_ok=True)
        case "remove":
            path.rmdir() if path.is_dir() else path.unlink()
        case "rmtree":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        case "rename":
            path.rename(folder / call[2])
        case "copy":
            data = path.read_bytes()
            (folder / call[2]).write_bytes(data)
        case "read":
            return path.read_bytes()
        case "list":
            return sorted(os.listdir(path))
    return None


async def here(run: Files, call: tuple) -> object:
    verb, path = call[0], call[1]
    match verb:
        case "write":
            await run.write(path, call[2])
        case "append":
            await run.write(path, call[2], append=True)
        case "append in pieces":
            data = call[2]
            for number in range(len(data)):
                await run.piece(path, data[number : number + 1], size=len(data), append=True)
            await run.piece(path, b"", size=len(data), append=True, last=True)
        case "create_new":
            await run.write(path, call[2], create_new=True)
        case "mkdir" | "mkdirs":
            await run.mkdir(path, recursive=verb == "mkdirs")
        case "remove" | "rmtree":
            await run.remove(path, recursive=verb == "rmtree")
        case "rename":
            await run.rename(path, call[2])
        case "copy":
            await run.copy(path, call[2])
        case "read":
            return await run.read(path)
        case "list":
            return await run.names(path)
    return None


def plant(folder: Path, tree: object) -> None:
    for name, inner in tree.items() if isinstance(tree, dict) else ():
        if isinstance(inner, dict):
            (folder / name).mkdir()
            plant(folder / name, inner)
        else:
            (folder / name).write_bytes(inner)


def kinds(before: dict, after: dict) -> Iterator[tuple[str, str]]:
    """What changed between two folders, as it should be listed."""
    for name in before.keys() | after.keys():
        old, new = (name in before) and (before[name] is None), (name in after) and (after[name] is None)
        if name in before and name in after and not old and not new:
            if before[name] != after[name]:
                yield "changed", name
        elif not (old and new):
            if name in before:
                yield "removed", name + "/" * old
            if name in after:
                yield "added", name + "/" * new


async def check(top: Path, tree: object, calls: list[tuple]) -> None:
    granted, model = top / "granted", top / "model"
    for folder in (granted, model):
        folder.mkdir()
        plant(folder, tree)
    before = contents(granted)
    run = Files(granted)
    for call in calls:
        expected: object = None
        answer: object = None
        try:
            expected = really(model, call)
        except OSError:
            expected = "refused"
        try:
            answer = await here(run, call)
        except ToolError:
            answer = "refused"
        assert answer == expected, call
    changes = run.changes()
    assert contents(granted) == before
    after = contents(model)
    assert sorted((change.kind, change.path) for change in changes) == sorted(kinds(before, after))
    for change in changes:
        if not change.is_folder:
            assert change.size == (None if change.kind == "removed" else len(after[change.path]))
            assert change.old_size == (None if change.kind == "added" else len(before[change.path]))
    await changes.commit()
    assert contents(granted) == after


@settings(max_examples=100, deadline=None)
@given(tree=st.dictionaries(NAMES, TREES, max_size=3), calls=st.lists(CALLS, max_size=15))
def test_any_sequence_of_calls_does_what_it_does_in_a_real_folder(tree, calls):
    with tempfile.TemporaryDirectory(dir=MEMORY) as top:
        anyio.run(check, Path(top), tree, calls)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | PATHS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(sorted({name for params in _PARAMS.values() for name in params}))


async def ask(folder: str, calls: list[tuple[str, dict]]) -> None:
    run = Files(folder)
    for operation, params in calls:
        # Whatever it is, the host has an answer to it, or a reason.
        with contextlib.suppress(ToolError):
            json.loads(await run.transaction.answer(FileCall("1", operation, params)))
    run.transaction.drop()


@settings(max_examples=60, deadline=None)
@given(calls=st.lists(st.tuples(st.sampled_from([*_PARAMS, "chmod", ""]), st.dictionaries(KEYS, JSON)), max_size=10))
def test_no_call_that_the_code_can_make_up_raises_anything_but_a_refusal(calls):
    with tempfile.TemporaryDirectory(dir=MEMORY) as top:
        anyio.run(ask, top, calls)


@st.composite
def shaped(draw: st.DrawFn) -> tuple[str, dict]:
    """Calls of the right shape with any content."""
    operation = draw(st.sampled_from(list(_PARAMS)))
    wild = PATHS | st.text() | st.sampled_from([".", "..", "/", "/workspace", "/etc/passwd", "a/../../b", "YQ=="])
    values = {str: wild, bool: st.booleans(), int: st.integers(-1, 5)}
    return operation, {name: draw(values[kind]) for name, kind in _PARAMS[operation].items()}


@settings(max_examples=60, deadline=None)
@given(calls=st.lists(shaped(), max_size=10))
def test_no_call_of_the_right_shape_raises_anything_but_a_refusal(calls):
    with tempfile.TemporaryDirectory(dir=MEMORY) as top:
        granted = Path(top, "granted")
        granted.mkdir()
        anyio.run(ask, str(granted), calls)
        assert contents(Path(top)) == {"granted": None}
