"""Each promise about the bounds of what is displayed, and the tests that hold us to it. Part of
`tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

JUDGED = "tests/sandbox/contracts/test_displays.py::"
DRAWN = "tests/sandbox/process/test_svg.py::"
TURN = "tests/cortex/turn/test_displays.py::"
TOOLS = "tests/cortex/tools/test_pictures.py::"
MODEL = "tests/cortex/models/test_pictures.py::"
BLOCKS = "tests/cortex/mcp_server/test_blocks.py::"
UNWRAPPED = "tests/cortex/mcp_client/test_pure.py::"
PIECES = "tests/cortex/redaction/test_pieces.py::"

REQUIREMENTS = (
    Requirement(
        "BOUNDS-1",
        "DESIGN",
        "Nothing that code displays, and no long text that is searched for secrets, stops the event loop",
        (
            TURN + "test_no_flood_of_displays_keeps_the_event_loop_busy",
            TURN + "test_other_tasks_run_between_the_displays_of_a_run",
            TURN + "test_the_search_for_secrets_in_all_displays_of_a_run_has_one_clock",
            JUDGED + "test_a_table_as_text_is_bounded_although_its_rows_are_small",
            JUDGED + "test_numbers_of_thousands_of_digits_are_malformed_and_long_numbers_are_not",
            PIECES + "test_a_secret_is_found_wherever_two_pieces_meet_in_it",
            PIECES + "test_pieces_find_what_a_search_of_the_whole_finds",
            PIECES + "test_no_single_search_holds_the_interpreter_for_a_long_text",
            PIECES + "test_spans_are_merged_in_order_whatever_piece_they_begin_in",
        ),
    ),
    Requirement(
        "BOUNDS-2",
        "DESIGN",
        "Secrets in titles and long texts are found before these are cut",
        (
            TURN + "test_a_secret_at_the_end_of_a_title_is_found_before_the_title_is_cut",
            TURN + "test_long_markdown_is_cut_after_secrets_are_found_and_says_so",
            JUDGED + "test_of_a_title_more_arrives_than_is_shown_and_a_longer_one_has_a_mark",
        ),
    ),
    Requirement(
        "BOUNDS-3",
        "DESIGN",
        "Displayed text cannot pass for a line of the host",
        (TURN + "test_displayed_text_and_titles_cannot_pass_for_lines_of_the_host",),
    ),
    Requirement(
        "BOUNDS-4",
        "DESIGN",
        "Pictures of tools are bounded in count, those of a round in bytes; large ones are not read on the event loop",
        (
            TOOLS + "test_of_a_result_with_thousands_of_pictures_a_model_is_shown_a_few",
            MODEL + "test_the_pictures_of_a_round_are_bounded_by_their_bytes",
            MODEL + "test_an_estimate_of_tokens_does_not_read_the_pictures",
            BLOCKS + "test_small_tables_do_not_become_megabytes_of_blocks",
            BLOCKS + "test_large_displays_become_blocks_in_a_thread",
            UNWRAPPED + "test_an_image_is_read_once_and_one_that_is_too_large_not_at_all",
            UNWRAPPED + "test_damaged_base64_is_no_image",
            UNWRAPPED + "test_base64_with_or_without_padding_is_an_image",
        ),
    ),
    Requirement(
        "BOUNDS-5",
        "DESIGN",
        "At most two drawings are rendered at once, and the wait has a clock",
        (
            DRAWN + "test_at_most_two_renderers_run_at_once_for_all_runs",
            DRAWN + "test_the_wait_for_a_renderer_has_the_clock_of_the_drawing",
        ),
    ),
)
