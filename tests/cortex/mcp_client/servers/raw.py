"""A server without the SDK: of the old kind, quick to start, and as bad as it is told to be.

Its one argument is JSON: `tools` to list, `cursor` for pages that never end, `deaf` to answer nothing, `early_exit` to
end with a status, `exit_if` a file is there, `only_initialize` to end at any other first word, `stays` to ignore the
end of its input, `child` to start another process, `heard` a file for what it is sent, `stderr` to say there first.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

options = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
tools = options.get("tools", ["echo"])
initialized = False
child: int | None = None


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def listed(tool: Any) -> dict[str, Any]:
    return tool if isinstance(tool, dict) else {"name": tool, "inputSchema": {"type": "object"}}


def call(name: str, arguments: dict[str, Any], number: Any) -> dict[str, Any] | None:  # noqa: PLR0911, PLR0912
    match name:
        case "echo":
            return {"content": [], "structuredContent": arguments}
        case "answer":  # with whatever the caller wants to get
            return arguments
        case "pid":
            facts = {"pid": os.getpid(), "child": child, "argv": sys.argv[2:], "folder": os.getcwd()}
            return {"content": [{"type": "text", "text": json.dumps(facts)}]}
        case "environment":
            return {"content": [], "structuredContent": dict(os.environ)}
        case "refuse":
            send({"id": number, "error": {"code": -32602, "message": "no such commit " + "x" * 10_000}})
            return None
        case "silent":
            return None
        case "crash":
            sys.stderr.write("the sky is falling\n")
            sys.stderr.flush()
            os._exit(3)
        case "huge":
            return {"content": [{"type": "text", "text": "x" * arguments["size"]}]}
        case "endless":
            sys.stdout.write(f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[{{"type":"text","text":"')
            while True:
                sys.stdout.write("x" * 65536)
        case "deep":
            sys.stdout.write(f'{{"jsonrpc":"2.0","id":{number},"result":' + '{"a":' * 5000 + "1" + "}" * 5001 + "\n")
            return None
        case "grow":
            tools.append(arguments["name"])
            send({"method": "notifications/tools/list_changed"})
            return {"content": []}
        case "noisy":
            for step in range(2_000):
                send({"method": "notifications/message", "params": {"level": "info", "data": "x" * 100}})
                send({"method": "notifications/progress", "params": {"progressToken": number, "progress": step}})
            return {"content": []}
        case "ask":
            send({"id": "q", "method": arguments["method"], "params": arguments["params"]})
            answer = json.loads(sys.stdin.readline())
            return {"content": [{"type": "text", "text": json.dumps(answer)}]}
        case "nag":
            for step in range(10_000):
                send({"id": f"n{step}", "method": "ping"})
            return {"content": []}
    return {"content": [{"type": "text", "text": f"no tool {name}"}], "isError": True}


def answer(message: dict[str, Any]) -> None:
    global initialized  # noqa: PLW0603
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        initialized = True
        info = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "raw", "version": "1"}}
        return send({"id": message["id"], "result": {**info, "capabilities": {"tools": {"listChanged": True}}}})
    if options.get("only_initialize") and not initialized:
        os._exit(1)
    if method == "tools/list":
        page: dict[str, Any] = {"tools": [listed(tool) for tool in tools]}
        if options.get("cursor"):
            page["nextCursor"] = f"{time.monotonic_ns()}" if options["cursor"] == "new" else "same"
            page["tools"] = [listed(f"{tools[0]}_{time.monotonic_ns()}")]
        return send({"id": message["id"], "result": page})
    if method == "tools/call":
        result = call(params["name"], params.get("arguments") or {}, message["id"])
        return None if result is None else send({"id": message["id"], "result": result})
    if "id" in message and method is not None:
        send({"id": message["id"], "error": {"code": -32601, "message": f"no method {method}"}})
    return None


def main() -> None:
    global child  # noqa: PLW0603
    if "stderr" in options:
        sys.stderr.write(options["stderr"])
        sys.stderr.flush()
    if os.path.exists(options.get("exit_if", "")):
        os._exit(4)
    if "early_exit" in options:
        os._exit(options["early_exit"])
    if options.get("stays"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.get("child"):
        child = subprocess.Popen(["sleep", "600"]).pid
    for line in sys.stdin:
        if "heard" in options:
            with open(options["heard"], "a") as file:
                file.write(line)
        if not options.get("deaf"):
            answer(json.loads(line))
    while options.get("stays"):
        time.sleep(60)


if __name__ == "__main__":
    main()
