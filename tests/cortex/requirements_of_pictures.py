"""Each promise about pictures and bytes, and the tests that hold us to it. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

COMMAND = "tests/cortex/commands/test_command_line.py::"
SHOWN = "tests/sandbox/test_display.py::"
JUDGED = "tests/sandbox/contracts/test_displays.py::"
DRAWN = "tests/sandbox/process/test_svg.py::"
TURN = "tests/cortex/turn/test_displays.py::"
TOOLS = "tests/cortex/tools/test_pictures.py::"
CHAT = "tests/cortex/chat/test_gallery.py::"
MODEL = "tests/cortex/models/test_pictures.py::"
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
        "MCP clients get pictures as content blocks, from code and from tools",
        (
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
)

SANDBOX_SETTINGS = dict.fromkeys(
    ("max_displays", "max_displayed_bytes"),
    SHOWN + "test_more_displays_or_bytes_than_the_settings_allow_are_errors_that_code_may_catch",
)
