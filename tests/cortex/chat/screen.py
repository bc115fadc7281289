"""A person at a real terminal: types, looks until something is there, and never longer than a bound."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress

from tests.conftest import is_readable

# Only what hangs takes so long, on a slow machine too.
BOUND_S = 120
_STEERING = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|[\x01\x02]")
# The terminal becomes the one that Ctrl-C is sent from.
_COMMAND = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from cortex.commands import main; main()"


class Screen:
    """The person's end of a pseudo-terminal; `theirs` is the program's."""

    def __init__(self, columns: int = 80) -> None:
        self._ours, self.theirs = pty.openpty()
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.raw = ""
        self._bytes = b""
        self._seen = 0

    @property
    def text(self) -> str:
        """What is there to read, without colours and the like."""
        return _STEERING.sub("", self.raw).replace("\r\n", "\n").replace("\r", "")

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def wait_for(self, words: str) -> str:
        """Until the words are there, after those that were waited for before. All that is there by then."""
        deadline = time.monotonic() + BOUND_S
        while (place := self.text.find(words, self._seen)) < 0:
            assert self._read(deadline), f"{words!r} did not come; there is: {self.text!r}"
        self._seen = place + len(words)
        return self.text

    def interrupt_until(self, words: str) -> str:
        """Ctrl-C, again and again until the words are there. One that falls between readline's last look at signals and
        its wait for the next key is seen with that key only, as in every program that reads with it."""
        began = again_at = time.monotonic()
        while (place := self.text.find(words, self._seen)) < 0:
            if time.monotonic() >= again_at:
                assert again_at < began + BOUND_S, f"{words!r} did not come; there is: {self.text!r}"
                self.type("\x03")
                again_at = time.monotonic() + 2
            self._read(again_at)
        self._seen = place + len(words)
        return self.text

    @property
    def lines(self) -> list[str]:
        """As they were written: what was written over another line is one of its own."""
        return re.split(r"[\r\n]+", _STEERING.sub("", self.raw))

    def read_to_end(self) -> str:
        """Until nobody writes there any more."""
        while self._read(time.monotonic() + BOUND_S):
            pass
        return self.text

    def _read(self, deadline: float) -> bool:
        data = b""
        if is_readable(self._ours, max(0.0, deadline - time.monotonic())):
            with suppress(OSError):  # how a terminal says that nobody is there any more
                data = os.read(self._ours, 65_536)
        self._bytes += data
        self.raw = self._bytes.decode(errors="replace")
        return bool(data)

    def close(self) -> None:
        for end in (self._ours, self.theirs):
            with suppress(OSError):
                os.close(end)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class CommandScreen(Screen):
    """A `cortex` command in a terminal of its own."""

    def __init__(self, *words: str, env: dict[str, str] | None = None, columns: int = 80, **streams: int) -> None:
        super().__init__(columns)
        places = {"stdin": self.theirs, "stdout": self.theirs, "stderr": self.theirs, **streams}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, *words],
            start_new_session=True,
            env={**os.environ, "TERM": "xterm"} if env is None else env,
            **places,
        )
        os.close(self.theirs)

    def ended(self) -> int:
        """The exit code, when the command has ended."""
        self.read_to_end()
        return self.process.wait(BOUND_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        super().close()


class Chat(CommandScreen):
    """`cortex chat` in a terminal of its own."""

    def __init__(self, *arguments: str, env: dict[str, str], columns: int = 80, **streams: int) -> None:
        super().__init__("chat", *arguments, env=env, columns=columns, **streams)
