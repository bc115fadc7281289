"""`cortex mcp serve` as its clients start it: real processes, a real sandbox, the SDK's own client."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tty
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from cortex import Settings
from cortex.commands.exits import CommandError
from cortex.commands.mcp_serve import AT_A_TERMINAL, _front, serve
from tests.conftest import descendants, is_readable

from .scripted import BOUND_S

CORTEX = [sys.executable, "-c", "from cortex.commands import main; main()"]
# Longer than any test waits: what ends sooner was ended.
LONGEST_MS = 300_000
ENDLESS = {"purpose": "wait", "code": "while (true) {}", "timeout": LONGEST_MS}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def environment(home: Path) -> dict[str, str]:
    """A process for each run, so that one that runs can be seen."""
    settings = {"SANDBOX__POOL_SIZE": "0", "EXECUTE__MAX_TIMEOUT_ISOLATED_MS": str(LONGEST_MS), "HOME": str(home)}
    return {**os.environ, **{f"CORTEX_{name}": value for name, value in settings.items()}}


def busy(root: int | None = None) -> list[int]:
    """The processes in which code runs now: one that only was started has not computed that much."""
    return [pid for pid, command in descendants(root).items() if "deno run" in command and cpu_ticks(pid) > 20]


def cpu_ticks(pid: int) -> int:
    with suppress(OSError):
        user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return int(user) + int(system)
    return 0


async def until(is_so) -> None:
    with anyio.fail_after(BOUND_S):
        while not is_so():
            await anyio.sleep(0.01)


@pytest.mark.deno
async def test_a_client_that_starts_it_runs_code_and_kills_what_it_gives_up(tmp_path, nothing_left):
    """In the era of the handshake; below, over HTTP, in the one after it. What both transports do is tested in both."""
    with open(tmp_path / "stderr", "w+") as errors:
        started = StdioServerParameters(
            command=CORTEX[0], args=[*CORTEX[1:], "mcp", "serve"], env=environment(tmp_path)
        )
        async with Client(stdio_client(started, errlog=errors), mode="legacy", read_timeout_seconds=BOUND_S) as client:
            assert "execute_code" in [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool("core_execute", {"purpose": "sum", "code": "return 1 + 1"})
            assert (result.is_error, result.content[0].text) == (False, "2")
            run = {"code": "console.log('hi'); return context.a + 1", "context": {"a": 41}}
            result = await client.call_tool("execute_code", run)
            assert (result.is_error, result.content[0].text) == (False, "42")
            assert result.structured_content["result"] == 42
            assert "hi" in result.structured_content["logs"][0]
            assert result.structured_content["metrics"]["executionTimeMs"] > 0

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "core_execute", ENDLESS)
                await until(busy)
                tasks.cancel_scope.cancel()
            await until(lambda: not busy())
            assert not (await client.call_tool("core_energy", {})).is_error
        errors.seek(0)
        assert errors.read() == ""


@asynccontextmanager
async def served(home: Path, *more: str) -> AsyncIterator[tuple[subprocess.Popen[str], str, str]]:
    """The process, its URL and its token, as a person reads them."""
    process = subprocess.Popen(
        [*CORTEX, "mcp", "serve", "--http", "127.0.0.1:0", *more],
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        try:
            with anyio.fail_after(BOUND_S):
                told = [await anyio.to_thread.run_sync(process.stderr.readline) for _ in range(2)]
            yield process, re.search(r"http://\S+", told[0])[0], told[1].split()[-1]
        finally:
            process.kill()
            process.wait(BOUND_S)


@pytest.mark.deno
async def test_over_http_ctrl_c_ends_what_runs_and_then_the_server(tmp_path, nothing_left):
    texts: list[str] = []
    async with (
        served(tmp_path) as (process, url, token),
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=BOUND_S, trust_env=False) as http,
    ):
        assert (await httpx2.AsyncClient(trust_env=False, timeout=BOUND_S).post(url, json={})).status_code == 401
        async with Client(streamable_http_client(url, http_client=http), mode="2026-07-28") as client:

            async def call() -> None:
                texts.append((await client.call_tool("core_execute", ENDLESS)).content[0].text)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                await until(lambda: busy(process.pid))
                process.send_signal(signal.SIGINT)
            code = await anyio.to_thread.run_sync(process.wait, BOUND_S)
        assert texts == ["EXECUTION_DENIED: The server is stopping"]
        assert (code, process.stdout.read(), process.stderr.read()) == (130, "", "")


@pytest.mark.deno
async def test_a_signal_to_end_ends_it_in_the_middle_of_a_line(tmp_path, nothing_left):
    """At a terminal, where a person has started it and is told what it is for."""
    ours, theirs = os.openpty()
    tty.setraw(theirs)  # half a line is there at once, and nothing is echoed
    with open(ours, "wb", buffering=0) as terminal, open(theirs, "rb", buffering=0) as stdin:
        process = subprocess.Popen(
            [*CORTEX, "mcp", "serve"],
            env=environment(tmp_path),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process.stdout, process.stderr:
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            terminal.write(json.dumps(ping).encode() + b'\n{"half')
            with anyio.fail_after(BOUND_S):
                assert json.loads(await anyio.to_thread.run_sync(process.stdout.readline))["id"] == 1
            process.send_signal(signal.SIGTERM)
            assert await anyio.to_thread.run_sync(process.wait, BOUND_S) == 0
            assert process.stderr.read().decode() == f"{AT_A_TERMINAL}\n"


NOISY = """
import anyio, os, subprocess, sys, tempfile
from pathlib import Path
from cortex.mcp_server import mcp_server, serve_stdio
from tests.cortex.mcp_server.scripted import ScriptedCortex, settings

async def work():
    print("from Python")
    sys.stdout.flush()
    os.write(1, b"from a descriptor\\n")
    subprocess.run(["echo", "from a child"])
    assert sys.stdin.read() == ""

anyio.run(serve_stdio, mcp_server(ScriptedCortex(work=work), settings(Path(tempfile.gettempdir()))))
print("after")
"""


def test_stdout_is_the_protocols_alone_while_it_serves(tmp_path):
    from .test_stdio import ENVELOPE, call

    process = subprocess.Popen(
        [sys.executable, "-c", NOISY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    with process:
        try:
            process.stdin.write(json.dumps(call(1, **ENVELOPE)) + "\n")
            process.stdin.flush()
            assert is_readable(process.stdout, BOUND_S)
            answer = json.loads(process.stdout.readline())
            out, errors = process.communicate(timeout=BOUND_S)
        finally:
            process.kill()
    assert answer["result"]["structuredContent"]["text"] == "2"
    assert out == "after\n"
    assert errors.splitlines() == ["from Python", "from a descriptor", "from a child"]


def front(where: str, tmp_path, **serve: object):
    return _front(Settings(home=tmp_path, mcp={"serve": serve}), where)


LONG = "a-token-of-the-owner"


def test_a_token_of_the_settings_is_not_printed_and_one_of_ours_is(tmp_path):
    listening, door, told = front(":0", tmp_path, token=LONG)
    with listening:
        assert told == [f"Listening on http://127.0.0.1:{listening.getsockname()[1]}/mcp"]
        assert door.refusal({"host": ["localhost"], "authorization": [f"Bearer {LONG}"]}) is None
    listening, door, told = front(":0", tmp_path)
    with listening:
        token = told[1].split()[-1]
        assert len(token) > 40
        assert door.refusal({"host": ["localhost"], "authorization": [f"Bearer {token}"]}) is None
        assert door.refusal({"host": ["localhost"], "authorization": [f"Bearer {LONG}"]}).status == 401


@pytest.mark.parametrize("where", ["0.0.0.0:0", "[::]:0"])
def test_an_address_that_others_reach_needs_a_token_of_the_owner(where, tmp_path):
    with pytest.raises(CommandError, match=r"mcp\.serve\.token"):
        front(where, tmp_path)
    listening, door, _ = front(where, tmp_path, token=LONG)
    with listening:
        # All addresses is not a name that anybody calls it by.
        assert door.refusal({"host": ["0.0.0.0"], "authorization": [f"Bearer {LONG}"]}).status == 421


def test_hosts_and_origins_of_the_settings_are_let_in(tmp_path):
    listening, door, _ = front(":0", tmp_path, token=LONG, hosts=("cortex.example",), origins=("https://page.example",))
    with listening:
        bearer = {"authorization": [f"Bearer {LONG}"]}
        assert door.refusal({"host": ["cortex.example:1"], "origin": ["https://page.example"], **bearer}) is None
        assert door.refusal({"host": ["other.example"], **bearer}).status == 421
        assert door.refusal({"host": ["localhost"], "origin": ["https://other.example"], **bearer}).status == 403


@pytest.mark.parametrize(("where", "serve"), [("nowhere", {}), (":0", {"token": "short"})])
def test_what_cannot_be_served_is_told_at_once(where, serve, tmp_path):
    with pytest.raises(CommandError, match=r"HOST:PORT|shorter than 16"):
        front(where, tmp_path, **serve)


def test_there_is_nothing_to_print_as_json():
    with pytest.raises(CommandError, match="leave --json out"):
        serve(Namespace(json=True))


def test_a_place_that_is_taken_is_told(tmp_path):
    listening, *_ = front(":0", tmp_path)
    with listening, pytest.raises(CommandError, match="Cannot listen on") as told:
        front(f":{listening.getsockname()[1]}", tmp_path)
    assert told.value.exit_code == 3
