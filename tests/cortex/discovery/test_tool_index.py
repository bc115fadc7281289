from __future__ import annotations

from hypothesis import given, strategies as st

from cortex.discovery import Match, ToolIndex, ToolText

TOOLS = [
    ToolText("github.list_commits", "List commits of a branch in a repository", "owner repo sha since until author"),
    ToolText("github.get_file_contents", "Contents of a file or directory of a repository", "owner repo path ref"),
    ToolText("github.createPullRequest", "Open a new pull request", "owner repo title body head base draft"),
    ToolText("mail.send-message", "Send an e-mail to one or more people", "to cc subject body"),
    ToolText("mail.search_messages", "Find messages in the mailbox", "query folder since"),
    ToolText("calendar.create_event", "Add an event to the calendar", "title start end attendees"),
    ToolText("weather.forecast", "Temperature and rain of the coming days", "city days"),
]
INDEX = ToolIndex(TOOLS)


def first(query: str) -> str:
    return INDEX.rank(query, 1)[0].name


def test_a_tool_is_found_by_its_name_its_description_and_its_parameters():
    assert first("commits") == "github.list_commits"
    assert first("rain") == "weather.forecast"
    assert first("attendees") == "calendar.create_event"


def test_words_are_found_in_other_forms_and_spellings():
    assert first("creating pull requests") == "github.createPullRequest"
    assert first("a forecasted temperature") == "weather.forecast"


def test_another_word_for_the_same_act_finds_it_and_the_word_itself_beats_it():
    assert first("add a pull request") == "github.createPullRequest"
    index = ToolIndex([ToolText("x.remove", "", ""), ToolText("y.delete", "", "")])
    assert [match.name for match in index.rank("delete", 2)] == ["y.delete", "x.remove"]


def test_a_word_in_the_name_counts_more_than_in_the_description_and_there_more_than_in_parameters():
    index = ToolIndex([ToolText("a.b", "", "invoice"), ToolText("c.d", "invoice", ""), ToolText("e.invoice", "", "")])
    assert [match.name for match in index.rank("invoice", 3)] == ["e.invoice", "c.d", "a.b"]


def test_a_rare_word_counts_more_than_one_that_all_have():
    index = ToolIndex(
        [ToolText(f"shop.tool{n}", "of the shop", "") for n in range(9)] + [ToolText("shop.z", "parcel", "")]
    )
    assert index.rank("parcel of the shop", 1)[0].name == "shop.z"


def test_a_tool_that_shares_no_word_is_not_found():
    assert INDEX.rank("quantum chromodynamics", 5) == []
    assert INDEX.rank("", 5) == []
    assert INDEX.rank("the of and", 5) == []
    assert ToolIndex([]).rank("anything", 5) == []


def test_at_most_k_tools_are_returned_best_first():
    found = INDEX.rank("repository", 2)
    assert len(found) == 2
    assert found[0].score >= found[1].score > 0
    assert INDEX.rank("repository", 0) == []


def test_equal_tools_are_in_the_order_of_their_names_however_they_were_given():
    tools = [ToolText(f"a.tool_{letter}", "Weigh a parcel", "") for letter in "dbca"]
    expected = ["a.tool_a", "a.tool_b", "a.tool_c", "a.tool_d"]
    for given_tools in (tools, tools[::-1]):
        assert [match.name for match in ToolIndex(given_tools).rank("parcel", 4)] == expected


def test_a_query_without_end_is_cut():
    assert INDEX.rank("a " * 990 + "rain", 1) != []
    assert INDEX.rank("a " * 1_000 + "rain", 1) == []
    many = [f"w{n}" for n in range(64)]
    assert INDEX.rank(" ".join([*many[1:], "rain"]), 1) != []
    assert INDEX.rank(" ".join([*many, "rain"]), 1) == []


@given(
    st.lists(st.builds(ToolText, st.text(max_size=20), st.text(max_size=40), st.text(max_size=40)), max_size=8),
    st.text(),
)
def test_any_tools_and_any_query_give_an_answer_that_stays_the_same(tools, query):
    found = ToolIndex(tools).rank(query, 5)
    assert found == ToolIndex(tools).rank(query, 5)
    assert len(found) <= 5
    assert all(isinstance(match, Match) and match.score > 0 for match in found)
