"""Run attack programs against a real runtime, and watch the host meanwhile."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import anyio

from cortex.turn.displays import shown_displays
from sandbox import (
    DenoRuntime,
    ExecutionOutcome,
    ExecutionRequest,
    SandboxSettings,
    Store,
    Tier,
    ToolDeclaration,
    ToolError,
)
from sandbox.contracts.frames import decode
from sandbox.jail.layers import Layer
from sandbox.process.command import Command, deno_command, find_deno

from .lent_store import LentStores
from .program import Program, failures, is_late, is_measured, is_noisy

MEMORY_MB = 160
# CPU time that the event loop's thread may use before another task runs, where `slowness()` is 1.
MOST_STALL_MS = 100
KNOWN_FRAME = b'{"type":"__tool_call__","call_id":"1","name":"echo","params":{"a":[1,2,3]}}'
KNOWN_WORK_S = 0.002
TICK_S = 0.005
AT_ONCE = 4
# A program that still fails in its third run, with the machine for itself, is a real failure.
RUNS_ALONE = 3
# The timeout is multiplied by this for a program that ran out of time before its own checks.
MORE_TIME = 10
HOST_SECRET = "HOST-SECRET-IN-AN-EXCEPTION"
# Signals that only an attack program sends to the host.
SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)
ENV_NAME = "ESCAPES_ENVIRONMENT_SECRET"
# Folders in which a program may try to leave something: they are searched for its mark.
RESIDUE_FOLDERS = ("/", "/tmp", "/var/tmp", "/dev/shm", "/run", "~", "~/.cache", "~/.cache/deno", "~/.deno", ".")


class UnpermittedRuntime(DenoRuntime):
    """Deno with every permission (-A). Everything that is refused here, the operating system refuses."""

    def _command(self) -> Command:
        return deno_command(find_deno(self.settings), self.settings, permissions=("-A",))


class UnguardedRuntime(UnpermittedRuntime):
    """Neither Deno's permissions nor the system's layers: shows what the wall has to stop."""

    def _layers(self) -> tuple[Layer, ...]:
        return (Layer.SESSION, Layer.PARENT_DEATH, Layer.MEMORY)


def settings(**changes: object) -> SandboxSettings:
    small = {"pool_size": 4, "max_memory_mb": MEMORY_MB, "max_heap_mb": MEMORY_MB, "tool_timeout_ms": 2000}
    return SandboxSettings.model_validate({**small, **changes})


SCHEMAS: dict[str, dict[str, Any]] = {
    "strict": {
        "type": "object",
        "properties": {"amount": {"type": "integer", "maximum": 10}},
        "required": ["amount"],
        "additionalProperties": False,
    },
    # The schema of a parameter `set[int]` of a Python function.
    "unique": {
        "type": "object",
        "properties": {"numbers": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}},
        "required": ["numbers"],
    },
    "choose": {
        "type": "object",
        "properties": {"one": {"enum": [f"{'choice' * 40}-{n}" for n in range(200)]}},
    },
}


class Tools:
    """Lends some tools. `call` runs any tool that it is asked for: the sandbox must let only lent ones through."""

    def __init__(self, lent: Sequence[str]) -> None:
        self._lent = lent
        self.calls: list[tuple[str, Any]] = []

    def declarations(self) -> list[ToolDeclaration]:
        return [ToolDeclaration(name, input_schema=SCHEMAS.get(name, {})) for name in self._lent]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        plain = all(isinstance(value, int | float | bool | None) for value in arguments.values())
        self.calls.append((name, arguments if plain else "not looked at: it may be long"))
        match name:
            case "fail":
                raise RuntimeError(f"{HOST_SECRET} in {__file__}")
            case "refuse":
                raise ToolError("refused", code="no")
            case "big":
                return text_of(int(arguments.get("size", 0)))
            case "never":
                await anyio.sleep_forever()
            case "compute":
                until = time.thread_time() + float(arguments["s"])
                while time.thread_time() < until:
                    pass
            case "block":
                time.sleep(float(arguments["s"]))
        return arguments


@cache
def text_of(size: int) -> str:
    """A text, made once for each size: the tool's own cost must not count as the sandbox's."""
    return "x" * size


@dataclass(eq=False)
class Watch:
    """The watcher's measurements of the host since this began."""

    began_mb: float
    most_mb: float
    stall_ms: float = 0.0
    """The most CPU time that the event loop's thread used before the watcher ran. Not wall clock: other work on this
    machine must not count."""
    blocked_ms: float = 0.0
    """The longest time in which the thread neither computed nor waited for a CPU: it was blocked inside a call."""

    @property
    def grown_mb(self) -> float:
        return self.most_mb - self.began_mb


class Watcher:
    """A task that tries to run every few milliseconds, and notes when it could not."""

    def __init__(self) -> None:
        self._watches: list[Watch] = []

    async def watch(self) -> None:
        last = time.monotonic(), time.thread_time(), queued_s()
        while True:
            await anyio.sleep(TICK_S)
            now, used_mb = (time.monotonic(), time.thread_time(), queued_s()), resident_mb()
            passed_s, computed_s, in_queue_s = (after - before for after, before in zip(now, last, strict=True))
            for watch in self._watches:
                watch.stall_ms = max(watch.stall_ms, computed_s * 1000)
                watch.blocked_ms = max(watch.blocked_ms, (passed_s - TICK_S - computed_s - in_queue_s) * 1000)
                watch.most_mb = max(watch.most_mb, used_mb)
            last = now

    @contextlib.contextmanager
    def watching(self) -> Iterator[Watch]:
        used_mb = resident_mb()
        watch = Watch(used_mb, used_mb)
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)


def give_back_memory() -> None:
    """Free unused memory: memory that an earlier run left free would hide how much the next run takes."""
    gc.collect()
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """Stop coverage tracing in this thread meanwhile: it makes Python loops several times slower than in production,
    and other work not at all."""
    trace = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(trace)


def slowness() -> float:
    """How many times longer a known piece of the sandbox's work takes here than on the reference machine, including
    what coverage adds."""
    taken = []
    for _ in range(5):
        start = time.thread_time()
        for _ in range(500):
            decode(KNOWN_FRAME)
        taken.append(time.thread_time() - start)
    return max(1.0, min(taken) / KNOWN_WORK_S)


def queued_s() -> float:
    """Seconds that this thread has waited for a CPU: a busy machine causes that, and not the host."""
    with open("/proc/thread-self/schedstat", encoding="ascii") as schedstat:
        return int(schedstat.read().split()[1]) / 1e9


def resident_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE") / (1 << 20)


class Servers:
    """The loopback servers, and the requests that have reached them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(Path(__file__).with_name("servers.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        self.allowed, self.forbidden, self.udp = json.loads(self._process.stdout.readline())
        os.set_blocking(self._process.stdout.fileno(), False)
        self._unread = b""
        self.reached: list[str] = []

    def look(self) -> list[str]:
        """All requests that have reached the servers so far."""
        assert self._process.stdout is not None
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._process.stdout.fileno(), 65536):
                self._unread += chunk
        *lines, self._unread = self._unread.split(b"\n")
        self.reached += [line.decode(errors="replace") for line in lines]
        return self.reached

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


class Places:
    """The files of one run: a secret, a folder that no program may write to, and a folder that may be granted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.mark = f"escape-{secrets.token_hex(8)}"
        self.secret = f"FILE-SECRET-{secrets.token_hex(8)}"
        self.canary, self.workspace, outside = root / "canary", root / "workspace", root / "outside"
        for folder in (self.canary, self.workspace, outside, self.workspace / "folder"):
            folder.mkdir(parents=True)
        self.secret_file = outside / "secret.json"
        self.secret_file.write_text(f'"{self.secret}"')  # a text, a JSON value and a JavaScript module
        self.secret_file.chmod(0o644)
        (self.workspace / "kept.txt").write_text("kept")
        (self.workspace / "folder" / "inner.txt").write_text("inner")
        (self.workspace / "to-secret").symlink_to(self.secret_file)
        (self.workspace / "to-outside").symlink_to(outside)
        (self.workspace / "to-canary").symlink_to(self.canary)
        (self.workspace / "to-up").symlink_to("..")
        (self.workspace / "circle").symlink_to("circle")
        os.mkfifo(self.workspace / "pipe")
        self._before = self._state_of_secret()

    def _state_of_secret(self) -> tuple[object, ...]:
        try:
            info = self.secret_file.stat()
            return self.secret_file.read_text(), info.st_mode, info.st_mtime_ns, info.st_nlink, info.st_uid
        except OSError as error:
            return (str(error),)

    def seen(self) -> dict[str, Any]:
        return {
            "canary": sorted(path.name for path in self.canary.iterdir()),
            "secret_intact": self._state_of_secret() == self._before,
            "secret": self.secret,
            "residue": self._residue(),
            "files": self._files(),
        }

    def _files(self) -> dict[str, str]:
        """The contents of the granted folder: the text of each file, or the kind of other entries."""
        found = {}
        for path in sorted(self.workspace.rglob("*")):
            mode = path.lstat().st_mode
            name = str(path.relative_to(self.workspace))
            if stat.S_ISREG(mode) and os.access(path, os.R_OK):
                found[name] = path.read_text(errors="replace")[:1000]
            else:
                found[name] = "link" if stat.S_ISLNK(mode) else "folder" if stat.S_ISDIR(mode) else "other"
        return found

    def _residue(self) -> list[str]:
        found = []
        for folder in RESIDUE_FOLDERS:
            with contextlib.suppress(OSError):
                found += [str(path) for path in Path(folder).expanduser().iterdir() if self.mark in path.name]
        return found


@dataclass
class Arena:
    """One runtime, the servers, and a watcher."""

    runtime: DenoRuntime
    servers: Servers
    watcher: Watcher
    root: Path
    env_secret: str
    signalled: list[str]
    slowness: float = field(default_factory=slowness)
    runs: int = field(default=0)

    async def judge(self, programs: Sequence[Program]) -> dict[str, tuple[list[str], dict[str, Any]]]:
        """Run the programs, several at a time; return for each which checks failed and what was seen.

        A failed measurement may be caused by another program: then the program runs once more, alone, and that run
        counts. A measurement that a busy machine can spoil is repeated, with a longer timeout if it was too short.
        """
        found: dict[str, tuple[list[str], dict[str, Any]]] = {}
        limiter = anyio.CapacityLimiter(AT_ONCE)

        async def one(program: Program) -> None:
            async with limiter:
                found[program.name] = await self._judged(program)

        async with anyio.create_task_group() as tasks:
            for program in programs:
                if not program.alone:
                    tasks.start_soon(one, program)
        for program in programs:
            failed, seen = found.get(program.name, (None, {}))
            is_due = failed is None or (failed and (all(map(is_measured, failed)) or is_late(failed, seen)))
            times = 1
            for _ in range(RUNS_ALONE if is_due else 0):
                if failed and is_late(failed, seen):
                    times = MORE_TIME
                give_back_memory()
                patient = replace(program, timeout_s=program.timeout_s * times)
                with untraced():
                    self.slowness = slowness()
                    failed, seen = found[program.name] = await self._judged(patient)
                if not failed or not (all(map(is_noisy, failed)) or (times == 1 and is_late(failed, seen))):
                    break
        return found

    async def _judged(self, program: Program) -> tuple[list[str], dict[str, Any]]:
        seen = await self.attack(program)
        return failures(program, seen), seen

    async def attack(self, program: Program) -> dict[str, Any]:
        """Run one program, and an ordinary one beside it; return everything that a check can use."""
        self.runs += 1
        places = Places(self.root / f"{self.runs}-{program.name}")
        tools = Tools(program.tools)
        stores = LentStores(places.root / "home", places.secret)
        neighbours: list[ExecutionOutcome] = []
        outcomes: list[ExecutionOutcome] = []
        raised, commit_error = "", ""
        reached, signalled = len(self.servers.look()), len(self.signalled)

        async def neighbour() -> None:
            code = "return [await tools.echo({ a: 1 }), context.b]"
            request = ExecutionRequest(code=code, context={"b": 2}, timeout_ms=20_000)
            neighbours.append(await self.runtime.execute(request, Tools(["echo"])))

        code = program.filled(self._names(places))
        started = time.monotonic()
        with self.watcher.watching() as watch:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(neighbour)
                    for _ in range(program.runs):
                        async with stores.lent(outcomes) as store:
                            outcome = await self._execute(program, code, tools, places, store)
                            outcomes.append(outcome)
                wall_s = max(outcome.metrics.execution_ms for outcome in outcomes) / 1000
                if program.commit and outcomes[-1].ok:
                    commit_error = await committed(outcomes[-1])
            except Exception as error:  # noqa: BLE001 - any exception out of the runtime is a finding
                raised, wall_s = f"{type(error).__name__}: {error}", time.monotonic() - started
            await anyio.sleep(2 * TICK_S)
        outcome = outcomes[-1] if outcomes else ExecutionOutcome(ok=False)
        hits = self.servers.look()[reached:]
        seen = {
            **told(outcomes, outcome),
            **places.seen(),
            **stores.seen(),
            "called": [name for name, _ in tools.calls],
            "calls": tools.calls,
            "changes": [(change.kind, change.path) for change in getattr(outcome, "changes", None) or ()],
            "commit_error": commit_error,
            "env_secret": self.env_secret,
            "raised": raised,
            "wall_s": wall_s,
            "host_mb": watch.grown_mb,
            "stall_ms": watch.stall_ms,
            "blocked_ms": watch.blocked_ms,
            "hits": [hit for hit in hits if not hit.startswith("allowed")],
            "asked": [hit for hit in hits if hit.startswith("allowed")],
            "neighbour_ok": [neighbour.result for neighbour in neighbours] == [[{"a": 1}, 2]],
            "signalled": self.signalled[signalled:],
            "memory_mb": MEMORY_MB,
            "deno": str(find_deno(self.runtime.settings).parent),
            "most_stall_ms": MOST_STALL_MS * self.slowness,
            "layers": {layer for neighbour in neighbours for layer in neighbour.metrics.layers},
        }
        for path in (places.root, *map(Path, seen["residue"])):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        return seen

    async def _execute(
        self, program: Program, code: str, tools: Tools, places: Places, store: Store
    ) -> ExecutionOutcome:
        context = ["x" * 1000] * 4000 if program.context else {"given": "context"}
        tier = Tier.NETWORK if program.tier == "network" else Tier.ISOLATED
        timeout_ms = round(program.timeout_s * 1000)
        request = ExecutionRequest(code=code, tier=tier, timeout_ms=timeout_ms, context=context)
        options: dict[str, Any] = {}
        if program.tier == "network":
            options["network"] = policy(self.servers.allowed)
        if program.tier == "workspace":
            options["workspace"] = granted(places.workspace)
        if program.tier == "store":
            options["store"] = store
        outcome = await self.runtime.execute(request, tools, **options)
        return replace(outcome, displayed=await shown_displays(outcome.displayed, _unchanged))

    def _names(self, places: Places) -> dict[str, str]:
        return {
            "SECRET": str(places.secret_file),
            "CANARY": str(places.canary),
            "WS": str(places.workspace),
            "STORE": str(places.root / "home/state/store"),
            "HOME": str(places.root / "home"),
            "MARK": places.mark,
            "ALLOWED": f"127.0.0.1:{self.servers.allowed}",
            "FORBIDDEN": f"127.0.0.1:{self.servers.forbidden}",
            "UDP": f"127.0.0.1:{self.servers.udp}",
            "HOST": str(os.getpid()),
            "ENV": ENV_NAME,
            "HOST_SECRET": HOST_SECRET,
        }


async def _unchanged(text: str) -> str:
    return text


def told(outcomes: list[ExecutionOutcome], last: ExecutionOutcome) -> dict[str, Any]:
    """What the caller sees of the runs. `got` is what the program claims to have achieved."""
    logs = [entry.text for outcome in outcomes for entry in outcome.logs]
    errors = [(outcome.error.message, outcome.error.stack) for outcome in outcomes if outcome.error]
    values = [outcome.result for outcome in outcomes]
    # A picture's text is empty.
    shown = [(item.type, item.text, len(item.data)) for outcome in outcomes for item in outcome.displayed]
    return {
        "displayed": shown,
        "ok": last.ok,
        "value": last.result,
        "values": values,
        "error": str(last.error.type) if last.error else "",
        "message": last.error.message if last.error else "",
        "logs": logs,
        "text": json.dumps([values, errors, logs, shown], ensure_ascii=False, default=repr),
        "got": [line for line in logs if line.startswith("GOT ")],
        "truncated": last.truncated,
        "peak_mb": last.metrics.peak_memory_mb,
    }


def policy(port: int) -> Any:
    from sandbox.network import NetworkPolicy

    rule = {"host": "127.0.0.1", "ports": [port], "http": True, "private": True}
    secret = {"headers": {"x-key": f"${{env:{ENV_NAME}}}"}}
    return NetworkPolicy.model_validate(
        {"allow": [{**rule, **secret}], "deny": [{"host": "127.0.0.1", "paths": ["/denied"]}]}
    )


def granted(folder: Path) -> Any:
    from sandbox.workspace import Workspace

    return Workspace(folder)


async def committed(outcome: ExecutionOutcome) -> str:
    """Commit the changes of the run; return the name of the error if that is refused."""
    if outcome.changes.state == "committed":  # by a turn
        return ""
    try:
        await outcome.changes.commit()
    except Exception as error:  # noqa: BLE001 - any exception is a refusal
        return type(error).__name__
    return ""


@contextlib.asynccontextmanager
async def arena(runtime: DenoRuntime, servers: Servers, root: Path) -> Any:
    """An open runtime with a watcher beside it."""
    env_secret = f"ENV-SECRET-{secrets.token_hex(8)}"
    os.environ[ENV_NAME] = env_secret
    signalled: list[str] = []
    before = {
        number: signal.signal(number, lambda it, _: signalled.append(signal.Signals(it).name)) for number in SIGNALS
    }
    watcher = Watcher()
    # Frozen: to scan what thousands of tests have left in this process for garbage would be a stall of its own.
    gc.collect()
    gc.freeze()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watcher.watch)
            async with runtime:
                yield Arena(runtime, servers, watcher, root, env_secret, signalled)
            tasks.cancel_scope.cancel()
    finally:
        gc.unfreeze()
        del os.environ[ENV_NAME]
        for number, handler in before.items():
            signal.signal(number, handler)
