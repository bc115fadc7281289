"""The pages of workflows, of a real run of a plan: its graph, its tasks, the question that waits, and what happened."""

from __future__ import annotations

import re
from contextlib import aclosing

import anyio
import pytest

from cortex import MotorCortex, Toolbox
from cortex.settings import Settings
from cortex.workflows import checked
from sandbox import ToolError
from sandbox.testing import ScriptedRuntime

from .served import served

HOSTILE = "agree?</pre><script>pwned=1</script>\u202e"
PLAN = {
    "name": "order pears </title><script>pwned=2</script>",
    "tasks": [
        {"id": "stock", "type": "mcp_tool", "tool": "stock", "arguments": {"item": "pears"}},
        {"id": "price", "type": "mcp_tool", "tool": "price", "on_error": "continue"},
        {"id": "agree", "type": "decision", "ask": HOSTILE, "dependencies": ["stock", "price"]},
    ],
}


async def waiting_run(home) -> str:
    """A run of the plan that waits for its owner."""
    toolbox = Toolbox()

    @toolbox.tool
    async def stock(item: str) -> int:
        return len(item)

    @toolbox.tool
    async def price() -> int:
        raise ToolError("<b>no price</b> today")

    settings = Settings(home=home, neurons={"owner": {"console": False}})
    async with MotorCortex(settings, toolbox=toolbox, runtime=ScriptedRuntime([])) as cortex:
        run = await cortex.workflows.start(checked(PLAN))
        async with aclosing(cortex.workflows.events(run.id)) as events:
            async for event in events:
                if event.kind == "run_waiting":
                    return run.id
    raise AssertionError("the run does not wait")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("workflows") / "home"


@pytest.fixture(scope="module")
def run(home):
    return anyio.run(waiting_run, home)


@pytest.fixture(scope="module")
def owner(home, run):
    with served(home) as found:
        yield found.log_in()


def test_the_list_has_the_runs_by_their_status(owner, run):
    for query, is_there in {"": True, "?status=waiting": True, "?status=done": False, "?status=rubbish": True}.items():
        page = owner.get(f"/workflows{query}")
        assert page.status == 200
        assert (f'href="/workflows/{run}"' in page.text) is is_there, query
    assert "<script>pwned" not in owner.get("/workflows").text


def test_a_run_shows_its_tasks_its_question_and_what_happened(owner, run):
    page = owner.get(f"/workflows/{run}").text
    states = re.findall(r'data-label="task"><bdi>(\w+)</bdi>.*?class="badge ([\w-]+)"', page)
    assert states == [("stock", "ok"), ("price", "failed"), ("agree", "waiting")]
    assert "no price" in page
    assert "agree?" in page
    assert f"cortex workflow decide <bdi>{run}</bdi> <bdi>agree</bdi>" in page
    assert "run_waiting" in page
    for hidden in ("<script>pwned", "<b>no price", "\u202e"):
        assert hidden not in page


def test_the_graph_is_a_picture_in_which_nothing_runs(owner, run):
    assert f'<img src="/workflows/{run}?as=svg"' in owner.get(f"/workflows/{run}").text
    graph = owner.get(f"/workflows/{run}?as=svg")
    assert graph.header("content-type") == "image/svg+xml"
    assert "default-src 'none'" in graph.header("content-security-policy")
    assert graph.text.count("<rect") == 4  # the paper, and a box for each task
    assert "<script" not in graph.text
    assert "\u202e" not in graph.text


def test_there_is_no_other_run_and_no_journal_is_made(owner, tmp_path):
    for name in ("nothing", "%00", "..%2f..%2fetc%2fpasswd", "x" * 3_000):
        assert owner.get(f"/workflows/{name}").status == 404
    with served(tmp_path / "home") as found:
        client = found.log_in()
        assert "None yet" in client.get("/workflows").text
        assert client.get("/workflows/nothing").status == 404
        assert not (found.home / "workflows").exists()
