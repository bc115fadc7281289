"""`cortex neurons`: show what the agent has learned and wants to learn, and carry out the owner's decisions on it."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from cortex.text import wrapped

from .exits import REFUSED, SUCCESS
from .neuron_run import add_run_options, run_neurons
from .options import behind_an_action, load_existing
from .rows import paint, width

LOOKS = (None, "list", "show", "habits", "history", "export")
ENDS = ("reject", "disable")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print what there is as JSON, for programs")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    common = behind_an_action("print JSON, for programs")

    def action(name: str, what: str, *, of_one: bool = True) -> ArgumentParser:
        found = actions.add_parser(name, parents=[common], help=what, description=what)
        if of_one:
            found.add_argument("neuron", metavar="ID", help="its id, the beginning of it, or its name")
        return found

    action("list", "all neurons, and how far their trials are; also without an action", of_one=False)
    add_run_options(action("run", "run the neurons here until it is ended, without a chat", of_one=False))
    action("show", "everything about one neuron, with its code and its report")
    habits = action("habits", "scripts that the agent runs again and again", of_one=False)
    habits.add_argument("habit", metavar="ID", nargs="?", help="show one habit, with its code")
    approve = action("approve", "let it run on trial: exactly the code and the policy that are shown")
    approve.add_argument("--hash", metavar="HASH", help="8 or more characters of the hash that show prints")
    approve.add_argument("--files", metavar="DIR", type=Path, help="a folder that its code may read, as /workspace")
    approve.add_argument("--files-write", action="store_true", help="and write: what a signal that succeeds changes")
    reject = action("reject", "do not learn it; it may not be proposed again")
    reject.add_argument("--reason", metavar="TEXT", required=True, help="why; the agent is told")
    modify = action("modify", "open its code in VISUAL or EDITOR; the result goes through quarantine")
    modify.add_argument("--from", dest="source", metavar="FILE", help="take the code from a file; - is standard input")
    disable = action("disable", "stop it now, until it is enabled")
    disable.add_argument("--reason", metavar="TEXT", default="the owner disabled it", help="why")
    action("enable", "restore its earlier status; through quarantine if its code or policy has changed")
    rollback = action("rollback", "back to a version: on trial if it was approved, and else through quarantine")
    rollback.add_argument("version", metavar="VERSION", type=_version, help="its number, see history")
    action("history", "its versions, and what happened to it")
    _add_import(action("import", "propose the script of an Agent Skills folder; nothing is run", of_one=False))
    call = action("call", "call a learned function that is in trial or active, and print its result")
    call.add_argument("--args", metavar="JSON", default="{}", help="its arguments, as one object; @FILE reads a file")
    call.add_argument("--tools", metavar="MODULE:NAME", help="a Toolbox of your own, with the tools that it may call")
    export = action("export", "write it as a folder of the Agent Skills format")
    export.add_argument("--to", metavar="DIR", type=Path, required=True, help="where the folder is made")


def _add_import(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder with SKILL.md and scripts")
    parser.add_argument("--name", default="", help="by default the name in SKILL.md")
    parser.add_argument(
        "--kind",
        choices=("function", "neuron"),
        default="",
        help="by default a function; with --on, --every, --at or --once a neuron",
    )
    parser.add_argument("--script", metavar="FILE", default="", help="which file in scripts, where there are several")
    parser.add_argument("--on", metavar="SIGNAL", action="append", default=[], help="a neuron that answers this signal")
    parser.add_argument("--every", metavar="SPAN", action="append", default=[], help="a neuron, every 15m, 6h or 1d")
    parser.add_argument("--at", metavar="TIME", action="append", default=[], help='a neuron, at "09:00 mon-fri"')
    parser.add_argument("--once", metavar="TIME", action="append", default=[], help='a neuron, at "2030-01-31 09:00"')
    parser.add_argument("--emits", metavar="SIGNAL", action="append", default=[], help="by default what its code emits")
    parser.add_argument("--tool", metavar="T", action="append", default=[], help="a tool that it may call")
    parser.add_argument("--host", metavar="H", action="append", default=[], help="a host that it may ask")
    parser.add_argument("--parameters", metavar="JSON", default="", help="the JSON Schema of a function's arguments")
    parser.add_argument("--energy", metavar="AMOUNT", type=float, help="for one signal or call, by default 0.02")
    parser.add_argument("--try", dest="tries", action="store_true", help="then run its quarantine at once")


def run(options: Namespace) -> int:
    # Imported here: `--help` must not wait for it. What only decides is imported further down: a look is quick.
    from .neuron_looks import look

    settings = load_existing(options)
    if options.action == "run":
        return run_neurons(options, settings)
    if options.action in LOOKS:
        for line in look(options, settings, time.time(), width(), paint):
            print(line)
        return SUCCESS
    from neurons import KillSwitch, Status

    from .neuron_decisions import decide
    from .neuron_rows import facts_of, what_now

    if options.action == "call":
        from .neuron_call import call

        print(call(options, settings))
        return SUCCESS
    neuron = decide(options, settings)
    if options.json:
        switch = KillSwitch(settings.home / "state").state(neuron.id)
        print(json.dumps(facts_of(neuron, time.time(), switch)))
    else:
        print("\n".join(wrapped(what_now(neuron), width())))
    # A neuron that failed its quarantine is disabled: exit as for any refused code.
    return REFUSED if neuron.status is Status.DISABLED and options.action not in ENDS else SUCCESS


def _version(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise ArgumentTypeError(f"the number of a version, which history shows, and not {text!r:.40}")
    return int(text)
