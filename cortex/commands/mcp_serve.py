"""`cortex mcp serve`: run an MCP server, over stdin and stdout for the client that started it, or over HTTP."""

from __future__ import annotations

import secrets
import signal
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, NamedTuple

from cortex.settings import Settings, load_settings

from .exits import INTERRUPTED, REFUSED, SUCCESS, CommandError
from .options import add_no_cache, add_workspace, folder_of

if TYPE_CHECKING:
    import socket

    import anyio

    from cortex.mcp_server import Cortex, HttpDoor
    from cortex.turn import Commit

MIN_TOKEN_CHARACTERS = 16
AT_A_TERMINAL = (
    "An MCP client is to start this command, and speaks to it through stdin and stdout (docs/clients.md). "
    "To listen for clients instead: cortex mcp serve --http 127.0.0.1:8765. Ctrl-C ends it."
)


def add_serve_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Lets MCP clients use the sandbox and the tools of this cortex: through stdin and stdout, for a client that "
        "starts this command, or over HTTP. What needs the owner's consent is refused here, and proposals wait for "
        "the owner at the console or the command line."
    )
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="listen there, at /mcp, with a token that clients send (mcp.serve.token, or one that is printed); without "
        "HOST on 127.0.0.1",
    )
    add_workspace(parser, "nobody can be asked here, so that only auto changes anything")
    add_no_cache(parser)


def serve(options: Namespace) -> int:
    """Serve until the client leaves, or SIGINT or SIGTERM comes. Raises CommandError."""
    if options.json:
        raise CommandError("cortex mcp serve speaks MCP and prints nothing else: leave --json out")
    import anyio

    from cortex.motor_cortex import MotorCortex
    from sandbox import SandboxError

    settings = load_settings(options.config, home=options.home, **options.changed)
    # Before the cortex is opened: a mistake in the address or the token is reported at once.
    folder = folder_of(options, is_needed=not settings.mcp.serve.roots)
    front = _front(settings, options.http) if options.http is not None else None

    async def run() -> int:
        # No owner channel: only the MCP client could answer here, and it must not decide for the owner.
        async with MotorCortex(settings, workspace=folder) as cortex:
            return await _serve(cortex, settings, front, options.commit or "ask")

    try:
        return anyio.run(run)
    except SandboxError as error:
        raise CommandError(str(error), REFUSED) from error
    finally:
        if front is not None:
            front.listening.close()


async def _serve(cortex: Cortex, settings: Settings, front: HttpFront | None, commit: Commit = "ask") -> int:
    import anyio

    from cortex.mcp_server import ClientCalls, mcp_server, serve_http, serve_stdio

    calls, stop = ClientCalls(), anyio.Event()
    server = mcp_server(cortex, settings, calls, commit=commit)
    ended_by: list[int] = []
    async with anyio.create_task_group() as tasks:
        await tasks.start(_watch_signals, ended_by, stop)
        if front is not None:
            print(*front.told, sep="\n", file=sys.stderr, flush=True)
            await serve_http(server, front.listening, front.door, calls, until=stop)
        else:
            if sys.stdin.isatty():
                print(AT_A_TERMINAL, file=sys.stderr, flush=True)
            async with anyio.create_task_group() as client:
                client.start_soon(_cancel_after, stop, client.cancel_scope)
                await serve_stdio(server)
                client.cancel_scope.cancel()
        tasks.cancel_scope.cancel()
    return INTERRUPTED if signal.SIGINT in ended_by else SUCCESS


async def _watch_signals(ended_by: list[int], stop: anyio.Event, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            ended_by.append(number)
            stop.set()


async def _cancel_after(stop: anyio.Event, scope: anyio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()


class HttpFront(NamedTuple):
    """The listening socket, the door that checks clients, and the lines to print about both."""

    listening: socket.socket
    door: HttpDoor
    told: list[str]


def _front(settings: Settings, where: str) -> HttpFront:
    """Listen on the address. The token is printed only when it was generated here. Raises CommandError."""
    from cortex.http import Address, BadAddress, address_of, is_loopback, listen
    from cortex.mcp_server import PATH, HttpDoor

    serving = settings.mcp.serve
    given = serving.token.get_secret_value() if serving.token is not None else None
    if given is not None and len(given) < MIN_TOKEN_CHARACTERS:
        raise CommandError(f"mcp.serve.token is shorter than {MIN_TOKEN_CHARACTERS} characters")
    try:
        asked = address_of(where)
        listening = listen(asked)
    except BadAddress as error:
        raise CommandError(f"--http: {error}") from error
    except OSError as error:
        raise CommandError(f"Cannot listen on {where}: {error.strerror}", REFUSED) from error
    host, port = listening.getsockname()[:2]
    if not is_loopback(host) and given is None:
        listening.close()
        raise CommandError(
            f"{asked.shown} can be reached from other machines: set mcp.serve.token (or CORTEX_MCP__SERVE__TOKEN) first"
        )
    token = given if given is not None else secrets.token_urlsafe(32)
    own = () if _is_any(host) else (Address(host, port).shown, Address(asked.host, port).shown)
    told = [f"Listening on http://{Address(asked.host, port).shown}{PATH}"]
    if given is None:
        told.append(f"Clients send: Authorization: Bearer {token}")
    return HttpFront(listening, HttpDoor(token, (*own, *serving.hosts), serving.origins), told)


def _is_any(host: str) -> bool:
    import ipaddress

    return ipaddress.ip_address(host.partition("%")[0]).is_unspecified
