"""The promises of the owner's console: who gets in, what a decision needs, and what the pages show."""

from __future__ import annotations

from tests.requirement import Requirement

DOOR = "tests/cortex/console/test_console_door.py::"
LASTING = "tests/cortex/console/test_sessions_and_codes.py::"
DECISIONS = "tests/cortex/console/test_console_decisions.py::"
ADDRESSES = "tests/cortex/http/test_address.py::"
RUNS = "tests/cortex/console/test_runs_in_the_console.py::"
INBOX = "tests/cortex/console/test_inbox_in_the_console.py::"
WORKFLOWS = "tests/cortex/console/test_workflows_in_the_console.py::"
SEARCH = "tests/cortex/console/test_audit_in_the_console.py::"
INDEX = "tests/cortex/views/test_audit_index.py::"
OTHERS = "tests/cortex/console/test_who_else_reaches_the_console.py::"
NOW = "tests/cortex/console/test_now_in_the_console.py::"
SETUP = "tests/cortex/console/test_browser_setup.py::"
BROWSER = "tests/cortex/console/test_attacks_in_a_browser.py::"
HANDS = "tests/cortex/console/test_owner_in_a_browser.py::"
TEXTS = "tests/cortex/console/test_text_of_agents.py::"
COMMAND = "tests/cortex/console/test_console_command.py::"
VIEWS = "tests/cortex/views/test_energy_view.py::"

REQUIREMENTS = (
    Requirement(
        "CONSOLE-DOOR",
        "console 4",
        "Only pages of the console itself reach it; every other page, name and port is refused, and each check is needed",
        (
            DOOR + "test_an_attack_on_the_door_is_refused",
            DOOR + "test_the_attack_gets_in_without_its_check",
            DOOR + "test_a_request_with_another_number_of_hosts_is_refused",
            DOOR + "test_a_target_that_is_no_path_of_ours_shows_no_page",
            DOOR + "test_every_answer_has_the_headers_that_keep_other_pages_out",
            DOOR + "test_no_page_has_a_script_or_a_style_of_its_own",
            DOOR + "test_only_the_login_page_opens_from_another_site",
            DOOR + "test_the_console_listens_on_the_loopback_only",
            DOOR + "test_the_name_is_secret_and_new_each_time",
            DOOR + "test_a_static_file_is_one_of_four_names",
            DOOR + "test_each_guard_of_a_console_is_on",
            ADDRESSES + "test_an_address_is_read_as_people_write_it",
        ),
    ),
    Requirement(
        "CONSOLE-BROWSER",
        "console 4",
        "In the owner's own browser no page of another origin, port or name does or reads anything in the console",
        tuple(
            BROWSER + name
            for name in (
                "test_no_page_of_another_origin_does_or_reads_anything",
                "test_no_page_runs_a_file_of_the_console_as_its_script",
                "test_each_defence_alone_stops_a_form_of_our_own_name_and_without_any_it_kills",
                "test_of_another_name_the_cookie_is_not_sent_and_without_the_need_of_one_it_kills",
                "test_files_and_frames_without_an_origin_do_nothing",
                "test_the_console_shows_nothing_in_a_frame",
                "test_a_page_that_opens_the_console_keeps_no_hold_of_it",
                "test_a_foreign_name_that_resolves_to_the_console_is_refused",
                "test_the_cookie_goes_to_no_other_name",
                "test_the_token_of_a_link_is_in_no_address_header_or_history_after_the_login",
            )
        ),
    ),
    Requirement(
        "CONSOLE-RUNS",
        "console 3",
        "Runs are listed with a filter in the address, page by page; a run shows its course, what it printed, its reply, "
        "its code with the line that failed, and whether the audit has its hash",
        tuple(
            RUNS + name
            for name in (
                "test_the_list_has_the_newest_first_and_its_filter_is_in_the_address",
                "test_a_list_goes_on_where_the_last_page_ended_and_keeps_its_filter",
                "test_a_run_shows_its_course_what_it_printed_its_reply_and_its_code",
                "test_the_line_that_failed_is_marked",
                "test_a_replay_gives_the_same_on_what_is_on_record_and_spends_nothing",
                "test_a_replay_that_differs_shows_what",
                "test_one_replay_runs_at_a_time",
                "test_a_run_that_is_not_kept_is_told_or_shown_as_its_record",
                "test_the_page_of_what_runs_leads_to_the_runs",
                "test_a_cached_run_says_so_and_a_changed_one_is_told",
                "test_a_forgotten_run_shows_nothing_but_that",
                "test_bars_stand_on_one_scale_and_never_leave_it",
                "test_a_code_made_to_be_slow_is_shown_in_bounded_time",
                "test_without_time_left_the_code_is_plain_and_whole",
                "test_nothing_hides_in_code",
            )
        ),
    ),
    Requirement(
        "CONSOLE-INBOX",
        "console 3",
        "Questions of agents are answered on a page: no with one press, yes with the typed hash and a code of the terminal",
        tuple(
            INBOX + name
            for name in (
                "test_a_no_is_one_press_and_the_agent_is_told_the_reason",
                "test_a_yes_needs_the_typed_hash_and_the_code_of_the_terminal",
                "test_without_the_need_of_a_code_a_page_could_say_yes",
                "test_one_answer_is_to_all_calls_of_a_run_that_were_shown",
                "test_nothing_is_cut_that_a_yes_is_to",
                "test_an_answer_to_all_is_to_none_when_others_wait_by_then",
                "test_what_an_agent_asks_hides_and_runs_nothing",
                "test_a_question_whose_program_has_ended_takes_no_answer",
                "test_proposals_wait_in_the_inbox",
            )
        ),
    ),
    Requirement(
        "CONSOLE-WORKFLOWS",
        "console 3",
        "A run of a workflow shows its graph as a picture in which nothing runs, its tasks, its questions and its events",
        tuple(
            WORKFLOWS + name
            for name in (
                "test_the_list_has_the_runs_by_their_status",
                "test_a_run_shows_its_tasks_its_question_and_what_happened",
                "test_the_graph_is_a_picture_in_which_nothing_runs",
                "test_there_is_no_other_run_and_no_journal_is_made",
            )
        ),
    ),
    Requirement(
        "CONSOLE-SEARCH",
        "console 7",
        "A search in the audit reaches all of it by an index that may be deleted, and goes on where there is none",
        (
            *(
                SEARCH + name
                for name in (
                    "test_a_search_finds_what_lies_behind_all_that_is_read",
                    "test_a_search_works_where_no_index_can_be_made",
                    "test_pages_of_a_search_go_on",
                    "test_no_dust_of_floating_point_and_no_time_of_a_cached_run",
                )
            ),
            *(
                INDEX + name
                for name in (
                    "test_it_finds_what_reading_finds",
                    "test_a_text_without_a_piece_to_look_for_is_not_searched",
                    "test_it_goes_on_with_what_is_new",
                    "test_a_bounded_look_ends_and_the_next_one_goes_on",
                    "test_an_index_of_another_audit_or_a_damaged_one_is_made_anew",
                    "test_an_index_that_breaks_while_it_is_used_is_told_and_made_anew",
                    "test_it_is_private_and_lies_where_it_may_be_deleted",
                )
            ),
        ),
    ),
    Requirement(
        "CONSOLE-OTHERS",
        "console 4",
        "Code of the sandbox reaches the console in no spelling, and other users of the machine read nothing of it",
        (
            OTHERS + "test_code_of_the_sandbox_reaches_it_in_no_spelling",
            OTHERS + "test_code_that_the_owner_lets_connect_to_this_very_port_meets_the_door",
            OTHERS + "test_another_user_who_connects_to_the_port_or_looks_at_the_process_gets_nothing",
        ),
    ),
    Requirement(
        "CONSOLE-NOW",
        "console 3",
        "Programs that are open are named, what neurons did is drawn, and energy is shown on the terms of those who spend it",
        (
            NOW + "test_the_programs_that_are_open_are_named_and_not_those_that_are_gone",
            NOW + "test_what_a_neuron_did_is_drawn_with_what_failed_and_what_it_said",
            NOW + "test_the_rate_is_that_of_the_programs_that_spend",
        ),
    ),
    Requirement(
        "CONSOLE-CHROMIUM",
        "console 4",
        "The tests in a browser need no set-up of their own, and nobody skips them unseen",
        (
            SETUP + "test_a_browser_that_is_there_is_taken",
            SETUP + "test_root_on_debian_installs_it",
            SETUP + "test_others_are_told_in_one_line_and_the_tests_are_skipped",
            SETUP + "test_what_cannot_be_installed_fails_before_a_change_lands_and_nowhere_else",
        ),
    ),
    Requirement(
        "CONSOLE-TEXTS",
        "console 4",
        "Texts of agents, servers and files run nothing on a page, point nowhere and hide nothing, with or without the "
        "browser's policy",
        (
            TEXTS + "test_nothing_of_a_text_runs_points_anywhere_or_hides",
            TEXTS + "test_without_the_spelling_the_policy_alone_holds_and_without_both_it_runs",
        ),
    ),
    Requirement(
        "CONSOLE-HANDS",
        "console 7",
        "Every decision is possible without scripts, by keyboard alone and on a phone; pages are light, live and say "
        "when they are old",
        (
            HANDS + "test_every_decision_is_possible",
            HANDS + "test_no_page_scrolls_sideways_also_not_on_a_phone",
            HANDS + "test_a_page_asks_nobody_else_and_is_light",
            HANDS + "test_a_page_that_has_lost_the_console_says_so_and_its_dangerous_buttons_stop_working",
            "tests/cortex/console/test_pages_for_everyone.py::test_axe_finds_nothing_of_weight_on_any_page",
            HANDS + "test_a_record_that_is_written_is_in_the_page_without_loading_it_again",
        ),
    ),
    Requirement(
        "CONSOLE-SESSION",
        "console 4",
        "A link lets one browser in, once, within two minutes; a session is of one browser, and ends with the console",
        (
            DOOR + "test_without_a_session_nothing_is_shown_and_nothing_is_done",
            DOOR + "test_without_the_need_of_a_session_a_stranger_could_kill",
            DOOR + "test_a_form_without_the_token_of_its_session_does_nothing",
            DOOR + "test_a_login_link_works_once_and_its_token_is_in_no_answer",
            DOOR + "test_a_thousand_guesses_let_nobody_in_and_void_the_links",
            DOOR + "test_a_cookie_that_a_stranger_chose_opens_no_session",
            DOOR + "test_a_cookie_from_before_a_restart_opens_nothing",
            DOOR + "test_the_socket_of_the_commands_is_private_and_gives_links_and_codes",
            DOOR + "test_another_user_gets_nothing_over_the_socket",
            DOOR + "test_a_second_console_on_a_home_does_not_take_its_socket",
            LASTING + "test_a_link_lasts_two_minutes",
            LASTING + "test_a_session_ends_after_an_hour_without_use_and_after_twelve_in_any_case",
            LASTING + "test_there_are_at_most_three_sessions_and_the_one_used_least_lately_makes_way",
            LASTING + "test_a_cookie_that_is_not_exactly_one_of_ours_opens_nothing",
        ),
    ),
    Requirement(
        "CONSOLE-BOUNDS",
        "console 4",
        "Long, slow and idle requests are ended, and keep nobody out",
        (
            DOOR + "test_a_long_or_slow_request_is_ended",
            DOOR + "test_a_body_that_comes_slowly_is_cut_off",
            DOOR + "test_idle_connections_of_strangers_keep_nobody_out",
        ),
    ),
    Requirement(
        "CONSOLE-CODE",
        "console 4",
        "A dangerous decision needs the typed hash and a code that appears only on the terminal: one for each decision",
        (
            LASTING + "test_a_code_is_for_one_decision_of_one_session_once_and_for_two_minutes",
            LASTING + "test_the_fifth_wrong_code_in_a_row_ends_the_session_whichever_decisions_they_were_for",
            LASTING + "test_a_right_code_begins_the_count_anew",
            LASTING + "test_few_decisions_wait_at_a_time_so_that_nobody_floods_the_terminal",
            DECISIONS + "test_nothing_dangerous_is_done_without_its_code",
            DECISIONS + "test_without_the_need_of_a_code_a_page_could_approve",
            DECISIONS + "test_a_proposal_that_has_expired_is_not_approved",
            DECISIONS + "test_a_code_of_another_decision_or_a_used_one_decides_nothing",
            DECISIONS + "test_the_fifth_wrong_code_ends_the_session",
            DECISIONS + "test_a_command_of_the_same_user_reads_the_codes",
        ),
    ),
    Requirement(
        "CONSOLE-DECISIONS",
        "console 3",
        "What the owner decides in the console is recorded first, with its session, and carried out as in the shell",
        (
            DECISIONS + "test_a_neuron_is_approved_with_its_hash_and_the_code_of_the_terminal",
            DECISIONS + "test_an_approval_with_a_wrong_short_or_other_hash_does_nothing",
            DECISIONS + "test_a_document_that_changed_after_it_was_shown_is_not_approved",
            DECISIONS + "test_an_approval_after_a_kill_is_refused_or_runs_nothing",
            DECISIONS + "test_nothing_is_decided_that_cannot_be_recorded",
            DECISIONS + "test_a_neuron_is_rejected_and_disabled_without_a_code",
            DECISIONS + "test_a_neuron_is_rolled_back_enabled_and_given_other_code",
            DECISIONS + "test_one_neuron_is_killed_and_revived",
            DECISIONS + "test_energy_is_added_with_a_code_and_recorded",
        ),
    ),
    Requirement(
        "CONSOLE-KILL",
        "console 3",
        "The kill switch is on every page, needs one press, and says what died, also when everything else is broken",
        (
            DECISIONS + "test_a_kill_stops_processes_and_says_which_on_a_page_that_reads_nothing_else",
            DECISIONS + "test_a_kill_is_answered_while_every_page_is_broken",
        ),
    ),
    Requirement(
        "CONSOLE-COMMAND",
        "console 4",
        "The console is one process of its own for a home; its links come from the terminal and are in no command line",
        (
            COMMAND + "test_a_console_prints_its_link_answers_commands_and_ends",
            COMMAND + "test_the_port_of_the_settings_is_taken",
            COMMAND + "test_a_console_that_was_killed_leaves_nothing_that_keeps_the_next_one_out",
            COMMAND + "test_an_open_stream_does_not_keep_the_console_from_ending",
            COMMAND + "test_the_browser_is_opened_by_a_private_file_and_not_by_the_link",
            COMMAND + "test_a_look_at_a_mistyped_home_is_refused",
            COMMAND + "test_without_a_secret_name_the_owner_is_warned",
        ),
    ),
    Requirement(
        "CONSOLE-ENERGY",
        "console 3",
        "The plot of energy rises by recharging and falls by entries, and says what comes",
        (
            VIEWS + "test_the_course_rises_by_recharging_up_to_full_and_falls_by_entries",
            VIEWS + "test_what_was_spent_is_told_by_origin",
            VIEWS + "test_a_home_without_a_ledger_has_its_initial_level",
        ),
    ),
)

SETTINGS = {
    "console": {
        "port": COMMAND + "test_the_port_of_the_settings_is_taken",
        "metrics": "tests/cortex/console/test_metrics_page.py::test_without_the_setting_there_are_no_metrics",
    }
}
