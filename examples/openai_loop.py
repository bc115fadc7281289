"""Hands for an agent that you have already: a loop with OpenAI's client, and two lines of it are ours. Change the two
lines that are marked, and it talks to a real endpoint; here a script plays the model, on loopback.

Prints:

    Tea sells best: [["tea",20],["coffee",12]]
"""

from tempfile import TemporaryDirectory

import anyio
from _server import endpoint, tool_call
from openai import AsyncOpenAI

from cortex import MotorCortex, Settings, Toolbox

toolbox = Toolbox()


@toolbox.tool(name="shop.sales", for_model=False)
def sales(month: str) -> list[tuple[str, int]]:
    """Every sale of a month: the item and its price."""
    return [("tea", 8), ("coffee", 12), ("tea", 12)] if month == "May" else []


async def answer(question: str, client: AsyncOpenAI, model: str, cortex: MotorCortex) -> str:
    messages = [{"role": "user", "content": question}]
    async with cortex.turn() as turn:
        while True:
            reply = await client.chat.completions.create(model=model, messages=messages, tools=cortex.openai_tools())
            message = reply.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                text = await turn.call(call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


async def main(base_url: str, home: str) -> None:
    client = AsyncOpenAI(base_url=base_url, api_key="none")  # change: AsyncOpenAI() reads OPENAI_API_KEY
    model = "scripted"  # change: the name of a model
    async with client, MotorCortex(Settings(home=home), toolbox=toolbox) as cortex:
        print(await answer("What sold best in May?", client, model, cortex))


CODE = """
const sums = {};
for (const [item, price] of await tools.shop.sales({ month: "May" })) sums[item] = (sums[item] ?? 0) + price;
return Object.entries(sums).sort((a, b) => b[1] - a[1]);
"""
SCRIPT = (tool_call("core_execute", purpose="sum by item", code=CODE), "Tea sells best: {answer}")
with endpoint(*SCRIPT) as base_url, TemporaryDirectory() as home:
    anyio.run(main, base_url, home)
