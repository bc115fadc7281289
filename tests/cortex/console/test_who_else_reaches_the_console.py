"""Others on this machine that try to reach the console: code of the sandbox in every spelling, and other users."""

from __future__ import annotations

import os
import socket
import stat

import anyio
import pytest

from cortex.console import control
from neurons import KillSwitch
from sandbox import DenoRuntime, ExecutionRequest, NetworkPolicy, Tier
from tests.conftest import small

from .served import served
from .test_console_command import running

SPELLINGS = (
    *("127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0.0.0.0", "0"),
    *("[::ffff:127.0.0.1]", "[::]", "127.0.0.1.", "localhost.", "x.localhost", "127.83.7.1", "LOCALHOST", "①27.0.0.1"),
)
FETCHES = """
const found = [];
for (const place of context.places) {
    try {
        const reply = await fetch(place, { method: "POST", headers: { "sec-fetch-site": "same-origin" }, body: "reason=x" });
        found.push([place, reply.status, (await reply.text()).slice(0, 200)]);
    } catch (error) { found.push([place, 0, String(error).slice(0, 60)]); }
}
return found;
"""


@pytest.fixture
def console(tmp_path):
    with served(tmp_path / "home") as found:
        yield found


async def fetched(places: list[str], tier: Tier, policy: NetworkPolicy | None) -> list[tuple[str, int, str]]:
    async with DenoRuntime(small(pool_size=0)) as runtime:
        request = ExecutionRequest(code=FETCHES, timeout_ms=20_000, context={"places": places}, tier=tier)
        outcome = await runtime.execute(request, network=policy)
        assert outcome.ok, outcome.error
        return [tuple(one) for one in outcome.result]


def policies(port: int) -> dict[str, tuple[Tier, NetworkPolicy | None]]:
    """What an owner may have allowed, short of this very port of this machine."""
    other = 9 if port != 9 else 10
    by_name = [{"host": host, "http": True, "ports": [port]} for host in ("127.0.0.1", "localhost", "127.83.7.1")]
    another_port = [{"host": "127.0.0.1", "http": True, "private": True, "ports": [other]}]
    return {
        "isolated": (Tier.ISOLATED, None),
        "no host": (Tier.NETWORK, NetworkPolicy()),
        "this machine, but nothing private": (Tier.NETWORK, NetworkPolicy.model_validate({"allow": by_name})),
        "another port of this machine": (Tier.NETWORK, NetworkPolicy.model_validate({"allow": another_port})),
    }


@pytest.mark.deno
@pytest.mark.parametrize("name", policies(1))
def test_code_of_the_sandbox_reaches_it_in_no_spelling(name, console):
    tier, policy = policies(console.place.port)[name]
    places = [f"http://{host}:{console.place.port}/kill" for host in (*SPELLINGS, console.place.name)]
    found = anyio.run(fetched, places, tier, policy)
    assert [one for one in found if one[1] != 0] == []
    assert len(found) == len(places)
    assert KillSwitch(console.home / "state").refusal() is None


@pytest.mark.deno
def test_code_that_the_owner_lets_connect_to_this_very_port_meets_the_door(console):
    """Without the wall the console is reached, and its door holds."""
    port = console.place.port
    rule = {"host": "127.0.0.1", "http": True, "private": True, "ports": [port]}
    policy = NetworkPolicy.model_validate({"allow": [rule]})
    places = [f"http://127.0.0.1:{port}/{path}" for path in ("kill", "", "login")]
    assert [one[1] for one in anyio.run(fetched, places, Tier.NETWORK, policy)] == [421, 421, 421]
    assert KillSwitch(console.home / "state").refusal() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_who_connects_to_the_port_or_looks_at_the_process_gets_nothing(tmp_path):
    home = tmp_path / "home"
    with running(home) as (process, told):
        port = int(told["address"].rpartition(":")[2])
        token = told["link"].partition("#")[2].encode()
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.setgid(65_534)
            os.setuid(65_534)
            found = b""
            for path in (
                f"/proc/{process.pid}/cmdline",
                f"/proc/{process.pid}/environ",
                home / "state" / "console.sock",
            ):
                try:
                    with open(path, "rb") as file:
                        found += file.read()
                except OSError:
                    found += b"refused "
            with socket.create_connection(("127.0.0.1", port), 10) as sock:
                sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                while more := sock.recv(4096):
                    found += more
            os.write(writing, found[:60_000])
            os._exit(0)
        os.close(writing)
        answer = b""
        while more := os.read(reading, 65_536):
            answer += more
        os.close(reading)
        os.waitpid(pid, 0)
    assert answer.count(b"refused ") == 2  # its environment, and its socket
    assert b" 421 " in answer
    assert token not in answer
    name = told["address"].partition("//")[2].partition(":")[0].encode()
    assert name not in answer
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert control.FILE == "console.sock"
