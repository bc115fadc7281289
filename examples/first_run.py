"""Three programs, each in a Deno process of its own, and what an agent would read of each.

Prints:

    {"sum":8}
    EXECUTION_ERROR: PermissionError: NotCapable: Requires read access to "/etc/passwd". The sandbox holds no …
    EXECUTION_TIMEOUT: Code exceeded 500ms limit.
"""

import anyio

from cortex import reply
from sandbox import DenoRuntime, ExecutionRequest

PROGRAMS = (
    "const add = (a: number, b: number) => a + b; return { sum: context.prices.reduce(add) }",
    'return Deno.readTextFileSync("/etc/passwd")',
    "while (true) {}",
)


async def main() -> None:
    async with DenoRuntime() as runtime:
        for code in PROGRAMS:
            outcome = await runtime.execute(ExecutionRequest(code=code, context={"prices": [3, 5]}, timeout_ms=500))
            print(reply(outcome))


anyio.run(main)
