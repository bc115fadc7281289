"""The same runtime under trio: nothing changes but the argument of `anyio.run`. Needs `pip install trio`.

Prints:

    [0, 1, 4, 9, 16]
"""

import anyio

from sandbox import DenoRuntime, ExecutionRequest


async def main() -> None:
    results: dict[int, int] = {}

    async def square(number: int) -> None:
        outcome = await runtime.execute(ExecutionRequest(code="context ** 2", context=number))
        results[number] = outcome.result

    async with DenoRuntime() as runtime, anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(square, number)
    print([results[number] for number in sorted(results)])


try:
    import trio  # noqa: F401 - only to see whether it is there
except ImportError:
    raise SystemExit("This example needs trio: pip install trio") from None
anyio.run(main, backend="trio")
