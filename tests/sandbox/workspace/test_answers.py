"""Large files neither block the event loop nor fill the memory."""

from __future__ import annotations

import binascii
import json
import threading

import anyio
import pytest

from sandbox.contracts.frames import encode
from sandbox.contracts.process_memory import MIB
from sandbox.workspace import overlay, transfers
from sandbox.workspace.folder import digest
from sandbox.workspace.transfers import LARGE_AT_ONCE, LARGE_BYTES, LONG_LISTING, PIECE_BYTES, content_json, limiter_for

from .support import Files


@pytest.mark.parametrize("size", [0, 1, 2, 3, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 2])
def test_the_pieces_are_one_text(size):
    data = bytes(range(256)) * (size // 256 + 1)
    data = data[:size]
    for given in (data, bytearray(data)):
        assert binascii.a2b_base64(json.loads(content_json(given))["data"], strict_mode=True) == data


@pytest.mark.parametrize("own", [False, True])
async def test_a_large_file_is_encoded_in_small_pieces_and_not_on_the_event_loop(folder, own, monkeypatch):
    data = bytes(2 * MIB)
    run = Files(folder)
    if own:
        await run.write("big", data)
    else:
        (folder / "big").write_bytes(data)
    encoded = []

    def watched(piece: bytes, *, newline: bool) -> bytes:
        encoded.append((len(piece), threading.get_ident()))
        return binascii.b2a_base64(piece, newline=newline)

    monkeypatch.setattr(transfers, "binascii", type("watched", (), {"b2a_base64": staticmethod(watched)}))
    assert await run.read("big") == data
    assert sum(size for size, _ in encoded) == len(data)
    assert max(size for size, _ in encoded) <= PIECE_BYTES
    assert threading.get_ident() not in {thread for _, thread in encoded}
    run.transaction.drop()


@pytest.mark.parametrize("own", [False, True])
async def test_of_large_files_only_a_few_are_in_memory_at_once(folder, own, monkeypatch):
    data = bytes(LARGE_BYTES + 1)
    (folder / "big").write_bytes(data)
    runs = [Files(folder) for _ in range(5)]
    for run in runs if own else ():
        await run.write("big", data)
    go_on = threading.Event()
    large = []

    def slow(content: bytes) -> bytes:
        if len(content) > LARGE_BYTES:
            large.append(1)
            assert go_on.wait(60)
        return content_json(content)

    monkeypatch.setattr(overlay, "content_json", slow)
    async with anyio.create_task_group() as tasks:
        try:
            for run in runs:
                tasks.start_soon(run.read, "big")
            others = Files(folder)
            limiter = limiter_for(len(data))
            with anyio.fail_after(60):
                while limiter.statistics().tasks_waiting + len(large) < len(runs):
                    await anyio.sleep(0.001)
            # What is small does not wait for what is large.
            assert await others.read("a.txt") == b"alpha"
            assert limiter.statistics().tasks_waiting == len(runs) - LARGE_AT_ONCE
            assert len(large) == LARGE_AT_ONCE
        finally:
            go_on.set()
    assert len(large) == len(runs)
    for run in (*runs, others):
        run.transaction.drop()


async def test_a_long_listing_is_not_made_on_the_event_loop(folder, monkeypatch):
    for number in range(LONG_LISTING + 1):
        (folder / "docs" / f"{number}").touch()
    run = Files(folder)
    threads = []

    def watched(value: object) -> bytes:
        threads.append(threading.get_ident())
        return encode(value)

    monkeypatch.setattr(transfers, "encode", watched)
    assert len(await run.names("docs")) == LONG_LISTING + 3
    assert threads
    assert threading.get_ident() not in threads
    run.transaction.drop()


async def test_whether_a_large_file_has_changed_is_not_found_out_on_the_event_loop(folder, monkeypatch):
    data = bytes(MIB)
    for name in ("same", "other", "longer", "again"):
        (folder / name).write_bytes(data)
    run = Files(folder)
    threads = []

    def watched(content: bytes) -> bytes:
        threads.append(threading.get_ident())
        return digest(content)

    monkeypatch.setattr(overlay, "digest", watched)
    await run.write("same", data)
    await run.write("other", data[1:] + b"!")
    await run.write("longer", data)
    await run.write("longer", b"!", append=True)
    await run.write("again", data[2:])
    changes = run.changes()
    assert [change.path for change in changes] == ["again", "longer", "other"]
    assert len(threads) == 3
    assert threading.get_ident() not in threads


async def test_what_was_found_out_about_a_file_is_forgotten_when_it_grows(folder):
    data = bytes(PIECE_BYTES + 1)
    (folder / "a.txt").write_bytes(data)
    (folder / "docs" / "b.txt").write_bytes(data + b"!")
    run = Files(folder)
    await run.write("a.txt", data)
    await run.write("a.txt", b"!", append=True)
    await run.rename("a.txt", "docs/b.txt")
    assert [change.path for change in run.changes()] == ["a.txt"]
