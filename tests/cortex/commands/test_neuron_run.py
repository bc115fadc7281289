"""Neurons without a chat, in real processes: one that runs them, killed at any moment, and others on the same home."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from cortex import MotorCortex, Settings
from cortex.commands.neuron_run import RunLines, how_it_is
from neurons import (
    Counts,
    LayerState,
    NerveState,
    NerveView,
    Overview,
    Proposal,
    Report,
    Signal,
    code_hash,
    policy_hash,
)
from neurons.autonomic.mail import Mail
from neurons.autonomic.post_office import POLL_S, letter_of
from sandbox import SandboxSettings

from ...neurons.governance import Governed
from ...neurons.layer import until
from ..chat.screen import BOUND_S
from ..chat.test_command import environment
from ..models.server import ChatServer, Reply, Talk, words

pytestmark = [pytest.mark.anyio, pytest.mark.deno]

START = "from cortex.commands import main; main()"
COUNT = "state.n = (state.n ?? 0) + 1; emit('counted', { n: state.n });"


def settings_of(home: Path) -> Settings:
    return Settings(home=home, sandbox=SandboxSettings(pool_size=1), neurons={"owner": {"console": False}})


def approved(home: Path, action: str = "notify", **changes: Any) -> str:
    """A neuron on trial, by the whole way that a person goes."""
    pipeline = MotorCortex(settings_of(home)).learning.pipeline
    given = {
        "name": "Counter",
        "purpose": "Count",
        "code": COUNT,
        "inputSignals": ["sold"],
        "outputSignals": ["counted"],
        "energyBudget": 0.5,
        "emission": {"action": action, "text": "number {n}"},
        **changes,
    }
    neuron = pipeline.propose(Proposal.of(given), max_code_bytes=10_000)
    report = Report(at=time.time(), code_hash=code_hash(neuron.code), policy_hash=policy_hash(neuron.policy))
    asked = pipeline.judged(neuron.id, report)
    assert asked.request is not None
    return pipeline.approve(neuron.id, asked.request.shown_hash[:8]).id


@contextmanager
def runner(home: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, "neurons", "run", "--json", f"--home={home}"],
            stdout=out,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": "", "DBUS_SESSION_BUS_ADDRESS": ""},
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def events(log: Path, kind: str) -> list[dict[str, Any]]:
    lines = log.read_text().splitlines() if log.exists() else []
    return [found for line in lines if (found := json.loads(line))["event"] == kind]


async def test_what_was_told_is_not_told_again_and_what_was_written_is_told_after_a_kill(tmp_path: Path) -> None:
    home, log = tmp_path / "home", tmp_path / "log"
    home.mkdir(mode=0o700)
    neuron = approved(home)
    mine = MotorCortex(settings_of(home))
    mail = Mail(mine.learning.storage)
    for pause in (0.0, 0.05, 0.15, 0.4):
        with runner(home, log) as process:
            awake = len(events(log, "neuron"))
            await until(lambda before=awake: len(events(log, "neuron")) > before)
            mail.post([Signal("sold", "host", at=time.time()) for _ in range(3)])
            told = len(events(log, "told"))
            # Killed at once when the first is told, or a moment later.
            await until(lambda before=told: len(events(log, "told")) > before)
            await anyio.sleep(pause)
            process.send_signal(signal.SIGKILL)
            process.wait()
    with runner(home, log) as process:
        before = len(events(log, "neuron"))
        await until(lambda: len(events(log, "neuron")) > before)
        await until(lambda: not any(letter.waits for letter in mail.read().letters))
        await until(lambda: not mine.learning.store.get(neuron).outbox)
        await anyio.sleep(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    texts = [one["text"] for one in events(log, "told")]
    assert len(texts) == len(set(texts)) >= 4
    # The counts go on where the last emission was: none is given the number of another.
    emitted = [one["data"]["n"] for one in events(log, "emitted")]
    assert len(emitted) == len(set(emitted))
    state = mine.learning.store.get(neuron).state
    assert state["n"] >= max(int(text.rpartition(" ")[2]) for text in texts)
    mine.learning.close()


async def test_other_programs_hand_over_send_signals_and_are_woken_once(tmp_path: Path) -> None:
    home, log = tmp_path / "home", tmp_path / "log"
    home.mkdir(mode=0o700)
    approved(home, "wake")
    woken: list[Signal] = []
    heard: list[Signal] = []

    async def wake(signal: Signal) -> None:
        woken.append(signal)

    async with MotorCortex(settings_of(home), wake=wake) as cortex:
        await until(lambda: cortex.autonomic.overview().state is LayerState.LEADING)
        cortex.autonomic.watch(lambda signal: heard.append(signal) if signal.type == "counted" else None)
        with runner(home, log) as process:
            await until(lambda: cortex.autonomic.overview().state is LayerState.STANDBY)
            await until(lambda: events(log, "neuron"))
            assert cortex.autonomic.emit("sold", {})
            await until(lambda: woken)
            await until(lambda: heard)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 130
        await until(lambda: cortex.autonomic.overview().state is LayerState.LEADING)
        await anyio.sleep(0.5)
    assert [(signal.type, signal.said, signal.source) for signal in woken] == [
        ("counted", "number 1", "neuron:counter")
    ]
    assert [signal.data for signal in heard] == [{"n": 1}]
    assert [one["what"] for one in _emissions(home)] == ["emission wake"]


def _emissions(home: Path) -> list[dict[str, Any]]:
    cortex = MotorCortex(settings_of(home))
    return [dict(record.facts) for record in cortex.audit.records() if record.kind == "emission"]


async def test_the_unit_is_printed_and_nothing_is_written(tmp_path: Path) -> None:
    home = tmp_path / "a home%"
    home.mkdir()
    done = subprocess.run(
        [sys.executable, "-P", "-c", START, "neurons", "run", "--install", f"--home={home}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "[Service]\nExecStart=" in done.stdout
    assert f'"--home={tmp_path}/a home%%"' in done.stdout
    assert "systemctl --user" in done.stdout
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (LayerState.LEADING, "This process runs the neurons now: 0 neurons"),
        (LayerState.STANDBY, "Another process on this home runs the neurons; this one takes over when it ends"),
        (LayerState.KILLED, 'The kill switch is on: no neuron runs before "cortex revive --reason …"'),
    ],
)
def test_a_person_reads_in_a_sentence_what_the_process_does(
    capsys: pytest.CaptureFixture[str], state: LayerState, words: str
) -> None:
    counts = Counts(emitted=0, unheard=0, delivered=0, waiting=0, wakes=0, listener_errors=0, dropped={})
    RunLines(as_json=False).overview(Overview(state, 1.0, (), counts, ""))
    assert capsys.readouterr().out.endswith(f"  {words}\n")


def test_a_neuron_without_its_tool_is_told_with_what_lends_it() -> None:
    assert how_it_is("awake", "") == "awake"
    assert how_it_is("trouble", 'tools: there is no tool "shop.stock" for neurons; there are: none') == (
        'in trouble: tools: there is no tool "shop.stock" for neurons; there are: none. '
        "--tools MODULE:NAME lends the tools of a toolbox of yours"
    )


def test_programs_read_the_state_of_a_neuron_and_its_reason_apart(capsys: pytest.CaptureFixture[str]) -> None:
    lines = RunLines(as_json=True)
    view = NerveView(Governed().in_trial(), NerveState.TROUBLE, "the server hangs", 0, 0.2)
    counts = Counts(emitted=0, unheard=0, delivered=0, waiting=0, wakes=0, listener_errors=0, dropped={})
    for nerves in ((view,), ()):
        lines.overview(Overview(LayerState.LEADING, 1.0, nerves, counts, ""))
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["state"], one["reason"], one["text"]) for one in told if one["event"] == "neuron"] == [
        ("trouble", "the server hangs", "crypto-price is in trouble: the server hangs"),
        ("ended", "", "crypto-price does not run any more"),
    ]


def said_once(home: Path, server: ChatServer, text: str) -> str:
    """What `cortex chat --message` prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", START, "chat", "--message", text, f"--home={home}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=BOUND_S,
        env=environment(home, server),
    )
    return done.stdout


def slowly(reply: Reply) -> Reply:
    """Long enough for the program that asks to look at its mail several times."""

    def later(talk: Talk) -> None:
        time.sleep(5 * POLL_S)
        reply(talk)

    return later


async def test_a_chat_for_one_message_says_the_answer_to_it_and_takes_no_other(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    other = approved(home, "answer", name="Other")
    mail = Mail(MotorCortex(settings_of(home)).learning.storage)
    # Asked a minute ago in a program that may be busy, and emitted by a schedule, which no program asked for.
    signals = [Signal("counted", f"neuron:{other}", {"n": n}, at=time.time() - 60) for n in (98, 99)]
    letters = [replace(signals[0], origin="elsewhere"), signals[1]]
    mail.publish([letter_of(one, name="Other", action="answer", text=f"number {one.data['n']}") for one in letters])
    with ChatServer(slowly(words("the model"))) as server:
        assert await anyio.to_thread.run_sync(said_once, home, server, "how many?") == "the model\n"
        approved(home, "answer", inputSignals=["user_message"])
        assert await anyio.to_thread.run_sync(said_once, home, server, "how many?") == "number 1\n"
    assert [letter.text for letter in mail.read().letters if letter.waits] == ["number 98", "number 99"]
    heard: list[str] = []

    async def answer(signal: Signal) -> None:
        heard.append(signal.said)

    async with MotorCortex(settings_of(home), answer=answer):
        await until(lambda: len(heard) == 2)
    assert sorted(heard) == ["number 98", "number 99"]
