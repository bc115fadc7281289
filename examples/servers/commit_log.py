"""An MCP server with the commits of a repository: `python -m examples.servers.commit_log`, over its pipes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from .commits import COMMITS, Commit, commits

_READS = ToolAnnotations(read_only_hint=True)
_MAX_SHOWN = 100

Word = Annotated[str, Field(max_length=200)]
Moment = Annotated[Word, Field(description="ISO 8601, such as 2026-03-23 or 2026-03-23T08:00:00Z")]

server = MCPServer("commit-log", instructions="The commits of one repository.", log_level="WARNING")


class CommitPage(BaseModel):
    total: int
    """Of all that fit, also those on other pages."""
    commits: list[Commit]


class Author(BaseModel):
    name: str
    email: str
    commits: int


def _moment(text: str) -> str:
    """In the form in which commits have it, which compares as time does. A day alone is the beginning of it."""
    try:
        at = datetime.fromisoformat(text)
        in_utc = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).replace(tzinfo=None)
        return f"{in_utc.isoformat(timespec='seconds')}Z"
    except (ValueError, OverflowError) as error:
        raise ToolError(f'"{text}" is no moment in ISO 8601') from error


@server.tool(annotations=_READS)
async def list_commits(
    since: Moment | None = None,
    until: Annotated[Moment, Field(description="ISO 8601; a commit at this moment is left out")] | None = None,
    author: Annotated[Word, Field(description="Part of a name or an e-mail address")] | None = None,
    limit: Annotated[int, Field(ge=1, le=COMMITS)] = 100,
    offset: Annotated[int, Field(ge=0)] = 0,
) -> CommitPage:
    """List commits of the repository, the newest first, with their messages and changed files."""
    first, end = _moment(since or "0001-01-01"), _moment(until or "9999-12-31")
    found = [
        commit
        for commit in commits()
        if first <= commit.author.date < end
        and (author is None or author.lower() in f"{commit.author.name} {commit.author.email}".lower())
    ]
    return CommitPage(total=len(found), commits=found[offset : offset + limit])


@server.tool(annotations=_READS)
async def get_commit(
    sha: Annotated[str, Field(min_length=7, max_length=40, description="Whole, or how it begins")],
) -> Commit:
    """Get one commit by its hash."""
    for commit in commits():
        if commit.sha.startswith(sha):
            return commit
    raise ToolError(f'there is no commit "{sha}"')


@server.tool(annotations=_READS)
async def list_authors() -> list[Author]:
    """List everybody who has made a commit, and how many."""
    counts: dict[tuple[str, str], int] = {}
    for commit in commits():
        who = commit.author.name, commit.author.email
        counts[who] = counts.get(who, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [Author(name=name, email=email, commits=count) for (name, email), count in ranked[:_MAX_SHOWN]]


if __name__ == "__main__":
    server.run()
