"""Where connections go: to the address that was checked, with a certificate for the name that was asked for."""

from __future__ import annotations

import socket
import ssl
import threading

import anyio
import pytest
import trustme

from sandbox.network.connections import CheckedBackend, ssl_context
from sandbox.network.lookups import MAX_OF_ALL, MAX_OF_DOMAIN, MAX_OF_RUN, Desk, Lookups, domain_of
from tests.conftest import descriptors
from tests.sandbox.network.conftest import Names, brokered, call, fetch, refused
from tests.sandbox.network.servers import Server

pytestmark = pytest.mark.usefixtures("nothing_left")


def public(server: Server, **more: object) -> dict[str, object]:
    return {"host": "a.test", "http": True, "ports": [server.port], **more}


async def test_a_name_that_leads_to_this_machine_is_denied_unless_the_entry_says_private(server):
    async with brokered(public(server), names=Names(a_test=["127.0.0.1"])) as broker:
        error = await refused(broker, server.at("a.test"))
    assert (error.code, server.connections) == ("denied", 0)
    assert str(error) == "Fetching from a.test is denied: a.test leads to 127.0.0.1, a loopback address"
    async with brokered(public(server, private=True), names=Names(a_test=["127.0.0.1"])) as broker:
        assert (await fetch(broker, server.at("a.test")))["status"] == 200


async def test_an_address_itself_is_checked_too(server):
    async with brokered({"host": "127.0.0.1", "http": True, "ports": [server.port]}) as broker:
        error = await refused(broker, server.url)
    assert (error.code, server.connections) == ("denied", 0)
    assert str(error) == "Fetching from 127.0.0.1 is denied: 127.0.0.1 is a loopback address"


@pytest.mark.parametrize(
    "answer", [["1.1.1.1", "127.0.0.1"], ["127.0.0.1", "1.1.1.1"], ["2606:4700::1", "::ffff:127.0.0.1"]]
)
async def test_one_bad_address_among_good_ones_is_enough(server, answer):
    async with brokered(public(server), names=Names(a_test=answer)) as broker:
        error = await refused(broker, server.at("a.test"))
    assert (error.code, server.connections) == ("denied", 0)
    assert "127.0.0.1" in str(error)


async def test_dns_that_changes_its_answer_after_the_check_changes_nothing(server):
    # The second answer is never asked for: what was checked is what is connected to.
    names = Names(a_test=[["203.0.113.7"], ["127.0.0.1"]])
    async with brokered(public(server), names=names) as broker:
        assert "203.0.113.7" in str(await refused(broker, server.at("a.test")))
        assert names.asked == ["a.test"]
        assert "127.0.0.1" in str(await refused(broker, server.at("a.test")))
    assert server.connections == 0


async def test_each_new_connection_is_checked_anew(server):
    server.routes["/"] = lambda talk: (talk.reply(b"ok", headers={"Connection": "close"}), talk.hang_up())
    names = Names(a_test=[["127.0.0.1"], ["169.254.169.254"]])
    async with brokered(public(server, private=True), names=names) as broker:
        assert (await fetch(broker, server.at("a.test")))["status"] == 200
        error = await refused(broker, server.at("a.test"))
    assert "a cloud metadata address" in str(error)
    assert server.connections == 1


async def test_a_connection_of_a_private_entry_does_not_serve_another_entry(server):
    entries = [public(server, paths=["/in"], private=True), public(server)]
    async with brokered(*entries, names=Names(a_test=["127.0.0.1"])) as broker:
        await fetch(broker, f"{server.at('a.test')}/in")
        assert (await refused(broker, f"{server.at('a.test')}/out")).code == "denied"
    assert server.paths() == ["/in"]


async def test_a_denied_address_is_denied_under_every_name(server):
    entry = public(server, private=True)
    async with brokered(entry, names=Names(a_test=["127.0.0.1"]), deny=["127.0.0.1"]) as broker:
        error = await refused(broker, server.at("a.test"))
    assert (error.code, server.connections) == ("denied", 0)
    assert "an address of the denylist" in str(error)
    only_a_part = [{"host": "127.0.0.1", "paths": ["/x"]}, {"host": "127.0.0.1", "ports": [1]}]
    async with brokered(entry, names=Names(a_test=["127.0.0.1"]), deny=only_a_part) as broker:
        assert (await fetch(broker, server.at("a.test")))["status"] == 200


@pytest.mark.parametrize("address", ["::ffff:127.0.0.1", "0:0:0:0:0:ffff:7f00:1"])
async def test_a_denied_address_is_denied_in_other_clothes(server, address):
    entry = public(server, private=True)
    async with brokered(entry, names=Names(a_test=[address]), deny=["127.0.0.1"]) as broker:
        assert "an address of the denylist" in str(await refused(broker, server.at("a.test")))
    async with brokered(entry, names=Names(a_test=["127.0.0.1"]), deny=[address]) as broker:
        assert "an address of the denylist" in str(await refused(broker, server.at("a.test")))
    assert server.connections == 0


async def test_the_next_address_is_tried_when_one_does_not_answer(server):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.2", 0))  # bound and not listening: connections are refused
        names = Names(a_test=["127.0.0.3", "127.0.0.2", "127.0.0.1"])
        async with brokered(public(server, private=True), names=names) as broker:
            assert (await fetch(broker, server.at("a.test")))["status"] == 200


async def test_ipv6_is_reached_by_name_and_by_address():
    with Server(family=socket.AF_INET6) as server:
        entry = public(server, private=True)
        async with brokered(entry, {**entry, "host": "[::1]"}, names=Names(a_test=["::1"])) as broker:
            await fetch(broker, server.at("a.test"))
            await fetch(broker, server.at("[::1]"))
        assert server.heard[1].header("host") == f"[::1]:{server.port}"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (Names(), "its name has no address"),
        (Names(a_test=[[]]), "its name has 0 addresses"),
        (Names(a_test=["1.1.1.1"] * 100), "its name has 100 addresses"),
    ],
)
async def test_a_name_without_usable_addresses_is_an_error_of_the_network(server, names, message):
    async with brokered(public(server), names=names) as broker:
        error = await refused(broker, server.at("a.test"))
    assert error.code == "network"
    assert message in str(error)


async def test_a_port_where_nobody_listens_is_an_error_of_the_network():
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        async with brokered(url) as broker:
            error = await refused(broker, url)
    assert (error.code, error.retryable) == ("network", True)


async def test_the_system_is_asked_for_names_when_nobody_else_is():
    assert "127.0.0.1" in await Lookups()("localhost", 80)
    with Server() as server:
        async with brokered(f"http://localhost:{server.port}") as broker:
            assert (await fetch(broker, server.at("localhost")))["status"] == 200


@pytest.fixture
def secure(authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    asked = []
    context.sni_callback = lambda connection, name, _: asked.append(name)
    authority.issue_cert("a.test", "127.0.0.1").configure_cert(context)
    with Server(tls=context) as server, authority.cert_pem.tempfile() as ca:
        yield server, ca, asked


async def test_tls_goes_to_the_checked_address_and_asks_for_the_name(secure):
    server, ca, asked = secure
    entry = {"host": "a.test", "private": True, "ports": [server.port]}
    async with brokered(entry, names=Names(a_test=["127.0.0.1"]), ca_file=ca) as broker:
        answer = await fetch(broker, server.at("a.test"))
    assert (answer["status"], asked) == (200, ["a.test"])


async def test_a_certificate_for_an_address_is_checked_against_the_address(secure):
    server, ca, _ = secure
    async with brokered(server.url, ca_file=ca) as broker:
        assert (await fetch(broker, server.url))["status"] == 200


async def test_a_certificate_for_another_name_is_refused(secure):
    server, ca, _ = secure
    entry = {"host": "b.test", "private": True, "ports": [server.port]}
    async with brokered(entry, names=Names(b_test=["127.0.0.1"]), ca_file=ca) as broker:
        error = await refused(broker, server.at("b.test"))
    assert (error.code, server.heard) == ("network", [])
    assert "certificate verify failed" in str(error)


async def test_a_certificate_of_an_unknown_authority_is_refused(secure):
    server, _, _ = secure
    async with brokered(server.url) as broker:
        error = await refused(broker, server.url)
    assert (error.code, error.retryable, server.heard) == ("network", False, [])


async def test_certificates_that_cannot_be_read_are_an_error_of_the_fetch(tmp_path, server):
    for name, text in (("missing", None), ("empty", "")):
        if text is not None:
            (tmp_path / name).write_text(text)
        async with brokered(server.url, ca_file=tmp_path / name) as broker:
            error = await refused(broker, server.url)
        assert error.code == "network"
        assert "certificates" in str(error)


async def test_a_server_without_tls_is_an_error_of_the_network():
    def answer_at_once():
        with listener.accept()[0] as connection:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        thread = threading.Thread(target=answer_at_once)
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        async with brokered(url) as broker:
            assert (await refused(broker, url)).code == "network"
        thread.join()


def test_the_ssl_context_is_made_once_and_checks():
    context = ssl_context(None)
    assert context is ssl_context(None)
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_certificates_that_were_exchanged_are_read_anew(tmp_path, authority):
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    first = ssl_context(file)
    assert ssl_context(file) is first
    trustme.CA().cert_pem.write_to_path(str(file))
    second = ssl_context(file)
    assert second is not first
    other = tmp_path / "other.pem"
    authority.cert_pem.write_to_path(str(other))
    other.replace(file)
    assert ssl_context(file) not in (first, second)


async def test_no_proxy_of_the_environment_is_used(server, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with brokered(server.url) as broker:
        assert (await fetch(broker, server.url))["status"] == 200


async def test_a_fetch_that_is_cancelled_as_its_connection_stands_leaves_room_for_others(server, monkeypatch):
    connect = CheckedBackend.connect_tcp
    cancelled: list[anyio.CancelScope] = []

    async def cancelling(self, *arguments, **more):
        stream = await connect(self, *arguments, **more)
        if cancelled:
            cancelled.pop().cancel()
        return stream

    monkeypatch.setattr(CheckedBackend, "connect_tcp", cancelling)
    async with brokered(server.url, max_connections=2, request_timeout_ms=60_000) as broker:
        open_files = descriptors()
        for _ in range(3):
            with anyio.CancelScope() as scope:
                cancelled.append(scope)
                await broker.fetch(call(server.url))
            assert scope.cancelled_caught
            with anyio.fail_after(60):  # the server closes its end once it sees that ours is closed
                while descriptors() > open_files:
                    await anyio.sleep(0.001)
        assert (await fetch(broker, server.url))["status"] == 200


async def test_a_fetch_that_is_cancelled_while_tls_begins_leaves_no_socket():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(60)
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        async with brokered(url) as broker, anyio.create_task_group() as tasks:
            tasks.start_soon(broker.fetch, call(url))
            connection, _ = await anyio.to_thread.run_sync(listener.accept)
            with connection:
                hello = await anyio.to_thread.run_sync(connection.recv, 65536)
                assert hello
                open_files = descriptors()
                tasks.cancel_scope.cancel()
                with anyio.fail_after(60, shield=True):
                    while descriptors() == open_files:
                        await anyio.sleep(0.001)
                    connection.settimeout(60)
                    assert await anyio.to_thread.run_sync(connection.recv, 65536) == b""


class SlowNames:
    """Stands in for the system's lookup, which cannot be cancelled."""

    def __init__(self) -> None:
        self.answer = threading.Event()
        self.asked = threading.Semaphore(0)
        self.most = self.now = 0
        self._lock = threading.Lock()

    def __call__(self, host, port, **_):
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.asked.release()
        self.answer.wait(60)
        with self._lock:
            self.now -= 1
        raise OSError("no such name")


async def test_names_that_no_server_answers_keep_no_other_run_from_its_lookup(monkeypatch):
    """Whether they are of one domain or of many: eight runs may not use up all places there are."""
    desk, dead = Desk(), SlowNames()

    def look_up(host, port, **options):
        return dead(host, port) if host.endswith(".dead") else [(0, 0, 0, "", ("192.0.2.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    try:
        for domain, least, most in (
            (lambda _: "same.dead", MAX_OF_DOMAIN, MAX_OF_DOMAIN),
            (lambda number: f"d{number}.dead", MAX_OF_ALL - 8, MAX_OF_ALL - 1),
        ):
            async with anyio.create_task_group() as tasks:
                for run in [Lookups(desk) for _ in range(8)]:
                    for number in range(MAX_OF_RUN):
                        tasks.start_soon(run, f"n{number}.{domain(id(run) * 10 + number)}", 80)
                with anyio.fail_after(60):
                    while dead.now < least:
                        await anyio.sleep(0.01)
                    assert await Lookups(desk)("innocent.example", 443) == ["192.0.2.1"]
                assert least <= dead.now <= most
                tasks.cancel_scope.cancel()
            desk, dead.now = Desk(), 0
    finally:
        dead.answer.set()


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.com", "example.com"),
        ("a.b.example.com.", "example.com"),
        ("A.Example.CO.uk", "example.co.uk"),
        ("x.y.com.au", "y.com.au"),
        ("a.b.io", "b.io"),
        ("api.github.io", "github.io"),
        ("localhost", "localhost"),
    ],
)
def test_a_domain_is_the_registered_part_of_a_host_name(host, domain):
    assert domain_of(host) == domain


async def test_lookups_that_nobody_waits_for_any_longer_still_count(monkeypatch):
    names = SlowNames()
    monkeypatch.setattr(socket, "getaddrinfo", names)
    monkeypatch.setattr("sandbox.network.lookups.MAX_OF_ALL", 6)
    monkeypatch.setattr("sandbox.network.lookups.KEPT_FOR_FIRST", 0)
    desk = Desk()
    runs = [Lookups(desk), Lookups(desk)]
    try:
        for run, begun in ((runs[0], 4), (runs[1], 6)):
            with anyio.fail_after(50):
                while names.now < begun:  # on a busy machine, a thread may take longer to begin
                    with anyio.move_on_after(0.02):
                        await run(f"{begun}-{names.now}.test", 80)
            for number in range(4):
                with anyio.move_on_after(0.02):
                    await run(f"x{number}.test", 80)
            assert names.now == begun
    finally:
        names.answer.set()
    with anyio.fail_after(60):
        for run in runs:
            with pytest.raises(OSError, match="no such name"):
                await run("y.test", 80)
    assert names.most == 6
