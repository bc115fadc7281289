"""Programs for tests of the inbox: an agent that asks, and a shell that answers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cortex.home import Home
from cortex.settings import Settings
from cortex.views import QuestionSeen, questions_of
from neurons import DeferredStorage

ROOT = Path(__file__).parent.parent.parent.parent
CORTEX = [sys.executable, "-c", "from cortex.commands import main; main()"]
PATIENCE_S = 30


class AskingAgent:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def asks(self, *items: str, **more: str) -> None:
        """One call for each item, all at the same time."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([{"item": item, **more} for item in items]) + "\n")
        self.process.stdin.flush()

    def told(self) -> str:
        """What the model is told, when the call is over."""
        [told] = self.all_told()
        return told

    def all_told(self) -> list[str]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


@contextmanager
def asking_agent(home: Path, seconds: float = 60) -> Iterator[AskingAgent]:
    command = [sys.executable, "-m", "tests.cortex.inbox.asking_agent", str(home), str(seconds)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield AskingAgent(process)
        finally:
            process.kill()


def shell(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`cortex inbox` in a process of its own, without a terminal."""
    return subprocess.run(
        [*CORTEX, "inbox", *words, "--home", str(home)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def seen(home: Path) -> list[QuestionSeen]:
    return questions_of(Settings(home=home), time.time)


def eventually(happens: Callable[[], Any]) -> Any:
    """What the function returns once that is something. Fails loudly if it never is."""
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        if found := happens():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def open_question(home: Path) -> QuestionSeen:
    return eventually(lambda: next((one for one in seen(home) if one.is_open), None))


def stop(agent: AskingAgent, home: Path) -> None:
    """Stop a program that has asked, when it holds no lock: a stopped one would keep it from everybody."""
    storage = DeferredStorage(Home(home).state)
    with storage.alone("questions"):
        storage.update("questions/none", lambda _: None)
    storage.close()
    agent.process.send_signal(signal.SIGSTOP)


def document_of(home: Path, question: QuestionSeen) -> Path:
    return Home(home).state / "questions" / f"{question.id}.json"
