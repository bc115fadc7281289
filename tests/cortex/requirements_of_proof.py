"""What is promised of workflows when something stands in their way: files, energy, a cut journal, hostile results."""

from __future__ import annotations

from tests.requirement import Requirement

EXECUTOR = "tests/cortex/workflows/test_executor.py::"
STOPS = "tests/cortex/workflows/test_stops.py::"
PIECES = "tests/cortex/workflows/test_json_pieces.py::"
ATTACKS = "tests/escapes/test_workflows.py::"
SQLITE = "tests/cortex/workflows/test_sqlite_journal.py::"
BENCH = "tests/test_benchmarks.py::"

REQUIREMENTS = (
    Requirement(
        "WORKFLOW-FILES-IN-THE-WAY",
        "workflows 3",
        "Changes of files that are saved and do not fit the folder any more are kept, and the run waits: it is resumed when "
        "nothing is in the way, or forked, and nothing of others is overwritten",
        (
            EXECUTOR + "test_files_that_others_have_changed_meanwhile_are_kept_and_the_run_waits_for_the_owner",
            EXECUTOR + "test_changes_that_were_in_the_way_are_gone_and_the_run_goes_on",
        ),
    ),
    Requirement(
        "WORKFLOW-TOP-UP",
        "workflows 3",
        "A run that rests without a forecast says what to do, and goes on by itself when the owner tops up",
        (EXECUTOR + "test_a_run_that_rests_goes_on_when_the_owner_tops_up",),
    ),
    Requirement(
        "WORKFLOW-CUT-WAL",
        "workflows 5",
        "Steps that were saved and are missing, because the end of the journal was cut off, are noticed",
        (SQLITE + "test_steps_that_are_missing_because_the_wal_was_cut_are_noticed",),
    ),
    Requirement(
        "WORKFLOW-STOPS",
        "workflows 5",
        "The kill switch of another process ends every process of a run; both event loops lead to the same results in the "
        "same order; a result of more than a megabyte lies in a file",
        (STOPS,),
    ),
    Requirement(
        "WORKFLOW-TURNS",
        "workflows 6",
        "Large values that code chose are written and hashed in pieces, and the state that code is given is bounded",
        (PIECES,),
    ),
    Requirement(
        "WORKFLOW-ATTACKS",
        "workflows 4",
        "Code of a task forges no result of another one, expands no reference, calls no tool that it does not list, leaves "
        "no folder, and floods no events; also with Deno's permissions off",
        (ATTACKS,),
    ),
    Requirement(
        "WORKFLOW-BARS",
        "workflows 6",
        "A hybrid of five tasks against the same calls made directly, and an abort until the process is dead, are in "
        "`make bench`",
        (BENCH + "test_the_benchmark_of_workflows_measures_a_hybrid_and_an_abort",),
    ),
)
