"""`cortex workflow check, schema, list, show, events` and `export`: look, and start nothing."""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex.settings import Settings, load_settings
from cortex.text import has_symbols
from cortex.workflows import (
    TERMINAL,
    Plan,
    checked,
    energy_of_plan,
    inputs_from,
    inputs_of,
    mermaid,
    plan_schema,
    read_plan,
    states_of,
    svg,
    text_lines,
    with_inputs,
)

from .exits import CODE_FAILED, INTERRUPTED, SUCCESS, CommandError
from .options import folder_of, load_existing
from .rows import paint, width
from .workflow_journal import chosen_run, has_journal, journal_of
from .workflow_rows import event_facts, event_line, list_lines, run_facts, show_lines, state_facts
from .workflow_tools import found_problems

if TYPE_CHECKING:
    from cortex.workflows import EventRow, PlanProblem

FOLLOW_S = 0.25
_LAST = frozenset({"run_done", "run_failed", "run_aborted"})


def check(options: Namespace) -> int:
    settings = load_settings(options.config, home=options.home)
    plan = checked(read_plan(options.file))
    inputs = sorted(inputs_of(plan))
    if options.input:
        plan = with_inputs(plan, inputs_from(options.input, plan))
    problems = found_problems(plan, options, settings, folder_of(options))
    energy = energy_of_plan(plan, settings.energy)
    is_wrong = any(problem.is_certain for problem in problems)
    if options.json:
        facts = {
            "ok": not is_wrong,
            "name": plan.name,
            "plan_hash": plan.hash,
            "layers": [[task.id for task in layer] for layer in plan.layers()],
            "inputs": inputs,
            "energy": {"once": energy.once, "at_most": energy.at_most},
            "problems": [{"task": each.task, "problem": each.text, "certain": each.is_certain} for each in problems],
        }
        print(json.dumps(facts))
    else:
        _show_check(plan, problems, inputs, str(energy))
    return CODE_FAILED if is_wrong else SUCCESS


def _show_check(plan: Plan, problems: list[PlanProblem], inputs: list[str], energy: str) -> None:
    from cortex.text import fit, visible

    layers = plan.layers()
    counts = f"{len(plan.tasks)} task{'s' * (len(plan.tasks) > 1)} in {len(layers)} layer{'s' * (len(layers) > 1)}"
    print(f"{paint(fit(plan.name, 100), 'bold')}: {counts}")
    print("\n".join(text_lines(plan, width=width(), symbols=has_symbols(sys.stdout))))
    print(f"energy: {energy}")
    if inputs:
        print(f"inputs: {fit(', '.join(inputs), width())}")
    print(f"hash: {plan.hash}")
    for problem in problems:
        verdict = paint("wrong", "red") if problem.is_certain else paint("note ", "yellow")
        print(f"{verdict}  {visible(str(problem))}")
    if not any(problem.is_certain for problem in problems):
        print(paint("ok", "green") + (", but for the notes" if problems else ""))


def schema(options: Namespace) -> int:
    del options
    print(json.dumps(plan_schema(), indent=2))
    return SUCCESS


def list_runs(options: Namespace) -> int:
    settings = load_existing(options)
    runs: Any = ()
    if has_journal(settings):
        with journal_of(settings) as journal:
            runs = journal.list(limit=options.limit, status=options.status)
    if options.json:
        print(json.dumps([run_facts(run) for run in runs]))
    elif runs:
        print("\n".join(list_lines(runs)))
    else:
        print("There are no runs")
    return SUCCESS


def show(options: Namespace) -> int:
    settings = load_existing(options)
    with journal_of(settings) as journal:
        state = chosen_run(journal, options.run)
    print(json.dumps(state_facts(state)) if options.json else "\n".join(show_lines(state, options)))
    return SUCCESS


def events(options: Namespace) -> int:
    settings = load_existing(options)
    after = options.after
    try:
        with journal_of(settings) as journal:
            run = chosen_run(journal, options.run).run.id
            while True:
                # Looked at first: what is told between the two reads is then not missed.
                has_ended = journal.load(run).run.status in TERMINAL if options.follow else True
                while found := journal.events(run, after):
                    for event in found:
                        _print(event, options)
                    after = found[-1].seq
                    has_ended = has_ended or found[-1].kind in _LAST
                if has_ended:
                    return SUCCESS
                while not journal.events(run, after, 1):
                    time.sleep(FOLLOW_S)
    except KeyboardInterrupt:
        return INTERRUPTED


def _print(event: EventRow, options: Namespace) -> None:
    print(json.dumps(event_facts(event)) if options.json else event_line(event), flush=True)


def export(options: Namespace) -> int:
    plan, states = _drawn(options)
    drawing = mermaid(plan, states) if options.format == "mermaid" else svg(plan, states)
    if options.output is None:
        told = {"format": options.format, "drawing": drawing}
        sys.stdout.write(json.dumps(told) + "\n" if options.json else drawing)
        return SUCCESS
    try:
        Path(options.output).write_text(drawing, encoding="utf-8")
    except OSError as error:
        raise CommandError(f'cannot write "{options.output}": {error.strerror}', CODE_FAILED) from error
    if options.json:
        print(json.dumps({"file": options.output, "format": options.format}))
    return SUCCESS


def _drawn(options: Namespace) -> tuple[Plan, dict[str, str] | None]:
    """The plan of a file, or that of a run with the states of its tasks."""
    name = options.what
    if name == "-" or os.path.lexists(name) or name.lower().endswith((".json", ".yaml", ".yml")):
        return checked(read_plan(name)), None
    settings: Settings = load_existing(options)
    with journal_of(settings) as journal:
        state = chosen_run(journal, name)
    return state.run.plan, states_of(state, time.time())
