"""Files that arrive in pieces: whole, or not at all."""

from __future__ import annotations

import pytest

from sandbox.workspace.transfers import MAX_UPLOADS

from .support import Files, contents, lines, refused

BIG = bytes(range(256)) * 40


async def send(run: Files, path: str, data: bytes = BIG, step: int = 1000, **options: object) -> None:
    for start in range(0, len(data), step):
        last = start + step >= len(data)
        await run.piece(path, data[start : start + step], size=len(data), last=last, **options)


async def test_a_file_in_pieces_is_written_with_the_last_of_them(folder):
    run = Files(folder)
    for start in range(0, len(BIG), 1024):
        assert await run.read("a.txt") == b"alpha"
        piece = BIG[start : start + 1024]
        await run.piece("a.txt", piece, size=len(BIG), last=start + 1024 >= len(BIG))
    assert await run.read("a.txt") == BIG
    await send(run, "a.txt", append=True)
    await send(run, "new", create_new=True)
    assert await run.read("a.txt") == BIG * 2
    await run.changes().commit()
    assert (folder / "a.txt").read_bytes() == BIG * 2
    assert (folder / "new").read_bytes() == BIG


async def test_a_run_that_ends_in_the_middle_of_a_file_leaves_it_as_it_was(folder):
    run = Files(folder)
    await run.piece("a.txt", BIG[:1000], size=len(BIG))
    await run.piece("new", BIG[:1000], size=len(BIG), upload=1)
    assert await run.names() == ["a.txt", "docs"]
    assert list(run.changes()) == []


async def test_files_in_pieces_do_not_mix(folder):
    run = Files(folder)
    for number, path in enumerate(("one", "two", "one")):
        await run.piece(path, bytes([number]) * 10, size=20, upload=number)
    for number, path in reversed(list(enumerate(("one", "two", "one")))):
        await run.piece(path, bytes([number]) * 10, size=20, upload=number, last=True)
    assert await run.read("two") == b"\1" * 20
    assert await run.read("one") == b"\0" * 20
    run.transaction.drop()


@pytest.mark.parametrize(
    "second",
    [
        {"path": "other"},
        {"path": "../outside"},
        {"path": ""},
        {"size": 21},
        {"append": True},
        {"create": False},
        {"create_new": True},
        {"data": b"1" * 11},
        {"data": b"1" * 9, "last": True},
    ],
    ids=str,
)
async def test_a_piece_that_does_not_fit_is_refused_and_all_of_the_file_forgotten(folder, second):
    run = Files(folder)
    await run.piece("a.txt", b"0" * 10, size=20)
    with refused("PermissionDenied" if second.get("path") == "../outside" else "InvalidData"):
        await run.piece(**{"path": "a.txt", "data": b"1" * 10, "size": 20, **second})
    assert run.transaction._overlay.uploads.size == 0
    # The rest is no file of its own either.
    with refused("InvalidData", match="10 bytes instead of 20"):
        await run.piece("a.txt", b"1" * 10, size=20, last=True)
    assert await run.read("a.txt") == b"alpha"
    await run.piece("a.txt", b"2" * 20, size=20, last=True)
    assert lines(run.changes()) == ["changed a.txt (5 to 20 bytes)"]


async def test_a_piece_that_is_not_base64_makes_the_whole_file_forgotten(folder):
    run = Files(folder)
    await run.piece("a.txt", b"0", size=2)
    options = {"append": False, "create": True, "create_new": False}
    with refused("InvalidData"):
        await run.call("writeFile", path="a.txt", data="!", upload=0, size=2, last=True, **options)
    assert run.transaction._overlay.uploads.size == 0
    run.transaction.drop()


@pytest.mark.parametrize(
    ("path", "options", "code"),
    [
        ("docs", {}, "IsADirectory"),
        ("a.txt", {"create_new": True}, "AlreadyExists"),
        ("nope", {"create": False}, "NotFound"),
        ("a.txt/x", {}, "NotADirectory"),
    ],
)
async def test_a_file_in_pieces_that_cannot_be_written_leaves_everything_as_it_was(folder, path, options, code):
    run = Files(folder)
    with refused(code):
        await send(run, path, **options)
    assert run.transaction._overlay.uploads.size == 0
    assert list(run.changes()) == []


async def test_a_file_that_will_be_too_large_is_refused_at_its_first_piece(folder):
    run = Files(folder, max_file_bytes=20, max_total_bytes=30)
    with refused("LimitError", match="21 bytes of at most 20"):
        await run.piece("x", b"0", size=21)
    await run.write("y", b"0" * 15)
    with refused("LimitError", match="30 bytes would be written in all"):
        await run.piece("x", b"0", size=16)
    await run.piece("x", b"0", size=15)
    await run.piece("x", b"0" * 14, size=15, last=True)
    run.transaction.drop()


async def test_a_file_that_grows_too_large_with_its_last_piece_stays_as_it_was(folder):
    run = Files(folder, max_file_bytes=12)
    await run.piece("a.txt", b"0" * 4, size=8, append=True)
    with refused("LimitError", match="13 bytes of at most 12"):
        await run.piece("a.txt", b"0" * 4, size=8, append=True, last=True)
    assert await run.read("a.txt") == b"alpha"
    assert list(run.changes()) == []


async def test_what_is_under_way_counts_as_written(folder):
    run = Files(folder, max_total_bytes=20)
    await run.piece("x", b"0", size=11)
    for refusal in (
        run.write("y", b"0" * 10),
        run.piece("y", b"0", size=10, upload=1),
    ):
        with refused("LimitError", match="20 bytes would be written in all"):
            await refusal
    await run.copy("a.txt", "y")
    with refused("LimitError"):
        await run.copy("a.txt", "z")
    await run.piece("x", b"0" * 10, size=11, last=True)
    assert run.transaction._overlay._total == 16
    run.transaction.drop()


async def test_only_a_few_files_are_under_way_at_once(folder):
    run = Files(folder)
    for number in range(MAX_UPLOADS):
        await run.piece(f"{number}", b"0", size=2, upload=number)
    with refused("LimitError", match=f"More than {MAX_UPLOADS} files"):
        await run.piece("one more", b"0", size=2, upload=MAX_UPLOADS)
    await run.write("short", b"1")
    await run.piece("0", b"0", size=2, upload=0, last=True)
    await run.piece("one more", b"0", size=2, upload=MAX_UPLOADS)
    assert lines(run.changes()) == ["added 0 (2 bytes)", "added short (1 bytes)"]
    assert "1" not in contents(folder)
