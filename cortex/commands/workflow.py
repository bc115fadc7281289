"""`cortex workflow`: check, run, watch, answer, stop and draw workflows: plans of tools, code and questions."""

from __future__ import annotations

import argparse
import importlib
from argparse import ArgumentParser, Namespace
from typing import TypeAlias

from .exits import CODE_FAILED, REFUSED, CommandError
from .options import add_no_cache, add_workspace, behind_an_action, number_of

_Actions: TypeAlias = "argparse._SubParsersAction[ArgumentParser]"

_RUN = "the id of a run, or 4 or more characters of its beginning"
_FILE = "the plan: JSON, or YAML (.yaml, .yml) where PyYAML is installed; - reads JSON from standard input"
# Imported only when the action is chosen: most of them need the journal, some a whole cortex.
_ACTIONS = {
    "check": ("workflow_looks", "check"),
    "schema": ("workflow_looks", "schema"),
    "list": ("workflow_looks", "list_runs"),
    "show": ("workflow_looks", "show"),
    "events": ("workflow_looks", "events"),
    "export": ("workflow_looks", "export"),
    "decide": ("workflow_changes", "decide"),
    "abort": ("workflow_changes", "abort"),
    "forget": ("workflow_changes", "forget"),
    "run": ("workflow_runs", "run"),
    "resume": ("workflow_runs", "resume"),
    "fork": ("workflow_runs", "fork"),
}


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Plans of tool calls, code and questions that are saved after each layer and go on after any stop. Exit codes "
        "of run, resume and fork: 0 the run is done, 1 it has failed or was aborted, 4 it waits for an answer or for "
        "energy, 130 interrupted: it stays at its last checkpoint; if nothing was started, 2 for wrong arguments or a "
        "wrong plan and 3 for a refusal."
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    common = behind_an_action("print JSON, for programs")

    check = actions.add_parser("check", parents=[common], help="say what is wrong with a plan, and what it costs")
    _add_plan(check)
    _add_tools(check)
    _add_folder(check)
    check.add_argument(
        "--ask-servers",
        action="store_true",
        help="start the MCP servers of the plan, to check its calls",
    )

    run = actions.add_parser("run", parents=[common], help="start a run of a plan, and follow it")
    _add_plan(run)
    run.add_argument("--id", metavar="RUN", help="the id of the run; if this plan has a run of that id, go on with it")
    run.add_argument("--energy-budget", type=_energy, metavar="E", help="the run takes no more energy than this in all")
    _add_going_on(run)

    resume = actions.add_parser("resume", parents=[common], help="go on with a run from its last checkpoint")
    resume.add_argument("run", metavar="RUN", help=_RUN)
    _add_going_on(resume)

    fork = actions.add_parser("fork", parents=[common], help="start a new run with the results before a task")
    fork.add_argument("run", metavar="RUN", help=_RUN)
    fork.add_argument("file", metavar="FILE", nargs="?", help="another plan for the new run; without it the same one")
    fork.add_argument("--at", metavar="TASK", required=True, help="the task at which the new run begins")
    fork.add_argument("--id", metavar="RUN", help="the id of the new run")
    _add_inputs(fork)
    _add_going_on(fork)

    _add_looks(actions, common)
    _add_changes(actions, common)


def _add_looks(actions: _Actions, common: ArgumentParser) -> None:
    listed = actions.add_parser("list", parents=[common], help="the runs, the newest first")
    listed.add_argument(
        "--limit", type=number_of("runs", least=1), default=50, metavar="N", help="at most N runs, 50 if not said"
    )
    states = ("queued", "running", "waiting", "resting", "done", "failed", "aborted")
    listed.add_argument("--status", choices=states, help="only runs with this status")

    show = actions.add_parser("show", parents=[common], help="one run: its graph, its tasks, its questions")
    show.add_argument("run", metavar="RUN", help=_RUN)

    events = actions.add_parser("events", parents=[common], help="what happened in a run; with --json a line each")
    events.add_argument("run", metavar="RUN", help=_RUN)
    events.add_argument("--follow", action="store_true", help="then print each new event, until the run ends or Ctrl-C")
    events.add_argument("--after", type=number_of("the last event"), default=0, metavar="N", help="only events after N")

    export = actions.add_parser("export", parents=[common], help="draw a plan, or a run with the states of its tasks")
    export.add_argument("what", metavar="WHAT", help="a run, or the file of a plan")
    export.add_argument("--format", choices=("mermaid", "svg"), default="mermaid", help="mermaid if not said")
    export.add_argument("--output", metavar="F", help="write it to this file, not to stdout")

    actions.add_parser("schema", parents=[common], help="print the JSON Schema of plan files")


def _add_changes(actions: _Actions, common: ArgumentParser) -> None:
    decide = actions.add_parser("decide", parents=[common], help="answer a question of a run")
    decide.add_argument("run", metavar="RUN", help=_RUN)
    decide.add_argument("task", metavar="TASK", help="the task that asks")
    answers = decide.add_mutually_exclusive_group()
    answers.add_argument("--approve", action="store_true", help="yes")
    answers.add_argument("--reject", nargs="?", const="", metavar="REASON", help="no, and why")
    answers.add_argument("--value", metavar="JSON", help="yes, with this value as the result of the task")
    answers.add_argument("--replan", metavar="FILE", help='yes, and {"add": [tasks], "remove": [ids]} changes the plan')
    decide.add_argument("--hash", metavar="H", help="8 or more characters of the hash of the question")

    abort = actions.add_parser("abort", parents=[common], help="stop a run for good, whichever process leads it")
    abort.add_argument("run", metavar="RUN", help=_RUN)
    abort.add_argument("--reason", metavar="TEXT", default="the owner aborted it", help="why; kept with the run")
    abort.add_argument(
        "--workspace",
        metavar="DIR",
        help="the folder in which saved changes of files are made",
    )

    forget = actions.add_parser("forget", parents=[common], help="delete runs that have ended, and all their results")
    forget.add_argument("runs", metavar="RUN", nargs="*", help=_RUN)
    forget.add_argument(
        "--older-than", type=number_of("days"), metavar="DAYS", help="all that ended at least DAYS days ago"
    )


def run(options: Namespace) -> int:
    # Imported here: `--help` must not wait for it.
    from cortex.audit import AuditError
    from cortex.workflows import JournalError, NoSuchRun, PlanError, WorkflowError

    module, name = _ACTIONS[options.action]
    action = getattr(importlib.import_module(f".{module}", __package__), name)
    try:
        return int(action(options))
    except NoSuchRun as error:
        raise CommandError(f"{error}; cortex workflow list lists the runs") from error
    except PlanError as error:
        raise CommandError(str(error)) from error
    except AuditError as error:
        raise CommandError(f"nothing was done, because it could not be recorded: {error}", REFUSED) from error
    except WorkflowError as error:
        raise CommandError(str(error), REFUSED) from error
    except JournalError as error:
        raise CommandError(str(error), CODE_FAILED) from error


def _add_plan(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help=_FILE)
    _add_inputs(parser)


def _add_inputs(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what ${input.NAME} stands for: JSON, or else text; may be repeated",
    )


def _add_tools(parser: ArgumentParser) -> None:
    parser.add_argument("--tools", metavar="MODULE:NAME", help="a Toolbox of your own, as in cortex chat")


def _add_folder(parser: ArgumentParser) -> None:
    add_workspace(parser, "at the terminal, with the list and the differences")


def _add_going_on(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--detach", action="store_true", help="go on in a process of its own, and print the id of the run at once"
    )
    parser.add_argument(
        "--wait",
        type=number_of("seconds"),
        metavar="S",
        help="stay at most S seconds while the run waits for an answer or for energy; if not said: 0 for an answer and "
        "3600 for energy, with --detach 3600 for both",
    )
    _add_tools(parser)
    _add_folder(parser)
    add_no_cache(parser)
    parser.add_argument("--background", action="store_true", help=argparse.SUPPRESS)


def _energy(text: str) -> float:
    try:
        energy = float(text)
    except ValueError:
        energy = -1.0
    if not 0 <= energy <= 1_000:
        raise argparse.ArgumentTypeError(f"an energy is a number from 0 to 1000, not {text!r:.40}")
    return energy
