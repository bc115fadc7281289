"""The naive executor that benchmarks compare with: a temporary file and one `deno run` for each call.

Bridge, stubs and code are joined into one script, as the source document describes; frames are lines on stdin and
stdout. The numbers in the table are compared with it, so it is written as well as its design allows.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

BRIDGE = """
const pending = new Map<string, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
const encoder = new TextEncoder();
let lastId = 0;

function send(message: Record<string, unknown>): void {
  const bytes = encoder.encode(JSON.stringify(message) + "\\n");
  let written = 0;
  while (written < bytes.length) written += Deno.stdout.writeSync(bytes.subarray(written));
}

function __callTool__(name: string, params: unknown): Promise<unknown> {
  const call_id = String(++lastId);
  return new Promise((resolve, reject) => {
    pending.set(call_id, { resolve, reject });
    send({ type: "__tool_call__", name, params, call_id });
  });
}

async function* lines(): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + chunk).split("\\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}

const input = lines();

(async () => {
  if (!CONTEXT_ON_STDIN) listen();
})();

async function listen(): Promise<void> {
  for await (const line of input) {
    const message = JSON.parse(line);
    const call = pending.get(message.call_id);
    if (call === undefined) continue;
    pending.delete(message.call_id);
    if (message.type === "__tool_result__") call.resolve(message.result);
    else call.reject(new Error(message.error));
  }
}

console.log = (...values: unknown[]) => send({ type: "__output__", data: values.map(String).join(" ") });
"""

STUBS = "const tools = { echo: (params: unknown) => __callTool__('echo', params) };\n"

Tool = Callable[[dict[str, Any]], Awaitable[Any]]


class NaiveExecutor:
    def __init__(self, deno: Path) -> None:
        self._deno = str(deno)

    async def execute(self, code: str, context: Any = None, tool: Tool | None = None) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "script.ts"
            script.write_text(self._script(code, context))
            process = await asyncio.create_subprocess_exec(
                self._deno,
                "run",
                "--no-prompt",
                f"--allow-read={folder}",
                f"--allow-write={folder}",
                "--deny-net",
                "--deny-run",
                "--deny-env",
                "--deny-ffi",
                str(script),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=64 * 1024 * 1024,
                env={name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ},
            )
            result = await self._converse(process, context, tool)
            await process.wait()
            return result

    def _script(self, code: str, context: Any) -> str:
        on_stdin = f"const CONTEXT_ON_STDIN: boolean = {'true' if context is not None else 'false'};\n"
        receive = "const context = CONTEXT_ON_STDIN ? JSON.parse((await input.next()).value!) : undefined;\n"
        run = (
            "const value = await (async () => {\n" + code + "\n})();\n"
            'send({ type: "__output__", data: JSON.stringify(value ?? null) });\nDeno.exit(0);\n'
        )
        return on_stdin + BRIDGE + STUBS + receive + run

    async def _converse(self, process: asyncio.subprocess.Process, context: Any, tool: Tool | None) -> Any:
        assert process.stdin is not None
        assert process.stdout is not None
        if context is not None:
            process.stdin.write(json.dumps(context).encode() + b"\n")
        answers: set[asyncio.Task[None]] = set()
        last: Any = None
        while line := await process.stdout.readline():
            message = json.loads(line)
            if message["type"] == "__tool_call__" and tool is not None:
                task = asyncio.create_task(self._answer(process.stdin, message, tool))
                answers.add(task)
                task.add_done_callback(answers.discard)
            else:
                last = json.loads(message["data"])
        return last

    async def _answer(self, stdin: asyncio.StreamWriter, message: dict[str, Any], tool: Tool) -> None:
        result = await tool(message["params"])
        answer = {"type": "__tool_result__", "call_id": message["call_id"], "result": result}
        stdin.write(json.dumps(answer).encode() + b"\n")
