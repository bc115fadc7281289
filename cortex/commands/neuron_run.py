"""`cortex neurons run`: runs the neurons of a home until it is ended, without a model. Other programs on the home hand
the neurons over to it, send it their signals, and get what the neurons emit."""

from __future__ import annotations

import json
import shlex
import signal
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex.text import local_time, styled, visible

from .exits import INTERRUPTED, REFUSED, SUCCESS, CommandError
from .options import own_toolbox, with_hint

if TYPE_CHECKING:
    from cortex.motor_cortex import MotorCortex
    from cortex.settings import Settings
    from neurons import Emitted, Notice, Overview, OwnerChannel, Signal

UNIT = "motor-cortex-neurons.service"
LOOK_S = 0.5
_START = "from cortex.commands import main; main()"


def add_run_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--install", action="store_true", help="print a systemd user unit that runs this, and where to put it"
    )
    parser.add_argument(
        "--tools", metavar="MODULE:NAME", help="a Toolbox of your own, with the tools that neurons may call"
    )


def run_neurons(options: Namespace, settings: Settings) -> int:
    if options.install:
        print("\n".join(unit(options, settings)))
        return SUCCESS
    import anyio

    from cortex.motor_cortex import MotorCortex
    from sandbox import SandboxError

    toolbox = own_toolbox(options.tools) if options.tools is not None else None
    lines = RunLines(as_json=options.json)

    async def run() -> int:
        channels = [lines, *_others(settings)]
        async with MotorCortex(settings, toolbox=toolbox, channels=channels, runner=True) as cortex:
            return await _until_ended(cortex, lines)

    try:
        return anyio.run(run)
    except SandboxError as error:
        raise CommandError(str(error), REFUSED) from error


async def _until_ended(cortex: MotorCortex, lines: RunLines) -> int:
    import anyio

    cortex.autonomic.watch(lines.signal)
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_follow, cortex, lines)
            async for number in signals:
                tasks.cancel_scope.cancel()
                lines.write("ended", f"ended by {signal.Signals(number).name}")
                return INTERRUPTED if number == signal.SIGINT else SUCCESS
    return SUCCESS


async def _follow(cortex: MotorCortex, lines: RunLines) -> None:
    import anyio

    while True:
        lines.overview(cortex.autonomic.overview())
        await anyio.sleep(LOOK_S)


def _others(settings: Settings) -> list[OwnerChannel]:
    """The owner channels of the settings but the console: here the lines are."""
    from cortex.channels import ConsoleChannel
    from cortex.learning import channels_of

    return [channel for channel in channels_of(settings) if not isinstance(channel, ConsoleChannel)]


class RunLines:
    """Prints one line for each event. Also an owner channel: what neurons tell the owner is a line."""

    name = "console"

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._state = ""
        self._nerves: dict[str, tuple[str, str]] = {}
        self._trouble = ""

    async def notify(self, notice: Notice) -> None:
        neuron = notice.neuron
        self.write("proposed", f"{notice.title}; cortex neurons show {neuron.id}", neuron=neuron.id)

    async def emitted(self, emitted: Emitted) -> None:
        self.write("told", f"{emitted.name or emitted.neuron}: {emitted.text}", neuron=emitted.neuron)

    def signal(self, heard: Signal) -> None:
        if heard.source.startswith("neuron:"):
            neuron = heard.source.removeprefix("neuron:")
            self.write("emitted", f"{neuron} emitted {heard.type}", neuron=neuron, type=heard.type, data=heard.data)

    def overview(self, overview: Overview) -> None:
        """Print what has changed since the last time."""
        if overview.state.value != self._state:
            self._state = overview.state.value
            self.write("state", what_it_does(overview), state=self._state)
        nerves = {view.neuron.id: (view.state.value, view.reason) for view in overview.nerves}
        for neuron, (state, reason) in nerves.items():
            if self._nerves.get(neuron) != (state, reason):
                self.write(
                    "neuron", f"{neuron} is {how_it_is(state, reason)}", neuron=neuron, state=state, reason=reason
                )
        for neuron in self._nerves.keys() - nerves.keys():
            self.write("neuron", f"{neuron} does not run any more", neuron=neuron, state="ended", reason="")
        self._nerves = nerves
        if overview.trouble != self._trouble:
            self._trouble = overview.trouble
            self.write("trouble", overview.trouble or "the trouble is over")

    def write(self, event: str, text: str, **facts: Any) -> None:
        now = time.time()
        if self._as_json:
            line = json.dumps({"event": event, "at": now, "text": text, **facts}, default=str)
        else:
            line = f"{styled(local_time(now, '%H:%M:%S'), 'dim', sys.stdout)}  {visible(text)}"
        print(line, flush=True)


def what_it_does(overview: Overview) -> str:
    """What this process does for the neurons, in a sentence."""
    match overview.state.value:
        case "leading":
            return f"This process runs the neurons now: {_neurons(len(overview.nerves))}"
        case "standby":
            return "Another process on this home runs the neurons; this one takes over when it ends"
        case "killed":
            return 'The kill switch is on: no neuron runs before "cortex revive --reason …"'
        case _:
            return "No neuron runs in this process: neurons.autonomic.enabled is off"


def how_it_is(state: str, reason: str) -> str:
    """`awake`, or `in trouble: there is no tool …`, to be said after "is"."""
    state = "in trouble" if state == "trouble" else state
    return f"{state}: {with_hint(reason)}" if reason else state


def _neurons(count: int) -> str:
    return f"{count} neuron{'' if count == 1 else 's'}"


def unit(options: Namespace, settings: Settings) -> Iterator[str]:
    """The unit, and in comments where to put it. Nothing is written or started here."""
    command = [sys.executable, "-P", "-c", _START, "neurons", "run", f"--home={settings.home.absolute()}"]
    given = {"config": options.config and Path(options.config).absolute(), "tools": options.tools}
    command += [f"--{name}={value}" for name, value in given.items() if value is not None]
    yield f"# Put this into ~/.config/systemd/user/{UNIT}, and then:"
    yield f"#   systemctl --user daemon-reload && systemctl --user enable --now {UNIT}"
    yield "#   loginctl enable-linger    so that it also runs while nobody is logged in"
    yield "[Unit]"
    yield "Description=Neurons of Motor Cortex"
    yield ""
    yield "[Service]"
    # systemd replaces %, and $ names a variable: both are doubled.
    yield f"ExecStart={' '.join(_quoted(word) for word in command)}"
    yield "Restart=on-failure"
    yield "RestartSec=10"
    yield ""
    yield "[Install]"
    yield "WantedBy=default.target"


def _quoted(word: str) -> str:
    word = word.replace("%", "%%").replace("$", "$$")
    if shlex.quote(word) == word:
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
