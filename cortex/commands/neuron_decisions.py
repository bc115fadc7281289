"""Carries out the owner's shell commands about a neuron, each only after it was recorded in the audit log."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from cortex.audit import Audit, AuditError
from cortex.channels import HASH_CHARACTERS, WebhookChannel, owner_view, set_in
from cortex.home import Home, HomeFiles
from cortex.learning import Learning, killed_by
from cortex.settings import Settings
from cortex.text import is_person_there, styled, terminal_columns, typed, visible, visible_code
from neurons import (
    ApprovalKey,
    FileGrant,
    Fingerprint,
    FingerprintReader,
    KillSwitch,
    Neuron,
    NeuronError,
    NoSuchNeuron,
    On,
    Refused,
    Status,
    unreachable_host,
)
from sandbox import DenoRuntime, Guard, Running, SandboxError

from .editor import edit
from .exits import REFUSED, CommandError
from .options import text_in
from .skill_import import NoSkill, Wishes, proposal_from

if TYPE_CHECKING:
    from cortex.learning import Learning
    from cortex.settings import Settings
    from neurons import KillSwitch

READING_S = 10
MAX_SOURCE = 300


def decide(options: Namespace, settings: Settings) -> Neuron:
    """Carry out the decision in `options`; return the neuron after it, and after its quarantine if it went there."""
    home = Home(settings.home)
    audit = Audit(home.audit, settings.audit)
    try:
        key = ApprovalKey.load_or_make(home.state)
        learning = Learning(HomeFiles(home), settings, key=key, record=audit.record, changes=audit.neuron_changes)
        try:
            neuron = _DECISIONS[options.action](learning, options, settings)
            switch = KillSwitch(home.state)
            if isinstance(on := switch.state(neuron.id), On):
                print(visible(str(on)), file=sys.stderr)
            elif neuron.status is Status.QUARANTINE and (options.action != "import" or options.tries):
                neuron = _tried(neuron, learning, settings, switch)
            return neuron
        finally:
            learning.close()
    except NoSuchNeuron as error:
        raise CommandError(str(error)) from error
    except NeuronError as error:
        raise CommandError(str(error), REFUSED) from error
    except AuditError as error:
        raise CommandError(f"nothing was changed, because it could not be recorded: {error}", REFUSED) from error
    finally:
        audit.close()


def _approve(learning: Learning, options: Namespace, _: Settings) -> Neuron:
    pipeline = learning.pipeline
    neuron = learning.store.get(options.neuron)
    files = _files(learning, options)
    if options.hash is not None:
        return pipeline.approve(neuron.id, options.hash, files=files)
    if neuron.request is not None and not is_person_there(sys.stdin, sys.stderr):
        raise CommandError(
            f'there is no terminal to ask at; look at it with "cortex neurons show {neuron.id}", and then repeat the'
            f" hash that is shown: cortex neurons approve {neuron.id} --hash HASH",
            REFUSED,
        )
    waiting = next((one for one in pipeline.pending() if one.id == neuron.id), None)
    if waiting is None:
        # Raises, and says why: no question is open, or it has expired, or the document was changed.
        return pipeline.approve(neuron.id, "", files=files)
    habit = learning.habits.get(waiting.metadata.habit) if waiting.metadata.habit else None
    first, *rest = set_in(owner_view(waiting, habit, learning.around()), terminal_columns(sys.stderr))
    print("\n".join([styled(first, "bold", sys.stderr), *rest]), file=sys.stderr)
    if files is not None:
        how = "read and write" if files.write else "read"
        print(f"With your yes it may {how} {visible_code(files.folder)}", file=sys.stderr)
    elif waiting.report is not None and waiting.report.files:
        raise CommandError(
            f"its code uses files; say which folder it may use: cortex neurons approve {waiting.id} --files DIR",
            REFUSED,
        )
    words = f"To approve it type the first {HASH_CHARACTERS} characters of this hash, or nothing: "
    answer = typed(words, sys.stdin, sys.stderr)
    if not answer:
        raise CommandError(f'nothing was approved; "{waiting.id}" still waits', REFUSED)
    return pipeline.approve(waiting.id, answer, files=files)


def _files(learning: Learning, options: Namespace) -> FileGrant | None:
    if options.files is None:
        if options.files_write:
            raise CommandError("--files-write needs --files DIR")
        return None
    return learning.grant(options.files, write=options.files_write)


def _reject(learning: Learning, options: Namespace, _: Settings) -> Neuron:
    return learning.pipeline.reject(options.neuron, options.reason)


def _modify(learning: Learning, options: Namespace, settings: Settings) -> Neuron:
    neuron = learning.store.get(options.neuron)
    max_bytes = settings.sandbox.max_code_bytes

    def changed(code: str) -> Neuron:
        return learning.pipeline.modify(neuron.id, code, max_code_bytes=max_bytes)

    if neuron.is_awake:
        told = f"{neuron.id} is awake ({neuron.status.value}): changed code rests until you approve it again"
        print(told, file=sys.stderr)
    if options.source is not None:
        return changed(text_in(options.source))
    return edit(neuron.code, f"{neuron.id}.ts", max_bytes, changed)


def _import(learning: Learning, options: Namespace, settings: Settings) -> Neuron:
    """Propose what stands in the folder. Its code is read, and not run."""
    wishes = Wishes(
        name=options.name,
        kind=options.kind,
        script=options.script,
        on=options.on,
        schedules=[
            *(f"every {span}" for span in options.every),
            *(f"at {time}" for time in options.at),
            *(f"once {moment}" for moment in options.once),
        ],
        emits=options.emits,
        tools=options.tool,
        hosts=options.host,
        parameters=options.parameters,
        energy=options.energy,
    )
    try:
        proposal = proposal_from(options.folder, wishes)
    except NoSkill as error:
        raise CommandError(f"nothing was imported: {error}", REFUSED) from error
    if problem := unreachable_host(proposal.hosts, settings.sandbox.network):
        raise CommandError(f"nothing was imported: {problem}", REFUSED)
    return learning.pipeline.propose(
        proposal,
        found=anyio.run(_fingerprint, proposal.code),
        max_code_bytes=settings.sandbox.max_code_bytes,
        source=str(options.folder.resolve())[:MAX_SOURCE].encode(errors="replace").decode(),
    )


async def _fingerprint(code: str) -> Fingerprint | None:
    """What rejected code is recognised by. The code is parsed, in a process of its own, and not run."""
    try:
        async with FingerprintReader() as reader:
            with anyio.fail_after(READING_S):
                found = await reader.read(code)
    except (SandboxError, TimeoutError):
        return None
    if found is None:
        raise Refused("Cannot import it: its code cannot be read; is it the body of a function?")
    return found


def _disable(learning: Learning, options: Namespace, _: Settings) -> Neuron:
    return learning.pipeline.disable(options.neuron, options.reason)


def _enable(learning: Learning, options: Namespace, _: Settings) -> Neuron:
    return learning.pipeline.enable(options.neuron)


def _roll_back(learning: Learning, options: Namespace, _: Settings) -> Neuron:
    return learning.pipeline.rollback(options.neuron, options.version)


_DECISIONS: dict[str, Callable[[Learning, Namespace, Settings], Neuron]] = {
    "approve": _approve,
    "reject": _reject,
    "modify": _modify,
    "import": _import,
    "disable": _disable,
    "enable": _enable,
    "rollback": _roll_back,
}


def _tried(neuron: Neuron, learning: Learning, settings: Settings, switch: KillSwitch) -> Neuron:
    """Run the quarantine now. If that is not possible here, the neuron waits for the next agent that is started."""
    if sys.stderr.isatty():
        print(
            f"Trying version {neuron.version} in quarantine, on signals that are made up and recorded", file=sys.stderr
        )
    try:
        return anyio.run(try_now, neuron, learning, settings, switch)
    except (SandboxError, NeuronError, OSError) as error:
        print(f"It waits in quarantine, because it cannot be tried here: {visible(str(error))}", file=sys.stderr)
        return learning.store.get(neuron.id)


async def try_now(neuron: Neuron, learning: Learning, settings: Settings, switch: KillSwitch) -> Neuron:
    """Run the quarantine and return the neuron after it, or unchanged if another process is running it. Raises
    SandboxUnavailable, and what the pipeline raises."""
    owner = settings.neurons.owner
    # No console channel: the command itself prints the result to the person at the console.
    channels = [WebhookChannel(owner)] if owner.webhook_url is not None else []
    running = Running(switch.running, switch.refusal)
    async with learning.reader, DenoRuntime(settings.sandbox, running=running) as runtime, Guard() as guard:
        notices = learning.notices(channels)
        tried = await learning.candidates(
            runtime, guard if settings.execute.guard else None, killed_by(switch, runtime.refusal), notices
        ).try_all()
        await notices.tell_all()
    found = next((one for one in tried if one.id == neuron.id), None)
    return learning.store.get(neuron.id) if found is None else found
