"""`make pictures`: fills a home with a real agent's runs, neurons, decisions and energy, and makes pictures of every page
of its console: light, dark and on a phone."""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import anyio

from cortex import MotorCortex, Toolbox
from cortex.energy import EnergyReserve
from cortex.home import Home
from cortex.runs import RunReader
from cortex.settings import Settings
from cortex.workflows import checked
from sandbox import Tier, ToolError
from tests.cortex.inbox.stage import asking_agent, open_question

from .agent import Agent
from .conftest import ARGUMENTS
from .served import Served, served

DAY_S, STEP_S = 86_400.0, 600.0
KINDS = {
    "light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "device_scale_factor": 2},
}
STOCK = """// What is low, and what it would cost to fill it up.
const items = await tools.shop.items();
const low = items.filter((item) => item.left < 10);
console.log(`${low.length} of ${items.length} are low`);
const prices = await Promise.all(low.map((item) => tools.shop.price({ name: item.name })));
return low.map((item, at) => ({ ...item, cost: (20 - item.left) * prices[at] }));"""
ORDER = """// Ask the owner before anything is ordered.
const order = { name: "pears", count: 400, totals: await tools.shop.order({ name: "pears", count: 4 }) };
console.warn("this order is larger than usual", order.count);
console.log("ordered", order);
return order.totals.net.toFixed(2);"""
SLOW = "for (;;) {}"
MEAN = "const prices = [3, 4, 5];\nreturn prices.reduce((a, b) => a + b, 0) / prices.length;"
WATCH = """const previous = state.price ?? signal.price;
const change = (signal.price - previous) / previous;
state.price = signal.price;
if (Math.abs(change) > 0.02) emit("price_moved", { name: signal.name, percent: 100 * change });"""


def shop() -> Toolbox:
    toolbox = Toolbox()

    @toolbox.tool(name="shop.items")
    async def items() -> list[dict[str, object]]:
        await anyio.sleep(0.02)
        return [
            {"name": name, "left": left} for name, left in (("pears", 4), ("plums", 31), ("figs", 7), ("limes", 12))
        ]

    @toolbox.tool(name="shop.price")
    async def price(name: str) -> float:
        await anyio.sleep(0.01 + 0.004 * len(name))
        return {"pears": 0.4, "figs": 1.1}.get(name, 1.0)

    @toolbox.tool(name="shop.order")
    async def order(name: str, count: int) -> str:
        await anyio.sleep(0.03)
        if count > 1_000:
            raise ToolError("the shop delivers at most 1000")
        return "ordered"

    return toolbox


async def past(home: Path, settings: Settings, neurons: list[str]) -> None:
    """A day of energy as it would have been spent: code now and then, neurons at each step."""
    chance, clock = random.Random(7), {"at": time.time() - DAY_S}
    reserve = EnergyReserve(Home(home).state, settings.energy, now=lambda: clock["at"])
    reserve.set(0.9)
    while clock["at"] < time.time() - 2 * STEP_S:
        clock["at"] += STEP_S * chance.uniform(0.4, 1.6)
        busy = 0.25 + 0.7 * abs((clock["at"] / 7_200) % 2 - 1)
        for name in neurons:
            if chance.random() < busy:
                await reserve.spend(0.002 * chance.randint(1, 6), reason=f"neuron {name}")
        for _ in range(chance.randint(0, 5) if chance.random() < busy else 0):
            await reserve.take(Tier.ISOLATED if chance.random() < 0.7 else Tier.NETWORK)
    reserve.set(0.8)
    reserve.close()


async def runs(home: Path, settings: Settings) -> None:
    async with MotorCortex(settings, toolbox=shop()) as cortex:
        for _ in range(2):
            async with cortex.turn() as turn:
                await turn.call("core.execute", {"purpose": "find what is low in the shop", "code": STOCK})
                await turn.call("core.execute", {"purpose": "mean price of the week", "code": MEAN})
            async with cortex.turn() as turn:
                await turn.call("core.execute", {"purpose": "order pears for the weekend", "code": ORDER})
        async with cortex.turn() as turn:
            await turn.call("core.execute", {"purpose": "count to the end", "code": SLOW, "timeout": 200})
            await turn.call(
                "core.execute", {"purpose": "ask a host that is not allowed", "tier": "network", "code": ASK}
            )
            await turn.call("core.execute", {"purpose": "find what is low in the shop", "code": STOCK})


PLAN = {
    "name": "weekly order",
    "tasks": [
        {"id": "stock", "type": "mcp_tool", "tool": "shop.items"},
        {"id": "figs", "type": "mcp_tool", "tool": "shop.price", "arguments": {"name": "figs"}},
        {"id": "pears", "type": "mcp_tool", "tool": "shop.price", "arguments": {"name": "pears"}},
        {
            "id": "sum",
            "type": "code_execution",
            "code": "return 13 * context.figs + 16 * context.pears;",
            "intent": "what the order costs",
            "dependencies": ["stock", "figs", "pears"],
        },
        {"id": "agree", "type": "decision", "ask": "Order 13 figs and 16 pears?", "dependencies": ["sum"]},
        {
            "id": "order",
            "type": "mcp_tool",
            "tool": "shop.order",
            "arguments": {"name": "figs", "count": 13},
            "dependencies": ["agree"],
        },
    ],
}


async def workflow(home: Path, settings: Settings) -> str:
    """A run of a plan that waits for its owner."""
    async with MotorCortex(settings, toolbox=shop()) as cortex:
        run = await cortex.workflows.start(checked(PLAN))
        async with aclosing(cortex.workflows.events(run.id)) as events:
            async for event in events:
                if event.kind in {"run_waiting", "run_failed"}:
                    break
        return run.id


ASK = 'const reply = await fetch("https://prices.example/today?key=1");\nreturn reply.status;'


def neurons(agent: Agent) -> dict[str, str]:
    """Neurons at every stage; the ids of those whose pages are shown."""
    governed, now = agent.governed, time.time()
    governed.clock.at = now - 3 * DAY_S
    price = {"inputSignals": ["price"], "outputSignals": ["price_moved"]}
    watch = governed.active(name="Price watch", purpose="Tell when a price moves by two percent", code=WATCH, **price)
    governed.active(name="Stock count", purpose="Count what was sold, and warn when an item runs low")
    governed.clock.at = now - 0.6 * DAY_S
    governed.in_trial(name="Morning digest", purpose="Put the orders of the night together at seven")
    broken = governed.active(name="Weather note", purpose="Say whether it will rain on market day")
    governed.clock.at = now - 1_800
    governed.disable(broken.id, "three errors in a row: the answer of the server has another form", by="trial")
    governed.modify(
        watch.id,
        WATCH.replace("0.02", "0.05").replace("signal.name", "signal.name ?? ''"),
        by="owner",
        max_code_bytes=51_200,
    )
    changed = governed.judged(watch.id, _report(governed.store.get(watch.id)))
    new = agent.waiting("Refund check", purpose="Compare refunds with their orders, and point at the odd ones")
    governed.storage.flush()
    return {"changed": changed.id, "new": new.id}


def _report(neuron: object) -> object:
    from tests.neurons.governance import report_of

    return report_of(neuron, at=time.time())


def pages(home: Path, ids: dict[str, str]) -> dict[str, str]:
    kept = RunReader(home / "runs").newest().runs
    of = {run.purpose: run.id for run in reversed(kept)}
    return {
        "now": "/",
        "inbox": "/inbox",
        "workflows": "/workflows",
        "workflow": f"/workflows/{ids['workflow']}",
        "runs": "/runs",
        "run": f"/runs/{of['find what is low in the shop']}",
        "run-error": f"/runs/{of['order pears for the weekend']}",
        "neurons": "/neurons",
        "neuron": f"/neurons/{ids['new']}",
        "neuron-changed": f"/neurons/{ids['changed']}",
        "audit": "/audit",
        "record": "/audit/2",
        "servers": "/servers",
        "settings": "/settings",
        "nothing": "/nothing",
    }


@contextmanager
def opened(found: Served, options: dict) -> Iterator:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        page = browser.new_context(**options).new_page()
        page.goto(found.console.desk.link())
        page.wait_for_url(found.place.origin + "/")
        yield page
        browser.close()


def make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        settings = Settings(home=home, neurons={"owner": {"console": False}}, energy={"recharge_per_minute": 0.02})
        agent = Agent(home)
        ids = neurons(agent)
        anyio.run(past, home, settings, ["price-watch", "stock-count", "weather-note"])
        anyio.run(runs, home, settings)
        ids["workflow"] = anyio.run(workflow, home, settings)
        with asking_agent(home) as asking, served(home, settings=settings) as found:
            asking.asks("pears, 400 pieces", note="for the weekend; the usual dealer, to be there on Friday at seven")
            open_question(home)
            shown = pages(home, ids)
            for_readme(folder, found, shown)
            shots(folder, found, shown)
        agent.close()


def for_readme(folder: Path, found: Served, shown: dict[str, str]) -> None:
    """Two small pictures for strangers, with few colours."""
    from PIL import Image

    for name, scheme, height in (("now", "light", 640), ("run-error", "dark", 940)):
        with opened(found, {"viewport": {"width": 1100, "height": height}, "color_scheme": scheme}) as page:
            page.goto(found.place.origin + shown[name])
            page.wait_for_selector("#live.on")
            path = folder / f"console-{name.partition('-')[0]}.png"
            page.screenshot(path=path)
        with Image.open(path) as picture:
            picture.convert("RGB").quantize(160, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
                path, optimize=True
            )


def shots(folder: Path, found: Served, shown: dict[str, str]) -> None:
    for kind, options in KINDS.items():
        with opened(found, options) as page:
            for name, path in shown.items():
                page.goto(found.place.origin + path)
                if page.query_selector("#live"):
                    page.wait_for_selector("#live.on")
                page.screenshot(path=folder / f"{name}-{kind}.png", full_page=True)
            page.goto(found.place.origin + "/")
            page.click("summary:has-text('Add energy')")
            page.click("form[action='/energy'] button")
            page.wait_for_selector("input[name=code]")
            page.screenshot(path=folder / f"confirm-{kind}.png")
            page.goto(found.place.origin + "/")
            page.click("summary:has-text('Stop everything')")
            page.screenshot(path=folder / f"stop-{kind}.png")
            if kind == "phone":
                page.click("form[action='/kill'] button")
                page.wait_for_selector("h1:has-text('Everything')")
                page.screenshot(path=folder / f"killed-{kind}.png", full_page=True)
                page.goto(found.place.origin + "/")
                page.screenshot(path=folder / f"now-killed-{kind}.png", full_page=True)
            page.context.clear_cookies()
            page.goto(found.place.origin + "/login")
            page.screenshot(path=folder / f"login-{kind}.png")
            found.console.desk.codes._open.clear()


if __name__ == "__main__":
    make(Path(sys.argv[1]))
    print(f"The pictures are in {sys.argv[1]}")
