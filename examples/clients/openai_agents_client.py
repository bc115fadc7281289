"""An agent of the OpenAI Agents SDK whose hands are the cortex. Options of `cortex mcp serve` may follow: --home DIR.

Tried with openai-agents 0.24.0. The model is scripted, so that this runs without one; leave `model=` out to use one of
OpenAI's.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

CODE = """
    const isPrime = (n: number) => n > 1 && ![...Array(n).keys()].slice(2).some((d) => n % d === 0);
    return [...Array(100).keys()].filter(isPrime).reduce((a, b) => a + b);
"""


class Scripted(Model):
    """Runs the code when it may, and says what came of it."""

    async def get_response(self, *_: Any, **request: Any) -> Any:
        given, tools = request["input"], request["tools"]
        last = given[-1] if isinstance(given, list) else {}
        if last.get("type") == "function_call_output":
            said = last["output"] if isinstance(last["output"], str) else last["output"][0]["text"]
            return _response(_message(f"The tool says {said}"))
        assert "execute_code" in [tool.name for tool in tools]
        return _response(
            ResponseFunctionToolCall(
                arguments=json.dumps({"code": CODE}), call_id="1", name="execute_code", type="function_call"
            )
        )

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def _response(item: Any) -> ModelResponse:
    return ModelResponse(output=[item], usage=Usage(), response_id=None)


def _message(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(annotations=[], text=text, type="output_text")
    return ResponseOutputMessage(id="2", content=[content], role="assistant", status="completed", type="message")


async def main() -> None:
    set_tracing_disabled(True)
    # A run may take longer than the five seconds for which the SDK waits if it is not told otherwise.
    command = {"command": "cortex", "args": ["mcp", "serve", *sys.argv[1:]]}
    async with MCPServerStdio(command, cache_tools_list=True, client_session_timeout_seconds=60) as hands:
        agent = Agent("Helpful", model=Scripted(), mcp_servers=[hands])
        result = await Runner.run(agent, "What is the sum of all primes below 100?")
    print(result.final_output)


asyncio.run(main())
