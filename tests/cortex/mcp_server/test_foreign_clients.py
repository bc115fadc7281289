"""Clients that others wrote, installed as people install them: the MCP Inspector's command line, and three frameworks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = [pytest.mark.deno, pytest.mark.soak]

ROOT = Path(__file__).parents[3]
CORTEX = str(Path(sys.executable).parent / "cortex")
TOKEN = "a-token-for-the-inspector"
# One of the first generation, and a recent one. Both ask for Node 22, and their command lines run on 20.
INSPECTORS = ["0.22.0", "2.12.0"]
FRAMEWORKS = {
    "pydantic_ai_client.py": ["pydantic-ai-slim[mcp]==2.66.0"],
    "openai_agents_client.py": ["openai-agents==0.24.0"],
    "langchain_client.py": ["langchain==1.4.7", "langgraph==1.2.20", "langchain-mcp-adapters==0.3.2"],
}


def run(command: list[str], within_s: float, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=within_s, **more)


@pytest.fixture(scope="module", params=INSPECTORS)
def inspector(request, tmp_path_factory):
    """Calls it with arguments, and reads what it prints."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    folder = tmp_path_factory.mktemp("inspector")
    (folder / "package.json").write_text("{}")
    done = run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", f"@modelcontextprotocol/inspector@{request.param}"],
        500,
        cwd=folder,
    )
    if done.returncode:
        pytest.skip(f"npm cannot install it: {done.stderr[-300:]}")
    modules = folder / "node_modules"
    environment = {**os.environ, "CORTEX_HOME": str(folder / "home"), "HOME": str(folder)}

    def call(*arguments: str):
        done = run([str(modules / ".bin" / "mcp-inspector"), "--cli", *arguments], 60, cwd=folder, env=environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    call.environment = environment
    return call


RUN = ["--method", "tools/call", "--tool-name", "execute_code", "--tool-arg", "code=return 6 * 7"]


def test_the_inspector_lists_and_calls_through_pipes(inspector):
    tools = inspector(CORTEX, "mcp", "serve", "--method", "tools/list")["tools"]
    assert [tool["name"] for tool in tools][-1] == "execute_code"
    result = inspector(CORTEX, "mcp", "serve", *RUN)
    assert (result["isError"], result["content"][0]["text"]) == (False, "42")
    assert result["structuredContent"]["result"] == 42


def test_and_over_http(inspector):
    environment = {**inspector.environment, "CORTEX_MCP__SERVE__TOKEN": TOKEN}
    command = [CORTEX, "mcp", "serve", "--http", "127.0.0.1:0"]
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    with server:
        try:
            url = server.stderr.readline().split()[-1]
            header = f"Authorization: Bearer {TOKEN}"
            result = inspector(url, "--transport", "http", "--header", header, *RUN)
            assert (result["isError"], result["structuredContent"]["result"]) == (False, 42)
        finally:
            server.terminate()
            assert server.wait(10) == 0


@pytest.mark.parametrize("example", FRAMEWORKS)
def test_an_agent_of_a_framework_runs_code(example, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = run([*pip, *FRAMEWORKS[example]], 500)
    if done.returncode:
        pytest.skip(f"pip cannot install it: {done.stderr[-300:]}")
    environment = {**os.environ, "PATH": f"{Path(CORTEX).parent}:{os.environ['PATH']}"}
    program = str(ROOT / "examples" / "clients" / example)
    done = run([python, program, "--home", str(tmp_path / "home")], 60, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The tool says ")
    assert "1060" in done.stdout


@pytest.mark.parametrize("example", FRAMEWORKS)
def test_an_example_names_the_versions_that_it_is_tried_with(example):
    text = (ROOT / "examples" / "clients" / example).read_text()
    for requirement in FRAMEWORKS[example]:
        assert requirement.replace("==", " ") in text
