"""Benchmark of the owner's console as users have it: `cortex console` in a process of its own, on a home with many
records, and a real Chromium. Without a Chromium it measures nothing."""

from __future__ import annotations

import json
import math
import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio

from cortex.audit import Audit
from cortex.settings import Settings
from cortex.views import AuditIndex

from .measure import Report, Row, p50, p95, pss_mb

RECORDS, FEW_RECORDS = 100_000, 2_000
CONSOLE = "from cortex.commands import main; main()"
WORDS = "pears plums figs limes price order stock digest refund weather market shop count mean"
PAGES = {"Now": "/", "50 records": "/audit", "a record": "/audit/7"}
EMPTY = "/static/login.js"
PAINT = """() => new Promise((done) => {
    const seen = () => performance.getEntriesByName("first-contentful-paint")[0];
    const look = () => seen() ? done(seen().startTime) : setTimeout(look, 5);
    look();
})"""
FETCHED = """async (path) => {
    const began = performance.now();
    await (await fetch(path)).text();
    return performance.now() - began;
}"""
ARRIVED = """() => {
    window.arrived = {};
    new MutationObserver(() => {
        for (const row of document.querySelectorAll("#audit tr.new")) {
            const name = row.textContent.match(/mark-\\d+/)?.[0];
            if (name) window.arrived[name] ??= Date.now();
        }
    }).observe(document.getElementById("audit"), { childList: true });
}"""


async def console(rounds: int, report: Report) -> None:
    if browser_path() is None:
        print("No Chromium: the console is not measured (make browser)", file=sys.stderr)
        return
    count = RECORDS if rounds >= 60 else FEW_RECORDS
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        fill(home, count)
        build_ms = indexed(home)
        report(Row(f"index of {count} records made, once", build_ms / 1000, 60, "s", 1.0, "limit"))
        async with opened(home) as (browser, link, process):
            page = await logged_in(browser, link)
            origin = link.rpartition("/login")[0]
            await weight(page, origin, report)
            await paints(page, origin, rounds, report)
            await searches(page, origin, rounds, count, report)
            await arrivals(page, origin, home, rounds, report)
            await idle(process.pid, report)
            await killed(page, origin, home, report)
            await lost(page, origin, process, report)


def browser_path() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


def fill(home: Path, count: int) -> None:
    chance, words = random.Random(7), WORDS.split()
    audit = Audit(home / "audit", Settings().audit)
    for number in range(count):
        audit.record(
            "execution",
            turn=f"{number // 3:016x}",
            call=number % 3 + 1,
            purpose=f"{' '.join(chance.choices(words, k=4))} {number:x}",
            tier="isolated",
            code_hash=f"{chance.getrandbits(256):064x}",
            ok=True,
            reply_code="OK",
            execution_ms=1.5,
            cost=0.05,
            level=0.5,
        )
    audit.close()


def indexed(home: Path) -> float:
    index = AuditIndex(home / "cache", lambda: Audit(home / "audit", Settings().audit))
    began = time.perf_counter()
    index.catch_up()
    index.close()
    return (time.perf_counter() - began) * 1000


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[tuple[Any, str, subprocess.Popen[str]]]:
    """A browser, the link to a console that runs on the home, and its process."""
    from playwright.async_api import async_playwright

    command = [sys.executable, "-c", CONSOLE, "console", "--json", "--home", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told = json.loads(await anyio.to_thread.run_sync(process.stdout.readline))
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(executable_path=browser_path())
                yield browser, told["link"], process
                await browser.close()
        finally:
            process.kill()


async def logged_in(browser: Any, link: str) -> Any:
    page = await (await browser.new_context()).new_page()
    await page.goto(link)
    await page.wait_for_selector("#live.on")
    return page


async def weight(page: Any, origin: str, report: Report) -> None:
    fresh, replies = await page.context.new_page(), list[Any]()
    fresh.on("response", lambda reply: None if reply.url.endswith("/events") else replies.append(reply))
    await fresh.goto(origin + "/")
    await fresh.wait_for_load_state("load")
    sizes = [len(await reply.body()) for reply in replies if reply.status == 200]
    foreign = [reply.url for reply in replies if not reply.url.startswith(origin)]
    assert foreign == [], foreign
    report(Row("first view of Now, all that it loads", sum(sizes) / 1024, 40, "KiB", 1.0, "limit"))
    await fresh.close()


async def paints(page: Any, origin: str, rounds: int, report: Report) -> None:
    taken: dict[str, list[float]] = {name: [] for name in ("empty", *PAGES)}
    for _ in range(max(8, rounds // 3)):
        for name, path in (("empty", EMPTY), *PAGES.items()):
            await page.goto(origin + path)
            taken[name].append(await page.evaluate(PAINT))
    for name in PAGES:
        report(Row(f"first paint, {name}, p50", p50(taken[name]), p50(taken["empty"]), "ms", 5.0, "a line of text"))


async def searches(page: Any, origin: str, rounds: int, count: int, report: Report) -> None:
    chance, taken = random.Random(3), list[float]()
    await page.goto(origin + "/audit")
    for _ in range(max(20, rounds)):
        number = chance.randrange(count)
        wanted = chance.choice((f"{number:x}", f"{number // 3:016x}", *WORDS.split()[:2], "nothing at all"))
        taken.append(await page.evaluate(FETCHED, f"/audit?q={wanted.replace(' ', '+')}"))
    report(Row(f"search in {count} records, p50", p50(taken), 200, "ms", 1.0, "limit"))
    report(Row("  p95", p95(taken), 200, "ms", 1.0, "limit"))


async def arrivals(page: Any, origin: str, home: Path, rounds: int, report: Report) -> None:
    """From a record that is written to the page that shows it, by the same clock."""
    await page.goto(origin + "/audit")
    await page.bring_to_front()
    await page.wait_for_selector("#live.on")
    await page.evaluate(ARRIVED)
    audit, began = Audit(home / "audit", Settings().audit), dict[str, float]()
    for number in range(max(20, rounds)):
        name = f"mark-{number}"
        audit.record("refusal", reason=name)
        began[name] = time.time() * 1000
        await anyio.sleep(0.137)
    audit.close()
    await anyio.sleep(0.5)
    arrived = await page.evaluate("() => window.arrived")
    taken = [max(0.0, at - began[name]) for name, at in arrived.items()]
    assert len(taken) == len(began), f"{len(taken)} of {len(began)} have arrived"
    report(Row("record written to record in the page, p50", p50(taken), 100, "ms", 1.0, "limit"))
    report(Row("  p95", p95(taken), 100, "ms", 1.0, "limit"))


async def idle(pid: int, report: Report, seconds: float = 5.0) -> None:
    before = _cpu_s(pid)
    await anyio.sleep(seconds)
    report(Row("console with one tab, of a core", 100 * (_cpu_s(pid) - before) / seconds, 1, "%", 1.0, "limit"))
    report(Row("  its memory", pss_mb(pid), 80, "MB", 1.0, "limit"))


def _cpu_s(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


async def killed(page: Any, origin: str, home: Path, report: Report) -> None:
    """From the press of the button to the last death, and until the page says so."""
    with working(home) as pids:
        await page.goto(origin + "/")
        await page.bring_to_front()
        await page.click("summary:has-text('Stop everything')")
        death = _Deaths(pids)
        async with anyio.create_task_group() as tasks:
            began = time.perf_counter()
            tasks.start_soon(anyio.to_thread.run_sync, death.wait)
            await page.click("form[action='/kill'] button")
            await page.wait_for_selector("h1:has-text('Everything is stopped')")
            told_ms = (time.perf_counter() - began) * 1000
    dead_ms = (death.at - began) * 1000
    report(Row("kill in the page to the last death, 15 processes", dead_ms, 350, "ms", 1.0, "limit"))
    report(Row("  until the page says so", told_ms, 800, "ms", 1.0, "limit"))


@contextmanager
def working(home: Path) -> Iterator[Sequence[int]]:
    """Five neurons and ten executions that do not end."""
    command = [sys.executable, "-m", "benchmarks.kill", str(home), "wait"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        try:
            assert host.stdout is not None
            yield [int(pid) for pid in host.stdout.readline().split()]
        finally:
            host.kill()


class _Deaths:
    """Waits for the death of processes."""

    def __init__(self, pids: Sequence[int]) -> None:
        self.at = math.inf
        self._alive = {os.pidfd_open(pid) for pid in pids}

    def wait(self) -> None:
        poll = select.poll()
        for handle in self._alive:
            poll.register(handle, select.POLLIN)
        while self._alive:
            for handle, _ in poll.poll():
                poll.unregister(handle)
                self._alive.discard(handle)
                os.close(handle)
        self.at = time.perf_counter()


async def lost(page: Any, origin: str, process: subprocess.Popen[str], report: Report) -> None:
    await page.goto(origin + "/")
    await page.wait_for_selector("#live.on")
    process.kill()
    began = time.perf_counter()
    await page.wait_for_selector("#stale:not([hidden])")
    report(Row("console dead to the page saying so", (time.perf_counter() - began) * 1000, 3_000, "ms", 1.0, "limit"))
