"""Benchmark of habits: what it costs to recognise a script that the agent has written before."""

from __future__ import annotations

import gc
import hashlib
import time
from itertools import count

from neurons import FingerprintReader, Habits, HabitSettings, MemoryStorage
from neurons.habits.fingerprint import fingerprint
from neurons.habits.index import Index, enough_of

from .measure import Report, Row, interleaved, p50

# Fifty lines of the kind that agents write.
SCRIPT = """
const owner = "acme";
const repos = ["app", "site", "engine"];
const since = new Date(Date.now() - 7 * 24 * 3600 * 1000).toISOString();
const report = { since, repos: [], authors: {}, failures: [] };

async function load(repo, page) {
  const url = `https://git.example/api/repos/${owner}/${repo}/commits?since=${since}&page=${page}`;
  const response = await fetch(url, { headers: { Accept: "application/json" } });
  if (!response.ok) {
    throw new Error(`Cannot load ${repo}: ${response.status}`);
  }
  return await response.json();
}

for (const repo of repos) {
  const commits = [];
  let page = 1;
  while (page <= 10) {
    try {
      const batch = await load(repo, page);
      if (batch.length === 0) break;
      commits.push(...batch);
      page += 1;
    } catch (error) {
      report.failures.push({ repo, page, message: error.message });
      break;
    }
  }
  for (const commit of commits) {
    const name = commit.author?.login ?? "unknown";
    report.authors[name] = (report.authors[name] ?? 0) + 1;
  }
  const sizes = commits.map((commit) => commit.stats.additions + commit.stats.deletions);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const sorted = [...sizes].sort((a, b) => a - b);
  report.repos.push({
    repo,
    commits: commits.length,
    mean: sizes.length ? Math.round(total / sizes.length) : 0,
    median: sorted[Math.floor(sorted.length / 2)] ?? 0,
    largest: Math.max(0, ...sizes),
  });
}

const ranking = Object.entries(report.authors)
  .sort((a, b) => b[1] - a[1])
  .slice(0, 5)
  .map(([name, count], index) => `${index + 1}. ${name}: ${count} commits`);
const summary = report.repos.map((one) => `${one.repo}: ${one.commits} commits, median ${one.median}`).join("\\n");
return { summary, ranking, failures: report.failures.length, since: since.slice(0, 10) };
"""
OTHERS = 100
RECORDED = 5_000
# What the recorded scripts do: half of them reach for tools, half are pure.
RECORDED_SCRIPTS = (
    "return (await tools.a{n}.list({{ n: {n} }})).items.filter((item) => item.open{n}).length",
    "return context.rows{n}.map((row) => row.field{n} * {n}).sort((a, b) => a - b).slice(0, {n})",
)


class Recognising:
    """Habits among thousands of recorded scripts; without disk and fingerprint, which have rows of their own."""

    def __init__(self) -> None:
        self.index = Index()
        settings = HabitSettings()
        self.enough = enough_of(settings.similarity_effects, settings.similarity_pure)
        for number in range(RECORDED):
            found = fingerprint(RECORDED_SCRIPTS[number % 2].format(n=number + 3))
            assert found is not None
            self.index.put(str(number), (found.sketch,))
        self.asked = [fingerprint(code.format(n=4_242)) for code in RECORDED_SCRIPTS]

    def ms(self) -> float:
        """CPU of recognising one script, the slower one of the two kinds."""
        slowest = 0.0
        for found in self.asked:
            assert found is not None
            began = time.process_time()
            self.index.alike(found.sketch, self.enough)
            slowest = max(slowest, time.process_time() - began)
        return slowest * 1_000


def fingerprint_ms() -> float:
    """CPU of one fingerprint, without the garbage collector, as in the reader process. In this process, as nowhere
    else: the code is our own."""
    gc.disable()
    try:
        began = time.process_time()
        assert fingerprint(SCRIPT) is not None
        return (time.process_time() - began) * 1_000
    finally:
        gc.enable()


async def habits(rounds: int, report: Report) -> None:
    """Measure the CPU of a fingerprint, and the time with the round trip through its process, as in production."""
    async with FingerprintReader() as reader:
        settings = HabitSettings()
        known = Habits(MemoryStorage(), settings, read=reader.read)
        for number in range(OTHERS):
            await known.noticed(f"return tools.a.t{number}(Math.max(1, {number}))", code_hash=str(number))

        number = count()

        def anew() -> str:
            # A comment makes it code that was not read before, of the same fingerprint.
            return f"{SCRIPT}// {next(number)}"

        async def through() -> None:
            assert await reader.read(anew()) is not None

        async def again() -> None:
            assert await reader.read(SCRIPT) is not None

        async def notice() -> None:
            code = anew()
            await known.noticed(code, code_hash=hashlib.sha256(code.encode()).hexdigest())

        async def notice_again() -> None:
            await known.noticed(SCRIPT, code_hash=hashlib.sha256(SCRIPT.encode()).hexdigest())

        trials = {"through": through, "again": again, "notice": notice, "notice again": notice_again}
        for trial in trials.values():
            await trial()
        taken = await interleaved(trials, rounds)
    itself = p50([fingerprint_ms() for _ in range(rounds)])
    report(Row("fingerprint of a script of 50 lines", itself, 2, "ms", 1.0, "limit"))
    report(Row("the same through its process", p50(taken["through"]), itself, "ms", float("inf"), "by itself"))
    report(Row("the same code again, remembered", p50(taken["again"]), itself, "ms", 0.2, "by itself"))
    report(
        Row(f"noticing it among {OTHERS} others", p50(taken["notice"]), itself, "ms", float("inf"), "its fingerprint")
    )
    noticed_again = p50(taken["notice again"])
    report(Row("noticing code that comes again", noticed_again, p50(taken["notice"]), "ms", 1.0, "new code"))
    recognising = Recognising()
    cpu = sorted(recognising.ms() for _ in range(max(5, rounds // 10)))
    report(Row(f"recognising it among {RECORDED:,} others", cpu[len(cpu) // 2], 10, "ms", 1.0, "limit"))
