"""Attacks on the door of the console, over real sockets: each is refused, and each gets in once its defence is off."""

from __future__ import annotations

import dataclasses
import os
import socket
import stat
import threading
import time
from contextlib import suppress

import pytest

from cortex.console import Guards, ask, listen_on_loopback
from cortex.console.door import CHECKS, HEADERS
from neurons import KillSwitch

from .served import Client, served


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    with served(tmp_path_factory.mktemp("door") / "home") as found:
        yield found


@pytest.fixture(scope="module")
def owner(console) -> Client:
    return console.log_in()


EVIL = "http://127.0.0.1:9977"
# What a request of an attacker differs in, the check that refuses it, and the status.
ATTACKS: dict[str, tuple[str, dict[str, str | list[str] | None], str, int]] = {
    "a foreign name that resolves to this machine": ("GET", {"host": "evil.example:{port}"}, "host", 421),
    "the address instead of the name": ("GET", {"host": "127.0.0.1:{port}"}, "host", 421),
    "localhost instead of the name": ("GET", {"host": "localhost:{port}"}, "host", 421),
    "another name below localhost": ("GET", {"host": "x.localhost:{port}"}, "host", 421),
    "our name without its port": ("GET", {"host": "{name}"}, "host", 421),
    "our name with another port": ("GET", {"host": "{name}:1"}, "host", 421),
    "our name with a dot at its end": ("GET", {"host": "{name}.:{port}"}, "host", 421),
    "our name in upper case": ("GET", {"host": "{NAME}:{port}"}, "host", 421),
    "our name in front of another": ("GET", {"host": "{name}:{port}@evil.example"}, "host", 421),
    "our name forwarded by a proxy": (
        "GET",
        {"host": "evil.example", "x-forwarded-host": "{name}:{port}", "forwarded": "host={name}:{port}"},
        "host",
        421,
    ),
    "a page of another site": ("GET", {"sec-fetch-site": "cross-site"}, "fetch site", 403),
    "a page of another port of this machine": ("GET", {"sec-fetch-site": "same-site"}, "fetch site", 403),
    "a browser that does not say": ("GET", {"sec-fetch-site": None}, "fetch site", 403),
    "a link from a mail": (
        "GET",
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
        "fetch site",
        403,
    ),
    "two words for the site": ("GET", {"sec-fetch-site": ["same-origin", "cross-site"]}, "fetch site", 403),
    "a form of another origin": ("POST", {"origin": EVIL}, "origin", 403),
    "a form of an opaque origin": ("POST", {"origin": "null"}, "origin", 403),
    "a form without an origin": ("POST", {"origin": None}, "origin", 403),
    "a form with two origins": ("POST", {"origin": ["{origin}", EVIL]}, "origin", 403),
    "a form of our name over https": ("POST", {"origin": "https://{name}:{port}"}, "origin", 403),
    "a read with a foreign origin": ("GET", {"origin": EVIL}, "origin", 403),
    "a preflight": ("OPTIONS", {"origin": EVIL, "access-control-request-method": "POST"}, "method", 405),
    "another method": ("DELETE", {}, "method", 405),
}


def filled(headers, place):
    words = {"port": place.port, "name": place.name, "NAME": place.name.upper(), "origin": place.origin}

    def fill(value):
        return value.format(**words) if isinstance(value, str) else value and [fill(one) for one in value]

    return {name: fill(value) for name, value in headers.items()}


def attack(name: str, client: Client):
    method, headers, _, _ = ATTACKS[name]
    given = filled(headers, client.served.place)
    path = "/kill" if method == "POST" else "/"
    body = f"csrf={client.session.csrf}&reason=attack" if method == "POST" else ""
    return client.served.ask(method, path, {"cookie": client.cookie, **given}, body)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_on_the_door_is_refused(name, console, owner):
    reply = attack(name, owner)
    assert reply.status == ATTACKS[name][3]
    assert reply.body.count(b"\n") == 1  # a line of text, and no page
    assert "access-control-allow-origin" not in reply.headers
    assert KillSwitch(console.home / "state").refusal() is None


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """Consoles that each lack one check."""
    opened: dict[str, Client] = {}
    homes = tmp_path_factory.mktemp("without")
    contexts = []

    def get(check: str) -> Client:
        if check not in opened:
            left = {name: one for name, one in CHECKS.items() if name != check}
            context = served(homes / check.replace(" ", "-"), Guards(checks=left))
            contexts.append(context)
            opened[check] = context.__enter__().log_in()
        return opened[check]

    yield get
    for context in contexts:
        context.__exit__(None, None, None)


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != "a preflight"])
def test_the_attack_gets_in_without_its_check(name, without):
    assert attack(name, without(ATTACKS[name][2])).status in {200, 404}


@pytest.mark.parametrize(
    "lines",
    [
        ["Host: {authority}", "Host: evil.example"],
        ["Host: {authority}", "Host: {authority}"],
        [],
    ],
    ids=["two hosts", "the host twice", "no host"],
)
def test_a_request_with_another_number_of_hosts_is_refused(lines, console, owner):
    head = [one.format(authority=console.place.authority) for one in lines]
    request = ["GET / HTTP/1.1", *head, "Sec-Fetch-Site: none", f"Cookie: {owner.cookie}", "Connection: close", "", ""]
    status = int(console.raw("\r\n".join(request).encode()).split()[1])
    assert status in {400, 421}


@pytest.mark.parametrize(
    "target", ["http://{authority}/", "http://evil.example/", "*", "//evil.example/", "/../../etc/passwd"]
)
def test_a_target_that_is_no_path_of_ours_shows_no_page(target, console, owner):
    reply = console.ask("GET", target.format(authority=console.place.authority), {"cookie": owner.cookie})
    assert reply.status in {400, 404}


def test_every_answer_has_the_headers_that_keep_other_pages_out(console, owner):
    for reply in (
        owner.get("/"),
        owner.get("/no-such-page"),
        console.ask("GET", "/", {"host": "evil.example"}),
        console.ask("GET", "/login"),
        console.ask("GET", "/static/console.js"),
        owner.post("/kill", csrf="wrong"),
    ):
        for name, value in HEADERS.items():
            assert reply.header(name) == value
        assert "server" not in reply.headers
    assert "unsafe" not in HEADERS["content-security-policy"]


def test_no_page_has_a_script_or_a_style_of_its_own(console, owner):
    """The policy would stop them, and the page would not work."""
    for path in ("/", "/inbox", "/runs", "/workflows", "/neurons", "/audit", "/settings", "/servers", "/login"):
        text = owner.get(path).text
        assert "<style" not in text
        assert " style=" not in text
        assert "javascript:" not in text
        assert " onclick" not in text
        assert all('src="/static/' in part for part in text.split("<script")[1:])
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")


def test_only_the_login_page_opens_from_another_site(console):
    from_mail = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert console.ask("GET", "/login", from_mail).status == 200
    assert console.ask("GET", "/login", {**from_mail, "sec-fetch-dest": "iframe"}).status == 403
    assert console.ask("GET", "/login", {**from_mail, "sec-fetch-mode": "no-cors"}).status == 403
    refused = console.ask("GET", "/", from_mail)
    assert refused.status == 403
    assert "cortex console link" in refused.text


def test_without_a_session_nothing_is_shown_and_nothing_is_done(console):
    for path in (
        "/",
        "/runs",
        "/runs/x",
        "/neurons",
        "/neurons/x",
        "/audit",
        "/audit/1",
        "/settings",
        "/servers",
        "/events",
        "/confirm/x",
    ):
        assert console.ask("GET", path).status == 401
    for path in (
        "/kill",
        "/revive",
        "/energy",
        "/logout",
        "/inbox/x/no",
        "/inbox/x/yes",
        "/neurons/x/approve",
        "/confirm/x",
    ):
        assert console.ask("POST", path, body="csrf=x").status == 401
    assert KillSwitch(console.home / "state").refusal() is None


def test_a_form_without_the_token_of_its_session_does_nothing(tmp_path):
    with served(tmp_path / "a") as found:
        first, second = found.log_in(), found.log_in()
        for token in ("", "x", second.session.csrf, first.session.csrf[:-1], "%ED%B3%BF%00"):
            reply = first.post("/kill", csrf=token)
            assert reply.status == 403
        assert found.ask("POST", "/kill", {"cookie": first.cookie}, "reason=x").status == 403
        assert KillSwitch(found.home / "state").refusal() is None
        # A token in the address counts for nothing.
        assert found.ask("POST", f"/kill?csrf={first.session.csrf}", {"cookie": first.cookie}, "").status == 403
    with served(tmp_path / "b", Guards(is_csrf=lambda *_: True)) as open_:
        assert open_.log_in().post("/kill", csrf="").status == 200
        assert KillSwitch(open_.home / "state").refusal() is not None


def test_without_the_need_of_a_session_a_stranger_could_kill(tmp_path):
    with served(tmp_path / "home", Guards(needs_session=False, is_csrf=lambda *_: True)) as found:
        assert found.ask("POST", "/kill", body="reason=x").status == 200
        assert KillSwitch(found.home / "state").refusal() is not None


def test_a_login_link_works_once_and_its_token_is_in_no_answer(tmp_path):
    with served(tmp_path / "home") as found:
        link = found.console.desk.link()
        token = link.partition("#")[2]
        assert link == f"{found.place.origin}/login#{token}"
        assert len(token) >= 43  # 256 bits
        assert found.ask("POST", "/login", body="token=wrong").status == 403
        first = found.ask("POST", "/login", body=f"token={token}")
        assert (first.status, first.header("location")) == (303, "/")
        cookie = first.header("set-cookie")
        assert cookie.startswith("__Host-cortex=")
        assert cookie.endswith("; Secure; HttpOnly; SameSite=Strict; Path=/")
        again = found.ask("POST", "/login", body=f"token={token}")
        assert again.status == 403
        assert "set-cookie" not in again.headers
        for reply in (first, again):
            assert token not in reply.text + str(reply.headers)
        # In the address it is worth nothing: there it would be in logs and in the history.
        fresh = found.console.desk.link().partition("#")[2]
        assert found.ask("GET", f"/login?token={fresh}").status == 200
        assert "set-cookie" not in found.ask("GET", f"/login?token={fresh}").headers


def test_a_thousand_guesses_let_nobody_in_and_void_the_links(tmp_path):
    with served(tmp_path / "home") as found:
        sessions = found.console.desk.sessions
        token = found.console.desk.link().partition("#")[2]
        assert all(sessions.log_in(f"guess-{number}", "") is None for number in range(1_000))
        assert found.ask("POST", "/login", body=f"token={token}").status == 403
        assert found.log_in().get("/").status == 200


def test_a_cookie_that_a_stranger_chose_opens_no_session(console):
    """Session fixation: the cookie of the session is made anew at each login."""
    chosen = "__Host-cortex=chosen-by-another"
    token = console.console.desk.link().partition("#")[2]
    reply = console.ask("POST", "/login", {"cookie": chosen}, f"token={token}")
    assert reply.status == 303
    assert "chosen" not in reply.header("set-cookie")
    assert console.ask("GET", "/", {"cookie": chosen}).status == 401
    own = reply.header("set-cookie").partition(";")[0]
    assert console.ask("GET", "/", {"cookie": f"{chosen}; {own}"}).status == 401
    assert console.ask("GET", "/", {"cookie": own}).status == 200


def test_a_cookie_from_before_a_restart_opens_nothing(tmp_path):
    with served(tmp_path / "home", name="cortex-0123456789abcdef.localhost") as found:
        cookie = found.log_in().cookie
        assert found.ask("GET", "/", {"cookie": cookie}).status == 200
    with served(tmp_path / "home", name="cortex-0123456789abcdef.localhost") as found:
        assert found.ask("GET", "/", {"cookie": cookie}).status == 401


def test_the_name_is_secret_and_new_each_time(tmp_path):
    names = set()
    for at in range(3):
        with served(tmp_path / f"home{at}") as found:
            names.add(found.place.name)
    assert len(names) == 3
    assert all(len(name) == len("cortex-0123456789abcdef.localhost") for name in names)


def test_the_console_listens_on_the_loopback_only():
    found = listen_on_loopback(0)
    try:
        assert {one.getsockname()[0] for one in found} <= {"127.0.0.1", "::1"}
        assert len({one.getsockname()[1] for one in found}) == 1
    finally:
        for one in found:
            one.close()


def test_a_long_or_slow_request_is_ended(console, owner):
    head = f"POST /kill HTTP/1.1\r\nHost: {console.place.authority}\r\nSec-Fetch-Site: same-origin\r\n"
    head += f"Origin: {console.place.origin}\r\nCookie: {owner.cookie}\r\n"
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    # A body that is too long, one that is no form, and a head of ten megabytes.
    long_ = head + form + "Content-Length: 70000\r\nConnection: close\r\n\r\n" + "x" * 70_000
    assert b" 413 " in console.raw(long_.encode())[:30]
    json_ = head + "Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
    assert b" 415 " in console.raw(json_.encode())[:30]
    answer = b""
    with suppress(OSError):  # a connection that was cut is an answer, too
        answer = console.raw((head + "X-Long: " + "x" * 10_000_000 + "\r\n\r\n").encode())
    assert answer == b"" or b" 400 " in answer[:30]
    assert KillSwitch(console.home / "state").refusal() is None


def test_a_body_that_comes_slowly_is_cut_off(console, owner, monkeypatch):
    monkeypatch.setattr("cortex.console.app.BODY_S", 0.3)
    head = f"POST /kill HTTP/1.1\r\nHost: {console.place.authority}\r\nSec-Fetch-Site: same-origin\r\n"
    head += f"Origin: {console.place.origin}\r\nCookie: {owner.cookie}\r\nConnection: close\r\n"
    head += "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 50\r\n\r\n"
    began = time.monotonic()
    answer = console.raw((head + "csrf=").encode())
    assert b" 408 " in answer[:30]
    assert time.monotonic() - began < 10


def test_idle_connections_of_strangers_keep_nobody_out(console, owner):
    idle = [socket.create_connection(("127.0.0.1", console.place.port), 5) for _ in range(200)]
    try:
        assert owner.get("/login").status == 200
    finally:
        for one in idle:
            one.close()


def test_the_socket_of_the_commands_is_private_and_gives_links_and_codes(console):
    state = console.home / "state"
    path = state / "console.sock"
    assert stat.S_ISSOCK(path.stat().st_mode)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    link = ask(state, "link")["link"]
    assert console.ask("POST", "/login", body=f"token={link.partition('#')[2]}").status == 303
    assert ask(state, "codes") == {"codes": []}
    assert ask(state, "anything else") == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_gets_nothing_over_the_socket(tmp_path):
    """Also where the folders and the file let that user in: the system says who has connected."""
    from cortex.console import control

    with served(tmp_path / "home") as found:
        path = found.home / "state" / "console.sock"
        for folder in (*path.parents,):
            if str(folder).startswith(str(tmp_path)[:5]) and folder != folder.parent:
                folder.chmod(0o755)
        path.chmod(0o666)
        answers: list[bytes] = []

        def other() -> None:
            pid = os.fork()
            if pid == 0:
                os.setgid(65_534)
                os.setuid(65_534)
                try:
                    with socket.socket(socket.AF_UNIX) as sock:
                        sock.settimeout(5)
                        sock.connect(str(path))
                        sock.sendall(b"link\n")
                        os._exit(0 if sock.recv(100) == b"" else 1)
                except OSError:
                    os._exit(0)
            answers.append(bytes([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])]))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join(20)
        assert answers == [b"\0"]
        ends = socket.socketpair(socket.AF_UNIX)
        assert control.peer_of(ends[0]) == 0
        for one in ends:
            one.close()


def test_a_second_console_on_a_home_does_not_take_its_socket(tmp_path):
    with served(tmp_path / "home") as found:
        with pytest.raises(BaseException, match="runs already"), served(tmp_path / "home"):
            pass
        assert "link" in ask(found.home / "state", "link")


def test_each_guard_of_a_console_is_on(console):
    guards = console.console.desk.guards
    assert guards == Guards()
    assert guards.checks is CHECKS
    assert guards.headers is HEADERS
    assert guards.needs_session
    assert guards.needs_code
    assert {field.name for field in dataclasses.fields(Guards)} == {
        *("checks", "headers", "is_csrf", "needs_session", "needs_code"),
    }


def test_a_static_file_is_one_of_four_names(console):
    for name in ("console.css", "console.js", "login.js", "icon.svg"):
        assert console.ask("GET", f"/static/{name}").status == 200
    for name in ("", "../door.py", "..%2fdoor.py", "%2e%2e/door.py", "/etc/passwd", "console.css/..", "console.css%00"):
        assert console.ask("GET", f"/static/{name}").status in {400, 404}
