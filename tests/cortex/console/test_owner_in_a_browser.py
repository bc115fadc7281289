"""The owner at work in a real Chromium: without scripts, by keyboard alone, on a phone, and with the page going stale."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest

from cortex.runs import RunFiles
from cortex.settings.sections import RunsSettings
from neurons import KillSwitch, Status
from tests.cortex.runs.support import details, line_of

from .agent import Agent
from .served import Served, served

pytestmark = pytest.mark.browser


@pytest.fixture
def agent(tmp_path):
    found = Agent(tmp_path / "home")
    yield found
    found.close()


@pytest.fixture
def console(agent):
    with served(agent.home) as found:
        yield found


class Mouse:
    """Uses a page by clicking."""

    def __init__(self, page) -> None:
        self.page = page

    def press(self, selector: str) -> None:
        self.page.click(selector)

    def write(self, selector: str, text: str) -> None:
        self.page.fill(selector, text)


class Keys(Mouse):
    """Uses a page by keyboard alone: Tab until the thing has the focus, which must be seen, then Enter or the text."""

    MOST = 80

    def press(self, selector: str) -> None:
        self._reach(selector)
        self.page.keyboard.press("Enter")

    def write(self, selector: str, text: str) -> None:
        self._reach(selector)
        self.page.keyboard.type(text)

    def _reach(self, selector: str) -> None:
        wanted = self.page.locator(selector).first
        for _ in range(self.MOST):
            if wanted.evaluate("(one) => one === document.activeElement"):
                outline = wanted.evaluate("(one) => getComputedStyle(one).outlineStyle")
                assert outline != "none", f"{selector} does not show that it has the focus"
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{selector} is not reached by keyboard")


@pytest.fixture(params=["without scripts", "by keyboard", "without scripts by keyboard"])
def hand(request, new_tab):
    page = new_tab(java_script_enabled="scripts" not in request.param)
    return (Keys if "keyboard" in request.param else Mouse)(page)


def log_in(hand: Mouse, found: Served) -> None:
    link = found.console.desk.link()
    hand.page.goto(f"{found.place.origin}/login")
    hand.write("input[name=token]", link.partition("#")[2])
    hand.press("main button")
    hand.page.wait_for_url(found.place.origin + "/")


def confirm(hand: Mouse, found: Served) -> None:
    hand.page.wait_for_url(re.compile("/confirm/"))
    if not hand.page.evaluate("() => document.activeElement?.name === 'code'"):
        hand.page.keyboard.press("Tab")
    hand.write("input[name=code]", found.codes[-1].code)
    hand.press("main button.primary")
    hand.page.wait_for_selector("h1:has-text('Done')")


def test_every_decision_is_possible(hand, agent, console):
    first, second = agent.waiting(), agent.waiting("Other one")
    page, switch = hand.page, KillSwitch(agent.home / "state")
    log_in(hand, console)
    page.goto(f"{console.place.origin}/neurons/{first.id}")
    hand.write("input[name=hash]", first.request.shown_hash[:8])
    hand.press("form[action$=approve] button")
    confirm(hand, console)
    assert agent.status(first) is Status.TRIAL
    page.goto(f"{console.place.origin}/neurons/{second.id}")
    hand.write("form[action$=reject] input[name=reason]", "not useful")
    hand.press("form[action$=reject] button")
    page.wait_for_selector("h1:has-text('Done')")
    assert agent.status(second) is Status.DISABLED
    hand.press("summary:has-text('Stop everything')")
    hand.press("form[action='/kill'] button")
    page.wait_for_selector("h1:has-text('Everything is stopped')")
    assert switch.refusal() is not None
    hand.write("form[action='/revive'] input[name=reason]", "it is safe")
    hand.press("form[action='/revive'] button")
    confirm(hand, console)
    assert KillSwitch(agent.home / "state").refusal() is None


PAGES = (
    "/",
    "/runs",
    "/runs/{run}",
    "/neurons",
    "/audit",
    "/servers",
    "/settings",
    "/neurons/{neuron}",
    "/audit/1",
    "/nothing",
)


@pytest.mark.parametrize("width", [390, 1024])
def test_no_page_scrolls_sideways_also_not_on_a_phone(width, agent, console, new_tab):
    neuron = agent.waiting(
        "A name as long as it may be and a bit more than that in all",
        purpose="Anunbrokenpurpose" * 20,
        code="x" * 3_000,
    )
    long = "anameofatoolthatisverylongindeed" * 5
    calls = [{"name": long, "start_ms": at, "ms": 1, "ok": True, "bytes_out": 9} for at in range(3)]
    run = details(
        1, purpose=long, calls=calls, tools_lent=[long], reply=long * 9, logs=[{"level": "log", "text": long}]
    )
    kept = RunFiles(agent.home / "runs", RunsSettings())
    kept.append(line_of(run, 7))
    kept.close()
    page = new_tab(viewport={"width": width, "height": 844})
    page.goto(console.console.desk.link())
    page.wait_for_url(console.place.origin + "/")
    console.log_in().post("/kill")
    for path in PAGES:
        page.goto(console.place.origin + path.format(neuron=neuron.id, run=run.id))
        wide = page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= width, (path, wide)


def test_a_page_asks_nobody_else_and_is_light(agent, console, new_tab):
    """The first view of Now, with all that it loads."""
    agent.waiting()
    page = new_tab()
    page.goto(console.console.desk.link())
    page.wait_for_url(console.place.origin + "/")
    fresh = page.context.new_page()
    sizes: dict[str, int] = {}

    def note(reply) -> None:
        if not reply.url.endswith("/events"):
            with suppress(Exception):
                sizes[reply.url] = len(reply.body())

    fresh.on("requestfinished", lambda request: note(request.response()))
    asked: list[str] = []
    fresh.on("request", lambda request: asked.append(request.url))
    fresh.goto(console.place.origin + "/")
    fresh.wait_for_selector("#live.on")
    assert all(url.startswith(console.place.origin) for url in asked)
    assert {url.rpartition("/")[2] for url in sizes} >= {"", "console.css", "console.js"}
    assert sum(sizes.values()) <= 40_960, sizes


def test_a_page_that_has_lost_the_console_says_so_and_its_dangerous_buttons_stop_working(agent, new_tab):
    neuron = agent.waiting()
    page = new_tab()
    with served(agent.home) as found:
        page.goto(found.console.desk.link())
        page.wait_for_url(found.place.origin + "/")
        page.goto(f"{found.place.origin}/neurons/{neuron.id}")
        page.wait_for_selector("#live.on")
        assert page.is_hidden("#stale")
        assert page.is_enabled("form[action$=approve] button")
    page.wait_for_selector("#stale:not([hidden])", timeout=10_000)
    assert page.is_disabled("form[action$=approve] button")
    assert page.is_enabled("form[action$=reject] button")


def test_a_record_that_is_written_is_in_the_page_without_loading_it_again(agent, console, new_tab):
    page = new_tab()
    page.goto(console.console.desk.link())
    page.wait_for_url(console.place.origin + "/")
    page.goto(console.place.origin + "/audit")
    page.wait_for_selector("#live.on")
    agent.record("owner_decision", what="energy set <b>now</b>", by="owner")
    page.wait_for_selector("#audit tr:has-text('energy set <b>now</b>')")
