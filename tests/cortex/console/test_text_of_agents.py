"""Texts of agents, servers and files on every page, in a real Chromium: nothing of them runs, points anywhere or hides."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from urllib.parse import quote

import pytest

from cortex.console import Guards
from cortex.console.door import HEADERS
from cortex.runs import CallDetails, ErrorDetails, FetchDetails, LogDetails, RunFiles
from cortex.settings.sections import RunsSettings
from neurons import KillSwitch
from tests.cortex.runs.support import details, line_of

from .agent import Agent
from .served import served

pytestmark = pytest.mark.browser

RUNS = '</script></title></textarea></pre><script>pwned=1</script><img src=x onerror="pwned=2"><svg onload=pwned=3>'
HIDES = "safe\u202egnp.exe\u2066x\u2069\u200b\u200d\ufeff\u00ad\x1b[31m\x07\x00\x9b31m\u0338\U000e0041"
POINTS = "javascript:pwned=4 data:text/html,<script>pwned=5</script> <a href='javascript:pwned=6'>x</a>"
HOSTILE = f"{RUNS} {HIDES} {POINTS} \" ' ${{7*7}} {{{{7*7}}}}"
INVISIBLE = [each for each in HIDES if not each.isprintable() and each != " "]
PAGES = (
    "/",
    "/runs",
    "/runs/{run}",
    "/runs?tool={word}",
    "/neurons",
    "/neurons/{neuron}",
    "/audit",
    "/audit?q=safe",
    "/audit/{seq}",
    "/servers",
    "/settings",
)


@pytest.fixture
def agent(tmp_path):
    found = Agent(tmp_path / "home")
    yield found
    found.close()


def fill(agent: Agent) -> dict[str, object]:
    """A home in which every text that others choose is hostile."""
    # A proposal with characters that do not show is refused; all others come from files, and may have them.
    neuron = agent.waiting(purpose=f"{RUNS} {POINTS}"[:280], code=f"emit('price_change', {HOSTILE!r})")
    agent.governed.reject(neuron.id, HOSTILE, by=HOSTILE[:50])
    agent.governed.storage.flush()
    facts = {"purpose": HOSTILE, "turn": "t", "call": 1, "tier": HOSTILE, "reply_code": HOSTILE, "error_type": HOSTILE}
    agent.record("execution", **facts, execution_ms=1.0, code_hash="0" * 64)
    agent.record("intent", **{**facts, "call": 2})
    agent.record("refusal", reason=HOSTILE, purpose=HOSTILE)
    agent.record("tool_call", tool=HOSTILE, ok=False, error_code=HOSTILE, **{HOSTILE[:80]: HOSTILE})
    agent.record("owner_decision", what=HOSTILE, by=HOSTILE, long="x" * 100_000)
    KillSwitch(agent.home / "state").turn_on(HOSTILE, HOSTILE[:60])
    kept = RunFiles(agent.home / "runs", RunsSettings())
    one = details(1, **dict.fromkeys(("purpose", "reply_code", "error_type", "tier", "origin", "wall"), HOSTILE))
    call = {"name": HOSTILE, "start_ms": 1, "ms": 1, "ok": False, "code": HOSTILE, "arguments": HOSTILE}
    fetch = {"method": HOSTILE, "url": HOSTILE, "start_ms": 1, "ms": 1, "refused": HOSTILE, "redirected_from": HOSTILE}
    more = {
        "calls": (CallDetails(**call),),
        "requests": (FetchDetails(**fetch),),
        "logs": (LogDetails(level=HOSTILE, text=HOSTILE, at_ms=1),),
        "error": ErrorDetails(message=HOSTILE, stack=HOSTILE, line=1),
        "reply": HOSTILE + "x" * 1_000_000,
        "tools_lent": (HOSTILE,),
        "trace_id": HOSTILE,
        "conversation": HOSTILE,
        "cached_from": HOSTILE,
        "code_hash": agent.keep_code(f"return {HOSTILE!r} // {HOSTILE}"),
    }
    kept.append(line_of(one.model_copy(update=more), 7))
    kept.close()
    return {"neuron": neuron.id, "seq": 5, "run": one.id, "word": quote(HOSTILE[:150])}


LOOK = """() => ({
    pwned: window.pwned,
    html: document.documentElement.outerHTML,
    handlers: [...document.querySelectorAll("*")].filter((one) => [...one.attributes].some((a) => /^on/i.test(a.name))).length,
    links: [...document.querySelectorAll("[href],[src],[action]")].map((one) => one.href || one.src || one.action).map(String),
})"""


def looked(tab, path: str) -> dict:
    assert tab.goto(path).status == 200, path
    return tab.evaluate(LOOK)


@pytest.mark.parametrize("has_policy", [True, False])
def test_nothing_of_a_text_runs_points_anywhere_or_hides(has_policy, agent, new_tab):
    """Also where the browser has no policy that would stop scripts."""
    places = fill(agent)
    headers = HEADERS if has_policy else {}
    with served(agent.home, dataclasses.replace(Guards(), headers=headers)) as found:
        tab = new_tab()
        asked: list[str] = []
        tab.context.on("request", lambda request: asked.append(request.url))
        tab.goto(found.console.desk.link())
        tab.wait_for_url(found.place.origin + "/")
        for path in PAGES:
            seen = looked(tab, found.place.origin + path.format(**places))
            assert seen["pwned"] is None, path
            assert seen["handlers"] == 0, path
            assert all(one.startswith(found.place.origin) for one in seen["links"]), (path, seen["links"])
            assert [hex(ord(each)) for each in INVISIBLE if each in seen["html"]] == [], path
        # What is told while the page is open is text, too.
        tab.goto(found.place.origin + "/audit")
        tab.wait_for_selector("#live.on")
        agent.record("refusal", reason=HOSTILE + "the last one", purpose=HOSTILE)
        tab.wait_for_selector("#audit tr.new")
        seen = tab.evaluate(LOOK)
        assert (seen["pwned"], seen["handlers"]) == (None, 0)
        assert [hex(ord(each)) for each in INVISIBLE if each in seen["html"]] == []
        assert all(one.startswith(found.place.origin) for one in asked)


@pytest.mark.parametrize("has_policy", [True, False])
def test_without_the_spelling_the_policy_alone_holds_and_without_both_it_runs(has_policy, agent, new_tab, monkeypatch):
    monkeypatch.setattr("cortex.console.templating.visible", lambda text: text)
    headers = HEADERS if has_policy else {}
    fill(agent)
    with ExitStack() as closing:
        found = closing.enter_context(served(agent.home, dataclasses.replace(Guards(), headers=headers)))
        found.console.desk.templates.autoescape = False
        found.console.desk.templates.filters["said"] = lambda text, most=0: str(text)
        tab = new_tab()
        tab.goto(found.console.desk.link())
        tab.wait_for_url(found.place.origin + "/")
        seen = looked(tab, found.place.origin + "/audit")
        assert (seen["pwned"] is None) is has_policy
        assert "\u202e" in seen["html"]
