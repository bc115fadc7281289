"""Each promise about pictures and bytes, and the tests that hold us to it. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

COMMAND = "tests/cortex/commands/test_command_line.py::"
SHOWN = "tests/sandbox/test_display.py::"
JUDGED = "tests/sandbox/contracts/test_displays.py::"
DRAWN = "tests/sandbox/process/test_svg.py::"
TURN = "tests/cortex/turn/test_displays.py::"
TOOLS = "tests/cortex/tools/test_pictures.py::"
CHAT = "tests/cortex/show/test_gallery.py::"
MODEL = "tests/cortex/models/test_pictures.py::"
WHOLE = "tests/cortex/chat/test_pictures.py::"
JOBS = "tests/cortex/jobs/test_jobs.py::"
BLOCKS = "tests/cortex/mcp_server/test_blocks.py::"

REQUIREMENTS = (
    Requirement(
        "PICT-1",
        "DESIGN",
        "Images, sounds and blobs of MCP servers reach code as { type, mimeType, data } with a Uint8Array",
        (
            "tests/cortex/mcp_client/test_pure.py::test_images_sounds_and_blobs_reach_code_with_their_bytes",
            "tests/sandbox/contracts/test_frames.py::test_places_of_bytes_stand_beside_the_result_and_not_in_it",
            SHOWN + "test_bytes_pass_to_tools_and_back_and_only_their_visible_part",
            SHOWN + "test_bytes_of_any_kind_pass_by_their_visible_part_or_with_a_clear_error",
        ),
    ),
    Requirement(
        "PICT-2",
        "DESIGN",
        "A Python tool may take and return bytes or a picture",
        (
            TOOLS + "test_a_tool_takes_bytes_as_base64_and_returns_them_with_their_place",
            TOOLS + "test_bytes_anywhere_in_plain_lists_and_dicts_are_found",
            TOOLS + "test_a_picture_goes_both_ways",
            TOOLS + "test_an_object_that_shows_itself_as_png_is_a_picture",
            TOOLS + "test_what_is_no_base64_is_refused",
            TOOLS + "test_a_result_of_a_million_values_is_not_searched_for_bytes",
        ),
    ),
    Requirement(
        "PICT-3",
        "DESIGN",
        "MCP clients get pictures, sounds and blobs as content blocks, from code and from tools",
        (
            BLOCKS + "test_a_sound_is_an_audio_block_and_a_blob_an_embedded_resource",
            BLOCKS + "test_a_client_over_stdio_gets_what_code_displays_and_returns_as_blocks",
            SHOWN + "test_returned_sounds_and_blobs_are_displayed_also_as_properties",
            JUDGED + "test_a_sound_and_a_blob_are_files_of_their_type",
            BLOCKS + "test_a_picture_is_an_image_block_behind_the_text",
            BLOCKS + "test_a_text_is_a_block_only_where_the_reply_has_less_of_it",
            BLOCKS + "test_the_sdk_takes_the_blocks",
            TOOLS + "test_for_a_model_words_stand_for_pictures_and_other_bytes_stay",
            TURN + "test_a_picture_that_a_tool_gives_the_model_is_shown_and_described",
        ),
    ),
    Requirement(
        "PICT-4",
        "DESIGN",
        "display(value, options?) shows PNG or JPEG bytes, SVG text, rows of objects and Markdown",
        (
            SHOWN + "test_what_code_displays_arrives_in_order_and_is_no_part_of_the_result",
            SHOWN + "test_what_was_displayed_before_a_failure_is_there",
            COMMAND + "test_what_a_script_displays_is_shown_and_pictures_are_kept_as_files",
            SHOWN + "test_a_returned_picture_is_displayed_and_its_size_stands_for_it",
            SHOWN + "test_replacing_display_does_not_change_what_the_harness_shows",
            SHOWN + "test_a_resident_displays_nothing",
            JUDGED + "test_pictures_texts_and_rows_are_taken_as_they_are",
            JUDGED + "test_a_table_is_markdown_with_bounded_rows_and_columns",
        ),
    ),
    Requirement(
        "PICT-5",
        "DESIGN",
        "Displays are limited in count and size; the host judges each anew",
        (
            SHOWN + "test_more_displays_or_bytes_than_the_settings_allow_are_errors_that_code_may_catch",
            JUDGED + "test_what_only_a_forged_frame_holds_is_malformed",
            JUDGED + "test_a_picture_of_impossible_size_becomes_a_note",
            JUDGED + "test_a_picture_whose_end_is_missing_becomes_a_note",
            SHOWN + "test_a_damaged_picture_is_an_error_or_a_note_and_never_ends_the_run",
            TOOLS + "test_a_damaged_picture_of_a_tool_is_a_note_and_no_picture",
            JUDGED + "test_a_jpeg_of_endless_segments_is_given_up_at_once",
        ),
    ),
    Requirement(
        "PICT-6",
        "DESIGN",
        "SVG is rendered to PNG without fetching or reading anything, in bounded time and memory",
        (
            DRAWN + "test_a_drawing_becomes_a_png_of_its_size",
            DRAWN + "test_text_is_drawn_where_the_machine_has_fonts",
            DRAWN + "test_a_drawing_of_any_size_becomes_a_picture_of_bounded_size",
            DRAWN + "test_a_drawing_that_refers_to_anything_outside_is_refused",
            DRAWN + "test_what_is_no_plain_drawing_is_refused",
            DRAWN + "test_parts_of_the_drawing_and_pictures_inside_it_work",
            DRAWN + "test_the_process_itself_can_open_no_file_even_if_the_check_lets_a_reference_pass",
            DRAWN + "test_a_bomb_costs_bounded_time_and_leaves_the_host_free",
            DRAWN + "test_a_renderer_that_takes_too_long_is_killed_and_reaped",
            DRAWN + "test_the_kernel_limits_the_time_and_memory_of_a_renderer",
            TURN + "test_all_drawings_of_a_run_have_one_clock",
            TURN + "test_a_hostile_display_takes_bounded_time_and_leaves_the_event_loop_free",
        ),
    ),
    Requirement(
        "PICT-7",
        "DESIGN",
        "core.execute and turn.displayed have what was displayed; the first line stays the pure result",
        (
            TURN + "test_a_turn_has_what_was_displayed_and_the_model_is_told",
            TURN + "test_a_drawing_that_cannot_be_rendered_is_a_note_for_the_model",
            TURN + "test_what_the_model_reads_of_displays_is_bounded",
            TURN + "test_execute_code_lists_what_was_displayed_without_its_bytes",
            TURN + "test_a_table_in_a_display_cannot_break_out_of_its_line",
            TURN + "test_a_program_that_ends_with_a_display_is_not_told_that_it_gave_no_value",
            TURN + "test_the_model_is_told_of_sounds_and_blobs_and_a_blob_of_text_is_redacted",
        ),
    ),
    Requirement(
        "PICT-8",
        "DESIGN",
        "A model that takes pictures is sent them as image parts; another reads a note",
        (
            MODEL + "test_the_newest_pictures_of_a_turn_follow_the_answers_and_are_not_kept",
            MODEL + "test_a_model_that_takes_pictures_is_sent_them_and_another_is_not",
            MODEL + "test_a_picture_is_not_counted_as_the_text_of_its_base64",
        ),
    ),
    Requirement(
        "PICT-9",
        "DESIGN",
        "cortex chat keeps pictures as files in the home, tells their paths, and shows them where the terminal can",
        (
            CHAT + "test_a_picture_is_a_private_file_in_the_home_and_its_path_is_told",
            CHAT + "test_a_program_is_told_the_path_in_json",
            CHAT + "test_a_home_that_cannot_be_written_is_told_and_stops_nothing",
            CHAT + "test_the_oldest_files_make_way",
            CHAT + "test_sounds_and_blobs_are_files_with_an_ending_that_nothing_runs",
            CHAT + "test_files_of_every_type_make_way",
            CHAT + "test_only_pictures_are_shown_inside_the_terminal",
            WHOLE
            + "test_a_chat_keeps_a_picture_in_the_home_prints_its_path_and_sends_it_to_a_model_that_takes_pictures",
            CHAT + "test_a_terminal_that_can_shows_pictures_inline",
            CHAT + "test_the_sequences_hold_the_whole_picture_in_pieces",
        ),
    ),
    Requirement(
        "PICT-10",
        "DESIGN",
        "Displayed text is redacted before it is shown or drawn, cannot control a terminal, and is audited by hash",
        (
            TURN + "test_texts_titles_rows_and_drawings_are_redacted_before_they_are_shown_or_drawn",
            TURN + "test_the_audit_has_the_hash_of_what_was_displayed_and_not_the_thing",
            CHAT + "test_a_table_and_markdown_cannot_control_the_terminal",
        ),
    ),
    Requirement(
        "PICT-11",
        "DESIGN",
        "A run that displayed something is never given from the cache",
        (SHOWN + "test_code_that_displays_is_never_taken_from_the_cache",),
    ),
    Requirement(
        "PICT-12",
        "DESIGN",
        "A chart in ten lines of code: examples/chart.py",
        ("tests/examples/test_chart.py::test_the_bars_of_the_chart_are_as_high_as_the_data",),
    ),
    Requirement(
        "PICT-13",
        "DESIGN",
        "The kill switch ends the process that renders a drawing, and nothing of it is left when its host dies",
        (
            DRAWN + "test_the_kill_switch_ends_a_renderer_by_its_note",
            DRAWN + "test_a_renderer_whose_note_a_full_disk_left_empty_is_known_by_its_command",
            DRAWN + "test_a_renderer_dies_with_a_host_that_is_killed_by_force",
            DRAWN + "test_nothing_is_rendered_while_nothing_may_run_and_notes_do_not_stay",
            TURN + "test_the_kill_switch_finds_the_process_that_renders_a_drawing",
        ),
    ),
    Requirement(
        "PICT-14",
        "DESIGN",
        "What a job displayed is kept, bounded, and shown to who looks at it and in the turn that its end starts",
        (
            JOBS + "test_what_a_job_displayed_is_shown_to_who_looks_at_it_also_after_a_restart",
            JOBS + "test_what_a_failed_job_displayed_is_there",
            JOBS + "test_what_is_kept_of_displays_is_bounded_for_each_job_and_for_all",
            JOBS + "test_a_document_of_displays_that_is_damaged_shows_nothing",
            WHOLE + "test_the_turn_that_the_end_of_a_job_starts_shows_what_the_job_displayed",
            WHOLE + "test_only_the_signal_of_an_ended_job_names_one",
        ),
    ),
)

SANDBOX_SETTINGS = dict.fromkeys(
    ("max_displays", "max_displayed_bytes"),
    SHOWN + "test_more_displays_or_bytes_than_the_settings_allow_are_errors_that_code_may_catch",
)
