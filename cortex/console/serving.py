"""Opens a console on a home and serves it, on this machine only, until it is told to stop."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from cortex.audit import AuditError
from cortex.home import Home
from cortex.http import LOOPBACK, Address, accept, listen, web_server

from . import decisions, inbox_page, login, pages, run_pages, workflow_pages
from .app import ConsoleApp
from .control import control_socket
from .desk import Desk, Guards
from .door import LOGIN, STATIC, ConsolePlace
from .live import Live
from .metrics_page import METRICS_PATH, MetricsPage

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from cortex.settings import Settings

    from .codes import CodedDecision

ENDING_S = 1
ALL_LOOPBACKS = (LOOPBACK, "::1")
_NAME_BYTES = 8


class ConsoleLimits(NamedTuple):
    waiting_s: float = 10
    strangers: int = 20
    stranger_s: float = 5
    moment_s: float = 0.1


PAGES = {
    "/": pages.now_page,
    "/inbox": inbox_page.inbox_page,
    "/runs": run_pages.runs_page,
    "/runs/{run}": run_pages.run_page,
    "/workflows": workflow_pages.workflows_page,
    "/workflows/{run}": workflow_pages.workflow_page,
    "/neurons": pages.neurons_page,
    "/neurons/{neuron}": pages.neuron_page,
    "/audit": pages.audit_page,
    "/audit/{seq}": pages.record_page,
    "/settings": pages.settings_page,
    "/servers": pages.servers_page,
    "/confirm/{decision}": decisions.confirm_page,
}
ACTIONS = {
    "/kill": decisions.kill,
    "/revive": decisions.revive,
    "/energy": decisions.energy,
    "/logout": login.log_out,
    "/logout-others": login.log_out_others,
    "/confirm/{decision}": decisions.confirm,
    "/inbox/{question}/no": inbox_page.say_no,
    "/inbox/{question}/yes": inbox_page.say_yes,
    "/runs/{run}/replay": run_pages.replay,
    "/neurons/{neuron}/kill": decisions.kill_neuron,
    "/neurons/{neuron}/revive": decisions.revive,
    "/neurons/{neuron}/approve": decisions.approve,
    "/neurons/{neuron}/reject": decisions.reject,
    "/neurons/{neuron}/modify": decisions.modify,
    "/neurons/{neuron}/disable": decisions.disable,
    "/neurons/{neuron}/enable": decisions.enable,
    "/neurons/{neuron}/rollback": decisions.rollback,
}


def secret_name() -> str:
    """A host name that nobody can guess, new at each start. Browsers send our cookie to every port of a name, so other
    programs on this machine must not know the name. It only limits theft: the door does not rely on it."""
    return f"cortex-{secrets.token_hex(_NAME_BYTES)}.localhost"


def listen_on_loopback(port: int) -> list[socket.socket]:
    """Sockets on 127.0.0.1 and, where the machine has it, on ::1, with the same port. Raises OSError."""
    first = listen(Address(LOOPBACK, port))
    found = [first]
    with suppress(OSError):
        found.append(listen(Address("::1", first.getsockname()[1])))
    return found


def holder_of(port: int) -> int | None:
    """The process of this user that listens on the port; None when the system does not say (Linux does)."""
    try:
        lines = [line.split() for name in ("tcp", "tcp6") for line in _lines(f"/proc/net/{name}")]
        inodes = {f"socket:[{cells[9]}]" for cells in lines if cells[3] == "0A" and cells[1].endswith(f":{port:04X}")}
        for process in filter(str.isdecimal, os.listdir("/proc") if inodes else ()):
            with suppress(OSError):
                folder = f"/proc/{process}/fd"
                if any(os.readlink(f"{folder}/{one}") in inodes for one in os.listdir(folder)):
                    return int(process)
    except (OSError, IndexError):
        pass
    return None


def _lines(path: str) -> list[str]:
    with open(path, encoding="ascii") as file:
        return file.readlines()[1:]


class Console:
    """The console of one home."""

    def __init__(
        self,
        settings: Settings,
        listening: list[socket.socket],
        *,
        config: Path | None = None,
        name: str | None = None,
        guards: Guards | None = None,
        machines: Mapping[str, ASGIApp] | None = None,
        tell: Callable[[CodedDecision], None] = lambda _: None,
    ) -> None:
        """`tell` shows a code to the owner; `machines` are apps for programs, by their paths."""
        self._listening = listening
        place = ConsolePlace(name or secret_name(), listening[0].getsockname()[1])
        self.desk = Desk(settings, place, config, guards or Guards())
        self.desk.codes.tell = tell
        self.live = Live(self.desk)
        self.app = ConsoleApp(
            self.desk,
            pages=PAGES,
            actions=ACTIONS,
            open_pages={LOGIN: login.login, STATIC: login.static_file},
            streams={"/events": self.live},
            machines={**self._metrics(settings, place), **(machines or {})},
            around=lambda: pages.chrome(self.desk),
        )

    def _metrics(self, settings: Settings, place: ConsolePlace) -> dict[str, ASGIApp]:
        return {METRICS_PATH: MetricsPage(settings, place)} if settings.console.metrics else {}

    def _answer(self, word: str) -> dict[str, Any]:
        """What a command of the same user is told over the socket in the home."""
        match word:
            case "link":
                return {"link": self.desk.link()}
            case "codes":
                now = self.desk.now()
                return {
                    "codes": [
                        {"code": one.code, "what": one.what, "seconds": round(one.until - now)}
                        for one in self.desk.codes.waiting()
                    ]
                }
            case _:
                return {}

    def _index(self) -> None:
        """Read what the index of the audit lacks. A home that cannot be written has none: searches are slower then."""
        with suppress(OSError, AuditError):
            if (self.desk.settings.home / "audit").is_dir():
                self.desk.index.catch_up()

    async def serve(self, until: anyio.Event, *, started: Callable[[], None] = lambda: None) -> None:
        """Serve until the event is set. Open pages are told then, and streams end. Raises OSError when another console
        runs on the home."""
        limits = ConsoleLimits()
        web = web_server(self.app, limits, ending_s=ENDING_S)
        with ExitStack() as closing:
            for one in self._listening:
                closing.enter_context(one)
            async with (
                control_socket(Home(self.desk.settings.home).state, self._answer),
                anyio.create_task_group() as serving,
                anyio.create_task_group() as accepting,
            ):
                serving.start_soon(_shielded, web)
                serving.start_soon(anyio.to_thread.run_sync, self._index)
                for one in self._listening:
                    accepting.start_soon(accept, one, web, limits)
                started()
                try:
                    await until.wait()
                finally:
                    accepting.cancel_scope.cancel()
                    self.live.close()
                    self.desk.index.close()
                    web.should_exit = True


async def _shielded(web: Any) -> None:
    with anyio.CancelScope(shield=True):
        await web.serve(sockets=[])
