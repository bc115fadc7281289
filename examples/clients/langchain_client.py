"""An agent of LangChain whose hands are the cortex. Options of `cortex mcp serve` may follow: --home DIR.

Tried with langchain 1.4.7, langgraph 1.2.20 and langchain-mcp-adapters 0.3.2. The model is scripted, so that this runs
without one; put the name of yours in its place, as in create_agent("openai:gpt-5", tools).
"""

import asyncio
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_mcp_adapters.client import MultiServerMCPClient

CODE = """
    const isPrime = (n: number) => n > 1 && ![...Array(n).keys()].slice(2).some((d) => n % d === 0);
    return [...Array(100).keys()].filter(isPrime).reduce((a, b) => a + b);
"""


class Scripted(GenericFakeChatModel):
    """Runs the code when it may, and says what came of it."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        assert "execute_code" in [tool.name for tool in tools]
        return self

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        if isinstance(messages[-1], ToolMessage):
            message = AIMessage(f"The tool says {messages[-1].text}")
        else:
            message = AIMessage("", tool_calls=[{"id": "1", "name": "execute_code", "args": {"code": CODE}}])
        return ChatResult(generations=[ChatGeneration(message=message)])


async def main() -> None:
    command = {"transport": "stdio", "command": "cortex", "args": ["mcp", "serve", *sys.argv[1:]]}
    tools = await MultiServerMCPClient({"cortex": command}).get_tools()
    agent = create_agent(Scripted(messages=iter(())), tools)
    result = await agent.ainvoke({"messages": [("user", "What is the sum of all primes below 100?")]})
    print(result["messages"][-1].text)


asyncio.run(main())
