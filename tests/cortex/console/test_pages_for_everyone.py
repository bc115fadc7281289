"""Every page is checked by axe-core, light and dark: names of fields, contrast, order of headings, roles."""

from __future__ import annotations

from importlib import resources

import anyio
import pytest

from cortex.settings import Settings
from tests.cortex.inbox.stage import asking_agent, open_question

from .agent import Agent
from .pictures import neurons, pages, past, runs, workflow
from .served import served

pytestmark = [pytest.mark.browser, pytest.mark.deno]

LOOK = """async (rules) => {
    const only = rules ? { runOnly: rules } : {};
    const found = await axe.run(document, { resultTypes: ["violations"], ...only });
    return found.violations.map((one) => [one.impact, one.id, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160))]);
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home in which each page has something to show."""
    found = tmp_path_factory.mktemp("everyone") / "home"
    settings = Settings(home=found, neurons={"owner": {"console": False}})
    agent = Agent(found)
    ids = neurons(agent)
    anyio.run(past, found, settings, ["price-watch"])
    anyio.run(runs, found, settings)
    ids["workflow"] = anyio.run(workflow, found, settings)
    with asking_agent(found) as asking:
        asking.asks("pears")
        open_question(found)
        yield found, ids
    agent.close()


# In the dark only the colours differ.
@pytest.mark.parametrize(("scheme", "rules"), [("light", None), ("dark", ["color-contrast"])])
def test_axe_finds_nothing_of_weight_on_any_page(scheme, rules, home, axe, new_tab):
    place, ids = home
    with served(place) as found:
        # The policy of the pages would keep axe out, too.
        page = new_tab(bypass_csp=True, color_scheme=scheme)
        page.goto(found.console.desk.link())
        page.wait_for_url(found.place.origin + "/")
        places = {**pages(place, ids), "login": "/login", "missing": "/runs/nothing-1"}
        wrong: dict[str, list] = {
            name: looked(page, axe, rules, found.place.origin + path) for name, path in places.items()
        }
        page.goto(found.place.origin + "/")
        page.click("summary:has-text('Add energy')")
        page.click("form[action='/energy'] button")
        page.wait_for_selector("input[name=code]")
        wrong["confirm"] = looked(page, axe, rules)
        assert {name: problems for name, problems in wrong.items() if problems} == {}


def looked(page, axe: str, rules: list[str] | None, place: str | None = None) -> list:
    if place is not None:
        page.goto(place)
    page.evaluate(axe)
    found = [one for one in page.evaluate(LOOK, rules) if one[0] in {"serious", "critical"}]
    return found + ([] if page.locator("h1").count() == 1 else ["not one h1"])
