"""The command line as a person or a program at a shell finds it: real processes, real exit codes."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from cortex.commands import main
from sandbox import Layer
from tests.conftest import descendants
from tests.sandbox.network.servers import Server, Talk

pytestmark = pytest.mark.deno

CORTEX = [sys.executable, "-c", "from cortex.commands import main; main()"]
# Only what hangs takes so long, on a slow machine too.
BOUND_S = 120


def cortex(*arguments: str, stdin: str | bytes = b"", **environment: str) -> subprocess.CompletedProcess[str]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [*CORTEX, *arguments], input=data, capture_output=True, timeout=BOUND_S, env={**os.environ, **environment}
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def inside(*arguments: str, stdin: str | bytes = b"") -> subprocess.CompletedProcess[str]:
    """The same without a process of its own, for what is refused before anything runs: a start takes a second."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        with pytest.raises(SystemExit) as ended:
            main(arguments)
    return subprocess.CompletedProcess(arguments, ended.value.code, out.getvalue(), err.getvalue())


def test_a_script_from_a_file_prints_its_result_alone_on_stdout(tmp_path):
    (tmp_path / "s.ts").write_text("console.log('a log'); const x: number = 41; return { x: x + 1 }")
    done = cortex("run", str(tmp_path / "s.ts"))
    assert (done.returncode, done.stdout) == (0, '{"x":42}\n')
    assert done.stderr == "[log] a log\n"


def test_a_script_from_standard_input():
    done = cortex("run", "-", stdin="1 + 1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_json_is_for_programs():
    done = cortex("run", "-", "--json", stdin="console.warn('w'); return [1]")
    answer = json.loads(done.stdout)
    assert answer.keys() == {"ok", "output", "result", "error", "logs", "metrics"}
    assert (answer["ok"], answer["output"], answer["result"], answer["error"]) == (True, "[1]", [1], None)
    assert answer["logs"] == [{"level": "warn", "text": "w"}]
    assert answer["metrics"].keys() == {
        *("startup_ms", "execution_ms", "total_ms", "cpu_ms", "peak_memory_mb", "tool_calls"),
        *("fetches", "fetched_bytes", "failed_calls", "failed_fetches", "cached", "level", "layers"),
    }
    assert (answer["metrics"]["level"], "seccomp" in answer["metrics"]["layers"]) == ("full", True)


def test_what_a_script_displays_is_shown_and_pictures_are_kept_as_files(tmp_path):
    drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="4"/>'
    code = f"display([{{ a: 1 }}], {{ title: 'Rows' }}); display('{drawing}')"
    done = cortex("run", "-", "--home", str(tmp_path), stdin=code)
    assert (done.returncode, done.stdout) == (0, "null\n")
    rows, _, path = done.stderr.rpartition("[display] ")
    assert rows == "[display] Rows: \n| a |\n| --- |\n| 1 |\n"
    assert Path(path.strip()).read_bytes().startswith(b"\x89PNG")
    answer = json.loads(cortex("run", "-", "--home", str(tmp_path), "--json", stdin=code).stdout)
    assert [item["type"] for item in answer["displayed"]] == ["table", "image"]
    assert Path(answer["displayed"][1]["path"]).parent == tmp_path / "displayed"


def test_json_of_a_failure():
    done = cortex("run", "-", "--json", stdin="throw new TypeError('no')")
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert (answer["ok"], answer["result"]) == (False, None)
    assert answer["output"] == "EXECUTION_ERROR: RuntimeError: TypeError: no"
    assert answer["error"]["type"] == "RuntimeError"
    assert "code:1:7" in answer["error"]["stack"]


def test_context_from_the_command_line_and_from_a_file(tmp_path):
    assert cortex("run", "-", "--context", '{"a": 2}', stdin="context.a * 2").stdout == "4\n"
    (tmp_path / "c.json").write_text("[1, 2, 3]")
    assert cortex("run", "-", "--context", f"@{tmp_path / 'c.json'}", stdin="context.length").stdout == "3\n"


def test_a_timeout_is_a_failure_of_the_code():
    done = cortex("run", "-", "--timeout", "300", stdin="while (true) {}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "EXECUTION_TIMEOUT: Code exceeded 300ms limit.\n"


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "message"),
    [
        (["run", "-"], "  \n", 2, '"-" holds no code'),
        (["run", "nowhere.ts"], "", 2, 'cannot read "nowhere.ts": No such file or directory'),
        (["run", "/"], "", 2, 'cannot read "/": Is a directory'),
        (["run", "-"], b"return '\xff'", 2, '"-" is not UTF-8: invalid byte at position 8'),
        (["run", "-", "--context", "{x}"], "1", 2, "--context is not JSON"),
        (["run", "-", "--context", "@nowhere"], "1", 2, 'cannot read "nowhere"'),
        (["run", "-", "--timeout", "-5"], "1", 2, "--timeout must be a positive number of milliseconds, not -5"),
        (["run", "-", "--timeout", "soon"], "1", 2, "invalid int value: 'soon'"),
        (["run", "-", "--tier", "root"], "1", 2, 'no tier "root": there are isolated, network'),
        (["run", "-", "--config", "nowhere.toml"], "1", 2, 'Cannot read settings from "nowhere.toml"'),
        (["run"], "", 2, "the following arguments are required: FILE"),
        (["fly"], "", 2, "invalid choice: 'fly'"),
        (
            ["run", "-"],
            "return 1 //" + "x" * 51_200,
            3,
            "EXECUTION_DENIED: The code is 51211 bytes long, more than 51200",
        ),
        (["run", "-"], "eval('1')", 3, "EXECUTION_BLOCKED: Code contains disallowed pattern: eval"),
        (["run", "-", "--commit"], "1", 2, "--commit needs a --workspace"),
        (["run", "-", "--record", "/nowhere/r.json"], "1", 2, 'cannot write "/nowhere/r.json"'),
        (["run", "-", "--tier", "isolated", "--allow-host", "example.com"], "1", 2, "needs the network tier"),
        (["run", "-", "--workspace", "/nowhere/at/all"], "1", 2, "/nowhere/at/all"),
        (["run", "-", "--allow-host", "ftp://x"], "1", 2, "--allow-host: "),
        (["run", "-", "--replay", "/nowhere"], "1", 2, 'cannot read "/nowhere"'),
        (["run", "-", "--replay", "/proc/self/status"], "1", 2, "is not a recording"),
        (["run", "-", "--tier", "network"], "await fetch('https://example.com')", 1, "No host is allowed"),
        (["run", "-"], "throw 1", 1, "EXECUTION_ERROR: RuntimeError: a thrown value: 1"),
        (["run", "-"], "let : = 1", 1, "EXECUTION_ERROR: SyntaxError: "),
    ],
)
def test_bad_input_has_a_clear_error_and_its_exit_code(arguments, stdin, code, message):
    done = inside(*arguments, stdin=stdin) if code == 2 and arguments != ["fly"] else cortex(*arguments, stdin=stdin)
    assert done.returncode == code
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_deno_is_refused_with_what_to_do():
    done = cortex("run", "-", stdin="1", CORTEX_SANDBOX__DENO_PATH="/nowhere/deno")
    assert done.returncode == 3
    assert 'Cannot start Deno: no executable at "/nowhere/deno"; install it with "pip install deno"' in done.stderr


def test_the_guard_can_be_left_out():
    assert cortex("run", "-", "--no-guard", stdin="return eval('1 + 1')").stdout == "2\n"


@pytest.mark.parametrize(
    ("code", "can"),
    [("return eval('1')", True), ("require('fs')", False), ("import os\ndef f(x):\n    return eval(x)\n", False)],
)
def test_leaving_out_the_guard_is_offered_only_where_code_can_then_run(code, can):
    told = cortex("run", "-", stdin=code).stderr
    assert "EXECUTION_BLOCKED" in told
    assert ("--no-guard" in told) is can


def test_what_a_script_prints_cannot_steer_the_terminal():
    done = cortex("run", "-", stdin="console.log('\\x1b]0;pwned\\x07'); return '\\x9b2J\\u202e'")
    assert "\x1b" not in done.stderr
    assert done.stdout == '"\\u009b2J\\u202e"\n'


def test_a_terminal_gets_colour():
    parent, child = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen([*CORTEX, "run", "-"], stdin=subprocess.PIPE, stderr=child, env=environment)
    process.communicate(b"throw new Error('x')", timeout=BOUND_S)
    os.close(child)
    text = os.read(parent, 4096)
    os.close(parent)
    assert b"\x1b[31mEXECUTION_ERROR" in text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it_and_leaves_nothing(number):
    process = subprocess.Popen(
        [*CORTEX, "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(b"while (true) {}")
    process.stdin.close()
    process.stdin = None
    started: dict[int, str] = {}
    until = time.monotonic() + BOUND_S
    while not any("deno" in name for name in started.values()) and time.monotonic() < until:
        started = descendants(process.pid)
    time.sleep(0.3)
    process.send_signal(number)
    _, errors = process.communicate(timeout=BOUND_S)
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert errors.decode() == "Interrupted\n"
    until = time.monotonic() + BOUND_S
    while any(os.path.exists(f"/proc/{pid}") for pid in started) and time.monotonic() < until:
        time.sleep(0.01)
    assert not [pid for pid in started if os.path.exists(f"/proc/{pid}")]


def test_doctor_tries_everything():
    done = cortex("doctor", "--json")
    found = {entry["name"]: entry for entry in json.loads(done.stdout)}
    assert done.returncode == 0
    assert found.keys() == {
        "Python",
        "Deno",
        "launcher",
        "run",
        "cold start",
        "permissions",
        "warm pool",
        "time limit",
        "workflows",
        "kill switch",
        *Layer,
    }
    assert {entry["verdict"] for entry in found.values()} == {"ok", "held"}
    assert "was refused" in found["memory"]["detail"]


def test_a_required_layer_that_is_missing_is_refused_by_name():
    done = cortex("run", "-", stdin="1", CORTEX_SANDBOX__REQUIRE="landlock,nonsense")
    assert done.returncode == 2
    assert "sandbox.require" in done.stderr


def test_a_workspace_shows_its_changes_and_keeps_them_only_when_told(tmp_path):
    code = "await Deno.writeTextFile('made.txt', 'x'); return (await Deno.stat('made.txt')).size"
    done = cortex("run", "-", "--workspace", str(tmp_path), stdin=code)
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "added   made.txt (1 bytes)" in done.stderr
    assert "--commit makes these changes" in done.stderr
    assert list(tmp_path.iterdir()) == []
    done = cortex("run", "-", "--workspace", str(tmp_path), "--commit", "--json", stdin=code)
    answer = json.loads(done.stdout)
    assert answer["changes"] == [{"kind": "added", "path": "made.txt", "size": 1, "old_size": None}]
    assert answer["committed"] is True
    assert (tmp_path / "made.txt").read_text() == "x"


def test_the_network_can_be_allowed_recorded_and_replayed(tmp_path):
    code = "return await (await fetch(context)).text()"
    with Server({"/": lambda talk: talk.reply(b"hello")}) as server:
        url = server.url + "/"
        arguments = ("run", "-", "--context", json.dumps(url), "--allow-host", server.url)
        done = cortex(*arguments, "--record", str(tmp_path / "r.json"), stdin=code)
        assert (done.returncode, done.stdout) == (0, '"hello"\n')
        assert len(server.heard) == 1
    done = cortex("run", "-", "--context", json.dumps(url), "--replay", str(tmp_path / "r.json"), stdin=code)
    assert (done.returncode, done.stdout) == (0, '"hello"\n')


def test_a_commit_that_fails_still_shows_the_result(tmp_path):
    kept = tmp_path / "kept" / "a.txt"
    kept.parent.mkdir()
    kept.write_text("old")

    def meanwhile(talk: Talk) -> None:
        kept.write_text("somebody else's")
        talk.reply(b"go on")

    with Server({"/": meanwhile}) as server:
        code = f"await Deno.writeTextFile('kept/a.txt', 'mine'); return await (await fetch('{server.url}/')).text()"
        options = ("--workspace", str(tmp_path), "--commit", "--json", "--allow-host", server.url)
        done = cortex("run", "-", *options, stdin=code)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["result"], answer["committed"]) == (3, "go on", False)
    assert "a.txt" in done.stderr
    assert kept.read_text() == "somebody else's"


def test_doctor_for_people_is_a_table():
    done = cortex("doctor", CORTEX_SANDBOX__POOL_SIZE="0")
    assert done.stdout.startswith("ok      Python        ")
    assert "absent  warm pool" in done.stdout


def test_doctor_breaks_between_words_in_a_terminal_of_80_columns():
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    process = subprocess.Popen([*CORTEX, "doctor"], stdin=child, stdout=child, stderr=child, env=environment)
    os.close(child)
    text = b""
    with suppress(OSError):  # Linux says so that the other side has closed
        while chunk := os.read(parent, 65_536):
            text += chunk
    os.close(parent)
    assert process.wait(BOUND_S) == 0
    lines = text.decode().replace("\r\n", "\n").splitlines()
    assert max(map(len, lines)) <= 80
    below = [line for line in lines if line.startswith(" " * 22)]
    assert below
    assert "modules are denied" in " ".join(" ".join(lines).split())


@pytest.mark.parametrize("deno", ["/nowhere/deno", "/bin/false"])
def test_doctor_says_what_is_broken(deno):
    done = cortex("doctor", CORTEX_SANDBOX__DENO_PATH=deno)
    assert done.returncode == 1
    assert "broken  " in done.stdout
    assert "Traceback" not in done.stderr


def test_help_and_version_are_answered_without_the_heavy_imports():
    assert "run one script in the sandbox" in cortex("--help").stdout
    assert cortex("--version").stdout.startswith("motor-cortex 0.")
    program = """if True:
        import contextlib, sys
        from cortex.commands import run_command as run
        with contextlib.suppress(SystemExit):
            run(["--help"])
        print(sorted({"pydantic", "anyio", "asyncio", "tree_sitter"} & sys.modules.keys()))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=BOUND_S, check=True)
    assert done.stdout.decode().splitlines()[-1] == "[]"


def test_a_plain_run_imports_nothing_that_it_does_not_need():
    program = (
        "import sys, io; sys.stdin = io.TextIOWrapper(io.BytesIO(b'1 + 1')); from cortex.commands import run_command; run_command(['run', '-']); "
        "print(sorted({'tree_sitter', 'jsonschema_rs', 'openai', 'mcp', 'rich'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=BOUND_S, check=True)
    assert done.stdout.decode() == "2\n[]\n"
