"""MCP servers that are programs on this machine: real processes, good and bad."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from cortex.mcp_client import McpServers, McpUnavailable
from cortex.settings.mcp_servers import McpServerSettings
from cortex.settings.sections import McpSettings
from sandbox import Running, ToolError, kill_recorded
from tests.conftest import descendants

from .support import BOUND_S, Clock, is_alive, patiently, raw, result, sdk, servers, tool, until

# Those that wait for a program to be killed.
one_loop = pytest.mark.parametrize("anyio_backend", ["asyncio"])

pytestmark = pytest.mark.usefixtures("nothing_left")


async def test_tools_of_a_server_of_the_old_kind_are_called():
    async with servers(s=raw("echo", "answer")) as mcp:
        assert await result(mcp, "s.echo", a=1) == {"a": 1}
        assert await result(mcp, "s.answer", content=[{"type": "text", "text": "[1]"}]) == [1]
        assert mcp.statuses()[0].protocol == "2025-06-18"


async def test_tools_of_a_server_of_the_new_kind_are_called_and_its_list_is_kept_up_to_date():
    async with servers(good=sdk("good.py")) as mcp:
        assert await result(mcp, "good.add", a=1, b=2) == {"result": 3}
        assert await result(mcp, "good.text", words="plain") == "plain"
        with pytest.raises(ToolError) as caught:
            await result(mcp, "good.fail", why="boo")
        assert caught.value.code == "tool_failed"
        (status,) = mcp.statuses()
        assert (status.state, status.protocol) == ("ready", "2026-07-28")
        before = mcp.version()
        await result(mcp, "good.grow", name="grown")
        await until(lambda: "good.grown" in [tool.name for tool in mcp.known()])
        assert mcp.version() > before


async def test_a_server_that_ends_at_the_question_for_the_new_kind_is_asked_as_of_old():
    async with servers(s=raw(only_initialize=True)) as mcp:
        assert await result(mcp, "s.echo", a=1) == {"a": 1}


async def test_dead_servers_never_stop_the_others_and_say_why():
    dead = {
        "gone": raw().model_copy(update={"command": "/no/such/program"}),
        "broken": raw(early_exit=3, stderr="no token\n"),
        "deaf": raw(deaf=True),
        "unset": raw(env={"TOKEN": "${env:NOBODY_HAS_THIS}"}),
    }
    # On a machine that stands still for a moment the first limit may be too short for the others, too.
    for limit_ms in (1_000, 15_000):
        async with servers(settings={"start_timeout_ms": limit_ms}, **dead, good=raw()) as mcp:
            found = [tool.name for tool in await mcp.tools(patience_s=60)]
            said = {status.name: status.error for status in mcp.statuses()}
            late = [name for name, error in said.items() if error == f"it did not start within {limit_ms} ms"]
            if late != ["deaf"] and limit_ms == 1_000:
                continue
            assert found == ["good.echo"]
            assert said["gone"] == '"/no/such/program" cannot be started: there is no such program'
            assert said["broken"] == "it ended with status 3; it said: no token"
            assert said["deaf"] == f"it did not start within {limit_ms} ms"
            assert 'no variable "NOBODY_HAS_THIS"' in said["unset"]
            assert [status.state for status in mcp.statuses()] == ["failed"] * 4 + ["ready"]
            with pytest.raises(McpUnavailable, match='no variable "NOBODY_HAS_THIS"'):
                await mcp.tools_of("unset")
            break


async def test_nothing_is_started_before_it_is_needed_and_then_it_stays():
    before = set(descendants())
    async with servers(a=raw("pid"), b=raw("pid"), off=raw(disabled=True)) as mcp:
        assert mcp.names == ("a", "b")
        assert (mcp.known(), mcp.version()) == ([], 0)
        # One that ended before may go from the list meanwhile.
        assert set(descendants()) <= before
        first = await result(mcp, "a.pid")
        assert set(descendants()) - before == {first["pid"]}
        pids = []

        async def ask():
            pids.append(await result(mcp, "a.pid"))

        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(ask)
        assert pids == [first] * 10
        assert [tool.server for tool in await mcp.tools()] == ["a", "b"]


async def test_a_crash_is_told_and_not_tried_again_and_the_server_comes_back_after_a_while(tmp_path: Path):
    clock, heard = Clock(), tmp_path / "heard"
    async with servers(now=clock, s=raw("crash", "echo", heard=str(heard))) as mcp:
        with pytest.raises(McpUnavailable, match="whether it did anything is not known") as caught:
            await result(mcp, "s.crash")
        assert (caught.value.code, caught.value.retryable) == ("unavailable", True)
        assert heard.read_text().count("tools/call") == 1
        echo = next(tool for tool in mcp.known() if tool.name == "s.echo")
        await until(lambda: mcp.statuses()[0].error is not None)
        with pytest.raises(McpUnavailable, match=r"it ended with status 3. It can be started again in 1\.0 s"):
            await echo.call_json({})
        with pytest.raises(McpUnavailable):
            await mcp.tools_of("s")
        clock.now += 1.1
        assert json.loads((await echo.call_json({"a": 1})).data) == {"a": 1}
        assert mcp.statuses()[0].restarts == 1
        assert heard.read_text().count('"crash"') == 1


async def test_tools_outlive_a_crash_but_not_a_start_that_fails(tmp_path: Path):
    clock, gone = Clock(), tmp_path / "gone"
    async with servers(now=clock, s=raw("crash", exit_if=str(gone))) as mcp:
        with pytest.raises(McpUnavailable):
            await result(mcp, "s.crash")
        await until(lambda: mcp.statuses()[0].error is not None)
        assert ([tool.name for tool in mcp.known()], mcp.version()) == (["s.crash"], 1)
        gone.touch()
        clock.now += 2
        with pytest.raises(McpUnavailable):
            await mcp.tools_of("s")
        assert (mcp.known(), mcp.version()) == ([], 2)


async def test_each_further_failure_waits_longer():
    clock = Clock()
    patient = {"restart_s": 3, "max_restart_s": 5}
    async with servers(now=clock, settings=patient, s=raw(early_exit=1)) as mcp:
        waits = []
        for _ in range(3):
            with pytest.raises(McpUnavailable):
                await mcp.tools_of("s")
            waits.append(mcp.statuses()[0].next_try_in_s)
            clock.now += 10
        assert waits == [3, 5, 5]


async def test_a_search_does_not_wait_for_a_server_that_failed_before():
    clock = Clock()
    async with servers(now=clock, bad=raw(early_exit=1), good=raw()) as mcp:
        await mcp.tools()
        assert len(await mcp.tools()) == 1
        assert mcp.statuses()[0].restarts == 0


async def test_a_server_that_hangs_holds_up_no_search():
    async with servers(hangs=raw(deaf=True), good=raw()) as mcp:
        with anyio.fail_after(BOUND_S):
            assert [tool.name for tool in await mcp.tools(patience_s=0.1)] == ["good.echo"]
        assert [status.state for status in mcp.statuses()] == ["starting", "ready"]


async def test_a_failed_server_is_restarted_in_the_background():
    clock = Clock()
    async with servers(now=clock, s=raw(early_exit=1)) as mcp:
        assert await mcp.tools() == []
        clock.now += 10
        assert await mcp.tools() == []
        await until(lambda: mcp.statuses()[0].restarts == 1)


async def test_no_program_is_started_while_the_kill_switch_is_on_and_none_again_after_a_kill(tmp_path: Path):
    """A server that is killed while it starts looks like one of the old protocol, which would be started once more."""
    reasons: list[str] = []
    running, starts = Running(tmp_path / "running", lambda _: reasons[0] if reasons else None), tmp_path / "starts"
    program = McpServerSettings(command="sh", args=["-c", f"echo start >> {starts}; sleep 60"])
    general = McpSettings(start_timeout_ms=60_000)
    async with McpServers({"slow": program}, general, running=running) as mcp, anyio.create_task_group() as tasks:
        tasks.start_soon(refused_tools, mcp)
        await until(lambda: starts.exists() and bool(list((tmp_path / "running").glob("*"))))
        reasons.append("Kill switch is on")
        kill_recorded(tmp_path / "running")
        await until(lambda: mcp.statuses()[0].state != "starting")
        assert starts.read_text() == "start\n"
        tasks.start_soon(refused_tools, mcp)
        await anyio.sleep(0.3)
        assert starts.read_text() == "start\n"
        tasks.cancel_scope.cancel()
    assert list((tmp_path / "running").glob("*")) == []


async def refused_tools(mcp: McpServers) -> None:
    with pytest.raises(McpUnavailable):
        await mcp.tools_of("slow")


async def test_started_programs_are_noted_for_the_kill_switch_and_refused_while_it_is_on(tmp_path: Path):
    reasons: list[str] = []
    clock, running = Clock(), Running(tmp_path, lambda _: reasons[0] if reasons else None)
    given = {"s": raw("silent", "pid")}
    async with McpServers(given, McpSettings(), running=running, call_limit_now=clock) as mcp:
        pid = (await result(mcp, "s.pid"))["pid"]
        assert [note.stem for note in tmp_path.glob("*.json")] == [str(pid)]
        reasons.append("the switch is on")
        assert kill_recorded(tmp_path).killed == (pid,)
        await until(lambda: mcp.statuses()[0].state == "failed")
        told = "has ended"
        # Until the old process is reaped, that is why there is no new one.
        with anyio.fail_after(60):
            while "has ended" in told:
                clock.now += 1.1
                with pytest.raises(McpUnavailable) as caught:
                    await mcp.tools_of("s")
                told = str(caught.value)
                await anyio.sleep(0.01)
        assert "the switch is on" in told
    assert list(tmp_path.glob("*.json")) == []


async def test_a_list_that_changes_is_read_again():
    async with servers(s=raw("grow")) as mcp:
        await result(mcp, "s.grow", name="more")
        await until(lambda: [tool.name for tool in mcp.known()] == ["s.grow", "s.more"])
        assert mcp.version() == 2


@pytest.mark.parametrize("cursor", ["same", "new"])
async def test_an_endless_list_of_tools_is_cut_off(cursor: str):
    async with servers(settings={"max_tools": 50}, s=raw(cursor=cursor)) as mcp:
        assert len(await mcp.tools()) == {"same": 2, "new": 50}[cursor]


async def test_results_that_are_too_large_are_refused_and_the_server_is_kept():
    async with servers(settings={"max_result_bytes": 1_000}, s=raw("huge", "deep", "pid")) as mcp:
        first = await result(mcp, "s.pid")
        for size in (2_000, 3_000_000):  # more than a result, and more than a message
            with pytest.raises(ToolError) as caught:
                await result(mcp, "s.huge", size=size)
            assert caught.value.code == "result_too_large"
        with pytest.raises(ToolError) as caught:
            await result(mcp, "s.deep")
        assert caught.value.code == "mcp_-32700"
        assert await result(mcp, "s.pid") == first


@one_loop
async def test_an_answer_without_an_end_fills_no_memory_and_the_call_ends():
    async with servers(settings={"max_result_bytes": 1_000}, s=raw("endless")) as mcp:
        with pytest.raises(McpUnavailable):
            await result(mcp, "s.endless")


async def test_a_call_that_takes_too_long_is_given_up_and_the_server_hears_of_it(tmp_path: Path):
    heard = tmp_path / "heard"
    async with servers(settings={"call_timeout_ms": 200}, s=raw("silent", "echo", heard=str(heard))) as mcp:
        silent = await tool(mcp, "s.silent")
        with pytest.raises(ToolError, match="200 ms") as caught:
            await silent.call_json({})
        assert (caught.value.code, caught.value.retryable) == ("timeout", True)
        with pytest.raises(ToolError, match="50 ms"):
            await silent.call_json({}, timeout_ms=50)
        assert await patiently(mcp, "s.echo") == {}
        messages = [json.loads(line) for line in heard.read_text().splitlines()]
    calls = [message for message in messages if message["method"] == "tools/call"]
    asked = {call["id"] for call in calls if call["params"]["name"] == "silent"}
    given_up = [said["params"]["requestId"] for said in messages if said["method"] == "notifications/cancelled"]
    assert asked
    assert asked <= {*given_up}


async def test_a_cancelled_call_is_cancelled_at_the_server(tmp_path: Path):
    heard = tmp_path / "heard"
    async with servers(s=raw("silent", "echo", heard=str(heard))) as mcp:
        silent = await tool(mcp, "s.silent")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(silent.call_json, {})
            await until(lambda: "tools/call" in heard.read_text())
            tasks.cancel_scope.cancel()
        assert await result(mcp, "s.echo") == {}
        assert heard.read_text().count("notifications/cancelled") == 1


async def test_a_caller_that_gives_up_waiting_for_a_start_does_not_cancel_it_for_others():
    async with servers(s=raw()) as mcp:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(mcp.tools)
            # With each step of the event loop, of which a start takes many.
            while mcp.statuses()[0].state != "starting":
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert mcp.statuses()[0].state == "starting"
        assert await result(mcp, "s.echo") == {}
        assert mcp.statuses()[0].restarts == 0


async def test_programs_get_what_the_settings_give_them_and_no_more(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_TOKEN", "token-of-mine")
    monkeypatch.setenv("OTHER_SECRET", "nobody's business")
    monkeypatch.setenv("MY_PYTHON", sys.executable)
    given = raw("environment", "pid", env={"KEY": "k-${env:MY_TOKEN}"}, args=("--token=${env:MY_TOKEN}",), cwd="/tmp")
    async with servers(s=given.model_copy(update={"command": "${env:MY_PYTHON}"})) as mcp:
        environment = await result(mcp, "s.environment")
        assert environment["KEY"] == "k-token-of-mine"
        assert set(environment) <= {"KEY", "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LC_CTYPE"}
        facts = await result(mcp, "s.pid")
        assert (facts["argv"], facts["folder"]) == (["--token=token-of-mine"], "/tmp")


async def test_a_program_is_not_started_where_we_happen_to_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "cloned").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "cloned")
    async with servers(s=raw("pid")) as mcp:
        assert (await result(mcp, "s.pid"))["folder"] == str(tmp_path)


async def test_a_given_environment_takes_the_place_of_our_own():
    given = {"PATH": "/nowhere", "MY_TOKEN": "another"}
    settings = {"s": raw("environment", env={"KEY": "${env:MY_TOKEN}"})}
    async with McpServers(settings, McpSettings(), environment=given) as mcp:
        environment = await result(mcp, "s.environment")
        assert {name: environment.get(name) for name in ("PATH", "KEY", "HOME")} == {
            "PATH": "/nowhere",
            "KEY": "another",
            "HOME": None,
        }


async def test_a_secret_that_a_server_gives_away_is_hidden_in_the_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_TOKEN", "token-of-mine")
    async with servers(s=raw(early_exit=1, stderr="bad token-of-mine\n", env={"T": "${env:MY_TOKEN}"})) as mcp:
        with pytest.raises(McpUnavailable):
            await mcp.tools_of("s")
        assert "it said: bad [hidden]" in mcp.statuses()[0].error


async def test_a_secret_that_is_written_into_the_arguments_is_hidden_too():
    server = raw(early_exit=1, stderr="bad option: LITERALkey12345\n", args=["--api-key", "LITERALkey12345"])
    async with servers(s=server) as mcp:
        with pytest.raises(McpUnavailable):
            await mcp.tools_of("s")
        assert "it said: bad option: [hidden]" in mcp.statuses()[0].error


async def test_what_a_server_says_beside_its_answers_is_for_people_and_not_for_a_model():
    async with servers(s=raw("crash")) as mcp:
        with pytest.raises(McpUnavailable):
            await result(mcp, "s.crash")
        await until(lambda: mcp.statuses()[0].reason is not None)
        with pytest.raises(McpUnavailable, match="it ended with status 3") as caught:
            await mcp.tools_of("s")
        (status,) = mcp.statuses()
        assert "the sky" not in str(caught.value) + str(status.reason)
        assert status.error == "it ended with status 3; it said: the sky is falling"


async def test_a_program_that_prints_to_the_wrong_place_is_told():
    program = "print('hello world', flush=True); input()"
    talker = McpServerSettings(command=sys.executable, args=("-I", "-S", "-c", program))
    # On a machine that stands still for a moment nothing may be printed within the first limit.
    for limit_ms in (1_000, 15_000):
        async with servers(settings={"start_timeout_ms": limit_ms}, s=talker) as mcp:
            with pytest.raises(McpUnavailable):
                await mcp.tools_of("s")
            error = mcp.statuses()[0].error
        if "prints" in error:
            break
    assert "it prints text that is not MCP: hello world" in error


@pytest.mark.parametrize(
    ("command", "cwd", "reason"),
    [
        ("/no/such/program", None, "there is no such program"),
        ("no-such-program", None, "there is no such program where PATH looks"),
        ("/usr", None, "it is a folder"),
        (__file__, None, "it may not be executed"),
        ("sh", "/no/such/folder", 'there is no folder "/no/such/folder" to start it in'),
    ],
)
async def test_a_program_that_is_not_there_is_told_and_not_to_be_tried_again(command: str, cwd: str, reason: str):
    async with servers(s=McpServerSettings(command=command, cwd=cwd)) as mcp:
        for _ in range(2):
            with pytest.raises(McpUnavailable) as caught:
                await mcp.tools_of("s")
            assert str(caught.value).endswith(f'"{command}" cannot be started: {reason}')
            assert not caught.value.retryable


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("elicitation/create", {"message": "Your password?", "requestedSchema": {"type": "object", "properties": {}}}),
        ("sampling/createMessage", {"messages": [], "maxTokens": 10}),
        ("roots/list", {}),
    ],
)
async def test_what_a_server_asks_for_is_refused(method: str, params: dict[str, object]):
    async with servers(s=raw("ask")) as mcp:
        answer = await result(mcp, "s.ask", method=method, params=params)
        assert "not supported" in answer["error"]["message"]


async def test_lines_that_are_no_message_are_skipped_and_nothing_reaches_our_terminal(
    capfd: pytest.CaptureFixture[str],
):
    async with servers(s=raw("noisy", stderr="NOISE " * 5_000)) as mcp:
        assert await result(mcp, "s.noisy") is None
    assert capfd.readouterr() == ("", "")


@one_loop
async def test_a_server_that_sends_requests_and_reads_no_answers_is_disconnected():
    async with servers(s=raw("nag")) as mcp:
        with pytest.raises(McpUnavailable):
            await result(mcp, "s.nag")


async def test_calls_a_minute_are_bounded_for_each_server():
    clock = Clock()
    async with servers(now=clock, settings={"max_calls_per_minute": 2}, a=raw(), b=raw(max_calls_per_minute=1)) as mcp:
        for _ in range(2):
            await result(mcp, "a.echo")
        await result(mcp, "b.echo")
        for name in ("a.echo", "b.echo"):
            with pytest.raises(ToolError, match="the next one in 60 s") as caught:
                await result(mcp, name)
            assert (caught.value.code, caught.value.retryable) == ("rate_limited", True)
        clock.now += 60
        await result(mcp, "a.echo")


async def test_after_closing_nothing_is_started_again():
    async with servers(s=raw()) as mcp:
        echo = await tool(mcp, "s.echo")
    with pytest.raises(McpUnavailable):
        await echo.call_json({})
    with pytest.raises(McpUnavailable, match="closed"):
        await mcp.tools_of("s")


async def test_closing_while_calls_and_starts_are_under_way_ends_all():
    ends = []

    async def lost(call):
        with pytest.raises(McpUnavailable):
            await call()
        ends.append(call)

    async with anyio.create_task_group() as tasks, servers(s=raw("silent"), deaf=raw(deaf=True)) as mcp:
        silent = await tool(mcp, "s.silent")
        tasks.start_soon(lost, partial(silent.call_json, {}))
        tasks.start_soon(lost, partial(mcp.tools_of, "deaf"))
        await until(lambda: mcp.statuses()[1].state == "starting")
    assert len(ends) == 2


async def test_a_host_that_is_cancelled_leaves_nothing_behind():
    with anyio.CancelScope() as scope:
        async with servers(s=raw("silent", stays=True), deaf=raw(deaf=True, stays=True)) as mcp:
            silent = await tool(mcp, "s.silent")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(silent.call_json, {})
                tasks.start_soon(mcp.tools)
                await until(lambda: mcp.statuses()[1].state == "starting")
                scope.cancel()
    assert scope.cancelled_caught


@one_loop
async def test_a_program_that_will_not_end_is_killed_with_all_that_it_started():
    async with servers(s=raw("pid", stays=True, child=True)) as mcp:
        facts = await result(mcp, "s.pid")
        assert is_alive(facts["child"])
    await until(lambda: not is_alive(facts["pid"]) and not is_alive(facts["child"]))


async def test_the_end_of_a_program_is_the_end_of_what_it_started():
    async with servers(s=raw("crash", "pid", child=True)) as mcp:
        child = (await result(mcp, "s.pid"))["child"]
        assert is_alive(child)
        with pytest.raises(McpUnavailable):
            await result(mcp, "s.crash")
        await until(lambda: not is_alive(child))


async def test_an_error_of_the_client_is_not_reported_as_the_servers(monkeypatch: pytest.MonkeyPatch, caplog):
    def broken(*_: object) -> None:
        raise NameError("name 'os' is not defined")

    monkeypatch.setattr("cortex.mcp_client.listing.Listing.tools", broken)
    async with servers(s=raw()) as mcp:
        with pytest.raises(McpUnavailable, match="our client failed with NameError"):
            await mcp.tools_of("s")
    assert "name 'os' is not defined" in caplog.text
