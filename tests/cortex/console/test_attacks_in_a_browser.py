"""Attacks from pages that the owner's own browser has open, in a real Chromium: each fails, and each succeeds once the
defences that stop it are taken out."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack

import pytest

from cortex.console import Guards
from cortex.console.door import CHECKS, HEADERS
from neurons import KillSwitch

from .served import Served, served
from .stranger import ATTACKS, Stranger, stranger

pytestmark = pytest.mark.browser

SECRET = "cortex-0123456789abcdef.localhost"
NAMES = ("127.0.0.1", "localhost", "x.localhost", "evil.example", SECRET)
OPEN = Guards(checks={}, headers={}, is_csrf=lambda *_: True)
"""No defence but the session: SameSite alone."""


@pytest.fixture(scope="module")
def evil():
    with stranger() as found:
        yield found


@pytest.fixture
def console(tmp_path):
    """A console with all its defences, or with others."""
    with ExitStack() as closing:

        def start(guards: Guards | None = None) -> Served:
            return closing.enter_context(served(tmp_path / "home", guards, name=SECRET))

        yield start


def logged_in(tab, found: Served):
    tab.goto(found.console.desk.link())
    tab.wait_for_url(found.place.origin + "/")
    return tab


def attacked(tab, attack: str, found: Served, evil: Stranger, name: str) -> str:
    """What the script of a page of that name got, in the browser in which the owner is logged in."""
    page = tab.context.new_page()
    page.goto(evil.page(name))
    got = page.evaluate(ATTACKS[attack], found.place.origin)
    if attack == "form":
        page.wait_for_url(lambda url: url.endswith("/kill"))
        page.wait_for_load_state()
    page.close()
    return got


def is_killed(found: Served) -> bool:
    return KillSwitch(found.home / "state").refusal() is not None


def test_no_page_of_another_origin_does_or_reads_anything(console, evil, new_tab):
    """Also not one of the console's own name at another port, to which the browser sends our cookie."""
    found = console()
    tab = logged_in(new_tab(), found)
    for name in NAMES:
        for attack in ATTACKS:
            assert attacked(tab, attack, found, evil, name) == "", (name, attack)
            assert not is_killed(found), (name, attack)
    # The owner can still work.
    tab.goto(found.place.origin + "/neurons")
    assert "Neurons" in tab.inner_text("h1")


@pytest.mark.parametrize("defence", [None, "fetch site", "headers"])
def test_no_page_runs_a_file_of_the_console_as_its_script(defence, console, evil, new_tab):
    headers = HEADERS if defence == "headers" else {}
    checks = {"fetch site": CHECKS["fetch site"]} if defence == "fetch site" else {}
    found = console(dataclasses.replace(OPEN, headers=headers, checks=checks))
    page = new_tab()
    page.goto(evil.page())
    assert page.evaluate(ATTACKS["script"], found.place.origin) == ("ran" if defence is None else "")


DEFENCES = {
    "fetch site": {"checks": {"fetch site": CHECKS["fetch site"]}},
    "origin": {"checks": {"origin": CHECKS["origin"]}},
    "csrf": {"is_csrf": Guards().is_csrf},
}


@pytest.mark.parametrize("defence", [None, *DEFENCES])
def test_each_defence_alone_stops_a_form_of_our_own_name_and_without_any_it_kills(defence, console, evil, new_tab):
    found = console(dataclasses.replace(OPEN, **DEFENCES.get(defence, {})))
    tab = logged_in(new_tab(), found)
    for attack in ("blind request", "form"):
        attacked(tab, attack, found, evil, SECRET)
        assert is_killed(found) is (defence is None), attack


@pytest.mark.parametrize("name", NAMES[:-1])
def test_of_another_name_the_cookie_is_not_sent_and_without_the_need_of_one_it_kills(name, console, evil, new_tab):
    found = console(OPEN)
    tab = logged_in(new_tab(), found)
    attacked(tab, "blind request", found, evil, name)
    assert not is_killed(found)
    found.console.desk.guards = dataclasses.replace(OPEN, needs_session=False)
    attacked(tab, "blind request", found, evil, name)
    assert is_killed(found)


def test_files_and_frames_without_an_origin_do_nothing(console, new_tab, tmp_path):
    found = console()
    tab = logged_in(new_tab(), found)
    form = f'<form method=post action="{found.place.origin}/kill"></form><script>document.forms[0].submit()</script>'
    (tmp_path / "page.html").write_text(f"<!doctype html>{form}")
    page = tab.context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_url(lambda url: url.endswith("/kill"))
    assert "Another site" in page.inner_text("body")
    page.goto("about:blank")
    page.evaluate(
        """(form) => new Promise((done) => {
            const frame = document.createElement("iframe");
            frame.sandbox = "allow-scripts allow-forms";
            frame.srcdoc = form;
            document.body.append(frame);
            addEventListener("message", done);
            setTimeout(done, 3000);
        })""",
        # The form is sent before the message is, and the console answers it at once.
        form.replace("</script>", ";setTimeout(() => parent.postMessage('sent', '*'), 300)</script>"),
    )
    assert not is_killed(found)


def framed(tab, found: Served, evil: Stranger) -> str:
    """What a frame in a page of our own name at another port shows."""
    page = tab.context.new_page()
    page.goto(evil.page(SECRET))
    page.evaluate(
        """(to) => new Promise((done) => {
            const frame = document.createElement("iframe");
            frame.src = to;
            frame.onload = done;
            document.body.append(frame);
        })""",
        found.place.origin + "/",
    )
    shown = page.frames[1].content()
    page.close()
    return shown


@pytest.mark.parametrize("defence", [None, "fetch site", "headers"])
def test_the_console_shows_nothing_in_a_frame(defence, console, evil, new_tab):
    """A page around it could place its own picture over the buttons."""
    headers = HEADERS if defence == "headers" else {}
    checks = {"fetch site": CHECKS["fetch site"]} if defence == "fetch site" else {}
    found = console(dataclasses.replace(OPEN, headers=headers, checks=checks))
    shown = framed(logged_in(new_tab(), found), found, evil)
    assert ("Stop everything" in shown) is (defence is None)


@pytest.mark.parametrize("has_headers", [True, False])
def test_a_page_that_opens_the_console_keeps_no_hold_of_it(has_headers, console, evil, new_tab):
    found = console(Guards() if has_headers else dataclasses.replace(Guards(), headers={}))
    page = new_tab()
    page.goto(evil.page())
    with page.expect_popup() as opened:
        page.evaluate("(to) => { window.held = window.open(to); }", found.place.origin + "/login")
    opened.value.wait_for_selector("h1")
    assert page.evaluate("() => window.held.closed") is has_headers
    # Any page but that one is refused to it, and shows nothing of the owner's.
    with page.expect_popup() as other:
        page.evaluate("(to) => { window.open(to); }", found.place.origin + "/")
    other.value.wait_for_load_state()
    assert "Another site" in other.value.inner_text("body")


@pytest.mark.parametrize("has_check", [True, False])
def test_a_foreign_name_that_resolves_to_the_console_is_refused(has_check, console, new_tab):
    """DNS rebinding: for the browser, page and console are of one origin then."""
    checks = CHECKS if has_check else {}
    found = console(Guards(checks=checks, needs_session=False, is_csrf=lambda *_: True))
    page = new_tab()
    reply = page.goto(f"http://rebound.example:{found.place.port}/")
    assert reply.status == (421 if has_check else 200)
    page.evaluate('() => fetch("/kill", { method: "POST", body: new URLSearchParams({ reason: "x" }) }).catch(() => 0)')
    assert is_killed(found) is not has_check


def test_the_cookie_goes_to_no_other_name(console, evil, new_tab):
    """It does go to every port of our own name: the name is secret, and what is dangerous needs more than the cookie."""
    found = console()
    tab = logged_in(new_tab(), found)
    evil.cookies.clear()
    page = tab.context.new_page()
    for name in NAMES[:-1]:
        page.goto(evil.page(name))
    assert evil.cookies == []
    page.goto(evil.page(SECRET))
    [stolen] = evil.cookies
    thief = found.ask("POST", "/energy", {"cookie": stolen}, "csrf=guessed&amount=1")
    assert thief.status == 403
    # Whoever has the cookie reads the pages and their tokens. The code is on no page.
    csrf = found.console.desk.sessions.of([stolen]).csrf
    asked = found.ask("POST", "/energy", {"cookie": stolen}, f"csrf={csrf}&amount=1")
    place = asked.header("location")
    wrong = f"{(int(found.codes[-1].code) + 1) % 10**6:06}"
    answers = [found.ask("POST", place, {"cookie": stolen}, f"csrf={csrf}&code={wrong}").status for _ in range(5)]
    assert answers == [403, 403, 403, 403, 303]
    assert found.ask("GET", "/", {"cookie": stolen}).status == 401


def test_the_token_of_a_link_is_in_no_address_header_or_history_after_the_login(console, new_tab):
    found = console()
    tab = new_tab()
    sent: list[str] = []
    tab.on("request", lambda request: sent.append(f"{request.url} {request.all_headers()}"))
    link = found.console.desk.link()
    token = link.partition("#")[2]
    tab.goto(link)
    tab.wait_for_url(found.place.origin + "/")
    tab.goto(found.place.origin + "/audit")
    assert tab.context.cookies()[0]["httpOnly"] is True
    assert tab.evaluate("() => document.cookie") == ""
    # The request of the login page itself is asked with the fragment in the browser only.
    assert all(token not in one.replace(link, "") for one in sent)
    for _ in range(3):
        tab.go_back()
        assert token not in tab.url
        assert token not in tab.content()
