"""`cortex chat`: talk to an agent that runs code, at a terminal or through pipes."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, TextIO

from cortex.settings import Settings, load_settings
from cortex.text import terminal_columns

from .exits import CODE_FAILED, INTERRUPTED, REFUSED, SUCCESS, CommandError
from .options import add_no_cache, add_workspace, folder_of, own_toolbox, require_home

if TYPE_CHECKING:
    from cortex.chat import Output, ProposalDesk, Slash, Talk, Voice
    from cortex.loop import Conversation, Conversations
    from cortex.motor_cortex import MotorCortex
    from neurons import OwnerChannel


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "An agent that runs code in the sandbox, with a model of yours. In a terminal: a prompt, where /help lists the "
        "commands, Ctrl-C stops a turn and Ctrl-D leaves. Through a pipe: each line is a message, answers go to stdout "
        "and all else to stderr."
    )
    parser.add_argument("--message", metavar="TEXT", help="say this, print the answer and leave")
    parser.add_argument(
        "--resume", nargs="?", const="", metavar="ID", help="continue a conversation; without ID the last one"
    )
    parser.add_argument("--list", action="store_true", help="list the conversations and leave")
    parser.add_argument("--json", action="store_true", help="print each event as one line of JSON")
    parser.add_argument("--model", metavar="NAME", help="the model to talk to, also CORTEX_MODEL__NAME")
    parser.add_argument("--base-url", metavar="URL", help="the address of its endpoint, also CORTEX_MODEL__BASE_URL")
    parser.add_argument(
        "--tools",
        metavar="MODULE:NAME",
        help="a Toolbox of your own, like shop:toolbox or tools/shop.py:toolbox; the module is imported, and runs with "
        "your rights and outside of the sandbox",
    )
    add_workspace(parser, "a question with the list and the differences, once for each run")
    add_no_cache(parser)


def run(options: Namespace) -> int:
    chosen = {"name": options.model, "base_url": options.base_url}
    model = {key: value for key, value in chosen.items() if value is not None}
    settings = load_settings(
        options.config, home=options.home, **({"model": model} if model else {}), **options.changed
    )
    if options.list or options.resume is not None:
        require_home(options, settings.home)
    return _list(settings, options) if options.list else _chat(settings, options)


def _list(settings: Settings, options: Namespace) -> int:
    if options.message is not None or options.resume is not None:
        raise CommandError("--list does not go with --message or --resume")
    from cortex.chat import conversation_lines

    known = _conversations(settings).list()
    if options.json:
        lines = [json.dumps(asdict(summary)) for summary in known]
    else:
        lines = conversation_lines(known, terminal_columns(sys.stdout))
    print(*lines, sep="\n", end="\n" if lines else "", flush=True)
    return SUCCESS


def _chat(settings: Settings, options: Namespace) -> int:
    from cortex.chat import OutputLost, endpoint_problem

    if problem := endpoint_problem(settings.model):
        raise CommandError(problem)
    if options.message is not None and not options.message.strip():
        raise CommandError("--message has no text")
    try:
        return _talk(settings, options)
    except OutputLost as lost:
        if isinstance(lost.__cause__, BrokenPipeError):
            raise lost.__cause__ from None  # The reader closed the pipe; run_command handles it for every command.
        raise CommandError(f"cannot write the output: {lost.__cause__}") from lost


def _talk(settings: Settings, options: Namespace) -> int:
    from anyio.from_thread import start_blocking_portal

    from cortex.chat import (
        Agent,
        ConsoleOwner,
        ExpectedAnswers,
        ForPeople,
        ForPrograms,
        Inbox,
        Interrupts,
        Talk,
        Voice,
        Wakes,
    )
    from cortex.home import Home
    from cortex.models import OpenAIModel
    from cortex.motor_cortex import MotorCortex
    from cortex.show import Gallery
    from sandbox import SandboxError, WorkspaceError

    toolbox = own_toolbox(options.tools) if options.tools is not None else None
    folder = folder_of(options)
    gallery = Gallery(lambda: Home(settings.home).displayed)
    output: Output = ForPrograms(sys.stdout, gallery) if options.json else ForPeople(sys.stdout, sys.stderr, gallery)
    # Questions to the owner go to a terminal, never into JSON that a program reads.
    screen = sys.stdout if sys.stdout.isatty() and not options.json else sys.stderr
    inbox = Inbox()
    owner = ConsoleOwner(inbox.ask, output.held, is_there=sys.stdin.isatty() and screen.isatty())
    is_dialogue = sys.stdin.isatty() and screen is sys.stdout and options.message is None
    with ExitStack() as stack:
        conversation = stack.enter_context(_conversation(_conversations(settings), options.resume))
        interrupts = stack.enter_context(Interrupts(inbox.interrupt))
        wakes = Wakes(interrupts.nudge)
        # Only a dialogue has a pause between two messages in which the owner can be asked.
        voice = Voice(interrupts.nudge)
        wake, channels = (wakes, _channels(settings, voice)) if is_dialogue else (None, None)
        answer = voice.answer if is_dialogue else ExpectedAnswers(voice)
        try:
            cortex = MotorCortex(
                settings,
                toolbox=toolbox,
                owner=owner,
                wake=wake,
                answer=answer,
                channels=channels,
                workspace=folder,
            )
        except WorkspaceError as error:
            raise CommandError(f"--workspace: {error}") from error
        portal = stack.enter_context(start_blocking_portal())
        model = OpenAIModel(settings.model, on_wait=lambda event: agent.watch(event))  # noqa: PLW0108 - defined below
        agent = Agent(cortex, model, conversation, output, wakes=wakes, voice=voice)
        try:
            stack.enter_context(portal.wrap_async_context_manager(agent))
        except SandboxError as error:
            raise CommandError(str(error), REFUSED) from error
        talk = Talk(portal, agent, inbox, interrupts, keyboard=sys.stdin, screen=screen)
        if is_dialogue:
            _converse(talk, settings, output)
            return INTERRUPTED if talk.is_ending else SUCCESS
        # A person who types /kill means the command, also when the answers go into a file.
        is_typed = sys.stdin.isatty() and options.message is None
        slash = _slash(talk, settings, _desk(talk, screen), screen) if is_typed else None
        return _say(talk, options.message, output, slash)


def _converse(talk: Talk, settings: Settings, output: Output) -> None:
    from cortex.chat import Dialogue, LineHistory, Prompt
    from cortex.home import Home

    prompt = Prompt(LineHistory(Home(settings.home).state / "chat-history.jsonl"), sys.stdout)
    desk = _desk(talk, sys.stdout)
    offered = desk if settings.neurons.owner.console else None
    slash = _slash(talk, settings, desk, sys.stdout)
    Dialogue(talk, prompt, slash, output, sys.stdout, offered).run(settings.model.name or "")


def _desk(talk: Talk, screen: TextIO) -> ProposalDesk:
    from cortex.chat import ProposalDesk

    learning = talk.agent.cortex.learning
    return ProposalDesk(
        learning.pipeline,
        talk.read,
        keyboard=sys.stdin,
        screen=screen,
        habit_of=learning.habits.get,
        around=learning.around,
    )


def _slash(talk: Talk, settings: Settings, desk: ProposalDesk, screen: TextIO) -> Slash:
    from cortex.chat import Slash

    cortex = talk.agent.cortex
    return Slash(
        screen,
        talk.level,
        settings.energy,
        _conversations(settings),
        neurons=cortex.learning.store.load_all,
        about=lambda: _about_neurons(cortex),
        offer=lambda: desk.offer(again=True),
        kill=lambda: cortex.switch.turn_on("/kill at the prompt of a chat", by="owner"),
        killed=cortex.switch.refusal,
    )


def _about_neurons(cortex: MotorCortex) -> list[str]:
    from cortex.show import layer_lines, layer_of
    from neurons import LAYER_KEY, On

    if isinstance(on := cortex.switch.state(), On):
        return [str(on)]
    found = cortex.learning.storage.read(LAYER_KEY)
    return layer_lines(layer_of(found.data if found is not None else None))


def _channels(settings: Settings, voice: Voice) -> list[OwnerChannel]:
    """The owner channels of the settings, with the dialogue in place of the console: text written there would land in
    the middle of an answer."""
    from cortex.channels import ConsoleChannel
    from cortex.learning import channels_of

    others = [channel for channel in channels_of(settings) if not isinstance(channel, ConsoleChannel)]
    return [voice, *others] if settings.neurons.owner.console else others


def _say(talk: Talk, message: str | None, output: Output, slash: Slash | None) -> int:
    """Run a turn for one message, or for each line of stdin, until a turn ends without an answer. The exit code."""
    from cortex.chat import InputError, lines_of
    from cortex.loop import ConversationError

    messages = lines_of(sys.stdin.buffer) if message is None else iter([message])
    try:
        while (text := talk.read(lambda: next(messages, None))) is not None:
            command = slash.command_in(text) if slash is not None else None
            if slash is not None and command is not None:
                if not slash.run(command):
                    break
                continue
            end = talk.turn(text)
            if end is None:
                return INTERRUPTED
            if end.stopped != "answered":
                # The next messages may build on the answer that is missing.
                return CODE_FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except InputError as error:
        raise CommandError(str(error)) from error
    except ConversationError as error:
        output.failed(str(error))
        return REFUSED
    return SUCCESS


def _conversations(settings: Settings) -> Conversations:
    from cortex.home import Home
    from cortex.loop import Conversations

    return Conversations(Home(settings.home).conversations)


def _conversation(conversations: Conversations, resume: str | None) -> Conversation:
    from cortex.loop import ConversationBusy, ConversationError

    if resume is None:
        return conversations.new()
    try:
        found = conversations.open(resume) if resume else conversations.latest()
    except ConversationBusy as error:
        raise CommandError(str(error), REFUSED) from error
    except ConversationError as error:
        raise CommandError(f"{error}; --list lists the conversations") from error
    if found is None:
        raise CommandError("there is no conversation to continue yet")
    return found
