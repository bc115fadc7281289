"""`cortex console` as a process of its own: what it prints, where it listens, how others ask it, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cortex.commands import run_command
from cortex.commands.console import _open
from cortex.console import NoConsole, ask, holder_of

BOUND_S = 30


@contextmanager
def running(home: Path, *arguments: str, **variables: str) -> Iterator[tuple[subprocess.Popen, dict]]:
    home.mkdir(mode=0o700, exist_ok=True)
    command = [sys.executable, "-m", "cortex.commands", "console", "--json", "--home", str(home), *arguments]
    command[1:3] = ["-c", "from cortex.commands import main; main()"]
    environment = {**os.environ, **variables}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as process:
        try:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            yield process, json.loads(line)
        finally:
            process.kill()


def test_a_console_prints_its_link_answers_commands_and_ends(tmp_path, capsys):
    home = tmp_path / "home"
    with running(home) as (process, told):
        assert told["link"].startswith(f"{told['address']}/login#")
        assert told["address"].startswith("http://cortex-")
        with open(f"/proc/{process.pid}/cmdline", "rb") as file:
            assert told["link"].partition("#")[2].encode() not in file.read()
        assert run_command(["console", "link", "--home", str(home)]) == 0
        link = capsys.readouterr().out.strip()
        assert link.startswith(told["address"])
        assert link != told["link"]
        assert run_command(["console", "code", "--home", str(home)]) == 0
        assert capsys.readouterr().out == ""
        # A second console on the home says so, and takes nothing over.
        with pytest.raises(AssertionError, match="runs already") as told_second, running(home):
            pass
        assert "Traceback" not in str(told_second.value)
        port = int(told["address"].rpartition(":")[2])
        assert holder_of(port) == process.pid
        taken = pytest.raises(AssertionError, match=f"Address already in use \\(by process {process.pid}\\)")
        with taken, running(tmp_path / "other", "--port", str(port)):
            pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(BOUND_S) == 0
        assert not (home / "state" / "console.sock").exists()
    with pytest.raises(NoConsole):
        ask(home / "state", "link")
    assert run_command(["console", "link", "--home", str(home)]) == 3


def test_the_port_of_the_settings_is_taken(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with running(tmp_path / "home", CORTEX_CONSOLE__PORT=str(port)) as (_, told):
        assert told["address"].endswith(f":{port}")


def test_a_console_that_was_killed_leaves_nothing_that_keeps_the_next_one_out(tmp_path):
    home = tmp_path / "home"
    with running(home) as (process, _):
        process.kill()
        process.wait(BOUND_S)
        assert (home / "state" / "console.sock").exists()
    with running(home) as (_, told):
        assert ask(home / "state", "link")["link"].startswith(told["address"])


def test_an_open_stream_does_not_keep_the_console_from_ending(tmp_path):
    home = tmp_path / "home"
    with running(home) as (process, told):
        authority = told["address"].removeprefix("http://")
        port = int(authority.rpartition(":")[2])
        own = f"Host: {authority}\r\nSec-Fetch-Site: same-origin\r\nOrigin: {told['address']}\r\n"
        body = f"token={told['link'].partition('#')[2]}"
        form = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        with socket.create_connection(("127.0.0.1", port), BOUND_S) as first:
            first.sendall(f"POST /login HTTP/1.1\r\n{own}{form}".encode())
            answer = first.recv(4_096).decode()
        cookie = answer.partition("set-cookie: ")[2].partition(";")[0]
        with socket.create_connection(("127.0.0.1", port), BOUND_S) as stream:
            stream.sendall(f"GET /events HTTP/1.1\r\n{own}Cookie: {cookie}\r\n\r\n".encode())
            assert b"text/event-stream" in stream.recv(4_096)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            rest = b""
            while more := stream.recv(4_096):
                rest += more
            assert b"event: closing" in rest
            assert process.wait(BOUND_S) == 0
            assert time.monotonic() - began < 10


def test_the_browser_is_opened_by_a_private_file_and_not_by_the_link(tmp_path, monkeypatch):
    """The command line of a browser can be read by every user of the machine."""
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf "%s" "$*" > "{tmp_path}/argv"\n')
    script.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{script} %s")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code = f"import tempfile; tempfile.tempdir = {str(tmp_path)!r}; from cortex.commands.console import _open; _open('http://a/login#TOKEN')"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=BOUND_S)
    assert callable(_open)
    argv = (tmp_path / "argv").read_text()
    assert "TOKEN" not in argv
    path = Path(argv.removeprefix("file://"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "http://a/login#TOKEN" in path.read_text()


def test_a_look_at_a_mistyped_home_is_refused(tmp_path, capsys):
    assert run_command(["console", "--home", str(tmp_path / "nothing")]) == 2
    assert "mistyped" in capsys.readouterr().err
    assert run_command(["console", "--port", "70000", "--home", str(tmp_path)]) == 2


def test_without_a_secret_name_the_owner_is_warned(tmp_path):
    with running(tmp_path / "home", "--by-address") as (process, told):
        assert told["address"].startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait(BOUND_S) == 130
        assert "every server on 127.0.0.1" in process.stderr.read()
