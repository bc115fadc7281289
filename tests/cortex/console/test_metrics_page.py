"""`/metrics` of the console: who gets it, what a scrape costs, and that neither its token nor a session opens the other."""

from __future__ import annotations

import json
import stat

import pytest

from cortex.commands import run_command
from cortex.console import METRICS_CHECKS, METRICS_PATH, MetricsPage, metrics_page, metrics_token
from cortex.home import Home
from cortex.settings import Settings
from cortex.telemetry import CONTENT_TYPE
from tests.cortex.console.served import served
from tests.cortex.telemetry.support import audit_of, families, value_of

RUNS = "cortex_code_executions_total"


@pytest.fixture
def home(tmp_path):
    place = Home(tmp_path / "home")
    run_some(place.path, 2)
    return place.path


@pytest.fixture
def console(home):
    with served(home, settings=Settings(home=home, console={"metrics": True})) as found:
        yield found


def run_some(home, count):
    audit = audit_of(home)
    for _ in range(count):
        audit.record("execution", tier="isolated", ok=True, reply_code="OK", total_ms=2.0)
    audit.close()


def bearer(home):
    return f"Bearer {metrics_token(home / 'state')}"


def scrape(console, method="GET", **headers):
    """A request as Prometheus sends it, with these headers changed."""
    usual = {"sec-fetch-site": None, "host": f"127.0.0.1:{console.place.port}"}
    if "authorization" not in headers:
        usual["authorization"] = bearer(console.home)
    return console.ask(method, METRICS_PATH, usual | {name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", None])
def test_a_monitoring_system_with_the_token_gets_the_metrics(console, host):
    reply = scrape(console, host=f"{host}:{console.place.port}" if host else console.place.authority)
    assert (reply.status, reply.header("content-type")) == (200, CONTENT_TYPE)
    assert families(reply.text)
    assert value_of(reply.text, RUNS, tier="isolated", outcome="ok") == 2
    run_some(console.home, 1)
    assert value_of(scrape(console).text, RUNS, tier="isolated", outcome="ok") == 3


def test_without_the_setting_there_are_no_metrics(home):
    with served(home) as console:
        reply = scrape(console, host=console.place.authority, sec_fetch_site="none")
        assert reply.status == 401
        assert "cortex_" not in reply.text
        assert console.log_in().get(METRICS_PATH).status == 404


ATTACKS = {
    "no token": ("token", {"authorization": None}),
    "a wrong token": ("token", {"authorization": "Bearer wrong"}),
    "an empty token": ("token", {"authorization": "Bearer "}),
    "another scheme": ("token", {"authorization": "Basic wrong"}),
    "two tokens": ("token", {"authorization": ["Bearer wrong", "Bearer worse"]}),
    "bytes that are no text": ("token", {"authorization": "Bearer \udcff\udcfe"}),
    "a foreign name": ("host", {"host": "evil.example"}),
    "no port": ("host", {"host": "127.0.0.1"}),
    "another port": ("host", {"host": "127.0.0.1:1"}),
    "a page of another origin": ("browser", {"origin": "http://evil.example"}),
    "another site": ("browser", {"sec_fetch_site": "cross-site"}),
}
REFUSED = {"token": 401, "host": 421, "browser": 403}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_on_the_metrics_is_refused_by_one_check(console, attack):
    check, headers = ATTACKS[attack]
    reply = scrape(console, **headers)
    assert reply.status == REFUSED[check]
    assert "cortex_" not in reply.text
    assert ("www-authenticate" in reply.headers) == (check == "token")
    left = {name: one for name, one in METRICS_CHECKS.items() if name != check}
    settings = console.console.desk.settings
    console.console.app._machines[METRICS_PATH] = MetricsPage(settings, console.place, left)
    assert scrape(console, **headers).status == 200, "without this check it gets in"


@pytest.mark.parametrize("method", ["POST", "PUT", "OPTIONS", "DELETE"])
def test_the_metrics_can_only_be_read(console, method):
    assert scrape(console, method).status == 405


def test_a_session_opens_no_metrics_and_the_token_opens_no_page(console):
    client = console.log_in()
    assert client.get("/").status == 200
    assert client.get(METRICS_PATH).status == 403
    assert scrape(console, cookie=client.cookie, authorization=None).status == 401
    for path in ("/", "/audit", "/events"):
        assert console.ask("GET", path, {"authorization": bearer(console.home)}).status == 401


def test_the_token_is_private_and_a_new_one_counts_at_once(console):
    place = console.home / "state" / metrics_page.TOKEN_FILE
    old = bearer(console.home)
    assert bearer(console.home) == old
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert len(old) > 40
    place.chmod(0o644)
    assert scrape(console, authorization=old).status == 200
    assert stat.S_IMODE(place.stat().st_mode) == 0o600, "taken from others again"
    place.unlink()
    new = bearer(console.home)
    assert new != old
    assert (scrape(console, authorization=old).status, scrape(console, authorization=new).status) == (401, 200)


def test_a_token_that_leads_elsewhere_lets_nobody_in(console, tmp_path):
    place = console.home / "state" / metrics_page.TOKEN_FILE
    token = bearer(console.home)
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    reply = scrape(console, authorization=token)
    assert (reply.status, "cortex_" in reply.text) == (503, False)


def test_a_long_audit_is_summed_up_over_several_scrapes(console, monkeypatch):
    page = console.console.app._machines[METRICS_PATH]
    monkeypatch.setattr(page._metrics, "_at_once", 1)
    monkeypatch.setattr(metrics_page, "FOLD_S", -1)
    statuses = [scrape(console).status for _ in range(3)]
    assert statuses == [503, 503, 200]
    monkeypatch.undo()
    assert value_of(scrape(console).text, RUNS, tier="isolated", outcome="ok") == 2


def test_a_head_has_no_body(console):
    reply = scrape(console, "HEAD")
    assert (reply.status, reply.body) == (200, b"")


def test_the_command_prints_the_token(home, capsys, monkeypatch):
    assert run_command(["console", "token", "--home", str(home)]) == 0
    out, err = capsys.readouterr()
    assert f"Bearer {out.strip()}" == bearer(home)
    assert "console.metrics is false" in err
    monkeypatch.setenv("CORTEX_CONSOLE__METRICS", "true")
    assert run_command(["console", "token", "--json", "--home", str(home)]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)["served"], err) == (True, "")
