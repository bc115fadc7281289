"""The network tier from end to end: the code's fetch, the frames, the broker, real servers on loopback."""

from __future__ import annotations

import json

import anyio
import anyio.to_thread
import pytest

from sandbox import (
    DenoRuntime,
    ErrorType,
    ExecutionOutcome,
    ExecutionRequest,
    NetworkPolicy,
    Recorder,
    Replay,
    Tier,
)
from sandbox.testing import FunctionTools
from tests.conftest import small
from tests.sandbox.network.servers import Server, Talk

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]


def echo(talk: Talk) -> None:
    heard = talk.request
    body = {"method": heard.method, "path": heard.path, "headers": dict(heard.headers), "body": heard.body.decode()}
    talk.reply(json.dumps(body).encode(), headers={"Content-Type": "application/json", "X-Answer": "yes"})


ROUTES = {
    "/echo": echo,
    "/text": lambda talk: talk.reply("grüß dich".encode(), headers={"Content-Type": "text/plain; charset=utf-8"}),
    "/bytes": lambda talk: talk.reply(bytes(range(256))),
    "/empty": lambda talk: talk.reply(b"", "204 No Content"),
    "/missing": lambda talk: talk.reply(b"no such thing", "404 Not Found"),
    "/moved": lambda talk: talk.redirect("/text"),
    "/silent": Talk.wait_until_gone,
    "/endless": lambda talk: (talk.send(b"HTTP/1.1 200 OK\r\n\r\n"), talk.flood(b"x" * 65536)),
}


@pytest.fixture
def server():
    with Server(ROUTES) as server:
        yield server


async def fetched(
    code: str, server: Server, timeout_ms: int = 8000, tools: FunctionTools | None = None, **policy: object
) -> ExecutionOutcome:
    allow = NetworkPolicy.model_validate({"allow": [server.url], **policy})
    request = ExecutionRequest(code=code, tier=Tier.NETWORK, timeout_ms=timeout_ms, context={"at": server.url})
    async with DenoRuntime(small(pool_size=0)) as runtime:
        return await runtime.execute(request, tools, network=allow)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return await (await fetch(context.at + '/text')).text()", "grüß dich"),
        ("return (await (await fetch(new URL('/echo?q=1#f', context.at))).json()).path", "/echo?q=1"),
        ("const r = await fetch(new Request(context.at + '/echo')); return [r.ok, r.status, r.statusText]", [True, 200, "OK"]),
        ("return (await fetch(context.at + '/echo')).headers.get('x-answer')", "yes"),
        ("return [...new Uint8Array(await (await fetch(context.at + '/bytes')).arrayBuffer())].length", 256),
        ("return (await (await fetch(context.at + '/bytes')).bytes())[255]", 255),
        ("const r = await fetch(context.at + '/empty'); return [r.status, r.body, await r.text()]", [204, None, ""]),
        ("const r = await fetch(context.at + '/missing'); return [r.ok, await r.text()]", [False, "no such thing"]),
        (
            "const r = await fetch(context.at + '/moved'); return [r.redirected, r.url.endsWith('/text'), await r.text()]",
            [True, True, "grüß dich"],
        ),
        (
            "const r = await fetch(context.at + '/moved', { redirect: 'manual' }); return [r.status, r.headers.get('location')]",
            [302, "/text"],
        ),
        (
            ("const r = await fetch(context.at + '/echo', { method: 'POST', body: JSON.stringify({a: 1}), "
            "headers: { 'x-mine': 'm' } }); const e = await r.json(); return [e.method, e.body, e.headers['x-mine']]"),
            ["POST", '{"a":1}', "m"],
        ),
        (
            ("const r = await fetch(context.at + '/echo', { method: 'POST', body: new URLSearchParams({a: 'b c'}) }); "
            "return (await r.json()).body"),
            "a=b+c",
        ),
        (
            ("const rs = await Promise.all([1, 2, 3, 4].map((n) => fetch(context.at + '/echo?' + n))); "
            "return (await Promise.all(rs.map((r) => r.json()))).map((e) => e.path)"),
            ["/echo?1", "/echo?2", "/echo?3", "/echo?4"],
        ),
        ("const r = await fetch(context.at + '/text'); const c = r.clone(); return [await r.text(), await c.text()]", ["grüß dich"] * 2),
        ("try { await fetch(context.at + '/moved', { redirect: 'error' }) } catch (e) { return e instanceof TypeError }", True),
        ("return await (await fetch('data:,hello')).text()", "hello"),
    ],
)  # fmt: skip
async def test_fetch_is_the_standard_one(server, code, expected):
    outcome = await fetched(code, server)
    assert outcome.error is None
    assert outcome.result == expected


async def test_an_abort_ends_the_request_in_the_host_too(server):
    code = """
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("enough")), 100);
    try { await fetch(context.at + "/silent", { signal: controller.signal }); } catch (error) {
      return [error.message, await tools.gone()];  // while the run goes on
    }
    """

    async def gone(_):
        return await anyio.to_thread.run_sync(server.gone.wait, 5)

    assert (await fetched(code, server, tools=FunctionTools({"gone": gone}))).result == ["enough", True]


async def test_code_goes_on_after_an_abort(server):
    code = """
    try { await fetch(context.at + "/silent", { signal: AbortSignal.timeout(50) }); } catch { /* as planned */ }
    return await (await fetch(context.at + "/text")).text();
    """
    assert (await fetched(code, server)).result == "grüß dich"


async def test_the_end_of_a_run_ends_its_requests(server):
    async def heard(arguments):
        while not server.heard:
            await anyio.sleep(0.001)

    code = "fetch(context.at + '/silent').catch(() => {}); await tools.heard({}); return 1"
    outcome = await fetched(code, server, timeout_ms=60_000, tools=FunctionTools({"heard": heard}))
    assert outcome.result == 1
    assert await anyio.to_thread.run_sync(server.gone.wait, 60)


async def test_a_timeout_ends_its_requests(server):
    for timeout_ms in (300, 10_000):  # more on a machine that is so slow that nothing was asked for
        outcome = await fetched("await fetch(context.at + '/silent')", server, timeout_ms=timeout_ms)
        assert outcome.error.type == ErrorType.TIMEOUT
        if server.heard:
            break
    assert await anyio.to_thread.run_sync(server.gone.wait, 60)


async def test_the_denial_names_the_allowed_hosts(server):
    with Server(ROUTES) as other:
        outcome = await fetched(f"await fetch('{other.url}/text')", server)
        assert other.heard == []
    assert outcome.error.type == ErrorType.PERMISSION
    assert outcome.error.message.endswith("Allowed hosts: 127.0.0.1")


async def test_a_denial_can_be_caught(server):
    code = "try { await fetch('https://elsewhere.test/') } catch (e) { return [e.name, e.code, e instanceof Error] }"
    assert (await fetched(code, server)).result == ["PermissionDenied", "denied", True]


async def test_limits_are_errors_that_can_be_caught(server):
    code = """
    const seen = [];
    for (let n = 0; n < 4; n++) {
      try { await (await fetch(context.at + "/text")).text(); seen.push("ok") } catch (e) { seen.push(e.name + " " + e.code) }
    }
    return seen;
    """
    assert (await fetched(code, server, max_requests=2)).result == ["ok", "ok", "LimitError limit", "LimitError limit"]


async def test_an_endless_answer_is_a_limit_and_not_the_end_of_the_host(server):
    outcome = await fetched("return (await (await fetch(context.at + '/endless')).text()).length", server)
    assert outcome.error.type == ErrorType.LIMIT
    assert "4194304" in outcome.error.message
    assert server.sent_bytes < 20 << 20


async def test_a_body_that_is_too_large_is_told_before_it_is_sent(server):
    code = "try { await fetch(context.at + '/echo', { method: 'POST', body: 'x'.repeat(3e6) }) } catch (e) { return e.name }"
    assert (await fetched(code, server)).result == "LimitError"
    assert server.heard == []


async def test_in_the_isolated_tier_fetch_names_the_tier():
    async with DenoRuntime(small(pool_size=0)) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code="await fetch('https://example.com')"))
    assert outcome.error.type == ErrorType.PERMISSION
    assert outcome.error.message == "PermissionDenied: fetch needs the network tier; this run is in the isolated tier"


@pytest.mark.parametrize(("tier", "paths"), [(Tier.ISOLATED, []), (Tier.NETWORK, ["/text"])])
async def test_a_forged_request_is_no_more_than_a_request_of_its_tier(server, tier, paths):
    code = """
    const frame = { type: "__fetch__", call_id: "9", url: context.at + "/text", method: "GET", headers: [], body: null, redirect: "follow" };
    Deno[Deno.internal].core.print(JSON.stringify(frame) + "\\n");
    await new Promise((r) => setTimeout(r, 300));
    return 1
    """
    policy = NetworkPolicy.model_validate({"allow": [server.url]})
    request = ExecutionRequest(code=code, tier=tier, context={"at": server.url})
    async with DenoRuntime(small(pool_size=0)) as runtime:
        outcome = await runtime.execute(request, network=policy)
    assert outcome.result == 1
    assert server.paths() == paths


async def test_an_abort_while_the_answer_is_on_its_way_does_not_break_the_pipe(server):
    server.routes["/large"] = lambda talk: talk.reply(b"x" * (3 << 20))
    code = """
    const controller = new AbortController();
    const asked = fetch(context.at + "/large", { signal: controller.signal });
    asked.catch(() => {});
    await new Promise((r) => setTimeout(r, 20));
    const end = performance.now() + 500;
    while (performance.now() < end);  // the answer comes, and nobody reads
    controller.abort();
    return await (await fetch(context.at + "/text")).text();
    """
    assert (await fetched(code, server)).result == "grüß dich"


async def test_without_a_policy_the_settings_decide_and_they_allow_nothing(server):
    request = ExecutionRequest(code="await fetch(context.at)", tier=Tier.NETWORK, context={"at": server.url})
    async with DenoRuntime(small(pool_size=0)) as runtime:
        outcome = await runtime.execute(request)
    assert outcome.error.message.endswith("No host is allowed")
    async with DenoRuntime(small(pool_size=0, network={"allow": [server.url]})) as runtime:
        outcome = await runtime.execute(request)
    assert outcome.error is None
    assert server.paths() == ["/"]


async def test_a_secret_is_sent_and_never_seen(server, monkeypatch):
    monkeypatch.setenv("THE_TOKEN", "s3cr3t-t0ken-value")
    rule = {**NetworkPolicy.model_validate({"allow": [server.url]}).allow[0].model_dump()}
    rule["headers"] = {"Authorization": "Bearer ${env:THE_TOKEN}"}
    code = """
    const answer = await (await fetch(context.at + "/echo")).text();
    console.log(answer);
    throw new Error(answer);
    """
    outcome = await fetched(code, server, allow=[rule])
    assert server.heard[0].header("authorization") == "Bearer s3cr3t-t0ken-value"
    assert "s3cr3t" not in str(outcome)
    assert "[redacted]" in str(outcome).lower()


async def test_a_secret_that_is_missing_is_a_refusal(server):
    rule = {"host": "api.example.com", "headers": {"Authorization": "Bearer ${env:NO_SUCH_VARIABLE}"}}
    outcome = await fetched("return await (await fetch('https://api.example.com/')).text()", server, allow=[rule])
    assert outcome.error is not None
    assert "NO_SUCH_VARIABLE" in outcome.error.message


async def test_what_was_recorded_is_replayed_without_a_network(server):
    recorder = Recorder()
    code = "return [await (await fetch(context.at + '/text')).text(), (await fetch(context.at + '/missing')).status]"
    first = await fetched(code, server, recorder=recorder)
    asked = len(server.heard)
    replay = Replay.from_json(recorder.to_json())
    second = await fetched(code, server, replay=replay)
    assert first.result == second.result == ["grüß dich", 404]
    assert len(server.heard) == asked


async def test_what_was_fetched_is_in_the_metrics(server):
    outcome = await fetched("await (await fetch(context.at + '/moved')).text()", server)
    assert (outcome.metrics.fetches, outcome.metrics.fetched_bytes) == (2, len("moved") + len("grüß dich".encode()))


async def test_a_request_that_failed_is_counted_and_a_status_is_an_answer(server):
    code = """
        try { await fetch("https://not-allowed.example/") } catch {}
        return (await fetch(context.at + "/missing")).status"""
    outcome = await fetched(code, server)
    assert (outcome.result, outcome.metrics.failed_calls, outcome.metrics.failed_fetches) == (404, 1, 1)


async def test_a_flood_of_requests_that_wait_ends_the_run(server):
    code = "for (let n = 0; n < 5000; n++) fetch(context.at + '/silent').catch(() => {}); await new Promise(() => {})"
    outcome = await fetched(code, server)
    assert outcome.error.type in {ErrorType.LIMIT, ErrorType.TIMEOUT}
    assert server.connections <= 50


async def test_honest_code_may_ask_for_many_pages_at_once_and_hears_of_the_limit(server):
    code = """
    const answers = await Promise.allSettled(Array.from({ length: 400 }, () => fetch(context.at + "/text")));
    return [answers.filter(({ status }) => status === "fulfilled").length, answers.at(-1).reason.name];
    """
    assert (await fetched(code, server, timeout_ms=20_000)).result == [50, "LimitError"]
