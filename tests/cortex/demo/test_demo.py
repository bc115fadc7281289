"""`cortex demo` as a person finds it: what it promises is looked for in what it prints. Most tests share one run."""

from __future__ import annotations

import fcntl
import functools
import io
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from cortex.demo import Asker, load_scenes, tell
from cortex.text.terminal import columns_of
from sandbox import SandboxSettings
from tests.conftest import descendants

pytestmark = pytest.mark.deno

ROOT = Path(__file__).parent.parent.parent.parent
ASKING = [sys.executable, "-c", "from cortex.commands import main; main()", "demo"]
DEMO = [*ASKING, "--yes"]
# Only what hangs takes so long, on a slow machine too.
BOUND_S = 300
# Of an owner who allows nothing: the story must be the same.
STRICT = {
    "CORTEX_ENERGY__INITIAL_LEVEL": "0",
    "CORTEX_EXECUTE__MAX_CALLS_PER_TURN": "0",
    "CORTEX_LOOP__MAX_ROUNDS": "1",
    "CORTEX_SANDBOX__MAX_TOOL_CALLS": "0",
    "CORTEX_TOOLS__POLICIES": "shop.orders=deny",
}
STYLE = re.compile(r"\x1b\[[0-9;]*m")
RULE = re.compile(r"^[-─]{80}\n", re.M)


@dataclass(frozen=True)
class Told:
    code: int
    text: str
    errors: str
    left: list[Path]
    """In its folder for temporary files, and in the owner's home."""

    def scene(self, number: int) -> str:
        """In one line: where lines are broken is a matter of layout."""
        return " ".join(RULE.split(self.text)[number].split())


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = tmp_path_factory.mktemp("demo")
    environment = {**os.environ, **STRICT, "TMPDIR": str(folder), "CORTEX_HOME": str(folder / "home")}
    done = subprocess.run(DEMO, capture_output=True, timeout=BOUND_S, env=environment, stdin=subprocess.DEVNULL)
    return Told(done.returncode, done.stdout.decode(), done.stderr.decode(), list(folder.rglob("*")))


def test_it_succeeds_whatever_the_owner_has_set(told):
    assert (told.code, told.errors) == (0, "")
    titles = [part[:3] for part in RULE.split(told.text)[1:]]
    assert titles == [*(f"{number}. "[:3] for number in range(1, 18)), "Wha"]


def test_it_says_first_what_is_scripted_what_is_fast_and_what_is_real(told):
    opening = told.scene(0)
    assert "Scripted what the user and the model say, and the code that the model writes." in opening
    assert "Fast the clock by which energy comes back and a trial takes a day: it stands still, and jumps." in opening
    assert "Real everything else" in opening


def test_the_compound_interest_is_computed_and_said(told):
    scene = told.scene(1)
    assert "energy 1.00 -> 0.95 = 16288.94626777442 " in scene
    assert scene.endswith("$10,000 at 5% for 10 years = $16,288.95")


def test_a_lent_tool_gives_a_megabyte_to_the_code_and_the_saving_is_printed(told):
    scene = told.scene(2)
    assert "- shop.orders (from the code): " in scene
    numbers = re.search(
        r"gave the code ([\d,]+) bytes\. The model read ([\d,]+)\. Saved: ([\d,]+) bytes, or about ([\d,]+) tokens "
        r"\(at 4 bytes a token, which is a rule of thumb\)",
        scene,
    )
    given, read, saved, tokens = (int(number.replace(",", "")) for number in numbers.groups())
    assert 1_190_000 < given < 1_250_000
    assert 400 < read < 550
    assert saved == given - read
    assert abs(tokens - saved / 4) <= 500


def test_an_allowlisted_server_is_fetched_from_and_another_refused(told):
    scene = told.scene(3)
    assert re.search(r'fetch\("http://127\.0\.0\.1:\d+/tea"\); .* = 3\.05 .* m?s, 1 fetch \(', scene)
    assert "! EXECUTION_ERROR: PermissionError: PermissionDenied: Fetching GET https://rival.example is denied" in scene
    assert scene.endswith("the allowlist has 127.0.0.1 and nothing else. The owner can change that, and I cannot.")


def test_attempts_to_escape_meet_the_guard_and_the_wall(told):
    scene = told.scene(4)
    assert "! EXECUTION_BLOCKED: Code contains disallowed pattern: dynamic import" in scene
    assert '! EXECUTION_ERROR: PermissionError: NotCapable: Requires read access to "/etc/passwd"' in scene
    assert '! EXECUTION_ERROR: PermissionError: NotCapable: Requires run access to "/bin/sh"' in scene
    assert "root:" not in told.text
    assert "uid=" not in told.text


def test_code_that_does_not_end_is_stopped(told):
    assert "! EXECUTION_TIMEOUT: Code exceeded 300ms limit." in told.scene(5)


def test_energy_runs_out_and_comes_back_on_the_fast_clock(told):
    scene = told.scene(6)
    refused, cheaper, out, passed, back = (
        scene.find(text)
        for text in (
            "network tier needs 0.30 and the level is 0.15; it will suffice in about 30 seconds.",
            "The isolated tier is possible now.",
            "isolated tier needs 0.15 and the level is 0.10; it will suffice in about 10 seconds.",
            "(2 minutes pass on the fast clock: energy 0.10, now 0.70)",
            "energy 0.70 -> 0.55 = 98300",
        )
    )
    assert 0 < refused < cheaper < out < passed < back
    assert scene.count("! EXECUTION_DENIED: Insufficient energy for code execution.") == 2


def test_it_ends_with_the_audit_the_wall_and_what_to_try_next(told):
    ending = told.scene(18)
    assert "Runs 14 in the sandbox, each in a process of its own; 3 refused, and free" in ending
    # How many depends on how often the neuron has told the owner.
    assert re.search(r"Audit \d+ records, chain whole, up to [0-9a-f]{16} ", ending)
    assert re.search(r"Wall (full|partial|none): ", ending)
    for command in ("cortex chat", "cortex neurons", "cortex run", "cortex doctor"):
        assert command in ending


def test_a_habit_is_noticed_and_proposed_as_a_neuron(told):
    scene = told.scene(7)
    assert "Noticed the same script in other words, 3 times: Look up the price of Bitcoin" in scene
    assert "A draft is ready: a neuron with the schedule every " in scene
    assert "wants to learn CryptoPrice: Tell when the price of Bitcoin moves by one per cent" in scene


def test_the_candidate_is_tried_on_invented_and_on_recorded_signals(told):
    scene = told.scene(8)
    for scenario in ("typical signals", "recorded 1", "edges", "burst: 50 signals"):
        assert f"passed {scenario}" in scene
    assert "failed" not in scene
    assert re.search(r"record equal on (\d+) of \1: 3 recorded runs", scene)


def test_the_owner_sees_all_of_it_and_yes_is_said_by_its_hash(told):
    scene = told.scene(9)
    assert "Agent wants to learn: CryptoPrice neuron Every 30 minutes it asks http://127.0.0.1:" in scene
    shown = re.findall(r" hash ([0-9a-f]{64}) ", scene)[-1]
    assert f"--yes repeats the first 8 characters of the hash for you: {shown[:8]} Approved:" in scene


def test_a_day_of_trial_passes_on_the_fast_clock(told):
    assert "Trial 25 hours on the fast clock, 50 signals, 0 errors" in told.scene(10)
    assert "Status active" in told.scene(10)


def test_the_neuron_tells_of_prices_and_no_model_is_called(told):
    scene = told.scene(11)
    prices = re.findall(r"crypto_price_change: \$([\d,]+) -> \$([\d,]+)", scene)
    assert len(prices) >= 3
    for before, after in prices:
        assert int(after.replace(",", "")) / int(before.replace(",", "")) >= 1.01
    last = prices[-1][1].replace(",", "")
    assert f'You are told, by every channel that you have: "Bitcoin is at ${last} now"' in scene
    assert scene.endswith(f"it worked 12 times and emitted {len(prices)} signals, with 0 calls of a model")


def test_a_computation_in_other_words_becomes_a_function_from_its_draft(told):
    assert "Noticed the same script in other words, 3 times: Calculate compound interest" in told.scene(13)
    assert "A draft is ready: a function of p, r, n." in told.scene(13)
    assert re.search(r"record equal on (\d+) of \1: 3 recorded runs", told.scene(14))
    assert "Code may call it as tools.learned.compoundInterest(p, r, n)" in told.scene(15)


def test_one_of_something_is_said_as_one(told):
    assert "(1 minute passes on the fast clock" in told.scene(12)
    assert "usual arguments: 1 call " in told.scene(14)
    assert "now 1.00)" not in told.scene(16), "energy that did not change is not told"


def test_code_calls_the_learned_function(told):
    scene = told.scene(16)
    assert scene.count("- learned.compoundInterest (from the code): ") == 3
    assert "= [13439.163793441223,16288.94626777442,19671.513572895663] " in scene


def test_the_kill_switch_ends_everything(told):
    scene = told.scene(17)
    assert re.search(r"Killed [1-9]\d* processes, in \d+ ms", scene)
    assert "Refused EXECUTION_DENIED: Kill switch is on since" in scene


def test_without_an_owner_to_ask_nothing_is_learned():
    done = subprocess.run(ASKING, capture_output=True, timeout=BOUND_S, stdin=subprocess.DEVNULL)
    text = " ".join(done.stdout.decode().split())
    assert (done.returncode, done.stderr) == (0, b"")
    assert "There is no terminal to ask at, and that is a no." in text
    assert "It is disabled" in text
    assert "10. The kill switch" in text
    assert "The trial" not in text


@functools.cache
def at_a_terminal(is_yes: bool) -> str:
    """What stands in a terminal of 80 columns with colours, when the person types the hash or something else."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment |= {"TERM": "xterm-256color", "PYTHONUTF8": "1"}
    output = b""
    with subprocess.Popen(ASKING, stdin=child, stdout=child, stderr=child, env=environment) as demo:
        os.close(child)
        try:
            while piece := os.read(parent, 65536):
                output += piece
                plain = STYLE.sub("", output.decode(errors="replace"))
                # Other lines begin like the prompt, and a piece may end after their first two characters.
                if plain.endswith("Anything else is a no.\r\n> "):
                    shown = re.findall(r" hash +([0-9a-f]{64})", plain)[-1]
                    os.write(parent, (shown[:8] if is_yes else "yes").encode() + b"\n")
        except OSError:
            pass  # That is how a terminal ends on Linux.
        finally:
            os.close(parent)
        assert demo.wait(BOUND_S) == 0
    return output.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("is_yes", [True, False])
def test_at_a_terminal_the_person_is_asked(is_yes):
    output = STYLE.sub("", at_a_terminal(is_yes))
    assert ("Approved: exactly this code" in output) is is_yes
    assert ("crypto_price_change: $" in output) is is_yes
    assert ("It is disabled" in output) is not is_yes


def test_without_a_terminal_it_is_plain_text_of_80_columns(told):
    assert told.text.isascii()
    assert [line for line in told.text.splitlines() if len(line) > 80] == []
    assert set(told.text) & {"\x1b", "\r", "\b", "\t"} == set()
    assert [line for line in told.text.splitlines() if line != line.rstrip()] == []


def test_it_leaves_no_file_and_the_owners_home_alone(told):
    assert told.left == []


def test_in_a_terminal_of_80_columns_it_has_colours_and_no_line_is_broken():
    text = at_a_terminal(True)
    plain = STYLE.sub("", text)
    assert plain != text
    assert set(plain) & {"\x1b", "\r", "\b"} == set()
    assert [line for line in plain.split("\n") if columns_of(line) > 80] == []
    assert "▰" in plain


async def test_nothing_is_left_running_on_either_event_loop(nothing_left):
    stream = io.StringIO()
    assert await tell(SandboxSettings(), stream, Asker(None, says_yes=True))
    assert "chain whole" in stream.getvalue()


def test_an_interruption_ends_it_and_leaves_nothing(tmp_path):
    process = subprocess.Popen(
        DEMO, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    # So little fits into the pipe that the story cannot come to its end before it is interrupted.
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    for line in process.stdout:
        if line.startswith(b"= 16288"):
            break
    assert list(tmp_path.iterdir()) != []
    started = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=BOUND_S)
    assert (process.returncode, errors.decode()) == (130, "Interrupted\n")
    assert list(tmp_path.iterdir()) == []
    until = time.monotonic() + BOUND_S
    while any(os.path.exists(f"/proc/{pid}") for pid in started) and time.monotonic() < until:
        time.sleep(0.01)
    assert [name for pid, name in started.items() if os.path.exists(f"/proc/{pid}")] == []


def test_a_reader_who_leaves_ends_it_quietly(tmp_path):
    process = subprocess.Popen(
        DEMO, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert process.stdout.readline() == b"Motor Cortex: an agent with hands, offline\n"
    process.stdout.close()
    process.stdout = None
    _, errors = process.communicate(timeout=BOUND_S)
    assert errors == b""
    assert list(tmp_path.iterdir()) == []


def test_a_missing_deno_is_refused_with_what_to_do():
    environment = {**os.environ, "CORTEX_SANDBOX__DENO_PATH": "/nowhere/deno"}
    done = subprocess.run(DEMO, capture_output=True, timeout=BOUND_S, env=environment)
    assert (done.returncode, done.stdout) == (3, b"")
    assert (
        'Cannot start Deno: no executable at "/nowhere/deno"; install it with "pip install deno"'
        in done.stderr.decode()
    )


def test_the_option_mcp_says_where_its_story_is_now():
    done = subprocess.run([*ASKING, "--mcp"], capture_output=True, timeout=BOUND_S, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert '"make demo-mcp" or "python -m examples.mcp_story"' in done.stderr
    assert "demo-mcp:" in (ROOT / "Makefile").read_text()


def test_a_script_that_does_not_fit_what_happens_stops_the_demo(tmp_path):
    for folder in ("cortex", "sandbox", "neurons", "config", "deno"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    script = tmp_path / "config" / "demo.json"
    text = script.read_text()
    script.write_text(text.replace("p * Math.pow(1 + r, n)", "p * (1 + r * n)"))
    done = subprocess.run(DEMO, capture_output=True, timeout=BOUND_S, cwd=tmp_path)
    assert done.returncode == 1
    assert "16,288.95" not in done.stdout.decode()
    message = (
        r"cortex demo: the demo did not go as its script expects\. Step 2 expects /\^16288.*/ .*, and that was: 15000\n"
    )
    assert re.fullmatch(message, done.stderr.decode())


def test_no_word_of_the_script_follows_a_run_that_it_does_not_check():
    """Else the model could say one thing and the sandbox another, and nobody would notice."""
    scenes = load_scenes("http://127.0.0.1:1")
    assert [scene.name for scene in scenes] == [
        "interest",
        "orders",
        "network",
        "escape",
        "timeout",
        "energy",
        "learning",
        "again",
        "function",
        "called",
    ]
    turns = [turn for scene in scenes for turn in scene.turns]
    for before, after in ((a, b) for turn in turns for a, b in zip(turn.steps, turn.steps[1:], strict=False)):
        assert after.expect or not any(call.name == "core_execute" for call in before.calls)
    assert not any(call.name == "core_execute" for turn in turns for call in turn.steps[-1].calls)
