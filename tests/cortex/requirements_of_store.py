"""Each promise of the store, what code keeps from run to run, and the tests that hold us to it. Part of
`tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

VALUES = "tests/cortex/home/test_store_values.py::"
STORES = "tests/cortex/home/test_stores.py::"
STATE = "tests/cortex/turn/test_kept_state.py::"
CODE = "tests/sandbox/test_store.py::"
CHAT = "tests/cortex/chat/test_learning.py::"
SHELL = "tests/cortex/commands/test_store_command.py::"
SESSIONS = "tests/cortex/mcp_server/test_conversations.py::"
ESCAPES = "tests/escapes/test_escapes.py::"

REQUIREMENTS = (
    Requirement(
        "STORE-1",
        "state",
        "`store` in the sandbox has get, set, delete and keys; values are JSON",
        (
            CODE + "test_code_sets_gets_deletes_and_lists_json",
            CODE + "test_typescript_has_the_store_too_and_a_variable_of_that_name_may_hide_it",
            CODE + "test_what_is_set_without_await_is_set_in_order_before_the_run_ends",
            CODE + "test_a_refusal_that_nobody_waits_for_fails_the_run",
        ),
    ),
    Requirement(
        "STORE-2",
        "state",
        "It is kept by the host for a conversation: that of a turn, of a chat, the session of an MCP client; a run without "
        "one is told so in a sentence",
        (
            STATE + "test_a_later_turn_of_the_conversation_finds_what_an_earlier_one_kept",
            STATE + "test_the_runs_of_one_turn_share_the_store_and_so_does_execute_code",
            STATE + "test_conversations_do_not_see_each_other",
            STATE + "test_without_a_conversation_there_is_no_store",
            CODE + "test_without_a_store_every_call_is_rejected_with_one_sentence",
            CHAT + "test_a_signal_wakes_the_agent_between_two_messages_and_not_as_the_user",
            SESSIONS + "test_a_session_over_http_is_one_conversation_and_another_is_another",
            SESSIONS + "test_a_client_of_the_era_without_sessions_has_no_conversation_whatever_it_sends",
            SESSIONS + "test_the_one_client_of_a_pipe_has_one_conversation_and_each_pipe_its_own",
            SESSIONS + "test_what_code_of_one_client_keeps_is_there_for_that_client_and_for_no_other",
        ),
    ),
    Requirement(
        "STORE-3",
        "state",
        "It is bounded: 256 KiB and 100 keys, and a number of calls, also for code that forges them",
        (
            VALUES + "test_the_default_limits_are_256_kib_and_100_keys",
            VALUES + "test_a_draft_is_a_dictionary_that_stays_within_its_limits",
            CODE + "test_calls_are_counted_and_too_many_end_the_run",
            CODE + "test_a_forged_call_of_any_other_shape_ends_the_run",
            ESCAPES + "test_the_property_of_an_escape_program_holds",
        ),
    ),
    Requirement(
        "STORE-4",
        "state",
        "It is transactional: what a failed, cancelled or killed run set is not there; runs at once do not undo each other",
        (
            STATE + "test_what_a_failed_run_set_is_not_there",
            STATE + "test_a_run_that_is_cancelled_keeps_nothing",
            STATE + "test_a_run_that_the_kill_switch_ends_keeps_nothing",
            STATE + "test_two_runs_at_once_both_keep_what_they_set_and_the_later_wins_for_one_key",
            STATE + "test_a_run_whose_state_no_longer_fits_has_failed_and_says_so",
            STORES + "test_two_runs_at_once_do_not_undo_each_others_writes_and_the_later_wins_for_one_key",
            STORES + "test_writers_of_many_threads_lose_nothing",
        ),
    ),
    Requirement(
        "STORE-5",
        "state",
        "It survives restarts and kill -9, and expires after a setting",
        (
            STATE + "test_what_was_kept_is_there_after_a_restart",
            STORES + "test_what_was_kept_survives_kill_9_and_is_never_half_of_a_run",
            STORES + "test_a_store_is_kept_for_its_age_after_the_last_change",
        ),
    ),
    Requirement(
        "STORE-6",
        "state",
        "`cortex store` shows it, redacted, and clears it, on record",
        (SHELL,),
    ),
    Requirement(
        "STORE-7",
        "state",
        "A run that uses it is never cached nor answered from the cache; neurons do not have it",
        (
            STATE + "test_a_run_that_uses_the_store_is_never_cached_nor_answered_from_the_cache",
            CODE + "test_a_run_that_used_the_store_cannot_be_repeated",
            CODE + "test_a_resident_program_has_no_store_and_forging_gets_it_none",
        ),
    ),
    Requirement(
        "STORE-8",
        "state",
        "The model reads values redacted, the audit has hashes of them only, and no name of a key or conversation leads "
        "anywhere else",
        (
            STATE + "test_what_the_model_reads_of_a_value_and_of_a_key_is_redacted_and_the_code_has_it_whole",
            STATE + "test_the_audit_has_a_hash_of_what_a_run_kept_and_not_the_values",
            STATE + "test_names_that_mean_something_elsewhere_are_only_keys",
            STORES + "test_a_name_of_a_conversation_leads_nowhere_else",
            SESSIONS + "test_the_conversation_does_not_tell_the_id_of_the_session",
        ),
    ),
)

SETTINGS = {
    "store": {
        "max_bytes": STATE + "test_the_settings_limit_bytes_keys_and_age",
        "max_keys": STATE + "test_the_settings_limit_bytes_keys_and_age",
        "max_age_s": STATE + "test_the_settings_limit_bytes_keys_and_age",
        "max_conversations": STORES + "test_of_too_many_conversations_those_that_changed_longest_ago_make_way",
    },
}
