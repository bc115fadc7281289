"""What a budget for real work promises: recharge, corrections, time for tools, and jobs."""

from __future__ import annotations

from tests.requirement import Requirement

GATE = "tests/cortex/energy/test_gate.py::"
TURN = "tests/cortex/turn/test_turn.py::"
CODE_MODE = "tests/cortex/turn/test_code_mode.py::"
JOBS = "tests/cortex/jobs/test_jobs.py::"

REQUIREMENTS = (
    Requirement(
        "BUDGET-RECHARGE",
        "budget",
        "Energy recharges 0.3 a minute: six isolated runs a minute for ever",
        (GATE + "test_six_isolated_runs_a_minute_go_on_for_ever_by_default",),
    ),
    Requirement(
        "BUDGET-CORRECTIONS",
        "budget",
        "A run that failed without having called a tool, fetched or changed a file is not counted in its turn, at most "
        "three times",
        (
            TURN + "test_three_corrections_are_not_counted_and_cost_energy",
            TURN + "test_a_failed_run_that_had_an_effect_is_counted",
            TURN + "test_corrections_at_the_same_time_free_three_places_and_no_more",
        ),
    ),
    Requirement(
        "BUDGET-TIME",
        "budget",
        "Waiting for a lent tool has the time of an MCP tool; the owner may raise the limits, and the model is told those "
        "that hold",
        (
            CODE_MODE + "test_code_that_waits_for_a_lent_tool_has_the_time_of_the_network_tier",
            CODE_MODE + "test_a_tool_that_may_not_be_called_gives_code_no_more_time",
            CODE_MODE + "test_the_owner_raises_the_limit_and_the_model_is_told_the_one_that_holds",
        ),
    ),
    Requirement(
        "BUDGET-JOBS",
        "budget",
        "A run may be a job with its energy reserved: the reply is a handle, asking early runs nothing, and its end is a "
        "signal that starts one turn; a ten-minute job costs two calls of the model",
        (
            JOBS + "test_a_job_goes_on_after_its_turn_and_its_result_comes_from_the_record",
            JOBS + "test_its_end_is_a_signal_that_starts_one_turn",
            JOBS + "test_a_ten_minute_job_costs_exactly_two_calls_of_the_model",
        ),
    ),
    Requirement(
        "BUDGET-JOBS-END",
        "budget",
        "The kill switch, a cancellation, a stop and a kill of the host end jobs, and their energy is settled once; a "
        "hundred jobs at once end each with its result",
        (
            JOBS + "test_the_kill_switch_ends_what_runs_and_gives_back_what_waits",
            JOBS + "test_a_job_is_cancelled_by_its_conversation_and_by_the_owner",
            JOBS + "test_a_host_that_stops_settles_its_jobs_and_the_next_one_tells_of_them",
            JOBS + "test_a_host_that_is_killed_leaves_jobs_that_are_cut_short_and_settled",
            JOBS + "test_a_hundred_jobs_at_once_end_each_with_its_own_result",
            JOBS + "test_a_hundred_jobs_of_real_code_end_each_with_its_own_result",
        ),
    ),
    Requirement(
        "BUDGET-JOBS-ATTACKS",
        "budget",
        "Forged handles and handles of another conversation are told nothing; results are bounded and redacted",
        (
            JOBS + "test_a_forged_handle_is_told_nothing",
            JOBS + "test_a_handle_of_another_conversation_is_told_what_a_forged_one_is_told",
            JOBS + "test_a_flood_of_results_is_bounded_in_the_record_and_in_the_signal",
            JOBS + "test_a_secret_in_the_result_of_a_job_is_redacted_in_record_and_signal",
            JOBS + "test_old_records_and_too_many_make_way_and_jobs_under_way_stay",
        ),
    ),
)
