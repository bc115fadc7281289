"""The MCP servers of the examples, as the SDK's own client finds them over pipes."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from examples.servers.commits import COMMITS, LAST, commits
from examples.servers.tickets import MAX_COMMENTS, MAX_TICKETS, Desk, DeskFull, UnknownTicket

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def anyio_backend():
    return "asyncio"


@asynccontextmanager
async def served(name):
    arguments = ["-m", f"examples.servers.{name}"]
    server = StdioServerParameters(command=sys.executable, args=arguments, cwd=ROOT)
    with anyio.fail_after(120):
        async with Client(server) as client:
            yield client


async def test_the_commit_log_gives_pages_of_a_thousand_whole_commits():
    async with served("commit_log") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [
            "list_commits",
            "get_commit",
            "list_authors",
        ]
        whole = (await client.call_tool("list_commits", {"limit": COMMITS})).structured_content
        assert (whole["total"], len(whole["commits"])) == (1_000, 1_000)
        assert 1_150_000 < len(json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()) < 1_300_000
        page = (await client.call_tool("list_commits", {"limit": 3, "offset": 2})).structured_content
        assert page == {"total": 1_000, "commits": whole["commits"][2:5]}
        newest = whole["commits"][0]
        assert (await client.call_tool("get_commit", {"sha": newest["sha"][:7]})).structured_content == newest
        authors = (await client.call_tool("list_authors")).structured_content["result"]
        counted = Counter((commit["author"]["name"], commit["author"]["email"]) for commit in whole["commits"])
        assert {(author["name"], author["email"]): author["commits"] for author in authors} == counted


async def test_the_commit_log_finds_the_commits_of_a_week_and_of_a_person():
    async with served("commit_log") as client:
        week = {"since": "2026-03-23", "until": "2026-03-30T00:00:00.000Z"}
        found = (await client.call_tool("list_commits", week)).structured_content
        assert found["total"] == 42
        assert {commit["author"]["date"][:10] for commit in found["commits"]} <= {
            f"2026-03-{day}" for day in range(23, 30)
        }
        hers = (await client.call_tool("list_commits", {**week, "author": "PRIYA"})).structured_content
        assert {commit["author"]["name"] for commit in hers["commits"]} == {"Priya Nair"}


async def test_what_the_commit_log_cannot_do_it_says():
    wrong = [
        ("get_commit", {"sha": "0000000"}, 'there is no commit "0000000"'),
        ("list_commits", {"since": "last week"}, '"last week" is no moment in ISO 8601'),
        ("list_commits", {"until": "9999-12-31T23:00:00-05:00"}, "is no moment in ISO 8601"),
        ("list_commits", {"limit": 1_001}, "less than or equal to 1000"),
    ]
    async with served("commit_log") as client:
        for tool, arguments, text in wrong:
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error
            assert text in answer.content[0].text


async def test_the_ticket_desk_keeps_what_is_done_to_its_tickets():
    async with served("ticket_desk") as client:
        tools = (await client.list_tools()).tools
        names = ["list_tickets", "get_ticket", "create_ticket", "comment_on_ticket", "close_ticket"]
        assert [tool.name for tool in tools] == names
        assert [tool.annotations.read_only_hint for tool in tools] == [True, True, False, False, False]
        assert (await client.call_tool("list_tickets")).structured_content["total"] == 60
        new = (await client.call_tool("create_ticket", {"title": "Lost hat", "body": "A blue one."})).structured_content
        await client.call_tool("comment_on_ticket", {"id": new["id"], "text": "Which ferry?"})
        await client.call_tool("close_ticket", {"id": new["id"], "resolution": "Found it."})
        ticket = (await client.call_tool("get_ticket", {"id": new["id"]})).structured_content
        assert (ticket["status"], [comment["text"] for comment in ticket["comments"]]) == (
            "closed",
            ["Which ferry?", "Found it."],
        )
        closed = (await client.call_tool("list_tickets", {"status": "closed", "limit": 100})).structured_content
        assert ticket in closed["tickets"]
        answer = await client.call_tool("close_ticket", {"id": "T-999", "resolution": "Gone."})
        assert answer.is_error
        assert 'there is no ticket "T-999"' in answer.content[0].text


def test_commits_are_the_same_on_every_machine():
    log = commits()
    assert log[0].sha == "561af8e229d6cae5f896fa62ab8e1b7d160354e6"
    assert [commit.parents for commit in log[:-1]] == [[commit.sha] for commit in log[1:]]
    assert log[-1].parents == []
    dates = [commit.author.date for commit in log]
    assert dates == sorted(dates, reverse=True)
    assert dates[0] <= LAST.isoformat()


def test_a_desk_takes_only_so_many_tickets_and_comments():
    desk = Desk()
    before = desk.get("T-001").status
    for _ in range(MAX_TICKETS - 60):
        desk.open("a", "b", "low")
    with pytest.raises(DeskFull, match="room for no more"):
        desk.open("a", "b", "low")
    for _ in range(MAX_COMMENTS - len(desk.get("T-001").comments)):
        desk.comment("T-001", "again")
    with pytest.raises(DeskFull, match="T-001 has 100 comments"):
        desk.close("T-001", "enough")
    assert desk.get("T-001").status == before
    with pytest.raises(UnknownTicket, match='no ticket "T-0"'):
        desk.get("T-0")
