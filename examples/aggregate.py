"""A thousand commits go in as context, a few lines come out: the data never enters the model's conversation.

Prints:

    in: 1.1 MB of JSON
    out: {"total":1000,"authors":40,"busiest":[["author-00",25],["author-01",25],["author-02",25]]}
"""

import json

import anyio

from cortex import reply
from sandbox import DenoRuntime, ExecutionRequest

COMMITS = [
    {"sha": f"{n:040x}", "author": f"author-{n % 40:02}", "message": "Rework the part that nobody looked at. " * 25}
    for n in range(1000)
]

CODE = """
const perAuthor = new Map();
for (const { author } of context) perAuthor.set(author, (perAuthor.get(author) ?? 0) + 1);
const busiest = [...perAuthor].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
return { total: context.length, authors: perAuthor.size, busiest: busiest.slice(0, 3) };
"""


async def main() -> None:
    async with DenoRuntime() as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=CODE, context=COMMITS))
    print(f"in: {len(json.dumps(COMMITS)) / 1e6:.1f} MB of JSON")
    print("out:", reply(outcome))


anyio.run(main)
