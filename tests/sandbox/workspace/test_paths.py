"""How the paths that the code uses are resolved to names beneath the workspace."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from sandbox.contracts.errors import ToolError
from sandbox.workspace.paths import MAX_DEPTH, MAX_NAME_BYTES, RESERVED, quoted, resolve, usable

from .support import refused

FOLDER = "/srv/granted"


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a.txt", ("a.txt",)),
        ("./d/a.txt", ("d", "a.txt")),
        ("d//a.txt/", ("d", "a.txt")),
        (".", ()),
        ("/workspace", ()),
        ("/workspace/", ()),
        ("/workspace/d/../a.txt", ("a.txt",)),
        ("//workspace//a", ("a",)),
        ("/srv/granted/d/a", ("d", "a")),
        ("/srv/granted", ()),
        ("d/../e", ("e",)),
        ("ünï/文.txt", ("ünï", "文.txt")),
        ("...", ("...",)),
        ("a b", ("a b",)),
        ("👨‍👩‍👧.png", ("👨‍👩‍👧.png",)),
        ("back\\slash", ("back\\slash",)),
        ("x" * MAX_NAME_BYTES, ("x" * MAX_NAME_BYTES,)),
        ("/".join(["d"] * MAX_DEPTH), ("d",) * MAX_DEPTH),
    ],
)
def test_a_path_means_names_beneath_the_workspace(path, parts):
    assert resolve(path, FOLDER) == parts


@pytest.mark.parametrize(
    ("folder", "path", "parts"),
    [
        ("/workspace/project", "/workspace/project/a.txt", ("a.txt",)),
        ("/workspace/project", "/workspace/project", ()),
        ("/workspace/project", "/workspace/a.txt", ("a.txt",)),
        ("/workspace/project", "/workspace/projects/a.txt", ("projects", "a.txt")),
        ("/workspace/project", "project/a.txt", ("project", "a.txt")),
        ("/workspace", "/workspace/a.txt", ("a.txt",)),
        ("/", "/workspace/a.txt", ("a.txt",)),
        ("/", "/etc/a.txt", ("etc", "a.txt")),
    ],
)
def test_a_folder_that_really_lies_below_the_mount_point_is_known_by_both_names(folder, path, parts):
    assert resolve(path, folder) == parts


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../a",
        "d/../../a",
        "/workspace/..",
        "/workspace/../etc/passwd",
        "/etc/passwd",
        "/",
        "/workspaces/a",
        "/workspace2",
        "/srv/granted2/a",
        "/srv",
        "/srv/granted/../other",
        "/x/../workspace/a",
        "/proc/self/root/workspace",
    ],
)
def test_a_path_outside_is_refused_and_the_refusal_names_the_workspace(path):
    with refused("PermissionDenied", match="/workspace"):
        resolve(path, FOLDER)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a\0b",
        "a\nb",
        "a\x1b[2J",
        "a\x7f",
        "a\x85b",
        "a\x9bb",
        "a\u202eb",
        "a\u2066b",
        "a\u200fb",
        "a\u061cb",
        "a\u2028b",
        "a\u2029b",
        "a\ud800b",
        "x" * (MAX_NAME_BYTES + 1),
        "é" * 128,
        "a/" * 2100,
        "/".join(["d"] * (MAX_DEPTH + 1)),
        None,
        1,
        True,
        ["a"],
        {"path": "a"},
        b"a",
    ],
    ids=ascii,
)
def test_a_path_that_is_no_path_is_refused(path):
    with refused("InvalidData"):
        resolve(path, FOLDER)


@pytest.mark.parametrize(
    "path",
    [
        f"{RESERVED}x",
        RESERVED,
        f"d/{RESERVED}x/journal",
        f"{RESERVED}x/../a",
        ".Motor-CORTEX-x",
        ".motor\u200b-cortex-x",
        f"/workspace/{RESERVED}1",
    ],
    ids=ascii,
)
def test_the_names_that_a_commit_uses_are_reserved(path):
    with refused("PermissionDenied", match="reserved"):
        resolve(path, FOLDER)


def test_a_message_shows_a_path_without_what_it_could_do_there():
    assert quoted("a\x1b[31m\u202e") == '"a\ufffd[31m\ufffd"'
    assert len(quoted("x" * 5000)) < 210


WILD = st.text(st.sampled_from("./\\ab\0\n\x85\u202e\ud800é~:*")) | st.text()
PIECES = st.lists(st.sampled_from(["..", ".", "", "a", "workspace", "srv", "granted", f"{RESERVED}1"]) | WILD)


@given(path=WILD | PIECES.map("/".join) | PIECES.map(lambda names: "/" + "/".join(names)) | st.integers() | st.none())
def test_no_input_leaves_the_workspace_and_none_raises_anything_else(path):
    refusal = None
    try:
        parts = resolve(path, FOLDER)
    except ToolError as error:
        refusal = error
    if refusal is not None:
        assert refusal.code in {"PermissionDenied", "InvalidData"}
        assert not {"Cc", "Cs", "Zl", "Zp"} & {unicodedata.category(letter) for letter in str(refusal)}
        return
    assert len(parts) <= MAX_DEPTH
    for name in parts:
        assert name not in ("", ".", "..")
        assert "/" not in name
        assert usable(name)
        assert len(name.encode()) <= MAX_NAME_BYTES
    # What it means is stable: said again in the workspace's own words, it means the same.
    assert resolve("/".join(("/workspace", *parts)), FOLDER) == parts
