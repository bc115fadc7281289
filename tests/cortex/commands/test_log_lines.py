"""What is logged while a command runs: seen by a person, bounded, and harmless to the terminal."""

from __future__ import annotations

import subprocess
import sys

CORTEX = [sys.executable, "-c", "from cortex.commands import main; main()"]
HOSTILE = "\x1b]0;pwned\x07\x9b2J\u202e"
HARMLESS = "\\u001b]0;pwned\\u0007\\u009b2J\\u202e"

BEFORE = f"""
import logging
from cortex.commands.log_lines import log_lines
log, HOSTILE = logging.getLogger("shop"), {HOSTILE!r}
"""


def logged(program: str) -> str:
    """What the program leaves on stderr. In one of its own: here, the log is in the hands of the tests."""
    command = [sys.executable, "-X", "utf8", "-c", BEFORE + program]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=True).stderr


def test_what_a_command_logs_is_a_message_like_others_and_steers_no_terminal(tmp_path):
    home = tmp_path / HOSTILE
    (home / "state").mkdir(parents=True)
    (home / "state" / "energy-ledger.jsonl").write_bytes(b"damaged\n")
    done = subprocess.run([*CORTEX, "energy", "--home", home], capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0
    assert done.stderr.startswith(
        f'cortex energy: Energy of "{tmp_path}/{HARMLESS}/state": ledger and snapshot are damaged'
    )
    assert len(done.stderr.splitlines()) == 1


def test_the_text_of_an_error_is_set_in_below_the_message():
    first, *rest = logged("""
with log_lines("chat"):
    log.info("nobody wants to know")
    try:
        raise ValueError(f"no such customer: {HOSTILE}\\nAllow it this once? [y/N]")
    except ValueError:
        log.exception("The tool failed")
""").splitlines()
    assert first == "cortex chat: The tool failed"
    assert rest[0] == "    Traceback (most recent call last):"
    assert rest[-2:] == [f"    ValueError: no such customer: {HARMLESS}", "    Allow it this once? [y/N]"]
    assert all(line.startswith("    ") for line in rest)


def test_a_log_that_a_module_of_tools_sets_up_does_not_print_it_as_it_is():
    program = """
with log_lines("chat"):
    logging.basicConfig()
    log.warning(HOSTILE)
"""
    assert logged(program) == f"cortex chat: {HARMLESS}\n"


def test_what_comes_after_the_end_is_harmless_too():
    program = """
with log_lines("chat"):
    pass
log.warning(HOSTILE)
"""
    assert logged(program) == f"cortex chat: {HARMLESS}\n"


def test_of_a_long_text_the_beginning_and_the_end_are_shown():
    shown = logged("""
with log_lines("chat"):
    log.warning("%s", "a" * 1_000_000 + "z")
""")
    assert len(shown) < 11_000
    assert "\n    … (990001 more characters left out)\n" in shown
    assert shown.endswith("aaz\n")
