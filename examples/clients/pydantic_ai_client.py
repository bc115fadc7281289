"""An agent of pydantic-ai whose hands are the cortex. Options of `cortex mcp serve` may follow: --home DIR.

Tried with pydantic-ai-slim[mcp] 2.66.0. The model is scripted, so that this runs without one; put the name of yours in
its place, as in Agent("openai:gpt-5", toolsets=[hands]).
"""

import asyncio
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

CODE = """
    const isPrime = (n: number) => n > 1 && ![...Array(n).keys()].slice(2).some((d) => n % d === 0);
    return [...Array(100).keys()].filter(isPrime).reduce((a, b) => a + b);
"""


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Runs the code when it may, and says what came of it."""
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse([TextPart(f"The tool says {last.model_response_str()}")])
    assert "execute_code" in [tool.name for tool in info.function_tools]
    return ModelResponse([ToolCallPart("execute_code", {"code": CODE})])


async def main() -> None:
    hands = MCPToolset(StdioTransport("cortex", ["mcp", "serve", *sys.argv[1:]]))
    agent = Agent(FunctionModel(scripted), toolsets=[hands])
    async with agent:
        result = await agent.run("What is the sum of all primes below 100?")
    print(result.output)


asyncio.run(main())
