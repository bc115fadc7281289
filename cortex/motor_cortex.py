"""MotorCortex, the one object that a program needs: it connects energy, sandbox, tools, audit log and memory."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
from pydantic_core import from_json

from cortex.audit import AuditJournal, Spine
from cortex.cache import open_cache, with_cache
from cortex.catalogue import Workbench
from cortex.discovery import discovery_of
from cortex.home import Home, HomeFiles, LearnedSkills, Memory, Stores, id_of
from cortex.inbox import with_inbox
from cortex.jobs import JOB_ENDED, JobRecords, Jobs
from cortex.learning import Learning, NeuronTools, Surroundings, channels_of, killed_by
from cortex.mcp_client import McpServers
from cortex.mcp_config import servers_of
from cortex.redaction import Redactor
from cortex.runs import OpenProgramFile, RunFiles, RunWriter
from cortex.settings import Settings
from cortex.telemetry import tracing_of
from cortex.tools import (
    CORE_TOOLS,
    LEARNED,
    AbsentOwner,
    Calls,
    Consent,
    CoreTool,
    Toolbox,
    core_definitions,
    openai_tools,
    policies_without_tool,
    policy_of,
)
from cortex.turn import (
    WORKFLOW_QUESTION,
    CancellingRuntime,
    Services,
    Turn,
    owner_answered,
    redacted_apart,
    require_acting,
    takes_store,
)
from neurons import ApprovalKey, user_message, watch_switch
from sandbox import (
    DenoRuntime,
    Flusher,
    Guard,
    HostRule,
    RefusingRuntime,
    ResidentHost,
    Running,
    StoppableRuntime,
    ToolError,
    Wall,
    WalledRuntime,
)

if TYPE_CHECKING:
    from typing import Self

    from anyio.abc import TaskGroup

    from cortex.audit import CortexMetrics
    from cortex.contracts import Listener, Watch
    from cortex.home import HomePorts
    from cortex.learning import Living
    from cortex.loop import LanguageModel
    from cortex.telemetry import SpanTracing
    from cortex.tools import Api, OnCall, Owner, UsableTool
    from cortex.turn import Answering, Folder
    from cortex.workflows import Workflows
    from neurons import Autonomic, OwnerChannel, Signal, Wake
    from sandbox import CodeRuntime, ToolDeclaration

log = logging.getLogger("motor_cortex")

_NOT_OPEN = "the cortex is not open: use it as `async with MotorCortex() as cortex`"


class _PlansOf:
    """Takes the plans that a model proposes. Workflows are loaded with the first of them: most agents propose none."""

    def __init__(self, cortex: MotorCortex) -> None:
        self._cortex = cortex

    async def propose(self, given: Any, *, turn: str) -> str:
        from cortex.workflows import ProposedPlans  # noqa: PLC0415

        return await ProposedPlans(lambda: self._cortex.workflows).propose(given, turn=turn)


class MotorCortex:
    """Runs code and calls tools for an agent. Use it as an async context manager; many turns may run at the same time.

    Without an owner, everything that needs consent is refused. A given runtime is used as it is and stays open; with a
    runtime that is no `sandbox.ResidentHost` there are no neurons. `now` is the clock by which energy recharges and
    trials are judged, `home` keeps its state instead of files, `wake` starts a turn for a signal of `neurons.wake_on`
    or of a neuron whose emissions wake the agent, `answer` says what a neuron answers (without it, that starts a turn),
    `channels` replace the owner channels of the settings, and `workspace` is a folder that code in every turn may use.
    A `runner` is there to run neurons: other programs on the home hand them over to it.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        toolbox: Toolbox | None = None,
        owner: Owner | None = None,
        runtime: CodeRuntime | None = None,
        home: HomePorts | None = None,
        now: Callable[[], float] = time.time,
        wake: Wake | None = None,
        answer: Wake | None = None,
        channels: Sequence[OwnerChannel] | None = None,
        workspace: Folder | None = None,
        runner: bool = False,
    ) -> None:
        self.settings = settings if settings is not None else Settings()
        self.toolbox = toolbox if toolbox is not None else Toolbox()
        folders = Home(self.settings.home)
        self._flusher = Flusher(self.settings.audit.flush_ms)
        if home is None:
            home = HomeFiles(folders, now=now, flusher=self._flusher)
        self.audit = home.trail(self.settings.audit)
        self._journal = AuditJournal(self.audit)
        self._spine = Spine(self.audit, self._journal)
        self.switch = home.switch(record=self._spine.record)
        self.energy = home.ledger(self.settings.energy, on_change=self._journal.energy)
        self.memory = Memory(home, now=now)
        self._stores = Stores(home.storage(), self.settings.store, now=now)
        key = ApprovalKey.load_or_make(folders.state)
        self.learning = Learning(
            home, self.settings, key=key, record=self._spine.record, changes=self.audit.neuron_changes, now=now
        )
        enabled = {name: server.settings for name, server in servers_of(self.settings).items() if server.is_enabled}
        running = Running(self.switch.running, self.switch.refusal)
        self.servers = McpServers(enabled, self.settings.mcp, running=running) if enabled else None
        """The MCP servers, or None if there are none; each is started when it is first needed."""
        self._discovery = discovery_of(self.settings)
        self.workbench = Workbench(self.toolbox, self.servers, self.settings, self._discovery, self._learned)
        self._cache = open_cache(folders, self.settings.cache, self._flusher)
        self._redactor = Redactor(self.settings.redaction)
        self._runs = self._run_writer(folders, now)
        self._program = OpenProgramFile(
            folders.path / "state" / "open", self._facts, redacted=self._redactor.text, now=now
        )
        self._spine.listen(self._program.hear)
        self._questions = home.storage()
        asked = owner if owner is not None else AbsentOwner()
        self._owner = with_inbox(asked, self.settings.inbox, self._questions, key, self.settings.neurons.owner)
        self._wake = wake
        self._answer = answer
        self._runner = runner
        self._channels = channels
        self._runtime = runtime
        self._home = home
        self._now = now
        self.jobs: Jobs | None = None
        """The jobs, while the cortex is open and `execute.later` is set."""
        self._living: Living | None = None
        self._workflows: Workflows | None = None
        self._tasks: TaskGroup | None = None
        self._tracing: SpanTracing | None = None
        self.workspace = self._apart(workspace)
        """The folder for turns that have none of their own."""
        self._wall = Wall()
        self._stack = AsyncExitStack()
        self._services: Services | None = None

    async def __aenter__(self) -> Self:
        """Raises SandboxUnavailable, with what to do, when this machine cannot run Deno."""
        if self._services is not None:
            raise RuntimeError("the cortex is open already: open another one, or share this one between tasks")
        for name in policies_without_tool((*CORE_TOOLS, *self.toolbox.names()), self.settings.tools):
            if self.workbench.server_of(name) is not None:
                continue  # the tools of a server are not known yet
            log.warning('The settings have a policy for "%s", but there is no tool with that name', name)
        stack = AsyncExitStack()
        try:
            self._services = await self._open(stack)
        except BaseException:
            # Closed without passing the exception on: a task group would wrap it in an ExceptionGroup.
            await stack.aclose()
            raise
        self._stack = stack
        return self

    async def _open(self, stack: AsyncExitStack) -> Services:
        stack.callback(self._close_files)
        # After the task that keeps the file: that would write it anew.
        stack.callback(self._program.end)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        self._tasks = tasks
        tasks.start_soon(self._flusher.run)
        runtime = self._runtime
        running = Running(self.switch.running, self.switch.refusal)
        if runtime is None:
            runtime = await stack.enter_async_context(DenoRuntime(self.settings.sandbox, running=running))
        if isinstance(runtime, WalledRuntime):
            self._wall = runtime.wall
        stoppable = runtime if isinstance(runtime, StoppableRuntime) else CancellingRuntime(runtime)
        poll_ms = self.settings.neurons.kill_poll_ms
        tasks.start_soon(watch_switch, self.switch, poll_ms, lambda on: stoppable.stop(str(on)), stoppable.allow)
        guard = await stack.enter_async_context(Guard()) if self.settings.execute.guard else None
        if self.servers is not None:  # before the neurons, which may use their tools
            await stack.enter_async_context(self.servers)
        tracing = self._tracing = tracing_of(self.settings)
        if tracing is not None:
            self._spine.listen(tracing.hear)
        living = None
        if isinstance(runtime, ResidentHost):
            living = await stack.enter_async_context(self.learning.alive(self._surroundings(runtime, guard)))
        self._living = living
        stack.push_async_callback(self._discovery.aclose)
        self._program.begin()
        tasks.start_soon(self._program.keep)
        return Services(
            settings=self.settings,
            toolbox=self.toolbox,
            runtime=with_cache(stoppable, self._cache),
            guard=guard,
            energy=self.energy,
            spine=self._spine,
            memory=self.memory,
            owner=self._owner,
            asking=anyio.Lock(),
            switch=self.switch,
            workbench=self.workbench,
            redactor=self._redactor,
            consolidate=living.consolidate if living is not None else None,
            observer=living.observer if living is not None else None,
            notes=living.notes if living is not None else None,
            later=await self._open_jobs(stack) if self.settings.execute.later else None,
            stores=self._stores if takes_store(runtime) else None,
            runs=self._runs,
            tracing=tracing,
            running=running,
            plans=_PlansOf(self),
        )

    async def _open_jobs(self, stack: AsyncExitStack) -> Jobs:
        records = JobRecords(self._home.storage(), self._now)
        jobs = Jobs(
            records,
            self._home.lease("jobs"),
            self.settings,
            self.energy,
            self.switch,
            emit=self._job_ended,
            wake=self._wake,
            now=self._now,
        )
        self.jobs = await stack.enter_async_context(jobs)
        return jobs

    def _job_ended(self, signal: Signal) -> bool:
        """Tell the neurons. Whether that starts a turn, too."""
        is_heard = self._living is not None and self._living.autonomic.emit(signal)
        return is_heard and self._wake is not None and JOB_ENDED in self.settings.neurons.wake_on

    def _surroundings(self, hosts: ResidentHost, guard: Guard | None) -> Surroundings:
        channels = channels_of(self.settings) if self._channels is None else self._channels
        refusal = hosts.refusal if isinstance(hosts, RefusingRuntime) else self.switch.refusal
        return Surroundings(
            hosts=hosts,
            energy=self.energy,
            tools=NeuronTools(self.toolbox, self.servers, self.settings.tools),
            guard=guard,
            is_killed=killed_by(self.switch, refusal),
            skills=LearnedSkills(self.memory),
            channels=channels,
            wake=self._wake,
            answer=self._answer,
            runner=self._runner,
            require=lambda: require_acting(self.switch, self._journal),
            on_call=self._on_call_of,
            tracing=self._tracing,
        )

    def _learned(self) -> Sequence[UsableTool]:
        return () if self._living is None else self._living.functions.tools()

    def _on_call_of(self, neuron_id: str) -> OnCall:
        return self._told_as(f"neuron:{neuron_id}")

    def _told_as(self, turn: str) -> OnCall:
        return lambda called: self._spine.announce(replace(called, turn=turn))

    def function_declarations(self) -> list[ToolDeclaration]:
        """The learned functions that may be called now, without those that the policies deny."""
        learned = self._learned()
        return [tool.declaration for tool in learned if policy_of(tool, self.settings.tools) != "deny"]

    def function_name(self, name: str) -> str:
        """The name in code of the learned function of this id or name, or of the only one whose id begins like this;
        the name itself if none is known."""
        known = () if self._living is None else self._living.functions.functions.known()
        found = [one for one in known if name in {one.id, one.name, one.function_name}]
        found = found or [one for one in known if name and one.id.startswith(name)]
        return found[0].function_name if len(found) == 1 else name

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the learned functions that code may call now, without `tools.learned.`."""
        return tuple(tool.name.removeprefix(LEARNED) for tool in self._learned())

    async def call_function(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a learned function, by its name in code, and return its result. Its policy, the audit and the energy are
        those of a call by code. Raises ToolError, and RuntimeError while the cortex is not open."""
        if self._services is None:
            raise RuntimeError(_NOT_OPEN)
        found = next((tool for tool in self._learned() if tool.name == f"{LEARNED}{name}"), None)
        if found is None:
            known = ", ".join(tool.name.removeprefix(LEARNED) for tool in self._learned()) or "none"
            raise ToolError(f'There is no learned function "{name[:80]}"; there are: {known[:500]}', code="not_found")
        consent = Consent(
            self._owner,
            self.settings.tools,
            turn="host",
            asking=self._services.asking,
            on_decision=lambda *told: self._spine.announce(owner_answered(*told)),
            redacted=redacted_apart(self.settings.redaction),
        )
        calls = Calls(
            consent,
            require=lambda: require_acting(self.switch, self._journal),
            on_call=self._told_as("host"),
            traced=None if self._tracing is None else self._tracing.tool_calls("host"),
        )
        ready = await calls.make(found, arguments, origin="host")
        return from_json(ready.data)

    async def __aexit__(self, *exc: object) -> None:
        if self._workflows is not None:  # first: what it executes needs all the rest
            await self._workflows.aclose()
        self._services = self._living = self.jobs = self._workflows = self._tasks = None
        await self._stack.aclose()  # without the exception, as above

    def turn(
        self,
        watch: Watch | None = None,
        *,
        message: str | None = None,
        redactor: Redactor | None = None,
        conversation: str | None = None,
        workspace: Folder | None = None,
        event: Signal | None = None,
    ) -> Turn:
        """One turn of the agent: `async with cortex.turn() as turn`. `watch` is told what happens in it. The message of
        the user, if it is given, is a signal for neurons. Turns of one conversation share a redactor, so that a token
        means the same in all of them; without one they share that of the cortex. Code of turns with the same
        `conversation`, a name of your choice, keeps values in the same `store`, also after a restart, and can look at
        the same jobs; without one there is no store. `workspace` is a folder for this turn, in place of that of the
        cortex. `event` is the signal that starts the turn, from `wake`: with the question of a workflow, the model can
        answer it in this turn. Raises WorkspaceError for a folder in which the home of the cortex lies."""
        if self._services is None:
            raise RuntimeError(_NOT_OPEN)
        if conversation is not None:
            id_of(conversation)  # raises ValueError for what is no name
        if message is not None and self._living is not None:
            self._living.autonomic.emit("user_message", user_message(message), source="cortex")
        folder = self.workspace if workspace is None else self._apart(workspace)
        return Turn(self._services, watch, redactor, conversation, folder, answering=self._answering(event))

    def _answering(self, event: Signal | None) -> Answering | None:
        if event is None or event.type != WORKFLOW_QUESTION or not isinstance(event.data, Mapping):
            return None
        from cortex.workflows import QuestionAnswering  # noqa: PLC0415 - as below

        return QuestionAnswering(self.workflows, event.data)

    def _facts(self) -> dict[str, Any]:
        """What others on the home see of this program."""
        from importlib.metadata import version  # noqa: PLC0415 - it takes longer to load than all that is read of it

        energy = self.settings.energy.model_dump(mode="json")
        return {"version": version("motor-cortex"), "energy": energy, "wall": self._wall.level}

    def _run_writer(self, folders: Home, now: Callable[[], float]) -> RunWriter | None:
        """What keeps the details of runs, as a listener of the spine; None where that is disabled."""
        if self.settings.runs.keep == "off":
            return None
        files = RunFiles(folders.runs, self.settings.runs, now=now, flusher=self._flusher)
        writer = RunWriter(files, self.settings.runs, self._spine.record, self._redactor)
        self._spine.listen(writer.hear)
        return writer

    def _apart(self, folder: Folder | None) -> Folder | None:
        if folder is None:
            return None
        if not hasattr(folder, "require_apart"):
            raise TypeError(f"workspace takes a Folder, such as Folder({str(folder)[:100]!r}), and not the path itself")
        folder.require_apart(self.settings.home)
        return folder

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call the listener with every event of this cortex from now on; `cortex.contracts` has the types of events.
        Returns the function that ends the subscription.

        Each listener has a thread of its own, in which it is called with one event after the other. A listener that
        raises is logged, and one that is more than 10,000 events behind misses some: neither disturbs a run."""
        return self._spine.subscribe(listener)

    @property
    def metrics(self) -> CortexMetrics:
        """Counts and times since this object was made: `snapshot()` as data, `prometheus()` as text."""
        return self._spine.metrics

    def traced(self, model: LanguageModel) -> LanguageModel:
        """The model, with a span of OpenTelemetry for each request, where this program has an SDK of it; else the model
        itself. Call it while the cortex is open."""
        return model if self._tracing is None else self._tracing.model(model, self.settings.model)

    @property
    def workflows(self) -> Workflows:
        """Plans of calls, code and questions that survive the end of a process. Opened when it is first needed. Raises
        RuntimeError while the cortex is not open."""
        if self._services is None or self._tasks is None:
            raise RuntimeError(_NOT_OPEN)
        if self._workflows is None:
            # Not at the top: neither `import cortex` nor `cortex run` needs them.
            from cortex.workflows import WORKSPACE, KeptFiles, SqliteJournal, Workflows  # noqa: PLC0415

            folder = Home(self.settings.home).workflows
            self._workflows = Workflows(
                self._services,
                SqliteJournal(folder),
                KeptFiles(folder / "changes"),
                folders={} if self.workspace is None else {WORKSPACE: self.workspace},
                now=self._now,
                wake=self._wake,
            )
            self._tasks.start_soon(self._work, self._workflows)
        return self._workflows

    async def _work(self, workflows: Workflows) -> None:
        """Execute workflows, in traces of their own: a turn that happens to open them ends long before."""
        if self._tracing is not None:
            self._tracing.apart()
        await workflows.work()

    @property
    def autonomic(self) -> Autonomic:
        """The layer that runs the neurons: `emit` a signal, or `watch` signals. Raises RuntimeError while the cortex is
        not open, or if its runtime is no `sandbox.ResidentHost`."""
        if self._living is None:
            raise RuntimeError(_NOT_OPEN if self._services is None else "this runtime keeps no neurons")
        return self._living.autonomic

    async def will_answer(self, signal_type: str) -> bool:
        """Whether an awake neuron answers signals of this type in the conversation."""
        return self._living is not None and await self._living.autonomic.will_answer(signal_type)

    @property
    def wall(self) -> Wall:
        """The layers behind Deno's permissions. Empty for a runtime other than Deno: nothing is known of it."""
        return self._wall

    def openai_tools(
        self, api: Api = "chat", *, files: bool | None = None, event: Signal | None = None
    ) -> list[dict[str, Any]]:
        """The tools that the model may call, for `tools=` of chat.completions, or of the Responses API. `files` says
        whether code has files in turns with these tools; None means if this cortex has a workspace. `event` is the
        signal that starts the turn: the question of a workflow brings the tool that answers it."""
        hosts = list(dict.fromkeys(map(_address, self.settings.sandbox.network.allow)))
        tools = self.settings.tools
        learns = self._living is not None and self._living.consolidate is not None
        whole = self.workbench.is_told
        core = core_definitions(
            self.settings.execute.within(self.settings.sandbox.max_timeout_ms),
            hosts,
            self.workbench.declarations() if whole else (),
            learns=learns,
            searches=self.workbench.is_searched,
            files=self.workspace is not None if files is None else files,
            plans=self.settings.workflows.plan,
        )
        answering = None if self._services is None else self._answering(event)
        asked = () if answering is None else (answering.definition,)
        offered = (tool for tool in core if policy_of(CoreTool(tool.name), tools) != "deny")
        return openai_tools((*offered, *asked, *self.toolbox.definitions(tools, unlent_only=not whole)), api)

    def _close_files(self) -> None:
        self._spine.close()
        if self._runs is not None:
            self._runs.close()
        self._journal.close()
        self.learning.close()
        self._flusher.flush()
        self.energy.close()
        self.audit.close()
        self.memory.close()
        self._stores.close()
        self._questions.close()


def _address(rule: HostRule) -> str:
    """The host as code would write it: with `http://` or a port, where the rule is not plain https."""
    port = f":{rule.ports[0]}" if rule.ports and not {80, 443} & {*rule.ports} else ""
    return f"{'http://' if rule.http else ''}{rule.host}{port}"
