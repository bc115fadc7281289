"""A program for a test: sets the level in a home on a disk that is full. In a mount namespace of its own, where anybody
may mount a small file system; prints "cannot" where not even that is allowed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def main(place: Path) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], check=False)
    if mounted.returncode:
        print("cannot")
        return
    home = place / "home"
    cortex("energy", "set", "0.5", home=home)
    handle = os.open(place / "filler", os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(handle, b"x" * 512):
            pass
    except OSError as error:
        print("full:", error.strerror)
    print(*cortex("energy", "set", "0.25", home=home), sep="\n")
    print(*cortex("energy", home=home)[1:], sep="\n")


def cortex(*arguments: str, home: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", "from cortex.commands import main; main()", *arguments, "--home", str(home)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


if __name__ == "__main__":
    main(Path(sys.argv[1]))
