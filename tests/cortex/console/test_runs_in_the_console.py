"""The pages of runs, of real runs in a real Deno: the list with its filter, the course of one run, its code and reply."""

from __future__ import annotations

import os
import re
import time

import anyio
import pytest

from cortex import MotorCortex, Toolbox
from cortex.audit import Audit
from cortex.console.code_lines import HIGHLIGHT_S, code_as_lines
from cortex.console.run_pages import _REPLAYING
from cortex.console.waterfall import WIDTH, waterfall
from cortex.runs import RunFiles, run_id
from cortex.settings import Settings
from cortex.settings.sections import AuditSettings, RunsSettings
from cortex.views import RunLog, RunSpan
from neurons import KillSwitch
from sandbox import identity_of
from tests.cortex.runs.support import details, line_of

from .served import audit_facts, served

pytestmark = pytest.mark.deno

GOOD = """const [pears, plums] = await Promise.all([tools.stock({ item: "pears" }), tools.stock({ item: "plums" })]);
console.log("looked at both");
return { pears, plums };"""
BAD = """const price = context.price;
// the next line fails
return price.amount.toFixed(2);"""


async def fill(home) -> list[str]:
    toolbox = Toolbox()

    @toolbox.tool
    async def stock(item: str) -> int:
        await anyio.sleep(0.05)
        return len(item)

    settings = Settings(home=home, cache={"enabled": False}, neurons={"owner": {"console": False}})
    async with MotorCortex(settings, toolbox=toolbox) as cortex, cortex.turn() as turn:
        await turn.call("core.execute", {"purpose": "look at the stock", "code": GOOD})
        await turn.call("core.execute", {"purpose": "print a price", "code": BAD})
        return [run_id(turn.id, call) for call in (1, 2)]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("runs") / "home"


@pytest.fixture(scope="module")
def ids(home):
    return anyio.run(fill, home)


@pytest.fixture(scope="module")
def owner(home, ids):
    with served(home, settings=Settings(home=home)) as found:
        yield found.log_in()


def purposes(text: str) -> list[str]:
    return re.findall(r'data-label="purpose" class="wide"><bdi>(.*?)</bdi>', text)


def test_the_list_has_the_newest_first_and_its_filter_is_in_the_address(owner, ids):
    assert purposes(owner.get("/runs").text) == ["print a price", "look at the stock"]
    for query, found in {
        "q=STOCK": ["look at the stock"],
        f"q={ids[1]}": ["print a price"],
        "state=error": ["print a price"],
        "tool=stock": ["look at the stock"],
        "tier=network": [],
        "host=a.example": [],
        f"turn={ids[0].rpartition('-')[0]}": ["print a price", "look at the stock"],
        "state=error&tool=stock": [],
    }.items():
        page = owner.get(f"/runs?{query}")
        assert page.status == 200
        assert purposes(page.text) == found, query
    assert "No run fits" in owner.get("/runs?q=nothing").text
    assert owner.get("/runs?before=rubbish").status == 404


def test_a_list_goes_on_where_the_last_page_ended_and_keeps_its_filter(tmp_path):
    kept = RunFiles(tmp_path / "home" / "runs", RunsSettings())
    for at in range(1, 121):
        kept.append(line_of(details(at, purpose=f"number {at}", tier="network" if at % 2 else "isolated")))
    kept.close()
    with served(tmp_path / "home") as found:
        owner, place, seen = found.log_in(), "/runs?tier=network", []
        while place:
            page = owner.get(place).text
            seen += purposes(page)
            more = re.search(r'rel="next" href="([^"]+)"', page)
            place = more[1].replace("&amp;", "&") if more else ""
    assert seen == [f"number {at}" for at in range(119, 0, -2)]


def test_a_run_shows_its_course_what_it_printed_its_reply_and_its_code(owner, ids, home):
    page = owner.get(f"/runs/{ids[0]}").text
    assert "look at the stock" in page
    assert page.count('class="lane"') >= 3  # the run, and two calls
    assert "looked at both" in page
    assert "has the hash of this page" in page
    assert '<i class="k">const</i>' in page
    assert "&#34;pears&#34;: 5" in page or "&#34;pears&#34;:5" in page
    code = owner.get(f"/runs/{ids[0]}?as=code")
    assert code.text == GOOD
    assert code.header("content-disposition").startswith("attachment")
    assert "pears" in owner.get(f"/runs/{ids[0]}?as=reply").text


def test_the_line_that_failed_is_marked(owner, ids):
    page = owner.get(f"/runs/{ids[1]}").text
    assert "TypeError" in page
    [marked] = re.findall(r'<span class="line marked" id="L(\d+)">(.*?)\n</span>', page, re.S)
    assert marked[0] == "3"
    assert "toFixed" in marked[1]
    assert 'href="#L3"' in page


def test_a_replay_gives_the_same_on_what_is_on_record_and_spends_nothing(owner, ids, home):
    before = audit_facts(home)
    for name, found in zip(ids, ("&#34;pears&#34;:5", "toFixed"), strict=True):
        assert f'action="/runs/{name}/replay"' in owner.get(f"/runs/{name}").text
        page = owner.post(f"/runs/{name}/replay")
        assert page.status == 200, page.text
        assert "The same came of it" in page.text
        assert found in page.text
    assert audit_facts(home) == before
    assert owner.post("/runs/nothing-1/replay").status == 404
    switch = KillSwitch(home / "state")
    switch.turn_on("a test", "owner")
    try:
        refused = owner.post(f"/runs/{ids[0]}/replay")
        assert refused.status == 409
        assert "Nothing runs" in refused.text
    finally:
        switch.turn_off("it is over", "owner")


def test_a_replay_that_differs_shows_what(tmp_path):
    audit = Audit(tmp_path / "home" / "audit", AuditSettings())
    own = audit.keep_code("return 1 + 1")
    audit.close()
    kept = RunFiles(tmp_path / "home" / "runs", RunsSettings())
    kept.append(line_of(details(1, code_hash=own, reply="3", seed=1), 7))
    kept.close()
    with served(tmp_path / "home") as found:
        page = found.log_in().post(f"/runs/{details(1).id}/replay").text
    assert "Something else came of it" in page
    assert 'class="plus"' in page


def test_one_replay_runs_at_a_time(owner, ids):
    with _REPLAYING:
        reply = owner.post(f"/runs/{ids[0]}/replay")
    assert reply.status == 409
    assert "Another replay" in reply.text


def test_a_run_that_is_not_kept_is_told_or_shown_as_its_record(owner, ids):
    assert owner.get("/runs/nothing-1").status == 404
    seen = owner.get("/runs/nothing-1?record=1")
    assert (seen.status, seen.header("location")) == (303, "/audit/1")
    for name in ("..%2f..%2fetc%2fpasswd", "%00", "x" * 3_000):
        assert owner.get(f"/runs/{name}").status == 404


def test_the_page_of_what_runs_leads_to_the_runs(owner, ids):
    page = owner.get("/").text
    assert f'href="/runs/{ids[1]}?record=' in page


def test_a_cached_run_says_so_and_a_changed_one_is_told(tmp_path):
    kept = RunFiles(tmp_path / "home" / "runs", RunsSettings())
    one = details(1, cached=True, cached_from=details(2).id, total_ms=0.1, cost=0.050000000000000044)
    kept.append(line_of(one, 7))
    kept.close()
    with served(tmp_path / "home") as found:
        owner = found.log_in()
        for page in (owner.get("/runs").text, owner.get(f"/runs/{one.id}").text):
            assert "from the cache" in page
            assert "0.1 ms" not in page
            assert "0.0500" not in page
        assert "has no hash of it" in owner.get(f"/runs/{one.id}").text
        assert f'href="/runs/{details(2).id}"' in owner.get(f"/runs/{one.id}").text


def test_a_forgotten_run_shows_nothing_but_that(tmp_path):
    kept = RunFiles(tmp_path / "home" / "runs", RunsSettings())
    kept.append(line_of(details(1, purpose="a secret"), 7))
    kept.forget(lambda _: True)
    kept.close()
    with served(tmp_path / "home") as found:
        page = found.log_in().get(f"/runs/{details(1).id}")
    assert page.status == 200
    assert "You had it forgotten" in page.text
    assert "a secret" not in page.text


def span(start: float, ms: float, **more) -> RunSpan:
    return RunSpan(more.pop("kind", "tool"), "x", start, ms, ok=True, outcome="ok", **more)


def test_bars_stand_on_one_scale_and_never_leave_it():
    found = waterfall([span(0, 100, kind="run"), span(25, 50), span(99.99, 0.01)], [RunLog(30.0, "log", "hello")])
    places = [re.findall(r'class="span \w+" x="([\d.]+)" y="0" width="([\d.]+)"', str(row.bar)) for row in found.rows]
    numbers = [[float(one) for one in place[0]] if place else None for place in places]
    assert numbers == [[0, WIDTH], [250, 500], None, [996, 4]]
    assert [row.log.text for row in found.rows if row.log] == ["hello"]
    assert waterfall([span(0, 0)], []).rows[0].bar
    many = waterfall([span(at, 1) for at in range(500)], [], most=100)
    assert (len(many.rows), many.left_out) == (100, 400)


@pytest.mark.parametrize(
    "code",
    [
        "/[" * 32_000,
        "`${" * 20_000,
        "<" * 65_000,
        "/*" * 32_000,
        '"\\' * 32_000,
        "a.".join("(" * 30_000),
        "1e" * 32_000,
    ],
    ids=lambda code: code[:3],
)
def test_a_code_made_to_be_slow_is_shown_in_bounded_time(code):
    """With a clock that counts looks at it: each look costs as long as the lexer took for one piece."""
    began = time.process_time()
    shown = code_as_lines(code)
    assert time.process_time() - began < 20 * HIGHLIGHT_S + 2
    assert str(shown).count("<span") == 1


def test_without_time_left_the_code_is_plain_and_whole():
    ticks = iter(range(1_000_000))
    shown = str(code_as_lines("const a = 1;\nreturn a;", 2, lambda: float(next(ticks))))
    assert '<i class="k">return' not in shown
    assert re.sub("<[^>]+>", "", shown) == "const a = 1;\nreturn a;\n"
    assert 'class="line marked" id="L2"' in shown


def test_nothing_hides_in_code():
    shown = str(code_as_lines("a\u202eb\u200bc <script>\r\n"))
    assert "\u202e" not in shown
    assert "<script" not in shown
    assert re.sub("<[^>]+>", "", shown) == "a⟨U+202E⟩b⟨U+200B⟩c &lt;script&gt;⟨U+000D⟩\n\n"


def test_a_run_whose_program_was_killed_does_not_look_as_if_it_ran(tmp_path):
    own = identity_of(os.getpid())
    audit = Audit(tmp_path / "home" / "audit", AuditSettings())
    for turn, purpose, started in (("a", "goes on", own.started), ("b", "was cut", own.started - 1)):
        audit.record("intent", turn=turn, call=1, purpose=purpose, tier="isolated", host=own.pid, host_started=started)
    audit.close()
    with served(tmp_path / "home") as found:
        page = found.log_in().get("/").text
    running, _, ended = page.partition('<p class="quiet" id="idle"')
    assert "goes on" in running
    assert "was cut" not in running
    assert "was cut" in ended
    assert "cut short" in ended
